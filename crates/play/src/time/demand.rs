//! The demand of an instance for frames of its file. It is the interface between the clock, which knows time
//! and commands, and the streams, which know disk and memory. The clock writes one [`FrameDemand`] per
//! instance and tick; the stream of the file collects those of all its instances, reads and decodes missing
//! frames in the order of their deadlines, and keeps the frames that are wanted.
//!
//! Plain data of fixed size: spans instead of a list of frames, so that writing it allocates nothing.

/// The largest number of spans of a demand: up to the end, after the seam, and once more after a short loop
/// or a turn.
pub const MAX_SPANS: usize = 4;

/// The two frames that are shown, and the position between them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[must_use]
pub struct FramePair {
    /// The frame at `blend` = 0.
    pub first: u32,
    /// The frame at `blend` = 1; equal to `first` if the time lies on a frame or nothing is interpolated.
    pub second: u32,
    /// The weight of `second`: 0 ≤ `blend` < 1.
    pub blend: f32,
}

impl FramePair {
    /// Returns the pair of a single frame.
    pub fn single(frame: u32) -> FramePair {
        FramePair { first: frame, second: frame, blend: 0.0 }
    }
}

/// Frames that follow each other in playing order; `to` < `from` for backwards.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Span {
    /// The first frame that is wanted.
    pub from: u32,
    /// The last frame that is wanted.
    pub to: u32,
    /// Seconds from now until `from` is shown; not negative.
    pub in_seconds: f32,
    /// The step between wanted frames; 0 counts as 1. `to` is wanted in any case.
    pub step: u32,
    /// Seconds of the file per second, > 0 in either direction: a frame at file time t is due
    /// `in_seconds + |t − time(from)| / rate` seconds from now.
    pub rate: f32,
}

/// The frames that one instance wants in this tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
#[must_use]
pub struct FrameDemand {
    /// The frames that should be shown now; `None` while the instance is hidden, stopped or represented by a
    /// stand-in.
    pub now: Option<FramePair>,
    /// The frames that will be wanted next, most urgent first, as far ahead as the clock looks; streams cut
    /// them at their own horizon. The frames of `now` need not be repeated. If streaming runs ahead of
    /// playing at another place (pre-roll), that place is an ordinary span. Only the first `spans_used`
    /// count.
    pub spans: [Span; MAX_SPANS],
    /// The number of `spans` that count.
    pub spans_used: u8,
    /// Changes with every start and jump. From a change until `now` is shown for the first time, ticks
    /// without it count as waiting for the jump and not as missed.
    pub jump: u32,
}

impl FrameDemand {
    /// Adds a span; `false` if there is no room.
    pub fn add(&mut self, span: Span) -> bool {
        let Some(free) = self.spans.get_mut(usize::from(self.spans_used)) else {
            return false;
        };
        *free = span;
        self.spans_used += 1;
        true
    }

    /// Returns the spans that count.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans[..usize::from(self.spans_used).min(MAX_SPANS)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_counted_and_bounded() {
        let mut demand = FrameDemand::default();
        assert!(demand.spans().is_empty());
        for from in 0..MAX_SPANS as u32 {
            assert!(demand.add(Span { from, ..Span::default() }));
        }
        assert!(!demand.add(Span::default()));
        assert_eq!(demand.spans().len(), MAX_SPANS);
        assert_eq!(demand.spans()[2].from, 2);
        demand.spans_used = 200;
        assert_eq!(demand.spans().len(), MAX_SPANS);
    }
}
