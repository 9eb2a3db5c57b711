//! Timelines: the times of a file's frames as integers, which clocks use. One per file, shared by all
//! instances.
//!
//! Time is counted in *flicks* of 1/705,600,000 s. A whole number of them makes one frame at 24, 25, 30, 48,
//! 50, 60, 90, 100, 120, 144 and 1000 frames per second and at the NTSC rates, so the sum of many small steps
//! equals the large step exactly. The frame times of a file are rounded to flicks, which moves them by less
//! than a nanosecond.
//!
//! Credit: the unit is Christopher Horvath's, "Flicks", 2018.

use crate::reel::open_file::Reel;
use meshreel_codec::record::ranges::FrameRange;
use meshreel_codec::schedule::KEY_INTERVAL;
use std::sync::Arc;

/// Flicks in a second.
pub(crate) const FLICKS_PER_SECOND: i64 = 705_600_000;
/// The number of fraction bits of a rate, and of a position.
pub(crate) const FRACTION_BITS: u32 = 32;
/// The largest rate; larger ones are cut to it, so that no product overflows.
const MAX_RATE: f64 = 65536.0;
/// The frames of a file with temporal layers from one that is shown to the next, where some are left out:
/// without the top layer, and keys alone.
const STEPS: [u32; 2] = [2, KEY_INTERVAL];
/// The longest time, about 50 years; longer ones are cut to it, so that a sum of a few does not overflow.
const MAX_FLICKS: i64 = 1 << 60;

/// Returns seconds as flicks, rounded to nearest; NaN becomes 0, and times above about 50 years are cut.
pub(crate) fn flicks(seconds: f64) -> i64 {
    // The conversion saturates, and gives 0 for NaN.
    ((seconds * FLICKS_PER_SECOND as f64).round() as i64).clamp(-MAX_FLICKS, MAX_FLICKS)
}

/// Returns flicks as seconds.
pub(crate) fn seconds(flicks: i64) -> f64 {
    flicks as f64 / FLICKS_PER_SECOND as f64
}

/// Returns a rate in units of 2^-32, cut to ±65,536; NaN becomes 0.
pub(crate) fn fixed_rate(rate: f64) -> i64 {
    (rate.clamp(-MAX_RATE, MAX_RATE) * (1i64 << FRACTION_BITS) as f64).round() as i64
}

/// The times of all frames, relative to the first one, and whether the last leads back to the first. Clones
/// share the data.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Timeline {
    /// Flicks from the first frame; never decreasing.
    times: Arc<[i64]>,
    /// Flicks from the first frame to its return; 0 unless the file is a closed cycle.
    period: i64,
    /// The time of the first frame in the file, in seconds.
    start: f64,
    /// The times of the frames that remain with each of [`STEPS`], if frames can be left out.
    remaining: Option<Arc<[Arc<[i64]>; 2]>>,
    /// Times are those of frame 0, `step`, 2·`step` …, and of the last one.
    step: u32,
    last_frame: u32,
    /// Frames of the file that do not continue the frame before, ascending.
    cuts: Arc<[u32]>,
}

impl Timeline {
    /// Creates a timeline of frames at these times in seconds, finite and in order (others are moved to the
    /// time before). The period is that of a closed cycle, or 0; one that ends before the last frame counts
    /// as none.
    pub fn new(times: impl IntoIterator<Item = f64>, period: f64) -> Timeline {
        let (mut start, mut latest) = (None, 0);
        let times: Arc<[i64]> = (times.into_iter())
            .map(|time| {
                let from = *start.get_or_insert(time);
                latest = flicks(time - from).max(latest);
                latest
            })
            .collect();
        let last_frame = times.len().saturating_sub(1) as u32;
        let period = flicks(period);
        // Both are rounded, so equal ends can differ by a flick.
        let closes = period > 0 && period + 1 >= latest;
        Timeline {
            times,
            period: if closes { period.max(latest) } else { 0 },
            start: start.unwrap_or(0.0),
            remaining: None,
            step: 1,
            last_frame,
            cuts: Arc::default(),
        }
    }

    /// Returns the timeline of a file.
    pub fn from_reel(reel: &Reel) -> Timeline {
        let times = (0..reel.frame_count()).map(|frame| reel.time(frame));
        let timeline = Timeline::new(times, reel.description().period).with_ranges(reel.ranges());
        match reel.is_layered() {
            true => timeline.with_temporal_layers(),
            false => timeline,
        }
    }

    /// Separates `ranges`, so that frames are not blended from one to the next, nor to frames of no range.
    pub fn with_ranges(self, ranges: &[FrameRange]) -> Timeline {
        let ends = ranges.iter().flat_map(|range| [range.first, range.end()]);
        let mut cuts: Vec<u32> = ends.filter(|&cut| cut > 0 && cut <= self.last_frame).collect();
        cuts.dedup();
        Timeline { cuts: cuts.into(), ..self }
    }

    /// `true` if frames are blended between the `i`-th frame of the timeline and the next.
    pub(crate) fn blends_to_next(&self, i: usize) -> bool {
        let next = self.cuts.partition_point(|&cut| cut <= self.file_frame(i));
        self.cuts.get(next).is_none_or(|&cut| cut > self.file_frame(i + 1))
    }

    /// Allows frames to be left out, as [`crate::Command::FrameStep`] does.
    pub fn with_temporal_layers(self) -> Timeline {
        let last = self.times.len().saturating_sub(1);
        let remaining = STEPS.map(|step| {
            let all = self.times.iter().copied().enumerate();
            all.filter(|(i, _)| i % step as usize == 0 || *i == last).map(|(_, time)| time).collect()
        });
        Timeline { remaining: Some(Arc::new(remaining)), ..self }
    }

    /// Returns the timeline of every `step`-th frame and the last, for the largest of [`STEPS`] that is not
    /// above `step`; unchanged if there is none, or if no frame can be left out.
    pub(crate) fn with_step(&self, step: u32) -> Timeline {
        let chosen = STEPS.iter().rposition(|possible| *possible <= step);
        match (&self.remaining, chosen) {
            (Some(remaining), Some(i)) => Timeline {
                times: remaining[i].clone(),
                remaining: None,
                step: STEPS[i],
                cuts: self.cuts.clone(),
                ..*self
            },
            _ => self.clone(),
        }
    }

    /// Returns the number in the file of the `i`-th frame of the timeline.
    pub(crate) fn file_frame(&self, i: usize) -> u32 {
        (i as u32).saturating_mul(self.step).min(self.last_frame)
    }
    /// Returns the number of file frames from one frame of the timeline to the next.
    pub(crate) fn step(&self) -> u32 {
        self.step
    }

    /// Returns the number of frames, which can be 0.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.times.len()
    }
    /// Returns the seconds from the first frame to the last.
    #[must_use]
    pub fn duration(&self) -> f64 {
        seconds(self.last_flicks())
    }
    /// Returns the seconds of a closed cycle; `None` if the file is not one.
    #[must_use]
    pub fn period(&self) -> Option<f64> {
        (self.period > 0).then(|| seconds(self.period))
    }
    /// Returns the first frame's time in the file, from which all positions are counted.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.start
    }
    /// Returns the time of a frame in seconds from the first one; of the last frame if there is no such
    /// frame.
    #[must_use]
    pub fn time(&self, frame: usize) -> f64 {
        seconds(self.time_flicks(frame))
    }
    /// Returns the last frame at or before `position` seconds; the first if there is none.
    #[must_use]
    pub fn frame_at(&self, position: f64) -> usize {
        self.frame_at_flicks(flicks(position), 0)
    }

    /// Returns the time of a frame in flicks; of the last if there is no such frame, 0 without frames.
    pub(crate) fn time_flicks(&self, frame: usize) -> i64 {
        let frame = frame.min(self.times.len().wrapping_sub(1));
        self.times.get(frame).copied().unwrap_or(0)
    }
    pub(crate) fn last_flicks(&self) -> i64 {
        self.times.last().copied().unwrap_or(0)
    }
    /// Returns the period of a closed cycle in flicks, or 0.
    pub(crate) fn period_flicks(&self) -> i64 {
        self.period
    }
    pub(crate) fn times(&self) -> &[i64] {
        &self.times
    }

    /// Returns the last frame at or before `at`, the first if there is none. Near `hint` it is found by
    /// walking.
    pub(crate) fn frame_at_flicks(&self, at: i64, hint: usize) -> usize {
        const MAX_STEPS: usize = 4;
        let times = &self.times[..];
        let mut frame = hint.min(times.len().saturating_sub(1));
        for _ in 0..MAX_STEPS {
            if times.get(frame + 1).is_some_and(|&t| t <= at) {
                frame += 1;
            } else if frame > 0 && times[frame] > at {
                frame -= 1;
            } else {
                return frame;
            }
        }
        times.partition_point(|&t| t <= at).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn usual_rates_are_whole_numbers_of_flicks() {
        for rate in [24, 25, 30, 48, 50, 60, 90, 100, 120, 144, 1000] {
            assert_eq!(FLICKS_PER_SECOND % rate, 0, "{rate}");
        }
        assert_eq!(flicks(1001.0 / 30_000.0), 23_543_520);
    }

    #[test]
    fn times_count_from_the_first_frame() {
        let timeline = Timeline::new([2.0, 2.5, 4.0], 0.0);
        assert_eq!(timeline.start(), 2.0);
        assert_eq!(timeline.duration(), 2.0);
        assert_eq!(timeline.time(1), 0.5);
        assert_eq!(timeline.time(99), 2.0);
        assert_eq!(timeline.period(), None);
        let found = [-1.0, 0.0, 0.4, 0.5, 1.9, 2.0, 9.0, f64::NAN].map(|t| timeline.frame_at(t));
        assert_eq!(found, [0, 0, 0, 1, 1, 2, 2, 0]);
    }

    #[test]
    fn no_frame_and_one_frame() {
        for times in [&[][..], &[7.0]] {
            let timeline = Timeline::new(times.iter().copied(), 0.0);
            assert_eq!(timeline.frame_count(), times.len());
            assert_eq!(timeline.duration(), 0.0);
            assert_eq!(timeline.frame_at(3.0), 0);
            assert_eq!(timeline.time(0), 0.0);
        }
    }

    #[test]
    fn a_period_closes_after_the_last_frame_or_not_at_all() {
        let period = |period| Timeline::new([0.0, 1.0, 2.0], period).period();
        assert_eq!(period(0.0), None);
        assert_eq!(period(1.9), None);
        assert_eq!(period(f64::NAN), None);
        assert_eq!(period(2.0), Some(2.0));
        assert_eq!(period(3.0), Some(3.0));
    }

    #[test]
    fn wild_times_are_put_in_order() {
        let times = [1e300, f64::NAN, -1e300, f64::INFINITY];
        let timeline = Timeline::new(times, 1e300);
        assert!(timeline.times().is_sorted());
        assert_eq!(timeline.frame_count(), 4);
    }

    #[test]
    fn nothing_leads_from_range_to_range() {
        let range = |first, frames| FrameRange { name: String::new(), first, frames };
        let timeline = Timeline::new((0..9).map(f64::from), 0.0);
        let leads = |timeline: &Timeline| -> Vec<bool> {
            (0..timeline.frame_count()).map(|i| timeline.blends_to_next(i)).collect()
        };
        assert_eq!(leads(&timeline), [true; 9]);
        let cut = timeline.with_ranges(&[range(0, 3), range(3, 1), range(6, 3)]).with_temporal_layers();
        assert_eq!(leads(&cut), [true, true, false, false, true, false, true, true, true]);
        // Frames 0, 2, 4, 6, 8: 2 to 4 goes over the cuts at 3 and 4, 4 to 6 over that at 6.
        assert_eq!(leads(&cut.with_step(2)), [true, false, false, true, true]);
    }

    proptest! {
        #[test]
        fn walking_finds_what_searching_finds(
            mut times in prop::collection::vec(-1e3f64..1e3, 1..40),
            at in -2e3f64..2e3,
            hint in 0usize..50,
        ) {
            times.sort_by(f64::total_cmp);
            let timeline = Timeline::new(times, 0.0);
            let at = flicks(at);
            let searched = timeline.times().partition_point(|&t| t <= at).saturating_sub(1);
            prop_assert_eq!(timeline.frame_at_flicks(at, hint), searched);
        }
    }
}
