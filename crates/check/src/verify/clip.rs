//! Compares clips with their source in the metric of ACL: the largest distance, in object space, of three
//! points at the shell distance of every joint; at every sample and, for the report, half-way between
//! samples.

use super::local::LocalMetric;
use super::metric::Metric;
use super::report::{ClipPromise, ClipReport, Failures};
use crate::requested::{RequestedOptions, Tolerance};
use meshreel::clip::{Clip, Query};
use meshreel::{Reel, Transform};
use meshreel_scene::node_clip::TRANSFORMS_FORMAT;
use meshreel_scene::{Joint, LengthUnit, Scene, Skeleton};
use rayon::prelude::*;

/// Tolerance and shell distance in metres, if none were given.
const DEFAULT_TOLERANCE_METRES: f64 = 0.000_1;
const DEFAULT_SHELL_METRES: f64 = 0.03;
/// Turns between two samples, in radians, beyond which the motion between them is ambiguous.
const MAX_UNAMBIGUOUS_TURN: f64 = 1.5;

/// Compares all clips of `reel` with those of `scene`, in their order.
pub(super) fn verify(
    scene: &Scene,
    reel: &Reel,
    asked: &RequestedOptions,
    failures: &mut Failures,
) -> Vec<ClipReport> {
    let clips = match reel.clips() {
        Ok(clips) => clips,
        Err(error) => {
            failures.add("", None, || error.to_string());
            return Vec::new();
        }
    };
    let sources: Vec<&meshreel_scene::Clip> = source_clips(scene, asked).map(|(_, c)| c).collect();
    if clips.len() != sources.len() {
        failures.add("", None, || {
            format!(
                "{} clips in the file, {} follow from the source and what was asked for",
                clips.len(),
                sources.len()
            )
        });
    }
    let unit = match (reel.description().unit, scene.unit) {
        (1, _) | (0, Some(LengthUnit::Metre)) => 1.0,
        (3, _) | (0, Some(LengthUnit::Millimetre)) => 0.001,
        (4, _) | (0, Some(LengthUnit::Inch)) => 0.0254,
        _ => 0.01,
    };
    let wanted = ClipLimits {
        tolerance: match asked.tolerance {
            Tolerance::Absolute(t) => t,
            Tolerance::Relative(_) => DEFAULT_TOLERANCE_METRES / unit,
        },
        shell: asked.clips.shell.unwrap_or(DEFAULT_SHELL_METRES / unit),
        asked,
    };
    let found: Vec<(ClipReport, Vec<String>)> = (sources.par_iter().zip(&clips))
        .map(|(source, clip)| match source.portion(asked.frames.fps, asked.frames.range) {
            Ok(source) => {
                let (mut report, mut broken) = compare(scene, &source, clip, &wanted);
                let scalar = asked.scalar_tolerance;
                compare_scalars_and_markers(&source, clip, scalar, &mut report, &mut broken);
                report.ok &= broken.is_empty();
                (report, broken)
            }
            Err(error) => {
                let report = ClipReport { name: source.name.clone(), ..ClipReport::default() };
                (report, vec![error.to_string()])
            }
        })
        .collect();
    found
        .into_iter()
        .map(|(report, broken)| {
            for what in broken {
                failures.add(&report.name, None, || what);
            }
            report
        })
        .collect()
}

/// Returns the clips of the source that the file must have, and their numbers there.
pub(super) fn source_clips<'a>(
    scene: &'a Scene,
    asked: &RequestedOptions,
) -> impl Iterator<Item = (usize, &'a meshreel_scene::Clip)> {
    // For clips made of transforms, the options have selected the joints.
    scene
        .clips
        .iter()
        .enumerate()
        .filter(|(_, clip)| scene.format == TRANSFORMS_FORMAT || asked.selects(&format!("/{}", clip.name)))
}

/// The file's options for clips.
struct ClipLimits<'a> {
    /// Allowed distance, in the file's length unit.
    tolerance: f64,
    /// Shell distance of joints that have none of their own, in the file's length unit.
    shell: f64,
    asked: &'a RequestedOptions,
}

/// Compares a clip with its source; also returns broken promises as sentences.
fn compare(
    scene: &Scene,
    source: &meshreel_scene::Clip,
    clip: &Clip,
    wanted: &ClipLimits<'_>,
) -> (ClipReport, Vec<String>) {
    let mut report = ClipReport {
        name: source.name.clone(),
        joints: source.tracks.len(),
        samples: source.samples,
        codec: clip.record().codec.name(),
        tolerance: wanted.tolerance,
        ..ClipReport::default()
    };
    let mut broken = Vec::new();
    let comparison = ClipComparison::new(&scene.skeletons[source.skeleton], source, clip, wanted);
    if let Err(what) = comparison.compare(&mut report, &mut broken) {
        broken.push(what);
    }
    (report, broken)
}

/// A clip of the source and its counterpart in the file.
struct ClipComparison<'a> {
    skeleton: &'a Skeleton,
    source: &'a meshreel_scene::Clip,
    clip: &'a Clip,
    limits: &'a ClipLimits<'a>,
    /// Path of each joint.
    paths: Vec<String>,
    /// The tolerance of each joint that has one of its own.
    tolerances: Vec<Option<f64>>,
}

impl<'a> ClipComparison<'a> {
    fn new(
        skeleton: &'a Skeleton,
        source: &'a meshreel_scene::Clip,
        clip: &'a Clip,
        wanted: &'a ClipLimits<'a>,
    ) -> ClipComparison<'a> {
        let paths: Vec<String> = (0..skeleton.joints.len()).map(|j| skeleton.path(j)).collect();
        let joints = skeleton.joints.iter().zip(&paths);
        let tolerances = joints.map(|(j, path)| wanted.asked.clips.tolerance(&j.name, path)).collect();
        ClipComparison { skeleton, source, clip, limits: wanted, paths, tolerances }
    }

    /// Fills the report. An error is a sentence about what made further comparison impossible.
    fn compare(&self, report: &mut ClipReport, broken: &mut Vec<String>) -> Result<(), String> {
        self.same_joints_and_times()?;
        report.joint_tolerances = self.tolerances.iter().flatten().count();
        let mut metric = Metric::new(self.skeleton, self.shells());
        let mut local = self.local(&metric);
        let is_layered = self.clip.joint_layer(0).is_some() && !self.clip.layers().is_empty();
        if is_layered {
            let layers = super::layer::LayeredSource {
                skeleton: self.skeleton,
                clip: self.source,
                asked: self.limits.asked,
                tolerance: self.limits.tolerance,
                tolerances: &self.tolerances,
            };
            let found = super::layer::compare(&layers, self.clip, &mut metric, report);
            broken.extend(found.map_err(|error| error.to_string())?);
        } else {
            if self.limits.asked.clips.has_layers(self.skeleton) {
                broken.push("layers were asked for, and the clip is in one piece".into());
            }
            self.measure_samples(&mut metric, local.as_mut())?;
        }
        // No promise can be finer than the precision of f32 at the largest coordinate.
        let least = metric.f32_precision();
        let asked = self.limits.tolerance;
        report.tolerance = asked.max(least);
        let limits: Vec<f64> = (self.tolerances.iter()).map(|own| own.unwrap_or(asked).max(least)).collect();
        if !is_layered {
            (report.max_error, report.worst) = metric.take_largest(&limits);
        }
        self.measure_middles(&mut metric, report);
        (report.mid_error, report.mid_worst) = metric.take_largest(&limits);
        match local {
            Some(local) => self.judge_local(&local, report, broken),
            None => self.judge(&limits, least, report, broken),
        }
        Ok(())
    }

    /// Checks that the file's clip has the joints, samples, times and requested rule of the source's.
    fn same_joints_and_times(&self) -> Result<(), String> {
        let ClipComparison { source, clip, .. } = self;
        let (joints, own) = (&self.skeleton.joints, clip.skeleton());
        let parent = |p: Option<usize>| p.map_or(u32::MAX, |p| p as u32);
        let same = joints.len() == own.parents.len()
            && (joints.iter().zip(&own.parents)).all(|(j, p)| parent(j.parent) == *p)
            && (joints.iter().zip(&own.names)).all(|(j, n)| j.name == *n);
        let equal = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1e-9);
        if !same
            || source.samples != clip.samples()
            || !equal(source.fps, clip.fps())
            || !equal(source.start, clip.start())
        {
            return Err("other joints, samples or times than the source has".into());
        }
        if clip.record().per_sub_track != self.limits.asked.clips.local.is_some() {
            return Err("the file keeps another rule than the one that was asked for".into());
        }
        Ok(())
    }

    fn joints(&self) -> impl Iterator<Item = (&Joint, &String)> {
        self.skeleton.joints.iter().zip(&self.paths)
    }

    /// Returns the shell distance of each joint, in the file's length unit.
    fn shells(&self) -> Vec<f64> {
        let clips = &self.limits.asked.clips;
        let shell = |(j, path): (&Joint, &String)| clips.shell(&j.name, path).or(j.shell);
        self.joints().map(|joint| shell(joint).unwrap_or(self.limits.shell)).collect()
    }

    /// Returns the local rule, if it was requested.
    fn local(&self, metric: &Metric) -> Option<LocalMetric> {
        let clips = &self.limits.asked.clips;
        clips.local.map(|(parts, adaptive)| {
            let pinned = self.joints().map(|(j, path)| clips.pinned(&j.name, path));
            let tolerances = parts.map(|t| t.unwrap_or(self.limits.tolerance));
            LocalMetric::new(self.source, metric, tolerances, adaptive, pinned.collect())
        })
    }

    /// Measures every sample of a clip without layers; layered clips are measured layer by layer.
    fn measure_samples(
        &self,
        metric: &mut Metric,
        mut local: Option<&mut LocalMetric>,
    ) -> Result<(), String> {
        let mut cursor = self.clip.cursor();
        let mut pose = vec![Transform::IDENTITY; self.paths.len()];
        let mut reference = Vec::new();
        for i in 0..self.source.samples {
            cursor.sample(i, &mut pose).map_err(|error| error.to_string())?;
            self.source.pose(i, &mut reference);
            metric.measure(&reference, &pose);
            if let Some(local) = &mut local {
                local.measure(&reference, &pose, metric);
            }
        }
        Ok(())
    }

    /// Measures half-way between samples where turns are so small that the motion between is unambiguous;
    /// counts the other pairs.
    fn measure_middles(&self, metric: &mut Metric, report: &mut ClipReport) {
        let ClipComparison { source, clip, .. } = self;
        let mut cursor = clip.cursor();
        let mut pose = vec![Transform::IDENTITY; self.paths.len()];
        let mut reference = Vec::new();
        for i in 1..source.samples {
            let turns = source.tracks.iter().any(|t| {
                let d = t.rotation.sample(i - 1).inverse() * t.rotation.sample(i);
                2.0 * d.xyz().length().atan2(d.w.abs()) >= MAX_UNAMBIGUOUS_TURN
            });
            if turns {
                report.ambiguous_pairs += 1;
                continue;
            }
            let seconds = (i as f64 - 0.5) / clip.fps();
            if cursor.pose(&Query::new(seconds), &mut pose[..]).is_ok() {
                source.midpoint_pose(i - 1, &mut reference);
                metric.measure(&reference, &pose);
            }
        }
    }

    fn judge_local(&self, local: &LocalMetric, report: &mut ClipReport, broken: &mut Vec<String>) {
        report.tolerance = self.limits.tolerance;
        report.worst = local.worst;
        report.promise = ClipPromise::Local;
        report.local_errors = Some(local.errors);
        report.ok = local.worst <= 1.0;
        if !report.ok {
            broken.push(local.describe_worst(self.skeleton));
        }
    }

    /// Checks that the errors are within the limits, and that the file promises no less than them. `limits`:
    /// for each joint. `least`: the precision of f32.
    fn judge(&self, limits: &[f64], least: f64, report: &mut ClipReport, broken: &mut Vec<String>) {
        report.ok = report.worst <= 1.0 && broken.is_empty();
        let own = self.clip.skeleton().tolerance.iter().copied().chain(std::iter::repeat(0.0));
        let promised = own.map(|t| if t > 0.0 { t.max(least) } else { self.clip.record().tolerance });
        for ((promised, limit), joint) in promised.zip(limits).zip(&self.skeleton.joints) {
            if promised > limit * (1.0 + 1e-9) {
                broken.push(format!(
                    "joint {}: the file promises {promised:e} only, {limit:e} follows from what was asked for",
                    joint.name
                ));
                report.ok = false;
                break;
            }
        }
        if report.worst > 1.0 || report.worst.is_nan() {
            broken.push(match report.joint_tolerances {
                0 => format!("an error of {:e}, {:e} allowed", report.max_error, report.tolerance),
                _ => format!("an error of {} times its joint's tolerance", report.worst),
            });
        }
    }
}

/// Compares scalar tracks and markers.
fn compare_scalars_and_markers(
    source: &meshreel_scene::Clip,
    clip: &Clip,
    tolerance: Tolerance,
    report: &mut ClipReport,
    broken: &mut Vec<String>,
) {
    let (tracks, own) = (&source.scalars, clip.scalar_tracks());
    let same = tracks.len() == own.len()
        && (tracks.iter().zip(own)).all(|(a, b)| a.name == b.name && a.components == b.components.len());
    if !same {
        broken.push("other scalar tracks than the source has".into());
        return;
    }
    for (track, own) in tracks.iter().zip(own) {
        for c in 0..track.components.min(4) {
            let values = || (0..source.samples).map(|i| track.values.sample(i)[c]);
            let low = values().fold(f64::INFINITY, f64::min);
            let high = values().fold(f64::NEG_INFINITY, f64::max);
            let asked = match tolerance {
                Tolerance::Absolute(t) => t,
                Tolerance::Relative(part) => part * (high - low),
            };
            // Not finer than the precision of f32.
            let allowed = asked.max(low.abs().max(high.abs()) / f64::from(1u32 << 22));
            let errors = values().enumerate().map(|(i, v)| (f64::from(own.values(i)[c]) - v).abs());
            // A NaN is an error, too.
            let worst = errors.fold(0.0, |worst, e| if e <= worst { worst } else { e });
            if worst > report.scalar_error || worst.is_nan() {
                report.scalar_error = worst;
            }
            if worst > allowed || worst.is_nan() {
                broken
                    .push(format!("scalar track {}: an error of {worst:e}, {allowed:e} allowed", track.name));
            }
        }
    }
    let equal = |(a, b): (&meshreel_scene::Marker, &meshreel::clip::Marker)| {
        a.name == b.name && (a.time - source.start - b.time).abs() <= 1e-9
    };
    let mut sorted = source.markers.clone();
    sorted.sort_by(|a, b| a.time.total_cmp(&b.time));
    if sorted.len() != clip.markers().len() || !sorted.iter().zip(clip.markers()).all(equal) {
        broken.push("other markers than the source has".into());
    }
}
