//! The reader of PLY files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_fuzz::{file, walk};
use meshreel_read::{ReadOptions, ply};

fuzz_target!(|data: &[u8]| {
    if let Ok((scene, _)) = ply::open(&file("a.ply", data), &ReadOptions::default()) {
        walk(&scene);
    }
});
