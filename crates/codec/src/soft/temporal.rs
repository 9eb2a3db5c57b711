//! Choice of the temporal weights: what is left after the *spatial* prediction is what costs bits, so the weights are
//! fitted to the detail of frames, each vertex less the weighted mean of its neighbours. Encoder only.
//!
//! Candidates are linear and cubic interpolation (keys: the last key, or on from the last two) and the least-squares fit
//! with a sum of 1, found by re-weighting: weight 1/(e² + (0.6 S)²), five rounds, so that the many vertices that could
//! cost nothing count, and the few that are lost anyway do not. The one that is likely to cost least is taken.

use super::cell::Cell;
use super::decode::{MAX_COEFFICIENT, Vector};
use super::schedule::REFERENCES;

/// Detail of one frame at the sampled vertices, in units.
pub type Detail = Vec<[f32; 3]>;

/// The vertices at which frames are compared.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    vertices: Vec<u32>,
}

impl Sample {
    /// At most `most` of the vertices from number `from` on, evenly.
    pub fn new(from: usize, points: usize, most: usize) -> Sample {
        let count = points.saturating_sub(from);
        let stride = count.div_ceil(most.max(1)).max(1);
        Sample {
            vertices: (from..points).step_by(stride).map(|v| v as u32).collect(),
        }
    }

    /// Detail of a decoded frame.
    pub fn decoded<W: Cell>(
        &self,
        frame: &[Vector<W>],
        neighbours: &[[u32; 4]],
        weights: &[[i16; 4]],
        out: &mut Detail,
    ) {
        let value = |v: u32, k: usize| frame[v as usize][k].get() as f32;
        self.detail(neighbours, weights, value, out);
    }

    /// Detail of the source, which is in `1/scale` units.
    pub fn source(
        &self,
        frame: &[[i32; 3]],
        scale: f32,
        neighbours: &[[u32; 4]],
        weights: &[[i16; 4]],
        out: &mut Detail,
    ) {
        let value = |v: u32, k: usize| frame[v as usize][k] as f32 * scale;
        self.detail(neighbours, weights, value, out);
    }

    #[inline(always)]
    fn detail(
        &self,
        neighbours: &[[u32; 4]],
        weights: &[[i16; 4]],
        value: impl Fn(u32, usize) -> f32,
        out: &mut Detail,
    ) {
        out.clear();
        out.extend(self.vertices.iter().map(|&v| {
            let (n, w) = (neighbours[v as usize], weights[v as usize]);
            let w = w.map(|w| f32::from(w) * (1.0 / 4096.0));
            [0, 1, 2].map(|k| {
                let centre = value(v, k);
                let mut sum = 0.0;
                for i in 0..4 {
                    sum += w[i] * (value(n[i], k) - centre);
                }
                // Weights sum to 1, or to 0 where there are no neighbours; then the vertex counts little.
                -sum
            })
        }));
    }
}

/// Weights of Lagrange's interpolation at `time` through `times`.
pub fn lagrange(time: f64, times: &[f64]) -> [f64; REFERENCES] {
    let mut out = [0.0; REFERENCES];
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

/// In 1/256, summing to 256.
pub fn rounded(weights: [f64; REFERENCES], count: usize) -> [i16; REFERENCES] {
    let mut out = [0i16; REFERENCES];
    let most = f64::from(MAX_COEFFICIENT);
    let mut first = 256;
    for k in 1..count {
        out[k] = (weights[k] * 256.0).round().clamp(-most, most) as i16;
        first -= i32::from(out[k]);
    }
    out[0] = first as i16;
    out
}

/// About the bits that these weights leave.
pub fn cost(target: &Detail, references: &[&Detail], weights: [i16; REFERENCES], step: f32) -> f32 {
    let w = weights.map(|w| f32::from(w) / 256.0);
    let inverse = 1.0 / (step * step);
    let mut sum = 0.0;
    let mut product = 1.0f32;
    for (i, t) in target.iter().enumerate() {
        let mut e = *t;
        for (r, w) in references.iter().zip(w) {
            for k in 0..3 {
                e[k] -= w * r[i][k];
            }
        }
        // One logarithm for several factors.
        product *= 1.0 + (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) * inverse;
        if product > 1e18 {
            sum += product.min(f32::MAX).log2();
            product = 1.0;
        }
    }
    sum + product.log2()
}

/// The fit, from the weights `start`; `step` is the layer's.
pub fn fit(
    target: &Detail,
    references: &[&Detail],
    start: [f64; REFERENCES],
    step: f32,
    rounds: u32,
) -> [f64; REFERENCES] {
    let free = references.len() - 1;
    let mut w = start;
    if free == 0 || target.is_empty() {
        return [1.0, 0.0, 0.0, 0.0];
    }
    let floor = (0.6 * step) * (0.6 * step);
    let lengths = references.iter().map(|r| r.len());
    let count = lengths.fold(target.len(), usize::min);
    for _ in 0..rounds {
        let now = w.map(|w| w as f32);
        let mut m = [[0.0f64; 4]; 3];
        for i in 0..count {
            let first = references[0][i];
            let t = target[i];
            let mut d = [[0.0f32; 3]; 3];
            let mut y = [0.0f32; 3];
            let mut e = [0.0f32; 3];
            for k in 0..3 {
                y[k] = t[k] - first[k];
                e[k] = y[k];
            }
            for r in 0..free {
                let other = references[r + 1][i];
                for k in 0..3 {
                    d[r][k] = other[k] - first[k];
                    e[k] -= now[r + 1] * d[r][k];
                }
            }
            let weight = 1.0 / (e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + floor);
            let dot = |a: [f32; 3], b: [f32; 3]| weight * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
            for r in 0..free {
                for c in r..free {
                    m[r][c] += f64::from(dot(d[r], d[c]));
                }
                m[r][3] += f64::from(dot(d[r], y));
            }
        }
        // Weights that do not matter stay where they are.
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

/// Symmetric positive definite; the upper triangle is given.
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
        let frame = |seed: u32| -> Detail {
            let noise = |v: u32, k: u32| {
                let n = (v * 3 + k + seed * 1009).wrapping_mul(2_654_435_761);
                (n ^ n >> 15).wrapping_mul(2_246_822_519) >> 16
            };
            (0..200)
                .map(|v| [0, 1, 2].map(|k| noise(v, k) as f32 / 100.0))
                .collect()
        };
        let r = [frame(1), frame(2), frame(3), frame(4)];
        let want = [0.7f32, 0.5, -0.1, -0.1];
        let target: Detail = (0..200)
            .map(|v| [0, 1, 2].map(|k| (0..4).map(|i| want[i] * r[i][v][k]).sum()))
            .collect();
        let r: Vec<&Detail> = r.iter().collect();
        let w = fit(&target, &r, lagrange(1.0, &[0.0, 2.0, -2.0, 4.0]), 1.0, 5);
        for k in 0..4 {
            assert!((w[k] - f64::from(want[k])).abs() < 1e-3, "{w:?}");
        }
        let cheap = cost(&target, &r, rounded(w, 4), 1.0);
        assert!(cheap < cost(&target, &r, [128, 128, 0, 0], 1.0));
        assert_eq!(
            fit(&target, &r[..1], [0.0; 4], 1.0, 5),
            [1.0, 0.0, 0.0, 0.0]
        );
    }
}
