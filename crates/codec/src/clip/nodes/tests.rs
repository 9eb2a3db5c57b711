//! Units of moving nodes: there and back, cut short, with wrong bits; what their steps follow.

use crate::clip::nodes::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Three nodes: one that moves, one that stands below it, one that grows.
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

const SETUPS: [Setup; 2] = [
    Setup { moves: [true, true, false], pivot: true, code: 130 },
    Setup { moves: [false, true, true], pivot: false, code: 128 },
];

fn coder() -> Nodes {
    let mut setup = Vec::new();
    encode_setup(0.01, &SETUPS, &mut setup);
    Nodes::new(&nodes(), &setup).unwrap()
}

/// A frame as decoded.
type Frame = (Vec<i32>, Vec<Transform>);

/// Units and their bytes.
type Units = Vec<(Unit, Vec<u8>)>;

/// Codes all units of an animation; returns the bytes of each, and all frames.
fn code(
    nodes: &Nodes,
    schedule: Schedule,
    choices: &dyn Fn(u32) -> Vec<Choice>,
) -> (Units, BTreeMap<u32, Frame>) {
    let (mut units, mut frames) = (Vec::new(), BTreeMap::<u32, Frame>::new());
    for unit in schedule.in_file() {
        // The states of a unit's own frames are made on the way.
        for (i, &frame) in schedule.frames_of(unit).iter().enumerate() {
            let list = schedule.frames_of(unit);
            let find = |f: u32| frames.get(&f).map(|f| &f.0[..]);
            let around = Around::new(nodes, schedule, &list, i, find).unwrap();
            let mut state = vec![0; nodes.words];
            let mut out = Vec::new();
            for (track, mut choice) in nodes.tracks.iter().zip(choices(frame)) {
                let words = &mut state[track.word..track.word + track.words];
                let coded = track.code(&around, &mut Encoder::default(), &mut choice, words);
                out.push(coded.unwrap());
            }
            frames.insert(frame, (state, out));
        }
        let list: Vec<Vec<Choice>> = schedule.frames_of(unit).iter().map(|&f| choices(f)).collect();
        let list: Vec<&[Choice]> = list.iter().map(|c| &c[..]).collect();
        let find = |f: u32| frames.get(&f).map(|f| &f.0[..]);
        let mut bytes = Vec::new();
        encode_unit(nodes, schedule, unit, &find, &list, &mut bytes).unwrap();
        units.push((unit, bytes));
    }
    (units, frames)
}

fn decode(
    nodes: &Nodes,
    schedule: Schedule,
    (unit, bytes): (Unit, &[u8]),
    frames: &BTreeMap<u32, Frame>,
) -> Result<Vec<Frame>, Corrupt> {
    let list = schedule.frames_of(unit);
    let empty = (vec![0; nodes.words], vec![Transform::IDENTITY; nodes.tracks.len()]);
    let mut out = vec![empty; list.len()];
    let (mut states, mut transforms) = (Vec::new(), Vec::new());
    for (state, transform) in &mut out {
        states.push(&mut state[..]);
        transforms.push(&mut transform[..]);
    }
    let found = |f: u32| frames.get(&f).filter(|_| !list.contains(&f)).map(|f| &f.0[..]);
    nodes.decode_unit(schedule, unit, bytes, &found, &mut states, &mut transforms)?;
    Ok(out)
}

fn bits(frame: &Frame) -> (Vec<i32>, Vec<u32>) {
    let of = |t: &Transform| {
        let all = t.rotation.into_iter().chain(t.translation).chain(t.scale);
        all.map(f32::to_bits).collect::<Vec<_>>()
    };
    (frame.0.clone(), frame.1.iter().flat_map(of).collect())
}

fn some(frame: u32) -> Vec<Choice> {
    let mut k = [0; COMPONENTS];
    for (i, k) in k.iter_mut().enumerate().take(6) {
        *k = ((frame * 7 + i as u32 * 13) % 11) as i32 - 5;
    }
    let first = Choice { class: 1 + (frame % 6) as u8, k, ..Choice::default() };
    let raw = Transform { rotation: [0.0, 0.6, 0.0, 0.8], translation: [1e6, -3.0, 0.1], scale: [0.0; 3] };
    let second = match frame % 5 {
        0 => Choice::default(),
        1 => Choice { class: RAW, raw, ..Choice::default() },
        _ => first,
    };
    vec![first, second]
}

fn round_trip(frames: u32, restart: u32, choices: &dyn Fn(u32) -> Vec<Choice>) -> Vec<Vec<u8>> {
    let (nodes, schedule) = (coder(), Schedule::new(frames, restart));
    let (units, frames) = code(&nodes, schedule, choices);
    for (unit, bytes) in &units {
        let decoded = decode(&nodes, schedule, (*unit, bytes), &frames).unwrap();
        for (frame, decoded) in schedule.frames_of(*unit).iter().zip(&decoded) {
            assert_eq!(bits(decoded), bits(&frames[frame]), "{unit:?} {frame}");
        }
        for cut in 0..bytes.len() {
            let cut = decode(&nodes, schedule, (*unit, &bytes[..cut]), &frames);
            assert!(cut.is_err());
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << (at % 8);
            // Refused, or another valid unit; never anything else.
            let _ = decode(&nodes, schedule, (*unit, &bad), &frames);
            bad[at] = 255;
            let _ = decode(&nodes, schedule, (*unit, &bad), &frames);
        }
        let mut more = bytes.clone();
        more.push(0);
        assert!(decode(&nodes, schedule, (*unit, &more), &frames).is_err());
    }
    units.into_iter().map(|(_, bytes)| bytes).collect()
}

#[test]
fn units_come_back() {
    for frames in [1, 2, 3, 16, 17, 18, 33, 50] {
        for restart in [1, 4] {
            round_trip(frames, restart, &some);
        }
    }
}

#[test]
fn golden() {
    let mut setup = Vec::new();
    encode_setup(0.01, &SETUPS, &mut setup);
    assert_eq!(setup, GOLDEN_SETUP);
    assert_eq!(round_trip(3, 1, &some), GOLDEN_UNITS);
    // What stands still takes less than a hundredth of a bit.
    let still = round_trip(3, 1, &|_| vec![Choice::default(); 2]);
    assert!(still.iter().all(|unit| unit.len() == 4));
}

const GOLDEN_SETUP: [u8; 8] = [80, 235, 132, 60, 220, 19, 60, 128];
const GOLDEN_UNITS: [&[u8]; 3] = [
    &[199, 143, 15, 242, 119, 204],
    &[242, 175, 244, 4, 170, 81, 146, 177, 132, 186, 231, 34, 244, 227, 208, 241, 232, 162, 71, 64],
    &[
        230, 191, 241, 18, 14, 56, 238, 31, 0, 144, 0, 154, 153, 1, 63, 0, 0, 192, 0, 205, 204, 68, 63, 0,
        66, 7, 73, 0, 0, 196, 192, 205, 204, 12, 61, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
];

#[test]
fn steps_follow_what_hangs_below() {
    let nodes = coder();
    let [first, second] = [nodes.tracks[0], nodes.tracks[1]];
    assert_eq!((first.node, second.node), (0, 2));
    let step = f64::from(0.01f32) * std::f64::consts::SQRT_2;
    assert_eq!(first.step, step);
    // The child's box is 1 … 2, 1 … 3, 1 … 4; scaled by 1, 2, −1 it reaches ½, 2, 3/2 from its middle.
    assert_eq!(first.pivot, [1.5, 2.0, 2.5]);
    let lever = |a: f64, b: f64| (a * a + b * b).sqrt();
    assert_eq!(first.rotation, [lever(2.0, 1.5), lever(0.5, 1.5), lever(0.5, 2.0)].map(|l| step / l));
    assert_eq!(second.pivot, [0.0; 3]);
    let base = f64::from(0.01f32);
    assert_eq!(second.scale, [1.0, 2.0, 3.0].map(|h| base / h));
    assert_eq!((first.words, second.words), (8, 8));
    assert_eq!((first.components(), second.components()), (6, 6));
}

#[test]
fn the_first_frame_is_the_rest_pose() {
    let nodes = coder();
    for track in &nodes.tracks {
        let words = &nodes.rest()[track.word..track.word + track.words - 1];
        let (got, want) = (track.transform(words).matrix(), track.rest.matrix());
        for (got, want) in got.as_flattened().iter().zip(want.as_flattened()) {
            assert!((got - want).abs() < 3e-4, "{got} {want}");
        }
    }
}

#[test]
fn nothing_is_nothing() {
    // A scale of zero is exactly zero: players hide such nodes.
    let nodes = coder();
    let track = nodes.tracks[1];
    let zero = Transform { scale: [0.0; 3], ..track.rest };
    let mut words = [0; 8];
    track.keep(track.words_of(&zero), &mut words);
    assert_eq!(track.transform(&words[..7]).scale, [0.0; 3]);
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
    // Left, right, outer left: ¾, ⅜, −⅛.
    assert_eq!(weights(&[-3, 3, -9]), [49152, 24576, -8192, 0]);
}

#[test]
fn setups_that_are_none() {
    let given = nodes();
    let mut setup = Vec::new();
    encode_setup(0.01, &SETUPS, &mut setup);
    for cut in 0..setup.len() {
        // Another setup, or none.
        let _ = Nodes::new(&given, &setup[..cut]);
    }
    for at in 0..setup.len() {
        for bit in 0..8 {
            let mut bad = setup.clone();
            bad[at] ^= 1 << bit;
            let _ = Nodes::new(&given, &bad);
        }
    }
    setup.extend([1; 8]);
    assert!(Nodes::new(&given, &setup).is_err());
    for base in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let mut setup = Vec::new();
        encode_setup(base, &SETUPS, &mut setup);
        assert!(Nodes::new(&given, &setup).is_err());
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
        let mut usable = Vec::new();
        encode_setup(0.01, &SETUPS, &mut usable);
        for setup in [&setup, &usable] {
            let Ok(nodes) = Nodes::new(&given, setup) else { continue };
            let schedule = Schedule::new(frames, 2);
            let mut done: BTreeMap<u32, Frame> = BTreeMap::new();
            for unit in schedule.in_file() {
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
    ) {
        round_trip(frames, 2, &|frame| {
            (0..2).map(|n| {
                let (class, k, low) = list[2 * frame as usize + n];
                // Of class 0 all are zero.
                let k = k.map(|k| if class == 0 { 0 } else { i32::from(k) >> low });
                let mut k: [i32; 9] = k;
                k[6..].fill(0);
                Choice { class, k, ..Choice::default() }
            }).collect()
        });
    }
}
