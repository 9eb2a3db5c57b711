//! Moving nodes, packed and not: any setup behind a tree of nodes, any bytes as units of frames; what
//! decodes, twice the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::clip::nodes::{Node, NodeSetup, NodeTracks, encode_setup};
use meshreel_codec::schedule::Schedule;
use meshreel_codec::transform::Transform;
use std::collections::BTreeMap;

fuzz_target!(|data: &[u8]| {
    let Some((&[kind, frames, cut], rest)) = data.split_first_chunk::<3>() else {
        return;
    };
    let mut given = fixed_nodes();
    let (setup, mut rest) = rest.split_at(rest.len().min(usize::from(cut & 31)));
    let mut whole = Vec::new();
    if kind & 1 == 0 {
        let setups =
            [true, false].map(|scale| NodeSetup { moves: [true, true, scale], pivot: scale, step_code: 128 });
        encode_setup(0.01, kind & 4 != 0, &setups, &mut whole);
    } else {
        whole.extend_from_slice(setup);
    }
    if kind & 2 != 0 {
        // Any numbers at all in the rest transforms.
        for (node, bits) in given.iter_mut().zip(setup.chunks(4)) {
            let mut four = [0; 4];
            four[..bits.len()].copy_from_slice(bits);
            let v = f32::from_le_bytes(four);
            node.rest.scale[0] = v;
            node.rest.rotation[usize::from(cut) & 3] = v;
        }
    }
    let Ok(nodes) = NodeTracks::new(&given, &whole) else {
        return;
    };
    let schedule = Schedule::new(u32::from(frames % 64) + 1, u32::from(kind >> 4) + 1);
    let mut done: BTreeMap<u32, Vec<i32>> = BTreeMap::new();
    for unit in schedule.units_in_file_order() {
        let size = rest.first().map_or(0, |&n| usize::from(n));
        let (bytes, after) = rest.split_at(rest.len().min(1 + size));
        rest = after;
        let bytes = bytes.get(1..).unwrap_or_default();
        let list = schedule.frames_of(unit);
        let decode = || {
            let mut states = vec![vec![0; nodes.codes_per_frame]; list.len()];
            let mut moved = vec![vec![Transform::IDENTITY; nodes.tracks.len()]; list.len()];
            let mut to: Vec<&mut [i32]> = states.iter_mut().map(|s| &mut s[..]).collect();
            let mut out: Vec<&mut [Transform]> = moved.iter_mut().map(|t| &mut t[..]).collect();
            let found = |frame: u32| done.get(&frame).map(|state| &state[..]);
            let result = nodes.decode_unit(schedule, unit, bytes, &found, &mut to, &mut out);
            result.is_ok().then_some(states)
        };
        let (first, second) = (decode(), decode());
        assert_eq!(first, second);
        if let Some(states) = first {
            done.extend(list.iter().copied().zip(states));
        } else {
            // As if it had stood still.
            done.extend(list.iter().map(|&frame| (frame, nodes.rest().to_vec())));
        }
    }
});

fn fixed_nodes() -> Vec<Node> {
    let node = |parent, moves, bounds| Node {
        parent,
        rest: Transform { translation: [0.0, 10.0, 1.0], ..Transform::IDENTITY },
        moves,
        bounds,
    };
    vec![
        node(None, true, None),
        node(Some(0), false, Some([1.0, 1.0, 1.0, 2.0, 3.0, 4.0])),
        node(Some(1), true, Some([-1.0, -2.0, -3.0, 1.0, 2.0, 3.0])),
    ]
}
