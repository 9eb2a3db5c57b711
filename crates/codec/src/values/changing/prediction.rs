//! Values of a frame's vertices in the order of its triangles: predicted from the vertices before, from other
//! frames of the same triangles, or from the geometry.
//!
//! ```text
//! T        temporal prediction: Σ wᵣ · valueᵣ, rounded, w in 2⁻⁸; 0 without frames
//! above    value − T, per component
//! P        prediction of `above` from the vertices before, those around a vertex (topology/neighbours.rs):
//!          triangles (b, c, a), m of them    (edge·Σ(b + c) + apex·Σa) / 64m, rounded down; edge and apex by m = 1 or more
//!          neighbours, m of them             (whole·Σn) / 64m, rounded down
//!          none                              the vertex before; 0 before the first
//! residual (above − P) / grain, coded as values/coding.rs says: a frame that others refer to can have a finer grain than they
//! N        mean size of the residuals of up to four vertices (b and c of the triangles, in order; neighbours; the one before)
//! ```
//!
//! The head of a stream: the grain minus 1, a number; for each frame that it may refer to w, then edge and
//! apex for one triangle and for several, then whole: each zigzag, as a number of the range coder, and
//! clamped to ±2¹⁶.
//!
//! Credit: Costa Touma and Craig Gotsman, *Triangle Mesh Compression*, 1998 (parallelograms); Daniel
//! Cohen-Or, Rami Cohen and Revital Irony, *Multi-way geometry encoding*, 2002 (the mean of several).

use crate::Corrupt;
use crate::quantize::code::Code;
use crate::schedule::MAX_REFERENCES;
use crate::topology::neighbours::{MAX_PREDICTORS, Neighbourhood, Neighbours};
use crate::values::coding::{
    FRAME_WEIGHT_ONE, RELATIVE_SIZE_ONE, ResidualScale, VERTEX_WEIGHT_ONE, ValueBasis, ValuePredictor,
    VertexPrediction,
};

/// The weights by which a stream of a frame is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamWeights {
    /// The weights of other frames.
    pub frames: [i32; MAX_REFERENCES],
    /// The weights of edge and apex, with one triangle and with several.
    pub triangles: [[i32; 2]; 2],
    /// The weight of neighbours.
    pub whole: i32,
    /// Residuals are multiples of this, at least 1: the factor by which a frame is coarser than its lattice.
    pub grain: i32,
}

impl StreamWeights {
    /// Prediction by parallelograms, without other frames.
    pub const WITHOUT_FRAMES: StreamWeights = StreamWeights {
        frames: [0; MAX_REFERENCES],
        triangles: [[VERTEX_WEIGHT_ONE, -VERTEX_WEIGHT_ONE], [VERTEX_WEIGHT_ONE, -VERTEX_WEIGHT_ONE]],
        whole: VERTEX_WEIGHT_ONE,
        grain: 1,
    };

    /// Returns all weights except the grain, those of `frames` frames first.
    pub fn iter_mut(&mut self, frames: usize) -> impl Iterator<Item = &mut i32> {
        let triangles = self.triangles.iter_mut().flatten();
        let own = triangles.chain(std::iter::once(&mut self.whole));
        self.frames[..frames].iter_mut().chain(own)
    }
}

/// Buffers, which are reused.
#[derive(Clone, Debug, Default)]
pub struct SurfaceBuffers {
    /// Values minus their prediction from other frames, vertex by vertex.
    above: Vec<[i32; 4]>,
    /// The relative size of each vertex's residuals.
    large: Vec<u8>,
}

impl SurfaceBuffers {
    /// Allocates memory for this many vertices.
    pub fn reserve(&mut self, vertices: usize) {
        (self.above).reserve(vertices.saturating_sub(self.above.len()));
        (self.large).reserve(vertices.saturating_sub(self.large.len()));
    }
}

/// The values that a stream is predicted from, with their weights.
#[derive(Clone, Copy)]
pub struct SurfaceBasis<'a, W> {
    /// The neighbours in this frame's triangles.
    pub neighbours: &'a Neighbours,
    /// The values in other frames, component-major, with equally many vertices each.
    pub frames: &'a [&'a [W]],
    /// The number in those frames of each vertex here; empty if they are the same.
    pub vertex: &'a [u32],
    /// Normals predicted from the geometry; empty if there is no such prediction.
    pub geometry: &'a [[i32; 2]],
    /// The weights of all of these.
    pub weights: StreamWeights,
}

impl<W: Code> SurfaceBasis<'_, W> {
    /// Refuses frames that do not have `components` of each of `count` vertices.
    pub(super) fn check(&self, components: usize, count: usize) -> Result<(), Corrupt> {
        let size = match self.vertex {
            [] => count,
            map => map.iter().max().map_or(0, |m| *m as usize + 1),
        };
        let shape = self.frames.first().map_or(0, |f| f.len());
        let unlike = |f: &&[W]| f.len() != shape || shape < components * size;
        match self.frames.iter().any(unlike) {
            true => Err(Corrupt("changing faces: frames of different shapes")),
            false => Ok(()),
        }
    }
}

impl<'a, W: Code> ValueBasis for SurfaceBasis<'a, W> {
    type Buffers = SurfaceBuffers;
    type Predictor<'p, const N: usize>
        = SurfacePredictor<'a, 'p, W, N>
    where
        Self: 'p;

    fn grain(&self) -> i32 {
        self.weights.grain
    }

    fn predictor<'p, const N: usize>(
        &'p self,
        count: usize,
        work: &'p mut SurfaceBuffers,
    ) -> SurfacePredictor<'a, 'p, W, N> {
        work.above.clear();
        work.above.resize(count, [0; 4]);
        work.large.clear();
        work.large.resize(count, RELATIVE_SIZE_ONE as u8);
        SurfacePredictor { basis: self, work, scale: ResidualScale::START }
    }
}

/// Predicts the values of vertices one after the other.
pub struct SurfacePredictor<'a, 'b, W, const N: usize> {
    basis: &'b SurfaceBasis<'a, W>,
    work: &'b mut SurfaceBuffers,
    scale: ResidualScale<N>,
}

impl<W: Code, const N: usize> ValuePredictor<N> for SurfacePredictor<'_, '_, W, N> {
    #[inline]
    fn predict(&mut self, v: usize) -> (VertexPrediction<N>, &ResidualScale<N>) {
        let around = self.basis.neighbours.around(v as u32);
        let above = predict_from_surface::<N>(&self.work.above, v, &around, &self.basis.weights);
        let mut frames = [0; N];
        for (k, out) in frames.iter_mut().enumerate() {
            *out = predict_from_frames::<W, N>(self.basis, k, v);
        }
        self.scale.neighbour_size = mean_neighbour_size(&self.work.large, v, &around);
        (VertexPrediction { frames, above }, &self.scale)
    }

    #[inline]
    fn learn(&mut self, v: usize, expected: &VertexPrediction<N>, residual: &[i32; N]) {
        let grain = self.basis.weights.grain;
        for k in 0..N {
            self.work.above[v][k] = expected.above[k].wrapping_add(residual[k].wrapping_mul(grain));
        }
        self.work.large[v] = self.scale.learn(residual);
    }
}

/// Predicts a component from other frames, or from the geometry.
#[inline]
fn predict_from_frames<W: Code, const N: usize>(basis: &SurfaceBasis<'_, W>, k: usize, v: usize) -> i32 {
    if let (Some(says), true) = (basis.geometry.get(v), k < 2) {
        return says[k];
    }
    let Some(first) = basis.frames.first() else {
        return 0;
    };
    let at = basis.vertex.get(v).map_or(v, |v| *v as usize) + k * (first.len() / N);
    let all = basis.frames.iter().zip(&basis.weights.frames);
    let sum = all.fold(0i64, |sum, (frame, &w)| sum + i64::from(w) * i64::from(frame[at].to_u32()));
    ((sum + i64::from(FRAME_WEIGHT_ONE / 2)) >> 8) as i32
}

#[inline]
fn predict_from_surface<const N: usize>(
    above: &[[i32; 4]],
    v: usize,
    around: &Neighbourhood,
    weights: &StreamWeights,
) -> [i32; N] {
    let m = around.triangle_count;
    if m > 0 {
        let [edge, apex] = weights.triangles[usize::from(m > 1)].map(i64::from);
        let mut sums = [0i64; N];
        for &[b, c, a] in &around.triangles[..m] {
            let [a, b, c] = [a, b, c].map(|x| &above[x as usize]);
            for k in 0..N {
                let sides = i64::from(b[k]) + i64::from(c[k]);
                sums[k] += edge * sides + apex * i64::from(a[k]);
            }
        }
        return sums.map(|s| s.div_euclid(i64::from(VERTEX_WEIGHT_ONE) * m as i64) as i32);
    }
    let m = around.neighbour_count;
    if m > 0 {
        let mut sums = [0i64; N];
        for &n in &around.neighbours[..m] {
            for k in 0..N {
                sums[k] += i64::from(above[n as usize][k]);
            }
        }
        let whole = i64::from(weights.whole);
        return sums.map(|s| (whole * s).div_euclid(i64::from(VERTEX_WEIGHT_ONE) * m as i64) as i32);
    }
    std::array::from_fn(|k| if v > 0 { above[v - 1][k] } else { 0 })
}

/// Returns the mean relative size of the residuals of the vertices around `v`.
#[inline]
fn mean_neighbour_size(large: &[u8], v: usize, around: &Neighbourhood) -> u32 {
    let at = |n: u32| u32::from(large[n as usize]);
    let m = around.triangle_count.min(MAX_PREDICTORS / 2);
    if m > 0 {
        let sum: u32 = around.triangles[..m].iter().map(|t| at(t[0]) + at(t[1])).sum();
        return sum / (2 * m as u32);
    }
    let m = around.neighbour_count;
    if m > 0 {
        return around.neighbours[..m].iter().map(|&n| at(n)).sum::<u32>() / m as u32;
    }
    match v.checked_sub(1) {
        Some(before) => u32::from(large[before]),
        None => RELATIVE_SIZE_ONE,
    }
}

/// Returns the weights that minimize the residuals of these values, by least squares.
#[cfg(feature = "encode")]
pub fn fit<W: Code>(basis: SurfaceBasis<'_, W>, components: usize, codes: &[W]) -> StreamWeights {
    match components {
        1 => fitted::<W, 1>(basis, codes),
        2 => fitted::<W, 2>(basis, codes),
        3 => fitted::<W, 3>(basis, codes),
        _ => fitted::<W, 4>(basis, codes),
    }
}

/// Fits the weights of frames first, then those of vertices to the remaining differences.
#[cfg(feature = "encode")]
fn fitted<W: Code, const N: usize>(basis: SurfaceBasis<'_, W>, codes: &[W]) -> StreamWeights {
    let mut weights =
        StreamWeights { frames: fitted_frames::<W, N>(&basis, codes), ..StreamWeights::WITHOUT_FRAMES };
    let basis = SurfaceBasis { weights, ..basis };
    // Without other predictions, values have no zero of their own.
    let alone = basis.frames.is_empty() && basis.geometry.is_empty();
    let sums = surface_sums::<W, N>(&basis, codes, alone);
    for (s, out) in sums.triangles.iter().zip(&mut weights.triangles) {
        match alone {
            true => *out = affine_weights(*s).unwrap_or(*out),
            false => *out = free_weights(*s),
        }
    }
    if !alone {
        let [square, product] = sums.whole;
        weights.whole = match square > 0.0 {
            true => (product / square * f64::from(VERTEX_WEIGHT_ONE)).round().clamp(-128.0, 128.0) as i32,
            false => 0,
        };
    }
    weights
}

/// Fits the weights of frames; without frames returns those of [`StreamWeights::WITHOUT_FRAMES`]. They add up
/// to about one: differences to the first frame need no constant.
#[cfg(feature = "encode")]
fn fitted_frames<W: Code, const N: usize>(basis: &SurfaceBasis<'_, W>, codes: &[W]) -> [i32; MAX_REFERENCES] {
    let frames = basis.frames;
    let mut out = StreamWeights::WITHOUT_FRAMES.frames;
    let n = frames.len().min(MAX_REFERENCES);
    if n == 0 {
        return out;
    }
    let count = codes.len() / N;
    let value = |list: &[W], k: usize, v: usize| {
        let v = basis.vertex.get(v).map_or(v, |v| *v as usize);
        f64::from(list[k * (list.len() / N) + v].to_u32())
    };
    let mut normal = [[0.0; MAX_REFERENCES + 1]; MAX_REFERENCES];
    for k in 0..N {
        for v in 0..count {
            let base = value(frames[0], k, v);
            let row: [f64; MAX_REFERENCES + 1] = std::array::from_fn(|j| match j {
                0 => 0.0,
                _ if j < n => value(frames[j], k, v) - base,
                MAX_REFERENCES => f64::from(codes[k * count + v].to_u32()) - base,
                _ => 0.0,
            });
            for i in 1..n {
                for j in 0..=MAX_REFERENCES {
                    normal[i][j] += row[i] * row[j];
                }
            }
        }
    }
    let solved = solve(&normal, 1, n);
    let mut rest = FRAME_WEIGHT_ONE;
    for i in 1..n {
        out[i] = ((solved[i] * f64::from(FRAME_WEIGHT_ONE)).round()).clamp(-2048.0, 2048.0) as i32;
        rest -= out[i];
    }
    out[0] = rest;
    out
}

/// Sums of products over all vertices, from which the weights of the surface are solved.
#[cfg(feature = "encode")]
#[derive(Default)]
struct SurfaceSums {
    /// With one triangle and with several: e², e·a, a², e·value, a·value of edge e and apex a.
    triangles: [[f64; 5]; 2],
    /// Without triangles: m², m·value of the neighbours' mean m.
    whole: [f64; 2],
}

/// Sums over the differences to the frames. `alone`: relative to the first vertex of the edge.
#[cfg(feature = "encode")]
fn surface_sums<W: Code, const N: usize>(
    basis: &SurfaceBasis<'_, W>,
    codes: &[W],
    alone: bool,
) -> SurfaceSums {
    let count = codes.len() / N;
    let above = |k: usize, v: u32| {
        let code = codes[k * count + v as usize].to_u32() as i32;
        f64::from(code.wrapping_sub(predict_from_frames::<W, N>(basis, k, v as usize)))
    };
    let mut sums = SurfaceSums::default();
    for v in 0..count as u32 {
        let around = basis.neighbours.around(v);
        let m = around.triangle_count;
        for k in 0..N {
            let own = above(k, v);
            if m == 0 {
                let m = around.neighbour_count;
                let sum: f64 = around.neighbours[..m].iter().map(|&n| above(k, n)).sum();
                if m > 0 {
                    let mean = sum / m as f64;
                    sums.whole[0] += mean * mean;
                    sums.whole[1] += mean * own;
                }
                continue;
            }
            let (mut e, mut a) = (0.0, 0.0);
            for t in &around.triangles[..m] {
                e += above(k, t[0]) + above(k, t[1]);
                a += above(k, t[2]);
            }
            let zero = if alone { above(k, around.triangles[0][0]) } else { 0.0 };
            let (e, a) = (e / m as f64 - 2.0 * zero, a / m as f64 - zero);
            let own = own - zero;
            let s = &mut sums.triangles[usize::from(m > 1)];
            for (s, x) in s.iter_mut().zip([e * e, e * a, a * a, e * own, a * own]) {
                *s += x;
            }
        }
    }
    sums
}

/// Returns weights of edge and apex that preserve linear functions: 2·edge + apex = 1, which leaves one
/// unknown. value = m + w·(m − a), m = e/2.
#[cfg(feature = "encode")]
fn affine_weights([ee, ea, aa, eo, ao]: [f64; 5]) -> Option<[i32; 2]> {
    let (mm, ma, mo) = (ee / 4.0, ea / 2.0, eo / 2.0);
    let (square, product) = (mm - 2.0 * ma + aa, mo - ao - mm + ma);
    let w = (product / square * 32.0).round().clamp(-64.0, 64.0) as i32 * 2;
    (square > 0.0).then_some([(VERTEX_WEIGHT_ONE + w) / 2, -w])
}

/// Returns weights of edge and apex, both free.
#[cfg(feature = "encode")]
fn free_weights([ee, ea, aa, eo, ao]: [f64; 5]) -> [i32; 2] {
    let det = ee * aa - ea * ea;
    let unit = f64::from(VERTEX_WEIGHT_ONE);
    let round = |x: f64| (x * unit).round().clamp(-256.0, 256.0) as i32;
    match det > 1e-9 * ee * aa {
        true => [round((eo * aa - ao * ea) / det), round((ao * ee - eo * ea) / det)],
        false => [0, 0],
    }
}

/// Solves rows and columns `from..to` of symmetric equations; undetermined unknowns are 0.
#[cfg(feature = "encode")]
pub(in crate::values) fn solve(
    normal: &[[f64; MAX_REFERENCES + 1]; MAX_REFERENCES],
    from: usize,
    to: usize,
) -> [f64; MAX_REFERENCES] {
    let mut m = *normal;
    let scale = (from..to).map(|i| m[i][i]).fold(0.0, f64::max);
    for i in from..to {
        m[i][i] += 1e-7 * scale + 1e-9;
    }
    for i in from..to {
        for j in from..to {
            if i != j {
                let factor = m[j][i] / m[i][i];
                let row = m[i];
                m[j].iter_mut().zip(row).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    std::array::from_fn(|i| match i {
        _ if i < from || i >= to => 0.0,
        _ => m[i][MAX_REFERENCES] / m[i][i],
    })
}
