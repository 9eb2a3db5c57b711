//! Chooses the temporal weights of a frame by the bits that remain after the *spatial* prediction. Encoder
//! only.
//!
//! The codec is simulated on a sample of vertices: the innovation of each neighbour is its error if that is
//! outside the error bound, else zero. If much is corrected, the spatial residual of frames decides (each
//! vertex minus the weighted mean of its neighbours); if little is corrected, their positions decide.
//!
//! Candidates are linear and cubic interpolation (key frames: the last key, or extrapolation from the last
//! two) and least-squares fits, with weights of sum 1, of the simulated residuals. The fits are iteratively
//! reweighted by x or 1/x, whichever is smaller, with x = e²/bound²: vertices near the bound count most;
//! those well inside cost nothing, and those far outside are corrected anyway.

use crate::mesh::decode::{DecodedPoint, MAX_COEFFICIENT};
use crate::quantize::fixed_point::FixedPoint;
use crate::schedule::MAX_REFERENCES;
use crate::simd::doubles::Doubles;
use crate::simd::isa::Isa;
use crate::simd::{Kernel, run_kernel};

/// A frame at the sampled vertices, in units: x, y and z of the four neighbours times their weights, then the
/// vertex itself.
pub type SpatialResidual = Vec<[f32; 16]>;

/// The vertices at which frames are compared.
#[derive(Debug, Clone, Default)]
pub struct SampledVertices {
    vertices: Vec<u32>,
    /// The squared weights of their neighbours.
    squares: Vec<[f32; 4]>,
}

impl SampledVertices {
    /// Creates a sample of these vertices.
    pub fn new(chosen: impl Iterator<Item = usize> + Clone, weights: &[[i16; 4]]) -> SampledVertices {
        let one = |w: i16| (f32::from(w) / 4096.0) * (f32::from(w) / 4096.0);
        SampledVertices {
            vertices: chosen.clone().map(|v| v as u32).collect(),
            squares: chosen.map(|v| weights[v].map(one)).collect(),
        }
    }

    /// Computes the spatial residual of a decoded frame.
    pub fn decoded<W: FixedPoint>(
        &self,
        frame: &[DecodedPoint<W>],
        neighbours: &[[u32; 4]],
        weights: &[[i16; 4]],
        out: &mut SpatialResidual,
    ) {
        let value = |v: u32, k: usize| frame[v as usize][k].to_i32() as f32;
        self.spatial_residual(neighbours, weights, value, out);
    }

    /// Computes the spatial residual of the source; `scale` converts its values to units.
    pub fn source(
        &self,
        frame: &[[i32; 3]],
        scale: f32,
        neighbours: &[[u32; 4]],
        weights: &[[i16; 4]],
        out: &mut SpatialResidual,
    ) {
        let value = |v: u32, k: usize| frame[v as usize][k] as f32 * scale;
        self.spatial_residual(neighbours, weights, value, out);
    }

    #[inline(always)]
    fn spatial_residual(
        &self,
        neighbours: &[[u32; 4]],
        weights: &[[i16; 4]],
        value: impl Fn(u32, usize) -> f32,
        out: &mut SpatialResidual,
    ) {
        out.clear();
        out.extend(self.vertices.iter().map(|&v| {
            let (near, weights) = (neighbours[v as usize], weights[v as usize]);
            let mut all = [0.0; 16];
            for n in 0..4 {
                let w = f32::from(weights[n]) * (1.0 / 4096.0);
                for k in 0..3 {
                    all[4 * k + n] = w * value(near[n], k);
                }
            }
            for k in 0..3 {
                all[OWN_INDEX + k] = value(v, k);
            }
            all
        }));
    }
}

/// The index of the vertex itself in a [`SpatialResidual`].
const OWN_INDEX: usize = 12;

/// Returns the weights of Lagrange's interpolation at `time` through `times`.
pub fn lagrange(time: f64, times: &[f64]) -> [f64; MAX_REFERENCES] {
    let mut out = [0.0; MAX_REFERENCES];
    for (i, o) in out.iter_mut().enumerate().take(times.len()) {
        *o = 1.0;
        for (j, t) in times.iter().enumerate() {
            if i != j {
                *o *= (time - t) / (times[i] - t);
            }
        }
    }
    out
}

/// Returns the weights in 1/256, with a sum of 256.
pub fn rounded(weights: [f64; MAX_REFERENCES], count: usize) -> [i16; MAX_REFERENCES] {
    let mut out = [0i16; MAX_REFERENCES];
    let most = f64::from(MAX_COEFFICIENT);
    let mut first = 256;
    for k in 1..count {
        out[k] = (weights[k] * 256.0).round().clamp(-most, most) as i16;
        first -= i32::from(out[k]);
    }
    out[0] = first as i16;
    out
}

/// The quantizer as simulated.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedQuantizer {
    /// The error bound within which a residual of zero suffices, in units.
    pub bound: f32,
    /// The mean squared error of a corrected vertex, relative to the squared bound.
    pub noise: f32,
}

/// Returns the errors of a vertex and of its neighbours (times their weights) after temporal prediction only.
#[inline(always)]
fn errors(
    target: &[f32; 16],
    references: &[&[[f32; 16]]; MAX_REFERENCES],
    i: usize,
    w: [f32; MAX_REFERENCES],
) -> [f32; 16] {
    let mut e = *target;
    for (r, w) in references.iter().zip(w) {
        let r = &r[i];
        for n in 0..16 {
            e[n] -= w * r[n];
        }
    }
    e
}

/// Returns 1 for each neighbour whose error is outside the bound and will be corrected, else 0.
#[inline(always)]
fn corrected(e: &[f32; 16], squares: &[f32; 4], bound: f32) -> [f32; 4] {
    let mut part = [0.0; 4];
    for n in 0..4 {
        let square = e[n] * e[n] + e[4 + n] * e[4 + n] + e[8 + n] * e[8 + n];
        part[n] = if square > bound * squares[n] { 1.0 } else { 0.0 };
    }
    part
}

/// Subtracts those neighbours from the vertex.
#[inline(always)]
fn filtered(v: &[f32; 16], part: [f32; 4]) -> [f32; 3] {
    let mut out = [0.0; 3];
    for k in 0..3 {
        let near: &[f32; 16] = v;
        let sum = (part[0] * near[4 * k] + part[1] * near[4 * k + 1])
            + (part[2] * near[4 * k + 2] + part[3] * near[4 * k + 3]);
        out[k] = v[OWN_INDEX + k] - sum;
    }
    out
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Pads the list of references; the added ones have weight 0.
fn slices<'a>(references: &[&'a SpatialResidual]) -> [&'a [[f32; 16]]; MAX_REFERENCES] {
    std::array::from_fn(|r| &references[if r < references.len() { r } else { 0 }][..])
}

/// The task of [`SampledVertices::cost`].
struct Cost<'a> {
    sample: &'a SampledVertices,
    target: &'a [[f32; 16]],
    references: [&'a [[f32; 16]]; MAX_REFERENCES],
    weights: [f32; MAX_REFERENCES],
    scale: SimulatedQuantizer,
    sum: &'a mut f32,
}

impl Kernel for Cost<'_> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) {
        let bound = self.scale.bound * self.scale.bound;
        let inverse = 1.0 / bound;
        let mut sum = 0.0;
        let mut product = 1.0f32;
        for (i, t) in self.target.iter().enumerate() {
            let squares = &self.sample.squares[i];
            let e = errors(t, &self.references, i, self.weights);
            let part = corrected(&e, squares, bound);
            let left = filtered(&e, part);
            let noise =
                (part[0] * squares[0] + part[1] * squares[1]) + (part[2] * squares[2] + part[3] * squares[3]);
            let x = dot(left, left) * inverse + self.scale.noise * noise;
            // One logarithm for several factors. Inside the bound the cost is nearly zero.
            let inside = x.min(1.0);
            let cube = inside * inside * inside;
            product *= 1.0 + 8.0 * x * cube * inside * inside;
            if product > 1e18 {
                sum += product.min(f32::MAX).log2();
                product = 1.0;
            }
        }
        *self.sum = sum + product.log2();
    }
}

/// A round of [`SampledVertices::fit`]: the normal equations of all weights but the first.
struct Round<'a> {
    sample: &'a SampledVertices,
    target: &'a [[f32; 16]],
    references: [&'a [[f32; 16]]; MAX_REFERENCES],
    weights: [f32; MAX_REFERENCES],
    bound: f32,
    sums: &'a mut [[f64; 4]; 3],
}

impl Kernel for Round<'_> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) {
        let m = self.sums;
        for (i, t) in self.target.iter().enumerate() {
            let e = errors(t, &self.references, i, self.weights);
            let part = corrected(&e, &self.sample.squares[i], self.bound);
            let left = filtered(&e, part);
            let first = filtered(&self.references[0][i], part);
            let own = filtered(t, part);
            let x = dot(left, left) / self.bound;
            let weight = x.min(1.0 / x);
            let mut d = [[0.0f32; 3]; 4];
            for r in 0..MAX_REFERENCES - 1 {
                let other = filtered(&self.references[r + 1][i], part);
                for k in 0..3 {
                    d[r][k] = other[k] - first[k];
                }
            }
            for k in 0..3 {
                d[3][k] = own[k] - first[k];
            }
            for r in 0..3 {
                for c in r..4 {
                    m[r][c] += f64::from(weight * dot(d[r], d[c]));
                }
            }
        }
    }
}

impl SampledVertices {
    /// Estimates the bits that remain with these weights.
    pub fn cost(
        &self,
        target: &SpatialResidual,
        references: &[&SpatialResidual],
        weights: [i16; MAX_REFERENCES],
        scale: SimulatedQuantizer,
    ) -> f32 {
        let mut sum = 0.0;
        let task = Cost {
            sample: self,
            target,
            references: slices(references),
            weights: weights.map(|w| f32::from(w) / 256.0),
            scale,
            sum: &mut sum,
        };
        run_kernel(Isa::get(), task);
        sum
    }

    /// Fits weights, starting from `start`.
    pub fn fit(
        &self,
        target: &SpatialResidual,
        references: &[&SpatialResidual],
        start: [f64; MAX_REFERENCES],
        scale: SimulatedQuantizer,
        rounds: u32,
    ) -> [f64; MAX_REFERENCES] {
        let free = references.len() - 1;
        let mut w = start;
        if free == 0 || target.is_empty() {
            return [1.0, 0.0, 0.0, 0.0];
        }
        let bound = (scale.bound * scale.bound).max(f32::MIN_POSITIVE);
        for _ in 0..rounds {
            let mut m = [[0.0f64; 4]; 3];
            let round = Round {
                sample: self,
                target,
                references: slices(references),
                weights: w.map(|w| w as f32),
                bound,
                sums: &mut m,
            };
            run_kernel(Isa::get(), round);
            // Weights that have no effect keep their values.
            for r in 0..free {
                let ridge = 1e-6 * m[r][r] + 1e-3;
                m[r][r] += ridge;
                m[r][3] += ridge * w[r + 1];
            }
            let x = solve(&mut m, free);
            w[0] = 1.0;
            for r in 0..free {
                w[r + 1] = x[r].clamp(-30.0, 30.0);
                w[0] -= w[r + 1];
            }
        }
        w
    }
}

/// Solves a symmetric positive definite system, given its upper triangle.
fn solve(m: &mut [[f64; 4]; 3], n: usize) -> [f64; 3] {
    for r in 0..n {
        for c in 0..r {
            m[r][c] = m[c][r];
        }
    }
    for p in 0..n {
        for r in p + 1..n {
            let f = m[r][p] / m[p][p];
            for c in p..4 {
                m[r][c] -= f * m[p][c];
            }
        }
    }
    let mut x = [0.0; 3];
    for p in (0..n).rev() {
        let mut v = m[p][3];
        for c in p + 1..n {
            v -= m[p][c] * x[c];
        }
        x[p] = v / m[p][p];
        if !x[p].is_finite() {
            x[p] = 0.0;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolation() {
        let w = lagrange(1.0, &[0.0, 2.0, -2.0, 4.0]);
        assert_eq!(rounded(w, 4), [144, 144, -16, -16]);
        assert_eq!(rounded(lagrange(3.0, &[0.0]), 1), [256, 0, 0, 0]);
        assert_eq!(rounded([0.0, 1e9, 0.0, 0.0], 2), [-7935, 8191, 0, 0]);
    }

    #[test]
    fn a_fit_finds_the_weights() {
        let noise = |v: u32, k: u32, seed: u32| {
            let n = (v * 15 + k + seed * 10_009).wrapping_mul(2_654_435_761);
            ((n ^ n >> 15).wrapping_mul(2_246_822_519) >> 16) as f32 / 100.0
        };
        let frame = |seed: u32| -> SpatialResidual {
            let at = |v: u32| std::array::from_fn(|n| noise(v, n as u32, seed));
            (0..200).map(at).collect()
        };
        let r = [frame(1), frame(2), frame(3), frame(4)];
        let want = [0.7f32, 0.5, -0.1, -0.1];
        let blend = |v: usize, n: usize| (0..4).map(|i| want[i] * r[i][v][n]).sum();
        let target: SpatialResidual = (0..200).map(|v| std::array::from_fn(|n| blend(v, n))).collect();
        let r: Vec<&SpatialResidual> = r.iter().collect();
        let sample = SampledVertices::new(0..200, &[[1024; 4]; 200]);
        let scale = SimulatedQuantizer { bound: 1.1, noise: 0.0 };
        let w = sample.fit(&target, &r, lagrange(1.0, &[0.0, 2.0, -2.0, 4.0]), scale, 5);
        for k in 0..4 {
            assert!((w[k] - f64::from(want[k])).abs() < 1e-3, "{w:?}");
        }
        let cheap = sample.cost(&target, &r, rounded(w, 4), scale);
        assert!(cheap < sample.cost(&target, &r, [128, 128, 0, 0], scale));
        let one = sample.fit(&target, &r[..1], [0.0; 4], scale, 5);
        assert_eq!(one, [1.0, 0.0, 0.0, 0.0]);
    }
}
