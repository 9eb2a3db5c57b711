//! When frames are: at the file's own rate, from the first key to the last.

use crate::TimeSampling;
use std::sync::Arc;

/// When frames are.
pub(super) struct Times {
    pub start: f64,
    pub step: f64,
    pub count: usize,
}

impl Times {
    pub fn of(parsed: &ufbx::Scene) -> Times {
        let (start, end) = (parsed.anim.time_begin, parsed.anim.time_end);
        let rate = parsed.settings.frames_per_second;
        let rate = if rate.is_finite() && rate > 0.0 { rate } else { 24.0 };
        let frames = ((end - start) * rate).round();
        let moves = start.is_finite() && frames.is_finite() && frames >= 1.0;
        let count = if moves { (frames as usize).saturating_add(1) } else { 1 };
        Times { start: if start.is_finite() { start } else { 0.0 }, step: 1.0 / rate, count }
    }

    pub fn at(&self, frame: usize) -> f64 {
        self.start + frame as f64 * self.step
    }

    pub fn sampling(&self) -> Arc<TimeSampling> {
        Arc::new(TimeSampling::Uniform { start: self.start, step: self.step })
    }
}
