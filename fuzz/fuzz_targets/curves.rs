//! Clips of keys: any bytes, and clips that an encoder could write with some bytes changed, over small
//! skeletons; what is read plays, any way, with unit rotations.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::clip::Skeleton;
use meshreel_codec::clip::curve::{
    CurveClip, CurveHead, CurveSubTrack, Key, KnotSpacing, Playhead, TRANSFORM_PARTS, TransformPart,
    ValueRange, encode,
};
use meshreel_codec::transform::Transform;
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let joints = usize::from(numbers.u8() % 6);
    let times = [numbers.u16(), numbers.u16(), numbers.u16()];
    let parents: Vec<u32> = (0..joints as u32).map(|j| j.wrapping_sub(1)).collect();
    let (rest, shell) = (vec![Transform::IDENTITY; joints], vec![1.0; joints]);
    let skeleton = Skeleton { parents: &parents, rest: &rest, shell: &shell };
    let bytes = match numbers.bit() {
        true => written(&mut numbers, joints),
        false => numbers.rest().to_vec(),
    };
    let Ok(curves) = CurveClip::decode(&bytes, &skeleton) else {
        return;
    };
    let mut playhead = Playhead::new(&curves);
    let mut pose = rest.clone();
    for time in times.map(|t| f32::from(t) / 7.0) {
        playhead.pose(&curves, &skeleton, time, &mut pose);
        for joint in &pose {
            let square: f32 = joint.rotation.iter().map(|v| v * v).sum();
            assert!((square - 1.0).abs() < 1e-5);
        }
        let mut fresh = Playhead::new(&curves);
        let mut again = rest.clone();
        fresh.pose(&curves, &skeleton, time, &mut again);
        assert_eq!(bits(&pose), bits(&again), "any order gives the same");
    }
});

/// What an encoder could write, then a few bytes of it changed.
fn written(numbers: &mut Numbers<'_>, joints: usize) -> Vec<u8> {
    let mut head = CurveHead {
        knots: [KnotSpacing::Uniform, KnotSpacing::Chordal, KnotSpacing::Centripetal][numbers.below(3)],
        short_rotations: numbers.bit(),
        samples: 1 + u32::from(numbers.u16()) % 9000,
        fps: f64::from(numbers.u8()) + 0.5,
        start: f64::from(numbers.i8()),
        sub_tracks: Vec::new(),
    };
    let mut keys = Vec::new();
    let last = (head.samples - 1) as u16;
    for joint in 0..joints {
        let kinds = TRANSFORM_PARTS.map(|part| {
            let vector = |numbers: &mut Numbers<'_>| [0; 3].map(|_| f32::from(numbers.i8()));
            match numbers.below(4) {
                0 => CurveSubTrack::Default,
                1 => {
                    let [x, y, z] = vector(numbers);
                    let w = if part == TransformPart::Rotation { 200.0 } else { 0.0 };
                    CurveSubTrack::Constant(
                        [x, y, z, w].map(|v| if part == TransformPart::Rotation { v / 300.0 } else { v }),
                    )
                }
                _ if last == 0 => CurveSubTrack::Default,
                _ => {
                    let mut time = 0;
                    loop {
                        keys.push(Key {
                            joint: joint as u16,
                            part,
                            time,
                            payload: u64::from(numbers.u32()) | u64::from(numbers.u16() & 0x7FFF) << 32,
                        });
                        if time == last {
                            break;
                        }
                        let step = 1 + u16::from(numbers.u8()) * u16::from(numbers.u8() % 8 + 1);
                        time = time.saturating_add(step).min(last);
                        // So that short inputs make short clips.
                        if numbers.0.is_empty() {
                            time = last;
                        }
                    }
                    CurveSubTrack::Animated(match part {
                        TransformPart::Rotation => ValueRange::default(),
                        _ => ValueRange { low: vector(numbers), size: vector(numbers).map(f32::abs) },
                    })
                }
            }
        });
        head.sub_tracks.push(kinds);
    }
    if head.short_rotations {
        let rotations = keys.iter_mut().filter(|key| key.part == TransformPart::Rotation);
        rotations.for_each(|key| key.payload &= 0xFFFF_FFFF);
    }
    let mut bytes = Vec::new();
    encode(&head, &keys, &mut bytes);
    for _ in 0..numbers.below(4) {
        let at = usize::from(numbers.u16()) % bytes.len();
        bytes[at] ^= numbers.u8();
    }
    bytes
}

fn bits(pose: &[Transform]) -> Vec<u32> {
    let numbers = pose.iter().flat_map(|t| {
        let vectors = t.translation.iter().chain(&t.scale);
        t.rotation.iter().chain(vectors).copied().collect::<Vec<_>>()
    });
    numbers.map(f32::to_bits).collect()
}
