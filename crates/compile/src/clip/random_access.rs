//! The random-access form (codec `random-access`): samples that decode independently, within the same
//! tolerance as the streamed form.
//!
//! Kinds of sub-tracks, steps and closed loop are those of the streamed form; a segment has the coarsest
//! steps with which each of its samples fits.

use super::closed_loop::{ClosedLoop, SampleContext, Target};
use super::compact::{self, CompactTolerances};
use super::layer::LayerDivision;
use super::reference::{Joints, ObjectTransform, Reference, larger_error};
use super::{ClipOptions, CompressedClip, count_rotations, search};
use crate::Error;
use glam::{DQuat, DVec3};
use meshreel_codec::clip::contexts::Means;
use meshreel_codec::clip::layer::{LayerRecord, LayerTable, header_bytes, put_length_prefixed};
use meshreel_codec::clip::random_access::{
    InterpolationWeights, Origin, RandomAccess, SEGMENT_SAMPLES, UNIT_FACTOR, UnpackedSegment,
};
use meshreel_codec::clip::streamed::{ClipLayout, SubTrackKind};
use meshreel_codec::clip::{ClipHeader, ClipSplit, ComponentSource, random_access};
use meshreel_codec::transform::Transform;
use meshreel_scene as scene;
use rayon::prelude::*;

/// Steps that are tried, in 128ths of the base, coarsest first.
const FACTORS: [u8; 14] = [220, 198, 176, 160, 146, 133, 120, 108, 97, 86, 72, 56, 36, 14];
/// The largest number of second-nearest integers per sample.
const FLIPS: usize = 4;

/// Compresses `clip` into the random-access form.
pub fn compress(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &ClipOptions,
) -> Result<CompressedClip, Error> {
    compress_layers(skeleton, clip, options, &[]).map(|(done, _)| done)
}

/// Compresses a clip as a whole and each of its layers alone: `layer_of` has the layer of each joint, at most
/// that of any child. The first is the undivided clip, made so that its layers can be separated from it.
pub fn compress_layers(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &ClipOptions,
    layer_of: &[u8],
) -> Result<(CompressedClip, Vec<Vec<u8>>), Error> {
    let (whole, layers) = compress_each(skeleton, clip, options, &[], layer_of)?;
    Ok((whole, layers.iter().map(LayerBytes::to_clip_bytes).collect()))
}

/// A layer as stored in a file.
#[derive(Clone, Debug)]
pub struct LayerBytes {
    /// Its header.
    pub header: Vec<u8>,
    /// The data after the header: ends of segments, and segments.
    pub body: Vec<u8>,
}

impl LayerBytes {
    /// Returns the layer alone, as a clip of its own.
    pub fn to_clip_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_length_prefixed(&self.header, &mut bytes);
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A clip in layers, each in the random-access form.
#[derive(Clone, Debug)]
pub struct RandomAccessLayers {
    /// The layer table as it is stored, with 0 as the number of the clip and without pieces.
    pub table: LayerTable,
    /// The layers, the base layer first.
    pub layers: Vec<LayerBytes>,
}

/// Compresses a clip in the layers of `division`, which have all samples and one tier each. The base is the
/// first layer; sizes and errors are those of all layers together. `tolerances` as in
/// [`super::compress_each`].
pub fn compress_division(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &ClipOptions,
    tolerances: &[f64],
    division: &LayerDivision,
) -> Result<(CompressedClip, RandomAccessLayers), Error> {
    let count = division.layers.len() as u8;
    let (whole, layers) = compress_counted(skeleton, clip, options, tolerances, (&division.layer_of, count))?;
    let records = division.layers.iter().zip(&layers).enumerate();
    let table = LayerTable {
        clip: 0,
        samples: clip.samples as u32,
        layers: records
            .map(|(l, (part, layer))| LayerRecord {
                name: part.name.clone(),
                header: if l == 0 { Vec::new() } else { layer.header.clone() },
                ..LayerRecord::default()
            })
            .collect(),
        tier_parts: Vec::new(),
        joint_layers: division.layer_of.clone(),
        stepped: division.stepped.clone(),
        interleaved: false,
    };
    Ok((whole, RandomAccessLayers { table, layers }))
}

/// As [`compress_layers`], with a tolerance for each joint.
pub fn compress_each(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &ClipOptions,
    tolerances: &[f64],
    layer_of: &[u8],
) -> Result<(CompressedClip, Vec<LayerBytes>), Error> {
    let count = layer_of.iter().max().map_or(0, |most| *most + 1);
    compress_counted(skeleton, clip, options, tolerances, (layer_of, count))
}

/// The same for a number of layers, of which the last may have no joints.
fn compress_counted(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &ClipOptions,
    tolerances: &[f64],
    (layer_of, count): (&[u8], u8),
) -> Result<(CompressedClip, Vec<LayerBytes>), Error> {
    let above = |j: usize| skeleton.joints[j].parent.map_or(0, |parent| layer_of[parent]);
    let n = skeleton.joints.len();
    if !layer_of.is_empty() && (layer_of.len() != n || (0..n).any(|j| above(j) > layer_of[j])) {
        return Err(Error::misuse(format!(
            "clip {}: a layer per joint, none lower than its parent's",
            clip.name
        )));
    }
    super::check(skeleton, clip, options)?;
    let mut joints = Joints::new(skeleton, options.shell);
    joints
        .skeleton()
        .check()
        .map_err(|e| Error::Unsupported { what: format!("skeleton {}: {}", skeleton.name, e.0) })?;
    let reference = Reference::new(skeleton, clip, &options.cancellation);
    let (extent, least) = (reference.extent(), reference.min_tolerance());
    let tolerance = options.tolerance.max(least);
    joints.set_tolerances(tolerances, tolerance, least);
    joints.add_scales(&reference);
    for (constant, axes) in [(0.02, 0.06), (0.0, 0.005), (0.0, 0.0)] {
        let within = CompactTolerances { constant, axes };
        let source = RandomAccessSource { clip, joints: &joints, reference: &reference, tolerance, extent };
        if let Some(done) = source.encode(within, layer_of, count) {
            return Ok(done);
        }
        options.cancellation.check()?;
    }
    Err(Error::Unsupported {
        what: format!(
            "clip {}: a tolerance of {tolerance} cannot be held by --codec random-access; give a larger --tolerance, or --codec auto",
            clip.name
        ),
    })
}

/// A clip that is compressed, its skeleton, the tolerance that holds and the largest coordinate, in units of
/// length.
struct RandomAccessSource<'a> {
    clip: &'a scene::Clip,
    joints: &'a Joints,
    reference: &'a Reference,
    tolerance: f64,
    extent: f64,
}

impl RandomAccessSource<'_> {
    /// Compresses the clip as a whole and in layers; `None` if the tolerance cannot be held.
    fn encode(
        &self,
        within: CompactTolerances,
        layer_of: &[u8],
        layers: u8,
    ) -> Option<(CompressedClip, Vec<LayerBytes>)> {
        let &RandomAccessSource { clip, joints, reference, tolerance, extent } = self;
        let kinds = compact::classify_sub_tracks(reference, joints, tolerance, within);
        let mut header = ClipHeader {
            samples: clip.samples as u32,
            fps: clip.fps,
            start: clip.start,
            base: tolerance as f32,
            spread: 5,
            segment_log2: 7,
            fine: joints.step_refinements(),
            rotations: kinds.rotations,
            translations: kinds.translations,
            scales: kinds.scales,
            sources: Vec::new(),
            starts: Vec::new(),
            split: ClipSplit { layers: layer_of.to_vec(), ..ClipSplit::default() },
        };
        let n = header.components();
        header.sources = vec![[ComponentSource::default(); 2]; n];
        header.starts = vec![0; n];
        let skeleton = joints.skeleton();
        // The decoder's f32 adds slightly to the errors that the loop measures.
        let inner = tolerance * 0.997 - extent * 1.2e-7;
        let plans: Vec<ClipLayout> = FACTORS
            .iter()
            .map(|&factor| {
                let mut header = header.clone();
                header.base *= f32::from(factor) / f32::from(UNIT_FACTOR);
                ClipLayout::new(&skeleton, header).ok()
            })
            .collect::<Option<_>>()?;
        let loops: Vec<ClosedLoop<'_>> =
            (plans.iter()).map(|plan| ClosedLoop::new(plan, reference, joints, inner)).collect();
        let count = clip.samples.div_ceil(SEGMENT_SAMPLES);
        let segments: Vec<UnpackedSegment> =
            (0..count).into_par_iter().map(|s| segment(&loops, s)).collect::<Option<_>>()?;
        let plan = ClipLayout::new(&skeleton, header).ok()?;
        let bytes = random_access::encode(&plan, &segments)?;
        let max_error = measure(&RandomAccess::open(&skeleton, &bytes).ok()?, reference, joints);
        let layers = (0..layers)
            .map(|layer| {
                let (plan, own) = random_access::extract_layer(&skeleton, &plan, layer, &segments).ok()?;
                Some(LayerBytes {
                    header: header_bytes(&plan.header),
                    body: random_access::encode_body(&plan, &own)?,
                })
            })
            .collect::<Option<Vec<_>>>()?;
        let done = CompressedClip {
            bytes,
            joints: joints.clone(),
            tolerance,
            max_error,
            side_bytes: [0; 2],
            rotations: count_rotations(&plan.header.rotations),
            finer_samples: segments.iter().filter(|s| s.factor < UNIT_FACTOR).count(),
        };
        (max_error <= tolerance).then_some((done, layers))
    }
}

fn segment(loops: &[ClosedLoop<'_>], s: usize) -> Option<UnpackedSegment> {
    let last = loops.first()?.reference.samples;
    let samples = s * SEGMENT_SAMPLES..((s + 1) * SEGMENT_SAMPLES).min(last);
    let means = Means::default();
    for (l, &factor) in loops.iter().zip(&FACTORS) {
        l.reference.cancellation.check().ok()?;
        let plan = l.plan;
        let (origins, predictions) = origins(l, samples.clone());
        let mut k = Vec::with_capacity(samples.len() * plan.components);
        let mut place = SampleContext { sample: 0, means: &means, around: [&[], &[]], predictions };
        let [frame, trial, _] = &mut l.trial_choices();
        let fits = samples.clone().all(|sample| {
            place.sample = sample;
            let fits = search::attempt::<false>(l, &place, [frame, trial], 0.0, FLIPS);
            k.extend_from_slice(&frame.k);
            fits
        });
        if fits {
            return Some(UnpackedSegment { factor, origins, k });
        }
    }
    None
}

/// Returns the origins of the sub-tracks of a segment: the middle of their range; and the same as integers.
fn origins(l: &ClosedLoop<'_>, samples: std::ops::Range<usize>) -> (Vec<Origin>, Vec<[i32; 4]>) {
    let plan = l.plan;
    let middle = samples.start + samples.len() / 2;
    let mut origins = Vec::with_capacity(plan.sub_tracks.len());
    let mut words = Vec::with_capacity(plan.sub_tracks.len());
    for group in &plan.sub_tracks {
        let j = group.joint;
        let steps = &plan.steps[j];
        let target = |sample: usize| {
            let local = l.reference.local(sample, j);
            match group.kind {
                SubTrackKind::Translation => Target::Vector(local.translation),
                SubTrackKind::Scale => Target::Vector(local.scale),
                _ => Target::Rotation(local.rotation),
            }
        };
        // A first guess as the origin, then the middle of the range around it.
        let guess = match group.kind {
            SubTrackKind::Free => random_access::origin_quaternion(&Origin::rotation(
                l.reference.local(middle, j).rotation.to_array(),
            )),
            _ => {
                let (wanted, _) = l.exact_residuals(group, [0; 4], &target(middle));
                group.apply([0; 4], wanted.map(|w| (w.round().clamp(-4e6, 4e6) as i64) * 32))
            }
        };
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for sample in samples.clone() {
            let (wanted, _) = l.exact_residuals(group, guess, &target(sample));
            for i in 0..3 {
                low[i] = low[i].min(wanted[i]);
                high[i] = high[i].max(wanted[i]);
            }
        }
        let centre = [0, 1, 2].map(|i| (low[i] + high[i]) / 2.0);
        let (origin, word) = match group.kind {
            SubTrackKind::Free => {
                let y = (0..3).fold(DVec3::ZERO, |y, i| {
                    y + DVec3::from_array(steps.axes[i]) * (centre[i] * steps.rotation[i] / 4.0)
                });
                let y = y.clamp_length_max(0.9);
                let d = DQuat::from_xyzw(2.0 * y.x, 2.0 * y.y, 2.0 * y.z, 1.0 - y.length_squared());
                let g = DQuat::from_array(meshreel_codec::quantize::rotation::to_f64(guess));
                let origin = Origin::rotation((g * d).normalize().to_array());
                (origin, random_access::origin_quaternion(&origin))
            }
            SubTrackKind::Translation | SubTrackKind::Scale => {
                let at = [0, 1, 2].map(|i| (f64::from(guess[i]) / 32.0 + centre[i]).round());
                let at = at.map(|v| v.clamp(-6e7, 6e7) as i32);
                let (rest, step) = match group.kind {
                    SubTrackKind::Scale => (plan.constant_pose()[j].scale, steps.scale),
                    _ => (plan.constant_pose()[j].translation, steps.translation),
                };
                // Whole steps from the rest pose, so that the integers are exactly these.
                let value = |i: usize| (f64::from(rest[i]) + f64::from(at[i]) * step) as f32;
                let word = [at[0] * 32, at[1] * 32, at[2] * 32, 0];
                (Origin::Vector([0, 1, 2].map(value)), word)
            }
            _ => {
                let step = |i: usize| steps.rotation[i] / std::f64::consts::TAU * 4_294_967_296.0;
                let at = [0, 1].map(|i| {
                    let beyond = (centre[i] * step(i)).round() as i64;
                    guess[i].wrapping_add(beyond as i32)
                });
                (Origin::Angles(at), [at[0], at[1], 0, 0])
            }
        };
        origins.push(origin);
        words.push(word);
    }
    (origins, words)
}

/// Returns the largest decoded error of any joint at any sample.
fn measure(form: &RandomAccess, reference: &Reference, joints: &Joints) -> f64 {
    let n = reference.joints;
    let mut pose: Vec<Transform> = form.layout.constant_pose().to_vec();
    let mut object = vec![ObjectTransform::IDENTITY; n];
    let mut worst: f64 = 0.0;
    for sample in 0..reference.samples {
        form.pose(sample, sample, &InterpolationWeights::same(0.0), &mut pose[..]);
        worst = larger_error(worst, reference.error_squared(sample, joints, &pose, &mut object));
    }
    worst.sqrt()
}
