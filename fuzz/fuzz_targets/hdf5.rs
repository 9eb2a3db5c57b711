//! The reader of Alembic archives, HDF5 layout.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use meshreel_fuzz::{file, walk};
use meshreel_scene::read::{ReadOptions, open};

fuzz_target!(|data: &[u8]| -> Corpus {
    if !data.starts_with(b"\x89HDF\r\n\x1a\n") {
        return Corpus::Reject;
    }
    if let Ok((scene, _)) = open(&file("a.abc", data), &ReadOptions::default()) {
        walk(&scene);
    }
    Corpus::Keep
});
