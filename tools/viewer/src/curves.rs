//! Curves of a joint over time: the source's values, the decoded ones, and the error.

use crate::clips::{Clips, shell_distance};
use crate::errors::one_line;
use crate::source::SourceFile;
use meshreel::Transform;
use meshreel::clip::{Clip, Query};
use meshreel_extract::convert::qvv;
use meshreel_scene::Qvv;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Largest number of values of a curve: about one per pixel.
const MAX_CURVE_SAMPLES: usize = 1500;

/// Curves of a joint of the current clip.
pub struct Curves {
    selection: CurveSelection,
    /// Times in seconds, ascending.
    pub times: Vec<f64>,
    pub decoded: Vec<Qvv>,
    /// Values of the source; as long as `decoded`, or empty without a source.
    pub source: Vec<Qvv>,
    /// Distances in object space at the joint's shell; as long as `source`.
    pub errors: Vec<f64>,
    /// The tolerance; `None` for clips whose sub-tracks have one each.
    pub tolerance: Option<f64>,
}

/// Curves that are being sampled on a thread of their own.
pub struct CurveSampling {
    selection: CurveSelection,
    receiver: Receiver<Result<Curves, String>>,
}

/// The selection that the curves belong to.
#[derive(Clone, PartialEq)]
struct CurveSelection {
    clip: usize,
    joint: usize,
    tiers: Vec<usize>,
    has_source: bool,
}

impl Curves {
    /// `true` if these are the curves of the current selection.
    pub fn match_selection(&self, clips: &Clips, has_source: bool) -> bool {
        current_selection(clips, has_source).is_some_and(|of| of == self.selection)
    }

    fn new(of: CurveSelection, clip: &Clip, source: Option<&meshreel_scene::Clip>) -> anyhow::Result<Curves> {
        let joint = of.joint;
        let parents = &clip.skeleton().parents;
        let shell = f64::from(clip.skeleton().shell[joint]);
        // If there are fewer samples than pixels, interpolated values are shown too.
        let parts = (MAX_CURVE_SAMPLES / clip.samples()).clamp(1, 4);
        let every = (clip.samples() * parts).div_ceil(MAX_CURVE_SAMPLES);
        let count = (clip.samples() - 1) * parts / every + 1;
        let own = clip.skeleton().tolerance.get(joint).copied().filter(|own| *own > 0.0);
        let tolerance = (!clip.record().per_sub_track).then(|| own.unwrap_or(clip.record().tolerance));
        let (times, decoded) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut out =
            Curves { selection: of, times, decoded, source: Vec::new(), errors: Vec::new(), tolerance };
        let mut cursor = clip.cursor();
        let mut pose = vec![Transform::IDENTITY; clip.joints()];
        for i in 0..count {
            let at = (i * every) as f64 / parts as f64;
            cursor.pose(&Query::new(at / clip.fps()), &mut pose[..])?;
            out.times.push(clip.start() + at / clip.fps());
            out.decoded.push(align_rotation(qvv(&pose[joint]), out.decoded.last()));
            let Some(source) = source else { continue };
            let wanted = source.interpolated(joint, at);
            out.source.push(align_rotation(wanted, out.source.last()));
            out.errors.push(shell_distance(
                parents,
                joint,
                shell,
                |j| qvv(&pose[j]),
                |j| source.interpolated(j, at),
            ));
        }
        // Both use the same sign of the quaternion.
        if let (Some(a), Some(b)) = (out.decoded.first(), out.source.first())
            && a.rotation.dot(b.rotation) < 0.0
        {
            out.source.iter_mut().for_each(|q| q.rotation = -q.rotation);
        }
        Ok(out)
    }

    /// Returns the largest error and its time.
    pub fn worst(&self) -> Option<(f64, f64)> {
        let all = self.errors.iter().copied().zip(self.times.iter().copied());
        all.max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

impl CurveSampling {
    /// Starts sampling the selected joint; `None` if there is none. `done` is called at the end.
    pub fn start(
        clips: &Clips,
        source: Option<Arc<SourceFile>>,
        done: impl FnOnce() + Send + 'static,
    ) -> Option<CurveSampling> {
        let of = current_selection(clips, source.is_some())?;
        let (clip, own) = (clips.played().clone(), of.clone());
        let (tell, told) = channel();
        std::thread::spawn(move || {
            let source = source.as_ref().and_then(|source| source.clip(own.clip));
            // If the window is closed, nobody receives the curves.
            let _ = tell.send(Curves::new(own, &clip, source).map_err(|error| one_line(&error)));
            done();
        });
        Some(CurveSampling { selection: of, receiver: told })
    }

    /// `true` if these will be the curves of the current selection.
    pub fn matches_selection(&self, clips: &Clips, has_source: bool) -> bool {
        current_selection(clips, has_source).is_some_and(|of| of == self.selection)
    }

    /// Returns the curves, once they are ready.
    pub fn poll(&self) -> Option<Result<Curves, String>> {
        self.receiver.try_recv().ok()
    }
}

fn current_selection(clips: &Clips, has_source: bool) -> Option<CurveSelection> {
    Some(CurveSelection {
        clip: clips.chosen(),
        joint: clips.joint?,
        tiers: clips.tiers().to_vec(),
        has_source,
    })
}

/// Chooses the sign of the rotation that is nearer to the one before, so that curves do not jump.
fn align_rotation(mut q: Qvv, before: Option<&Qvv>) -> Qvv {
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
    fn signs_of_rotations_follow_each_other() {
        let q = Qvv { rotation: DQuat::from_rotation_x(0.3), ..Qvv::default() };
        let turned = Qvv { rotation: -q.rotation, ..q };
        assert_eq!(align_rotation(turned, Some(&q)).rotation, q.rotation);
    }
}
