//! The times of the frames.

use crate::Error;
use crate::report::Log;
use crate::select::selection::SelectedObjects;
use meshreel_codec::record::ranges::FrameRange;
use meshreel_options::{Options, RigChoice};
use meshreel_scene::sample::{self, ChannelSelection};
use meshreel_scene::{PlacedObject, Remark, Scene, TIME_TOLERANCE};

/// Ratio of an animation's length to the part of it in which things move, from which on a remark is given.
const MAX_LENGTH_RATIO: f64 = 100.0;

/// Returns the times of the compiled frames: those of the samples, unless a rate is requested.
pub fn frame_times(
    scene: &Scene,
    placed: &[PlacedObject],
    selected: &SelectedObjects,
    options: &Options,
    log: &mut Log,
) -> Result<Vec<f64>, Error> {
    let times = sample::frame_times(scene, placed, &selected.any, &options.frame_options())?;
    if options.range.is_none() {
        longer_than_meshes(scene, placed, selected, options, &times, log)?;
        let as_sampled = sample::FrameOptions { fps: None, ..options.frame_options() };
        match options.fps {
            Some(_) => {
                let own = sample::frame_times(scene, placed, &selected.any, &as_sampled)?;
                longer_than_moves(scene, &own, log);
            }
            None => longer_than_moves(scene, &times, log),
        }
    }
    if times.len() > sample::MAX_FRAMES {
        return Err(Error::Limit {
            what: "frames".into(),
            asked: times.len() as u64,
            allowed: sample::MAX_FRAMES as u64,
        });
    }
    log.pass(
        "times",
        format!("{} frames from {:.6} s to {:.6} s", times.len(), times[0], times[times.len() - 1]),
    );
    Ok(times)
}

/// Adds remarks if many of the frames lie in a short part of the time: probably a stray key far out.
fn longer_than_moves(scene: &Scene, times: &[f64], log: &mut Log) {
    let (start, end) = (times[0], times[times.len() - 1]);
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let step = scene.fps.map_or_else(|| gaps.fold(f64::INFINITY, f64::min), |rate| 1.0 / rate);
    if end - start < step * sample::LONG_ANIMATION_FRAMES as f64 {
        return;
    }
    // The window of that length with the most frames.
    let (mut best, mut first) = (&times[..1], 0);
    for last in 0..times.len() {
        while times[last] - times[first] > (end - start) / MAX_LENGTH_RATIO {
            first += 1;
        }
        if last + 1 - first > best.len() {
            best = &times[first..=last];
        }
    }
    let &[from, .., to] = best else { return };
    if best.len() * sample::MIN_FRAME_REDUCTION >= times.len() {
        let what = format!(
            "it lasts from {start} s to {end} s, in most of which little moves: {} of {} frames are from {from} s to {to} s; --range {from}s:{to}s leaves away what is beyond",
            best.len(),
            times.len()
        );
        log.remark("/", what);
    }
}

/// Adds remarks if something other than meshes makes the animation longer: mostly a mistake of an exporter.
fn longer_than_meshes(
    scene: &Scene,
    placed: &[PlacedObject],
    selected: &SelectedObjects,
    options: &Options,
    times: &[f64],
    log: &mut Log,
) -> Result<(), Error> {
    let (start, end) = (times[0], times[times.len() - 1]);
    let beyond = |first: f64, last: f64| start + TIME_TOLERANCE < first || last + TIME_TOLERANCE < end;
    let without_attributes = sample::FrameOptions {
        channels: ChannelSelection { normals: false, uvs: false, colours: false, attributes: false },
        ..options.frame_options()
    };
    let own = sample::frame_times(scene, placed, &selected.any, &without_attributes)?;
    let (first, last) = (own[0], own[own.len() - 1]);
    if own.len() > 1 && beyond(first, last) {
        log.remark(
            "/",
            format!(
                "normals, uvs, colours or other attributes change from {start} s to {end} s and all else from {first} s to {last} s; --range {first}s:{last}s leaves away what is beyond"
            ),
        );
    } else if selected.any != selected.meshes {
        let own = sample::frame_times(scene, placed, &selected.meshes, &options.frame_options())?;
        let (first, last) = (own[0], own[own.len() - 1]);
        if own.len() > 1 && beyond(first, last) {
            let what = format!(
                "locators (nodes without meshes) move from {start} s to {end} s and meshes from {first} s to {last} s; --range {first}s:{last}s leaves away what is beyond, --exclude the nodes"
            );
            log.remark("/", what);
        }
    }
    Ok(())
}

/// Returns the ranges over the frames at `times`, with a remark on each that has no frame left.
pub fn frame_ranges(
    scene: &Scene,
    times: &[f64],
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Vec<FrameRange> {
    let ranges = sample::frame_ranges(&scene.ranges, times);
    for range in &scene.ranges {
        let gone = !ranges.iter().any(|(name, ..)| *name == range.name);
        // If clips alone move things, the clips still have all of it.
        if gone && options.rig != RigChoice::Only {
            let what = "no frame of it is left, so the file has no range of this name";
            remarks.push(Remark::new(&range.name, what));
        }
    }
    if ranges.len() > 1 && options.cycle {
        let what = "several animations one after the other are no closed cycle; it does nothing";
        remarks.push(Remark::new("--cycle", what));
    }
    let range = |(name, first, frames): (String, usize, usize)| FrameRange {
        name,
        first: first as u32,
        frames: frames as u32,
    };
    ranges.into_iter().map(range).collect()
}

/// Returns the sentence of `--explain` on the ranges; `None` if there are none.
pub fn explain(ranges: &[FrameRange]) -> Option<String> {
    let one = |range: &FrameRange| format!("'{}' {} to {}", range.name, range.first, range.last_frame());
    let list: Vec<String> = ranges.iter().map(one).collect();
    (!list.is_empty()).then(|| list.join(", "))
}
