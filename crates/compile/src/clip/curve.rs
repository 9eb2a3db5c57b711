//! Clips as few keys (codec `curve`): chooses the kept samples of each sub-track, and their values.
//!
//! Joints root → leaf; errors are measured on the decoder's output, quantization included. Two rules:
//!
//! * *Local*, after Riot: each sub-track on its own, a rotation counts by how far it moves the end of the
//!   bone, and the tolerance shrinks up the hierarchy, 1, ½, ⅓. Nothing is guaranteed in object space; pinned
//!   joints are aimed at their place in the source.
//! * *Guaranteed*: the metric's points of a joint and the origins of its children, in object space, over the
//!   decoded parents, never exceed the joint's fraction of the tolerance. A child aims at its source
//!   rotation, so that rotation errors do not add up.

use super::fit::{self, TrackFitter};
use super::reference::{Joints, ObjectTransform, Reference, larger_error, quaternion};
use crate::Error;
use glam::{DQuat, DVec3};
use meshreel_codec::clip::curve::{
    self, CurveClip, CurveHead, CurveSubTrack, Key, KnotSpacing, Playhead, TransformPart, ValueRange,
};
use meshreel_codec::transform::Transform;
use meshreel_process::Cancellation;
use meshreel_scene as scene;

/// The metric that the tolerance of a clip of curves refers to.
#[derive(Clone, Debug, PartialEq)]
pub enum CurveRule {
    /// All points of the metric at all samples.
    Guaranteed,
    /// Each sub-track on its own.
    Local {
        /// Factors of the tolerance for rotations, translations and scales.
        parts: [f64; 3],
        /// `true` if the tolerance shrinks up the hierarchy: 1, ½, ⅓ … from the leaves.
        adaptive: bool,
        /// Joints whose local transform is recomputed against the compressed ancestors.
        pinned: Vec<usize>,
    },
}

/// Settings of the conversion of a clip to curves.
#[derive(Clone, Debug)]
pub struct CurveOptions {
    /// The requested tolerance, in units of length.
    pub tolerance: f64,
    /// The quantity that the tolerance bounds.
    pub rule: CurveRule,
    /// Distance of the metric's points from joints that have none of their own.
    pub shell: f64,
    /// Spacing of knots.
    pub knots: KnotSpacing,
    /// `true` for rotations of 32 bits.
    pub short_rotations: bool,
    /// `true` if keys are only inserted; otherwise they are also moved off the samples by least squares, and
    /// removed where fewer hold.
    pub insert_only: bool,
    /// Tolerances of single joints, 0 for the general one; empty if there are none. Only for the guaranteed
    /// rule.
    pub tolerances: Vec<f64>,
    /// The number of keys beyond which the clip is given up; with `insert_only`, already when the first
    /// sub-tracks exceed their share of it.
    pub max_keys: usize,
    /// Cancels the work, which then ends with an error.
    pub cancellation: Cancellation,
}

impl Default for CurveOptions {
    fn default() -> CurveOptions {
        CurveOptions {
            tolerance: 0.01,
            rule: CurveRule::Guaranteed,
            shell: 3.0,
            knots: KnotSpacing::default(),
            short_rotations: false,
            insert_only: false,
            tolerances: Vec::new(),
            max_keys: usize::MAX,
            cancellation: Cancellation::never(),
        }
    }
}

/// A clip as encoded keys, with its error.
#[derive(Clone, Debug)]
pub struct CompressedCurves {
    /// The encoded clip, in the layout of [`curve`].
    pub bytes: Vec<u8>,
    /// The skeleton as the decoder gets it.
    pub joints: Joints,
    /// Number of samples of animated sub-tracks in the source.
    pub samples: usize,
    /// Number of keys that replace them.
    pub keys: usize,
    /// Bytes of the animated sub-tracks at 16 per rotation and 12 per vector.
    pub raw_bytes: usize,
    /// The tolerance that the file stores: the requested one, unless f32 cannot hold it (guaranteed rule).
    pub tolerance: f64,
    /// Largest error in object space, decoded from `bytes`; the error of a joint with its own tolerance
    /// counts as a fraction of that, times `tolerance`.
    pub max_error: f64,
    /// `true` if every sub-track is within its tolerance; otherwise 16 (or 10) bits are too few somewhere.
    pub holds: bool,
    /// `true` if the clip took too many keys and was given up; the other fields are meaningless then.
    pub gave_up: bool,
}

/// Compresses `clip`, which must fit its skeleton and be finite.
pub fn compress_curves(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &CurveOptions,
) -> Result<CompressedCurves, Error> {
    check(skeleton, clip, options)?;
    let mut joints = Joints::new(skeleton, options.shell);
    joints
        .skeleton()
        .check()
        .map_err(|e| Error::Unsupported { what: format!("skeleton {}: {}", skeleton.name, e.0) })?;
    let reference = Reference::new(skeleton, clip, &options.cancellation);
    let tolerance = match options.rule {
        CurveRule::Guaranteed => options.tolerance.max(reference.min_tolerance()),
        CurveRule::Local { .. } => options.tolerance,
    };
    joints.set_tolerances(&options.tolerances, tolerance, reference.min_tolerance());
    joints.add_scales(&reference);
    let options = &CurveOptions { tolerance, ..options.clone() };
    let tree = JointHierarchy::new(&reference, &joints, tolerance);
    // The division of the tolerance along a chain: the best exponent depends on the clip.
    let exponents: &[f64] = match (&options.rule, options.insert_only) {
        (CurveRule::Guaranteed, false) => &[0.5, 1.0],
        _ => &[1.0],
    };
    let all = exponents.iter().map(|&exponent| {
        let mut fitted = FittedJoints::new(clip, &joints, options, exponent);
        fitted.fit_all_joints(clip, &reference, &tree);
        fitted
    });
    let best = all.min_by_key(|fitted| (fitted.gave_up, !fitted.holds, fitted.keys.len()));
    options.cancellation.check()?;
    let Some(FittedJoints { head, keys, holds, gave_up, .. }) = best else {
        return Err(Error::Misuse { what: "no way to divide the tolerance".into() });
    };
    match gave_up {
        true => Ok(CompressedCurves::given_up(joints, keys.len(), tolerance)),
        false => encode_curves((&head, &keys), holds, options, joints, &reference),
    }
}

/// Refuses a clip that is too long for curves, or does not fit its skeleton.
fn check(skeleton: &scene::Skeleton, clip: &scene::Clip, options: &CurveOptions) -> Result<(), Error> {
    if clip.samples == 0 || clip.samples > curve::MAX_SAMPLES as usize {
        return Err(Error::Unsupported {
            what: format!(
                "clip {}: {} samples; curves have 1 to {}",
                clip.name,
                clip.samples,
                curve::MAX_SAMPLES
            ),
        });
    }
    let asked = super::ClipOptions {
        tolerance: options.tolerance,
        shell: options.shell,
        ..super::ClipOptions::default()
    };
    super::check(skeleton, clip, &asked)
}

/// Encodes keys, then decodes and measures them.
fn encode_curves(
    (head, keys): (&CurveHead, &[Key]),
    holds: bool,
    options: &CurveOptions,
    joints: Joints,
    reference: &Reference,
) -> Result<CompressedCurves, Error> {
    let mut bytes = Vec::new();
    curve::encode(head, keys, &mut bytes);
    let max_error = measure(&bytes, &joints, reference)?;
    let kinds = head.sub_tracks.as_flattened();
    let animated = |kind: &&CurveSubTrack| matches!(kind, CurveSubTrack::Animated(_));
    let count = kinds.iter().filter(animated).count();
    let rotations = kinds.iter().step_by(3).filter(animated).count();
    Ok(CompressedCurves {
        samples: count * reference.samples,
        raw_bytes: reference.samples * (16 * rotations + 12 * (count - rotations)),
        keys: keys.len(),
        holds: holds && (options.rule != CurveRule::Guaranteed || max_error <= options.tolerance),
        bytes,
        joints,
        tolerance: options.tolerance,
        max_error,
        gave_up: false,
    })
}

impl CompressedCurves {
    /// Returns the result for a clip that took too many keys.
    fn given_up(joints: Joints, keys: usize, tolerance: f64) -> CompressedCurves {
        CompressedCurves {
            bytes: Vec::new(),
            keys,
            joints,
            samples: 0,
            raw_bytes: 0,
            tolerance,
            max_error: f64::INFINITY,
            holds: false,
            gave_up: true,
        }
    }
}

/// If keys are only inserted: the multiple of their share of all keys that sub-tracks near the root may take
/// before the clip is given up.
const EARLY_KEY_FACTOR: f64 = 1.5;
/// The least number of sub-tracks that are made before a clip is given up.
const FIRST: usize = 4;

/// Returns the number of sub-tracks that change.
pub fn count_moving(track: &scene::Track) -> usize {
    usize::from(!track.rotation.is_constant())
        + usize::from(!track.translation.is_constant())
        + usize::from(!track.scale.is_constant())
}

/// Returns the largest error in object space of the decoded clip.
fn measure(bytes: &[u8], joints: &Joints, reference: &Reference) -> Result<f64, Error> {
    let skeleton = joints.skeleton();
    let curves = CurveClip::decode(bytes, &skeleton)
        .map_err(|e| Error::Misuse { what: format!("curves do not read back: {}", e.0) })?;
    let mut playhead = Playhead::new(&curves);
    let mut pose = vec![Transform::IDENTITY; reference.joints];
    let mut object = vec![ObjectTransform::IDENTITY; reference.joints];
    let mut worst = 0.0f64;
    for sample in 0..reference.samples {
        playhead.pose(&curves, &skeleton, sample as f32, &mut pose);
        worst = larger_error(worst, reference.error_squared(sample, joints, &pose, &mut object));
    }
    Ok(worst.sqrt())
}

/// Values of each joint that depend on its place in the hierarchy.
struct JointHierarchy {
    /// Number of joints above it.
    depth: Vec<usize>,
    /// Number of joints on the longest path down.
    height: Vec<usize>,
    /// Points in its own space that it moves: those of the metric, and its children's origins.
    levers: Vec<Vec<DVec3>>,
    /// Length of the longest bone to a child; the shell distance if there are no children.
    bone: Vec<f64>,
    /// Tolerances of the joint and of those below it, each with the number of joints from the root down to
    /// it; only those that may be the tightest.
    shared: Vec<Vec<(f64, f64)>>,
}

impl JointHierarchy {
    fn new(reference: &Reference, joints: &Joints, tolerance: f64) -> JointHierarchy {
        let n = reference.joints;
        let mut tree = JointHierarchy {
            depth: vec![0; n],
            height: vec![0; n],
            levers: Vec::with_capacity(n),
            bone: vec![0.0; n],
            shared: vec![Vec::new(); n],
        };
        for shell in &joints.shell {
            let shell = f64::from(*shell);
            tree.levers.push(DVec3::AXES.map(|axis| axis * shell).to_vec());
        }
        let skeleton = joints.skeleton();
        for j in 0..n {
            let Some(parent) = skeleton.parent(j) else {
                continue;
            };
            tree.depth[j] = tree.depth[parent] + 1;
            // The place where the child is farthest from its parent.
            let origins = (0..reference.samples).map(|i| reference.local(i, j).translation);
            let far = origins.fold(DVec3::ZERO, |far, at| match at.length() > far.length() {
                true => at,
                false => far,
            });
            tree.levers[parent].push(far);
            tree.bone[parent] = tree.bone[parent].max(far.length());
        }
        for j in (0..n).rev() {
            let own = (tolerance / joints.weight(j), (tree.depth[j] + 1) as f64);
            let mut shared = std::mem::take(&mut tree.shared[j]);
            add(&mut shared, own);
            if let Some(parent) = skeleton.parent(j) {
                tree.height[parent] = tree.height[parent].max(tree.height[j] + 1);
                let above = &mut tree.shared[parent];
                shared.iter().for_each(|one| add(above, *one));
            }
            tree.shared[j] = shared;
            if tree.bone[j] <= 0.0 {
                tree.bone[j] = f64::from(joints.shell[j]);
            }
        }
        tree
    }
}

/// Adds a tolerance unless one of the list is as tight for as many joints; removes those for which the new
/// one is.
fn add(all: &mut Vec<(f64, f64)>, (tolerance, count): (f64, f64)) {
    if all.iter().any(|(t, c)| *t <= tolerance && *c >= count) {
        return;
    }
    all.retain(|(t, c)| !(*t >= tolerance && *c <= count));
    all.push((tolerance, count));
}

/// The sub-tracks of the joints that have been made so far.
struct FittedJoints<'a> {
    joints: &'a Joints,
    options: &'a CurveOptions,
    /// Exponent with which a joint's fraction of the tolerance of a chain grows with its depth.
    exponent: f64,
    head: CurveHead,
    keys: Vec<Key>,
    /// Decoded object-space transforms, by joint, of all samples.
    object: Vec<Vec<ObjectTransform>>,
    holds: bool,
    gave_up: bool,
}

impl<'a> FittedJoints<'a> {
    fn new(
        clip: &scene::Clip,
        joints: &'a Joints,
        options: &'a CurveOptions,
        exponent: f64,
    ) -> FittedJoints<'a> {
        FittedJoints {
            joints,
            options,
            exponent,
            head: CurveHead {
                knots: options.knots,
                short_rotations: options.short_rotations,
                samples: clip.samples as u32,
                fps: clip.fps,
                start: clip.start,
                sub_tracks: Vec::new(),
            },
            keys: Vec::new(),
            object: Vec::new(),
            holds: true,
            gave_up: false,
        }
    }

    /// Makes the sub-tracks of all joints, parents first; gives up when they take too many keys.
    fn fit_all_joints(&mut self, clip: &scene::Clip, reference: &Reference, tree: &JointHierarchy) {
        let all_moving = clip.tracks.iter().map(count_moving).sum::<usize>().max(1);
        let mut moving = 0;
        for (j, track) in clip.tracks.iter().enumerate() {
            self.fit_joint(reference, tree, j);
            moving += count_moving(track);
            let part = match self.options.insert_only {
                true => EARLY_KEY_FACTOR * moving.max(FIRST) as f64 / all_moving as f64,
                false => 1.0,
            };
            self.gave_up = self.keys.len() as f64 > self.options.max_keys as f64 * part.min(1.0)
                || reference.cancellation.is_cancelled();
            if self.gave_up {
                break;
            }
        }
    }

    /// Makes the sub-tracks of a joint whose ancestors are made.
    fn fit_joint(&mut self, reference: &Reference, tree: &JointHierarchy, j: usize) {
        let parent = self.joints.skeleton().parent(j);
        let above = |i: usize| parent.map_or(ObjectTransform::IDENTITY, |p| self.object[p][i]);
        let above: Vec<ObjectTransform> = (0..reference.samples).map(above).collect();
        let rest = &self.joints.rest[j];
        let (tolerances, pinned) = self.tolerances(tree, j);
        let lever = tree.bone[j].max(f64::from(self.joints.shell[j]));
        // Vectors first: the rotation then compensates for their error.
        let mut kinds = [CurveSubTrack::Default; 3];
        let mut local: Vec<scene::Qvv> = (0..reference.samples).map(|i| *reference.local(i, j)).collect();
        for (part, scale) in [(TransformPart::Scale, lever), (TransformPart::Translation, 1.0)] {
            let aimed = |i: usize| -> DVec3 {
                match (part, pinned) {
                    (TransformPart::Scale, _) => local[i].scale,
                    (_, false) => local[i].translation,
                    (_, true) => {
                        let origin = reference.object(i, j).origin - above[i].origin;
                        above[i].matrix.inverse() * origin
                    }
                }
            };
            let values: Vec<[f32; 4]> =
                (0..reference.samples).map(|i| aimed(i).as_vec3().extend(0.0).to_array()).collect();
            let rest = match part {
                TransformPart::Scale => rest.scale,
                _ => rest.translation,
            };
            let limit = tolerances[part as usize] / scale;
            let off = |i: usize, v: [f32; 4]| -> f64 {
                let square = |k: usize| (f64::from(v[k]) - f64::from(values[i][k])).powi(2);
                (square(0) + square(1) + square(2)).sqrt() / limit
            };
            let rest = [rest[0], rest[1], rest[2], 0.0];
            let (kind, decoded) = self.fit_track((j, part), &values, rest, &off);
            kinds[part as usize] = kind;
            for (local, v) in local.iter_mut().zip(decoded) {
                let v = DVec3::from_array([v[0], v[1], v[2]].map(f64::from));
                match part {
                    TransformPart::Scale => local.scale = v,
                    _ => local.translation = v,
                }
            }
        }
        let aims = pinned || self.options.rule == CurveRule::Guaranteed;
        let aimed = |i: usize| match aims {
            true => above[i].rotation.inverse() * reference.object(i, j).rotation,
            false => local[i].rotation,
        };
        let mut values: Vec<[f32; 4]> =
            (0..reference.samples).map(|i| aimed(i).as_quat().to_array()).collect();
        fit::align(&mut values);
        let limit = tolerances[0];
        let levers = &tree.levers[j];
        let bone = tree.bone[j];
        let off = |i: usize, q: [f32; 4]| -> f64 {
            let q = quaternion(q);
            if self.options.rule != CurveRule::Guaranteed {
                return bone * angle(q, quaternion(values[i])) / limit;
            }
            let decoded = above[i].child(&scene::Qvv { rotation: q, ..local[i] }, reference.scaled);
            let wanted = reference.object(i, j);
            let (moved, origin) = (decoded.matrix - wanted.matrix, decoded.origin - wanted.origin);
            let far = levers.iter().map(|p| (origin + moved * *p).length_squared());
            far.fold(0.0, f64::max).sqrt() / limit
        };
        let (kind, decoded) = self.fit_track((j, TransformPart::Rotation), &values, rest.rotation, &off);
        kinds[0] = kind;
        let object = (local.iter_mut().zip(decoded).zip(&above)).map(|((local, q), above)| {
            local.rotation = quaternion(q);
            above.child(local, reference.scaled)
        });
        let object = object.collect();
        self.object.push(object);
        self.head.sub_tracks.push(kinds);
    }

    /// Returns the tolerances of a joint's parts, and whether it is pinned.
    fn tolerances(&self, tree: &JointHierarchy, j: usize) -> ([f64; 3], bool) {
        let tolerance = self.options.tolerance;
        match &self.options.rule {
            CurveRule::Guaranteed => {
                // The rotation's error is measured with the decoded origin of the joint, so it includes that
                // of the translation.
                let above = (tree.depth[j] + 1) as f64;
                let shared = tree.shared[j].iter();
                let own = shared
                    .map(|(tolerance, count)| tolerance * (above / count).powf(self.exponent))
                    .fold(f64::INFINITY, f64::min);
                // Margin for the rounding of the player's own arithmetic.
                let all = 0.999 * own;
                ([all, all * 0.5, all * 0.25], false)
            }
            CurveRule::Local { parts, adaptive, pinned } => {
                let up = if *adaptive { tree.height[j] + 1 } else { 1 };
                // Margin for the rounding of the player's own arithmetic.
                let margin = 0.999 * tolerance / up as f64;
                (parts.map(|part| part * margin), pinned.contains(&j))
            }
        }
    }

    /// Makes a sub-track, and returns its decoded values. `off` returns the error of a value at a sample as a
    /// fraction of the allowed error.
    fn fit_track(
        &mut self,
        (joint, part): (usize, TransformPart),
        values: &[[f32; 4]],
        rest: [f32; 4],
        off: &dyn Fn(usize, [f32; 4]) -> f64,
    ) -> (CurveSubTrack, Vec<[f32; 4]>) {
        let fits = |value: [f32; 4]| (0..values.len()).all(|i| off(i, value) <= CONSTANT_FRACTION);
        if fits(rest) {
            return (CurveSubTrack::Default, vec![rest; values.len()]);
        }
        let middle = values[values.len() / 2];
        let constant = match part {
            TransformPart::Rotation => curve::decode_rotation48(curve::encode_rotation48(middle)),
            _ => middle,
        };
        if values.len() == 1 || fits(constant) {
            self.holds &= (0..values.len()).all(|i| off(i, constant) <= 1.0);
            return (CurveSubTrack::Constant(constant), vec![constant; values.len()]);
        }
        let kind = CurveSubTrack::Animated(match part {
            TransformPart::Rotation => ValueRange::default(),
            // Least squares may slightly exceed the range of the samples.
            _ => wider(ValueRange::from_values(values.iter().map(|v| [v[0], v[1], v[2]]))),
        });
        let stored = |value: [f32; 4]| {
            let payload = self.head.payload(&kind, part, value);
            self.head.value(&kind, part, payload)
        };
        let track = TrackFitter {
            values,
            rotation: part == TransformPart::Rotation,
            knots: self.head.knots,
            round_trip: &stored,
            error: off,
            // Removing keys may leave half as many.
            max_keys: (self.options.max_keys.saturating_sub(self.keys.len()))
                .saturating_mul(if self.options.insert_only { 1 } else { 2 }),
        };
        let (keys, holds) = track.fit(self.options.insert_only);
        let decoded = track.decode(&keys);
        let stored = keys.iter().map(|(time, value)| Key {
            joint: joint as u16,
            part,
            time: *time,
            payload: self.head.payload(&kind, part, *value),
        });
        let stored: Vec<Key> = stored.collect();
        self.keys.extend(stored);
        self.holds &= holds;
        (kind, decoded)
    }
}

/// A sub-track that stays within this fraction of its tolerance is constant.
const CONSTANT_FRACTION: f64 = 0.25;

/// Returns a range with a margin of a 64th of its size at both ends.
fn wider(range: ValueRange) -> ValueRange {
    let margin = range.size.map(|s| s / 64.0);
    ValueRange {
        low: std::array::from_fn(|k| range.low[k] - margin[k]),
        size: std::array::from_fn(|k| range.size[k] + 2.0 * margin[k]),
    }
}

/// Returns the angle between two rotations, in radians.
fn angle(a: DQuat, b: DQuat) -> f64 {
    let near = if a.dot(b) < 0.0 { -b } else { b };
    4.0 * ((a - near).length() / 2.0).min(1.0).asin()
}
