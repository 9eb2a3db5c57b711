//! Vectors of integers, one per vertex or point, in their order: a prediction, which differs by the kind of
//! mesh (`ValueBasis`), and residuals, which are coded by the size of those around. Lossless; the encoder
//! chooses values within the error bound.
//!
//! ```text
//! value      T + P + grain · residual     T from other frames, P from the vertices before; wraps at 32 bits, and is truncated to its word
//! residual   an entropy symbol of its bucket, whose σ for component k is
//! σ of k     mean_k · (2 + 3·N + 3·W) / 8   mean_k of |residual of component k|, which moves 1/16 of the way with each vector, 16 at first
//!            N size of the residuals around, as the kind of prediction says
//!            W size of the residuals of this vector's components before k; 1 for the first
//! size       Σ|residual| / Σ mean, in 2⁻⁵, at most 7.97
//! ```

use crate::Corrupt;
#[cfg(feature = "encode")]
use crate::entropy::symbols::Encoder;
use crate::entropy::symbols::{Bucket, Decoder};
use crate::quantize::code::Code;

/// The number that stands for 1: in weights of vertices, in weights of frames, and in relative sizes of
/// residuals.
pub(super) const VERTEX_WEIGHT_ONE: i32 = 64;
pub(super) const FRAME_WEIGHT_ONE: i32 = 256;
pub(super) const RELATIVE_SIZE_ONE: u32 = 32;

/// The values that a stream is predicted from, with their weights.
pub(super) trait ValueBasis {
    /// The memory of a predictor, which is reused.
    type Buffers;
    type Predictor<'p, const N: usize>: ValuePredictor<N>
    where
        Self: 'p;

    /// Returns the factor of the residuals.
    fn grain(&self) -> i32;

    /// Returns the predictor of `count` vectors of `N` components, before the first one.
    fn predictor<'p, const N: usize>(
        &'p self,
        count: usize,
        work: &'p mut Self::Buffers,
    ) -> Self::Predictor<'p, N>;
}

/// Predicts vectors one after the other.
pub(super) trait ValuePredictor<const N: usize> {
    /// Returns the prediction of vector `v`, and the expected sizes of its residuals.
    fn predict(&mut self, v: usize) -> (VertexPrediction<N>, &ResidualScale<N>);

    /// Receives the residuals of vector `v`.
    fn learn(&mut self, v: usize, expected: &VertexPrediction<N>, residual: &[i32; N]);
}

/// One direction: residuals are decoded, or chosen and encoded.
trait ValueCoder {
    /// Returns the residuals of vertex `v`, with the tables of [`ResidualScale::bucket`].
    fn code_residuals<const N: usize>(
        &mut self,
        v: usize,
        expected: &VertexPrediction<N>,
        scale: &ResidualScale<N>,
    ) -> [i32; N];
}

/// The prediction of a vertex: T from other frames, and P from the surface.
#[derive(Clone, Copy)]
pub(super) struct VertexPrediction<const N: usize> {
    pub frames: [i32; N],
    pub above: [i32; N],
}

impl<const N: usize> VertexPrediction<N> {
    #[inline]
    pub fn code(&self, k: usize, residual: i32, grain: i32) -> i32 {
        let expected = self.frames[k].wrapping_add(self.above[k]);
        expected.wrapping_add(residual.wrapping_mul(grain))
    }
}

/// The expected sizes of residuals.
pub(super) struct ResidualScale<const N: usize> {
    mean: [u32; N],
    pub neighbour_size: u32,
}

impl<const N: usize> ResidualScale<N> {
    /// The state before the first residual.
    pub const START: ResidualScale<N> = ResidualScale::from_mean(16 << 8);

    /// Starts with an expected size of `mean`, in 2⁻⁸.
    pub const fn from_mean(mean: u32) -> ResidualScale<N> {
        ResidualScale { mean: [mean; N], neighbour_size: RELATIVE_SIZE_ONE }
    }

    /// Returns the table for component `k`, after residuals whose sizes add up to `sum`.
    #[inline(always)]
    fn bucket(&self, k: usize, sum: u32) -> Bucket {
        let own = match k {
            0 => RELATIVE_SIZE_ONE,
            _ => ratio(sum, self.mean[..k].iter().sum()),
        };
        let sigma =
            u64::from(self.mean[k]) * u64::from(2 * RELATIVE_SIZE_ONE + 3 * self.neighbour_size + 3 * own);
        Bucket::from_sigma((sigma / u64::from(8 * RELATIVE_SIZE_ONE)).min(1 << 28) as u32)
    }

    #[inline]
    pub fn learn(&mut self, residual: &[i32; N]) -> u8 {
        let sum = residual.iter().map(|r| size(*r)).sum();
        let large = ratio(sum, self.mean.iter().sum());
        for (mean, r) in self.mean.iter_mut().zip(residual) {
            let at = i64::from(*mean);
            *mean = (at + (((i64::from(size(*r)) << 8) - at) >> 4)).max(1) as u32;
        }
        large as u8
    }
}

/// Returns |r|, limited to 2²⁰.
#[inline]
pub(super) fn size(r: i32) -> u32 {
    r.unsigned_abs().min(1 << 20)
}

/// Returns sum / mean in 2⁻⁵, at most 255; `mean` is in 2⁻⁸.
#[inline]
fn ratio(sum: u32, mean: u32) -> u32 {
    ((u64::from(sum) << 13) / u64::from(mean.max(1))).min(255) as u32
}

/// Codes all vectors in order.
fn code_vectors<const N: usize>(
    mut predictor: impl ValuePredictor<N>,
    count: usize,
    mut coder: impl ValueCoder,
) {
    for v in 0..count {
        let (expected, scale) = predictor.predict(v);
        let residual = coder.code_residuals(v, &expected, scale);
        predictor.learn(v, &expected, &residual);
    }
}

/// Codes all vectors of 1 to 4 components.
fn code<B: ValueBasis>(
    basis: &B,
    components: usize,
    count: usize,
    work: &mut B::Buffers,
    coder: impl ValueCoder,
) {
    match components {
        1 => code_vectors::<1>(basis.predictor(count, work), count, coder),
        2 => code_vectors::<2>(basis.predictor(count, work), count, coder),
        3 => code_vectors::<3>(basis.predictor(count, work), count, coder),
        _ => code_vectors::<4>(basis.predictor(count, work), count, coder),
    }
}

/// Decodes `components` (1 to 4) of each vector; `out` has all of them, component-major.
pub(super) fn decode<W: Code, B: ValueBasis>(
    symbols: &mut Decoder<'_>,
    basis: &B,
    components: usize,
    work: &mut B::Buffers,
    out: &mut [W],
) -> Result<(), Corrupt> {
    if !(1..=4).contains(&components) {
        return Err(Corrupt("values: a stream of no or too many components"));
    }
    let count = out.len() / components;
    code(basis, components, count, work, ValueDecoder { symbols, out, count, grain: basis.grain() });
    Ok(())
}

/// Encodes `components` of all vectors. Returns the expected cost in 2⁻⁸ bits.
#[cfg(feature = "encode")]
pub(super) fn encode<W: Code, B: ValueBasis>(
    symbols: &mut Encoder,
    basis: &B,
    components: usize,
    work: &mut B::Buffers,
    mut wanted: InputValues<'_, W>,
) -> u64 {
    let count = wanted.codes.len() / components;
    let mut bits = 0;
    let coder = ValueEncoder { symbols, wanted: &mut wanted, count, grain: basis.grain(), bits: &mut bits };
    code(basis, components, count, work, coder);
    bits
}

struct ValueDecoder<'a, 'b, W> {
    symbols: &'a mut Decoder<'b>,
    out: &'a mut [W],
    count: usize,
    grain: i32,
}

impl<W: Code> ValueCoder for ValueDecoder<'_, '_, W> {
    #[inline(always)]
    fn code_residuals<const N: usize>(
        &mut self,
        v: usize,
        expected: &VertexPrediction<N>,
        scale: &ResidualScale<N>,
    ) -> [i32; N] {
        // A loop, as calls of a closure are not inlined here.
        let (mut sum, mut out) = (0, [0; N]);
        for (k, out) in out.iter_mut().enumerate() {
            let residual = self.symbols.decode(scale.bucket(k, sum));
            sum += size(residual);
            self.out[k * self.count + v] = W::wrap32(expected.code(k, residual, self.grain) as u32);
            *out = residual;
        }
        out
    }
}

/// Codes to encode, and the freedom to move each vertex.
#[cfg(feature = "encode")]
pub struct InputValues<'a, W> {
    /// The nearest codes, component-major. Replaced by the chosen ones.
    pub codes: &'a mut [W],
    /// The distance from each code to its value, in steps; empty if nothing can be chosen.
    pub offset: &'a [f32],
    /// The largest distance from a value to its chosen code, in steps.
    pub radius: f32,
    /// The number of codes of each component.
    pub code_counts: [u32; 4],
    /// The factor of the residuals; 1 if nothing can be chosen.
    pub grain: u32,
}

#[cfg(feature = "encode")]
struct ValueEncoder<'a, 'b, W> {
    symbols: &'a mut Encoder,
    wanted: &'a mut InputValues<'b, W>,
    count: usize,
    grain: i32,
    /// The expected bits of the symbols, in 2⁻⁸.
    bits: &'a mut u64,
}

#[cfg(feature = "encode")]
impl<W: Code> ValueEncoder<'_, '_, W> {
    /// Returns the cost of a residual vector, in 2⁻⁸ bits.
    fn cost<const N: usize>(&self, residual: &[i32; N], scale: &ResidualScale<N>) -> u32 {
        let mut sum = 0;
        let cost = |(k, &r): (usize, &i32)| {
            let cost = scale.bucket(k, sum).cost(r);
            sum += size(r);
            cost
        };
        residual.iter().enumerate().map(cost).sum()
    }

    /// Returns the residuals of the cheapest point within the error bound that residuals can reach.
    fn choose<const N: usize>(
        &self,
        v: usize,
        expected: &VertexPrediction<N>,
        scale: &ResidualScale<N>,
    ) -> [i32; N] {
        let grain = f64::from(self.grain);
        let radius = f64::from(self.wanted.radius) / grain;
        let at = |k: usize| k * self.count + v;
        // From the prediction to the value, in grains.
        let target: [f64; N] = std::array::from_fn(|k| {
            let code = self.wanted.codes[at(k)].to_u32() as i32;
            let whole = code.wrapping_sub(expected.code(k, 0, 1));
            (f64::from(whole) + f64::from(self.wanted.offset[at(k)])) / grain
        });
        let inside = |k: usize, residual: i32| {
            (0..self.wanted.code_counts[k] as i32).contains(&expected.code(k, residual, self.grain))
        };
        // At most the four nearest of each axis, always including the nearest.
        let nearest = target.map(|t| t.round() as i32);
        let low: [i32; N] =
            std::array::from_fn(|k| ((target[k] - radius).ceil() as i32).clamp(nearest[k] - 2, nearest[k]));
        let high: [i32; N] =
            std::array::from_fn(|k| ((target[k] + radius).floor() as i32).clamp(nearest[k], nearest[k] + 2));
        let distance =
            |point: &[i32; N]| -> f64 { (0..N).map(|k| (f64::from(point[k]) - target[k]).powi(2)).sum() };
        let zero = [0; N];
        if distance(&zero) <= radius * radius && (0..N).all(|k| inside(k, 0)) {
            return zero;
        }
        let mut best = (nearest, u32::MAX, f64::INFINITY);
        let mut point = low;
        loop {
            let distance = distance(&point);
            if distance <= radius * radius && (0..N).all(|k| inside(k, point[k])) {
                let cost = self.cost(&point, scale);
                if (cost, distance) < (best.1, best.2) {
                    best = (point, cost, distance);
                }
            }
            let Some(k) = (0..N).find(|&k| point[k] < high[k]) else {
                return best.0;
            };
            point[k] += 1;
            point[..k].copy_from_slice(&low[..k]);
        }
    }
}

#[cfg(feature = "encode")]
impl<W: Code> ValueCoder for ValueEncoder<'_, '_, W> {
    fn code_residuals<const N: usize>(
        &mut self,
        v: usize,
        expected: &VertexPrediction<N>,
        scale: &ResidualScale<N>,
    ) -> [i32; N] {
        let at = |k: usize| k * self.count + v;
        let residual: [i32; N] = match self.wanted.offset {
            [] => std::array::from_fn(|k| {
                (self.wanted.codes[at(k)].to_u32() as i32).wrapping_sub(expected.code(k, 0, 1))
            }),
            _ => self.choose(v, expected, scale),
        };
        let mut sum = 0;
        for k in 0..N {
            let code = expected.code(k, residual[k], self.grain);
            self.wanted.codes[at(k)] = W::wrap32(code as u32);
            let bucket = scale.bucket(k, sum);
            *self.bits += u64::from(bucket.cost(residual[k]));
            self.symbols.push(bucket, residual[k]);
            sum += size(residual[k]);
        }
        residual
    }
}
