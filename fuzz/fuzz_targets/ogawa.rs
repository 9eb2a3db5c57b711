//! The reader of Alembic archives, Ogawa layout.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use meshreel_fuzz::{file, walk};
use meshreel_read::{ReadOptions, open};

fuzz_target!(|data: &[u8]| -> Corpus {
    if !data.starts_with(b"Ogawa") {
        return Corpus::Reject;
    }
    if let Ok((scene, _)) = open(&file("a.abc", data), &ReadOptions::default()) {
        walk(&scene);
    }
    Corpus::Keep
});
