//! The reader of Alembic archives, HDF5 layout, with checksums put right after each change.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};
use meshreel_fuzz::{file, hdf5, walk};
use meshreel_read::{ReadOptions, open};

fuzz_target!(
    // The reader turns a panic of the HDF5 library into an error; the hook of the fuzzer would end the
    // process before. One that gets out of the reader is still found.
    init: drop(std::panic::take_hook()),
    |data: &[u8]| -> Corpus {
        if !data.starts_with(b"\x89HDF\r\n\x1a\n") {
            return Corpus::Reject;
        }
        if let Ok((scene, _)) = open(&file("a.abc", data), &ReadOptions::default()) {
            walk(&scene);
        }
        Corpus::Keep
    }
);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    // Some stay wrong: that has to be an error too.
    if seed % 16 > 0 {
        hdf5::repair(&mut data[..size], &file("b.abc", &[]));
    }
    size
});
