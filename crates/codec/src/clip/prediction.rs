//! The words of transform tracks: what they are predicted to be from those of samples around, and where what
//! is coded moves them. The same for the sub-tracks of a clip ([`super::streamed`]) and for moving nodes
//! ([`super::nodes`]); these differ in the steps that a word counts, and in what they expect. Exact: integers
//! only.
//!
//! A *word* is 32 bits of a track in a sample: a component of a vector or an angle in 2⁻⁵ steps, or one of
//! four of a quaternion. Vectors and rotations are predicted as weighted sums, angles as the first one and the
//! weighted sum of differences to it; what is coded, κ in 2⁻⁵ steps, then moves them on.

use crate::quantize::rotation::{self, Quaternion};

/// κ of one step.
pub const STEP: i64 = 32;

const MAX_KAPPA: i64 = 1 << 28;

/// κ of residual `k`, where other components say `cross`.
#[inline]
pub fn kappa(k: i32, shift: u8, cross: i64) -> i64 {
    (i64::from(k) * (STEP >> shift) + cross).clamp(-MAX_KAPPA, MAX_KAPPA)
}

/// The samples that one is predicted from.
pub(super) struct Sources<'a> {
    /// Words of the same track in each, the nearest first. All four are there; those beyond `count` have the
    /// weight 0.
    pub words: [&'a [i32]; 4],
    /// In 2⁻¹⁶; their sum is 2¹⁶.
    pub weights: [i32; 4],
    pub count: usize,
}

impl Sources<'_> {
    /// Σ weight · value.
    #[inline(always)]
    fn weighted(&self, value: impl Fn(&[i32]) -> i32) -> i64 {
        // A loop over arrays, not a map of them: these are not inlined everywhere.
        let mut sum = 0;
        for (words, &weight) in self.words.iter().zip(&self.weights) {
            sum += i64::from(weight) * i64::from(value(words));
        }
        sum >> 16
    }

    /// A component of a vector, which extrapolation may take beyond 32 bits.
    #[inline(always)]
    pub fn vector(&self, word: usize) -> i64 {
        self.weighted(|words| words[word])
    }

    /// An angle.
    #[inline(always)]
    pub fn angle(&self, word: usize) -> i32 {
        let base = self.words[0][word];
        base.wrapping_add(self.weighted(|words| words[word].wrapping_sub(base)) as i32)
    }

    /// A rotation, of four words.
    #[inline(always)]
    pub fn rotation(&self, word: usize) -> Quaternion {
        let mut q = [rotation::IDENTITY; 4];
        for (q, words) in q.iter_mut().zip(&self.words).take(self.count) {
            q.copy_from_slice(&words[word..word + 4]);
        }
        rotation::mixed(&q[..self.count], &self.weights[..self.count])
    }
}

/// A component of a vector moved on by κ.
#[inline(always)]
pub(super) fn moved(word: i32, kappa: i64) -> i32 {
    cut(i64::from(word) + kappa)
}

/// The nearest number of 32 bits.
#[inline(always)]
pub(super) fn cut(v: i64) -> i32 {
    v.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// An angle moved on by κ steps of `turn`.
#[inline(always)]
pub(super) fn swung(word: i32, kappa: i64, turn: i64) -> i32 {
    word.wrapping_add((kappa.wrapping_mul(turn) >> 13) as i32)
}

/// A rotation moved on by a turn in 2⁻¹¹ of what [`rotation::turned`] takes.
#[inline(always)]
pub(super) fn turned(q: Quaternion, turn: [i64; 3]) -> Quaternion {
    rotation::turned(q, [turn[0] >> 11, turn[1] >> 11, turn[2] >> 11])
}
