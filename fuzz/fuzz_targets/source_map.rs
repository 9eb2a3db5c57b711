//! The map back to the source: any bytes; and what was understood must come back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::record::source_map::{decode, encode};

fuzz_target!(|data: &[u8]| {
    if let Ok((map, used)) = decode(data) {
        assert!(used <= data.len());
        if map.vertex_point.len() == map.vertex_corner.len() {
            let mut bytes = Vec::new();
            encode(&map, &mut bytes);
            let len = bytes.len();
            assert_eq!(decode(&bytes), Ok((map, len)));
        }
    }
});
