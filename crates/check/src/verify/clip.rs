//! Clips against their source, in the metric of ACL: object space, three points at the shell distance of
//! every joint, the largest distance; at every sample, and, for the report, half-way between samples.

use super::local::Local;
use super::metric::Metric;
use super::report::{ClipReport, Failures};
use crate::asked::{Asked, Tolerance};
use meshreel::clip::{Clip, ClipCursor, PoseSource, Repeats, Rounding};
use meshreel::{Reel, Transform};
use meshreel_scene::hierarchy::TRANSFORMS;
use meshreel_scene::{Scene, Unit};
use rayon::prelude::*;

/// Usual tolerance and shell distance, in metres.
const TOLERANCE: f64 = 0.000_1;
const SHELL: f64 = 0.03;
/// Turns between two samples from which on there is no telling what lies between, in radians.
const AMBIGUOUS: f64 = 1.5;

/// Compares all clips of `reel` with those of `scene`, in their order.
pub(super) fn verify(scene: &Scene, reel: &Reel, asked: &Asked, failures: &mut Failures) -> Vec<ClipReport> {
    let clips = match reel.clips() {
        Ok(clips) => clips,
        Err(error) => {
            failures.add("", None, || error.to_string());
            return Vec::new();
        }
    };
    let sources: Vec<&meshreel_scene::Clip> = sources(scene, asked).map(|(_, c)| c).collect();
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
        (1, _) | (0, Some(Unit::Metre)) => 1.0,
        (3, _) | (0, Some(Unit::Millimetre)) => 0.001,
        (4, _) | (0, Some(Unit::Inch)) => 0.0254,
        _ => 0.01,
    };
    let wanted = Wanted {
        tolerance: match asked.tolerance {
            Tolerance::Absolute(t) => t,
            Tolerance::Relative(_) => TOLERANCE / unit,
        },
        shell: asked.clips.shell.unwrap_or(SHELL / unit),
        asked,
    };
    let found: Vec<(ClipReport, Vec<String>)> = (sources.par_iter().zip(&clips))
        .map(|(source, clip)| match source.portion(asked.frames.fps, asked.frames.range) {
            Ok(source) => {
                let (mut report, mut broken) = compare(scene, &source, clip, &wanted);
                let scalar = asked.scalar_tolerance;
                riding(&source, clip, scalar, &mut report, &mut broken);
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

/// The clips of the source that the file has to have, and their numbers there.
pub(super) fn sources<'a>(
    scene: &'a Scene,
    asked: &Asked,
) -> impl Iterator<Item = (usize, &'a meshreel_scene::Clip)> {
    // Of transforms, what was asked for has chosen the joints.
    scene
        .clips
        .iter()
        .enumerate()
        .filter(|(_, clip)| scene.format == TRANSFORMS || asked.selects(&format!("/{}", clip.name)))
}

/// What all clips were asked to be.
struct Wanted<'a> {
    tolerance: f64,
    shell: f64,
    asked: &'a Asked,
}

fn compare(
    scene: &Scene,
    source: &meshreel_scene::Clip,
    clip: &Clip,
    wanted: &Wanted<'_>,
) -> (ClipReport, Vec<String>) {
    let mut broken = Vec::new();
    let asked = wanted.tolerance;
    let mut report = ClipReport {
        name: source.name.clone(),
        joints: source.tracks.len(),
        samples: source.samples,
        codec: clip.record().codec.name(),
        tolerance: asked,
        ..ClipReport::default()
    };
    let skeleton = &scene.skeletons[source.skeleton];
    let own = clip.skeleton();
    let parent = |p: Option<usize>| p.map_or(u32::MAX, |p| p as u32);
    let same = skeleton.joints.len() == own.parents.len()
        && (skeleton.joints.iter().zip(&own.parents)).all(|(j, p)| parent(j.parent) == *p)
        && (skeleton.joints.iter().zip(&own.names)).all(|(j, n)| j.name == *n);
    let equal = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1e-9);
    if !same
        || source.samples != clip.samples()
        || !equal(source.fps, clip.fps())
        || !equal(source.start, clip.start())
    {
        broken.push("other joints, samples or times than the source has".into());
        return (report, broken);
    }
    let clips = &wanted.asked.clips;
    if clip.record().local != clips.local.is_some() {
        broken.push("the file keeps another rule than the one that was asked for".into());
        return (report, broken);
    }
    let paths: Vec<String> = (0..skeleton.joints.len()).map(|j| skeleton.path(j)).collect();
    let joints = || skeleton.joints.iter().zip(&paths);
    let shells: Vec<f64> =
        joints().map(|(j, path)| clips.shell(&j.name, path).or(j.shell).unwrap_or(wanted.shell)).collect();
    let tolerances: Vec<Option<f64>> = joints().map(|(j, path)| clips.tolerance(&j.name, path)).collect();
    report.joint_tolerances = tolerances.iter().flatten().count();
    let mut metric = Metric::new(skeleton, shells);
    let mut local = clips.local.map(|(parts, adaptive)| {
        let pinned = joints().map(|(j, path)| clips.pinned(&j.name, path));
        Local::new(source, &metric, parts.map(|t| t.unwrap_or(asked)), adaptive, pinned.collect())
    });
    let layers = super::layer::Source {
        skeleton,
        clip: source,
        asked: wanted.asked,
        tolerance: asked,
        tolerances: &tolerances,
    };
    let layered = clip.cosmetic_level(0).is_some() && !clip.layers().is_empty();
    if layered {
        match super::layer::compare(&layers, clip, &mut metric, &mut report) {
            Ok(found) => broken.extend(found),
            Err(error) => {
                broken.push(error.to_string());
                return (report, broken);
            }
        }
    } else if wanted.asked.clips.divides(skeleton) {
        broken.push("layers were asked for, and the clip is in one piece".into());
    }
    let mut cursor = ClipCursor::new(clip);
    let mut pose = vec![Transform::IDENTITY; paths.len()];
    let mut truth = Vec::new();
    // Layers were measured already.
    let measured = if layered { 0 } else { source.samples };
    for i in 0..measured {
        if let Err(error) = clip.sample_at(&mut cursor, i, &mut pose) {
            broken.push(error.to_string());
            return (report, broken);
        }
        source.pose(i, &mut truth);
        metric.measure(&truth, &pose);
        if let Some(local) = &mut local {
            local.measure(&truth, &pose, &metric);
        }
    }
    // What f32 can hold of the largest coordinate is all that can be promised.
    let least = metric.least();
    report.tolerance = asked.max(least);
    let limits: Vec<f64> = (tolerances.iter()).map(|own| own.unwrap_or(asked).max(least)).collect();
    if !layered {
        (report.max_error, report.worst) = metric.taken(&limits);
    }
    for i in 1..source.samples {
        let turns = source.tracks.iter().any(|t| {
            let d = t.rotation.at(i - 1).inverse() * t.rotation.at(i);
            2.0 * d.xyz().length().atan2(d.w.abs()) >= AMBIGUOUS
        });
        if turns {
            report.ambiguous_pairs += 1;
            continue;
        }
        let seconds = (i as f64 - 0.5) / clip.fps();
        if clip.sample(&mut cursor, seconds, Repeats::Clamp, Rounding::None, &mut pose).is_ok() {
            source.middle(i - 1, &mut truth);
            metric.measure(&truth, &pose);
        }
    }
    (report.mid_error, report.mid_worst) = metric.taken(&limits);
    if let Some(local) = local {
        report.tolerance = asked;
        report.worst = local.worst;
        report.local = Some(local.errors);
        report.ok = local.worst <= 1.0;
        if !report.ok {
            broken.push(local.what(skeleton));
        }
        return (report, broken);
    }
    report.ok = report.worst <= 1.0 && broken.is_empty();
    let own = own.tolerance.iter().copied().chain(std::iter::repeat(0.0));
    let promised = own.map(|t| if t > 0.0 { t.max(least) } else { clip.record().tolerance });
    for ((promised, limit), joint) in promised.zip(&limits).zip(&skeleton.joints) {
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
    (report, broken)
}

/// Scalar tracks and markers.
fn riding(
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
            let values = || (0..source.samples).map(|i| track.values.at(i)[c]);
            let low = values().fold(f64::INFINITY, f64::min);
            let high = values().fold(f64::NEG_INFINITY, f64::max);
            let asked = match tolerance {
                Tolerance::Absolute(t) => t,
                Tolerance::Relative(part) => part * (high - low),
            };
            // What f32 holds.
            let allowed = asked.max(low.abs().max(high.abs()) / f64::from(1u32 << 22));
            let errors = values().enumerate().map(|(i, v)| (f64::from(own.at(i)[c]) - v).abs());
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
