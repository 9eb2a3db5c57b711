//! Predicts the codes of transform tracks from those of nearby samples, and adds the coded residuals. Used by
//! the sub-tracks of a clip ([`super::streamed`]) and by moving nodes ([`super::nodes`]), which differ in the
//! size of a step and in the samples that they predict from. Exact: integers only.
//!
//! A code is a 32-bit integer of a track in a sample: a component of a vector or an angle in 2⁻⁵
//! steps, or one of the four components of a quaternion. Vectors and rotations are predicted as weighted
//! sums, angles as the first angle plus the weighted sum of differences to it; the coded κ, in 2⁻⁵ steps, is
//! then added.

use crate::quantize::rotation::{self, Quaternion};

/// The κ of one step.
pub const KAPPA_PER_STEP: i64 = 32;

const MAX_KAPPA: i64 = 1 << 28;

/// Returns the κ of residual `k`, to which other components contribute `cross`.
#[inline]
pub fn kappa(k: i32, shift: u8, cross: i64) -> i64 {
    (i64::from(k) * (KAPPA_PER_STEP >> shift) + cross).clamp(-MAX_KAPPA, MAX_KAPPA)
}

/// The samples that a sample is predicted from.
pub(super) struct WeightedSamples<'a> {
    /// The codes of the same track in each sample, nearest first. All four are present; those beyond `count`
    /// have the weight 0.
    pub codes: [&'a [i32]; 4],
    /// Weights in 2⁻¹⁶; their sum is 2¹⁶.
    pub weights: [i32; 4],
    pub count: usize,
}

impl WeightedSamples<'_> {
    /// Returns Σ weight · value.
    #[inline(always)]
    fn weighted(&self, value: impl Fn(&[i32]) -> i32) -> i64 {
        // A loop over arrays instead of `map`, whose closures are not inlined everywhere.
        let mut sum = 0;
        for (words, &weight) in self.codes.iter().zip(&self.weights) {
            sum += i64::from(weight) * i64::from(value(words));
        }
        sum >> 16
    }

    /// Predicts a component of a vector, which extrapolation may take beyond 32 bits.
    #[inline(always)]
    pub fn vector(&self, word: usize) -> i64 {
        self.weighted(|words| words[word])
    }

    /// Predicts an angle.
    #[inline(always)]
    pub fn angle(&self, word: usize) -> i32 {
        let base = self.codes[0][word];
        base.wrapping_add(self.weighted(|words| words[word].wrapping_sub(base)) as i32)
    }

    /// Predicts a rotation, which has four codes.
    #[inline(always)]
    pub fn rotation(&self, word: usize) -> Quaternion {
        let mut q = [rotation::IDENTITY; 4];
        for (q, words) in q.iter_mut().zip(&self.codes).take(self.count) {
            q.copy_from_slice(&words[word..word + 4]);
        }
        rotation::weighted_sum(&q[..self.count], &self.weights[..self.count])
    }
}

/// Adds κ to a component of a vector.
#[inline(always)]
pub(super) fn add_kappa(word: i32, kappa: i64) -> i32 {
    saturate(i64::from(word) + kappa)
}

/// Clamps to 32 bits.
#[inline(always)]
pub(super) fn saturate(v: i64) -> i32 {
    v.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// Adds κ steps of `turn` to an angle.
#[inline(always)]
pub(super) fn add_angle_kappa(word: i32, kappa: i64, turn: i64) -> i32 {
    word.wrapping_add((kappa.wrapping_mul(turn) >> 13) as i32)
}

/// Rotates `q` by a turn in units of 2⁻¹¹ of the argument of [`rotation::apply_turn`].
#[inline(always)]
pub(super) fn apply_fine_turn(q: Quaternion, turn: [i64; 3]) -> Quaternion {
    rotation::apply_turn(q, [turn[0] >> 11, turn[1] >> 11, turn[2] >> 11])
}
