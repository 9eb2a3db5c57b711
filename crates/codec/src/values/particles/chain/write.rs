//! Encodes a chain: fits the motion of its streams, and decides the outcome for each point.

use super::motion::{MAX_MEMORY, MAX_MOTION_PARAM, MotionParams, SizeStatistics, length, stride};
use super::{Chain, ChainCoder, OutcomeChooser, PointLayout, PointOutcome, RawBits};
use crate::Corrupt;
use crate::bytes::put_varint;
use crate::entropy::range;
use crate::entropy::symbols;
use crate::values::particles::ParticlePoints;
use crate::values::particles::prediction::{MAX_GRAIN, gaussian_elimination};
use std::collections::HashMap;

/// A stream of a frame, component-major.
#[derive(Clone, Debug, Default)]
pub struct InputStream {
    /// The nearest codes. Replaced by the chosen ones.
    pub codes: Vec<u32>,
    /// The distance from each code to its value, in steps; empty if nothing can be chosen.
    pub offset: Vec<f32>,
    /// The largest distance from a value to its chosen code, in steps.
    pub radius: f32,
    /// The number of codes of each component.
    pub code_counts: [u32; 4],
    /// Residuals are multiples of this; 1 if nothing can be chosen. The same in all frames.
    pub grain: u32,
}

/// A frame to encode; without streams if it is hidden.
#[derive(Clone, Debug, Default)]
pub struct InputFrame<'a> {
    /// The points of the frame.
    pub points: ParticlePoints<'a>,
    /// The streams of the points.
    pub streams: Vec<InputStream>,
}

/// The memories of motion that are tried.
const MEMORIES: [u32; 3] = [4, 3, 8];

/// Appends adaptive links of frames that follow the frame in `chain`, and leaves `chain` at the last of them.
/// Returns the expected cost of the first stream, the positions, and of all streams, in 2⁻⁸ bits.
pub(super) fn encode(
    out: &mut Vec<u8>,
    layout: PointLayout<'_>,
    chain: &mut Chain,
    frames: &mut [InputFrame<'_>],
) -> Result<[u64; 2], Corrupt> {
    let mut laws: Vec<MotionParams> = Vec::new();
    for (s, stream) in layout.streams.iter().enumerate() {
        let grain = grain_of(s, frames);
        let fitted = MotionParams { grain, ..fit(s, stream.components, grain, frames) };
        laws.push(fitted);
    }
    struct Written<'a> {
        bytes: Vec<u8>,
        taken: [u64; 2],
        chain: Chain,
        frames: Vec<InputFrame<'a>>,
    }
    let mut best: Option<Written<'_>> = None;
    let alone = frames.len() < 2;
    for memory in MEMORIES.iter().take(if alone { 1 } else { MEMORIES.len() }) {
        laws.iter_mut().for_each(|law| law.memory = (*memory).clamp(3, MAX_MEMORY));
        let (mut own, mut chosen) = (chain.clone(), frames.to_vec());
        let mut bytes = Vec::new();
        let taken = write_chain(&mut bytes, layout, &laws, &mut own, &mut chosen)?;
        if best.as_ref().is_none_or(|best| bytes.len() < best.bytes.len()) {
            best = Some(Written { bytes, taken, chain: own, frames: chosen });
        }
    }
    let Some(Written { bytes, taken, chain: own, frames: chosen }) = best else {
        return Ok([0, 0]);
    };
    out.extend_from_slice(&bytes);
    *chain = own;
    frames.iter_mut().zip(chosen).for_each(|(frame, chosen)| *frame = chosen);
    Ok(taken)
}

fn write_chain(
    out: &mut Vec<u8>,
    layout: PointLayout<'_>,
    laws: &[MotionParams],
    chain: &mut Chain,
    frames: &mut [InputFrame<'_>],
) -> Result<[u64; 2], Corrupt> {
    let mut first = Vec::new();
    let mut both = ChainCoder::new(range::Encoder::new(&mut first), symbols::Encoder::default());
    both.code_motion_params(layout.streams, laws, chain)?;
    let mut taken = [0, 0];
    for frame in frames.iter_mut() {
        let before = chain.points();
        let same = match layout.kind.ids {
            true => before.ids == frame.points.ids,
            false => before.run == frame.points.run && before.run > 0 && before.count == frame.points.count,
        };
        let kind = match frame.streams.is_empty() {
            true => 0,
            false => 1 + u32::from(same),
        };
        if !both.points(layout, chain, kind, frame.points)? {
            continue;
        }
        for (s, &stream) in layout.streams.iter().enumerate() {
            let values = &mut frame.streams[s];
            let count = frame.points.count;
            let mut chooser = Chooser { values, count, grain: laws[s].grain, bits: 0 };
            both.stream((s, stream), chain, &mut chooser)?;
            taken[0] += if s == 0 { chooser.bits } else { 0 };
            taken[1] += chooser.bits;
            let points = chain.now.streams[s].chunks_exact(stride(stream.components));
            for (v, point) in points.enumerate() {
                (0..stream.components).for_each(|k| values.codes[k * count + v] = point[k] as u32);
            }
        }
    }
    let ChainCoder { coder, raw_bits: plain } = both;
    coder.bits.finish();
    put_varint(first.len() as u32, out);
    out.extend_from_slice(&first);
    plain.finish(out);
    Ok(taken)
}

/// Chooses the cheapest point within the error bound.
struct Chooser<'a> {
    values: &'a InputStream,
    count: usize,
    grain: i32,
    /// The expected cost of the choices, in 2⁻⁸ bits.
    bits: u64,
}

/// About the cost of a point that is where expected, or whose outcome is coded by another symbol, in 2⁻⁸
/// bits.
const FLAG: u64 = 64;

impl OutcomeChooser for Chooser<'_> {
    fn choose<const N: usize>(
        &mut self,
        v: usize,
        expected: &[i32; N],
        last: Option<&[i32; N]>,
        sizes: &[SizeStatistics; 4],
    ) -> PointOutcome<N> {
        let values = self.values;
        let target = values.target(v, self.count);
        self.bits += FLAG;
        if values.distance_squared(&target, expected).is_some() {
            return PointOutcome::EXPECTED;
        }
        if last.is_some_and(|last| values.distance_squared(&target, last).is_some()) {
            self.bits += 2 * FLAG;
            return PointOutcome { is_elsewhere: true, stops: true, ..PointOutcome::EXPECTED };
        }
        let (residual, bits) = values.residual(&target, expected, self.grain, |r| cost(r, sizes));
        self.bits += (256.0 * bits.min(4096.0)) as u64;
        PointOutcome { is_elsewhere: true, stops: false, residual }
    }
}

impl InputStream {
    /// Returns the value of point `v` of `count` points, in steps.
    pub(super) fn target<const N: usize>(&self, v: usize, count: usize) -> [f64; N] {
        std::array::from_fn(|k| {
            let at = k * count + v;
            f64::from(self.codes[at]) + self.offset.get(at).map_or(0.0, |o| f64::from(*o))
        })
    }

    /// Returns the square of the distance between a value and a code; `None` if that is beyond the error
    /// bound, or not a code.
    pub(super) fn distance_squared<const N: usize>(&self, target: &[f64; N], code: &[i32; N]) -> Option<f64> {
        let square: f64 = (0..N).map(|k| (f64::from(code[k] as u32) - target[k]).powi(2)).sum();
        let bound = if self.offset.is_empty() { 0.0 } else { f64::from(self.radius).powi(2) };
        let is_code = |k: usize| self.code_counts[k] == 0 || (code[k] as u32) < self.code_counts[k];
        (square <= bound && (0..N).all(is_code)).then_some(square)
    }

    /// Returns the cheapest residual within the error bound, near the value, and its cost.
    pub(super) fn residual<const N: usize>(
        &self,
        target: &[f64; N],
        expected: &[i32; N],
        grain: i32,
        cost: impl Fn(&[i32; N]) -> f64,
    ) -> ([i32; N], f64) {
        let nearest: [i32; N] = std::array::from_fn(|k| {
            // The expected code can be below all codes.
            let off = target[k] - f64::from(expected[k]);
            (off / f64::from(grain)).round() as i32
        });
        let mut best = (nearest, f64::INFINITY, f64::INFINITY);
        let reach = if self.offset.is_empty() { 0 } else { 1 };
        let mut step = [-reach; N];
        loop {
            let point: [i32; N] = std::array::from_fn(|k| nearest[k].saturating_add(step[k]));
            let code = std::array::from_fn(|k| expected[k].wrapping_add(point[k].wrapping_mul(grain)));
            if let Some(square) = self.distance_squared(target, &code) {
                let cost = cost(&point);
                if (cost, square) < (best.1, best.2) {
                    best = (point, cost, square);
                }
            }
            let Some(k) = (0..N).find(|&k| step[k] < reach) else {
                break;
            };
            step[k] += 1;
            step[..k].fill(-reach);
        }
        (best.0, best.1)
    }
}

fn cost<const N: usize>(residual: &[i32; N], sizes: &[SizeStatistics; 4]) -> f64 {
    let mut longest = 0;
    let cost = |(k, &r): (usize, &i32)| {
        let cost = sizes[k].cost(longest, length(r));
        longest = longest.max(length(r));
        cost
    };
    residual.iter().enumerate().map(cost).sum()
}

impl RawBits for symbols::Encoder {
    fn code_raw_bits(&mut self, bits: u32, value: u32) -> u32 {
        self.push_raw_bits(value, bits);
        value
    }
}

/// The values of a point in consecutive frames, the last first.
pub(super) type PastValues = [[f64; 4]; 4];

/// Rows of equations: the known terms, and the result.
pub(super) type EquationRows = Vec<([f64; 3], f64)>;

/// The largest number of rows that are used.
const ROWS: usize = 4000;
/// The smallest number of rows.
pub(super) const MIN_ROWS: usize = 24;

/// Returns the grain of a stream.
pub(super) fn grain_of(s: usize, frames: &[InputFrame<'_>]) -> i32 {
    let grain = frames.iter().find_map(|f| f.streams.get(s)).map_or(1, |values| values.grain);
    grain.clamp(1, MAX_GRAIN + 1) as i32
}

/// Returns the change of the velocity of each moving point in a component, after 1, the velocity, and its
/// product with the speed.
pub(super) fn difference_rows(tracks: &[(PastValues, usize)], k: usize) -> EquationRows {
    let step = |p: &PastValues, i: usize| -> [f64; 4] { std::array::from_fn(|k| p[i][k] - p[i + 1][k]) };
    let rows = tracks.iter().filter(|(_, known)| *known > 2).filter_map(|(p, _)| {
        let (new, old) = (step(p, 0), step(p, 1));
        let fast = speed(&old);
        (fast > 0.5).then(|| ([1.0, old[k], old[k] * fast], new[k] - old[k]))
    });
    thinned(rows.collect())
}

fn speed(d: &[f64]) -> f64 {
    d.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Fits the motion parameters of a stream to these frames.
fn fit(s: usize, components: usize, grain: i32, frames: &[InputFrame<'_>]) -> MotionParams {
    let mut law = MotionParams::default();
    let tracks = point_histories(s, components, frames);
    let step = |p: &PastValues, i: usize| -> [f64; 4] { std::array::from_fn(|k| p[i][k] - p[i + 1][k]) };
    for k in 0..components {
        let rows = difference_rows(&tracks, k);
        if rows.len() < MIN_ROWS {
            continue;
        }
        let solved = solve_least_distances(&rows, 3, f64::from(grain));
        let units = [256.0, 65536.0, 65536.0 * 65536.0];
        for i in 0..3 {
            law.pull[k][i] = rounded(solved[i] * units[i], MAX_MOTION_PARAM);
        }
    }
    for k in 0..components {
        let pull = |v: &[f64; 4]| {
            let [c, m, d] = law.pull[k].map(f64::from);
            c / 256.0 + m / 65536.0 * v[k] + d / (65536.0 * 65536.0) * v[k] * speed(v)
        };
        let rows = tracks.iter().filter(|(_, known)| *known > 3).filter_map(|(p, _)| {
            let [after, at, before] = [0, 1, 2].map(|i| step(p, i));
            let missed = (0..components).map(|k| (at[k] - before[k]).abs()).fold(0.0, f64::max);
            let breaks = missed > 8.0 * f64::from(grain) && speed(&before) > 0.5 && speed(&after) > 0.0;
            breaks.then(|| ([before[k], at[k], 0.0], after[k] - pull(&after)))
        });
        let rows: EquationRows = rows.collect();
        if rows.len() >= MIN_ROWS {
            let solved = solve_least_distances(&thinned(rows), 2, f64::from(grain));
            law.broken[k] = [0, 1].map(|i| rounded(solved[i] * 256.0, 4096));
        }
    }
    law
}

/// Returns for each frame and point its positions in the frames before, and the number of these frames.
pub(super) fn point_histories(
    s: usize,
    components: usize,
    frames: &[InputFrame<'_>],
) -> Vec<(PastValues, usize)> {
    let mut out = Vec::new();
    let mut before: HashMap<u64, (PastValues, usize)> = HashMap::new();
    for frame in frames {
        let Some(values) = frame.streams.get(s) else {
            before.clear();
            continue;
        };
        let count = frame.points.count;
        let mut now = HashMap::with_capacity(count);
        for v in 0..count {
            let id = match frame.points.ids.get(v) {
                Some(id) => *id,
                None => u64::from(frame.points.run) << 32 | v as u64,
            };
            let mut past: PastValues = [[0.0; 4]; 4];
            let mut known = 1;
            if let Some((earlier, n)) = before.get(&id) {
                past[1..].copy_from_slice(&earlier[..3]);
                known = (n + 1).min(4);
            }
            for k in 0..components {
                let at = k * count + v;
                let offset = values.offset.get(at).map_or(0.0, |o| f64::from(*o));
                past[0][k] = f64::from(values.codes[at]) + offset;
            }
            out.push((past, known));
            now.insert(id, (past, known));
        }
        before = now;
    }
    out
}

fn thinned(rows: EquationRows) -> EquationRows {
    let step = rows.len().div_ceil(ROWS).max(1);
    rows.into_iter().step_by(step).collect()
}

pub(super) fn rounded(value: f64, most: i32) -> i32 {
    let most = f64::from(most);
    if value.is_finite() { value.round().clamp(-most, most) as i32 } else { 0 }
}

/// Solves for the first `terms` numbers such that the sum of distances is small, by iteratively reweighted
/// least squares: rows with a larger error count less.
pub(super) fn solve_least_distances(rows: &EquationRows, terms: usize, near: f64) -> [f64; 3] {
    const ROUNDS: usize = 8;
    // Columns of similar size, so that none is neglected.
    let scales: [f64; 3] = std::array::from_fn(|i| {
        let most = rows.iter().fold(0.0, |m: f64, (row, _)| m.max(row[i].abs()));
        if most > 0.0 { most } else { 1.0 }
    });
    let mut solved = [0.0; 3];
    for round in 0..ROUNDS {
        let mut normal = [[0.0; 4]; 3];
        for (row, wanted) in rows {
            let row: [f64; 3] = std::array::from_fn(|i| row[i] / scales[i]);
            let off = wanted - (0..terms).map(|i| row[i] * solved[i]).sum::<f64>();
            let weight = if round == 0 { 1.0 } else { 1.0 / (0.1 * near + off.abs()) };
            for i in 0..terms {
                for j in 0..terms {
                    normal[i][j] += weight * row[i] * row[j];
                }
                normal[i][3] += weight * row[i] * wanted;
            }
        }
        solved = gaussian_elimination(normal, terms);
    }
    std::array::from_fn(|i| solved[i] / scales[i])
}
