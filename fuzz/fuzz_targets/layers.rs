//! Clips in layers and tiers, behind a file's checksums: all of it played at once, and streamed in and out of
//! a database. What both give must agree.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use meshreel::clip::{Database, DatabaseOptions, Query};
use meshreel::{Limits, Reel, Transform};
use meshreel_fuzz::reel::{mutate, seal};
use std::sync::Arc;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if !seal(&mut bytes) {
        return;
    }
    let mut limits = Limits::default();
    limits.format.max_chunk = 1 << 20;
    limits.max_memory = 64 << 20;
    let source = Arc::new(bytes);
    let Ok(reel) = Reel::from_source(source.clone(), &limits) else {
        return;
    };
    let whole = reel.clips();
    let options = DatabaseOptions::default().with_memory(1 << 20).with_threads(0);
    let Ok(mut database) = Database::from_bytes("fuzz", source, &limits, options) else {
        return;
    };
    let mut all = true;
    for part in database.layer_tiers() {
        all &= database.stream_in(part, None).is_ok();
    }
    all &= database.tick().failed.is_none();
    for c in 0..database.clip_count().min(4) {
        let Ok(clip) = database.clip(c) else { return };
        let mut cursor = clip.cursor();
        let mut pose = vec![Transform::IDENTITY; clip.joints()];
        for i in 0..12 {
            let seconds = f64::from(i) * 0.37;
            let streamed = cursor.pose(&Query::new(seconds).wrapped(), &mut pose[..]);
            if let (true, Ok(whole)) = (all, &whole) {
                let mut other = vec![Transform::IDENTITY; clip.joints()];
                let mut own = whole[c].cursor();
                let loaded = own.pose(&Query::new(seconds).wrapped(), &mut other[..]);
                assert_eq!(streamed.is_ok(), loaded.is_ok());
                let bits = |pose: &[Transform]| -> Vec<u32> {
                    let numbers = |t: &Transform| {
                        let [a, b, c] = t.translation;
                        let [x, y, z, w] = t.rotation;
                        [a, b, c, x, y, z, w].map(f32::to_bits)
                    };
                    pose.iter().flat_map(numbers).collect()
                };
                if streamed.is_ok() {
                    assert_eq!(bits(&pose), bits(&other));
                }
            }
        }
        if let Ok(whole) = &whole {
            let _ = whole[c].merged();
            let _ = whole[c].layers();
        }
    }
    for part in database.layer_tiers() {
        database.stream_out(part, None);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed)
});
