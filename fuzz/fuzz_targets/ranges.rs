//! Named ranges: any bytes give frames that are there, in order, or are refused; and what was read is written
//! as it was.
#![no_main]
use libfuzzer_sys::fuzz_target;
use meshreel_codec::record::ranges::{decode, encode};

fuzz_target!(|data: (u32, &[u8])| {
    let (frames, bytes) = data;
    let Ok(ranges) = decode(bytes, frames) else {
        return;
    };
    assert!(ranges.windows(2).all(|w| w[0].last_frame() < w[1].first));
    assert!(ranges.iter().all(|range| range.last_frame() < frames));
    let mut again = Vec::new();
    encode(&ranges, &mut again);
    assert_eq!(again, bytes);
});
