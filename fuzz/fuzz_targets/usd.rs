//! The reader of USD, of all forms: binary, text and packages, as the first bytes say. Every sample is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_fuzz::{file, walk};

fuzz_target!(|data: &[u8]| {
    if let Ok((scene, _)) = meshreel_read_usd::open(&file("a.usd", data)) {
        walk(&scene);
    }
});
