//! Compares cameras with their source: each number of the lens in each frame.

use super::plan::Verification;
use super::report::{CameraReport, Failures, beyond};
use meshreel::time::FramePair;
use meshreel_extract::convert;
use meshreel_extract::convert::error;
use meshreel_scene::{Error, Lens, sample};
use std::collections::{HashMap, HashSet};

/// Allowed error as a fraction of the largest number: twice that of f32.
const MIN_TOLERANCE: f64 = 1.0 / (1u32 << 21) as f64;

/// Compares all cameras of source and file.
pub(super) fn check(plan: &Verification<'_>, failures: &mut Failures) -> Result<Vec<CameraReport>, Error> {
    let (survey, reel) = (plan.survey, plan.reel);
    let cameras = reel.cameras().map_err(error)?;
    // A damaged file may repeat a path: the first camera counts, others are left over.
    let mut by_path: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, camera) in cameras.iter().enumerate().rev() {
        by_path.entry(camera.path()).or_default().push(i);
    }
    let mut is_left = vec![true; cameras.len()];
    let locators: HashSet<usize> = survey.locators.iter().map(|locator| locator.placed).collect();
    let is_locator = |placed: usize| locators.contains(&placed);
    let mut out = Vec::new();
    for (i, place) in survey.placed.iter().enumerate() {
        let Some(camera) = survey.scene.nodes[place.node].camera.as_ref().filter(|c| !c.is_empty()) else {
            continue;
        };
        // A lens that can be read at no time is not kept.
        let lenses = sample::lenses_at(camera, &survey.times)?;
        if lenses.is_empty() {
            continue;
        }
        let own = is_locator(i);
        if !plan.asked.frames.channels.attributes || !(own || place.parent.is_some_and(is_locator)) {
            continue;
        }
        let Some(at) = by_path.get_mut(place.path.as_str()).and_then(Vec::pop) else {
            failures.add(&place.path, None, || "the camera's lens is not in the file".into());
            continue;
        };
        is_left[at] = false;
        let found = &cameras[at];
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
            all.push((frame, lenses[*expected].tracks()));
        }
        report.frames = all.len();
        let mut largest = [[0.0f64; 4]; Lens::TRACKS.len()];
        for (_, right) in &all {
            for (largest, right) in largest.iter_mut().flatten().zip(right.iter().flatten()) {
                *largest = largest.max(right.abs());
            }
        }
        for (frame, right) in &all {
            let got = convert::lens(&found.lens(FramePair::single(*frame as u32))).tracks();
            for (t, (right, got)) in right.iter().zip(&got).enumerate() {
                for (k, (right, got)) in right.iter().zip(got).enumerate() {
                    let (most, off) = (largest[t][k], (got - right).abs());
                    let part = if most > 0.0 { off / most } else { off };
                    report.max_error = report.max_error.max(part);
                    if beyond(off, most * MIN_TOLERANCE) && report.ok {
                        report.ok = false;
                        let name = Lens::TRACKS[t].0;
                        let what = format!("{name} of the camera is {got}, the source has {right}");
                        failures.add(&place.path, Some(*frame), || what);
                    }
                }
            }
        }
        out.push(report);
    }
    for (camera, _) in cameras.iter().zip(is_left).filter(|(_, left)| *left) {
        failures.add(camera.path(), None, || "is a camera that the source does not have".into());
    }
    Ok(out)
}
