//! Values of points without faces, in their order: predicted from the values of the same points in other
//! frames or, if no frame has them, from the points before.
//!
//! ```text
//! mask     which frames referred to have the point: a bit for each
//! rest     two frames or more have the point, and all of them the same values
//! T        Σ wᵣ · valueᵣ over the frames of the mask + b, rounded, w in 2⁻⁸ and b in ¼ by mask; at rest that value; 0 without frames
//! above    value − T
//! P        with frames: along₀ · above of the point before / 64, rounded down, if that point has frames and no curve begins here; else 0
//!          without, inside a curve: the value p before + along₁ · (p − the one before that) / 64, if both are of the curve
//!          without, else: the value at the beginning of the curve before, or of the last point without frames; 0 if there is none
//! residual (value − T − P) / grain, coded as values/coding.rs says
//! class    0 no frame · 1 one frame · 2 rest · else 3 + how many of 2, 8, 32 are at most the unrest
//! unrest   of two frames ¼ of the distance of their values; of more that of the polynomial through all of them and the one through
//!          the first two; distances as sums over components, in grains
//! σ of k   with means by class, which begin as the stream says; N is the size of the last point of the class
//! start n  (2 + n mod 2) · 2^⌊n/2⌋ in 2⁻⁸, n at most 55
//! usual w  those of the polynomial through the frames of the mask: Π tₛ / (tₛ − tᵣ) over the others s, t the number of frames after this
//!          one, rounded; the first frame of the mask has 1 minus the others
//! ```

use crate::Corrupt;
#[cfg(feature = "encode")]
use crate::entropy::symbols::Encoder;
use crate::quantize::code::Code;
use crate::schedule::MAX_REFERENCES;
#[cfg(feature = "encode")]
use crate::values::coding::{self, InputValues};
use crate::values::coding::{
    FRAME_WEIGHT_ONE, ResidualScale, VERTEX_WEIGHT_ONE, ValueBasis, ValuePredictor, VertexPrediction, size,
};

/// The number of a point that a frame does not have.
pub(super) const NO_POINT: u32 = u32::MAX;
/// The number of sets of frames that can have a point: a bit for each frame.
pub(super) const MASKS: usize = 1 << MAX_REFERENCES;
pub(super) const MAX_GRAIN: u32 = 255;
pub(super) const MAX_ALONG: i32 = 256;
pub(super) const MAX_WEIGHT: i32 = 1 << 16;
/// The largest bias of a prediction from frames, in quarters.
pub(super) const MAX_BIAS: i32 = 1 << 24;
/// The number of classes of points, by their prediction from frames: none; one frame; at rest; and several
/// classes of moving points.
pub(super) const CLASSES: usize = 7;
const REST_CLASS: usize = 2;
/// The limits of unrest between the classes of moving points.
const UNREST: [u32; CLASSES - REST_CLASS - 2] = [2, 8, 32];
pub(super) const MAX_START: u32 = 55;

/// The sets of frames that the points of a frame are in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Masks {
    used: [bool; MASKS],
    moments: [i32; MAX_REFERENCES],
    /// The weights of the polynomial through the frames of a mask, as far as they are needed.
    default_weights: [[i32; MAX_REFERENCES]; MASKS],
}

impl Masks {
    /// Collects the masks of points, given by their numbers in other frames.
    pub fn new(at: &[[u32; MAX_REFERENCES]]) -> Masks {
        let mut out = Masks::default();
        at.iter().for_each(|at| out.used[frame_mask(at)] = true);
        out
    }

    /// Sets the number of frames by which each frame referred to is after this one.
    pub fn set_moments(&mut self, moments: &[i32]) {
        self.moments = [0; MAX_REFERENCES];
        self.moments.iter_mut().zip(moments).for_each(|(out, moment)| *out = *moment);
        for mask in (1..MASKS).filter(|&mask| self.used[mask]) {
            self.default_weights[mask] = self.polynomial(mask);
            self.default_weights[first_two(mask)] = self.polynomial(first_two(mask));
        }
    }

    /// Returns `true` if points can be of a class.
    pub fn has_class(&self, class: usize) -> bool {
        let least = class.min(REST_CLASS) as u32;
        (0..MASKS).any(|mask| {
            let frames = mask.count_ones();
            self.used[mask] && if least < 2 { frames == least } else { frames > 1 }
        })
    }

    /// Returns the masks that some point has, except the empty one.
    pub fn used_masks(&self) -> impl Iterator<Item = usize> + use<> {
        let there = self.used;
        (1..MASKS).filter(move |&mask| there[mask])
    }

    /// Returns the weights of the polynomial through the frames of a mask that some point has.
    pub fn default_weights(&self, mask: usize) -> [i32; MAX_REFERENCES] {
        self.default_weights[mask]
    }

    fn polynomial(&self, mask: usize) -> [i32; MAX_REFERENCES] {
        let mut out = [0; MAX_REFERENCES];
        let inside = |r: &usize| mask >> r & 1 == 1;
        let (mut first, mut rest) = (None, FRAME_WEIGHT_ONE);
        for r in (0..MAX_REFERENCES).filter(inside) {
            if first.is_none() {
                first = Some(r);
                continue;
            }
            let (mut above, mut below) = (1i128, 1i128);
            for s in (0..MAX_REFERENCES).filter(inside).filter(|&s| s != r) {
                above *= i128::from(self.moments[s]);
                below *= i128::from(self.moments[s]) - i128::from(self.moments[r]);
            }
            if below < 0 {
                (above, below) = (-above, -below);
            }
            let weight = match below {
                0 => 0,
                _ => (2 * i128::from(FRAME_WEIGHT_ONE) * above + below).div_euclid(2 * below),
            };
            out[r] = weight.clamp(-i128::from(MAX_WEIGHT / 4), i128::from(MAX_WEIGHT / 4)) as i32;
            rest -= out[r];
        }
        if let Some(first) = first {
            out[first] = rest;
        }
        out
    }

    /// Returns the weights of all masks.
    #[cfg(feature = "encode")]
    pub fn all_default_weights(&self) -> [[i32; MAX_REFERENCES]; MASKS] {
        self.default_weights
    }
}

/// Returns the first two frames of a mask.
fn first_two(mask: usize) -> usize {
    let rest = mask & mask.wrapping_sub(1);
    mask & !(rest & rest.wrapping_sub(1))
}

/// Returns the mask of the frames that have a point.
fn frame_mask(at: &[u32; MAX_REFERENCES]) -> usize {
    at.iter().enumerate().fold(0, |mask, (r, at)| mask | usize::from(*at != NO_POINT) << r)
}

/// The weights by which a stream of a frame is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParticleWeights {
    /// The weights of other frames, by mask.
    pub frames: [[i32; MAX_REFERENCES]; MASKS],
    /// The bias of that prediction, in quarters, by mask and component.
    pub bias: [[i32; 4]; MASKS],
    /// The weights of the point before, with frames and without.
    pub along: [i32; 2],
    /// Residuals are multiples of this, at least 1.
    pub grain: i32,
    /// The initial sizes of residuals, by class.
    pub starts: [u32; CLASSES],
}

/// The initial mean if nothing is known.
const DEFAULT_START: u32 = 24;

impl ParticleWeights {
    /// Prediction without other frames.
    pub const WITHOUT_FRAMES: ParticleWeights = ParticleWeights {
        frames: [[0; MAX_REFERENCES]; MASKS],
        bias: [[0; 4]; MASKS],
        along: [0; 2],
        grain: 1,
        starts: [DEFAULT_START; CLASSES],
    };
}

/// Buffers, which are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct PointValueBuffers {
    /// For each point, its values, and its values minus their prediction from other frames.
    values: Vec<[[i32; 4]; 2]>,
    sizes: ClassSizes,
}

impl PointValueBuffers {
    /// Bytes per point.
    pub const BYTES: u64 = 32;

    /// Allocates memory for this many points.
    pub fn reserve(&mut self, points: usize) {
        self.values.reserve(points.saturating_sub(self.values.len()));
    }
}

/// The values that a stream is predicted from, with their weights.
#[derive(Clone, Copy)]
pub(super) struct ParticleBasis<'a, W> {
    /// The values in other frames, component-major, each with its own number of points.
    pub frames: &'a [&'a [W]],
    /// For each point, its number in these frames.
    pub frame_points: &'a [[u32; MAX_REFERENCES]],
    /// For each point, `true` if a curve begins here; always `false` without curves.
    pub curve_starts: &'a [bool],
    pub masks: &'a Masks,
    pub weights: &'a ParticleWeights,
}

/// The prediction of a point from other frames.
struct FramePrediction<const N: usize> {
    /// The predicted value T.
    frames: [i32; N],
    class: usize,
}

/// The values of a point in the frames that have it; zeros for others.
struct FrameValues<const N: usize> {
    values: [[u32; N]; MAX_REFERENCES],
    mask: usize,
}

impl<const N: usize> FrameValues<N> {
    /// Returns the values if they are the same in all frames that have the point; `None` without such frames.
    #[inline(always)]
    fn resting(&self) -> Option<[i32; N]> {
        let first = self.values.get(self.mask.trailing_zeros() as usize)?;
        let same = (self.values.iter().enumerate())
            .fold(true, |all, (r, other)| all & (self.mask >> r & 1 == 0 || other == first));
        same.then(|| first.map(|v| v as i32))
    }

    /// Returns the weighted sum of the values.
    #[inline(always)]
    fn weighted(&self, weights: &[i32; MAX_REFERENCES], bias: &[i32; 4]) -> [i32; N] {
        let mut out = [0; N];
        for (k, out) in out.iter_mut().enumerate() {
            let mut sum = i64::from(FRAME_WEIGHT_ONE / 2) + (i64::from(bias[k]) << 6);
            for (values, weight) in self.values.iter().zip(weights) {
                sum += i64::from(*weight) * i64::from(values[k]);
            }
            *out = (sum >> 8) as i32;
        }
        out
    }

    /// Returns the class of a moving point, by the difference between the predictions from all frames and
    /// from two.
    #[inline(always)]
    fn motion_class(&self, masks: &Masks, grain: i32) -> usize {
        let two = first_two(self.mask);
        let distance = |a: [i32; N], b: [i32; N]| {
            let sides = a.iter().zip(&b).map(|(a, b)| u64::from(a.wrapping_sub(*b).unsigned_abs()));
            sides.sum::<u64>()
        };
        let unrest = if self.mask == two {
            let (a, b) = (two.trailing_zeros() as usize, two.ilog2() as usize);
            let [a, b] = [a, b].map(|r| self.values[r].map(|v| v as i32));
            distance(a, b) / 4
        } else {
            let [all, line] =
                [self.mask, two].map(|mask| self.weighted(&masks.default_weights[mask], &[0; 4]));
            distance(all, line)
        };
        let grain = u64::from(grain.unsigned_abs().max(1));
        REST_CLASS + 1 + UNREST.iter().filter(|&&least| unrest >= u64::from(least) * grain).count()
    }
}

impl<W: Code> ParticleBasis<'_, W> {
    /// Predicts a point from other frames.
    #[inline(always)]
    fn predict_from_frames<const N: usize>(&self, v: usize) -> FramePrediction<N> {
        let values = self.values::<N>(v);
        let mask = values.mask;
        if mask == 0 {
            return FramePrediction { frames: [0; N], class: 0 };
        }
        let is_single = mask & (mask - 1) == 0;
        if !is_single && let Some(frames) = values.resting() {
            return FramePrediction { frames, class: REST_CLASS };
        }
        let frames = values.weighted(&self.weights.frames[mask], &self.weights.bias[mask]);
        let class = if is_single { 1 } else { values.motion_class(self.masks, self.weights.grain) };
        FramePrediction { frames, class }
    }

    /// Returns the values of a point in the frames that have it.
    #[inline(always)]
    fn values<const N: usize>(&self, v: usize) -> FrameValues<N> {
        let mut out = FrameValues { values: [[0; N]; MAX_REFERENCES], mask: 0 };
        for (r, (frame, &at)) in self.frames.iter().zip(&self.frame_points[v]).enumerate() {
            if at != NO_POINT {
                let count = frame.len() / N;
                out.mask |= 1 << r;
                for (k, value) in out.values[r].iter_mut().enumerate() {
                    *value = frame[k * count + at as usize].to_u32();
                }
            }
        }
        out
    }

    fn is_curve(&self) -> bool {
        self.curve_starts.first() == Some(&true)
    }
}

/// The earlier points from which a point without frames is predicted.
#[derive(Default)]
struct PrecedingPoints {
    /// The first point of the curve before, or the last point without frames.
    alone: Option<usize>,
}

impl PrecedingPoints {
    /// Returns P, and updates the state for the next point.
    fn predict<const N: usize, W: Code>(
        &mut self,
        basis: &ParticleBasis<'_, W>,
        v: usize,
        has_frames: bool,
        done: &[[[i32; 4]; 2]],
    ) -> [i32; N] {
        let curve = basis.is_curve();
        let start = basis.curve_starts[v];
        let [along, on] = basis.weights.along;
        let scaled = |weight: i32, by: i32| {
            (i64::from(weight) * i64::from(by)).div_euclid(i64::from(VERTEX_WEIGHT_ONE)) as i32
        };
        let out = match v.checked_sub(1) {
            Some(before) if has_frames => match !start && frame_mask(&basis.frame_points[before]) != 0 {
                true => std::array::from_fn(|k| scaled(along, done[before][1][k])),
                false => [0; N],
            },
            Some(before) if curve && !start => match before.checked_sub(1) {
                Some(more) if !basis.curve_starts[before] => std::array::from_fn(|k| {
                    let (near, far) = (done[before][0][k], done[more][0][k]);
                    near.wrapping_add(scaled(on, near.wrapping_sub(far)))
                }),
                _ => std::array::from_fn(|k| done[before][0][k]),
            },
            _ if has_frames => [0; N],
            _ => self.alone.map_or([0; N], |at| std::array::from_fn(|k| done[at][0][k])),
        };
        if if curve { start } else { !has_frames } {
            self.alone = Some(v);
        }
        out
    }
}

/// For each class, the number of residuals and the sum of their sizes.
type ClassSizes = [[u64; 2]; CLASSES];

impl<'a, W: Code> ValueBasis for ParticleBasis<'a, W> {
    type Buffers = PointValueBuffers;
    type Predictor<'p, const N: usize>
        = PointPredictor<'a, 'p, W, N>
    where
        Self: 'p;

    fn grain(&self) -> i32 {
        self.weights.grain
    }

    fn predictor<'p, const N: usize>(
        &'p self,
        count: usize,
        work: &'p mut PointValueBuffers,
    ) -> PointPredictor<'a, 'p, W, N> {
        work.values.clear();
        work.values.resize(count, [[0; 4]; 2]);
        work.sizes = ClassSizes::default();
        let start = |n: u32| ResidualScale::from_mean((2 + n % 2) << (n.min(MAX_START) / 2));
        PointPredictor {
            basis: self,
            work,
            scales: self.weights.starts.map(start),
            preceding: PrecedingPoints::default(),
            class: 0,
        }
    }
}

/// Predicts the values of points one after the other.
pub(super) struct PointPredictor<'a, 'b, W, const N: usize> {
    basis: &'b ParticleBasis<'a, W>,
    work: &'b mut PointValueBuffers,
    /// By class.
    scales: [ResidualScale<N>; CLASSES],
    preceding: PrecedingPoints,
    /// The class of the point that was predicted.
    class: usize,
}

impl<W: Code, const N: usize> ValuePredictor<N> for PointPredictor<'_, '_, W, N> {
    #[inline]
    fn predict(&mut self, v: usize) -> (VertexPrediction<N>, &ResidualScale<N>) {
        let FramePrediction { frames, class } = self.basis.predict_from_frames::<N>(v);
        let above = self.preceding.predict::<N, W>(self.basis, v, class != 0, &self.work.values);
        self.class = class;
        (VertexPrediction { frames, above }, &self.scales[class])
    }

    #[inline]
    fn learn(&mut self, v: usize, expected: &VertexPrediction<N>, residual: &[i32; N]) {
        let [values, above] = &mut self.work.values[v];
        for k in 0..N {
            values[k] = expected.code(k, residual[k], self.basis.weights.grain);
            above[k] = values[k].wrapping_sub(expected.frames[k]);
        }
        let [count, sum] = &mut self.work.sizes[self.class];
        *count += N as u64;
        *sum += residual.iter().map(|r| u64::from(size(*r))).sum::<u64>();
        let scale = &mut self.scales[self.class];
        scale.neighbour_size = u32::from(scale.learn(residual));
    }
}

impl<W: Code> ParticleBasis<'_, W> {
    /// Refuses frames that lack points that `frame_points` refers to, and another number of points than
    /// `count`.
    pub(super) fn check(&self, components: usize, count: usize) -> Result<(), Corrupt> {
        let points = self.frame_points.len();
        let fits = self.curve_starts.len() == points && count == points;
        let has = |r: usize, at: u32| {
            at == NO_POINT || self.frames.get(r).is_some_and(|f| (at as usize) < f.len() / components.max(1))
        };
        match fits && self.frame_points.iter().all(|at| (0..MAX_REFERENCES).all(|r| has(r, at[r]))) {
            true => Ok(()),
            false => Err(Corrupt("particles: frames of other points")),
        }
    }
}

/// Returns initial means that match the residuals under these weights, so that they need not be learnt.
#[cfg(feature = "encode")]
pub(super) fn fit_starts<W: Code>(
    basis: ParticleBasis<'_, W>,
    components: usize,
    work: &mut PointValueBuffers,
    wanted: &InputValues<'_, W>,
) -> [u32; CLASSES] {
    let mut codes = wanted.codes.to_vec();
    let trial = InputValues { codes: &mut codes, ..*wanted };
    coding::encode(&mut Encoder::default(), &basis, components, work, trial);
    work.sizes.map(|[count, sum]| {
        if count == 0 {
            return DEFAULT_START;
        }
        let mean = ((sum << 8) / count).clamp(2, 1 << 28) as u32;
        let low = 2 * (mean.ilog2() - 1);
        low + (mean >> (mean.ilog2() - 1) & 1)
    })
}

/// Returns the weights that minimize the residuals of these values.
#[cfg(feature = "encode")]
pub(super) fn fit<W: Code>(
    basis: ParticleBasis<'_, W>,
    components: usize,
    masks: &Masks,
    codes: &[W],
) -> ParticleWeights {
    match components {
        1 => fitted::<W, 1>(basis, masks, codes),
        2 => fitted::<W, 2>(basis, masks, codes),
        3 => fitted::<W, 3>(basis, masks, codes),
        _ => fitted::<W, 4>(basis, masks, codes),
    }
}

/// A mask with fewer points than this keeps the usual weights.
#[cfg(feature = "encode")]
const MIN_POINTS_TO_FIT: usize = 16;

/// The bits that an explicit weight costs.
#[cfg(feature = "encode")]
const WEIGHT_BITS: f64 = 12.0;

#[cfg(feature = "encode")]
fn fitted<W: Code, const N: usize>(
    basis: ParticleBasis<'_, W>,
    masks: &Masks,
    codes: &[W],
) -> ParticleWeights {
    let count = basis.frame_points.len();
    let code = |v: usize, k: usize| codes[k * count + v].to_u32() as i32;
    let mut weights = *basis.weights;
    for mask_of in masks.used_masks() {
        let moves = |v: usize| mask_of.count_ones() == 1 || basis.values::<N>(v).resting().is_none();
        let points: Vec<usize> =
            (0..count).filter(|&v| frame_mask(&basis.frame_points[v]) == mask_of && moves(v)).collect();
        if points.len() < MIN_POINTS_TO_FIT {
            continue;
        }
        let bits = |weights: &[i32; MAX_REFERENCES], bias: &[i32; 4]| -> f64 {
            let left = points.iter().map(|&v| {
                let says = basis.values::<N>(v).weighted(weights, bias);
                (0..N)
                    .map(|k| f64::from(code(v, k).wrapping_sub(says[k]).unsigned_abs()).ln_1p())
                    .sum::<f64>()
            });
            left.sum::<f64>() / std::f64::consts::LN_2
        };
        let (own, bias) = least_distances::<W, N>(&basis, mask_of, &points, &code);
        let room = WEIGHT_BITS * (f64::from(mask_of.count_ones()) + N as f64);
        if bits(&own, &bias) + room < bits(&weights.frames[mask_of], &[0; 4]) {
            weights.frames[mask_of] = own;
            weights.bias[mask_of] = bias;
        }
    }
    weights.along = fit_along::<W, N>(&ParticleBasis { weights: &weights, ..basis }, &code);
    weights
}

/// Fits weights of the frames of a mask, which add up to 1, and their bias, such that the sum of distances is
/// small: by iteratively reweighted least squares, in which points with a larger error count less.
#[cfg(feature = "encode")]
fn least_distances<W: Code, const N: usize>(
    basis: &ParticleBasis<'_, W>,
    mask_of: usize,
    points: &[usize],
    code: &impl Fn(usize, usize) -> i32,
) -> ([i32; MAX_REFERENCES], [i32; 4]) {
    const ROUNDS: usize = 4;
    /// Columns: differences of frames, a bias per component, the wanted result.
    const WIDE: usize = MAX_REFERENCES + 4;
    let inside: Vec<usize> = (0..MAX_REFERENCES).filter(|r| mask_of >> r & 1 == 1).collect();
    let terms = inside.len() - 1;
    let rows: Vec<([f64; MAX_REFERENCES], f64, usize)> = points
        .iter()
        .flat_map(|&v| {
            let all: Vec<[u32; N]> = inside.iter().map(|&r| basis.values::<N>(v).values[r]).collect();
            (0..N).map(move |k| {
                let base = f64::from(all[0][k]);
                let mut row = [0.0; MAX_REFERENCES];
                row.iter_mut().zip(&all[1..]).for_each(|(out, value)| *out = f64::from(value[k]) - base);
                (row, base, k)
            })
        })
        .collect();
    let wanted: Vec<f64> = (points.iter())
        .flat_map(|&v| (0..N).map(move |k| (v, k)))
        .zip(&rows)
        .map(|((v, k), (_, base, _))| f64::from(code(v, k)) - base)
        .collect();
    let mut solved = [0.0; WIDE];
    for round in 0..ROUNDS {
        let mut normal = [[0.0; WIDE + 1]; WIDE];
        for ((row, _, k), wanted) in rows.iter().zip(&wanted) {
            let mut all = [0.0; WIDE + 1];
            all[..terms].copy_from_slice(&row[..terms]);
            all[terms + k] = 1.0;
            all[WIDE] = *wanted;
            let off = wanted - (0..WIDE).map(|i| all[i] * solved[i]).sum::<f64>();
            let weight = if round == 0 { 1.0 } else { 1.0 / (1.0 + off.abs()) };
            for i in 0..terms + N {
                for j in 0..=WIDE {
                    normal[i][j] += weight * all[i] * all[j];
                }
            }
        }
        solved = gaussian_elimination(normal, terms + N);
    }
    let mut weights = [0; MAX_REFERENCES];
    let mut rest = FRAME_WEIGHT_ONE;
    for (i, &r) in inside.iter().enumerate().skip(1) {
        weights[r] = (solved[i - 1] * f64::from(FRAME_WEIGHT_ONE)).round().clamp(-4096.0, 4096.0) as i32;
        rest -= weights[r];
    }
    weights[inside[0]] = rest;
    // For the rounded weights.
    let mut bias = [0; 4];
    for (k, bias) in bias.iter_mut().take(N).enumerate() {
        let most = f64::from(MAX_BIAS);
        *bias = (solved[terms + k] * 4.0).round().clamp(-most, most) as i32;
    }
    (weights, bias)
}

/// Solves for the first `size` unknowns of equations whose last column is the right side; undetermined
/// unknowns are 0.
#[cfg(feature = "encode")]
pub(super) fn gaussian_elimination<const W: usize, const C: usize>(
    mut rows: [[f64; C]; W],
    size: usize,
) -> [f64; W] {
    for i in 0..size {
        let largest = (i..size).max_by(|a, b| rows[*a][i].abs().total_cmp(&rows[*b][i].abs())).unwrap_or(i);
        rows.swap(i, largest);
        let pivot = rows[i];
        for (j, row) in rows.iter_mut().enumerate().take(size) {
            if j != i && pivot[i].abs() > 1e-9 {
                let by = row[i] / pivot[i];
                row.iter_mut().zip(&pivot).for_each(|(out, p)| *out -= by * p);
            }
        }
    }
    std::array::from_fn(|i| match i < size && rows[i][i].abs() > 1e-9 {
        true => rows[i][C - 1] / rows[i][i],
        false => 0.0,
    })
}

/// Fits the weights of the point before, by least squares.
#[cfg(feature = "encode")]
fn fit_along<W: Code, const N: usize>(
    basis: &ParticleBasis<'_, W>,
    code: &impl Fn(usize, usize) -> i32,
) -> [i32; 2] {
    let count = basis.frame_points.len();
    let has_frames = |v: usize| frame_mask(&basis.frame_points[v]) != 0;
    let above = |v: usize| -> [i32; N] {
        let says = basis.predict_from_frames::<N>(v).frames;
        std::array::from_fn(|k| code(v, k).wrapping_sub(says[k]))
    };
    let mut sums = [[0.0; 2]; 2];
    let mut add = |which: usize, from: f64, to: f64| {
        sums[which][0] += from * from;
        sums[which][1] += from * to;
    };
    for v in 1..count {
        if basis.curve_starts[v] {
            continue;
        }
        if has_frames(v) && has_frames(v - 1) {
            let (own, before) = (above(v), above(v - 1));
            (0..N).for_each(|k| add(0, f64::from(before[k]), f64::from(own[k])));
        }
        if !has_frames(v) && basis.is_curve() && v > 1 && !basis.curve_starts[v - 1] {
            for k in 0..N {
                let step = |v: usize| f64::from(code(v, k).wrapping_sub(code(v - 1, k)));
                add(1, step(v - 1), step(v));
            }
        }
    }
    sums.map(|[square, product]| match square > 0.0 {
        true => (product / square * f64::from(VERTEX_WEIGHT_ONE)).round().clamp(-128.0, 128.0) as i32,
        false => 0,
    })
}
