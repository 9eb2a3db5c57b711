//! Tests of curves: round trips, keys in the order of need, and refusal of damaged bytes.

use crate::clip::curve::*;
use crate::clip::{NO_INDEX, Skeleton};
use crate::transform::Transform;
use proptest::prelude::*;

/// A chain of joints.
struct Chain {
    parents: Vec<u32>,
    rest: Vec<Transform>,
    shell: Vec<f32>,
}

fn chain(joints: usize) -> Chain {
    Chain {
        parents: (0..joints as u32).map(|j| j.checked_sub(1).unwrap_or(NO_INDEX)).collect(),
        rest: vec![Transform::IDENTITY; joints],
        shell: vec![1.0; joints],
    }
}

impl Chain {
    fn skeleton(&self) -> Skeleton<'_> {
        Skeleton { parents: &self.parents, rest: &self.rest, shell: &self.shell }
    }
}

fn turn(axis: usize, angle: f32) -> [f32; 4] {
    let mut q = [0.0, 0.0, 0.0, (angle / 2.0).cos()];
    q[axis] = (angle / 2.0).sin();
    q
}

/// Rotating joints, the first of which also translates; each sub-track has a key every few samples.
fn swinging(joints: usize, samples: u32, short: bool) -> (CurveHead, Vec<Key>) {
    let range = ValueRange { low: [-2.0, 0.0, -1.0], size: [4.0, 0.0, 2.0] };
    let mut head = CurveHead {
        knots: KnotSpacing::Centripetal,
        short_rotations: short,
        samples,
        fps: 30.0,
        start: 0.5,
        sub_tracks: vec![
            [
                CurveSubTrack::Animated(ValueRange::default()),
                CurveSubTrack::Default,
                CurveSubTrack::Default
            ];
            joints
        ],
    };
    head.sub_tracks[0][1] = CurveSubTrack::Animated(range);
    head.sub_tracks[joints - 1][0] = CurveSubTrack::Constant(turn(1, 0.7));
    head.sub_tracks[joints - 1][2] = CurveSubTrack::Constant([1.0, 2.0, 3.0, 0.0]);
    let mut keys = Vec::new();
    for (joint, kinds) in head.sub_tracks.iter().enumerate() {
        for (part, kind) in TRANSFORM_PARTS.into_iter().zip(kinds) {
            if !matches!(kind, CurveSubTrack::Animated(_)) {
                continue;
            }
            let step = 2 + joint % 5;
            let last = samples as usize - 1;
            for time in (0..last).step_by(step).chain([last]) {
                let phase = time as f32 * 0.2 + joint as f32;
                let value = match part {
                    TransformPart::Rotation => turn(joint % 3, phase.sin() * 2.0),
                    _ => [2.0 * phase.sin(), 0.0, phase.cos(), 0.0],
                };
                keys.push(Key {
                    joint: joint as u16,
                    part,
                    time: time as u16,
                    payload: head.payload(kind, part, value),
                });
            }
        }
    }
    (head, keys)
}

fn read(head: &CurveHead, keys: &[Key], chain: &Chain) -> CurveClip {
    let mut bytes = Vec::new();
    encode(head, keys, &mut bytes);
    CurveClip::decode(&bytes, &chain.skeleton()).unwrap()
}

/// Evaluates a track from all of its keys, without a playhead.
fn plain(curves: &CurveClip, joint: u16, part: TransformPart, time: f32) -> [f32; 4] {
    let mut keys: Vec<&Key> = (curves.keys().iter()).filter(|k| (k.joint, k.part) == (joint, part)).collect();
    keys.sort_by_key(|k| k.time);
    let left = (keys.partition_point(|k| f32::from(k.time) <= time) - 1).min(keys.len() - 2);
    let at = |i: Option<usize>| i.and_then(|i| keys.get(i));
    let mut window = KeyWindow::default();
    let around = [left.checked_sub(1), Some(left), Some(left + 1), Some(left + 2)];
    for (k, key) in around.into_iter().map(at).enumerate() {
        if let Some(key) = key {
            (window.times[k], window.values[k]) = (key.time, curves.value(key));
        }
    }
    window.has_outer = [left > 0, left + 2 < keys.len()];
    window.value(time, curves.head.knots, part == TransformPart::Rotation)
}

#[test]
fn d01_vectors_take_16_bits_of_their_range() {
    let range = ValueRange::from_values([[-1.0, 5.0, 0.0], [3.0, 5.0, 100.0], [2.0, 5.0, 50.0]]);
    assert_eq!((range.low, range.size), ([-1.0, 5.0, 0.0], [4.0, 0.0, 100.0]));
    for value in [[-1.0, 5.0, 0.0], [3.0, 5.0, 100.0], [0.3, 5.0, 77.7]] {
        let payload = range.payload(value);
        assert!(payload < 1 << 48);
        let back = range.value(payload);
        for k in 0..3 {
            assert!((back[k] - value[k]).abs() <= range.size[k] / 65535.0 * 0.51);
        }
    }
    assert_eq!(ValueRange::from_values([]), ValueRange::default());
}

#[test]
fn d08_knots_are_what_they_are_called() {
    assert_eq!(KnotSpacing::Uniform.interval(9.0), 1.0);
    assert_eq!(KnotSpacing::Chordal.interval(9.0), 9.0);
    assert_eq!(KnotSpacing::Centripetal.interval(9.0), 3.0);
    // Along a straight line all are straight; only chordal knots keep the speed if keys are not evenly
    // spaced.
    let window = KeyWindow {
        times: [0, 10, 12, 30],
        values: [0.0, 10.0, 12.0, 30.0].map(|v| [v, 0.0, 0.0, 0.0]),
        has_outer: [true; 2],
    };
    for time in [10.0, 10.5, 11.0, 11.9, 12.0] {
        assert!((window.value(time, KnotSpacing::Chordal, false)[0] - time).abs() < 1e-5);
    }
    // With times as uneven as here, uniform knots overshoot far, centripetal ones less.
    let beyond = |knots| {
        let off = |i: i32| {
            let time = 10.0 + i as f32 / 50.0;
            (window.value(time, knots, false)[0] - time).abs()
        };
        (0..=100).map(off).fold(0.0, f32::max)
    };
    assert!(beyond(KnotSpacing::Uniform) > beyond(KnotSpacing::Centripetal));
    assert!(beyond(KnotSpacing::Centripetal) > beyond(KnotSpacing::Chordal));
    assert_eq!(KnotSpacing::default(), KnotSpacing::Centripetal);
}

#[test]
fn d06_signs_do_not_matter() {
    let values = [turn(2, 0.1), turn(2, 0.4), turn(2, 0.9), turn(2, 1.0)];
    let window = KeyWindow { times: [0, 3, 7, 8], values, has_outer: [true; 2] };
    for signs in 0..16 {
        let mut other = window;
        for (k, value) in other.values.iter_mut().enumerate() {
            if signs >> k & 1 == 1 {
                *value = value.map(|v| -v);
            }
        }
        for time in [3.0, 4.0, 5.5, 7.0] {
            let [a, b] = [window, other].map(|w| w.value(time, KnotSpacing::Centripetal, true));
            let dot: f32 = (0..4).map(|k| a[k] * b[k]).sum();
            assert!(dot.abs() > 0.999_999, "{signs} {time}: {a:?} {b:?}");
        }
    }
}

#[test]
fn d11_a_key_has_80_bits() {
    for (short, rotation) in [(false, 10), (true, 8)] {
        let (head, keys) = swinging(4, 40, short);
        let mut bytes = Vec::new();
        encode(&head, &keys, &mut bytes);
        let one = keys.iter().position(|k| k.part == TransformPart::Rotation && k.time == 12).unwrap();
        let mut fewer = keys.clone();
        fewer.remove(one);
        let mut less = Vec::new();
        encode(&head, &fewer, &mut less);
        assert_eq!(bytes.len() - less.len(), rotation);
        assert_eq!(head.key_size(TransformPart::Translation), 10);
    }
}

#[test]
fn d12_forward_playback_reads_strictly_forward() {
    let (head, keys) = swinging(12, 600, false);
    let chain = chain(12);
    let curves = read(&head, &keys, &chain);
    let mut playhead = Playhead::new(&curves);
    let mut pose = vec![Transform::IDENTITY; 12];
    let mut before = 0;
    for i in 0..6000 {
        playhead.pose(&curves, &chain.skeleton(), i as f32 / 10.0, &mut pose);
        assert!(playhead.position() >= before);
        before = playhead.position();
    }
    // Each key is read once.
    assert_eq!((before, playhead.reads()), (curves.keys().len(), curves.keys().len() as u64));
    // And no key is read before it is needed.
    let mut playhead = Playhead::new(&curves);
    playhead.pose(&curves, &chain.skeleton(), 100.0, &mut pose);
    let next = &curves.keys()[playhead.position()..];
    for number in 0..12u16 {
        let track: Vec<u16> = (curves.keys().iter())
            .filter(|k| (k.joint, k.part) == (number, TransformPart::Rotation))
            .map(|k| k.time)
            .collect();
        let Some(passed) = track.iter().rposition(|&t| t <= 100) else {
            continue;
        };
        let first = next.iter().find(|k| (k.joint, k.part) == (number, TransformPart::Rotation));
        assert_eq!(first.map(|k| k.time), track.get(passed + 3).copied(), "joint {number}");
    }
}

#[test]
fn any_order_gives_what_the_definition_says() {
    for samples in [2, 3, 5, 700] {
        let (head, keys) = swinging(9, samples, false);
        let chain = chain(9);
        let curves = read(&head, &keys, &chain);
        assert_eq!(curves.snapshots.is_empty(), samples < 700);
        let mut playhead = Playhead::new(&curves);
        let mut pose = vec![Transform::IDENTITY; 9];
        let mut state = 1u32;
        for _ in 0..400 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let time = (state >> 8) as f32 / (1 << 24) as f32 * (samples as f32 + 1.0) - 1.0;
            playhead.pose(&curves, &chain.skeleton(), time, &mut pose);
            let time = time.clamp(0.0, (samples - 1) as f32);
            for (joint, out) in pose.iter().enumerate().take(8) {
                let want = plain(&curves, joint as u16, TransformPart::Rotation, time);
                assert_eq!(out.rotation, want, "joint {joint} at {time} of {samples}");
            }
            let want = plain(&curves, 0, TransformPart::Translation, time);
            assert_eq!(pose[0].translation, want[..3]);
            assert_eq!(pose[8].scale, [1.0, 2.0, 3.0]);
        }
        playhead.pose(&curves, &chain.skeleton(), f32::NAN, &mut pose);
    }
}

#[test]
fn d14_rotations_of_32_bits() {
    let (head, keys) = swinging(5, 50, true);
    let chain = chain(5);
    let curves = read(&head, &keys, &chain);
    assert!(curves.head.short_rotations);
    let back = decode_rotation32(encode_rotation32(turn(0, 1.2)));
    let dot: f32 = (0..4).map(|k| back[k] * turn(0, 1.2)[k]).sum();
    assert!(dot > 0.999_99);
}

#[test]
fn what_no_encoder_writes_is_refused() {
    let (head, keys) = swinging(3, 30, false);
    let chain = chain(3);
    let refuse = |head: &CurveHead, keys: &[Key]| {
        let mut bytes = Vec::new();
        encode(head, keys, &mut bytes);
        CurveClip::decode(&bytes, &chain.skeleton()).unwrap_err().0
    };
    let mut late = keys.clone();
    late.retain(|k| k.time != 0);
    assert!(refuse(&head, &late).contains("times"));
    let mut short = keys.clone();
    short.retain(|k| k.time != 29);
    assert!(refuse(&head, &short).contains("ends before"));
    let mut twice = keys.clone();
    twice.push(keys[3]);
    assert!(refuse(&head, &twice).contains("times"));
    let mut nobody = keys.clone();
    nobody[0].joint = 77;
    assert!(refuse(&head, &nobody).contains("no sub-track"));
    let mut constant = keys.clone();
    constant[0].part = TransformPart::Scale;
    assert!(refuse(&head, &constant).contains("no sub-track"));
    let mut endless = head.clone();
    endless.samples = MAX_SAMPLES + 1;
    assert!(refuse(&endless, &keys).contains("samples"));
    // Out of the order of need.
    let mut bytes = Vec::new();
    encode(&head, &keys, &mut bytes);
    let end = bytes.len();
    let (a, b) = (bytes[end - 20..end - 10].to_vec(), bytes[end - 10..].to_vec());
    bytes[end - 20..end - 10].copy_from_slice(&b);
    bytes[end - 10..].copy_from_slice(&a);
    assert!(CurveClip::decode(&bytes, &chain.skeleton()).is_err());
}

#[test]
fn truncations_and_flips_never_panic() {
    let (head, keys) = swinging(5, 60, true);
    let chain = chain(5);
    let mut bytes = Vec::new();
    encode(&head, &keys, &mut bytes);
    for end in 0..bytes.len() {
        assert!(CurveClip::decode(&bytes[..end], &chain.skeleton()).is_err(), "{end}");
    }
    let mut pose = vec![Transform::IDENTITY; 5];
    for bit in 0..8 * bytes.len() {
        let mut other = bytes.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        if let Ok(curves) = CurveClip::decode(&other, &chain.skeleton()) {
            let mut playhead = Playhead::new(&curves);
            for time in [0.0, 13.3, 59.0, 2.0] {
                playhead.pose(&curves, &chain.skeleton(), time, &mut pose);
                for joint in &pose {
                    let q = joint.rotation;
                    let square: f32 = q.iter().map(|v| v * v).sum();
                    assert!((square - 1.0).abs() < 1e-5);
                }
            }
        }
    }
}

proptest! {
    /// The precision stated by its authors.
    #[test]
    fn d02_rotations_are_within_43_millionths(v in any::<[i16; 4]>()) {
        let v = v.map(|v| f32::from(v) + 0.5);
        let length = v.iter().map(|v| v * v).sum::<f32>().sqrt();
        let q = v.map(|v| v / length);
        let payload = encode_rotation48(q);
        prop_assert!(payload < 1 << 47, "the spare bit is 0");
        let back = decode_rotation48(payload);
        let sign = (0..4).map(|k| q[k] * back[k]).sum::<f32>().signum();
        let largest = (payload >> 45) as usize;
        for k in 0..4 {
            // The largest component absorbs the errors of the others.
            let bound = if k == largest { 8e-5 } else { 4.5e-5 };
            prop_assert!((q[k] - sign * back[k]).abs() <= bound, "{:?} {:?}", q, back);
        }
        let back = decode_rotation32(encode_rotation32(q));
        let dot: f32 = (0..4).map(|k| q[k] * back[k]).sum();
        prop_assert!(dot.abs() > 0.999_995);
    }

    #[test]
    fn any_payload_is_a_rotation(payload: u64) {
        for q in [decode_rotation48(payload), decode_rotation32(payload)] {
            let square: f32 = q.iter().map(|v| v * v).sum();
            prop_assert!((square - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let chain = chain(3);
        let _ = CurveClip::decode(&bytes, &chain.skeleton());
    }
}
