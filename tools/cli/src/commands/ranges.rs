//! Named parts of an animation, as they are shown.

use crate::output::one_line;
use crate::units;
use serde::Serialize;

/// A named part of the animation.
#[derive(Serialize)]
pub struct RangeInfo {
    name: String,
    first: usize,
    frames: usize,
    start: f64,
    duration: f64,
}

impl RangeInfo {
    /// The range of `frames` frames from `first` on.
    pub fn new(name: &str, first: usize, frames: usize, time: impl Fn(usize) -> f64) -> RangeInfo {
        RangeInfo {
            name: name.into(),
            first,
            frames,
            start: time(first),
            duration: time(first + frames - 1) - time(first),
        }
    }
}

/// One line for each range.
pub fn range_lines(ranges: &[RangeInfo]) -> Vec<String> {
    let line = |range: &RangeInfo| {
        format!(
            "{}: frames {} to {}, {} s from {} s",
            one_line(&range.name),
            range.first,
            range.first + range.frames - 1,
            units::short(range.duration),
            units::short(range.start)
        )
    };
    ranges.iter().map(line).collect()
}
