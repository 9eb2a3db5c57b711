//! Residuals of one sample, chosen joint by joint from the root, each with the decoded parent in view.
//!
//! ```text
//! p       = where the joint's origin will be − where it should be, in the joint's space
//! target  = true object rotation · exp(φ),  φ = −A⁻¹·(Σ lever points) × p          the bone ends where it should
//! local   = decoded parent⁻¹ · target, then in axes and steps of the joint, minus prediction
//! k       = the nearest integer, or one nearer to zero where λ·bits say so
//! ```
//!
//! The decoder does not depend on this: any k decodes. The measured values are the decoder's output,
//! including f32 rounding.

use super::compact;
use super::reference::{Joints, ObjectTransform, Reference, quaternion};
use glam::{DMat3, DQuat, DVec3};
use meshreel_codec::clip::RotationSubTrack;
use meshreel_codec::clip::contexts::{Activity, Means};
use meshreel_codec::clip::schedule::Taps;
use meshreel_codec::clip::streamed::{
    AnimatedSubTrack, ClipLayout, KAPPA_PER_STEP, NEUTRAL_RATIO, SubTrackKind, kappa,
};
use meshreel_codec::entropy::symbols::Bucket;
use meshreel_codec::quantize::rotation;
use meshreel_scene::Qvv;
use std::f64::consts::TAU;

/// The closed loop of one clip: everything that is the same for all of its samples.
pub struct ClosedLoop<'a> {
    pub plan: &'a ClipLayout,
    pub reference: &'a Reference,
    pub joints: &'a Joints,
    /// Square of the tolerance, with a small margin.
    pub limit: f64,
    /// By joint, its groups.
    groups: Vec<std::ops::Range<usize>>,
    /// By joint, other joints whose residuals its own are predicted from.
    sources: Vec<Vec<u32>>,
    /// By joint, the inverse of the rest rotation of its hinge or pair of axes.
    rest_back: Vec<DQuat>,
    /// By joint, A⁻¹ and the sum of lever points.
    aim: Vec<(DMat3, DVec3)>,
    constant: Vec<Qvv>,
    /// By joint, the weight of a square, since its steps are finer.
    count: Vec<f64>,
    /// By group, if steps are so small that their rounding matters: the matrix from exact steps to decoded
    /// steps.
    rounded: Vec<Option<DMat3>>,
    /// Joints of other layers, whose transforms are already chosen.
    pub settled: Option<&'a SettledJoints>,
}

/// Steps of rotations below this, in radians, are so few units of the decoder that their rounding matters.
const MIN_EXACT_STEP: f64 = 1e-5;

/// Returns the matrix from steps of a rotation to decoded steps; `None` if they are the same.
fn rounded(group: &AnimatedSubTrack, plan: &ClipLayout) -> Option<DMat3> {
    let steps = &plan.steps[group.joint];
    let small = steps.rotation[..group.components].iter().any(|step| *step < MIN_EXACT_STEP);
    if !small || matches!(group.kind, SubTrackKind::Translation | SubTrackKind::Scale) {
        return None;
    }
    let by = group.exact_turns();
    let (meant, decoded) = match group.kind {
        SubTrackKind::Free => {
            let meant = [0, 1, 2].map(|c| steps.axes[c].map(|v| v * steps.rotation[c]));
            (DMat3::from_cols_array_2d(&meant), DMat3::from_cols_array_2d(&by))
        }
        _ => {
            let angles = |of: &dyn Fn(usize) -> f64| {
                let at = |c: usize| if c < group.components { of(c) } else { 1.0 };
                DMat3::from_diagonal(DVec3::new(at(0), at(1), 1.0))
            };
            (angles(&|c| steps.rotation[c]), angles(&|c| by[c][0]))
        }
    };
    let back = decoded.inverse() * meant;
    back.is_finite().then_some(back)
}

/// The joints of other layers while one layer is coded.
#[derive(Clone, Debug, Default)]
pub struct SettledJoints {
    /// By joint, `true` if it is coded now; the errors of others are ignored.
    pub coded: Vec<bool>,
    /// Local transforms of the others, sample by sample.
    pub local: Vec<Qvv>,
}

/// The sample that is being coded.
pub struct SampleContext<'a> {
    pub sample: usize,
    pub means: &'a Means,
    pub around: [&'a [u8]; 2],
    /// The prediction of each group of components.
    pub predictions: Vec<[i32; 4]>,
}

/// The chosen residuals of one sample, and the decoded pose that they give.
#[derive(Clone, Default)]
pub struct SampleChoices {
    pub shift: i8,
    pub k: Vec<i32>,
    pub kappa: Vec<i64>,
    /// Side of the nearest integer on which the wanted value lies: −1 or 1.
    side: Vec<i8>,
    /// `true` for components that use the second nearest integer.
    pub flipped: Vec<bool>,
    pub bucket: Vec<Bucket>,
    pub codes: Vec<i32>,
    pub object: Vec<ObjectTransform>,
    /// Square of the error of each joint, times its weight.
    pub error: Vec<f64>,
    /// The Lagrange multiplier of each joint: the weight of a bit against its error.
    pub lambda: Vec<f64>,
    pub activity: Activity,
    /// For each component, the size of its residual, as in [`Activity`].
    pub ratios: Vec<u8>,
    /// Joints that must be chosen again, because λ or the flipped components changed.
    pub touched: Vec<bool>,
    /// Joints whose result changed in the last [`ClosedLoop::choose_again`].
    changed: Vec<bool>,
    /// Joints that were chosen again in it.
    redone: Vec<u32>,
    /// The ancestors of a joint, and the joint itself.
    ancestors: Vec<bool>,
}

impl SampleChoices {
    /// Copies another one of the same clip, reusing the memory.
    pub fn copy_from(&mut self, other: &SampleChoices) {
        self.shift = other.shift;
        self.k.clone_from(&other.k);
        self.kappa.clone_from(&other.kappa);
        self.side.clone_from(&other.side);
        self.flipped.clone_from(&other.flipped);
        self.bucket.clone_from(&other.bucket);
        self.codes.clone_from(&other.codes);
        self.object.clone_from(&other.object);
        self.error.clone_from(&other.error);
        self.lambda.clone_from(&other.lambda);
        self.touched.clone_from(&other.touched);
        self.changed.clone_from(&other.changed);
    }
}

impl<'a> ClosedLoop<'a> {
    pub fn new(
        plan: &'a ClipLayout,
        reference: &'a Reference,
        joints: &'a Joints,
        tolerance: f64,
    ) -> ClosedLoop<'a> {
        let n = reference.joints;
        let mut groups: Vec<std::ops::Range<usize>> = vec![0..0; n];
        for (g, group) in plan.sub_tracks.iter().enumerate() {
            let range = &mut groups[group.joint];
            if range.end == range.start {
                *range = g..g;
            }
            range.end = g + 1;
        }
        let joint_of: Vec<usize> =
            (plan.sub_tracks.iter()).flat_map(|g| std::iter::repeat_n(g.joint, g.components)).collect();
        let mut sources: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (c, own) in plan.header.sources.iter().enumerate() {
            for source in own.iter().filter(|s| s.weight != 0) {
                let (from, to) = (joint_of[source.component as usize], joint_of[c]);
                if from != to && !sources[to].contains(&(from as u32)) {
                    sources[to].push(from as u32);
                }
            }
        }
        let rest_back = |rotation: &RotationSubTrack| match rotation {
            RotationSubTrack::Hinge { rest, .. } | RotationSubTrack::TwoAxes { rest, .. } => {
                DQuat::from_array(rest.to_quaternion()).inverse()
            }
            _ => DQuat::IDENTITY,
        };
        let aim = (plan.steps.iter())
            .map(|s| {
                let m = DMat3::from_cols_array_2d(&s.metric);
                (m.inverse(), DVec3::from_array(s.sum))
            })
            .collect();
        ClosedLoop {
            plan,
            reference,
            joints,
            // The verification's own result differs from this by less.
            limit: (tolerance * (1.0 - 1e-6)).powi(2),
            groups,
            sources,
            rest_back: plan.header.rotations.iter().map(rest_back).collect(),
            aim,
            constant: plan.constant_pose().iter().map(super::reference::widen).collect(),
            count: (0..n)
                .map(|j| 2.0f64.powi(plan.header.fine.get(j).map_or(0, |f| i32::from(*f))))
                .collect(),
            rounded: plan.sub_tracks.iter().map(|group| rounded(group, plan)).collect(),
            settled: None,
        }
    }

    /// Returns this loop with other joints already settled.
    pub fn with_settled(self, settled: Option<&'a SettledJoints>) -> ClosedLoop<'a> {
        ClosedLoop { settled, ..self }
    }

    /// Returns `true` if joint `j` is coded now.
    fn is_coded(&self, j: usize) -> bool {
        self.settled.is_none_or(|settled| settled.coded[j])
    }

    /// Returns the local transform of joint `j` before anything is decoded.
    fn initial_local(&self, sample: usize, j: usize) -> Qvv {
        match self.settled {
            Some(settled) if !settled.coded[j] => settled.local[sample * self.reference.joints + j],
            _ => self.constant[j],
        }
    }

    /// Sets the sample at `place` to its prediction: no residuals.
    pub fn set_predicted(&self, place: &SampleContext<'_>, frame: &mut SampleChoices) {
        frame.k.fill(0);
        frame.kappa.fill(0);
        for j in 0..self.reference.joints {
            let mut local = self.initial_local(place.sample, j);
            for g in self.groups[j].clone() {
                let group = &self.plan.sub_tracks[g];
                let words = group.apply(place.predictions[g], [0; 3]);
                frame.codes[group.first_code..group.first_code + group.code_count]
                    .copy_from_slice(&words[..group.code_count]);
                self.set_sub_track(group, &words[..group.code_count], &mut local);
            }
            self.set_object(place.sample, frame, j, &local);
        }
    }

    /// Sets a sub-track to its decoded value.
    fn set_sub_track(&self, group: &AnimatedSubTrack, words: &[i32], local: &mut Qvv) {
        let vector = |words| DVec3::from_array(self.plan.vector(group, words).map(f64::from));
        match group.kind {
            SubTrackKind::Translation => local.translation = vector(words),
            SubTrackKind::Scale => local.scale = vector(words),
            _ => local.rotation = quaternion(self.plan.rotation(group, words)),
        }
    }

    /// Sets joint `j` of the sample in object space, and its distance from the source's.
    fn set_object(&self, sample: usize, frame: &mut SampleChoices, j: usize, local: &Qvv) {
        let parent = self.joints.parents[j] as usize;
        let parent = match parent < j {
            true => frame.object[parent],
            false => ObjectTransform::IDENTITY,
        };
        let object = parent.child(local, self.reference.scaled);
        frame.error[j] = match self.is_coded(j) {
            true => {
                let weight = self.joints.weight(j);
                let shell = f64::from(self.joints.shell[j]);
                object.distance_squared(self.reference.object(sample, j), shell) * weight * weight
            }
            false => 0.0,
        };
        frame.object[j] = object;
    }

    /// Returns a frame without choices.
    pub fn empty_choices(&self) -> SampleChoices {
        let (n, c) = (self.reference.joints, self.plan.components);
        SampleChoices {
            k: vec![0; c],
            kappa: vec![0; c],
            side: vec![1; c],
            flipped: vec![false; c],
            ratios: vec![NEUTRAL_RATIO; c],
            bucket: vec![Bucket::from_sigma(256); c],
            codes: vec![0; self.plan.codes_per_sample],
            object: vec![ObjectTransform::IDENTITY; n],
            error: vec![0.0; n],
            lambda: vec![0.0; n],
            touched: vec![false; n],
            changed: vec![false; n],
            ancestors: vec![false; n],
            ..SampleChoices::default()
        }
    }

    /// Returns a frame for the choices, and two for trials.
    pub fn trial_choices(&self) -> [SampleChoices; 3] {
        [self.empty_choices(), self.empty_choices(), self.empty_choices()]
    }

    /// Computes the predictions of all groups from decoded samples.
    pub fn predict(&self, words: &[i32], taps: &Taps, out: &mut Vec<[i32; 4]>) {
        out.clear();
        out.extend((self.plan.sub_tracks.iter()).map(|g| g.predict(words, self.plan.codes_per_sample, taps)));
    }

    /// Chooses for all joints, and computes the tables of symbols on the way.
    pub fn choose_all(&self, place: &SampleContext<'_>, frame: &mut SampleChoices) {
        frame.activity = Activity::default();
        frame.ratios.fill(NEUTRAL_RATIO);
        for j in 0..self.reference.joints {
            self.choose_joint::<true>(place, frame, j);
        }
    }

    /// Chooses for all joints with the existing tables.
    pub fn choose_by_tables(&self, place: &SampleContext<'_>, frame: &mut SampleChoices) {
        for j in 0..self.reference.joints {
            self.choose_joint::<false>(place, frame, j);
        }
    }

    /// Chooses again for the joints that are touched, none before `from`, and for those that depend on one
    /// whose result changes; the tables stay.
    pub fn choose_again(&self, place: &SampleContext<'_>, frame: &mut SampleChoices, from: usize) {
        frame.redone.clear();
        for j in from..self.reference.joints {
            self.rechoose_joint(place, frame, j, from);
        }
    }

    /// The same, but stops early and returns `false` if an error is not below `bound`. The ancestors of joint
    /// `first` come first, because its error is expected to be the largest.
    pub fn choose_below(
        &self,
        place: &SampleContext<'_>,
        frame: &mut SampleChoices,
        (from, first): (usize, usize),
        bound: f64,
    ) -> bool {
        frame.redone.clear();
        self.mark_above(frame, (from, first));
        let mut below = true;
        for early in [true, false] {
            for j in from..self.reference.joints {
                if frame.ancestors[j] != early {
                    continue;
                }
                if !below {
                    (frame.touched[j], frame.changed[j]) = (false, false);
                } else if self.rechoose_joint(place, frame, j, from) {
                    below = frame.error[j] < bound || frame.error[j].is_nan();
                }
            }
        }
        below
    }

    /// Marks the ancestors of joint `first`, none before `from`, and the joint itself.
    fn mark_above(&self, frame: &mut SampleChoices, (from, first): (usize, usize)) {
        frame.ancestors[from..].fill(false);
        frame.ancestors[first] = true;
        for j in (from..=first).rev() {
            if frame.ancestors[j] {
                let parent = self.joints.parents[j] as usize;
                let sources = self.sources[j].iter().map(|s| *s as usize);
                for above in sources.chain([parent]).filter(|above| (from..j).contains(above)) {
                    frame.ancestors[above] = true;
                }
            }
        }
    }

    /// Chooses again for joint `j` if that is due; returns whether it was.
    fn rechoose_joint(
        &self,
        place: &SampleContext<'_>,
        frame: &mut SampleChoices,
        j: usize,
        from: usize,
    ) -> bool {
        let parent = self.joints.parents[j] as usize;
        let moved = (from..j).contains(&parent) && frame.changed[parent];
        let touched = std::mem::take(&mut frame.touched[j]);
        let due = touched
            || moved
            || (self.sources[j].iter()).any(|s| *s as usize >= from && frame.changed[*s as usize]);
        frame.changed[j] = false;
        if due {
            frame.redone.push(j as u32);
            frame.changed[j] = self.choose_joint::<false>(place, frame, j) || moved;
        }
        due
    }

    /// Undoes the last [`ClosedLoop::choose_again`]: `before` is the earlier state of `frame`.
    pub fn restore(&self, frame: &mut SampleChoices, before: &SampleChoices) {
        for j in frame.redone.iter().map(|j| *j as usize) {
            frame.object[j] = before.object[j];
            frame.error[j] = before.error[j];
            let components = self.components(j);
            frame.k[components.clone()].copy_from_slice(&before.k[components.clone()]);
            frame.kappa[components.clone()].copy_from_slice(&before.kappa[components.clone()]);
            frame.side[components.clone()].copy_from_slice(&before.side[components.clone()]);
            frame.flipped[components.clone()].copy_from_slice(&before.flipped[components]);
            for group in &self.plan.sub_tracks[self.groups[j].clone()] {
                let words = group.first_code..group.first_code + group.code_count;
                frame.codes[words.clone()].copy_from_slice(&before.codes[words]);
            }
        }
    }

    /// Chooses for a joint; returns whether its decoded value, or a value that others are predicted from, has
    /// changed.
    fn choose_joint<const TABLES: bool>(
        &self,
        place: &SampleContext<'_>,
        frame: &mut SampleChoices,
        j: usize,
    ) -> bool {
        let mut changed = false;
        let parent = self.joints.parents[j] as usize;
        let parent = if parent < j { frame.object[parent] } else { ObjectTransform::IDENTITY };
        let reference = self.reference.object(place.sample, j);
        let mut local = self.initial_local(place.sample, j);
        for g in self.groups[j].clone() {
            let group = &self.plan.sub_tracks[g];
            let prediction = place.predictions[g];
            let target = match group.kind {
                SubTrackKind::Translation => Target::Vector(
                    parent.own_space(self.reference.scaled) * (reference.origin - parent.origin),
                ),
                SubTrackKind::Scale => Target::Vector(self.reference.local(place.sample, j).scale),
                _ => {
                    let origin = parent.matrix * local.translation + parent.origin;
                    let p = reference.own_space(self.reference.scaled) * (origin - reference.origin);
                    let (inverse, sum) = &self.aim[j];
                    let phi = -(*inverse * sum.cross(p));
                    // Aiming is for small errors; a bone that cannot be corrected keeps its own direction.
                    let phi = if phi.length_squared() < 0.01 { phi } else { DVec3::ZERO };
                    let aimed =
                        reference.rotation * DQuat::from_xyzw(phi.x / 2.0, phi.y / 2.0, phi.z / 2.0, 1.0);
                    Target::Rotation(parent.rotation.inverse() * aimed.normalize())
                }
            };
            if TABLES {
                let (first, last) = group.parent_components;
                frame.activity.begin_sub_track(group.begins_joint(), &frame.ratios[first..last]);
            }
            let (mut wanted, coupling) = self.exact_residuals(group, prediction, &target);
            if let Some(rounded) = &self.rounded[g] {
                wanted = (*rounded * DVec3::from_array(wanted)).to_array();
            }
            changed |= self.choose::<TABLES>(place, frame, group, prediction, wanted, coupling);
            self.set_sub_track(
                group,
                &frame.codes[group.first_code..group.first_code + group.code_count],
                &mut local,
            );
        }
        self.set_object(place.sample, frame, j, &local);
        changed
    }

    /// Returns the components in steps, from the prediction to the target, and the fraction of the first
    /// one's rounding that the second compensates for.
    pub fn exact_residuals(
        &self,
        group: &AnimatedSubTrack,
        prediction: [i32; 4],
        target: &Target,
    ) -> ([f64; 3], f64) {
        let steps = &self.plan.steps[group.joint];
        match (target, &self.plan.header.rotations[group.joint]) {
            (Target::Vector(v), _) => {
                let still = &self.plan.constant_pose()[group.joint];
                let (rest, step) = match group.kind {
                    SubTrackKind::Scale => (still.scale, steps.scale),
                    _ => (still.translation, steps.translation),
                };
                let v = v.to_array();
                let at = |i: usize| {
                    (v[i] - f64::from(rest[i])) / step - f64::from(prediction[i]) / KAPPA_PER_STEP as f64
                };
                ([at(0), at(1), at(2)], 0.0)
            }
            (Target::Rotation(q), RotationSubTrack::Hinge { .. }) => {
                let u = DVec3::from_array(steps.axes[0]);
                let d = self.rest_back[group.joint] * *q;
                let mut a = compact::twist_angle(d, u);
                let metric = DMat3::from_cols_array_2d(&steps.metric);
                // The error across the axis still affects points that are not symmetric about it.
                let left = rotation_vector(compact::twist_back(d, u) * d);
                let weight = metric * u;
                a += weight.dot(left) / weight.dot(u);
                ([wrapped_difference(a, prediction[0]) / steps.rotation[0], 0.0, 0.0], 0.0)
            }
            (Target::Rotation(q), RotationSubTrack::TwoAxes { .. }) => {
                let (u, v) = (DVec3::from_array(steps.axes[0]), DVec3::from_array(steps.axes[1]));
                let d = self.rest_back[group.joint] * *q;
                let ([mut a, mut b], [first_back, back]) = compact::angles(d, u, v);
                let metric = DMat3::from_cols_array_2d(&steps.metric);
                let left = rotation_vector(back * first_back * d);
                let first = back * u;
                let (m, n) = (metric * first, metric * v);
                let (aa, ab, bb) = (m.dot(first), m.dot(v), n.dot(v));
                let determinant = aa * bb - ab * ab;
                if determinant > 1e-6 * aa * bb {
                    let (x, y) = (m.dot(left), n.dot(left));
                    a += (x * bb - y * ab) / determinant;
                    b += (y * aa - x * ab) / determinant;
                }
                let [s, t, _] = steps.rotation;
                let wanted =
                    [wrapped_difference(a, prediction[0]) / s, wrapped_difference(b, prediction[1]) / t, 0.0];
                (wanted, ab / bb * s / t)
            }
            (Target::Rotation(q), _) => {
                let p = DQuat::from_array(rotation::to_f64(prediction)).normalize();
                let d = p.inverse() * *q;
                let d = if d.w < 0.0 { -d } else { d };
                let y = d.xyz() * (4.0 / (1.0 + d.w));
                let at = |i: usize| y.dot(DVec3::from_array(steps.axes[i])) / steps.rotation[i];
                ([at(0), at(1), at(2)], 0.0)
            }
        }
    }

    fn choose<const TABLES: bool>(
        &self,
        place: &SampleContext<'_>,
        frame: &mut SampleChoices,
        group: &AnimatedSubTrack,
        prediction: [i32; 4],
        mut wanted: [f64; 3],
        coupling: f64,
    ) -> bool {
        let mut changed = false;
        let fine = f64::from(1u32 << frame.shift);
        let lambda = frame.lambda[group.joint];
        let steps = &self.plan.steps[group.joint];
        let mut kappas = [0; 3];
        for i in 0..group.components {
            let c = group.component + i;
            let cross = self.plan.predicted_kappa(c, &frame.kappa);
            let x = ((wanted[i] - cross as f64 / KAPPA_PER_STEP as f64) * fine).clamp(-1e8, 1e8);
            let nearest = compact::round_to_integer(x);
            let mut k = nearest as i32;
            frame.side[c] = if x >= nearest { 1 } else { -1 };
            if TABLES {
                let around = place.around.map(|ratios| ratios[c]);
                frame.bucket[c] = frame.activity.bucket(place.means, c, around);
            }
            if frame.flipped[c] {
                k += i32::from(frame.side[c]);
            } else if lambda > 0.0 && k != 0 {
                // The motion by one step of this component, as a fraction of the tolerance.
                let size = match group.kind {
                    SubTrackKind::Translation => steps.translation,
                    SubTrackKind::Scale => steps.scale * steps.reach,
                    _ => steps.rotation[i] * steps.lever[i],
                } / fine;
                let weight = size * size / self.limit * self.count[group.joint];
                let cost = |k: i32| {
                    let d = x - f64::from(k);
                    d * d * weight + lambda * f64::from(frame.bucket[c].cost(k))
                };
                let lower = k - k.signum();
                if cost(lower) < cost(k) {
                    k = lower;
                }
            }
            if TABLES {
                frame.ratios[c] = frame.activity.record(place.means, c, k);
            }
            frame.k[c] = k;
            let value = kappa(k, frame.shift.unsigned_abs(), cross);
            changed |= std::mem::replace(&mut frame.kappa[c], value) != value;
            kappas[i] = value;
            if i == 0 && coupling != 0.0 {
                wanted[1] += coupling * (wanted[0] - value as f64 / KAPPA_PER_STEP as f64);
            }
        }
        let words = group.apply(prediction, kappas);
        let own = &mut frame.codes[group.first_code..group.first_code + group.code_count];
        changed |= *own != words[..group.code_count];
        own.copy_from_slice(&words[..group.code_count]);
        changed
    }

    /// Returns the bits of all residuals, in 2⁻⁸ bits.
    pub fn cost(&self, frame: &SampleChoices) -> u64 {
        (frame.k.iter().zip(&frame.bucket)).map(|(k, bucket)| u64::from(bucket.cost(*k))).sum()
    }

    /// Returns the components of joint `j`.
    pub fn components(&self, j: usize) -> std::ops::Range<usize> {
        let groups = &self.plan.sub_tracks[self.groups[j].clone()];
        match (groups.first(), groups.last()) {
            (Some(first), Some(last)) => first.component..last.component + last.components,
            _ => 0..0,
        }
    }
}

/// The value that a sub-track aims at.
pub enum Target {
    Vector(DVec3),
    Rotation(DQuat),
}

/// Returns the angle from a predicted angle to `a`, the short way, in radians.
fn wrapped_difference(a: f64, prediction: i32) -> f64 {
    let apart = a / TAU - f64::from(prediction) / 4_294_967_296.0;
    (apart - compact::round_to_integer(apart)) * TAU
}

/// Returns the rotation vector of a small rotation.
fn rotation_vector(q: DQuat) -> DVec3 {
    q.xyz() * (2.0 * q.w.signum())
}
