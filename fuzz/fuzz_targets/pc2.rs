//! The reader of PC2 point caches.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_fuzz::file;
use meshreel_read::points;

fuzz_target!(|data: &[u8]| {
    let path = file("a.pc2", data);
    if let Ok(cache) = points::open(&path, 30.0, &mut Vec::new()) {
        let n = cache.positions.len();
        let mut out = Vec::new();
        for i in [0, n / 2, n.saturating_sub(1)] {
            if i < n && cache.positions.read(i, &mut out).is_ok() {
                assert_eq!(out.len() as u64, cache.points);
            }
        }
    }
});
