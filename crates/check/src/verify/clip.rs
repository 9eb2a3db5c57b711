//! Clips against their source, in the metric of ACL: object space, three points at the shell distance of every joint, the largest distance; at
//! every sample, and, for the report, half-way between samples.

use super::asked::Tolerance;
use super::report::{ClipReport, Failures};
use glam::{DAffine3, DQuat, DVec3};
use meshreel::clip::{Clip, ClipCursor, Repeats, Rounding};
use meshreel::{Reel, Transform};
use meshreel_scene::{Qvv, Scene, Unit};
use rayon::prelude::*;

/// Usual tolerance, in metres.
const TOLERANCE: f64 = 0.000_1;
/// Turns between two samples from which on there is no telling what lies between, in radians.
const AMBIGUOUS: f64 = 1.5;

/// Compares all clips of `reel` with those of `scene`, in their order.
pub(super) fn verify(
    scene: &Scene,
    reel: &Reel,
    asked: Tolerance,
    failures: &mut Failures,
) -> Vec<ClipReport> {
    let clips = match reel.clips() {
        Ok(clips) => clips,
        Err(error) => {
            failures.add("", None, || error.to_string());
            return Vec::new();
        }
    };
    if clips.len() != scene.clips.len() {
        failures.add("", None, || {
            format!(
                "{} clips in the file, {} in the source",
                clips.len(),
                scene.clips.len()
            )
        });
    }
    let unit = match (reel.description().unit, scene.unit) {
        (1, _) | (0, Some(Unit::Metre)) => 1.0,
        (3, _) | (0, Some(Unit::Millimetre)) => 0.001,
        (4, _) | (0, Some(Unit::Inch)) => 0.0254,
        _ => 0.01,
    };
    let asked = match asked {
        Tolerance::Absolute(t) => t,
        Tolerance::Relative(_) => TOLERANCE / unit,
    };
    let found: Vec<(ClipReport, Vec<String>)> = (scene.clips.par_iter().zip(&clips))
        .map(|(source, clip)| compare(scene, source, clip, asked))
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

fn compare(
    scene: &Scene,
    source: &meshreel_scene::Clip,
    clip: &Clip,
    asked: f64,
) -> (ClipReport, Vec<String>) {
    let mut broken = Vec::new();
    let mut report = ClipReport {
        name: source.name.clone(),
        joints: source.tracks.len(),
        samples: source.samples,
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
    let parents: Vec<Option<usize>> = skeleton.joints.iter().map(|j| j.parent).collect();
    let shell: Vec<f64> = (skeleton.joints.iter().zip(&own.shell))
        .map(|(j, s)| j.shell.unwrap_or(f64::from(*s)))
        .collect();
    let mut cursor = ClipCursor::new(clip);
    let mut pose = vec![Transform::IDENTITY; parents.len()];
    let (mut local, mut wanted, mut got) = (Vec::new(), Vec::new(), Vec::new());
    let mut extent: f64 = 0.0;
    let mut measure = |local: &[Qvv], pose: &[Transform]| -> f64 {
        object_space(&parents, local.iter().copied(), &mut wanted);
        object_space(&parents, pose.iter().map(widen), &mut got);
        let mut worst = 0.0;
        for ((a, b), s) in wanted.iter().zip(&got).zip(&shell) {
            extent = extent.max(a.translation.abs().max_element());
            for axis in DVec3::AXES {
                let error = a
                    .transform_point3(axis * *s)
                    .distance(b.transform_point3(axis * *s));
                // A NaN is an error, too.
                worst = if error <= worst { worst } else { error };
            }
        }
        worst
    };
    for i in 0..source.samples {
        if let Err(error) = clip.sample_at(&mut cursor, i, &mut pose) {
            broken.push(error.to_string());
            return (report, broken);
        }
        source.pose(i, &mut local);
        let error = measure(&local, &pose);
        report.max_error = if error <= report.max_error {
            report.max_error
        } else {
            error
        };
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
        if clip
            .sample(
                &mut cursor,
                seconds,
                Repeats::Clamp,
                Rounding::None,
                &mut pose,
            )
            .is_ok()
        {
            source.middle(i - 1, &mut local);
            report.mid_error = report.mid_error.max(measure(&local, &pose));
        }
    }
    // What f32 can hold of the largest coordinate is all that can be promised.
    report.tolerance = asked.max(extent * 4.0 / f64::from(1u32 << 24));
    report.ok = report.max_error <= report.tolerance;
    if clip.record().tolerance > report.tolerance * (1.0 + 1e-9) {
        broken.push(format!(
            "the file promises {:e} only, {:e} follows from what was asked for",
            clip.record().tolerance,
            report.tolerance
        ));
        report.ok = false;
    }
    if report.max_error > report.tolerance || report.max_error.is_nan() {
        broken.push(format!(
            "an error of {:e}, {:e} allowed",
            report.max_error, report.tolerance
        ));
    }
    (report, broken)
}

fn widen(t: &Transform) -> Qvv {
    Qvv {
        rotation: DQuat::from_array(t.rotation.map(f64::from)).normalize(),
        translation: DVec3::from_array(t.translation.map(f64::from)),
        scale: DVec3::from_array(t.scale.map(f64::from)),
    }
}

fn object_space(
    parents: &[Option<usize>],
    local: impl Iterator<Item = Qvv>,
    out: &mut Vec<DAffine3>,
) {
    out.clear();
    for (parent, local) in parents.iter().zip(local) {
        let parent = parent.map_or(DAffine3::IDENTITY, |p| out[p]);
        out.push(parent * local.matrix());
    }
}
