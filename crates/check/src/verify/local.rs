//! The local rule of curves, for each sub-track by itself: a rotation error is the movement of the bone's
//! end, a scale error is multiplied by the bone's length. If requested, joints that carry others have a half,
//! a third … of the tolerance. Pinned joints are compared with their place relative to the decoded joints
//! above them.

use super::metric::Metric;
use super::report::beyond;
use glam::{DQuat, DVec3};
use meshreel::Transform;
use meshreel_extract::convert;
use meshreel_scene::{Clip, Qvv, Skeleton};

/// Limits of all sub-tracks, and the largest errors so far.
pub(super) struct LocalMetric {
    limits: Vec<[f64; 3]>,
    bones: Vec<f64>,
    pinned: Vec<bool>,
    /// Rotations of the source and decoded ones, in object space.
    turns: [Vec<DQuat>; 2],
    /// Largest errors of rotations, translations and scales, as lengths.
    pub errors: [f64; 3],
    /// The largest error in tolerances, and its joint.
    pub worst: f64,
    joint: usize,
}

impl LocalMetric {
    pub fn new(
        source: &Clip,
        metric: &Metric,
        tolerances: [f64; 3],
        adaptive: bool,
        pinned: Vec<bool>,
    ) -> LocalMetric {
        let n = source.tracks.len();
        let mut heights = vec![0usize; n];
        let mut bones = vec![0.0f64; n];
        let mut far = vec![0.0f64; n];
        for j in (0..n).rev() {
            let track = &source.tracks[j].translation;
            let samples = if track.is_constant() { 1 } else { source.samples };
            let origins = (0..samples).map(|i| track.sample(i));
            far[j] = origins.map(|v| v.abs().max_element()).fold(0.0, f64::max);
            let length = (0..samples).map(|i| track.sample(i).length()).fold(0.0, f64::max);
            if let Some(parent) = metric.parents[j] {
                heights[parent] = heights[parent].max(heights[j] + 1);
                bones[parent] = bones[parent].max(length);
            }
            if bones[j] <= 0.0 {
                bones[j] = metric.shells[j];
            }
        }
        let limits = (0..n).map(|j| {
            let up = if adaptive { heights[j] + 1 } else { 1 };
            // Not finer than the precision of f32.
            let least = [bones[j] * 5e-7, far[j] * 2.5e-7, bones[j].max(metric.shells[j]) * 5e-7];
            [0, 1, 2].map(|k| (tolerances[k] / up as f64).max(least[k]))
        });
        LocalMetric {
            limits: limits.collect(),
            bones,
            pinned,
            turns: [vec![DQuat::IDENTITY; n], vec![DQuat::IDENTITY; n]],
            errors: [0.0; 3],
            worst: 0.0,
            joint: 0,
        }
    }

    /// Measures one sample, after `metric` has measured it.
    pub fn measure(&mut self, reference: &[Qvv], pose: &[Transform], metric: &Metric) {
        for (j, (wanted, got)) in reference.iter().zip(pose).enumerate() {
            let got = convert::qvv(got);
            let [above, decoded] =
                [0, 1].map(|k| metric.parents[j].map_or(DQuat::IDENTITY, |p| self.turns[k][p]));
            self.turns[0][j] = above * wanted.rotation;
            self.turns[1][j] = decoded * got.rotation;
            let (mut rotation, mut translation) = (wanted.rotation, wanted.translation);
            if self.pinned[j] {
                rotation = decoded.inverse() * self.turns[0][j];
                let place = metric.reference[j].translation;
                translation = match metric.parents[j] {
                    Some(p) => metric.decoded[p].inverse().transform_point3(place),
                    None => place,
                };
            }
            let bone = self.bones[j];
            let found = [
                bone * angle(rotation, got.rotation),
                (translation - got.translation).length(),
                bone.max(metric.shells[j]) * (wanted.scale - got.scale).length(),
            ];
            for (k, error) in found.into_iter().enumerate() {
                if beyond(error, self.errors[k]) {
                    self.errors[k] = error;
                }
                let part = error / self.limits[j][k];
                if beyond(part, self.worst) {
                    (self.worst, self.joint) = (part, j);
                }
            }
        }
    }

    /// Returns a sentence about the worst joint.
    pub fn describe_worst(&self, skeleton: &Skeleton) -> String {
        let name = &skeleton.joints[self.joint].name;
        format!("joint {name}: an error of {} times its tolerance", self.worst)
    }
}

/// The angle between two rotations, in radians.
fn angle(a: DQuat, b: DQuat) -> f64 {
    let d = a.inverse() * b;
    let v: DVec3 = d.xyz();
    2.0 * v.length().atan2(d.w.abs())
}
