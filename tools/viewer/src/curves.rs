//! What a joint does over time: the source's values, the decoded ones, and how far they are apart.

use crate::clips::Clips;
use glam::DVec3;
use meshreel::Transform;
use meshreel::clip::{ClipCursor, PoseSource, Repeats, Rounding};
use meshreel_check::{joint_matrix, qvv};
use meshreel_scene::Qvv;

/// Most values of a curve: about as many as there are pixels.
const MOST: usize = 1500;

/// Curves of a joint of the clip that is shown.
pub struct Curves {
    of: Of,
    /// Seconds, rising.
    pub times: Vec<f64>,
    pub decoded: Vec<Qvv>,
    /// As long as `decoded`, or empty without a source.
    pub source: Vec<Qvv>,
    /// Distances in object space at the joint's shell; as long as `source`.
    pub errors: Vec<f64>,
    /// What was promised; none of clips whose sub-tracks are promised each by itself.
    pub tolerance: Option<f64>,
}

/// What they were made of.
#[derive(Clone, PartialEq)]
struct Of {
    clip: usize,
    joint: usize,
    tiers: Vec<usize>,
    has_source: bool,
}

impl Curves {
    /// Whether these are the curves of what is shown now.
    pub fn are_of(&self, clips: &Clips, source: Option<&meshreel_scene::Clip>) -> bool {
        of(clips, source).is_some_and(|of| of == self.of)
    }

    /// Samples the joint that is looked at; none where none is.
    pub fn new(clips: &Clips, source: Option<&meshreel_scene::Clip>) -> anyhow::Result<Option<Curves>> {
        let Some(of) = of(clips, source) else { return Ok(None) };
        let (clip, joint) = (clips.played(), of.joint);
        let parents = &clip.skeleton().parents;
        let shell = f64::from(clip.skeleton().shell[joint]);
        // Where there are fewer samples than pixels, what lies between them is seen too.
        let parts = (MOST / clip.samples()).clamp(1, 4);
        let every = (clip.samples() * parts).div_ceil(MOST);
        let count = (clip.samples() - 1) * parts / every + 1;
        let own = clip.skeleton().tolerance.get(joint).copied().filter(|own| *own > 0.0);
        let tolerance = (!clip.record().local).then(|| own.unwrap_or(clip.record().tolerance));
        let (times, decoded) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut out = Curves { of, times, decoded, source: Vec::new(), errors: Vec::new(), tolerance };
        let mut cursor = ClipCursor::new(clip);
        let mut pose = vec![Transform::IDENTITY; clip.joints()];
        for i in 0..count {
            let at = (i * every) as f64 / parts as f64;
            clip.sample(&mut cursor, at / clip.fps(), Repeats::Clamp, Rounding::None, &mut pose)?;
            out.times.push(clip.start() + at / clip.fps());
            out.decoded.push(facing(qvv(&pose[joint]), out.decoded.last()));
            let Some(source) = source else { continue };
            let wanted = source.between(joint, at);
            out.source.push(facing(wanted, out.source.last()));
            out.errors.push(distance(parents, joint, shell, |j| qvv(&pose[j]), |j| source.between(j, at)));
        }
        // Both turn the same way around.
        if let (Some(a), Some(b)) = (out.decoded.first(), out.source.first())
            && a.rotation.dot(b.rotation) < 0.0
        {
            out.source.iter_mut().for_each(|q| q.rotation = -q.rotation);
        }
        Ok(Some(out))
    }

    /// The largest error and its time.
    pub fn worst(&self) -> Option<(f64, f64)> {
        let all = self.errors.iter().copied().zip(self.times.iter().copied());
        all.max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

fn of(clips: &Clips, source: Option<&meshreel_scene::Clip>) -> Option<Of> {
    let has_source = source.is_some();
    Some(Of { clip: clips.chosen(), joint: clips.joint?, tiers: clips.tiers().to_vec(), has_source })
}

/// The largest distance between two poses of a joint's three points at the shell, in object space.
pub fn distance(
    parents: &[u32],
    joint: usize,
    shell: f64,
    one: impl Fn(usize) -> Qvv,
    other: impl Fn(usize) -> Qvv,
) -> f64 {
    let (one, other) = (joint_matrix(parents, joint, one), joint_matrix(parents, joint, other));
    let points = DVec3::AXES.map(|axis| axis * shell);
    let off = points.map(|point| one.transform_point3(point).distance(other.transform_point3(point)));
    off.into_iter().fold(0.0, f64::max)
}

/// With the sign of the rotation that is nearer to the one before, so that curves do not jump.
fn facing(mut q: Qvv, before: Option<&Qvv>) -> Qvv {
    if before.is_some_and(|before| before.rotation.dot(q.rotation) < 0.0) {
        q.rotation = -q.rotation;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    #[test]
    fn a_joint_is_as_far_off_as_its_chain_makes_it() {
        let parents = [u32::MAX, 0];
        let moved = |by: f64| {
            move |joint: usize| Qvv {
                translation: DVec3::X * if joint == 0 { by } else { 1.0 },
                ..Qvv::default()
            }
        };
        assert!((distance(&parents, 1, 3.0, moved(0.0), moved(0.25)) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn signs_of_rotations_follow_each_other() {
        let q = Qvv { rotation: DQuat::from_rotation_x(0.3), ..Qvv::default() };
        let turned = Qvv { rotation: -q.rotation, ..q };
        assert_eq!(facing(turned, Some(&q)).rotation, q.rotation);
    }
}
