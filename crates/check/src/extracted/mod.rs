//! Compares an extracted file with the decoded `.reel`: every frame, decoded by the runtime, in the world;
//! every vertex with the nearest extracted point and every point with the nearest vertex, together with their
//! attribute values. Shares no code with `extract`, and accepts names, orders and trees as each format has
//! them: only visible results count.

mod clips;
mod comparison;
mod faces;
mod frame;
mod geometry;
mod report;
mod times;
mod triangles;

use crate::verify::report::Failures;
pub use clips::ExtractedClip;
use comparison::{ReelComparison, holds_nodes};
use meshreel::{FrameDecoder, Reel};
use meshreel_extract::convert;
use meshreel_extract::convert::error;
use meshreel_options::{Options, RigChoice};
use meshreel_scene::sample::World;
use meshreel_scene::{Error, LengthUnit, Scene};
use rayon::prelude::*;
use report::ExtractedFindings;
pub use report::{Expectations, ExtractedReport};

/// Compares `scene`, which was read from an extracted file, with the decoded `reel`. An `Err` means that
/// something could not be read; differences are in the report. `progress` receives the number of frames done
/// and in all.
pub fn compare(
    scene: &Scene,
    reel: &Reel,
    expected: &Expectations,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<ExtractedReport, Error> {
    let placed = scene.expand()?;
    let mut failures = Failures::default();
    let other_normals = match scene.format {
        "openvat" => {
            (0..reel.description().meshes.len()).map(|mesh| reel.has_generated_normals(mesh)).collect()
        }
        _ => Ok(Vec::new()),
    };
    let comparison = ReelComparison {
        scene,
        reel,
        placed: &placed,
        expected,
        factor: factor(reel, scene.unit),
        times: times::times(scene, reel, &mut failures)?,
        lod_triangles: geometry::lod_triangles(reel, expected.lod_level)?,
        other_normals: other_normals.map_err(error)?,
        loose: geometry::loose_meshes(scene),
        rigged: reel.rigs().map_err(error)?.iter().map(|rig| rig.mesh()).collect(),
        rig_only: Options::from_text(&reel.description().options).is_ok_and(|o| o.rig == RigChoice::Only),
    };
    let mut all = ExtractedFindings::default();
    let done = std::sync::atomic::AtomicU64::new(0);
    let total = comparison.times.len() as u64;
    let jobs: Vec<Vec<usize>> =
        (0..comparison.times.len()).collect::<Vec<_>>().chunks(16).map(<[usize]>::to_vec).collect();
    let found = jobs.par_iter().map(|frames| -> Result<ExtractedFindings, Error> {
        let mut found = ExtractedFindings::default();
        let mut decoder = FrameDecoder::new(reel).map_err(error)?;
        let mut world = World::new(scene, &placed)?;
        for &frame in frames {
            if let Some(time) = comparison.times[frame] {
                decoder.decode(frame).map_err(error)?;
                world.evaluate(time)?;
                frame::compare(&comparison, (frame, time), (&decoder, &world), &mut found)?;
                if holds_nodes(scene) {
                    comparison.locators(frame, &decoder, &world, &mut found);
                }
            }
            progress(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, total);
        }
        Ok(found)
    });
    // In the order of frames, so that the result does not depend on threads.
    for found in found.collect::<Vec<Result<ExtractedFindings, Error>>>() {
        all.append(found?);
    }
    failures.append(std::mem::take(&mut all.failures));
    let mut report = all.report;
    if holds_nodes(scene) {
        report.cameras = comparison.cameras(&mut failures)?;
    }
    let there = clips::ExtractedScene { scene, placed: &placed, factor: comparison.factor };
    report.clips = clips::compare(&there, reel, &mut failures)?;
    report.frames = reel.frame_count();
    report.ok = failures.list.is_empty();
    Ok(ExtractedReport { failures: failures.list, more_failures: failures.more, ..report })
}

/// Returns the factor from the extracted file's unit to that of the `.reel`; 1 if one of them has none.
fn factor(reel: &Reel, there: Option<LengthUnit>) -> f64 {
    convert::unit(reel).zip(there).map_or(1.0, |(own, there)| there.metres() / own.metres())
}
