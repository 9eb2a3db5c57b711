//! What was extracted against what the file decodes to: every frame by the runtime's own decoder, in the world,
//! every vertex against the nearest point that is there and every point against the nearest vertex, with what
//! hangs on them. It shares no code with `extract`, and takes names, orders and trees as each kind of file has
//! them: only what is seen counts.

mod clips;
mod comparison;
mod faces;
mod frame;
mod report;
mod sides;
mod times;
mod triangles;

use crate::double;
use crate::error::error;
use crate::verify::report::Failures;
pub use clips::ExtractedClip;
use comparison::{Comparison, holds_nodes};
use meshreel::{FrameDecoder, Reel};
use meshreel_options::{Options, RigChoice};
use meshreel_scene::sample::World;
use meshreel_scene::{Error, Scene, Unit};
use rayon::prelude::*;
use report::Found;
pub use report::{Expected, ExtractedReport};

/// Compares `scene`, which was read from an extracted file, with what `reel` decodes to. An `Err` says that
/// something could not be read; whatever differs is in the report. `progress` is told how many frames of how
/// many are done.
pub fn compare(
    scene: &Scene,
    reel: &Reel,
    expected: &Expected,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<ExtractedReport, Error> {
    let placed = scene.expand()?;
    let mut failures = Failures::default();
    let other_normals = match scene.format {
        "openvat" => (0..reel.description().meshes.len()).map(|mesh| reel.made_normals(mesh)).collect(),
        _ => Ok(Vec::new()),
    };
    let comparison = Comparison {
        scene,
        reel,
        placed: &placed,
        expected,
        factor: factor(reel, scene.unit),
        times: times::times(scene, reel, &mut failures)?,
        ranks: sides::ranks(reel, expected.level)?,
        other_normals: other_normals.map_err(error)?,
        loose: sides::loose(scene),
        rigged: reel.rigs().map_err(error)?.iter().map(|rig| rig.mesh()).collect(),
        rig_only: Options::from_text(&reel.description().options).is_ok_and(|o| o.rig == RigChoice::Only),
    };
    let mut all = Found::default();
    let done = std::sync::atomic::AtomicU64::new(0);
    let total = comparison.times.len() as u64;
    let jobs: Vec<Vec<usize>> =
        (0..comparison.times.len()).collect::<Vec<_>>().chunks(16).map(<[usize]>::to_vec).collect();
    let found = jobs.par_iter().map(|frames| -> Result<Found, Error> {
        let mut found = Found::default();
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
    // In the order of frames, whatever threads do.
    for found in found.collect::<Vec<Result<Found, Error>>>() {
        all.append(found?);
    }
    failures.append(std::mem::take(&mut all.failures));
    let mut report = all.report;
    if holds_nodes(scene) {
        report.cameras = comparison.cameras(&mut failures)?;
    }
    let there = clips::There { scene, placed: &placed, factor: comparison.factor };
    report.clips = clips::compare(&there, reel, &mut failures)?;
    report.frames = reel.frame_count();
    report.ok = failures.list.is_empty();
    Ok(ExtractedReport { failures: failures.list, more_failures: failures.more, ..report })
}

/// From the extracted file's unit to the `.reel`'s; 1 where one of them says none.
fn factor(reel: &Reel, there: Option<Unit>) -> f64 {
    double::unit(reel).zip(there).map_or(1.0, |(own, there)| there.metres() / own.metres())
}
