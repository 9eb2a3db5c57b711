//! Attributes of parts: any bytes give groups that are there and numbers for every frame, or are refused; and
//! what was read is written and read again.
#![no_main]
use libfuzzer_sys::fuzz_target;
use meshreel_codec::record::attributes::{AttributeGroups, decode, encode};

fuzz_target!(|data: (u8, u8, u8, u8, &[u8])| {
    let (node, vertices, parts, frames, bytes) = data;
    let [node, vertices, parts, frames] = [node, vertices, parts, frames].map(u32::from);
    let Ok((nodes, all)) = decode(bytes, node, [vertices, parts], frames) else {
        return;
    };
    assert!(nodes[0] == node && nodes.is_sorted_by(|a, b| a < b));
    for attribute in &all {
        let groups = match &attribute.groups {
            AttributeGroups::Mesh => &[][..],
            AttributeGroups::Parts(groups) => &groups[..],
            AttributeGroups::Vertices(groups) => &groups[..],
        };
        assert!(groups.iter().all(|&g| (g as usize) < attribute.tracks.len()));
        for track in &attribute.tracks {
            assert_eq!(track.components.len(), attribute.components);
            for frame in 0..=frames {
                track.values(frame as usize);
            }
        }
    }
    let mut again = Vec::new();
    encode(&nodes, &all, frames, &mut again);
    assert_eq!(decode(&again, node, [vertices, parts], frames), Ok((nodes, all)));
});
