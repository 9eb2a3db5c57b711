//! The map back to the source: any bytes; and what was understood must come back the same, but for lists that
//! say nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::record::source_map::{SourceMap, decode, encode};

fuzz_target!(|data: &[u8]| {
    if let Ok((map, used)) = decode(data) {
        assert!(used <= data.len());
        let mut bytes = Vec::new();
        encode(&map, &mut bytes);
        let len = bytes.len();
        assert_eq!(decode(&bytes), Ok((without_defaults(map), len)));
    }
});

/// Without lists that say of everything what is so without them.
fn without_defaults(mut map: SourceMap) -> SourceMap {
    if map.face_starts.iter().all(|s| *s == 0) && map.other_faces.is_empty() {
        map.face_starts.clear();
    }
    if map.run_maps.is_empty() {
        map.frame_runs.clear();
    }
    map.run_maps = map.run_maps.into_iter().map(without_defaults).collect();
    map
}
