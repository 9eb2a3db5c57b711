//! Named ranges of an animation.

use serde::Serialize;

/// A named range of the animation.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct RangeInfo {
    pub name: String,
    pub first: usize,
    pub frames: usize,
    pub start: f64,
    pub duration: f64,
}

impl RangeInfo {
    /// Creates the range of `frames` frames from `first` on.
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
