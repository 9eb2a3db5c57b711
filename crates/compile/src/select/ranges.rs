//! Named ranges of frames in the file: animations that follow each other on the source's timeline.

use meshreel_codec::record::ranges::FrameRange;
use meshreel_options::{Options, RigChoice};
use meshreel_scene::{Remark, Scene, sample};

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
