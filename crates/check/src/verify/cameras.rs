//! Cameras against their source: each number of the lens in each frame.

use super::plan::Plan;
use super::report::{CameraReport, Failures, beyond};
use crate::error::error;
use crate::lens;
use meshreel::{Camera, FramePair};
use meshreel_scene::{Error, sample};

/// A part of the largest number: what f32 holds of it, twice.
const FINEST: f64 = 1.0 / (1u32 << 21) as f64;

/// Compares all cameras of source and file.
pub(super) fn check(plan: &Plan<'_>, failures: &mut Failures) -> Result<Vec<CameraReport>, Error> {
    let (survey, reel) = (plan.survey, plan.reel);
    let cameras = reel.cameras().map_err(error)?;
    let mut left: Vec<&Camera> = cameras.iter().collect();
    let is_locator = |placed: usize| survey.locators.iter().any(|locator| locator.placed == placed);
    let mut out = Vec::new();
    for (i, place) in survey.placed.iter().enumerate() {
        let Some(camera) = survey.scene.nodes[place.node].camera.as_ref().filter(|c| !c.is_empty()) else {
            continue;
        };
        let own = is_locator(i);
        if !plan.asked.frames.channels.attributes || !(own || place.parent.is_some_and(is_locator)) {
            continue;
        }
        let at = left.iter().position(|camera| camera.path() == place.path);
        let Some(found) = at.map(|at| left.remove(at)) else {
            failures.add(&place.path, None, || "the camera's lens is not in the file".into());
            continue;
        };
        let stands_at = &reel.description().nodes[found.node()].path;
        let parent = place.parent.map(|parent| &survey.placed[parent].path);
        let wanted = if own { Some(&place.path) } else { parent };
        if wanted != Some(stands_at) {
            failures.add(&place.path, None, || format!("the camera stands at {stands_at}"));
        }
        let mut report = CameraReport { path: place.path.clone(), frames: 0, max_error: 0.0, ok: true };
        let mut all = Vec::new();
        for (frame, expected) in plan.frames.iter().enumerate() {
            let Some(expected) = expected else { continue };
            let Some(right) = sample::lens_at(camera, survey.times[*expected])? else { continue };
            all.push((frame, right.tracks()));
        }
        report.frames = all.len();
        let largest = |t: usize, k: usize| all.iter().map(|(_, right)| right[t][k].abs()).fold(0.0, f64::max);
        for (frame, right) in &all {
            let got = lens::of_file(&found.lens(FramePair::single(*frame as u32))).tracks();
            for (t, (right, got)) in right.iter().zip(&got).enumerate() {
                for (k, (right, got)) in right.iter().zip(got).enumerate() {
                    let (most, off) = (largest(t, k), (got - right).abs());
                    let part = if most > 0.0 { off / most } else { off };
                    report.max_error = report.max_error.max(part);
                    if beyond(off, most * FINEST) && report.ok {
                        report.ok = false;
                        let name = meshreel_scene::Lens::TRACKS[t].0;
                        let what = format!("{name} of the camera is {got}, the source has {right}");
                        failures.add(&place.path, Some(*frame), || what);
                    }
                }
            }
        }
        out.push(report);
    }
    for camera in left {
        failures.add(camera.path(), None, || "is a camera that the source does not have".into());
    }
    Ok(out)
}
