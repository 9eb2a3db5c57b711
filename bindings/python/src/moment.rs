//! Which frames a moment of a file lies between.

use meshreel::raw::record::ranges::FrameRange;
use meshreel::time::Timeline;
use meshreel::{Pace, Reel};

/// A time is a frame's if it is nearer to it than this part of the time to the next.
const FRAME_SNAP: f64 = 1e-6;

/// Between two frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlendPosition {
    pub first: usize,
    /// The first again where nothing leads from it to another.
    pub second: usize,
    /// From the first to the second, 0 … 1.
    pub blend: f32,
    /// Seconds from the first to the second; negative where that is the one before.
    pub span: f64,
    /// Seconds in the file.
    pub time: f64,
}

impl BlendPosition {
    /// At so many seconds of the file: beyond its ends the first or the last frame, with `wrap` as if it were
    /// repeated, the last frame of a closed cycle leading to its first.
    pub fn from_time(reel: &Reel, seconds: f64, wrap: bool) -> BlendPosition {
        let timeline = Timeline::from_reel(reel);
        let (last, start) = (timeline.frame_count() - 1, timeline.start());
        let length = timeline.period().unwrap_or(timeline.duration());
        let mut position = seconds - start;
        if wrap && length > 0.0 {
            position = position.rem_euclid(length);
        }
        let first = timeline.frame_at(position).min(last);
        let begin = timeline.time(first);
        let (second, end) = match (first < last, wrap.then(|| timeline.period()).flatten()) {
            (true, _) => (first + 1, timeline.time(first + 1)),
            (false, Some(period)) => (0, period),
            (false, None) => (last, begin),
        };
        let span = end - begin;
        let blend = if span > 0.0 { ((position - begin) / span).clamp(0.0, 1.0) } else { 0.0 };
        if blend > 1.0 - FRAME_SNAP {
            return BlendPosition::from_frame(reel, second);
        }
        let cut = second != 0 && !leads_on(reel.ranges(), first as u32);
        if blend < FRAME_SNAP || cut {
            return BlendPosition::from_frame(reel, first);
        }
        // As f32 it could be 1.
        let blend = (blend as f32).min(1.0 - f32::EPSILON);
        BlendPosition { first, second, blend, span, time: start + position }
    }

    /// A frame; the second is the next one, or else the one before, whichever it leads to or comes from.
    pub fn from_frame(reel: &Reel, frame: usize) -> BlendPosition {
        let (ranges, last) = (reel.ranges(), reel.frame_count().saturating_sub(1));
        let second = if frame < last && leads_on(ranges, frame as u32) {
            frame + 1
        } else if frame > 0 && leads_on(ranges, frame as u32 - 1) {
            frame - 1
        } else {
            frame
        };
        let time = reel.time(frame);
        BlendPosition { first: frame, second, blend: 0.0, span: reel.time(second) - time, time }
    }

    /// As seconds pass.
    pub fn pace(&self) -> Pace {
        Pace::new(self.span, 1.0)
    }
}

/// Whether a frame leads to the next: both are of one range, or of none.
fn leads_on(ranges: &[FrameRange], frame: u32) -> bool {
    ranges.iter().all(|range| range.first != frame + 1 && range.end() != frame + 1)
}
