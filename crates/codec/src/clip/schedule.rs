//! The order in which the samples of a segment are coded, and the samples from which each is predicted. Pure
//! arithmetic.
//!
//! ```text
//! keys      samples 0, S, 2S, …, the last sample, and those that the header lists; coded first, one after the other, in a section of their own
//! segment   the samples between two keys: level by level, h = S/2, S/4 … 1, and within a level in order of time
//! ```
//!
//! A sample at distance h from its neighbours is predicted by the polynomial through up to four known
//! samples: those at −h and +h, and at −3h and +3h; fewer at the ends of the segment. Both ends of a segment
//! are keys, so no segment needs another one.

/// The largest number of samples that a sample is predicted from.
pub const MAX_TAPS: usize = 4;
/// The largest log2 of the number of intervals per segment. Part of the format.
pub const MAX_SEGMENT_LOG2: u32 = 7;
/// The largest number of tiers of a clip. Part of the format.
pub const MAX_TIERS: u32 = 8;

/// Returns the tier of a level if `more` tiers follow the first: the finest level is in the last tier, each
/// coarser one in the tier before, and all remaining ones are with the keys in the first.
pub fn tier(level: u32, more: u8) -> u32 {
    u32::from(more).saturating_sub(level)
}

/// The samples that a sample is predicted from, and their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taps {
    /// Sample numbers within the segment: left, right, outer ones.
    pub samples: [usize; MAX_TAPS],
    /// Weights in 2⁻¹⁶; their sum is 2¹⁶.
    pub weights: [i32; MAX_TAPS],
    /// The number of samples; the other entries of the arrays are 0.
    pub count: usize,
}

/// One sample of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledSample {
    /// The sample's number within the segment; 0 and the segment's length are the keys.
    pub sample: usize,
    /// The log2 of the distance to the neighbours.
    pub level: u32,
    /// The samples that it is predicted from.
    pub taps: Taps,
}

/// Returns the number of regular keys of a clip.
pub fn key_count(samples: u32, log: u32) -> u32 {
    match samples {
        0 | 1 => samples,
        n => (n - 1).div_ceil(1 << log) + 1,
    }
}

/// Returns the sample number of regular key `i`.
pub fn key_sample(samples: u32, log: u32, i: u32) -> u32 {
    (u64::from(i) << log).min(u64::from(samples.saturating_sub(1))) as u32
}

/// Returns the samples of a segment of `length` intervals, in coding order.
pub fn coding_order(length: usize, log: u32) -> impl Iterator<Item = ScheduledSample> {
    (0..log).rev().flat_map(move |level| {
        let h = 1usize << level;
        (h..length).step_by(2 * h).map(move |sample| ScheduledSample {
            sample,
            level,
            taps: taps(sample, h, length),
        })
    })
}

/// Returns the samples from which sample `t` at distance `h` is predicted, as in [`Taps`], and their number.
pub fn tap_samples(t: usize, h: usize, length: usize) -> ([usize; MAX_TAPS], usize) {
    let (left, right) = (t - h, (t + h).min(length));
    let mut at = [left, right, 0, 0];
    let mut count = 2;
    if t >= 3 * h {
        at[count] = t - 3 * h;
        count += 1;
    }
    let far = (t + 3 * h).min(length);
    // A sample that is close to the right neighbour would only add noise.
    if far >= right + h {
        at[count] = far;
        count += 1;
    }
    (at, count)
}

/// The weights of four samples, none of which is nearer because the segment ends.
const USUAL_WEIGHTS: [i32; MAX_TAPS] = [36864, 36864, -4096, -4096];

/// Returns the samples from which sample `t` at distance `h` is predicted, and their weights.
pub fn taps(t: usize, h: usize, length: usize) -> Taps {
    let (samples, count) = tap_samples(t, h, length);
    if count == MAX_TAPS && samples[3] == t + 3 * h {
        return Taps { samples, weights: USUAL_WEIGHTS, count };
    }
    let mut distances = [0; MAX_TAPS];
    for (distance, &at) in distances.iter_mut().zip(&samples[..count]) {
        *distance = at as i64 - t as i64;
    }
    Taps { samples, weights: weights(&distances[..count]), count }
}

/// Returns the weights of the polynomial through at most [`MAX_TAPS`] samples at these distances, which must
/// be below 2⁹. In 2⁻¹⁶, rounded towards zero; the remainder is added to the first weight.
pub(super) fn weights(distances: &[i64]) -> [i32; MAX_TAPS] {
    let mut out = [0; MAX_TAPS];
    for (i, own) in distances.iter().enumerate() {
        let (mut above, mut below) = (1i64, 1i64);
        for other in distances.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other) {
            above *= -other;
            below *= own - other;
        }
        // The product of three distances, times 2¹⁶, fits.
        out[i] = ((above << 16) / below) as i32;
    }
    out[0] += (1 << 16) - out.iter().sum::<i32>();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_once_and_only_from_known_ones() {
        for log in 1..=MAX_SEGMENT_LOG2 {
            for length in 1..=1usize << log {
                let mut known = vec![false; length + 1];
                (known[0], known[length]) = (true, true);
                for step in coding_order(length, log) {
                    assert!(!known[step.sample]);
                    for &tap in &step.taps.samples[..step.taps.count] {
                        assert!(known[tap], "{log} {length} {step:?}");
                    }
                    assert_eq!(step.taps.weights.iter().sum::<i32>(), 1 << 16);
                    known[step.sample] = true;
                }
                assert!(known.iter().all(|k| *k));
            }
        }
    }

    #[test]
    fn weights_are_the_usual_ones() {
        for h in [1, 2, 4, 8, 16] {
            assert_eq!(taps(3 * h, h, 8 * h).weights, weights(&[-1, 1, -3, 3].map(|d| d * h as i64)));
        }
        assert_eq!(taps(3, 1, 8).weights, [36864, 36864, -4096, -4096]);
        assert_eq!(taps(1, 1, 2).weights, [32768, 32768, 0, 0]);
        // Samples left, right, outer right have the weights 3/8, 3/4, −1/8.
        assert_eq!(taps(1, 1, 8).weights, [24576, 49152, -8192, 0]);
        assert_eq!(taps(1, 1, 8).samples[..3], [0, 2, 4]);
        assert_eq!(taps(7, 1, 8).weights, [49152, 24576, -8192, 0]);
    }

    #[test]
    fn cubics_are_predicted() {
        let f = |t: usize| (t * t * t) as i64 - 40 * (t * t) as i64 + 7;
        for step in coding_order(100, 7).filter(|s| s.taps.count == 4) {
            let sum: i64 = (0..4).map(|i| i64::from(step.taps.weights[i]) * f(step.taps.samples[i])).sum();
            let error = sum - (f(step.sample) << 16);
            assert!(error.abs() < 4 * 800_000, "{step:?} {error}");
        }
    }

    #[test]
    fn keys_are_at_both_ends() {
        assert_eq!(
            (key_count(0, 7), key_count(1, 7), key_count(2, 7), key_count(129, 7), key_count(130, 7)),
            (0, 1, 2, 2, 3)
        );
        assert_eq!(key_sample(130, 7, 2), 129);
        assert_eq!(key_sample(1, 7, 0), 0);
        assert_eq!(key_sample(u32::MAX, 7, u32::MAX), u32::MAX - 1);
    }
}
