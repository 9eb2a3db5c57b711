//! Values of points without faces, in their order: predicted from what the same points have in other frames,
//! or, where no frame has them, from the points before; what is left by how large it was. Lossless; the
//! encoder chooses inside the error ball.
//!
//! ```text
//! mask     which frames referred to have the point: a bit for each
//! T        Σ wᵣ · valueᵣ over the frames of the mask, rounded, w in 2⁻⁸ by mask; 0 without frames
//! above    value − T
//! P        with frames: along₀ · above of the point before / 64, rounded down, if that has frames and no curve begins here; else 0
//!          without, inside of a curve: the value p before; + along₁ · (p − the one before that) / 64, if it is of the curve as well
//!          without, else: the value where the curve before begins; of the last point without frames; 0 where there is none
//! residual (value − T − P) / grain, as an entropy symbol of its bucket
//! σ of k   as of changing meshes, with means by the number of frames (0, 1, more), which begin as the stream says; near is the last
//!          point with as many
//! start n  (2 + n mod 2) · 2^⌊n/2⌋ in 2⁻⁸, n at most 55
//! usual w  those of the polynomial through the frames of the mask: Π tₛ / (tₛ − tᵣ) over the others s, t how many frames after this
//!          one, rounded, the first of the mask what is left to 1
//! ```

use crate::Corrupt;
use crate::entropy::symbols::Decoder;
#[cfg(feature = "encode")]
use crate::entropy::symbols::Encoder;
use crate::quantize::code::Code;
use crate::values::changing::values::{Expected, REFERENCES, Reader, Scale, Side, UNIT, WHOLE, size};
#[cfg(feature = "encode")]
use crate::values::changing::values::{Wanted, Writer, solve};
use crate::values::particles::{MASKS, NONE};

pub(super) const MOST_GRAIN: u32 = 255;
pub(super) const MOST_ALONG: i32 = 256;
pub(super) const MOST_WEIGHT: i32 = 1 << 16;
/// Points that no frame has, one frame, and several.
pub(super) const CLASSES: usize = 3;
pub(super) const MOST_START: u32 = 55;

/// The frames that points of a frame are in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Masks {
    there: [bool; MASKS],
    moments: [i32; REFERENCES],
}

impl Masks {
    /// Of the numbers of points in other frames.
    pub fn of(at: &[[u32; REFERENCES]]) -> Masks {
        let mut out = Masks::default();
        at.iter().for_each(|at| out.there[mask(at)] = true);
        out
    }

    /// How many frames after this one those referred to are.
    pub fn set(&mut self, moments: &[i32]) {
        self.moments = [0; REFERENCES];
        self.moments.iter_mut().zip(moments).for_each(|(out, moment)| *out = *moment);
    }

    /// Whether some point has so many frames.
    pub fn has_class(&self, of: usize) -> bool {
        (0..MASKS).any(|mask| self.there[mask] && class(mask) == of)
    }

    /// Masks that some point has, but for that of no frame.
    pub fn there(&self) -> impl Iterator<Item = usize> + use<> {
        let there = self.there;
        (1..MASKS).filter(move |&mask| there[mask])
    }

    /// Weights of the polynomial through the frames of a mask.
    pub fn usual(&self, mask: usize) -> [i32; REFERENCES] {
        let mut out = [0; REFERENCES];
        let inside = |r: &usize| mask >> r & 1 == 1;
        let (mut first, mut rest) = (None, WHOLE);
        for r in (0..REFERENCES).filter(inside) {
            if first.is_none() {
                first = Some(r);
                continue;
            }
            let (mut above, mut below) = (1i128, 1i128);
            for s in (0..REFERENCES).filter(inside).filter(|&s| s != r) {
                above *= i128::from(self.moments[s]);
                below *= i128::from(self.moments[s]) - i128::from(self.moments[r]);
            }
            if below < 0 {
                (above, below) = (-above, -below);
            }
            let weight = match below {
                0 => 0,
                _ => (2 * i128::from(WHOLE) * above + below).div_euclid(2 * below),
            };
            out[r] = weight.clamp(-i128::from(MOST_WEIGHT / 4), i128::from(MOST_WEIGHT / 4)) as i32;
            rest -= out[r];
        }
        if let Some(first) = first {
            out[first] = rest;
        }
        out
    }

    /// Of all masks.
    #[cfg(feature = "encode")]
    pub fn all_usual(&self) -> [[i32; REFERENCES]; MASKS] {
        std::array::from_fn(|mask| self.usual(mask))
    }
}

/// Which frames have a point.
fn mask(at: &[u32; REFERENCES]) -> usize {
    at.iter().enumerate().fold(0, |mask, (r, at)| mask | usize::from(*at != NONE) << r)
}

/// The weights by which a stream of a frame is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weights {
    /// Of other frames, by mask.
    pub frames: [[i32; REFERENCES]; MASKS],
    /// Of the point before, with frames and without.
    pub along: [i32; 2],
    /// Residuals are multiples of this, at least 1.
    pub grain: i32,
    /// How large residuals are at first, by the number of frames.
    pub starts: [u32; CLASSES],
}

impl Weights {
    /// Nothing of other frames.
    pub const ALONE: Weights =
        Weights { frames: [[0; REFERENCES]; MASKS], along: [0; 2], grain: 1, starts: [24; CLASSES] };
}

/// Buffers. Their memory stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// Values, and values less what other frames say, point by point.
    done: Vec<[[i32; 4]; 2]>,
}

impl Work {
    /// Bytes for a point.
    pub const BYTES: u64 = 32;

    /// Makes room.
    pub fn reserve(&mut self, points: usize) {
        self.done.reserve(points.saturating_sub(self.done.len()));
    }
}

/// The values that a stream is predicted from, with their weights.
#[derive(Clone, Copy)]
pub(super) struct Basis<'a, W> {
    /// Other frames, component-major, as many points as they have.
    pub frames: &'a [&'a [W]],
    /// By point its number in these.
    pub at: &'a [[u32; REFERENCES]],
    /// By point whether a curve begins here; of points without curves nowhere.
    pub starts: &'a [bool],
    pub weights: &'a Weights,
}

impl<W: Code> Basis<'_, W> {
    /// What other frames say.
    #[inline]
    fn of_frames<const N: usize>(&self, v: usize, weights: &[i32; REFERENCES]) -> [i32; N] {
        let mut sums = [i64::from(WHOLE / 2); N];
        for ((frame, &at), &weight) in self.frames.iter().zip(&self.at[v]).zip(weights) {
            if at == NONE {
                continue;
            }
            let count = frame.len() / N;
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum += i64::from(weight) * i64::from(frame[k * count + at as usize].to_u32());
            }
        }
        sums.map(|sum| (sum >> 8) as i32)
    }

    fn is_curve(&self) -> bool {
        self.starts.first() == Some(&true)
    }
}

/// The points before one that say something of it.
#[derive(Default)]
struct Before {
    /// Where the curve before begins, or the last point without frames.
    alone: Option<usize>,
}

impl Before {
    /// P, and afterwards what is remembered of the point.
    fn predict<const N: usize, W: Code>(
        &mut self,
        basis: &Basis<'_, W>,
        v: usize,
        has_frames: bool,
        done: &[[[i32; 4]; 2]],
    ) -> [i32; N] {
        let curve = basis.is_curve();
        let start = basis.starts[v];
        let [along, on] = basis.weights.along;
        let scaled =
            |weight: i32, by: i32| (i64::from(weight) * i64::from(by)).div_euclid(i64::from(UNIT)) as i32;
        let out = match v.checked_sub(1) {
            Some(before) if has_frames => match !start && mask(&basis.at[before]) != 0 {
                true => std::array::from_fn(|k| scaled(along, done[before][1][k])),
                false => [0; N],
            },
            Some(before) if curve && !start => match before.checked_sub(1) {
                Some(more) if !basis.starts[before] => std::array::from_fn(|k| {
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

/// How many residuals there are of a class, and the sum of their sizes.
type Sizes = [[u64; 2]; CLASSES];

/// The number of frames of a mask, as far as it counts.
pub(super) fn class(mask: usize) -> usize {
    (mask.count_ones() as usize).min(CLASSES - 1)
}

/// Goes over all points.
fn walk<W: Code, S: Side, const N: usize>(basis: Basis<'_, W>, work: &mut Work, side: &mut S) -> Sizes {
    let mut sizes = Sizes::default();
    let done = &mut work.done;
    done.clear();
    done.resize(basis.at.len(), [[0; 4]; 2]);
    let mut scales =
        basis.weights.starts.map(|n| Scale::<N>::from_mean((2 + n % 2) << (n.min(MOST_START) / 2)));
    let mut before = Before::default();
    for v in 0..basis.at.len() {
        let mask = mask(&basis.at[v]);
        let class = class(mask);
        let frames = match mask {
            0 => [0; N],
            _ => basis.of_frames::<N>(v, &basis.weights.frames[mask]),
        };
        let above = before.predict::<N, W>(&basis, v, mask != 0, done);
        let expected = Expected { frames, above };
        let residual = side.value(v, &expected, &scales[class]);
        let grain = basis.weights.grain;
        for k in 0..N {
            done[v][0][k] = expected.code(k, residual[k], grain);
            done[v][1][k] = done[v][0][k].wrapping_sub(frames[k]);
        }
        sizes[class][0] += N as u64;
        sizes[class][1] += residual.iter().map(|r| u64::from(size(*r))).sum::<u64>();
        let large = scales[class].learn(&residual);
        scales[class].near = u32::from(large);
    }
    sizes
}

/// Refuses frames that have not the points that they are said to have.
fn check<W: Code>(basis: &Basis<'_, W>, components: usize, out: usize) -> Result<(), Corrupt> {
    let points = basis.at.len();
    let fits = basis.starts.len() == points && out == components * points;
    let has = |r: usize, at: u32| {
        at == NONE || basis.frames.get(r).is_some_and(|f| (at as usize) < f.len() / components.max(1))
    };
    match fits && basis.at.iter().all(|at| (0..REFERENCES).all(|r| has(r, at[r]))) {
        true => Ok(()),
        false => Err(Corrupt("particles: frames of other points")),
    }
}

/// Reads `components` (1 to 4) of as many points as `out` has.
pub(super) fn decode<W: Code>(
    symbols: &mut Decoder<'_>,
    basis: Basis<'_, W>,
    components: usize,
    work: &mut Work,
    out: &mut [W],
) -> Result<(), Corrupt> {
    check(&basis, components, out.len())?;
    let count = basis.at.len();
    let mut side = Reader { symbols, out, count, grain: basis.weights.grain };
    match components {
        1 => drop(walk::<W, _, 1>(basis, work, &mut side)),
        2 => drop(walk::<W, _, 2>(basis, work, &mut side)),
        3 => drop(walk::<W, _, 3>(basis, work, &mut side)),
        4 => drop(walk::<W, _, 4>(basis, work, &mut side)),
        _ => return Err(Corrupt("particles: a stream of no or too many components")),
    }
    Ok(())
}

/// Where means begin so that they need not be learnt first: as residuals are that these weights leave.
#[cfg(feature = "encode")]
pub(super) fn starts<W: Code>(
    basis: Basis<'_, W>,
    components: usize,
    work: &mut Work,
    wanted: &Wanted<'_, W>,
) -> [u32; CLASSES] {
    let mut codes = wanted.codes.to_vec();
    let trial = Wanted { codes: &mut codes, ..*wanted };
    let (_, sizes) = written(&mut Encoder::default(), basis, components, work, trial);
    sizes.map(|[count, sum]| {
        let mean = ((sum << 8) / count.max(1)).clamp(2, 1 << 28) as u32;
        let low = 2 * (mean.ilog2() - 1);
        low + u32::from(mean >> (mean.ilog2() - 1) & 1)
    })
}

/// Writes `components` of all points; what they are expected to take, in 2⁻⁸ bits.
#[cfg(feature = "encode")]
pub(super) fn encode<W: Code>(
    symbols: &mut Encoder,
    basis: Basis<'_, W>,
    components: usize,
    work: &mut Work,
    wanted: Wanted<'_, W>,
) -> u64 {
    written(symbols, basis, components, work, wanted).0
}

#[cfg(feature = "encode")]
fn written<W: Code>(
    symbols: &mut Encoder,
    basis: Basis<'_, W>,
    components: usize,
    work: &mut Work,
    mut wanted: Wanted<'_, W>,
) -> (u64, Sizes) {
    let count = basis.at.len();
    let mut side = Writer { symbols, wanted: &mut wanted, count, grain: basis.weights.grain, bits: 0 };
    let sizes = match components {
        1 => walk::<W, _, 1>(basis, work, &mut side),
        2 => walk::<W, _, 2>(basis, work, &mut side),
        3 => walk::<W, _, 3>(basis, work, &mut side),
        _ => walk::<W, _, 4>(basis, work, &mut side),
    };
    (side.bits, sizes)
}

/// Weights that leave least of these values.
#[cfg(feature = "encode")]
pub(super) fn fit<W: Code>(basis: Basis<'_, W>, components: usize, masks: &Masks, codes: &[W]) -> Weights {
    match components {
        1 => fitted::<W, 1>(basis, masks, codes),
        2 => fitted::<W, 2>(basis, masks, codes),
        3 => fitted::<W, 3>(basis, masks, codes),
        _ => fitted::<W, 4>(basis, masks, codes),
    }
}

/// Fewer points than this keep the usual weights.
#[cfg(feature = "encode")]
const FEW: usize = 16;

/// Bits that a weight of one's own costs.
#[cfg(feature = "encode")]
const WEIGHT_BITS: f64 = 12.0;

#[cfg(feature = "encode")]
fn fitted<W: Code, const N: usize>(basis: Basis<'_, W>, masks: &Masks, codes: &[W]) -> Weights {
    let count = basis.at.len();
    let code = |v: usize, k: usize| codes[k * count + v].to_u32() as i32;
    let mut weights = *basis.weights;
    for mask_of in masks.there() {
        let points: Vec<usize> = (0..count).filter(|&v| mask(&basis.at[v]) == mask_of).collect();
        if points.len() < FEW {
            continue;
        }
        let own = least_squares::<W, N>(&basis, mask_of, &points, &code);
        let bits = |weights: &[i32; REFERENCES]| -> f64 {
            let left = points.iter().map(|&v| {
                let says = basis.of_frames::<N>(v, weights);
                (0..N)
                    .map(|k| f64::from(code(v, k).wrapping_sub(says[k]).unsigned_abs()).ln_1p())
                    .sum::<f64>()
            });
            left.sum::<f64>() / std::f64::consts::LN_2
        };
        let room = WEIGHT_BITS * f64::from(mask_of.count_ones());
        if bits(&own) + room < bits(&weights.frames[mask_of]) {
            weights.frames[mask_of] = own;
        }
    }
    weights.along = along::<W, N>(&Basis { weights: &weights, ..basis }, &code);
    weights
}

/// Weights of the frames of a mask, which add up to 1.
#[cfg(feature = "encode")]
fn least_squares<W: Code, const N: usize>(
    basis: &Basis<'_, W>,
    mask_of: usize,
    points: &[usize],
    code: &impl Fn(usize, usize) -> i32,
) -> [i32; REFERENCES] {
    let inside: Vec<usize> = (0..REFERENCES).filter(|r| mask_of >> r & 1 == 1).collect();
    let value = |r: usize, v: usize, k: usize| {
        let frame = basis.frames[r];
        f64::from(frame[k * (frame.len() / N) + basis.at[v][r] as usize].to_u32())
    };
    let mut normal = [[0.0; REFERENCES + 1]; REFERENCES];
    for &v in points {
        for k in 0..N {
            let base = value(inside[0], v, k);
            let mut row = [0.0; REFERENCES + 1];
            for (i, &r) in inside.iter().enumerate().skip(1) {
                row[i] = value(r, v, k) - base;
            }
            row[REFERENCES] = f64::from(code(v, k)) - base;
            for i in 1..inside.len() {
                for j in 0..=REFERENCES {
                    normal[i][j] += row[i] * row[j];
                }
            }
        }
    }
    let solved = solve(&normal, 1, inside.len());
    let mut out = [0; REFERENCES];
    let mut rest = WHOLE;
    for (i, &r) in inside.iter().enumerate().skip(1) {
        out[r] = (solved[i] * f64::from(WHOLE)).round().clamp(-4096.0, 4096.0) as i32;
        rest -= out[r];
    }
    out[inside[0]] = rest;
    out
}

/// Weights of the point before, by least squares.
#[cfg(feature = "encode")]
fn along<W: Code, const N: usize>(basis: &Basis<'_, W>, code: &impl Fn(usize, usize) -> i32) -> [i32; 2] {
    let count = basis.at.len();
    let has_frames = |v: usize| mask(&basis.at[v]) != 0;
    let above = |v: usize| -> [i32; N] {
        let says = basis.of_frames::<N>(v, &basis.weights.frames[mask(&basis.at[v])]);
        std::array::from_fn(|k| code(v, k).wrapping_sub(says[k]))
    };
    let mut sums = [[0.0; 2]; 2];
    let mut add = |which: usize, from: f64, to: f64| {
        sums[which][0] += from * from;
        sums[which][1] += from * to;
    };
    for v in 1..count {
        if basis.starts[v] {
            continue;
        }
        if has_frames(v) && has_frames(v - 1) {
            let (own, before) = (above(v), above(v - 1));
            (0..N).for_each(|k| add(0, f64::from(before[k]), f64::from(own[k])));
        }
        if !has_frames(v) && basis.is_curve() && v > 1 && !basis.starts[v - 1] {
            for k in 0..N {
                let step = |v: usize| f64::from(code(v, k).wrapping_sub(code(v - 1, k)));
                add(1, step(v - 1), step(v));
            }
        }
    }
    sums.map(|[square, product]| match square > 0.0 {
        true => (product / square * f64::from(UNIT)).round().clamp(-128.0, 128.0) as i32,
        false => 0,
    })
}
