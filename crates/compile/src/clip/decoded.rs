//! All poses of a compressed clip, as a player decodes them at its samples.

use super::choice::ChosenClip;
use super::reference::Joints;
use meshreel_codec::clip::curve::{CurveClip, Playhead};
use meshreel_codec::clip::random_access::{InterpolationWeights, RandomAccess};
use meshreel_codec::clip::record::ClipCodec;
use meshreel_codec::clip::streamed::{Scratch, StreamedClip};
use meshreel_codec::transform::Transform;

/// Returns the local transforms of all joints at each sample. `None` for a clip in layers, or if it does not
/// decode.
pub fn decode_poses(joints: &Joints, done: &ChosenClip) -> Option<Vec<Vec<Transform>>> {
    if done.layers.is_some() {
        return None;
    }
    let skeleton = joints.skeleton();
    let empty = vec![Transform::IDENTITY; joints.parents.len()];
    match done.codec {
        ClipCodec::Sampled => {
            let stored = StreamedClip::open(&skeleton, &done.bytes).ok()?;
            let plan = &stored.layout;
            let mut out = vec![empty; plan.header.samples as usize];
            for i in 0..plan.keys() {
                plan.pose(stored.key_values(i), out.get_mut(plan.key(i))?);
            }
            let mut scratch = Scratch::default();
            for s in 0..plan.segments() {
                stored.decode(s, &mut scratch).ok()?;
                let start = plan.key(s);
                for i in 1..plan.key(s + 1) - start {
                    plan.pose(scratch.sample(plan, i), out.get_mut(start + i)?);
                }
            }
            Some(out)
        }
        ClipCodec::RandomAccess => {
            let form = RandomAccess::open(&skeleton, &done.bytes).ok()?;
            let mut out = vec![form.layout.constant_pose().to_vec(); form.layout.header.samples as usize];
            for (i, pose) in out.iter_mut().enumerate() {
                form.pose(i, i, &InterpolationWeights::same(0.0), &mut pose[..]);
            }
            Some(out)
        }
        ClipCodec::Curve => {
            let curves = CurveClip::decode(&done.bytes, &skeleton).ok()?;
            let mut playhead = Playhead::new(&curves);
            let mut out = vec![empty; curves.samples() as usize];
            for (i, pose) in out.iter_mut().enumerate() {
                playhead.pose(&curves, &skeleton, i as f32, pose);
            }
            Some(out)
        }
    }
}
