//! Which triangles are drawn when: any bytes give intervals of frames that are there, or are refused.
#![no_main]
use libfuzzer_sys::fuzz_target;
use meshreel_codec::topology::visibility::{decode, interval_count, is_visible};

fuzz_target!(|data: (u8, u16, &[u8])| {
    let (frames, triangles, bytes) = data;
    let (frames, triangles) = (u32::from(frames), u32::from(triangles) % 600);
    let Ok(intervals) = interval_count(bytes, triangles) else {
        return;
    };
    let mut intervals = vec![[0; 2]; intervals as usize];
    let mut which = vec![0; triangles as usize];
    if decode(bytes, frames, &mut intervals, &mut which).is_err() {
        return;
    }
    for own in which {
        let interval = intervals[own as usize];
        assert!(interval.iter().all(|&f| f <= frames));
        // The seam of a loop shows everything.
        assert!(is_visible(interval, 1, 0));
    }
});
