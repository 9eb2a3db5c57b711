//! Estimated costs of residuals, for encoders that choose among codes. Nothing of this is part of the format.

use crate::quantize::code::Code;
use crate::values::residual::{ALPHABETS, TOKEN_RADII, entropy, plane_cost, tokenize};

/// The expected bits of residual vectors.
pub(crate) struct ResidualCost {
    /// The bits of each vector n = d₀ + side·(d₁ + …), if vectors will be coded as tokens.
    tokens: Option<Box<[f32; 125]>>,
    /// The bits by component and |residual|, limited to the last entry.
    sizes: [[f32; SIZES]; 4],
}

const SIZES: usize = 128;

impl ResidualCost {
    /// Returns the costs before anything is known: small residuals are cheap, zero is cheapest.
    pub(crate) fn guess() -> ResidualCost {
        ResidualCost { tokens: None, sizes: [std::array::from_fn(|r| 2.0 * (1.0 + r as f32).log2()); 4] }
    }

    /// Learns the costs from typical residuals.
    pub(crate) fn learn<W: Code>(residuals: &[W], components: usize) -> ResidualCost {
        let count = residuals.len() / components;
        let alphabet = &ALPHABETS[components];
        let (tokens, escaped) = tokenize(residuals, count, alphabet);
        let far = escaped.len() / components;
        if entropy(&tokens) + plane_cost(&escaped, far) < plane_cost(residuals, count) {
            ResidualCost::from_tokens(&tokens, components)
        } else {
            ResidualCost::from_planes(residuals, count)
        }
    }

    fn from_tokens(tokens: &[u8], components: usize) -> ResidualCost {
        let alphabet = &ALPHABETS[components];
        // A token that did not occur counts as a third as likely as one that occurred once.
        let mut histogram = [0.3f32; 126];
        for &t in tokens {
            histogram[usize::from(t)] += 1.0;
        }
        let sum: f32 = histogram.iter().sum();
        let bits = |t: u8| (sum / histogram[usize::from(t)]).log2();
        // An escaped vector costs its token and its bytes.
        let escape = bits(alphabet.escape) / components as f32 + 4.0;
        ResidualCost {
            tokens: Some(Box::new(std::array::from_fn(|n| bits(alphabet.token[n])))),
            sizes: [std::array::from_fn(|r| escape + 2.0 * (1.0 + r as f32).log2()); 4],
        }
    }

    fn from_planes<W: Code>(residuals: &[W], count: usize) -> ResidualCost {
        let mut cost = ResidualCost::guess();
        for (plane, sizes) in residuals.chunks_exact(count.max(1)).zip(&mut cost.sizes) {
            let mut histogram = [0.0f32; SIZES];
            for r in plane {
                histogram[(r.signed().unsigned_abs() as usize).min(SIZES - 1)] += 1.0;
            }
            // Smoothed over neighbours, so that a rare size is not an accident of this frame; both signs
            // share the count, except zero.
            let smooth = |r: usize| {
                let around = histogram[r.saturating_sub(1)] + histogram[(r + 1).min(SIZES - 1)];
                0.05 + if r == 0 { histogram[0] } else { (histogram[r] + 0.5 * around) / 4.0 }
            };
            let sum: f32 = (0..SIZES).map(smooth).sum();
            *sizes = std::array::from_fn(|r| (sum / smooth(r)).log2());
        }
        cost
    }

    #[inline(always)]
    pub(crate) fn bits<const N: usize>(&self, residual: &[i32; N]) -> f32 {
        if let Some(tokens) = &self.tokens {
            let (radius, side) = (TOKEN_RADII[N], 2 * TOKEN_RADII[N] + 1);
            if residual.iter().all(|r| r.unsigned_abs() <= radius as u32) {
                let n = residual.iter().rev().fold(0, |n, r| n * side + r + radius);
                return tokens[n as usize];
            }
        }
        let size = |k: usize| self.sizes[k][(residual[k].unsigned_abs() as usize).min(SIZES - 1)];
        (0..N).map(size).sum()
    }
}

/// The number of residuals that are counted one by one.
const SMALL: usize = 64;

/// Counts the residual vectors of a sample, to compare predictors by their residuals.
pub(crate) struct ResidualTally<const N: usize> {
    tokens: [u32; 126],
    /// By component and zigzag residual: small ones one by one, larger ones by their number of bits.
    sizes: [[u32; SMALL + 32]; N],
    /// The bits below the highest one of larger residuals.
    more: u32,
}

impl<const N: usize> ResidualTally<N> {
    pub(crate) fn new() -> Self {
        ResidualTally { tokens: [0; 126], sizes: [[0; SMALL + 32]; N], more: 0 }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, residual: [i32; N]) {
        let (radius, side) = (TOKEN_RADII[N], 2 * TOKEN_RADII[N] + 1);
        let mut inside = true;
        let mut n = 0i32;
        for k in (0..N).rev() {
            let r = residual[k];
            let z = ((r << 1) ^ (r >> 31)) as u32;
            let size = if z < SMALL as u32 {
                z as usize
            } else {
                self.more += z.ilog2();
                SMALL + z.ilog2() as usize
            };
            self.sizes[k][size] += 1;
            inside &= r.unsigned_abs() <= radius as u32;
            n = n.wrapping_mul(side).wrapping_add(r).wrapping_add(radius);
        }
        self.tokens[if inside { n as usize } else { 125 }] += 1;
    }

    /// Returns about the bits of the cheaper layout, if the sample is this fraction of a stream.
    pub(crate) fn bits(&self, fraction: f64) -> f64 {
        // The symbols, and a share of the code table; a sample of only zeros is nearly free.
        let entropy = |histogram: &[u32], zero: usize| {
            let sum = f64::from(histogram.iter().sum::<u32>());
            if f64::from(histogram[zero]) == sum {
                return 0.0;
            }
            let bits = |&n: &u32| f64::from(n) * (sum / f64::from(n)).log2() + 4.0 * fraction;
            histogram.iter().filter(|n| **n > 0).map(bits).sum()
        };
        let planes: f64 = self.sizes.iter().map(|h| entropy(h, 0)).sum();
        let escapes = f64::from(self.tokens[125]) * 4.0 * N as f64;
        let tokens = entropy(&self.tokens, zero_token::<N>()) + escapes;
        planes.min(tokens) + f64::from(self.more)
    }
}

/// Returns the number of the zero vector.
fn zero_token<const N: usize>() -> usize {
    let side = 2 * TOKEN_RADII[N] as usize + 1;
    (0..N).fold(0, |n, _| n * side + TOKEN_RADII[N] as usize)
}
