//! The container of `.reel` files, with checksums made right so that the numbers behind them are reached.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use meshreel_format::{Limits, Reader};
use meshreel_fuzz::reel::seal;

fuzz_target!(|data: &[u8]| {
    let _ = Reader::open(Arc::new(data.to_vec()), &Limits::default());
    let mut bytes = data.to_vec();
    if !seal(&mut bytes) {
        return;
    }
    let Ok(reader) = Reader::open(Arc::new(bytes), &Limits::default()) else {
        return;
    };
    let mut out = Vec::new();
    for i in 0..reader.chunks().len() {
        let _ = reader.read_chunk(i, &mut out);
    }
    for frame in reader.frames() {
        assert!(frame.time.is_finite());
    }
});
