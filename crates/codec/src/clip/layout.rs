//! The layout that follows from the header and the skeleton of a clip: the sub-tracks that are coded, their
//! steps, and the place of each component.

use crate::Corrupt;
use crate::clip::prediction::{KAPPA_PER_STEP, WeightedSamples, add_angle_kappa, add_kappa, apply_fine_turn};
use crate::clip::schedule::{self, ScheduledSample, Taps};
use crate::clip::step::{JointSteps, steps};
use crate::clip::{ClipHeader, RotationSubTrack, Skeleton, VectorSubTrack, fixed_point_rotation};
use crate::quantize::rotation::{self, Quaternion};
use crate::sort;
use crate::transform::Transform;

/// Upper limit for the codes of all keys together, so that a few bytes cannot claim all memory.
pub const MAX_KEY_VALUES: usize = 1 << 26;

/// Returns the largest number of key codes that a file of this many bytes may hold. Keys of zero residuals
/// take very few bytes, but not fewer than this allows.
pub const fn max_key_codes(bytes: usize) -> usize {
    (1 << 20) + bytes.saturating_mul(256)
}

/// Upper limit for the regular keys of a clip that also lists other keys.
pub const MAX_LISTED_KEYS: u32 = 1 << 18;

/// The level under which keys are coded in `entropy`.
pub const KEY_LEVEL: usize = 7;

/// The kind of an animated sub-track, which gives the number of codes and components per sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubTrackKind {
    /// Three codes and three components.
    Translation,
    /// Three codes and three components.
    Scale,
    /// One code and one component.
    Hinge,
    /// Two codes and two components.
    TwoAxes,
    /// Four codes, three components.
    Free,
}

/// An animated sub-track.
#[derive(Clone, Copy, Debug)]
pub struct AnimatedSubTrack {
    /// The joint.
    pub joint: usize,
    /// Translation, scale, or the form of the rotation.
    pub kind: SubTrackKind,
    /// The first component.
    pub component: usize,
    /// The number of components.
    pub components: usize,
    /// The first code within a sample.
    pub first_code: usize,
    /// The number of codes.
    pub code_count: usize,
    /// For free rotations: the turn of one step of each component, in 2⁻³⁴ · 2; for angles: only the first
    /// entry of each row is used.
    pub(super) turn: [[i64; 3]; 3],
    /// The first component of the same joint.
    pub(super) joint_component: usize,
    /// The components of the nearest ancestor that has any.
    pub parent_components: (usize, usize),
}

/// The layout of a clip: everything that follows from its header and its skeleton.
#[derive(Clone, Debug)]
pub struct ClipLayout {
    /// The header.
    pub header: ClipHeader,
    /// The animated sub-tracks, in order.
    pub sub_tracks: Vec<AnimatedSubTrack>,
    /// The axes and steps of each joint.
    pub steps: Vec<JointSteps>,
    /// The number of components per sample.
    pub components: usize,
    /// The number of codes per sample.
    pub codes_per_sample: usize,
    /// The codes of the rest pose.
    pub(super) rest: Vec<i32>,
    /// For each joint, the transform of what is not animated.
    pub(super) constant_pose: Vec<Transform>,
    /// For each joint, the rest rotation of its hinge or pair of axes.
    hinge_rests: Vec<[f64; 4]>,
    /// The sample numbers of all keys; empty if all keys are regular.
    pub(super) keys: Vec<u32>,
}

/// Returns the sample numbers of all keys; empty if all keys are regular.
pub(super) fn all_keys(header: &ClipHeader) -> Vec<u32> {
    let more = &header.split.keys;
    if more.is_empty() {
        return Vec::new();
    }
    let log = u32::from(header.segment_log2);
    let count = schedule::key_count(header.samples, log);
    let regular = (0..count).map(|i| schedule::key_sample(header.samples, log, i));
    let mut keys: Vec<u32> = regular.chain(more.iter().copied()).collect();
    sort::unstable(&mut keys);
    keys.dedup();
    keys
}

pub(super) fn narrow(v: f64) -> f32 {
    v as f32
}

impl ClipLayout {
    /// `header` must be of this skeleton, which must be checked.
    pub fn new(skeleton: &Skeleton<'_>, header: ClipHeader) -> Result<ClipLayout, Corrupt> {
        let joints = skeleton.parents.len();
        if header.rotations.len() != joints {
            return Err(Corrupt("clip header: another number of joints than the skeleton has"));
        }
        let regular = schedule::key_count(header.samples, u32::from(header.segment_log2));
        if !header.split.keys.is_empty() && regular > MAX_LISTED_KEYS {
            return Err(Corrupt("a clip with more keys than a reader lists"));
        }
        let steps = steps(skeleton, &header);
        let mut plan = ClipLayout {
            sub_tracks: Vec::new(),
            components: 0,
            codes_per_sample: 0,
            rest: Vec::new(),
            constant_pose: Vec::with_capacity(joints),
            hinge_rests: (header.rotations.iter())
                .map(|rotation| match rotation {
                    RotationSubTrack::Hinge { rest, .. } | RotationSubTrack::TwoAxes { rest, .. } => {
                        rest.to_quaternion()
                    }
                    _ => [0.0, 0.0, 0.0, 1.0],
                })
                .collect(),
            steps,
            keys: all_keys(&header),
            header,
        };
        let mut ranges: Vec<(usize, usize)> = Vec::with_capacity(joints);
        for j in 0..joints {
            let above = skeleton.parent(j).map_or((0, 0), |p| ranges[p]);
            let own = plan.components;
            let rest = skeleton.rest[j];
            if plan.header.translations[j] == VectorSubTrack::Animated {
                plan.add(j, SubTrackKind::Translation, own, above, rest);
            }
            match plan.header.rotations[j] {
                RotationSubTrack::Hinge { .. } => plan.add(j, SubTrackKind::Hinge, own, above, rest),
                RotationSubTrack::TwoAxes { .. } => plan.add(j, SubTrackKind::TwoAxes, own, above, rest),
                RotationSubTrack::Free => plan.add(j, SubTrackKind::Free, own, above, rest),
                _ => {}
            }
            if plan.header.scales[j] == VectorSubTrack::Animated {
                plan.add(j, SubTrackKind::Scale, own, above, rest);
            }
            let end = plan.components;
            ranges.push(if end > own { (own, end) } else { above });
            let vector = |v: VectorSubTrack, rest: [f32; 3]| match v {
                VectorSubTrack::Constant(v) => v,
                _ => rest,
            };
            plan.constant_pose.push(Transform {
                rotation: match plan.header.rotations[j] {
                    RotationSubTrack::Constant(q) => q.to_quaternion().map(narrow),
                    _ => rest.rotation,
                },
                translation: vector(plan.header.translations[j], rest.translation),
                scale: vector(plan.header.scales[j], rest.scale),
            });
        }
        Ok(plan)
    }

    fn add(&mut self, joint: usize, kind: SubTrackKind, own: usize, parent: (usize, usize), rest: Transform) {
        let s = &self.steps[joint];
        let mut turn = [[0i64; 3]; 3];
        let (components, words) = match kind {
            SubTrackKind::Translation | SubTrackKind::Scale => (3, 3),
            SubTrackKind::Hinge => (1, 1),
            SubTrackKind::TwoAxes => (2, 2),
            SubTrackKind::Free => (3, 4),
        };
        for c in 0..components {
            match kind {
                SubTrackKind::Hinge | SubTrackKind::TwoAxes => {
                    let circle = std::f64::consts::TAU;
                    turn[c][0] = (s.rotation[c] / circle * 1_099_511_627_776.0).round() as i64;
                }
                SubTrackKind::Free => {
                    turn[c] = s.axes[c].map(|v| (s.rotation[c] * v * 17_179_869_184.0).round() as i64);
                }
                _ => {}
            }
        }
        match kind {
            SubTrackKind::Free => self.rest.extend(fixed_point_rotation(rest.rotation)),
            _ => self.rest.extend(std::iter::repeat_n(0, words)),
        }
        self.sub_tracks.push(AnimatedSubTrack {
            joint,
            kind,
            component: self.components,
            components,
            first_code: self.codes_per_sample,
            code_count: words,
            turn,
            joint_component: own,
            parent_components: parent,
        });
        self.components += components;
        self.codes_per_sample += words;
    }

    /// Returns the number of segments.
    pub fn segments(&self) -> usize {
        self.keys().saturating_sub(1)
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> usize {
        if !self.keys.is_empty() {
            return self.keys.len();
        }
        schedule::key_count(self.header.samples, u32::from(self.header.segment_log2)) as usize
    }

    /// Returns the sample number of key `i`.
    pub fn key(&self, i: usize) -> usize {
        if let Some(key) = self.keys.get(i) {
            return *key as usize;
        }
        schedule::key_sample(self.header.samples, u32::from(self.header.segment_log2), i as u32) as usize
    }

    /// Returns `Ok` with the number of the key that a sample is, else `Err` with the segment that it is in
    /// and its number there.
    pub fn locate_sample(&self, sample: usize) -> Result<usize, (usize, usize)> {
        if !self.keys.is_empty() {
            return match self.keys.binary_search(&(sample as u32)) {
                Ok(key) => Ok(key),
                Err(after) => Err((after - 1, sample - self.key(after - 1))),
            };
        }
        let log = self.header.segment_log2;
        let segment = sample >> log;
        match sample - (segment << log) {
            0 => Ok(segment),
            _ if sample + 1 == self.header.samples as usize => Ok(segment + 1),
            more => Err((segment, more)),
        }
    }

    /// Returns the number of tiers, at least 1.
    pub fn tiers(&self) -> usize {
        usize::from(self.header.split.tiers) + 1
    }

    /// Returns the samples between key `segment` and the next, in coding order, numbered from that key.
    pub fn segment_steps(&self, segment: usize) -> impl Iterator<Item = ScheduledSample> + use<> {
        let length = self.key(segment + 1) - self.key(segment);
        schedule::coding_order(length, u32::from(self.header.segment_log2))
    }

    /// Returns the codes that the first key is predicted from.
    pub fn rest_values(&self) -> &[i32] {
        &self.rest
    }

    /// Returns the part of κ of component `c` that its sources predict, given κ of all components before it.
    #[inline]
    pub fn predicted_kappa(&self, c: usize, kappa: &[i64]) -> i64 {
        let [a, b] = self.header.sources[c];
        if a.weight == 0 {
            return 0;
        }
        let mut sum = (i64::from(a.weight) * kappa[a.component as usize] + 16) >> 5;
        if b.weight != 0 {
            sum += (i64::from(b.weight) * kappa[b.component as usize] + 16) >> 5;
        }
        sum
    }
}

impl AnimatedSubTrack {
    /// Returns the exact turn of one step of each component. Steps are rounded to integers, which matters
    /// when they are small and many. Free rotations: vectors of 4·tan(φ/4), in the joint's axes; angles: the
    /// first entry of each row, in radians.
    #[cfg(feature = "encode")]
    pub fn exact_turns(&self) -> [[f64; 3]; 3] {
        let unit = match self.kind {
            SubTrackKind::Free => 1.0 / 17_179_869_184.0,
            _ => std::f64::consts::TAU / 1_099_511_627_776.0,
        };
        self.turn.map(|row| row.map(|v| v as f64 * unit))
    }

    /// Returns `true` if it is the first of its joint.
    pub fn begins_joint(&self) -> bool {
        self.component == self.joint_component
    }

    /// Predicts this sub-track from the samples `taps`; `words` holds samples of `stride` codes.
    #[inline]
    pub fn predict(&self, words: &[i32], stride: usize, taps: &Taps) -> [i32; 4] {
        let at = |tap: usize| &words[tap * stride + self.first_code..][..self.code_count];
        let [a, b, c, d] = taps.samples;
        let around =
            WeightedSamples { codes: [at(a), at(b), at(c), at(d)], weights: taps.weights, count: taps.count };
        match self.kind {
            SubTrackKind::Free => around.rotation(0),
            SubTrackKind::Hinge => [around.angle(0), 0, 0, 0],
            SubTrackKind::TwoAxes => [around.angle(0), around.angle(1), 0, 0],
            SubTrackKind::Translation | SubTrackKind::Scale => {
                [around.vector(0) as i32, around.vector(1) as i32, around.vector(2) as i32, 0]
            }
        }
    }

    /// Adds κ of the components to the codes of the prediction.
    #[inline]
    pub fn apply(&self, prediction: [i32; 4], kappa: [i64; 3]) -> [i32; 4] {
        match self.kind {
            SubTrackKind::Free => {
                let [a, b, c] = &self.turn;
                let along = |i: usize| kappa[0] * a[i] + kappa[1] * b[i] + kappa[2] * c[i];
                apply_fine_turn(prediction, [along(0), along(1), along(2)])
            }
            SubTrackKind::Hinge | SubTrackKind::TwoAxes => {
                let mut out = prediction;
                for w in 0..self.code_count {
                    out[w] = add_angle_kappa(out[w], kappa[w], self.turn[w][0]);
                }
                out
            }
            SubTrackKind::Translation | SubTrackKind::Scale => {
                let mut out = prediction;
                for w in 0..3 {
                    out[w] = add_kappa(out[w], kappa[w]);
                }
                out
            }
        }
    }
}

impl ClipLayout {
    /// Returns the rotation x y z w of the codes `words` of a rotation sub-track.
    #[inline]
    pub fn rotation(&self, group: &AnimatedSubTrack, words: &[i32]) -> [f32; 4] {
        match group.kind {
            SubTrackKind::Hinge => {
                let axis = self.steps[group.joint].axes[0];
                let rest = self.hinge_rests[group.joint];
                rotation::multiply(rest, rotation::from_axis_turn(axis, words[0])).map(narrow)
            }
            SubTrackKind::TwoAxes => {
                let axes = &self.steps[group.joint].axes;
                let rest = self.hinge_rests[group.joint];
                let first = rotation::multiply(rest, rotation::from_axis_turn(axes[0], words[0]));
                rotation::multiply(first, rotation::from_axis_turn(axes[1], words[1])).map(narrow)
            }
            _ => {
                let q: Quaternion = [words[0], words[1], words[2], words[3]];
                rotation::to_f64(q).map(narrow)
            }
        }
    }

    /// Returns the vector of the codes `words` of a translation or scale sub-track.
    #[inline]
    pub fn vector(&self, group: &AnimatedSubTrack, words: &[i32]) -> [f32; 3] {
        let (rest, step) = match group.kind {
            SubTrackKind::Scale => (self.constant_pose[group.joint].scale, self.steps[group.joint].scale),
            _ => (self.constant_pose[group.joint].translation, self.steps[group.joint].translation),
        };
        let unit = step / KAPPA_PER_STEP as f64;
        [0, 1, 2].map(|i| narrow(f64::from(rest[i]) + f64::from(words[i]) * unit))
    }

    /// Returns the local transforms of all joints without their animation; animated sub-tracks have the rest
    /// pose.
    pub fn constant_pose(&self) -> &[Transform] {
        &self.constant_pose
    }

    /// Writes the local transforms of all joints at a sample.
    pub fn pose(&self, words: &[i32], out: &mut [Transform]) {
        out.copy_from_slice(&self.constant_pose);
        for group in &self.sub_tracks {
            let words = &words[group.first_code..group.first_code + group.code_count];
            let out = &mut out[group.joint];
            match group.kind {
                SubTrackKind::Translation => out.translation = self.vector(group, words),
                SubTrackKind::Scale => out.scale = self.vector(group, words),
                _ => out.rotation = self.rotation(group, words),
            }
        }
    }
}
