//! Samples poses and single joints of the random-access form. Formulas are written once, over one number or
//! eight ([`Real`]): a pose is computed eight sub-tracks at a time, a joint by itself, with the
//! same bits.

use super::fields::{self, field};
use super::form::{RandomAccess, SEGMENT_SAMPLES, SubTrackBlock, TAIL_BYTES, UNIT_FACTOR, chunk, word};
use super::weights::InterpolationWeights;
use crate::clip::streamed::SubTrackKind;
use crate::simd::doubles::{Doubles, LANES};
use crate::simd::isa::Isa;
use crate::simd::lanes::{self, plus, times};
use crate::simd::real::Real;
use crate::simd::{Kernel, run_kernel};
use crate::transform::Transform;
use fearless_simd::prelude::*;
use fearless_simd::{f32x8, i16x8, i32x8, u32x8};

/// The destination of a pose: one local transform per joint, of which only animated sub-tracks are written.
pub trait PoseSink {
    /// Returns `true` if the joint is wanted.
    fn wants(&self, joint: usize) -> bool;
    /// Returns `true` if every joint is wanted, as far as is known in advance.
    #[inline(always)]
    fn wants_all(&self) -> bool {
        false
    }
    /// Receives a rotation x y z w.
    fn rotation(&mut self, joint: usize, value: [f32; 4]);
    /// Receives a translation x y z.
    fn translation(&mut self, joint: usize, value: [f32; 3]);
    /// Receives a scale x y z.
    fn scale(&mut self, joint: usize, value: [f32; 3]);
}

/// Receives a whole pose; joints beyond its end are left out.
impl PoseSink for [Transform] {
    #[inline(always)]
    fn wants(&self, joint: usize) -> bool {
        joint < self.len()
    }
    #[inline(always)]
    fn wants_all(&self) -> bool {
        true
    }
    #[inline(always)]
    fn rotation(&mut self, joint: usize, value: [f32; 4]) {
        if let Some(out) = self.get_mut(joint) {
            out.rotation = value;
        }
    }
    #[inline(always)]
    fn translation(&mut self, joint: usize, value: [f32; 3]) {
        if let Some(out) = self.get_mut(joint) {
            out.translation = value;
        }
    }
    #[inline(always)]
    fn scale(&mut self, joint: usize, value: [f32; 3]) {
        if let Some(out) = self.get_mut(joint) {
            out.scale = value;
        }
    }
}

/// Two samples of one segment.
#[derive(Clone, Copy)]
struct SamplePair<'a> {
    bytes: &'a [u8],
    /// The first byte of the segment.
    start: usize,
    /// The first bytes of both samples.
    samples: [usize; 2],
    scale: f32,
}

impl RandomAccess {
    /// Writes the local transforms of all joints between two samples; a weight of 0 gives the left and 1 the
    /// right one to the bit. Within a segment components are interpolated, else rotations (normalized, the
    /// short way) and vectors. Sub-tracks that are not animated are not written: fill `out` from
    /// [`ClipLayout::constant_pose`](crate::clip::streamed::ClipLayout::constant_pose).
    pub fn pose(
        &self,
        left: usize,
        right: usize,
        weights: &InterpolationWeights<'_>,
        out: &mut (impl PoseSink + ?Sized),
    ) {
        self.pose_on(Isa::get(), left, right, weights, out);
    }

    /// Prefetches the bytes that [`RandomAccess::pose`] of these samples will read. Useful before unrelated
    /// work that can hide the latency.
    #[inline]
    pub fn prefetch(&self, left: usize, right: usize) {
        let isa = Isa::get();
        let mut last = usize::MAX;
        for sample in [left, right] {
            let segment = sample / SEGMENT_SAMPLES;
            let Some(place) = self.segments.get(segment) else {
                return;
            };
            let (start, stride) = (place.start as usize, usize::from(place.stride));
            let sample = start + self.samples_offset + sample % SEGMENT_SAMPLES * stride;
            if segment != last {
                lanes::fetch(isa, self.bytes.get(start..start + self.samples_offset).unwrap_or_default());
            }
            last = segment;
            lanes::fetch(isa, self.bytes.get(sample..sample + stride).unwrap_or_default());
        }
        lanes::fetch(isa, bytemuck::cast_slice(&self.rows));
    }

    /// Does the same as [`RandomAccess::pose`] with a given instruction set.
    // Not inlined: each codegen unit of a caller would have a kernel of its own.
    pub fn pose_on(
        &self,
        isa: Isa,
        left: usize,
        right: usize,
        weights: &InterpolationWeights<'_>,
        out: &mut (impl PoseSink + ?Sized),
    ) {
        let Some((left, right)) = self.sample_pairs(left, right) else {
            return;
        };
        run_kernel(isa, PoseSampling { clip: self, left, right, weights, out });
    }

    /// Interpolates one joint between two samples.
    #[inline]
    pub fn joint(&self, left: usize, right: usize, part: f32, joint: usize, out: &mut Transform) {
        self.joint_on(Isa::get(), (left, right, part), joint, out);
    }

    /// Does the same as [`RandomAccess::joint`] with a given instruction set.
    #[inline]
    pub fn joint_on(&self, isa: Isa, samples: (usize, usize, f32), joint: usize, out: &mut Transform) {
        run_kernel(isa, JointSampling { clip: self, samples, joint, out });
    }

    /// Returns the places of both samples: one place if they are in the same segment, else two.
    #[inline(always)]
    fn sample_pairs(&self, left: usize, right: usize) -> Option<(SamplePair<'_>, Option<SamplePair<'_>>)> {
        let place = |segment: usize, samples: [usize; 2]| {
            let at = self.segments.get(segment)?;
            let (start, stride) = (at.start as usize, usize::from(at.stride));
            let samples = samples.map(|s| start + self.samples_offset + s % SEGMENT_SAMPLES * stride);
            let scale = f32::from(at.factor) * (1.0 / UNIT_FACTOR as f32);
            Some(SamplePair { bytes: &self.bytes, start, samples, scale })
        };
        let segments = [left / SEGMENT_SAMPLES, right / SEGMENT_SAMPLES];
        if segments[0] == segments[1] {
            return Some((place(segments[0], [left, right])?, None));
        }
        let (a, b) = (place(segments[0], [left; 2])?, place(segments[1], [right; 2])?);
        Some((a, Some(b)))
    }

    /// Returns the value of one sub-track: a rotation, or a vector in the first three components.
    #[inline(always)]
    fn sub_track_value(
        &self,
        block: &SubTrackBlock,
        lane: usize,
        left: &SamplePair<'_>,
        right: Option<&SamplePair<'_>>,
        part: f32,
    ) -> [f32; 4] {
        match block.kind {
            SubTrackKind::Free => {
                self.sub_track_value_of::<3, 9>(SubTrackKind::Free, block, lane, left, right, part)
            }
            SubTrackKind::TwoAxes => {
                self.sub_track_value_of::<2, 13>(SubTrackKind::TwoAxes, block, lane, left, right, part)
            }
            SubTrackKind::Hinge => {
                self.sub_track_value_of::<1, 9>(SubTrackKind::Hinge, block, lane, left, right, part)
            }
            SubTrackKind::Translation | SubTrackKind::Scale => {
                self.sub_track_value_of::<3, 1>(SubTrackKind::Translation, block, lane, left, right, part)
            }
        }
    }

    /// The caller passes `kind` as a constant, so that the compiler knows it, like ROWS, the number of its
    /// components, and CONSTANTS, the number of its constants.
    #[inline(always)]
    fn sub_track_value_of<const ROWS: usize, const CONSTANTS: usize>(
        &self,
        kind: SubTrackKind,
        block: &SubTrackBlock,
        lane: usize,
        left: &SamplePair<'_>,
        right: Option<&SamplePair<'_>>,
        part: f32,
    ) -> [f32; 4] {
        let rows = self.rows.get(block.row as usize..).unwrap_or_default();
        let Some(rows) = rows.first_chunk::<CONSTANTS>() else {
            return [0.0; 4];
        };
        // The lane is always below eight; the remainder removes a bounds check.
        let constants = OneOf { rows, lane: lane % LANES };
        match right {
            None => left.lane_value::<ROWS, CONSTANTS>(kind, block, &constants, part),
            Some(right) => interpolate(
                kind,
                left.lane_value::<ROWS, CONSTANTS>(kind, block, &constants, 0.0),
                right.lane_value::<ROWS, CONSTANTS>(kind, block, &constants, 0.0),
                part,
            ),
        }
    }
}

/// The task to interpolate one joint between two samples.
struct JointSampling<'a> {
    clip: &'a RandomAccess,
    samples: (usize, usize, f32),
    joint: usize,
    out: &'a mut Transform,
}

impl Kernel for JointSampling<'_> {
    type Out = ();

    #[inline(always)]
    fn run<V: Doubles>(self, _: V) {
        let JointSampling { clip: resident, samples: (left, right, part), joint, out } = self;
        let Some((left, right)) = resident.sample_pairs(left, right) else {
            return;
        };
        for place in resident.joint_slots.get(joint).into_iter().flatten() {
            let Some(block) = resident.blocks.get(*place as usize / LANES) else {
                return;
            };
            let value = resident.sub_track_value(block, *place as usize % LANES, &left, right.as_ref(), part);
            match block.kind {
                SubTrackKind::Translation => out.translation = [value[0], value[1], value[2]],
                SubTrackKind::Scale => out.scale = [value[0], value[1], value[2]],
                _ => out.rotation = value,
            }
        }
    }
}

/// The task to interpolate all joints between two samples.
struct PoseSampling<'a, S: ?Sized> {
    clip: &'a RandomAccess,
    left: SamplePair<'a>,
    right: Option<SamplePair<'a>>,
    weights: &'a InterpolationWeights<'a>,
    out: &'a mut S,
}

impl<S: PoseSink + ?Sized> Kernel for PoseSampling<'_, S> {
    type Out = ();

    // Nothing in the loop calls a function that is not inlined, so that constants stay in registers.
    #[inline(always)]
    fn run<V: Doubles>(mut self, simd: V) {
        let all = self.weights.uniform();
        let whole = self.out.wants_all();
        for block in &self.clip.blocks {
            let joints = &block.joints[..usize::from(block.lanes).min(LANES)];
            if !whole && !joints.iter().any(|j| self.out.wants(*j as usize)) {
                continue;
            }
            let part = match all {
                Some(part) => f32x8::splat(simd, part),
                None => f32x8::simd_from(simd, block.joints.map(|j| self.weights.weight(j as usize))),
            };
            if block.lanes == 1 || V::ONE_BY_ONE {
                for (lane, joint) in joints.iter().enumerate() {
                    let joint = *joint as usize;
                    let (left, right, part) = (&self.left, self.right.as_ref(), self.weights.weight(joint));
                    let value = self.clip.sub_track_value(block, lane, left, right, part);
                    write_value(block.kind, joint, &value, self.out);
                }
                continue;
            }
            // One call per kind, so that the compiler knows the kind.
            match block.kind {
                SubTrackKind::Free => self.block::<V, 3, 9>(SubTrackKind::Free, block, part),
                SubTrackKind::TwoAxes => self.block::<V, 2, 13>(SubTrackKind::TwoAxes, block, part),
                SubTrackKind::Hinge => self.block::<V, 1, 9>(SubTrackKind::Hinge, block, part),
                SubTrackKind::Translation => self.block::<V, 3, 1>(SubTrackKind::Translation, block, part),
                SubTrackKind::Scale => self.block::<V, 3, 1>(SubTrackKind::Scale, block, part),
            }
        }
    }
}

impl<S: PoseSink + ?Sized> PoseSampling<'_, S> {
    #[inline(always)]
    fn block<V: Doubles, const ROWS: usize, const CONSTANTS: usize>(
        &mut self,
        kind: SubTrackKind,
        block: &SubTrackBlock,
        part: f32x8<V>,
    ) {
        let rows = self.clip.rows.get(block.row as usize..).unwrap_or_default();
        let Some(rows) = rows.first_chunk::<CONSTANTS>() else {
            return;
        };
        let value = match &self.right {
            None => self.left.block_values::<V, ROWS, CONSTANTS>(kind, block, rows, part),
            Some(right) => {
                let zero = part.same(0.0);
                let a = self.left.block_values::<V, ROWS, CONSTANTS>(kind, block, rows, zero);
                let b = right.block_values::<V, ROWS, CONSTANTS>(kind, block, rows, zero);
                interpolate(kind, a, b, part)
            }
        };
        let values = value[0].token().rows(value);
        for (lane, j) in block.joints[..usize::from(block.lanes).min(LANES)].iter().enumerate() {
            write_value(kind, *j as usize, &values[lane], self.out);
        }
    }
}

/// Writes a value if it is wanted.
#[inline(always)]
fn write_value(kind: SubTrackKind, joint: usize, value: &[f32; 4], out: &mut (impl PoseSink + ?Sized)) {
    if !out.wants_all() && !out.wants(joint) {
        return;
    }
    match kind {
        SubTrackKind::Translation => out.translation(joint, [value[0], value[1], value[2]]),
        SubTrackKind::Scale => out.scale(joint, [value[0], value[1], value[2]]),
        _ => out.rotation(joint, *value),
    }
}

// Elsewhere these functions are inlined so that each is compiled for its instruction set as a whole.
// WebAssembly compiles the whole program for one, and shared code need not be duplicated.
impl SamplePair<'_> {
    /// Returns the value of one sub-track of a block, as [`value`] does.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn lane_value<const ROWS: usize, const CONSTANTS: usize>(
        &self,
        kind: SubTrackKind,
        block: &SubTrackBlock,
        constants: &OneOf<'_, CONSTANTS>,
        part: f32,
    ) -> [f32; 4] {
        let (bytes, lane) = (self.bytes, constants.lane);
        let places = block.fields::<ROWS>(bytes, self.start, lane);
        let mut k = [0.0; 3];
        for (k, [first, width]) in k.iter_mut().zip(places) {
            let [a, b] = self.samples.map(|at| field(bytes, at, first, width));
            *k = (a + (b - a) * part) * self.scale;
        }
        let (origins, lanes) = (self.start + block.origins as usize, usize::from(block.lanes));
        let mut origin = [0.0; 4];
        let four = |c: usize| -> [u8; 4] {
            let at = origins + 4 * (c * lanes + lane);
            chunk(bytes, at).copied().unwrap_or_default()
        };
        match kind {
            SubTrackKind::Free => {
                for c in 0..3 {
                    let at = origins + 2 + 2 * (c * lanes + lane);
                    origin[c] = f32::from(word(bytes, at) as i16);
                }
                origin[3] = f32::from(word(bytes, origins) >> (2 * lane) & 3);
            }
            SubTrackKind::Hinge | SubTrackKind::TwoAxes => {
                for c in 0..ROWS {
                    origin[c] = i32::from_le_bytes(four(c)) as f32;
                }
            }
            SubTrackKind::Translation | SubTrackKind::Scale => {
                for c in 0..3 {
                    origin[c] = f32::from_le_bytes(four(c));
                }
            }
        }
        value(kind, k, origin, constants)
    }

    /// Returns the values of a block, as [`value`] does.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn block_values<V: Doubles, const ROWS: usize, const CONSTANTS: usize>(
        &self,
        kind: SubTrackKind,
        block: &SubTrackBlock,
        rows: &[[f32; LANES]; CONSTANTS],
        part: f32x8<V>,
    ) -> [f32x8<V>; 4] {
        let simd = part.token();
        let zero = part.same(0.0);
        let begin = block.begin(self.bytes, self.start);
        let codes = block.codes::<ROWS>(self.bytes, self.start);
        let fields = fields::fields(simd, self.bytes, self.samples, begin, codes);
        let mut k = [zero; 3];
        for c in 0..ROWS {
            let [a, b] = fields[c];
            k[c] = (a + (b - a) * part) * self.scale;
        }
        // Data read beyond the block is not used; the tail is long enough for one load.
        const { assert!(TAIL_BYTES >= 4 * LANES) };
        let (origins, lanes) = (self.start + block.origins as usize, usize::from(block.lanes));
        let mut origin = [zero; 4];
        match kind {
            SubTrackKind::Free => {
                origin[3] = pairs(simd, word(self.bytes, origins));
                for c in 0..3 {
                    if let Some(words) = chunk(self.bytes, origins + 2 + 2 * c * lanes) {
                        origin[c] = le_i16(simd, words);
                    }
                }
            }
            SubTrackKind::Hinge | SubTrackKind::TwoAxes => {
                for c in 0..ROWS {
                    if let Some(words) = chunk(self.bytes, origins + 4 * c * lanes) {
                        origin[c] = le_i32(simd, words).to_float();
                    }
                }
            }
            SubTrackKind::Translation | SubTrackKind::Scale => {
                for c in 0..3 {
                    if let Some(words) = chunk(self.bytes, origins + 4 * c * lanes) {
                        origin[c] = le_i32(simd, words).bitcast();
                    }
                }
            }
        }
        value(kind, k, origin, &AllOf(simd, rows))
    }
}

/// Loads little-endian integers.
#[inline(always)]
fn le_i16<V: Doubles>(simd: V, bytes: &[u8; 2 * LANES]) -> f32x8<V> {
    let mut words = [0; LANES];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = i16::from_le_bytes(*bytes);
    }
    let (low, high) = i16x8::simd_from(simd, words).widen();
    low.combine(high).to_float()
}

/// Loads little-endian integers.
#[inline(always)]
fn le_i32<V: Doubles>(simd: V, bytes: &[u8; 4 * LANES]) -> i32x8<V> {
    let mut words = [0; LANES];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = i32::from_le_bytes(*bytes);
    }
    i32x8::simd_from(simd, words)
}

/// Returns integers of two bits each, the lowest first.
#[inline(always)]
fn pairs<V: Doubles>(simd: V, bits: u16) -> f32x8<V> {
    // Moves each pair to the top of its number, and from there to the bottom.
    let factors = [1 << 30, 1 << 28, 1 << 26, 1 << 24, 1 << 22, 1 << 20, 1 << 18, 1 << 16];
    let moved = u32x8::simd_from(simd, factors) * u32::from(bits);
    (moved >> 30).bitcast::<i32x8<V>>().to_float()
}

/// Constants of a sub-track, or of eight. No closures: they would not be compiled for the instruction set.
trait Constants<N> {
    fn row(&self, row: usize) -> N;
    fn three(&self, row: usize) -> [N; 3];
}

struct AllOf<'a, V, const N: usize>(V, &'a [[f32; LANES]; N]);

impl<V: Doubles, const N: usize> Constants<f32x8<V>> for AllOf<'_, V, N> {
    #[inline(always)]
    fn row(&self, row: usize) -> f32x8<V> {
        f32x8::simd_from(self.0, self.1[row])
    }
    #[inline(always)]
    fn three(&self, row: usize) -> [f32x8<V>; 3] {
        [self.row(row), self.row(row + 1), self.row(row + 2)]
    }
}

struct OneOf<'a, const N: usize> {
    rows: &'a [[f32; LANES]; N],
    lane: usize,
}

impl<const N: usize> Constants<f32> for OneOf<'_, N> {
    #[inline(always)]
    fn row(&self, row: usize) -> f32 {
        self.rows[row][self.lane % LANES]
    }
    #[inline(always)]
    fn three(&self, row: usize) -> [f32; 3] {
        [self.row(row), self.row(row + 1), self.row(row + 2)]
    }
}

/// Returns the value of a sub-track from its components `k`, in steps of `constants`: a rotation, or a vector
/// in the first three components. Origins are as stored; the last number of a free rotation is the index of
/// the largest component.
#[inline(always)]
fn value<N: Real<f32>>(
    kind: SubTrackKind,
    k: [N; 3],
    origin: [N; 4],
    constants: &impl Constants<N>,
) -> [N; 4] {
    match kind {
        SubTrackKind::Free => {
            let y = times(constants.three(0), k[0]);
            let y = plus(y, times(constants.three(3), k[1]));
            let y = plus(y, times(constants.three(6), k[2]));
            apply_turn(smallest_three(origin), y)
        }
        SubTrackKind::Hinge => hinge(k[0], origin[0], constants),
        SubTrackKind::TwoAxes => {
            let first = hinge(k[0], origin[0], constants);
            let (sine, cosine) = half_sine_cosine(turns(k[1], origin[1], constants.row(9)));
            let [x, y, z] = times(constants.three(10), sine);
            multiply(first, [x, y, z, cosine])
        }
        SubTrackKind::Translation | SubTrackKind::Scale => {
            let [a, b, c, _] = origin;
            let [x, y, z] = plus([a, b, c], times(k, constants.row(0)));
            [x, y, z, x.same(0.0)]
        }
    }
}

/// Interpolates from `a` to `b`, both as [`value`] returns them, with the weight `part`.
#[inline(always)]
fn interpolate<N: Real<f32>>(kind: SubTrackKind, a: [N; 4], b: [N; 4], part: N) -> [N; 4] {
    let (zero, one) = (part.same(0.0), part.same(1.0));
    let mut out = [zero; 4];
    match kind {
        SubTrackKind::Translation | SubTrackKind::Scale => {
            for i in 0..3 {
                out[i] = a[i] + (b[i] - a[i]) * part;
            }
        }
        _ => {
            let dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
            let near = one - part;
            let far = N::select(N::less(dot, zero), -part, part);
            for i in 0..4 {
                out[i] = a[i] * near + b[i] * far;
            }
            let n = out[0] * out[0] + out[1] * out[1] + out[2] * out[2] + out[3] * out[3];
            let scale = one / n.sqrt();
            // Between opposite rotations there is no interpolation.
            let there = N::less(n.same(1e-12), n);
            for i in 0..4 {
                out[i] = N::select(there, out[i] * scale, a[i]);
            }
        }
    }
    let (started, arrives) = (N::less(zero, part), N::less(part, one));
    for i in 0..4 {
        out[i] = N::select(started, N::select(arrives, out[i], b[i]), a[i]);
    }
    out
}

/// Returns a rotation from three components in 2⁻¹⁴/√2 and the index of the fourth, which is positive.
#[inline(always)]
fn smallest_three<N: Real<f32>>([a, b, c, largest]: [N; 4]) -> [N; 4] {
    let unit = 1.0 / 23_170.475;
    let [a, b, c] = [a * unit, b * unit, c * unit];
    let rest = a.same(1.0) - a * a - b * b - c * c;
    let large = rest.max(0.0).sqrt();
    let first = N::less(largest, largest.same(0.5));
    let second = N::less(largest, largest.same(1.5));
    let third = N::less(largest, largest.same(2.5));
    [
        N::select(first, large, a),
        N::select(first, a, N::select(second, large, b)),
        N::select(second, b, N::select(third, large, c)),
        N::select(third, c, large),
    ]
}

/// Returns the rotation `from` followed by the turn whose axis times the tangent of a quarter of its angle is
/// `y`.
#[inline(always)]
fn apply_turn<N: Real<f32>>(from: [N; 4], y: [N; 3]) -> [N; 4] {
    let one = y[0].same(1.0);
    let square = y[0] * y[0] + y[1] * y[1] + y[2] * y[2];
    // The length of (2y, 1 − y²) is 1 + y².
    let inverse = one / (one + square);
    let twice = inverse + inverse;
    let [a, b, c] = times(y, twice);
    multiply(from, [a, b, c, (one - square) * inverse])
}

#[inline(always)]
fn hinge<N: Real<f32>>(k: N, origin: N, constants: &impl Constants<N>) -> [N; 4] {
    let (sine, cosine) = half_sine_cosine(turns(k, origin, constants.row(0)));
    let mut out = [sine; 4];
    for i in 0..4 {
        out[i] = constants.row(1 + i) * cosine + constants.row(5 + i) * sine;
    }
    out
}

/// Returns an angle in turns, reduced to the nearest whole turn.
#[inline(always)]
fn turns<N: Real<f32>>(k: N, origin: N, step: N) -> N {
    let turns = origin * (1.0 / 4_294_967_296.0) + k * step;
    // Rounds numbers below 2²² in the same way on every platform.
    let big = turns.same(12_582_912.0);
    turns - ((turns + big) - big)
}

#[inline(always)]
fn multiply<N: Real<f32>>([ax, ay, az, aw]: [N; 4], [bx, by, bz, bw]: [N; 4]) -> [N; 4] {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// Returns the sine and cosine of half an angle in turns, which is at most half a turn: polynomials exact to
/// 1e-7.
#[inline(always)]
fn half_sine_cosine<N: Real<f32>>(turns: N) -> (N, N) {
    let a = turns * std::f32::consts::PI;
    let s = a * a;
    // Horner's scheme, from the last coefficient on.
    let mut sine = s.same(-1.0 / 39_916_800.0);
    for c in [1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0] {
        sine = s.same(c) + s * sine;
    }
    let mut cosine = s.same(1.0 / 479_001_600.0);
    for c in [-1.0 / 3_628_800.0, 1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5, 1.0] {
        cosine = s.same(c) + s * cosine;
    }
    (a * sine, cosine)
}
