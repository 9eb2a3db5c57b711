//! Values of a frame's vertices in the order of its triangles: predicted from the vertices before, from other
//! frames of the same triangles, or from the geometry. Residuals are coded by the size of those around.
//! Lossless; the encoder chooses values within the error bound.
//!
//! ```text
//! T        temporal prediction: Σ wᵣ · valueᵣ, rounded, w in 2⁻⁸; 0 without frames
//! above    value − T, per component
//! P        prediction of `above` from the vertices before, those around a vertex (topology/neighbours.rs):
//!          triangles (b, c, a), m of them    (edge·Σ(b + c) + apex·Σa) / 64m, rounded down; edge and apex by m = 1 or more
//!          neighbours, m of them             (whole·Σn) / 64m, rounded down
//!          none                              the vertex before; 0 before the first
//! residual (above − P) / grain, as an entropy symbol of its bucket: a frame that others refer to can have a finer grain than they
//! σ of k   mean_k · (2 + 3·N + 3·W) / 8      mean_k of |residual of component k|, which moves 1/16 of the way with each vertex, 16 at first
//!          N mean size of the residuals of up to four vertices (b and c of the triangles, in order; neighbours; the one before)
//!          W size of the residuals of this vertex's components before k; 1 for the first
//! size     Σ|residual| / Σ mean, in 2⁻⁵, at most 7.97
//! ```
//!
//! The head of a stream: the grain minus 1, a number; for each frame that it may refer to w, then edge and
//! apex for one triangle and for several, then whole: each zigzag, as a number of the range coder, and
//! clamped to ±2¹⁶. Everything wraps at 32 bits; a value is truncated to its word.
//!
//! Credit: Costa Touma and Craig Gotsman, *Triangle Mesh Compression*, 1998 (parallelograms); Daniel
//! Cohen-Or, Rami Cohen and Revital Irony, *Multi-way geometry encoding*, 2002 (the mean of several).

use crate::Corrupt;
#[cfg(feature = "encode")]
use crate::entropy::symbols::Encoder;
use crate::entropy::symbols::{Bucket, Decoder};
use crate::quantize::code::Code;
use crate::topology::neighbours::{MAX_PREDICTORS, Neighbourhood, Neighbours};

/// The largest number of frames that a frame may refer to.
pub const MAX_REFERENCES: usize = 4;
/// The number that stands for 1: in weights of vertices, in weights of frames, and in relative sizes of
/// residuals.
pub(in crate::values) const VERTEX_WEIGHT_ONE: i32 = 64;
pub(in crate::values) const FRAME_WEIGHT_ONE: i32 = 256;
pub(in crate::values) const RELATIVE_SIZE_ONE: u32 = 32;

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
pub struct ValueBuffers {
    /// Values minus their prediction from other frames, vertex by vertex.
    above: Vec<[i32; 4]>,
    /// The relative size of each vertex's residuals.
    large: Vec<u8>,
}

impl ValueBuffers {
    /// Allocates memory for this many vertices.
    pub fn reserve(&mut self, vertices: usize) {
        (self.above).reserve(vertices.saturating_sub(self.above.len()));
        (self.large).reserve(vertices.saturating_sub(self.large.len()));
    }
}

/// The values that a stream is predicted from, with their weights.
#[derive(Clone, Copy)]
pub struct ValueBasis<'a, W> {
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

/// One direction: residuals are decoded, or chosen and encoded.
pub(in crate::values) trait ValueCoder {
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
pub(in crate::values) struct VertexPrediction<const N: usize> {
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
pub(in crate::values) struct ResidualScale<const N: usize> {
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
    #[inline]
    fn bucket(&self, k: usize, sum: u32) -> Bucket {
        let own = match k {
            0 => RELATIVE_SIZE_ONE,
            _ => ratio(sum, self.mean[..k].iter().sum()),
        };
        let sigma =
            u64::from(self.mean[k]) * u64::from(2 * RELATIVE_SIZE_ONE + 3 * self.neighbour_size + 3 * own);
        Bucket::fixed((sigma / u64::from(8 * RELATIVE_SIZE_ONE)).min(1 << 28) as u32)
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
pub(in crate::values) fn size(r: i32) -> u32 {
    r.unsigned_abs().min(1 << 20)
}

/// Returns sum / mean in 2⁻⁵, at most 255; `mean` is in 2⁻⁸.
#[inline]
fn ratio(sum: u32, mean: u32) -> u32 {
    ((u64::from(sum) << 13) / u64::from(mean.max(1))).min(255) as u32
}

/// Visits all vertices in order.
fn code_vertices<W: Code, S: ValueCoder, const N: usize>(
    basis: ValueBasis<'_, W>,
    count: usize,
    work: &mut ValueBuffers,
    side: &mut S,
) {
    work.above.clear();
    work.above.resize(count, [0; 4]);
    work.large.clear();
    work.large.resize(count, RELATIVE_SIZE_ONE as u8);
    let mut scale = ResidualScale::<N>::START;
    for v in 0..count {
        let around = basis.neighbours.around(v as u32);
        let mut expected = VertexPrediction {
            frames: [0; N],
            above: predict_from_surface::<N>(&work.above, v, &around, &basis.weights),
        };
        for (k, out) in expected.frames.iter_mut().enumerate() {
            *out = predict_from_frames::<W, N>(&basis, k, v);
        }
        scale.neighbour_size = mean_neighbour_size(&work.large, v, &around);
        let residual = side.code_residuals(v, &expected, &scale);
        let grain = basis.weights.grain;
        for k in 0..N {
            work.above[v][k] = expected.above[k].wrapping_add(residual[k].wrapping_mul(grain));
        }
        work.large[v] = scale.learn(&residual);
    }
}

/// Predicts a component from other frames, or from the geometry.
#[inline]
fn predict_from_frames<W: Code, const N: usize>(basis: &ValueBasis<'_, W>, k: usize, v: usize) -> i32 {
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

pub(in crate::values) struct ValueDecoder<'a, 'b, W> {
    pub symbols: &'a mut Decoder<'b>,
    pub out: &'a mut [W],
    pub count: usize,
    pub grain: i32,
}

impl<W: Code> ValueCoder for ValueDecoder<'_, '_, W> {
    #[inline]
    fn code_residuals<const N: usize>(
        &mut self,
        v: usize,
        expected: &VertexPrediction<N>,
        scale: &ResidualScale<N>,
    ) -> [i32; N] {
        let mut sum = 0;
        std::array::from_fn(|k| {
            let residual = self.symbols.decode(scale.bucket(k, sum));
            sum += size(residual);
            self.out[k * self.count + v] = W::wrap32(expected.code(k, residual, self.grain) as u32);
            residual
        })
    }
}

/// Decodes `components` (1 to 4) of each vertex; `out` has all of them.
pub fn decode<W: Code>(
    symbols: &mut Decoder<'_>,
    basis: ValueBasis<'_, W>,
    components: usize,
    work: &mut ValueBuffers,
    out: &mut [W],
) -> Result<(), Corrupt> {
    let count = out.len() / components.max(1);
    let size = match basis.vertex {
        [] => count,
        map => map.iter().max().map_or(0, |m| *m as usize + 1),
    };
    let shape = basis.frames.first().map_or(0, |f| f.len());
    let unlike = |f: &&[W]| f.len() != shape || shape < components * size;
    if basis.frames.iter().any(unlike) {
        return Err(Corrupt("changing faces: frames of different shapes"));
    }
    let mut side = ValueDecoder { symbols, out, count, grain: basis.weights.grain };
    match components {
        1 => code_vertices::<W, _, 1>(basis, count, work, &mut side),
        2 => code_vertices::<W, _, 2>(basis, count, work, &mut side),
        3 => code_vertices::<W, _, 3>(basis, count, work, &mut side),
        4 => code_vertices::<W, _, 4>(basis, count, work, &mut side),
        _ => return Err(Corrupt("changing faces: a stream of no or too many components")),
    }
    Ok(())
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
    /// See [`StreamWeights::grain`]; 1 if nothing can be chosen.
    pub grain: u32,
}

#[cfg(feature = "encode")]
pub(in crate::values) struct ValueEncoder<'a, 'b, W> {
    pub symbols: &'a mut Encoder,
    pub wanted: &'a mut InputValues<'b, W>,
    pub count: usize,
    pub grain: i32,
    /// The expected bits of the symbols, in 2⁻⁸.
    pub bits: u64,
}

#[cfg(feature = "encode")]
impl<W: Code> ValueEncoder<'_, '_, W> {
    /// Returns the cost of a residual vector, in 2⁻⁸ bits.
    #[cfg(feature = "encode")]
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
    #[cfg(feature = "encode")]
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
            self.bits += u64::from(bucket.cost(residual[k]));
            self.symbols.push(bucket, residual[k]);
            sum += size(residual[k]);
        }
        residual
    }
}

/// Encodes `components` of all vertices. Returns the expected cost in 2⁻⁸ bits.
#[cfg(feature = "encode")]
pub fn encode<W: Code>(
    symbols: &mut Encoder,
    basis: ValueBasis<'_, W>,
    components: usize,
    work: &mut ValueBuffers,
    mut wanted: InputValues<'_, W>,
) -> u64 {
    let count = wanted.codes.len() / components;
    let mut side = ValueEncoder { symbols, wanted: &mut wanted, count, grain: basis.weights.grain, bits: 0 };
    match components {
        1 => code_vertices::<W, _, 1>(basis, count, work, &mut side),
        2 => code_vertices::<W, _, 2>(basis, count, work, &mut side),
        3 => code_vertices::<W, _, 3>(basis, count, work, &mut side),
        _ => code_vertices::<W, _, 4>(basis, count, work, &mut side),
    }
    side.bits
}

/// Returns the weights that minimize the residuals of these values, by least squares.
#[cfg(feature = "encode")]
pub fn fit<W: Code>(basis: ValueBasis<'_, W>, components: usize, codes: &[W]) -> StreamWeights {
    match components {
        1 => fitted::<W, 1>(basis, codes),
        2 => fitted::<W, 2>(basis, codes),
        3 => fitted::<W, 3>(basis, codes),
        _ => fitted::<W, 4>(basis, codes),
    }
}

/// Fits the weights of frames first, then those of vertices to the remaining differences.
#[cfg(feature = "encode")]
fn fitted<W: Code, const N: usize>(basis: ValueBasis<'_, W>, codes: &[W]) -> StreamWeights {
    let mut weights =
        StreamWeights { frames: fitted_frames::<W, N>(&basis, codes), ..StreamWeights::WITHOUT_FRAMES };
    let basis = ValueBasis { weights, ..basis };
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
fn fitted_frames<W: Code, const N: usize>(basis: &ValueBasis<'_, W>, codes: &[W]) -> [i32; MAX_REFERENCES] {
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
fn surface_sums<W: Code, const N: usize>(basis: &ValueBasis<'_, W>, codes: &[W], alone: bool) -> SurfaceSums {
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
