//! The reader of OBJ files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_fuzz::{file, walk};
use meshreel_read::{ReadOptions, obj};

fuzz_target!(|data: &[u8]| {
    if let Ok((scene, _)) = obj::open(&file("a.obj", data), &ReadOptions::default()) {
        walk(&scene);
    }
});
