//! The reader of FBX, binary and text, with the library that parses it: best with FUZZ_SANITIZER=address, as
//! that is C. Every sample is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_fuzz::{file, walk};
use meshreel_read::{ReadOptions, fbx};

fuzz_target!(|data: &[u8]| {
    if let Ok((scene, _)) = fbx::open(&file("a.fbx", data), &ReadOptions::default()) {
        walk(&scene);
    }
});
