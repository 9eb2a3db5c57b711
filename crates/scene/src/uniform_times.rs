//! The uniform sample times on which animation keys lie.

use crate::clip::{Clip, Track};
use crate::sample::MAX_FRAMES;
use crate::{Error, TIME_TOLERANCE, TimeSampling};
use std::path::Path;

/// Sample times at a uniform rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniformTimes {
    /// Time of the first sample, in seconds.
    pub start: f64,
    /// Samples per second.
    pub fps: f64,
    /// Number of samples.
    pub samples: usize,
}

/// Common frame rates, tried if keys are sparse.
const RATES: [f64; 14] = [
    30.0,
    24.0,
    25.0,
    60.0,
    50.0,
    48.0,
    30_000.0 / 1001.0,
    24_000.0 / 1001.0,
    60_000.0 / 1001.0,
    15.0,
    12.0,
    100.0,
    120.0,
    240.0,
];
/// The lowest rate of keys, per second, that counts as baked rather than keyed by hand.
const MIN_BAKED_RATE: f64 = 9.999;
/// The highest rate of keys, per second, that counts as baked.
const MAX_BAKED_RATE: f64 = 1000.0;
/// The largest offset, in steps, of keys that exporters write next to even times.
const MAX_KEY_OFFSET_STEPS: f64 = 0.01;

impl UniformTimes {
    /// Returns a clip at these times, of the scene's first skeleton.
    pub fn clip_of_tracks(&self, name: String, tracks: Vec<Track>) -> Clip {
        let (scalars, markers) = Default::default();
        let UniformTimes { start, fps, samples } = *self;
        Clip { name, skeleton: 0, start, fps, samples, tracks, scalars, markers }
    }

    /// Returns the time of sample `i`.
    pub fn time(&self, i: usize) -> f64 {
        self.start + i as f64 / self.fps
    }

    /// Returns the times as those of a channel.
    pub fn sampling(&self) -> TimeSampling {
        TimeSampling::Uniform { start: self.start, step: 1.0 / self.fps }
    }

    /// Returns the uniform times from the first to the last of `keys`: at their own rate, a common rate that
    /// they lie on, or else `usual` frames per second. The flag says that all keys lie on it exactly, not
    /// only nearly, as some exporters write them. `None` without keys. `path` and `name` are for messages.
    pub fn from_keys(
        mut keys: Vec<f64>,
        usual: f64,
        path: &Path,
        name: &str,
    ) -> Result<Option<(UniformTimes, bool)>, Error> {
        sort_and_merge(&mut keys);
        let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else {
            return Ok(None);
        };
        let found = rate(&keys, usual);
        let near = found.is_none().then(|| rate_of_jittered_keys(&keys)).flatten();
        let fps = found.or(near).unwrap_or(usual);
        let on = (first * fps).round() / fps;
        let start = if (on - first).abs() <= time_tolerance(first) { on } else { first };
        let late = near.map_or(time_tolerance(last), |fps| MAX_KEY_OFFSET_STEPS / fps);
        let intervals = ((last - start - late) * fps).ceil().max(0.0);
        if intervals >= MAX_FRAMES as f64 {
            return Err(Error::limit(
                path,
                format!("samples of animation {name}"),
                intervals as u64,
                MAX_FRAMES as u64,
            ));
        }
        let samples = intervals as usize + 1;
        let grid = UniformTimes { start, fps, samples };
        Ok(Some((grid, found.is_some())))
    }
}

/// Returns the tolerance of a time, in seconds: the file's times are 32-bit floats.
fn time_tolerance(time: f64) -> f64 {
    TIME_TOLERANCE.max(time.abs() * f64::from(f32::EPSILON))
}

/// Sorts the times of keys and removes all but the first of those that are equal within their tolerance.
pub fn sort_and_merge(keys: &mut Vec<f64>) {
    keys.sort_by(f64::total_cmp);
    keys.dedup_by(|b, a| *b - *a <= time_tolerance(*a));
}

/// Returns the rate of keys that lie at uniform times.
fn rate(keys: &[f64], usual: f64) -> Option<f64> {
    let (first, last) = (*keys.first()?, *keys.last()?);
    let fits = |fps: f64| {
        keys.iter().all(|key| {
            let steps = ((key - first) * fps).round();
            (steps / fps - (key - first)).abs() <= time_tolerance(*key)
        })
    };
    let gap = keys.windows(2).map(|w| w[1] - w[0]).fold(f64::MAX, f64::min);
    // Keys without gaps, then with gaps; at late times rounding makes the smallest distance useless in the
    // first case.
    for intervals in [keys.len() as f64 - 1.0, ((last - first) / gap).round()] {
        let own = intervals / (last - first);
        if !((MIN_BAKED_RATE..=MAX_BAKED_RATE).contains(&own) && fits(own)) {
            continue;
        }
        // Whole rates and NTSC rates are preferred if they give the same times.
        let named = [own.round(), (own * 1.001).round() / 1.001];
        let same = |fps: &f64| *fps > 0.0 && (intervals / fps - (last - first)).abs() <= time_tolerance(last);
        return Some(named.into_iter().find(same).unwrap_or(own));
    }
    [usual].into_iter().chain(RATES).find(|fps| fits(*fps))
}

/// Returns the rate of keys that an exporter wrote at nearly even times: each within [`MAX_KEY_OFFSET_STEPS`]
/// of a step of its uniform time.
fn rate_of_jittered_keys(keys: &[f64]) -> Option<f64> {
    let (first, last) = (*keys.first()?, *keys.last()?);
    let intervals = keys.len() as f64 - 1.0;
    let own = intervals / (last - first);
    let near = |(i, key): (usize, &f64)| ((key - first) * own - i as f64).abs() <= MAX_KEY_OFFSET_STEPS;
    if intervals < 8.0
        || !(MIN_BAKED_RATE..=MAX_BAKED_RATE).contains(&own)
        || !keys.iter().enumerate().all(near)
    {
        return None;
    }
    let named = [own.round(), (own * 2.0).round() / 2.0, (own * 1.001).round() / 1.001];
    let same = |fps: &f64| *fps > 0.0 && (intervals * own / fps - intervals).abs() <= MAX_KEY_OFFSET_STEPS;
    Some(named.into_iter().find(same).unwrap_or(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(n: usize, fps: f64, start: f64) -> Vec<f64> {
        (0..n).map(|i| f64::from((start + i as f64 / fps) as f32)).collect()
    }

    #[test]
    fn rates_of_sampled_keys() {
        for fps in [24.0, 25.0, 30.0, 60.0, 120.0, 30_000.0 / 1001.0, 17.0] {
            for n in [2, 3, 40, 5000] {
                let found = rate(&keys(n, fps, 1.0 / 30.0), 30.0).unwrap();
                assert!((found - fps).abs() < 1e-9 * fps, "{fps} {n} {found}");
            }
        }
        // An uncommon rate is kept as it is.
        let found = rate(&keys(100, 33.37, 0.0), 30.0).unwrap();
        assert!((found - 33.37).abs() < 1e-4, "{found}");
    }

    #[test]
    fn keys_beside_their_grid_take_its_rate() {
        let jitter = |i: usize| f64::from(i as u32 * 7 % 5) * 1e-5;
        let all: Vec<f64> = (0..1309).map(|i| i as f64 / 37.5 + jitter(i)).collect();
        let (grid, on) = UniformTimes::from_keys(all.clone(), 30.0, Path::new("x"), "walk").unwrap().unwrap();
        assert_eq!((grid.fps, grid.samples, on), (37.5, 1309, false));
        // Keys set by hand do not lie on a grid.
        let drawn: Vec<f64> = all.iter().map(|t| t + 0.003 * (t * 9.0).sin()).collect();
        let (grid, on) = UniformTimes::from_keys(drawn, 30.0, Path::new("x"), "walk").unwrap().unwrap();
        assert_eq!((grid.fps, on), (30.0, false));
    }

    #[test]
    fn sparse_keys_take_a_rate_they_lie_on() {
        assert_eq!(rate(&[0.0, 1.0, 2.5], 30.0), Some(30.0));
        assert_eq!(rate(&[0.0, 1.0, 2.5], 24.0), Some(24.0));
        assert_eq!(rate(&[0.0, 1.0 / 24.0 * 7.0, 2.0], 30.0), Some(24.0));
        assert_eq!(rate(&[0.0, 0.1234, 2.0], 30.0), None);
        assert_eq!(rate(&[3.0], 25.0), Some(25.0));
    }
}
