//! Compresses clips within a tolerance that holds for every joint at every sample (codec `sampled`, streamed
//! form).
//!
//! Passes: `compact` (default, constant, animated; hinges and two axes) → `cross` (components that predict
//! others) → `closed_loop` and `search` (residuals) → the codec's `streamed` form, which is decoded again and
//! measured.

pub(crate) mod choice;
mod closed_loop;
mod compact;
mod cross;
mod curve;
#[cfg(test)]
mod curve_tests;
pub(crate) mod decoded;
mod division;
mod fit;
pub mod importance;
pub mod layer;
#[cfg(test)]
mod layer_tests;

pub mod random_access;
mod reference;
pub(crate) mod requested;
pub mod scalars;
mod search;
mod strip;
#[cfg(test)]
mod tests;
pub(crate) mod tier_chunks;

use crate::Error;
use closed_loop::{ClosedLoop, SampleChoices, SampleContext, SettledJoints};
use compact::CompactTolerances;
pub use curve::{CompressedCurves, CurveOptions, CurveRule, compress_curves};
use meshreel_codec::clip::contexts::{Activity, Means, start_code};
use meshreel_codec::clip::schedule::Taps;
use meshreel_codec::clip::streamed::{
    ClipLayout, ClipResiduals, KEY_LEVEL, NEUTRAL_RATIO, SampleResiduals, Scratch, StreamedClip,
};
use meshreel_codec::clip::{ClipHeader, ClipSplit, ComponentSource, streamed};
use meshreel_codec::transform::Transform;
use meshreel_options::Strip;
use meshreel_process::Cancellation;
use meshreel_scene as scene;
use rayon::prelude::*;
pub use reference::Joints;
use reference::{ObjectTransform, Reference, larger_error};
use search::SearchEffort;
use strip::StrippedSamples;

/// Settings of the codec `sampled`.
#[derive(Clone, Debug)]
pub struct ClipOptions {
    /// Largest distance of any of the metric's points at any sample, in units of length.
    pub tolerance: f64,
    /// Distance of these points from joints that have none of their own.
    pub shell: f64,
    /// Effort, 1 … 9.
    pub effort: u8,
    /// log2 of the intervals between restarts, 1 … 7.
    pub restart: u8,
    /// Cancels the work, which then ends with an error.
    pub cancellation: Cancellation,
}

impl Default for ClipOptions {
    /// Returns the usual settings, lengths in centimetres.
    fn default() -> Self {
        ClipOptions {
            tolerance: 0.01,
            shell: 3.0,
            effort: 5,
            restart: 7,
            cancellation: Cancellation::never(),
        }
    }
}

/// A compressed clip.
#[derive(Clone, Debug)]
pub struct CompressedClip {
    /// The streamed form: everything that playing needs except names, parents and rest pose.
    pub bytes: Vec<u8>,
    /// The skeleton as the decoder gets it.
    pub joints: Joints,
    /// The tolerance that the file stores: the requested one, unless f32 cannot hold it.
    pub tolerance: f64,
    /// Largest error found, decoded from `bytes`.
    pub max_error: f64,
    /// Bytes of side information, and of keys.
    pub side_bytes: [usize; 2],
    /// Sub-tracks of rotation by kind: default, constant, hinge, two axes, free.
    pub rotations: [usize; 5],
    /// Number of samples whose steps had to be finer.
    pub finer_samples: usize,
}

/// Returns base step over tolerance, and η in 16ths, for tolerances around a thousandth, a hundredth and a
/// tenth of the shell.
fn base_step(ratio: f64, work: SearchEffort) -> (f64, u8) {
    let plain = if work.flips <= 1 { 0.85 } else { 1.0 };
    let (c, spread) = match ratio {
        r if r < 0.01 => (1.1, 5),
        r if r < 0.1 => (1.0, 4),
        _ => (0.8, 6),
    };
    (c * plain, spread)
}

/// Limits for a constant sub-track and for its axes ([`CompactTolerances`]), and steps as a fraction of the
/// usual ones. If the first settings cannot hold the tolerance, the stricter ones behind them are tried.
const ATTEMPT_SETTINGS: [(f64, f64, f64); 5] =
    [(0.02, 0.06, 1.0), (0.0, 0.005, 0.5), (0.0, 0.0, 0.12), (0.0, 0.0, 0.01), (0.0, 0.0, 0.001)];

/// Returns a thread pool of one thread, for measuring speed.
pub fn one_thread() -> Result<rayon::ThreadPool, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.map_err(|e| Error::Misuse { what: e.to_string() })
}

/// Compresses `clip`. The skeleton's joints and the clip's tracks must correspond, and all numbers be finite.
pub fn compress(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &ClipOptions,
) -> Result<CompressedClip, Error> {
    compress_each(skeleton, clip, options, &[])
}

/// Compresses `clip` with a tolerance for each joint, 0 for the general one, or with an empty list. Errors of
/// a joint with its own tolerance are given as fractions of that, times the general one.
pub fn compress_each(
    skeleton: &scene::Skeleton,
    clip: &scene::Clip,
    options: &ClipOptions,
    tolerances: &[f64],
) -> Result<CompressedClip, Error> {
    check(skeleton, clip, options)?;
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
    let work = SearchEffort::new(options.effort);
    let (c, spread) = base_step(tolerance / options.shell, work);
    let source = StreamedSource { clip, joints: &joints, reference: &reference, tolerance };
    for (constant, axes, part) in ATTEMPT_SETTINGS {
        let within = CompactTolerances { constant, axes };
        let base = c * part * tolerance;
        if let Some(done) = source.encode(options, within, (base, spread), work) {
            return Ok(done);
        }
        options.cancellation.check()?;
    }
    Err(Error::Unsupported {
        what: format!(
            "clip {}: a tolerance of {tolerance} cannot be held; give a larger --tolerance",
            clip.name
        ),
    })
}

fn check(skeleton: &scene::Skeleton, clip: &scene::Clip, options: &ClipOptions) -> Result<(), Error> {
    let wrong = |what: String| Err(Error::Misuse { what });
    let n = skeleton.joints.len();
    if n > scene::clip::MAX_JOINTS {
        return Err(Error::Limit {
            what: format!("joints of skeleton {}", skeleton.name),
            asked: n as u64,
            allowed: scene::clip::MAX_JOINTS as u64,
        });
    }
    if clip.tracks.len() != n || clip.samples == 0 || clip.samples > 1 << 30 {
        return wrong(format!("clip {} does not fit its skeleton, or has no samples", clip.name));
    }
    if !(options.tolerance > 0.0 && options.tolerance < 1e15 && options.shell > 0.0 && options.shell < 1e15) {
        return wrong("the tolerance and shell distance of a clip must be lengths above zero".into());
    }
    let sane = |q: &scene::Qvv| {
        let small = |v: glam::DVec3| v.is_finite() && v.abs().max_element() <= 1e15;
        (q.rotation.length_squared() - 1.0).abs() < 1e-6 && small(q.translation) && small(q.scale)
    };
    for (track, joint) in clip.tracks.iter().zip(&skeleton.joints) {
        if !sane(&joint.rest) || !(0..clip.samples).all(|i| sane(&track.transform(i))) {
            return Err(Error::Unsupported {
                what: format!("clip {}, joint {}: a transform that is none", clip.name, joint.name),
            });
        }
    }
    Ok(())
}

/// A clip that is compressed, its skeleton, and the tolerance that holds, in units of length.
struct StreamedSource<'a> {
    clip: &'a scene::Clip,
    joints: &'a Joints,
    reference: &'a Reference,
    tolerance: f64,
}

impl StreamedSource<'_> {
    /// Compresses the clip once, with steps derived from `base` and `spread`; `None` if the tolerance cannot
    /// be held with these settings at some sample.
    fn encode(
        &self,
        options: &ClipOptions,
        within: CompactTolerances,
        (base, spread): (f64, u8),
        work: SearchEffort,
    ) -> Option<CompressedClip> {
        let &StreamedSource { joints, reference, tolerance, .. } = self;
        let residuals = ResidualChoice {
            reference,
            joints,
            settled: None,
            strip: Strip::None,
            tolerance,
            work,
            with_sources: options.effort > 1,
        };
        let (plan, (keys, segments)) = residuals.choose(self.header(options, within, (base, spread)))?;
        let mut bytes = Vec::new();
        streamed::encode(&plan, &keys, &segments, &mut bytes);
        let skeleton = joints.skeleton();
        let stored = StreamedClip::open(&skeleton, &bytes).ok()?;
        let max_error = measure(&stored, reference, joints)?;
        if max_error.is_nan() || max_error > tolerance {
            return None;
        }
        let rotations = count_rotations(&plan.header.rotations);
        let mut side = Vec::new();
        meshreel_codec::clip::header::encode(&plan.header, &mut side);
        let finer = segments.iter().flatten().filter(|r| r.shift > 0).count();
        Some(CompressedClip {
            side_bytes: [side.len(), stored.head_bytes - side.len()],
            bytes,
            joints: joints.clone(),
            tolerance,
            max_error,
            rotations,
            finer_samples: finer,
        })
    }

    /// Returns the header of the clip, without sources and starts, which depend on the residuals.
    fn header(
        &self,
        options: &ClipOptions,
        within: CompactTolerances,
        (base, spread): (f64, u8),
    ) -> ClipHeader {
        let kinds = compact::classify_sub_tracks(self.reference, self.joints, self.tolerance, within);
        ClipHeader {
            samples: self.clip.samples as u32,
            fps: self.clip.fps,
            start: self.clip.start,
            base: base as f32,
            spread,
            segment_log2: options.restart.clamp(1, 7),
            fine: self.joints.step_refinements(),
            rotations: kinds.rotations,
            translations: kinds.translations,
            scales: kinds.scales,
            sources: Vec::new(),
            starts: Vec::new(),
            split: ClipSplit::default(),
        }
    }
}

/// Counts rotation sub-tracks by kind.
fn count_rotations(all: &[meshreel_codec::clip::RotationSubTrack]) -> [usize; 5] {
    use meshreel_codec::clip::RotationSubTrack as R;
    let mut rotations = [0; 5];
    for r in all {
        rotations[match r {
            R::Default => 0,
            R::Constant(_) => 1,
            R::Hinge { .. } => 2,
            R::TwoAxes { .. } => 3,
            R::Free => 4,
        }] += 1;
    }
    rotations
}

/// The choice of all residuals of a clip, or of a layer of it: the source, the tolerance, and the search
/// effort.
struct ResidualChoice<'a> {
    reference: &'a Reference,
    joints: &'a Joints,
    /// Joints of other layers, which are already chosen.
    settled: Option<&'a SettledJoints>,
    strip: Strip,
    tolerance: f64,
    work: SearchEffort,
    with_sources: bool,
}

impl ResidualChoice<'_> {
    /// Chooses sources, starts and residuals for a header that has none yet. `None` if the tolerance cannot
    /// be held at some sample.
    fn choose(&self, mut header: ClipHeader) -> Option<(ClipLayout, ClipResiduals)> {
        let n = header.components();
        header.sources = vec![[ComponentSource::default(); 2]; n];
        header.starts = vec![8; n];
        let skeleton = self.joints.skeleton();
        let plan = ClipLayout::new(&skeleton, header.clone()).ok()?;
        (header.starts, header.sources) = cross::find_sources(&self.closed_loop(&plan), self.with_sources);
        let mut plan = ClipLayout::new(&skeleton, header).ok()?;
        let l = self.closed_loop(&plan);
        let stripped = StrippedSamples::new(self.strip, &l);
        let (keys, segments) = choose_samples(&l, self.work, &stripped)?;
        plan.header.starts = residual_starts(&plan, &segments);
        Some((plan, (keys, segments)))
    }

    fn closed_loop<'a>(&'a self, plan: &'a ClipLayout) -> ClosedLoop<'a> {
        ClosedLoop::new(plan, self.reference, self.joints, self.tolerance).with_settled(self.settled)
    }
}

fn choose_samples(
    l: &ClosedLoop<'_>,
    work: SearchEffort,
    stripped: &StrippedSamples,
) -> Option<ClipResiduals> {
    let plan = l.plan;
    let w = plan.codes_per_sample;
    let calm = vec![NEUTRAL_RATIO; plan.components];
    let mut means = Means::default();
    means.enter_level(KEY_LEVEL, &plan.header.starts);
    let mut keys = Vec::with_capacity(plan.keys());
    let mut key_values: Vec<i32> = Vec::with_capacity(plan.keys() * w);
    let mut last = plan.rest_values().to_vec();
    let mut frames = l.trial_choices();
    let mut lambda = search::FIRST_LAMBDA;
    let taps = Taps { samples: [0; 4], weights: [1 << 16, 0, 0, 0], count: 1 };
    let mut predictions = Vec::new();
    for i in 0..plan.keys() {
        l.predict(&last, &taps, &mut predictions);
        let place = SampleContext {
            sample: plan.key(i),
            means: &means,
            around: [&calm, &calm],
            predictions: std::mem::take(&mut predictions),
        };
        if !search::solve(l, &place, &mut frames, &mut lambda, work) {
            return None;
        }
        let frame = &frames[0];
        predictions = place.predictions;
        learn(&mut means, frame);
        last.copy_from_slice(&frame.codes);
        key_values.extend_from_slice(&frame.codes);
        keys.push(residuals(frame));
    }
    let segments: Option<Vec<_>> = (0..plan.segments())
        .into_par_iter()
        .map(|s| segment(l, s, &key_values[s * w..(s + 2) * w], work, stripped))
        .collect();
    Some((keys, segments?))
}

fn learn(means: &mut Means, frame: &SampleChoices) {
    for (c, &k) in frame.k.iter().enumerate() {
        means.learn(c, k);
    }
}

fn residuals(frame: &SampleChoices) -> SampleResiduals {
    SampleResiduals { shift: frame.shift, k: frame.k.clone() }
}

fn segment(
    l: &ClosedLoop<'_>,
    s: usize,
    keys: &[i32],
    work: SearchEffort,
    stripped: &StrippedSamples,
) -> Option<Vec<SampleResiduals>> {
    let plan = l.plan;
    let (w, n) = (plan.codes_per_sample, plan.components);
    let start = plan.key(s);
    let length = plan.key(s + 1) - start;
    let mut words = vec![0; (length + 1) * w];
    words[..w].copy_from_slice(&keys[..w]);
    words[length * w..].copy_from_slice(&keys[w..]);
    let mut ratios = vec![NEUTRAL_RATIO; (length + 1) * n];
    let mut means = Means::default();
    let mut frames = l.trial_choices();
    let mut lambda = search::FIRST_LAMBDA;
    let mut predictions = Vec::new();
    let mut out = Vec::with_capacity(length.saturating_sub(1));
    for step in plan.segment_steps(s) {
        means.enter_level(step.level as usize, &plan.header.starts);
        l.predict(&words, &step.taps, &mut predictions);
        let place = SampleContext {
            sample: start + step.sample,
            means: &means,
            around: [step.taps.samples[0], step.taps.samples[1]].map(|t| &ratios[t * n..t * n + n]),
            predictions: std::mem::take(&mut predictions),
        };
        if stripped.strip_sample(l, &place, &mut frames[0]) {
            predictions = place.predictions;
            words[step.sample * w..][..w].copy_from_slice(&frames[0].codes);
            out.push(SampleResiduals { shift: streamed::STRIPPED, k: vec![0; n] });
            continue;
        }
        if !search::solve(l, &place, &mut frames, &mut lambda, work) {
            return None;
        }
        let frame = &frames[0];
        predictions = place.predictions;
        // Later samples get the coder's context: the residuals as finally chosen.
        let (mut activity, own) = (Activity::default(), &mut ratios[step.sample * n..][..n]);
        for (c, (&k, ratio)) in frame.k.iter().zip(own).enumerate() {
            *ratio = activity.record(&means, c, k);
        }
        learn(&mut means, frame);
        words[step.sample * w..][..w].copy_from_slice(&frame.codes);
        out.push(residuals(frame));
    }
    Some(out)
}

/// Returns starts from the chosen residuals: the mean |k| of the finest level.
fn residual_starts(plan: &ClipLayout, segments: &[Vec<SampleResiduals>]) -> Vec<u8> {
    let mut sums = vec![(0u64, 0u64); plan.components];
    for (s, samples) in segments.iter().enumerate() {
        for (step, residuals) in plan.segment_steps(s).zip(samples) {
            if step.level == 0 && residuals.shift != streamed::STRIPPED {
                for ((sum, count), k) in sums.iter_mut().zip(&residuals.k) {
                    *sum += u64::from(k.unsigned_abs());
                    *count += 1;
                }
            }
        }
    }
    (sums.iter().zip(&plan.header.starts))
        .map(|(&(sum, count), &before)| match count {
            0 => before,
            n => start_code(sum as f64 / n as f64),
        })
        .collect()
}

/// Returns the largest decoded error of any joint at any sample. `None` if the clip does not decode.
fn measure(stored: &StreamedClip, reference: &Reference, joints: &Joints) -> Option<f64> {
    let plan = &stored.layout;
    let n = reference.joints;
    let mut pose = vec![Transform::IDENTITY; n];
    let mut object = vec![ObjectTransform::IDENTITY; n];
    let mut worst: f64 = 0.0;
    let mut check = |words: &[i32], sample: usize| {
        plan.pose(words, &mut pose);
        worst = larger_error(worst, reference.error_squared(sample, joints, &pose, &mut object));
    };
    for i in 0..plan.keys() {
        check(stored.key_values(i), plan.key(i));
    }
    let mut scratch = Scratch::default();
    for s in 0..plan.segments() {
        stored.decode(s, &mut scratch).ok()?;
        let start = plan.key(s);
        for i in 1..plan.key(s + 1) - start {
            check(scratch.sample(plan, i), start + i);
        }
    }
    Some(worst.sqrt())
}
