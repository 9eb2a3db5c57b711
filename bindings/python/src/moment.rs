//! The two frames around a time of a file.

use meshreel::raw::record::ranges::FrameRange;
use meshreel::time::Timeline;
use meshreel::{Pace, Reel};

/// A time counts as that of a frame if it differs from it by less than this fraction of the time to the next.
const FRAME_SNAP: f64 = 1e-6;

/// A position between two frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlendPosition {
    pub first: usize,
    /// The same as `first` if the animation does not continue to another frame.
    pub second: usize,
    /// The weight of the second frame, 0 … 1.
    pub blend: f32,
    /// Seconds from the first frame to the second; negative if the second is the earlier one.
    pub span: f64,
    /// The time in the file, in seconds.
    pub time: f64,
}

impl BlendPosition {
    /// Returns the position at a time of the file, in seconds. Beyond the ends it is the first or the last
    /// frame; with `wrap` the file repeats, and the last frame of a closed cycle is blended into the first.
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
        // Rounded to f32 it could become 1.
        let blend = (blend as f32).min(1.0 - f32::EPSILON);
        BlendPosition { first, second, blend, span, time: start + position }
    }

    /// Returns the position at a frame. The second frame is the next one or, if the animation does not
    /// continue to it, the one before; the frame itself if neither is connected with it.
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

    /// Returns the pace at normal speed.
    pub fn pace(&self) -> Pace {
        Pace::new(self.span, 1.0)
    }
}

/// `true` if the animation continues from a frame to the next: both are in the same range, or in none.
fn leads_on(ranges: &[FrameRange], frame: u32) -> bool {
    ranges.iter().all(|range| range.first != frame + 1 && range.end() != frame + 1)
}
