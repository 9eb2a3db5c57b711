//! Tests of access units of moving nodes: round trips, truncation, wrong bits, and the derivation of steps.

use crate::clip::nodes::*;
use crate::clip::schedule::weights;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Three nodes: one that moves, one at rest below it, one that grows.
fn nodes() -> Vec<Node> {
    let still = Node { parent: None, rest: Transform::IDENTITY, moves: true, bounds: None };
    let turned =
        Transform { rotation: [0.5, 0.5, 0.5, 0.5], translation: [1.0, 2.0, 3.0], scale: [1.0, 2.0, -1.0] };
    vec![
        Node { rest: turned, ..still },
        Node { parent: Some(0), moves: false, bounds: Some([1.0, 1.0, 1.0, 2.0, 3.0, 4.0]), ..still },
        Node { bounds: Some([-1.0, -2.0, -3.0, 1.0, 2.0, 3.0]), ..still },
    ]
}

const SETUPS: [NodeSetup; 2] = [
    NodeSetup { moves: [true, true, false], pivot: true, step_code: 130 },
    NodeSetup { moves: [false, true, true], pivot: false, step_code: 128 },
];

fn coder(packed: bool) -> NodeTracks {
    let mut setup = Vec::new();
    encode_setup(0.01, packed, &SETUPS, &mut setup);
    NodeTracks::new(&nodes(), &setup).unwrap()
}

/// Enough nodes to fill blocks of every kind, some of them partly.
fn many(packed: bool) -> NodeTracks {
    let setup = |n: usize| NodeSetup {
        moves: [!n.is_multiple_of(3), !n.is_multiple_of(5), n.is_multiple_of(7)],
        pivot: n.is_multiple_of(2),
        step_code: 120 + (n % 16) as u8,
    };
    let node = |n: usize| Node {
        parent: None,
        rest: Transform { translation: [n as f32, 1.0, -2.0], ..nodes()[0].rest },
        moves: true,
        bounds: Some([-1.0, -2.0, -3.0, n as f32, 2.0, 3.0]),
    };
    let mut bytes = Vec::new();
    encode_setup(0.01, packed, &(0..67).map(setup).collect::<Vec<_>>(), &mut bytes);
    NodeTracks::new(&(0..67).map(node).collect::<Vec<_>>(), &bytes).unwrap()
}

/// A decoded frame: its state and its transforms.
type Frame = (Vec<i32>, Vec<Transform>);

/// Access units and their bytes.
type Units = Vec<(Unit, Vec<u8>)>;

/// Codes all access units of an animation; returns the bytes of each, and all frames.
fn code(
    nodes: &NodeTracks,
    schedule: Schedule,
    choices: &dyn Fn(u32) -> Vec<NodeResiduals>,
) -> (Units, BTreeMap<u32, Frame>) {
    let (mut units, mut frames) = (Vec::new(), BTreeMap::<u32, Frame>::new());
    let mut words = BTreeMap::<u32, Vec<TrackCodes>>::new();
    for unit in schedule.units_in_file_order() {
        let list = schedule.frames_of(unit);
        // The codes of a unit's own frames are made on the way.
        for (i, &frame) in list.iter().enumerate() {
            let (mut own, mut out) = (Vec::new(), Vec::new());
            for (n, (track, choice)) in nodes.tracks.iter().zip(choices(frame)).enumerate() {
                let find = |f: u32| words.get(&f)?.get(n);
                let around = SurroundingCodes::new(&track.rest_codes, schedule, &list, i, find).unwrap();
                let (moved, transform) = track.reconstruct(&around, &choice);
                own.push(moved);
                out.push(transform);
            }
            frames.insert(frame, (nodes.frame_state(&own), out));
            words.insert(frame, own);
        }
        let all: Vec<Vec<NodeResiduals>> = list.iter().map(|&f| choices(f)).collect();
        let all: Vec<&[NodeResiduals]> = all.iter().map(|c| &c[..]).collect();
        let find = |f: u32| words.get(&f).map(|w| &w[..]);
        let mut bytes = Vec::new();
        encode_unit(nodes, schedule, unit, &find, &all, &mut bytes).unwrap();
        units.push((unit, bytes));
    }
    (units, frames)
}

/// Decodes with all instruction sets, which must give the same result.
fn decode(
    nodes: &NodeTracks,
    schedule: Schedule,
    unit: (Unit, &[u8]),
    frames: &BTreeMap<u32, Frame>,
) -> Result<Vec<Frame>, Corrupt> {
    let all: Vec<_> = Isa::all().map(|isa| decode_with(isa, nodes, schedule, unit, frames)).collect();
    let known = |frames: &Result<Vec<Frame>, Corrupt>| {
        frames.clone().map(|frames| frames.iter().map(bits).collect::<Vec<_>>())
    };
    assert!(all.iter().all(|one| known(one) == known(&all[0])));
    all.into_iter().next().unwrap()
}

fn decode_with(
    isa: Isa,
    nodes: &NodeTracks,
    schedule: Schedule,
    (unit, bytes): (Unit, &[u8]),
    frames: &BTreeMap<u32, Frame>,
) -> Result<Vec<Frame>, Corrupt> {
    let list = schedule.frames_of(unit);
    let empty = (vec![0; nodes.codes_per_frame], vec![Transform::IDENTITY; nodes.tracks.len()]);
    let mut out = vec![empty; list.len()];
    let (mut states, mut transforms) = (Vec::new(), Vec::new());
    for (state, transform) in &mut out {
        states.push(&mut state[..]);
        transforms.push(&mut transform[..]);
    }
    let found = |f: u32| frames.get(&f).filter(|_| !list.contains(&f)).map(|f| &f.0[..]);
    nodes.decode_unit_with(isa, (schedule, unit), bytes, &found, &mut states, &mut transforms)?;
    Ok(out)
}

fn bits(frame: &Frame) -> (Vec<i32>, Vec<u32>) {
    let of = |t: &Transform| {
        let all = t.rotation.into_iter().chain(t.translation).chain(t.scale);
        all.map(f32::to_bits).collect::<Vec<_>>()
    };
    (frame.0.clone(), frame.1.iter().flat_map(of).collect())
}

fn some(frame: u32) -> Vec<NodeResiduals> {
    let mut k = [0; MAX_COMPONENTS];
    for (i, k) in k.iter_mut().enumerate().take(6) {
        *k = ((frame * 7 + i as u32 * 13) % 11) as i32 - 5;
    }
    let first = NodeResiduals { class: 1 + (frame % 6) as u8, k, ..NodeResiduals::default() };
    let raw = Transform { rotation: [0.0, 0.6, 0.0, 0.8], translation: [1e6, -3.0, 0.1], scale: [0.0; 3] };
    let second = match frame % 5 {
        0 => NodeResiduals::default(),
        1 => NodeResiduals { class: RAW_CLASS, raw, ..NodeResiduals::default() },
        _ => first,
    };
    vec![first, second]
}

fn round_trip(
    nodes: &NodeTracks,
    frames: u32,
    restart: u32,
    choices: &dyn Fn(u32) -> Vec<NodeResiduals>,
) -> Vec<Vec<u8>> {
    let schedule = Schedule::new(frames, restart);
    let (units, frames) = code(nodes, schedule, choices);
    for (unit, bytes) in &units {
        let decoded = decode(nodes, schedule, (*unit, bytes), &frames).unwrap();
        for (frame, decoded) in schedule.frames_of(*unit).iter().zip(&decoded) {
            assert_eq!(bits(decoded), bits(&frames[frame]), "{unit:?} {frame}");
        }
        for cut in 0..bytes.len() {
            let cut = decode(nodes, schedule, (*unit, &bytes[..cut]), &frames);
            assert!(cut.is_err());
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << (at % 8);
            // Refused, or decoded as another valid unit; never a panic.
            let _ = decode(nodes, schedule, (*unit, &bad), &frames);
            bad[at] = 255;
            let _ = decode(nodes, schedule, (*unit, &bad), &frames);
        }
        let mut more = bytes.clone();
        more.push(0);
        assert!(decode(nodes, schedule, (*unit, &more), &frames).is_err());
    }
    units.into_iter().map(|(_, bytes)| bytes).collect()
}

#[test]
fn units_come_back() {
    for frames in [1, 2, 3, 16, 17, 18, 33, 50] {
        for restart in [1, 4] {
            for packed in [false, true] {
                round_trip(&coder(packed), frames, restart, &some);
            }
        }
    }
}

/// Returns the choices of `n` nodes, each with another pattern: zeros, small and large residuals, residuals
/// too wide for any field, raw transforms.
fn lively(frame: u32, n: u32) -> NodeResiduals {
    let mut k: [i32; MAX_COMPONENTS] = std::array::from_fn(|c| {
        let mixed = (frame + 1)
            .wrapping_mul(0x9E37_79B9)
            .wrapping_add(n.wrapping_mul(0x85EB_CA6B) ^ (c as u32).wrapping_mul(0xC2B2_AE35));
        let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x2C1B_3C6D);
        let width = if n % 13 == 7 { 28 } else { (n + frame) % 19 };
        (mixed as i32) >> (31 - width)
    });
    let class = match (n + frame) % 11 {
        0..3 => 0,
        3 => RAW_CLASS,
        4 => 1 + (n % 6) as u8,
        _ => 1,
    };
    if class == 0 {
        k = [0; MAX_COMPONENTS];
    }
    let raw =
        Transform { rotation: [0.6, 0.0, 0.0, -0.8], translation: [1e3, n as f32, 0.1], scale: [2.0; 3] };
    NodeResiduals { class, k, raw }
}

/// Sets the residuals of parts that do not move to 0.
fn fitting(nodes: &NodeTracks, frame: u32) -> Vec<NodeResiduals> {
    let of = |(n, track): (u32, &NodeTrack)| {
        let mut choice = lively(frame, n);
        choice.k[track.components()..].fill(0);
        choice
    };
    (0..).zip(&nodes.tracks).map(of).collect()
}

#[test]
fn many_nodes_come_back() {
    for packed in [false, true] {
        let nodes = many(packed);
        for frames in [1, 17, 40] {
            let schedule = Schedule::new(frames, 2);
            let (units, frames) = code(&nodes, schedule, &|frame| fitting(&nodes, frame));
            for (unit, bytes) in &units {
                let decoded = decode(&nodes, schedule, (*unit, bytes), &frames).unwrap();
                for (frame, decoded) in schedule.frames_of(*unit).iter().zip(&decoded) {
                    assert!(bits(decoded) == bits(&frames[frame]), "{unit:?} {frame}");
                }
                for cut in (0..bytes.len()).step_by(29) {
                    assert!(decode(&nodes, schedule, (*unit, &bytes[..cut]), &frames).is_err());
                    let mut bad = bytes.clone();
                    bad[cut] ^= 1 << (cut % 8);
                    let _ = decode(&nodes, schedule, (*unit, &bad), &frames);
                }
            }
        }
    }
}

#[test]
fn what_stands_still_is_not_rounded_anew() {
    for packed in [false, true] {
        let nodes = many(packed);
        // Moves once, in the second key frame.
        let choices = |frame: u32| match frame {
            16 => {
                fitting(&nodes, 2).into_iter().map(|c| NodeResiduals { class: c.class.min(1), ..c }).collect()
            }
            _ => vec![NodeResiduals::default(); nodes.tracks.len()],
        };
        let (_, frames) = code(&nodes, Schedule::new(50, 50), &choices);
        let first = bits(&frames[&16]).1;
        assert_ne!(first, bits(&frames[&0]).1);
        for (frame, state) in frames.range(32..) {
            assert_eq!(bits(state).1, first, "{frame}");
        }
    }
}

#[test]
fn golden() {
    let mut setup = Vec::new();
    encode_setup(0.01, false, &SETUPS, &mut setup);
    assert_eq!(setup, GOLDEN_SETUP);
    assert_eq!(round_trip(&coder(false), 3, 1, &some), GOLDEN_UNITS);
    assert_eq!(round_trip(&coder(true), 3, 1, &some), GOLDEN_PACKED);
    // A node at rest takes less than a hundredth of a bit.
    let still = |packed| round_trip(&coder(packed), 3, 1, &|_| vec![NodeResiduals::default(); 2]);
    assert!(still(false).iter().all(|unit| *unit == [4]));
    assert!(still(true).iter().all(|unit| *unit == [0]));
}

const GOLDEN_PACKED: [&[u8]; 3] = [
    &[1, 1, 8, 3, 0, 0, 0, 3, 0, 0, 0, 0, 219, 31, 83],
    &[
        1, 3, 16, 15, 0, 0, 0, 15, 0, 0, 0, 15, 0, 0, 0, 15, 0, 0, 0, 14, 3, 3, 0, 4, 8, 9, 5, 3, 3, 0, 4, 8,
        9, 5,
    ],
    &[
        1, 3, 16, 15, 0, 0, 0, 15, 0, 0, 0, 15, 0, 0, 0, 15, 0, 0, 0, 48, 2, 4, 8, 9, 5, 1, 2, 7, 0, 0, 0, 0,
        154, 153, 25, 63, 0, 0, 0, 0, 205, 204, 76, 63, 0, 36, 116, 73, 0, 0, 64, 192, 205, 204, 204, 61, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
];
const GOLDEN_SETUP: [u8; 8] = [80, 235, 132, 60, 110, 9, 158, 64];
const GOLDEN_UNITS: [&[u8]; 3] = [
    &[0, 149, 207, 7, 121, 119, 204],
    &[0, 242, 47, 61, 1, 10, 18, 66, 194, 132, 210, 19, 241, 250, 241, 0, 130, 116, 209, 35, 160],
    &[
        0, 230, 95, 248, 4, 114, 248, 169, 19, 0, 0, 154, 153, 25, 63, 0, 0, 0, 0, 205, 204, 76, 63, 0, 36,
        116, 73, 0, 0, 64, 192, 205, 204, 204, 61, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
];

#[test]
fn steps_follow_what_hangs_below() {
    let nodes = coder(false);
    let [first, second] = [nodes.tracks[0], nodes.tracks[1]];
    assert_eq!((first.node, second.node), (0, 2));
    let step = f64::from(0.01f32) * std::f64::consts::SQRT_2;
    assert_eq!(first.step, step);
    // The child's bounds are 1 … 2, 1 … 3, 1 … 4; scaled by 1, 2, −1 they reach ½, 2, 3/2 from their centre.
    assert_eq!(first.pivot, [1.5, 2.0, 2.5]);
    let lever = |a: f64, b: f64| (a * a + b * b).sqrt();
    assert_eq!(first.rotation, [lever(2.0, 1.5), lever(0.5, 1.5), lever(0.5, 2.0)].map(|l| step / l));
    assert_eq!(second.pivot, [0.0; 3]);
    let base = f64::from(0.01f32);
    assert_eq!(second.scale, [1.0, 2.0, 3.0].map(|h| base / h));
    assert_eq!((first.components(), second.components()), (6, 6));
}

#[test]
fn the_first_frame_is_the_rest_pose() {
    for track in &coder(true).tracks {
        let (got, want) = (track.transform(&track.rest_codes).matrix(), track.rest.matrix());
        for (got, want) in got.as_flattened().iter().zip(want.as_flattened()) {
            assert!((got - want).abs() < 3e-4, "{got} {want}");
        }
    }
}

#[test]
fn nothing_is_nothing() {
    // A scale of zero is exactly zero: players hide such nodes.
    let nodes = coder(false);
    let track = nodes.tracks[1];
    let zero = Transform { scale: [0.0; 3], ..track.rest };
    assert_eq!(track.transform(&track.quantize(&zero)).scale, [0.0; 3]);
}

#[test]
fn zeros_have_no_sign() {
    let one = 1_073_741_824.0;
    let around = [[0.0, 0.0, 0.0, one]; 4];
    // Turns of less than half a code.
    let words = codes::rotation(&around, &[65536.0, 0.0, 0.0, 0.0], &[-1e-11, 1e-11, 0.0]);
    assert_eq!(words.map(f64::to_bits), [0.0, 0.0, 0.0, one].map(f64::to_bits));
}

#[test]
fn arms_are_those_of_matrices() {
    let q = [0.1f32, -0.7, 0.3, 0.65];
    let t = Transform { rotation: q, translation: [0.0; 3], scale: [2.0, -0.5, 3.0] };
    let p = [4.0, 5.0, -6.0];
    let got = codes::arm(&q.map(f64::from), false, &t.scale.map(f64::from), &p);
    for (got, row) in got.iter().zip(t.matrix()) {
        let want = row[0] * p[0] + row[1] * p[1] + row[2] * p[2];
        assert!((got - want).abs() < 1e-12, "{got} {want}");
    }
    let length = t.rotation.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    // As near to unit length as rounding to f32 leaves it.
    let near = codes::arm(&q.map(|v| f64::from(v) / length * 1.000_000_1), true, &t.scale.map(f64::from), &p);
    for (near, got) in near.iter().zip(got) {
        assert!((near - got).abs() < 1e-11, "{got} {near}");
    }
    assert_eq!(codes::arm(&[0.0; 4], false, &[1.0; 3], &p), p);
}

#[test]
fn polynomials() {
    let f = |t: i64| t * t * t - 40 * t * t + 7;
    for at in [[-1, 1, -3, 3], [-8, 8, -24, 16], [-2, 1, -5, 9]] {
        let sum: i64 = at.iter().zip(weights(&at)).map(|(t, w)| i64::from(w) * f(*t)).sum();
        assert!((sum - (f(0) << 16)).abs() < 4 * 60_000, "{at:?}");
        assert_eq!(weights(&at).iter().sum::<i32>(), 1 << 16);
    }
    assert_eq!(weights(&[-1, 1]), [1 << 15, 1 << 15, 0, 0]);
    // Weights of left, right, outer left: ¾, ⅜, −⅛.
    assert_eq!(weights(&[-3, 3, -9]), [49152, 24576, -8192, 0]);
}

#[test]
fn setups_that_are_none() {
    let given = nodes();
    let mut setup = Vec::new();
    encode_setup(0.01, false, &SETUPS, &mut setup);
    for cut in 0..setup.len() {
        // Decoded as another setup, or refused.
        let _ = NodeTracks::new(&given, &setup[..cut]);
    }
    for at in 0..setup.len() {
        for bit in 0..8 {
            let mut bad = setup.clone();
            bad[at] ^= 1 << bit;
            let _ = NodeTracks::new(&given, &bad);
        }
    }
    setup.extend([1; 8]);
    assert!(NodeTracks::new(&given, &setup).is_err());
    for base in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let mut setup = Vec::new();
        encode_setup(base, true, &SETUPS, &mut setup);
        assert!(NodeTracks::new(&given, &setup).is_err());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_safe(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        setup in prop::collection::vec(any::<u8>(), 0..40),
        rest in any::<[[u32; 10]; 3]>(),
        bounds in any::<[u32; 6]>(),
        frames in 1u32..40,
    ) {
        let mut given = nodes();
        for (node, rest) in given.iter_mut().zip(rest) {
            let [x, y, z, w, a, b, c, d, e, f] = rest.map(f32::from_bits);
            node.rest = Transform { rotation: [x, y, z, w], translation: [a, b, c], scale: [d, e, f] };
        }
        given[2].bounds = Some(bounds.map(f32::from_bits));
        let usable = [false, true].map(|packed| {
            let mut usable = Vec::new();
            encode_setup(0.01, packed, &SETUPS, &mut usable);
            usable
        });
        for setup in [&setup, &usable[0], &usable[1]] {
            let Ok(nodes) = NodeTracks::new(&given, setup) else { continue };
            let schedule = Schedule::new(frames, 2);
            let mut done: BTreeMap<u32, Frame> = BTreeMap::new();
            for unit in schedule.units_in_file_order() {
                if let Ok(decoded) = decode(&nodes, schedule, (unit, &bytes), &done) {
                    done.extend(schedule.frames_of(unit).iter().copied().zip(decoded));
                }
            }
        }
    }

    #[test]
    fn any_choices_come_back(
        list in prop::collection::vec((0u8..8, any::<[i16; 9]>(), 0u32..12), 40),
        frames in 1u32..20,
        packed in any::<bool>(),
    ) {
        round_trip(&coder(packed), frames, 2, &|frame| {
            (0..2).map(|n| {
                let (class, k, low) = list[2 * frame as usize + n];
                // Class 0 has only zeros.
                let k = k.map(|k| if class == 0 { 0 } else { i32::from(k) >> low });
                let mut k: [i32; 9] = k;
                k[6..].fill(0);
                NodeResiduals { class, k, ..NodeResiduals::default() }
            }).collect()
        });
    }
}
