//! Timed events of a clip: the markers that a time step passes.

use super::Repeats;
use meshreel_codec::clip::scalars::Marker;

/// A marker that a step passes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PassedMarker<'a> {
    /// The marker.
    pub marker: &'a Marker,
    /// Its number in the clip.
    pub number: usize,
    /// The time on the axis of the step: the marker's time plus whole loops.
    pub seconds: f64,
}

/// An iterator over the markers that a step passes, in that order; see [`passed_markers`].
#[derive(Clone, Debug)]
#[must_use = "iterators are lazy"]
pub struct PassedMarkers<'a> {
    markers: &'a [Marker],
    from: f64,
    to: f64,
    /// The length of a loop; 0 if the clip does not loop.
    period: f64,
    turn: f64,
    last_turn: f64,
    /// The number of markers of this turn that were examined.
    looked: usize,
}

/// Returns the markers that a step from `from` to `to` passes, both in seconds after the first sample.
/// `markers` are in order of time, `period` is the length of a loop. A forward step passes those in (from,
/// to], a reverse step those in [to, from): however a stretch of time is divided into steps, each marker is
/// passed once. To get markers at the very start, begin with a step from before it. Times that are not finite
/// pass nothing.
///
/// ```
/// use meshreel::clip::{Marker, Repeats, passed_markers};
///
/// let steps = [Marker { name: "left".into(), time: 0.2 }, Marker { name: "right".into(), time: 0.7 }];
/// let names: Vec<&str> = passed_markers(&steps, 1.0, (0.5, 1.25), Repeats::Wrap).map(|p| p.marker.name.as_str()).collect();
/// assert_eq!(names, ["right", "left"]);
/// ```
pub fn passed_markers(
    markers: &[Marker],
    period: f64,
    (from, to): (f64, f64),
    repeats: Repeats,
) -> PassedMarkers<'_> {
    let whole = from.is_finite() && to.is_finite();
    let (low, high) = (from.min(to), from.max(to));
    let bounds = markers.iter().map(|m| m.time).filter(|t| t.is_finite());
    let earliest = bounds.clone().fold(f64::INFINITY, f64::min);
    let latest = bounds.fold(f64::NEG_INFINITY, f64::max);
    let wraps = repeats == Repeats::Wrap && period.is_finite() && period > 0.0;
    // One turn more at both ends, so that rounding omits none: times are compared one by one.
    let (first, last) = match wraps {
        true => (((low - latest) / period).floor() - 1.0, ((high - earliest) / period).ceil() + 1.0),
        false => (0.0, 0.0),
    };
    let nothing = !whole || from == to || !first.is_finite() || !last.is_finite();
    let (turn, last_turn) = if to < from { (last, first) } else { (first, last) };
    PassedMarkers {
        markers: if nothing { &[] } else { markers },
        from,
        to,
        period: if wraps { period } else { 0.0 },
        turn,
        last_turn,
        looked: 0,
    }
}

impl<'a> Iterator for PassedMarkers<'a> {
    type Item = PassedMarker<'a>;

    fn next(&mut self) -> Option<PassedMarker<'a>> {
        let back = self.to < self.from;
        let count = self.markers.len();
        if count == 0 {
            return None;
        }
        loop {
            if self.looked == count {
                let next = if back { self.turn - 1.0 } else { self.turn + 1.0 };
                // Beyond 2⁵³ turns the counter cannot be incremented.
                if self.turn == self.last_turn || next == self.turn {
                    self.markers = &[];
                    return None;
                }
                (self.turn, self.looked) = (next, 0);
            }
            let number = if back { count - 1 - self.looked } else { self.looked };
            self.looked += 1;
            let marker = &self.markers[number];
            let seconds = marker.time + self.turn * self.period;
            let passes = match back {
                false => self.from < seconds && seconds <= self.to,
                true => self.to <= seconds && seconds < self.from,
            };
            if passes {
                return Some(PassedMarker { marker, number, seconds });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn markers(times: &[f64]) -> Vec<Marker> {
        let mut times = times.to_vec();
        times.sort_by(f64::total_cmp);
        let marker = |(i, time): (usize, &f64)| Marker { name: i.to_string(), time: *time };
        times.iter().enumerate().map(marker).collect()
    }

    proptest! {
        /// Steps of any length, forward and reverse: together they pass each marker as often as one step
        /// does.
        #[test]
        fn e11_none_is_missed_or_doubled(
            times in prop::collection::vec(0.0f64..1.5, 1..6),
            at_samples in prop::collection::vec(0u8..6, 0..4),
            from in -7.0f64..7.0,
            steps in prop::collection::vec(prop_oneof![0.0f64..0.3, 0.0f64..5.0, Just(0.25), Just(0.0)], 1..40),
        ) {
            let mut times = times;
            times.extend(at_samples.iter().map(|i| f64::from(*i) * 0.25));
            let markers = markers(&times);
            for repeats in [Repeats::Wrap, Repeats::Clamp] {
                for sign in [1.0, -1.0] {
                    // Some steps start exactly at a marker.
                    for start in [from, markers[0].time, 0.0] {
                        let mut at = start;
                        let mut found = Vec::new();
                        for step in &steps {
                            let next = at + sign * step;
                            found.extend(passed_markers(&markers, 1.5, (at, next), repeats).map(|p| (p.number, p.seconds.to_bits())));
                            at = next;
                        }
                        let whole: Vec<_> = passed_markers(&markers, 1.5, (start, at), repeats).map(|p| (p.number, p.seconds.to_bits())).collect();
                        prop_assert_eq!(&found, &whole);
                        // The same count by brute force.
                        let turns: Vec<i32> = if repeats == Repeats::Wrap { (-200..200).collect() } else { vec![0] };
                        let within = |t: f64| match sign > 0.0 {
                            true => start < t && t <= at,
                            false => at <= t && t < start,
                        };
                        let count: usize = turns.iter().map(|n| {
                            markers.iter().filter(|m| within(m.time + f64::from(*n) * if repeats == Repeats::Wrap { 1.5 } else { 0.0 })).count()
                        }).sum();
                        prop_assert_eq!(whole.len(), count);
                    }
                }
            }
        }
    }

    #[test]
    fn nonsense_passes_nothing() {
        let markers = markers(&[0.5]);
        for (from, to) in [(f64::NAN, 1.0), (0.0, f64::INFINITY), (0.0, f64::NAN), (0.25, 0.25)] {
            assert_eq!(passed_markers(&markers, 1.0, (from, to), Repeats::Wrap).count(), 0);
        }
        // A loop without length does not repeat.
        for period in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(passed_markers(&markers, period, (0.0, 1.0), Repeats::Wrap).count(), 1);
        }
        assert_eq!(passed_markers(&[], 1.0, (0.0, 100.0), Repeats::Wrap).count(), 0);
        // The iteration ends even if a turn is below the precision of the times.
        assert!(passed_markers(&markers, 1e-3, (1e300, 1.1e300), Repeats::Wrap).count() <= 1);
    }
}
