//! Clips in layers: one compression, divided after quantization.
//!
//! ```text
//! one pass       over all joints at the samples of the base; each layer that has the same samples takes its residuals out of it
//! more passes    for a layer with samples of its own, against what the decoder has of the layers before it
//! tiers          levels of the order of samples, the finest in the last tier
//! ```
//!
//! The tolerance of a layer holds at the samples that it has and that are not stripped. The samples before
//! and after a change of a stepped joint are keys, so that no tier and no rate blurs them.

use super::closed_loop::SettledJoints;
use super::compact::{self, CompactTolerances, SubTrackKinds};
use super::reference::{Joints, ObjectTransform, Reference, larger_error, widen};
use super::search::SearchEffort;
use super::{ClipOptions, ResidualChoice, base_step, count_rotations};
use crate::Error;
use meshreel_codec::clip::layer::{self, LayerRecord, LayerSamples, LayerTable};
use meshreel_codec::clip::streamed::{
    ClipLayout, ClipResiduals, STRIPPED, Scratch, SegmentEnds, StreamedClip,
};
use meshreel_codec::clip::{ClipHeader, ClipSplit, streamed};
use meshreel_codec::transform::Transform;
use meshreel_options::Strip;
use meshreel_scene as scene;

/// The division of a clip into layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerDivision {
    /// The layers, the base layer first. At least one, at most [`layer::MAX_LAYERS`].
    pub layers: Vec<LayerSettings>,
    /// By joint, its layer, at most that of any child.
    pub layer_of: Vec<u8>,
    /// By joint, `true` if it keeps a sample's value until the next.
    pub stepped: Vec<bool>,
}

impl LayerDivision {
    /// Returns `true` if all layers have all samples, unstripped, in one tier: then they are interleaved in
    /// one stream, since none of them is loaded separately.
    pub fn is_whole(&self) -> bool {
        let plain =
            |part: &LayerSettings| part.rate.is_none() && part.strip == Strip::None && part.tiers == 1;
        self.layers.iter().all(plain)
    }

    /// Returns the table of interleaved layers of a clip of `samples` samples, with 0 as its number.
    pub fn interleaved(&self, samples: usize) -> LayerTable {
        let record = |part: &LayerSettings| LayerRecord { name: part.name.clone(), ..LayerRecord::default() };
        LayerTable {
            samples: samples as u32,
            layers: self.layers.iter().map(record).collect(),
            joint_layers: self.layer_of.clone(),
            stepped: self.stepped.clone(),
            interleaved: true,
            ..LayerTable::default()
        }
    }
}

/// A layer of a division.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSettings {
    /// Name of the layer.
    pub name: String,
    /// Samples per second; the clip's rate if that is lower or this is `None`.
    pub rate: Option<f64>,
    /// The samples that keep no residuals.
    pub strip: Strip,
    /// Number of tiers, 1 … 8.
    pub tiers: u8,
}

impl Default for LayerSettings {
    fn default() -> Self {
        LayerSettings { name: String::new(), rate: None, strip: Strip::None, tiers: 1 }
    }
}

/// A clip in layers.
#[derive(Clone, Debug)]
pub struct LayeredClip {
    /// The layer table as it is stored, with 0 as the number of the clip.
    pub table: LayerTable,
    /// The layers, the base layer first.
    pub layers: Vec<CompressedLayer>,
    /// The skeleton as the decoder gets it.
    pub joints: Joints,
    /// The tolerance that the file stores, in units of length.
    pub tolerance: f64,
    /// Largest error of any layer at the samples that it keeps.
    pub max_error: f64,
    /// Rotation sub-tracks by kind.
    pub rotations: [usize; 5],
}

/// A compressed layer.
#[derive(Clone, Debug)]
pub struct CompressedLayer {
    /// Header and derived values.
    pub plan: ClipLayout,
    /// Residuals, in the form that [`streamed::encode`] takes.
    pub choices: ClipResiduals,
    /// The number of samples without residuals, and the largest error at one of them.
    pub stripped: (usize, f64),
    /// Largest error at the other samples.
    pub max_error: f64,
    /// `true` if it was separated from the pass over all layers: with the other such layers it gives that
    /// clip, bit for bit.
    pub separated: bool,
}

impl CompressedLayer {
    /// Returns the bytes of all tiers; the first has header and keys.
    pub fn tiers(&self) -> Vec<Vec<u8>> {
        let (keys, segments) = &self.choices;
        (0..self.plan.tiers() as u32)
            .map(|tier| {
                let mut out = Vec::new();
                if tier == 0 {
                    streamed::encode_header(&self.plan, &mut out);
                    streamed::encode_keys(&self.plan, keys, &mut out);
                }
                streamed::encode_tier(&self.plan, tier, 0, segments, &mut out);
                out
            })
            .collect()
    }
}

/// A decoded layer: local transforms of all joints at its samples.
struct DecodedLayer {
    list: Option<Vec<u32>>,
    poses: Vec<Transform>,
}

impl DecodedLayer {
    /// Returns joint `j` of `n` at sample `at` of the clip.
    fn transform(&self, at: u32, j: usize, n: usize, stepped: bool) -> scene::Qvv {
        let pose = |i: usize| widen(&self.poses[i * n + j]);
        let Some(list) = &self.list else {
            return pose(at as usize);
        };
        match list.binary_search(&at) {
            Ok(i) => pose(i),
            Err(after) if stepped || after >= list.len() => pose(after - 1),
            Err(after) => {
                let (a, b) = (list[after - 1], list[after]);
                let part = f64::from(at - a) / f64::from(b - a);
                interpolate(&pose(after - 1), &pose(after), part)
            }
        }
    }
}

/// Returns the transform that a player interpolates between two samples.
fn interpolate(a: &scene::Qvv, b: &scene::Qvv, part: f64) -> scene::Qvv {
    let near = if a.rotation.dot(b.rotation) < 0.0 { -b.rotation } else { b.rotation };
    scene::Qvv {
        rotation: (a.rotation * (1.0 - part) + near * part).normalize(),
        translation: a.translation.lerp(b.translation, part),
        scale: a.scale.lerp(b.scale, part),
    }
}

/// Compresses `clip` in layers. `tolerances` as in [`super::compress_each`].
pub fn compress(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &ClipOptions,
    tolerances: &[f64],
    division: &LayerDivision,
) -> Result<LayeredClip, Error> {
    super::check(skeleton, clip, options)?;
    check(skeleton, clip, division)?;
    let mut joints = Joints::new(skeleton, options.shell);
    joints
        .skeleton()
        .check()
        .map_err(|e| Error::Unsupported { what: format!("skeleton {}: {}", skeleton.name, e.0) })?;
    let reference = Reference::new(skeleton, clip, &options.cancellation);
    let least = reference.min_tolerance();
    let tolerance = options.tolerance.max(least);
    joints.set_tolerances(tolerances, tolerance, least);
    joints.add_scales(&reference);
    for (constant, axes, part) in super::ATTEMPT_SETTINGS {
        let attempt = Attempt {
            skeleton,
            clip,
            options,
            division,
            joints: &joints,
            reference: &reference,
            tolerance,
            kinds: compact::classify_sub_tracks(
                &reference,
                &joints,
                tolerance,
                CompactTolerances { constant, axes },
            ),
            step_fraction: part,
        };
        if let Some(done) = attempt.compress() {
            return Ok(done);
        }
        options.cancellation.check()?;
    }
    Err(Error::Unsupported {
        what: format!(
            "clip {}: a tolerance of {tolerance} cannot be held in layers; give a larger --tolerance",
            clip.name
        ),
    })
}

fn check(skeleton: &scene::Skeleton, clip: &scene::Clip, division: &LayerDivision) -> Result<(), Error> {
    let n = skeleton.joints.len();
    let wrong = |what: &str| Err(Error::misuse(format!("clip {}: {what}", clip.name)));
    let layers = division.layers.len();
    if !(1..=layer::MAX_LAYERS).contains(&layers) {
        return wrong("it must have 1 to 16 layers");
    }
    if division.layer_of.len() != n || division.stepped.len() != n {
        return wrong("every joint must have a layer");
    }
    if division.layer_of.iter().any(|l| usize::from(*l) >= layers) {
        return wrong("a joint is of a layer that there is not");
    }
    let closed =
        |(joint, own): (&scene::Joint, &u8)| joint.parent.is_none_or(|p| division.layer_of[p] <= *own);
    if !(skeleton.joints.iter().zip(&division.layer_of)).all(closed) {
        return wrong("the parent of a joint must be in the same layer or in one before it");
    }
    for part in &division.layers {
        if part.rate.is_some_and(|r| !(r > 0.0 && r.is_finite())) {
            return wrong("the rate of a layer must be above zero");
        }
        let sane = match part.strip {
            Strip::None => true,
            Strip::Error(e) => e >= 0.0 && e.is_finite(),
            Strip::Fraction(s) => (0.0..=1.0).contains(&s),
        };
        if !sane || !(1..=8).contains(&part.tiers) {
            return wrong("a layer's stripping or number of tiers is out of range");
        }
    }
    Ok(())
}

/// A clip that is compressed in layers, with the settings of one attempt.
struct Attempt<'a> {
    skeleton: &'a scene::Skeleton,
    clip: &'a scene::Clip,
    options: &'a ClipOptions,
    division: &'a LayerDivision,
    joints: &'a Joints,
    reference: &'a Reference,
    tolerance: f64,
    kinds: SubTrackKinds,
    step_fraction: f64,
}

impl Attempt<'_> {
    fn compress(&self) -> Option<LayeredClip> {
        let division = self.division;
        let all = &division.layers;
        let samples: Vec<LayerSamples> = (0..all.len()).map(|l| self.samples(l)).collect();
        let count = self.clip.samples as u32;
        let lists: Vec<Option<Vec<u32>>> = samples.iter().map(|s| s.list(count)).collect();
        // Layers that can be separated from one pass over everything.
        let same = |l: usize| lists[l] == lists[0] && all[l].strip == all[0].strip;
        let together: Vec<bool> = (0..all.len()).map(same).collect();
        let changes = self.changes(&|j| together[usize::from(division.layer_of[j])]);
        let split = ClipSplit {
            layers: division.layer_of.clone(),
            tiers: 0,
            keys: keys(&changes, lists[0].as_deref(), count),
        };
        let (plan, choices) = self.choose_residuals(lists[0].as_deref(), split, &all[0], None)?;
        let mut layers: Vec<CompressedLayer> = Vec::with_capacity(all.len());
        let mut decoded: Vec<DecodedLayer> = Vec::with_capacity(all.len());
        let mut max_error = 0.0;
        for l in 0..all.len() {
            let list = lists[l].as_deref();
            let settled = self.settled(l, list, &decoded);
            let (mut own, choices) = if together[l] {
                let parts = (&choices.0[..], &choices.1[..]);
                layer::extract_layer(&self.joints.skeleton(), &plan, l as u8, parts).ok()?
            } else {
                let changes = self.changes(&|j| usize::from(division.layer_of[j]) == l);
                let split = ClipSplit {
                    layers: division.layer_of.clone(),
                    tiers: 0,
                    keys: keys(&changes, list, count),
                };
                self.choose_residuals(list, split, &all[l], Some((l as u8, &settled)))?
            };
            own.header.split.tiers = all[l].tiers - 1;
            let mut layer = CompressedLayer {
                plan: own,
                choices,
                stripped: (0, 0.0),
                max_error: 0.0,
                separated: together[l],
            };
            let poses = decode(&self.joints.skeleton(), &layer.tiers())?;
            self.measure(&mut layer, list, &settled, &poses);
            if layer.max_error.is_nan() || layer.max_error > self.tolerance {
                return None;
            }
            max_error = larger_error(max_error, layer.max_error);
            layers.push(layer);
            decoded.push(DecodedLayer { list: lists[l].clone(), poses });
        }
        let records = (all.iter().zip(samples).zip(&layers)).enumerate();
        let table = LayerTable {
            clip: 0,
            samples: count,
            layers: records
                .map(|(l, ((part, samples), layer))| LayerRecord {
                    name: part.name.clone(),
                    samples,
                    header: match l {
                        0 => Vec::new(),
                        _ => layer::header_bytes(&layer.plan.header),
                    },
                })
                .collect(),
            tier_parts: Vec::new(),
            joint_layers: division.layer_of.clone(),
            stepped: division.stepped.clone(),
            interleaved: false,
        };
        Some(LayeredClip {
            table,
            layers,
            joints: self.joints.clone(),
            tolerance: self.tolerance,
            max_error,
            rotations: count_rotations(&self.kinds.rotations),
        })
    }

    /// Returns the samples before and at which stepped joints change, ascending.
    fn changes(&self, of: &dyn Fn(usize) -> bool) -> Vec<u32> {
        let stepped = (0..self.reference.joints).filter(|&j| self.division.stepped[j] && of(j));
        let stepped: Vec<usize> = stepped.collect();
        let mut out = Vec::new();
        for i in 1..self.reference.samples {
            let changes = |&j: &usize| self.reference.local(i, j) != self.reference.local(i - 1, j);
            if stepped.iter().any(changes) {
                out.extend([i as u32 - 1, i as u32]);
            }
        }
        out.dedup();
        out
    }

    /// Returns the samples of layer `l`.
    fn samples(&self, l: usize) -> LayerSamples {
        let step = match self.division.layers[l].rate {
            Some(rate) if rate < self.clip.fps * (1.0 - 1e-9) => self.clip.fps / rate,
            _ => return LayerSamples::default(),
        };
        let changes = self.changes(&|j| usize::from(self.division.layer_of[j]) == l);
        let regular = LayerSamples { step, extra: Vec::new() };
        let regular = regular.list(self.clip.samples as u32).unwrap_or_default();
        LayerSamples {
            step,
            extra: (changes.into_iter()).filter(|at| regular.binary_search(at).is_err()).collect(),
        }
    }

    /// Chooses residuals of a clip of these samples: of all joints, or of one layer while the others are
    /// settled.
    fn choose_residuals(
        &self,
        list: Option<&[u32]>,
        split: ClipSplit,
        part: &LayerSettings,
        alone: Option<(u8, &SettledJoints)>,
    ) -> Option<(ClipLayout, ClipResiduals)> {
        let work = SearchEffort::new(self.options.effort);
        let (c, spread) = base_step(self.tolerance / self.options.shell, work);
        let header = ClipHeader {
            samples: list.map_or(self.clip.samples, <[u32]>::len) as u32,
            fps: self.clip.fps,
            start: self.clip.start,
            base: (c * self.step_fraction * self.tolerance) as f32,
            spread,
            segment_log2: self.options.restart.clamp(1, 7),
            fine: self.joints.step_refinements(),
            rotations: self.kinds.rotations.clone(),
            translations: self.kinds.translations.clone(),
            scales: self.kinds.scales.clone(),
            sources: Vec::new(),
            starts: Vec::new(),
            split,
        };
        let header = match alone {
            Some((l, _)) => header.layer_header(l),
            None => header,
        };
        let some = list
            .map(|list| Reference::new(self.skeleton, &subset(self.clip, list), &self.options.cancellation));
        ResidualChoice {
            reference: some.as_ref().unwrap_or(self.reference),
            joints: self.joints,
            settled: alone.map(|(_, settled)| settled),
            strip: part.strip,
            tolerance: self.tolerance,
            work,
            with_sources: self.options.effort > 1,
        }
        .choose(header)
    }

    /// Returns all joints but those of layer `l` at its samples: earlier layers as decoded, others in the
    /// rest pose.
    fn settled(&self, l: usize, list: Option<&[u32]>, decoded: &[DecodedLayer]) -> SettledJoints {
        let (n, division) = (self.reference.joints, self.division);
        let count = list.map_or(self.reference.samples, <[u32]>::len);
        let mut local = Vec::with_capacity(n * count);
        for i in 0..count {
            let at = list.map_or(i as u32, |list| list[i]);
            for j in 0..n {
                local.push(match decoded.get(usize::from(division.layer_of[j])) {
                    Some(before) => before.transform(at, j, n, division.stepped[j]),
                    None => widen(&self.joints.rest[j]),
                });
            }
        }
        let own = |of: &u8| usize::from(*of) == l;
        SettledJoints { coded: division.layer_of.iter().map(own).collect(), local }
    }

    /// Measures the errors of a layer at the samples that it has.
    fn measure(
        &self,
        layer: &mut CompressedLayer,
        list: Option<&[u32]>,
        settled: &SettledJoints,
        poses: &[Transform],
    ) {
        let n = self.reference.joints;
        let count = list.map_or(self.reference.samples, <[u32]>::len);
        let mut stripped = vec![false; count];
        for (s, samples) in layer.choices.1.iter().enumerate() {
            for (step, residuals) in layer.plan.segment_steps(s).zip(samples) {
                stripped[layer.plan.key(s) + step.sample] = residuals.shift == STRIPPED;
            }
        }
        let mut object = vec![ObjectTransform::IDENTITY; n];
        for (i, stripped) in stripped.into_iter().enumerate() {
            let at = list.map_or(i, |list| list[i] as usize);
            let mut worst: f64 = 0.0;
            for j in 0..n {
                let local = match settled.coded[j] {
                    true => widen(&poses[i * n + j]),
                    false => settled.local[i * n + j],
                };
                let parent = self.joints.parents[j] as usize;
                let parent = if parent < j { object[parent] } else { ObjectTransform::IDENTITY };
                object[j] = parent.child(&local, self.reference.scaled);
                if settled.coded[j] {
                    let shell = f64::from(self.joints.shell[j]);
                    let square = object[j].distance_squared(self.reference.object(at, j), shell);
                    let weight = self.joints.weight(j);
                    worst = larger_error(worst, square * weight * weight);
                }
            }
            let to = match stripped {
                true => {
                    layer.stripped.0 += 1;
                    &mut layer.stripped.1
                }
                false => &mut layer.max_error,
            };
            *to = larger_error(*to, worst.sqrt());
        }
    }
}

/// Returns the samples of a layer, by its own numbers, that are in `changes`; the first and last are keys
/// anyway.
fn keys(changes: &[u32], list: Option<&[u32]>, count: u32) -> Vec<u32> {
    let own = |at: &u32| match list {
        Some(list) => list.binary_search(at).ok().map(|i| i as u32),
        None => Some(*at),
    };
    let last = list.map_or(count, |list| list.len() as u32) - 1;
    let all = changes.iter().filter_map(own);
    all.filter(|at| *at > 0 && *at < last).collect()
}

/// Returns a clip of some samples of another.
fn subset(clip: &scene::Clip, list: &[u32]) -> scene::Clip {
    fn sub_track_subset<T: Copy + PartialEq>(track: &scene::SubTrack<T>, list: &[u32]) -> scene::SubTrack<T> {
        let values = list.iter().map(|&i| track.sample(i as usize)).collect();
        scene::SubTrack::new(values).unwrap_or_else(|| track.clone())
    }
    let track = |t: &scene::Track| scene::Track {
        rotation: sub_track_subset(&t.rotation, list),
        translation: sub_track_subset(&t.translation, list),
        scale: sub_track_subset(&t.scale, list),
    };
    scene::Clip { samples: list.len(), tracks: clip.tracks.iter().map(track).collect(), ..clip.clone() }
}

/// Returns all poses of a layer, decoded from its bytes.
fn decode(skeleton: &meshreel_codec::clip::Skeleton<'_>, tiers: &[Vec<u8>]) -> Option<Vec<Transform>> {
    let first = StreamedClip::open(skeleton, &tiers[0]).ok()?;
    let plan = &first.layout;
    let n = skeleton.parents.len();
    let ends = (tiers[1..].iter())
        .map(|bytes| SegmentEnds::read(plan.segments(), bytes).ok())
        .collect::<Option<Vec<_>>>()?;
    let mut poses = vec![Transform::IDENTITY; n * plan.header.samples as usize];
    let mut scratch = Scratch::new(plan);
    for i in 0..plan.keys() {
        plan.pose(first.key_values(i), &mut poses[plan.key(i) * n..][..n]);
    }
    for s in 0..plan.segments() {
        let upper = (ends.iter().zip(&tiers[1..])).map(|(ends, bytes)| ends.segment(s, bytes));
        let parts = std::iter::once(first.segment(s)).chain(upper);
        let parts: Vec<&[u8]> = parts.collect::<Option<_>>()?;
        streamed::decode_segment(plan, first.keys(), s, &parts, &mut scratch).ok()?;
        for i in 1..plan.key(s + 1) - plan.key(s) {
            let at = plan.key(s) + i;
            plan.pose(scratch.sample(plan, i), &mut poses[at * n..][..n]);
        }
    }
    Some(poses)
}
