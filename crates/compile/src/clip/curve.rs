//! Clips into few keys (codec `curve`): which samples of which sub-track are kept, and with what values.
//!
//! Joints root → leaf; what is measured is what the decoder gives, quantization included. Two rules:
//!
//! * *Local*, after Riot: each sub-track on its own, a turn counts as far as it moves the end of the bone,
//!   and the tolerance shrinks up the hierarchy, 1, ½, ⅓. Nothing is promised in object space; pinned joints
//!   are aimed at their true place.
//! * *Guaranteed*: the metric's points of a joint and the origins of its children, in object space, over the
//!   decoded parents, are never farther off than the joint's share of the tolerance. A child aims at its true
//!   rotation, so that turns do not add up.

use super::fit::{self, Track};
use super::reference::{Joints, Object, Reference, quaternion, worse};
use crate::Error;
use glam::{DQuat, DVec3};
use meshreel_codec::clip::curve::{self, Curves, Head, Key, Kind, Knots, Part, Playhead, Range};
use meshreel_codec::transform::Transform;
use meshreel_scene as scene;

/// How far the decoded clip may be off.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// All points of the metric at all samples.
    Guaranteed,
    /// Each sub-track on its own.
    Local {
        /// Factors of the tolerance for rotations, translations and scales.
        parts: [f64; 3],
        /// It shrinks up the hierarchy.
        adaptive: bool,
        /// Joints whose local transform is recomputed against the compressed ancestors.
        pinned: Vec<usize>,
    },
}

/// How a clip is made into keys.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveOptions {
    /// In units of length.
    pub tolerance: f64,
    /// What it means.
    pub rule: Rule,
    /// Distance of the metric's points from joints that have none of their own.
    pub shell: f64,
    /// Spacing of knots.
    pub knots: Knots,
    /// Rotations of 32 bits.
    pub short: bool,
    /// Keys are only inserted; otherwise they are moved off the samples by least squares and left out again
    /// where fewer hold.
    pub plain: bool,
    /// Tolerances of single joints, 0 for the general one; or none at all. Only for the guaranteed rule.
    pub tolerances: Vec<f64>,
    /// Gives up where it takes more keys than this; with `plain` already where the first sub-tracks take more
    /// than their part of it.
    pub most: usize,
}

impl Default for CurveOptions {
    fn default() -> CurveOptions {
        CurveOptions {
            tolerance: 0.01,
            rule: Rule::Guaranteed,
            shell: 3.0,
            knots: Knots::default(),
            short: false,
            plain: false,
            tolerances: Vec::new(),
            most: usize::MAX,
        }
    }
}

/// A clip of keys.
#[derive(Clone, Debug)]
pub struct CompressedCurves {
    /// See [`curve`].
    pub bytes: Vec<u8>,
    /// What the decoder needs of the skeleton.
    pub joints: Joints,
    /// Samples of animated sub-tracks, before.
    pub samples: usize,
    /// Keys, after.
    pub keys: usize,
    /// Bytes of the animated sub-tracks with 16 for a rotation and 12 for a vector.
    pub raw_bytes: usize,
    /// Guaranteed: what is promised, what was asked for unless f32 cannot hold it.
    pub tolerance: f64,
    /// Largest error in object space, decoded from `bytes`; of a joint with a tolerance of its own as a part
    /// of that, times `tolerance`.
    pub max_error: f64,
    /// Every sub-track keeps its tolerance; otherwise 16 (or 10) bits are too few somewhere.
    pub holds: bool,
    /// Keys had become too many: nothing else says anything.
    pub gave_up: bool,
}

/// Compresses `clip`, which must fit its skeleton and be finite.
pub fn compress_curves(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &CurveOptions,
) -> Result<CompressedCurves, Error> {
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
    super::check(skeleton, clip, &asked)?;
    let mut joints = Joints::new(skeleton, options.shell);
    joints
        .skeleton()
        .check()
        .map_err(|e| Error::Unsupported { what: format!("skeleton {}: {}", skeleton.name, e.0) })?;
    let truth = Reference::new(skeleton, clip);
    let tolerance = match options.rule {
        Rule::Guaranteed => options.tolerance.max(truth.least()),
        Rule::Local { .. } => options.tolerance,
    };
    joints.weigh(&options.tolerances, tolerance, truth.least());
    joints.enlarge(&truth);
    let options = &CurveOptions { tolerance, ..options.clone() };
    let tree = Tree::new(&truth, &joints, tolerance);
    // How the tolerance is shared along a chain: the best depends on the clip.
    let shares: &[f64] = match (&options.rule, options.plain) {
        (Rule::Guaranteed, false) => &[0.5, 1.0],
        _ => &[1.0],
    };
    let all_moving = clip.tracks.iter().map(count_moving).sum::<usize>().max(1);
    let all = shares.iter().map(|&share| {
        let mut fitted = Fitted::new(clip, &joints, options, share);
        let mut moving = 0;
        for (j, track) in clip.tracks.iter().enumerate() {
            fitted.joint(&truth, &tree, j);
            moving += count_moving(track);
            let part = match options.plain {
                true => AHEAD * moving.max(FIRST) as f64 / all_moving as f64,
                false => 1.0,
            };
            fitted.gave_up = fitted.keys.len() as f64 > options.most as f64 * part.min(1.0);
            if fitted.gave_up {
                break;
            }
        }
        fitted
    });
    let best = all.min_by_key(|fitted| (fitted.gave_up, !fitted.holds, fitted.keys.len()));
    let Some(fitted) = best else {
        return Err(Error::Misuse { what: "no share of the tolerance".into() });
    };
    if fitted.gave_up {
        return Ok(CompressedCurves {
            bytes: Vec::new(),
            keys: fitted.keys.len(),
            joints,
            samples: 0,
            raw_bytes: 0,
            tolerance,
            max_error: f64::INFINITY,
            holds: false,
            gave_up: true,
        });
    }
    let mut bytes = Vec::new();
    curve::encode(&fitted.head, &fitted.keys, &mut bytes);
    let max_error = measure(&bytes, &joints, &truth)?;
    let kinds = fitted.head.kinds.as_flattened();
    let animated = |kind: &&Kind| matches!(kind, Kind::Animated(_));
    let count = kinds.iter().filter(animated).count();
    let rotations = kinds.iter().step_by(3).filter(animated).count();
    Ok(CompressedCurves {
        samples: count * truth.samples,
        raw_bytes: truth.samples * (16 * rotations + 12 * (count - rotations)),
        keys: fitted.keys.len(),
        holds: fitted.holds && (options.rule != Rule::Guaranteed || max_error <= options.tolerance),
        bytes,
        joints,
        tolerance,
        max_error,
        gave_up: false,
    })
}

/// The first sub-tracks, those near the root, may take this many times their part of all keys before a clip
/// is given up; so many at least are looked at.
const AHEAD: f64 = 1.5;
const FIRST: usize = 4;

/// Sub-tracks that change.
fn count_moving(track: &scene::Track) -> usize {
    usize::from(!track.rotation.is_constant())
        + usize::from(!track.translation.is_constant())
        + usize::from(!track.scale.is_constant())
}

/// Largest error of what the bytes decode to.
fn measure(bytes: &[u8], joints: &Joints, truth: &Reference) -> Result<f64, Error> {
    let skeleton = joints.skeleton();
    let curves = Curves::read(bytes, &skeleton)
        .map_err(|e| Error::Misuse { what: format!("curves do not read back: {}", e.0) })?;
    let mut playhead = Playhead::new(&curves);
    let mut pose = vec![Transform::IDENTITY; truth.joints];
    let mut object = vec![Object::IDENTITY; truth.joints];
    let mut worst = 0.0f64;
    for sample in 0..truth.samples {
        playhead.pose(&curves, &skeleton, sample as f32, &mut pose);
        worst = worse(worst, truth.error(sample, joints, &pose, &mut object));
    }
    Ok(worst.sqrt())
}

/// What the hierarchy says about each joint.
struct Tree {
    /// Joints above it.
    depth: Vec<usize>,
    /// Joints on the longest way down.
    height: Vec<usize>,
    /// Points in its own space that it moves: those of the metric, and its children's origins.
    levers: Vec<Vec<DVec3>>,
    /// Length of the longest of the bones to its children; without children the shell distance.
    bone: Vec<f64>,
    /// Of itself and what it carries: tolerances, and how many joints from the root on share each; only those
    /// that may be the tightest.
    shared: Vec<Vec<(f64, f64)>>,
}

impl Tree {
    fn new(truth: &Reference, joints: &Joints, tolerance: f64) -> Tree {
        let n = truth.joints;
        let mut tree = Tree {
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
            // Where the child is farthest from its parent.
            let origins = (0..truth.samples).map(|i| truth.local(i, j).translation);
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

/// Adds what is not looser than anything that is there already; drops what has become so.
fn add(all: &mut Vec<(f64, f64)>, (tolerance, count): (f64, f64)) {
    if all.iter().any(|(t, c)| *t <= tolerance && *c >= count) {
        return;
    }
    all.retain(|(t, c)| !(*t >= tolerance && *c <= count));
    all.push((tolerance, count));
}

/// The joints so far.
struct Fitted<'a> {
    joints: &'a Joints,
    options: &'a CurveOptions,
    share: f64,
    head: Head,
    keys: Vec<Key>,
    /// Decoded object transforms, per joint all samples.
    object: Vec<Vec<Object>>,
    holds: bool,
    gave_up: bool,
}

impl<'a> Fitted<'a> {
    fn new(clip: &scene::Clip, joints: &'a Joints, options: &'a CurveOptions, share: f64) -> Fitted<'a> {
        Fitted {
            joints,
            options,
            share,
            head: Head {
                knots: options.knots,
                short: options.short,
                samples: clip.samples as u32,
                fps: clip.fps,
                start: clip.start,
                kinds: Vec::new(),
            },
            keys: Vec::new(),
            object: Vec::new(),
            holds: true,
            gave_up: false,
        }
    }

    fn joint(&mut self, truth: &Reference, tree: &Tree, j: usize) {
        let parent = self.joints.skeleton().parent(j);
        let above = |i: usize| parent.map_or(Object::IDENTITY, |p| self.object[p][i]);
        let above: Vec<Object> = (0..truth.samples).map(above).collect();
        let rest = &self.joints.rest[j];
        let (tolerances, pinned) = self.tolerances(tree, j);
        let lever = tree.bone[j].max(f64::from(self.joints.shell[j]));
        // Vectors first: the rotation then makes up for what they are off.
        let mut kinds = [Kind::Default; 3];
        let mut local: Vec<scene::Qvv> = (0..truth.samples).map(|i| *truth.local(i, j)).collect();
        for (part, scale) in [(Part::Scale, lever), (Part::Translation, 1.0)] {
            let aimed = |i: usize| -> DVec3 {
                match (part, pinned) {
                    (Part::Scale, _) => local[i].scale,
                    (_, false) => local[i].translation,
                    (_, true) => {
                        let origin = truth.object(i, j).origin - above[i].origin;
                        above[i].matrix.inverse() * origin
                    }
                }
            };
            let values: Vec<[f32; 4]> =
                (0..truth.samples).map(|i| aimed(i).as_vec3().extend(0.0).to_array()).collect();
            let rest = match part {
                Part::Scale => rest.scale,
                _ => rest.translation,
            };
            let limit = tolerances[part as usize] / scale;
            let off = |i: usize, v: [f32; 4]| -> f64 {
                let square = |k: usize| (f64::from(v[k]) - f64::from(values[i][k])).powi(2);
                (square(0) + square(1) + square(2)).sqrt() / limit
            };
            let rest = [rest[0], rest[1], rest[2], 0.0];
            let (kind, decoded) = self.track((j, part), &values, rest, &off);
            kinds[part as usize] = kind;
            for (local, v) in local.iter_mut().zip(decoded) {
                let v = DVec3::from_array([v[0], v[1], v[2]].map(f64::from));
                match part {
                    Part::Scale => local.scale = v,
                    _ => local.translation = v,
                }
            }
        }
        let aims = pinned || self.options.rule == Rule::Guaranteed;
        let aimed = |i: usize| match aims {
            true => above[i].rotation.inverse() * truth.object(i, j).rotation,
            false => local[i].rotation,
        };
        let mut values: Vec<[f32; 4]> = (0..truth.samples).map(|i| aimed(i).as_quat().to_array()).collect();
        fit::align(&mut values);
        let limit = tolerances[0];
        let levers = &tree.levers[j];
        let bone = tree.bone[j];
        let off = |i: usize, q: [f32; 4]| -> f64 {
            let q = quaternion(q);
            if self.options.rule != Rule::Guaranteed {
                return bone * angle(q, quaternion(values[i])) / limit;
            }
            let decoded = above[i].child(&scene::Qvv { rotation: q, ..local[i] }, truth.scaled);
            let wanted = truth.object(i, j);
            let (moved, origin) = (decoded.matrix - wanted.matrix, decoded.origin - wanted.origin);
            let far = levers.iter().map(|p| (origin + moved * *p).length_squared());
            far.fold(0.0, f64::max).sqrt() / limit
        };
        let (kind, decoded) = self.track((j, Part::Rotation), &values, rest.rotation, &off);
        kinds[0] = kind;
        let object = (local.iter_mut().zip(decoded).zip(&above)).map(|((local, q), above)| {
            local.rotation = quaternion(q);
            above.child(local, truth.scaled)
        });
        let object = object.collect();
        self.object.push(object);
        self.head.kinds.push(kinds);
    }

    /// Tolerances of a joint's parts, and whether it is pinned.
    fn tolerances(&self, tree: &Tree, j: usize) -> ([f64; 3], bool) {
        let tolerance = self.options.tolerance;
        match &self.options.rule {
            Rule::Guaranteed => {
                // The rotation's is measured with the joint's origin as it is, so it holds that of the
                // translation.
                let above = (tree.depth[j] + 1) as f64;
                let shared = tree.shared[j].iter();
                let own = shared
                    .map(|(tolerance, count)| tolerance * (above / count).powf(self.share))
                    .fold(f64::INFINITY, f64::min);
                // The rounding of the player's own arithmetic.
                let all = 0.999 * own;
                ([all, all * 0.5, all * 0.25], false)
            }
            Rule::Local { parts, adaptive, pinned } => {
                let up = if *adaptive { tree.height[j] + 1 } else { 1 };
                // The rounding of the player's own arithmetic.
                let margin = 0.999 * tolerance / up as f64;
                (parts.map(|part| part * margin), pinned.contains(&j))
            }
        }
    }

    /// Makes a sub-track, and gives its decoded values. `off` is 1 where a value is just as far off as it may
    /// be.
    fn track(
        &mut self,
        (joint, part): (usize, Part),
        values: &[[f32; 4]],
        rest: [f32; 4],
        off: &dyn Fn(usize, [f32; 4]) -> f64,
    ) -> (Kind, Vec<[f32; 4]>) {
        let fits = |value: [f32; 4]| (0..values.len()).all(|i| off(i, value) <= STILL);
        if fits(rest) {
            return (Kind::Default, vec![rest; values.len()]);
        }
        let middle = values[values.len() / 2];
        let constant = match part {
            Part::Rotation => curve::of_rotation48(curve::rotation48(middle)),
            _ => middle,
        };
        if values.len() == 1 || fits(constant) {
            self.holds &= (0..values.len()).all(|i| off(i, constant) <= 1.0);
            return (Kind::Constant(constant), vec![constant; values.len()]);
        }
        let kind = Kind::Animated(match part {
            Part::Rotation => Range::default(),
            // Least squares go a little beyond the samples.
            _ => wider(Range::of(values.iter().map(|v| [v[0], v[1], v[2]]))),
        });
        let stored = |value: [f32; 4]| {
            let payload = self.head.payload(&kind, part, value);
            self.head.value(&kind, part, payload)
        };
        let track =
            Track {
                values,
                rotation: part == Part::Rotation,
                knots: self.head.knots,
                stored: &stored,
                off,
                // Half as many keys may be left after some are left out.
                most: (self.options.most.saturating_sub(self.keys.len()))
                    .saturating_mul(if self.options.plain { 1 } else { 2 }),
            };
        let (keys, holds) = track.fit(self.options.plain);
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

/// What stays within this part of its tolerance does not move.
const STILL: f64 = 0.25;

fn wider(range: Range) -> Range {
    let margin = range.size.map(|s| s / 64.0);
    Range {
        low: std::array::from_fn(|k| range.low[k] - margin[k]),
        size: std::array::from_fn(|k| range.size[k] + 2.0 * margin[k]),
    }
}

/// The angle of the turn from one rotation to the other, in radians.
fn angle(a: DQuat, b: DQuat) -> f64 {
    let near = if a.dot(b) < 0.0 { -b } else { b };
    4.0 * ((a - near).length() / 2.0).min(1.0).asin()
}
