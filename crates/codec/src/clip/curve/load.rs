//! Makes keys from raw poses without any search: a constant sub-track is stored once, and every sample of any
//! other becomes a key. Fast enough to run while a clip is loaded; a rotation then takes 10 bytes instead of
//! 16.

use super::keys::{
    CurveClip, CurveHead, CurveSubTrack, Key, MAX_SAMPLES, TRANSFORM_PARTS, TransformPart, ValueRange, encode,
};
use super::spline::KnotSpacing;
use crate::Corrupt;
use crate::clip::Skeleton;
use crate::transform::Transform;

/// Makes a clip of keys from local transforms: sample by sample all joints of `skeleton`, which must be
/// checked. Rotations are normalized. Refuses a list that is not a whole number of samples, more than 65,536
/// samples, and values that are not finite.
pub fn from_poses(
    skeleton: &Skeleton<'_>,
    poses: &[Transform],
    fps: f64,
    start: f64,
) -> Result<CurveClip, Corrupt> {
    let joints = skeleton.parents.len();
    let samples = poses.len() / joints.max(1);
    if samples == 0 || samples * joints != poses.len() || samples > MAX_SAMPLES as usize {
        return Err(Corrupt("curves: not as many poses as whole samples, or too many"));
    }
    let sane = |t: &Transform| {
        let square: f32 = t.rotation.iter().map(|v| v * v).sum();
        square > 1e-12 && square < 1e12 && t.translation.iter().chain(&t.scale).all(|v| v.abs() <= 1e18)
    };
    if !poses.iter().all(sane) {
        return Err(Corrupt("curves: a transform that is not finite"));
    }
    let mut head = CurveHead {
        knots: KnotSpacing::default(),
        short_rotations: false,
        samples: samples as u32,
        fps,
        start,
        sub_tracks: Vec::with_capacity(joints),
    };
    let mut keys = Vec::new();
    for joint in 0..joints {
        let mut kinds = [CurveSubTrack::Default; 3];
        for part in TRANSFORM_PARTS {
            let value = |i: usize| part_value(&poses[i * joints + joint], part);
            let first = value(0);
            let still = (1..samples).all(|i| value(i) == first);
            let kind = match (still, part) {
                (true, _) if first == part_value(&skeleton.rest[joint], part) => CurveSubTrack::Default,
                (true, _) => CurveSubTrack::Constant(first),
                (false, TransformPart::Rotation) => CurveSubTrack::Animated(ValueRange::default()),
                _ => CurveSubTrack::Animated(ValueRange::from_values((0..samples).map(|i| {
                    let [x, y, z, _] = value(i);
                    [x, y, z]
                }))),
            };
            if let CurveSubTrack::Animated(_) = kind {
                keys.extend((0..samples).map(|i| Key {
                    joint: joint as u16,
                    part,
                    time: i as u16,
                    payload: head.payload(&kind, part, value(i)),
                }));
            }
            kinds[part as usize] = kind;
        }
        head.sub_tracks.push(kinds);
    }
    // Encoded and decoded again, so that playing relies on the same checks.
    let mut bytes = Vec::new();
    encode(&head, &keys, &mut bytes);
    CurveClip::decode(&bytes, skeleton)
}

/// Returns a part of a transform; rotations have unit length, vectors have 0 as their fourth component.
fn part_value(t: &Transform, part: TransformPart) -> [f32; 4] {
    let vector = |[x, y, z]: [f32; 3]| [x, y, z, 0.0];
    match part {
        TransformPart::Rotation => super::spline::normalize(t.rotation),
        TransformPart::Translation => vector(t.translation),
        TransformPart::Scale => vector(t.scale),
    }
}
