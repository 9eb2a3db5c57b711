//! Decodes an access unit with AVX-512, with the same results as
//! [`crate::mesh::decode::bundle::decode_scalar`] and twice as fast as [`crate::mesh::decode::avx2`].
//!
//! * **Prediction**: the innovations of a vertex in eight frames fill one register and one cache line.
//!   Weights are multiplied in pairs and summed by one instruction (`vpdpwssd`); the magnitudes, fourth in
//!   each vector, have weight 1. In a unit of one frame, innovations lie vertex by vertex, and neighbours are
//!   gathered.
//! * **Tokens and raw bits**: [`crate::mesh::decode::tokens`].
//! * **Packed residuals**: a permutation of bytes and shifts by word separate them; `vpexpandq` distributes
//!   them to the vertices of a mask.

#![allow(unsafe_code)]

use super::bundle::{Bundle, ReferenceFrame};
use super::neighbour_plan::NeighbourPlan;
use super::static_part::StaticPart;
use super::tokens::avx512::{TablesAndShifts, TokenStream};
use super::unit::{DecodedPoint, UnitResiduals};
use crate::mesh::blocks::{self, BLOCK, BUNDLE, scratch_len};
use crate::mesh::contexts::{ByteLookup, NO_LOOKUP};
use crate::mesh::pack::avx512::PackedStream;
use crate::mesh::registers::avx512::{AXES, Vectors, kernel};
use crate::schedule::MAX_REFERENCES;
use crate::simd::isa::Avx512;
use std::arch::x86_64::*;

/// The number of vectors in half a block.
const HALF: usize = BLOCK / 2;
/// The mask of the first three of every four double words, each a pair of components of two vectors.
const PAIRS: __mmask16 = 0x7777;

/// Decodes an access unit, with the same results as [`crate::mesh::decode::bundle::decode_scalar`].
///
/// Returns `false` and does nothing if the arguments do not fit this decoder.
pub(super) fn decode(
    _: Avx512,
    plan: &NeighbourPlan,
    s: &StaticPart,
    bundle: &Bundle<i16>,
    source: &mut UnitResiduals,
    out: &mut [&mut [DecodedPoint<i16>]],
    scratch: &mut [DecodedPoint<i16>],
) -> bool {
    let n = plan.points;
    let ready = s.tables.slot_tables();
    let lookup = ready.and_then(|ready| ready.contexts.lookup.as_deref());
    if matches!(source, UnitResiduals::Tokens(_)) && lookup.is_none() {
        return false;
    }
    let lookup = lookup.unwrap_or(&NO_LOOKUP);
    let fits = s.points() == n
        && n > 0
        && scratch.len() >= scratch_len(n)
        && (1..=BUNDLE).contains(&out.len())
        && bundle.heads.len() == out.len()
        && out.iter().all(|o| o.len() == n)
        && bundle.fits(n);
    if !fits {
        return false;
    }
    // SAFETY: the first argument proves that AVX-512 is available, and all slices have the lengths that the
    // kernel relies on.
    unsafe { decode_bundle(plan, lookup, s, bundle, source, out, scratch) };
    true
}

// The sources of residuals as constants, for generic parameters.
const ZERO: u8 = 0;
const TOKENS: u8 = 1;
const PACKED: u8 = 2;

/// The source of the residuals.
#[allow(clippy::large_enum_variant)] // One per unit, on the stack.
enum Input<'a> {
    Zero,
    Tokens(TokenStream<'a>),
    Packed(PackedStream<'a>),
}

kernel! {
unsafe fn decode_bundle(
    plan: &NeighbourPlan,
    lookup: &ByteLookup,
    s: &StaticPart,
    bundle: &Bundle<i16>,
    source: &mut UnitResiduals,
    out: &mut [&mut [DecodedPoint<i16>]],
    scratch: &mut [DecodedPoint<i16>],
) {
    let kernel = Kernel::new(plan, lookup, s, bundle, out, scratch);
    let mut input = match source {
        UnitResiduals::Zero => Input::Zero,
        UnitResiduals::Tokens(t) => Input::Tokens(TokenStream::new(t)),
        UnitResiduals::Packed(p) => Input::Packed(PackedStream::new(p)),
    };
    // SAFETY: the constants match the kind of the input.
    unsafe {
        match (&input, kernel.frames) {
            (Input::Zero, 1) => kernel.decode_levels::<ZERO, true>(s, bundle, &mut input),
            (Input::Zero, _) => kernel.decode_levels::<ZERO, false>(s, bundle, &mut input),
            (Input::Tokens(_), 1) => kernel.decode_levels::<TOKENS, true>(s, bundle, &mut input),
            (Input::Tokens(_), _) => kernel.decode_levels::<TOKENS, false>(s, bundle, &mut input),
            (Input::Packed(_), 1) => kernel.decode_levels::<PACKED, true>(s, bundle, &mut input),
            (Input::Packed(_), _) => kernel.decode_levels::<PACKED, false>(s, bundle, &mut input),
        }
    }
    match (&input, source) {
        (Input::Tokens(stream), UnitResiduals::Tokens(t)) => stream.put_back(t),
        (Input::Packed(fields), UnitResiduals::Packed(p)) => fields.put_back(p),
        _ => {}
    }
}
}

/// The number of points above which the innovations do not fit, with all else, into a cache of 2 MiB.
const MAX_CACHED_POINTS: usize = 20_000;

/// The values that all blocks of a level share.
struct LevelSetting {
    root: bool,
    /// `true` if neighbours are likely to be outside the second-level cache.
    prefetches: bool,
    /// `true` if later levels need the innovations.
    needs_innovations: bool,
    rho: Rho,
}

/// ρ by frame, in 1/16.
struct Rho {
    /// `true` if ρ is 1 in all frames.
    whole: bool,
    low: __m512i,
    high: __m512i,
}

impl Rho {
    kernel! {
    /// Arranges ρ in the order of unpacked vectors: one frame throughout, else even and odd frames
    /// separately.
    fn new(rho: [i32; BUNDLE], frames: usize) -> Rho {
        let four = |k: [i32; 4]| {
            let [a, b, c, d] = k.map(|k| _mm_set1_epi32(k));
            let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);
            let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(c), d);
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        };
        let of = |f: usize| if frames == 1 { rho[0] } else { rho[f] };
        Rho {
            whole: rho.iter().all(|&r| r == 16),
            low: four([of(0), of(2), of(4), of(6)]),
            high: four([of(1), of(3), of(5), of(7)]),
        }
    }
    }
}

struct Kernel<'a> {
    plan: &'a NeighbourPlan,
    lookup: &'a ByteLookup,
    slots: *const i32,
    frames: usize,
    layers: [usize; BUNDLE],
    /// The step for the axes, 1 for the magnitude.
    step: [__m512i; BUNDLE],
    coefficients: [[__m512i; 2]; BUNDLE],
    /// By frame: its references and its output, from the first vertex on.
    references: [[*const DecodedPoint<i16>; MAX_REFERENCES]; BUNDLE],
    out: [*mut DecodedPoint<i16>; BUNDLE],
    innovation: *mut __m512i,
}

impl<'a> Kernel<'a> {
    kernel! {
    fn new(
        plan: &'a NeighbourPlan,
        lookup: &'a ByteLookup,
        s: &StaticPart,
        bundle: &Bundle<'a, i16>,
        out: &mut [&mut [DecodedPoint<i16>]],
        scratch: &mut [DecodedPoint<i16>],
    ) -> Kernel<'a> {
        // Aligned to cache lines; the scratch memory has room for that.
        let start = scratch.as_mut_ptr().cast::<u8>();
        let line = size_of::<__m512i>();
        let innovation = start.wrapping_add(start.addr().wrapping_neg() % line);
        let mut kernel = Kernel {
            plan,
            lookup,
            slots: (s.tables.slot_tables()).map_or(std::ptr::null(), |ready| ready.slots.as_ptr().cast()),
            frames: out.len(),
            layers: bundle.layers,
            step: bundle.layers.map(|l| {
                let one = i64::from(s.grid.steps[l]);
                _mm512_set1_epi64(one | one << 16 | one << 32 | 1 << 48)
            }),
            coefficients: [[_mm512_setzero_si512(); 2]; BUNDLE],
            references: [[std::ptr::null(); MAX_REFERENCES]; BUNDLE],
            out: [std::ptr::null_mut(); BUNDLE],
            innovation: innovation.cast(),
        };
        for (pairs, head) in kernel.coefficients.iter_mut().zip(bundle.heads) {
            let c = head.coefficients.map(|c| c as u16 as u32);
            *pairs = [0, 2].map(|k| _mm512_set1_epi32((c[k] | c[k + 1] << 16) as i32));
        }
        for (to, out) in kernel.out.iter_mut().zip(out) {
            *to = out.as_mut_ptr();
        }
        for f in 0..kernel.frames {
            kernel.references[f] = bundle.references[f].map(|r| match r {
                ReferenceFrame::Known(frame) => frame.as_ptr(),
                ReferenceFrame::Inside(frame) => kernel.out[frame].cast_const(),
            });
        }
        kernel
    }
    }

    kernel! {
    /// Decodes all vertices, of one frame if `ONE`. `KIND` must be that of the input.
    unsafe fn decode_levels<const KIND: u8, const ONE: bool>(
        &self,
        s: &StaticPart,
        bundle: &Bundle<i16>,
        input: &mut Input,
    ) {
        let levels = s.hierarchy.level_count();
        for level in 0..levels {
            let rho: [i32; BUNDLE] = std::array::from_fn(|f| {
                bundle.heads.get(f).map_or(16, |h| 4 * i32::from(h.rho[level]))
            });
            let place = LevelSetting {
                root: level == 0,
                prefetches: level > 0 && self.plan.points > MAX_CACHED_POINTS,
                needs_innovations: level + 1 < levels,
                rho: Rho::new(rho, self.frames),
            };
            for vertices in blocks::blocks(s.hierarchy.level(level)) {
                let (start, count) = (vertices.start, vertices.len());
                // SAFETY: the block's vertices are points of the mesh.
                unsafe {
                    match count {
                        BLOCK => self.block::<KIND, ONE, true>(&place, start, count, input),
                        _ => self.block::<KIND, ONE, false>(&place, start, count, input),
                    }
                }
            }
        }
    }
    }

    kernel! {
    /// Decodes `count` vertices of one level from number `start` on: a `FULL` block of 16, or fewer.
    unsafe fn block<const KIND: u8, const ONE: bool, const FULL: bool>(
        &self,
        place: &LevelSetting,
        start: usize,
        count: usize,
        input: &mut Input,
    ) {
        let zero = _mm512_setzero_si512();
        let active = ((1u32 << count) - 1) as u16;
        let mut inn = [[zero; 2]; BUNDLE];
        if !ONE && place.prefetches {
            let ahead = (start + BLOCK).min(self.plan.points);
            for near in &self.plan.neighbour_offsets {
                for v in ahead..ahead + BLOCK {
                    // SAFETY: the list is padded for a whole block behind the last point. A prefetch accesses
                    // no memory.
                    unsafe {
                        let offset = *near.as_ptr().add(v) as usize;
                        _mm_prefetch::<_MM_HINT_T0>(self.innovation.byte_add(offset).cast());
                    }
                }
            }
        }
        // SAFETY: the conditions are those of the enclosing function.
        unsafe {
            if !place.root {
                match (ONE, place.rho.whole) {
                    (true, true) => self.predict_one::<KIND, true>(place, start, &mut inn),
                    (true, false) => self.predict_one::<KIND, false>(place, start, &mut inn),
                    (false, true) => self.predict::<KIND, true>(place, start, &mut inn),
                    (false, false) => self.predict::<KIND, false>(place, start, &mut inn),
                }
            }
            let frames = if ONE { 1 } else { self.frames };
            for f in 0..frames {
                self.finish::<KIND, ONE, FULL>(place.root, f, start, active, input, &mut inn[f]);
            }
            if !place.needs_innovations {
                return;
            }
            // There is room for a whole block behind the last point.
            if ONE {
                let to = self.innovation.cast::<DecodedPoint<i16>>().add(start);
                _mm512_storeu_si512(to.cast(), inn[0][0]);
                _mm512_storeu_si512(to.add(HALF).cast(), inn[0][1]);
            } else {
                for h in 0..2 {
                    let rows = transposed(std::array::from_fn(|f| inn[f][h]));
                    let to = self.innovation.add(start + HALF * h);
                    for (v, row) in rows.into_iter().enumerate() {
                        _mm512_store_si512(to.add(v), row);
                    }
                }
            }
        }
    }
    }

    kernel! {
    /// Predicts a block over the surface in all frames: x, y, z and the sum of the neighbours' magnitudes.
    unsafe fn predict<const KIND: u8, const WHOLE: bool>(
        &self,
        place: &LevelSetting,
        start: usize,
        out: &mut [Vectors; BUNDLE],
    ) {
        let ones = _mm512_set1_epi32(0x0001_0001);
        for h in 0..2 {
            let row = |v: usize| {
                let v = start + HALF * h + v;
                // SAFETY: the list is padded for a block behind the last point; neighbours are valid points.
                unsafe {
                    let pairs = self.plan.weights.as_ptr().add(v).cast::<i32>();
                    let pair = |k: usize| {
                        let pair = _mm_loadu_si32(pairs.add(k).cast());
                        match KIND {
                            TOKENS => _mm512_mask_broadcastd_epi32(ones, PAIRS, pair),
                            _ => _mm512_broadcastd_epi32(pair),
                        }
                    };
                    let near = |k: usize| {
                        let offset = *self.plan.neighbour_offsets[k].as_ptr().add(v);
                        _mm512_load_si512(self.innovation.byte_add(offset as usize))
                    };
                    let weights = [pair(0), pair(1)];
                    let near = [near(0), near(1), near(2), near(3)];
                    let sums = weighted(half::<WHOLE>(), near, weights, weights);
                    rounded::<KIND, WHOLE>(sums, &place.rho)
                }
            };
            let rows = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
            for (f, t) in transposed(rows).into_iter().enumerate() {
                out[f][h] = t;
            }
        }
    }
    }

    kernel! {
    /// Predicts a block over the surface in a unit of one frame.
    unsafe fn predict_one<const KIND: u8, const WHOLE: bool>(
        &self,
        place: &LevelSetting,
        start: usize,
        out: &mut [Vectors; BUNDLE],
    ) {
        let ones = _mm512_set1_epi32(0x0001_0001);
        for h in 0..2 {
            let v = start + HALF * h;
            // SAFETY: the lists are padded behind the last point; neighbours are valid points.
            unsafe {
                let near = |k: usize| {
                    let offsets = _mm256_loadu_si256(self.plan.neighbour_offsets[k].as_ptr().add(v).cast());
                    let points = _mm256_srli_epi32::<6>(offsets);
                    _mm512_i32gather_epi64::<8>(points, self.innovation.cast())
                };
                let w = _mm512_loadu_si512(self.plan.weights.as_ptr().add(v).cast());
                let even = [
                    _mm512_mask_shuffle_epi32::<0x00>(ones, PAIRS, w),
                    _mm512_mask_shuffle_epi32::<0x55>(ones, PAIRS, w),
                ];
                let odd = [
                    _mm512_mask_shuffle_epi32::<0xAA>(ones, PAIRS, w),
                    _mm512_mask_shuffle_epi32::<0xFF>(ones, PAIRS, w),
                ];
                let near = [near(0), near(1), near(2), near(3)];
                let sums = weighted(half::<WHOLE>(), near, even, odd);
                out[0][h] = rounded::<KIND, WHOLE>(sums, &place.rho);
            }
        }
    }
    }

    kernel! {
    /// Adds the residual and the temporal prediction; turns the prediction `inn` into the innovation.
    unsafe fn finish<const KIND: u8, const ONE: bool, const FULL: bool>(
        &self,
        root: bool,
        f: usize,
        start: usize,
        active: __mmask16,
        input: &mut Input,
        inn: &mut Vectors,
    ) {
        let refs = &self.references[f];
        let masks = [active as u8, (active >> 8) as u8];
        // SAFETY: the active vertices exist.
        let load = |k: usize, h: usize| unsafe {
            let from = refs[k].add(start + HALF * h);
            match FULL {
                true => _mm512_loadu_si512(from.cast()),
                false => _mm512_maskz_loadu_epi64(masks[h], from.cast()),
            }
        };
        let residual = match input {
            Input::Zero if KIND == ZERO => None,
            Input::Packed(fields) if KIND == PACKED => {
                // SAFETY: the conditions are those of the enclosing function.
                fields.next().then(|| unsafe { fields.block(active) })
            }
            Input::Tokens(stream) if KIND == TOKENS => {
                let larger = |h: usize| _mm512_max_epi16(load(0, h), load(1, h));
                let past = fourths([larger(0), larger(1)]);
                let past = _mm512_max_epi32(past, _mm512_setzero_si512());
                let near = match root {
                    true => _mm512_slli_epi32::<2>(past),
                    false => fourths(*inn),
                };
                // SAFETY: the conditions are those of the enclosing function.
                unsafe {
                    let context = TablesAndShifts::new(self.lookup, self.layers[f], near, past);
                    stream.block(self.lookup, self.slots, context, active)
                }
            }
            // SAFETY: `KIND` is that of the input.
            _ => unsafe { std::hint::unreachable_unchecked() },
        };
        for h in 0..2 {
            let p = inn[h];
            inn[h] = match residual {
                None => _mm512_maskz_mov_epi16(AXES, p),
                Some(q) => {
                    let scaled = _mm512_mullo_epi16(q[h], self.step[f]);
                    _mm512_mask_add_epi16(scaled, AXES, scaled, p)
                }
            };
            let [ab, cd] = self.coefficients[f];
            let (a, b, c, d) = (load(0, h), load(1, h), load(2, h), load(3, h));
            let rounding = _mm512_set1_epi32(128);
            let [low, high] = weighted(rounding, [a, b, c, d], [ab, cd], [ab, cd]);
            let wrapped = |sum: __m512i| _mm512_srai_epi32::<16>(_mm512_slli_epi32::<8>(sum));
            let t = _mm512_packs_epi32(wrapped(low), wrapped(high));
            let rec = _mm512_mask_add_epi16(inn[h], AXES, inn[h], t);
            // SAFETY: the active vertices exist.
            unsafe {
                let to = self.out[f].add(start + HALF * h);
                match FULL {
                    true => _mm512_storeu_si512(to.cast(), rec),
                    false => _mm512_mask_storeu_epi64(to.cast(), masks[h], rec),
                }
            }
        }
    }
    }
}

kernel! {
/// Returns `sum` plus the products of pairs of words. Written in assembly because the compiler would replace
/// two of these by three instructions for lower latency; the number of instructions matters here.
fn products(mut sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: AVX-512 VNNI is available, and only the register changes.
    unsafe {
        std::arch::asm!(
            "vpdpwssd {sum}, {a}, {b}",
            sum = inout(zmm_reg) sum,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}
}

kernel! {
/// Returns `start` plus weighted sums of four vectors, those of the low and of the high half of each lane
/// separately.
fn weighted(
    start: __m512i,
    [a, b, c, d]: [__m512i; 4],
    low: [__m512i; 2],
    high: [__m512i; 2],
) -> [__m512i; 2] {
    let first = products(start, _mm512_unpacklo_epi16(a, b), low[0]);
    let second = products(start, _mm512_unpackhi_epi16(a, b), high[0]);
    [
        products(first, _mm512_unpacklo_epi16(c, d), low[1]),
        products(second, _mm512_unpackhi_epi16(c, d), high[1]),
    ]
}
}

kernel! {
/// Returns the initial value of sums for [`rounded`].
fn half<const WHOLE: bool>() -> __m512i {
    match WHOLE {
        true => _mm512_maskz_set1_epi32(PAIRS, 2048),
        false => _mm512_setzero_si512(),
    }
}
}

kernel! {
/// Multiplies sums by ρ and rounds them; sums of magnitudes stay as they are, but only if there are tokens.
fn rounded<const KIND: u8, const WHOLE: bool>([low, high]: [__m512i; 2], rho: &Rho) -> __m512i {
    let each = |sum: __m512i, rho: __m512i| {
        // ((sum >> 6) · 16 + 512) >> 10 equals (sum + 2048) >> 12, of which 16 bits are kept.
        let high = if WHOLE {
            match KIND {
                TOKENS => _mm512_mask_slli_epi32::<4>(sum, PAIRS, sum),
                _ => _mm512_slli_epi32::<4>(sum),
            }
        } else {
            let p = _mm512_mullo_epi32(_mm512_srai_epi32::<6>(sum), rho);
            let p = _mm512_add_epi32(p, _mm512_set1_epi32(512));
            match KIND {
                TOKENS => _mm512_mask_slli_epi32::<6>(sum, PAIRS, p),
                _ => _mm512_slli_epi32::<6>(p),
            }
        };
        match KIND {
            TOKENS => _mm512_mask_srai_epi32::<16>(high, PAIRS, high),
            _ => _mm512_srai_epi32::<16>(high),
        }
    };
    _mm512_packs_epi32(each(low, rho.low), each(high, rho.high))
}
}

kernel! {
/// Transposes eight rows of eight 64-bit values.
fn transposed(r: [__m512i; 8]) -> [__m512i; 8] {
    // By pairs of columns, then by lanes.
    let lanes = |a: __m512i, b: __m512i, c: __m512i, d: __m512i| {
        let (even, odd) = (
            [_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d)],
            [_mm512_shuffle_i64x2::<0xDD>(a, b), _mm512_shuffle_i64x2::<0xDD>(c, d)],
        );
        [
            _mm512_shuffle_i64x2::<0x88>(even[0], even[1]),
            _mm512_shuffle_i64x2::<0x88>(odd[0], odd[1]),
            _mm512_shuffle_i64x2::<0xDD>(even[0], even[1]),
            _mm512_shuffle_i64x2::<0xDD>(odd[0], odd[1]),
        ]
    };
    let low = |k: usize| _mm512_unpacklo_epi64(r[k], r[k + 1]);
    let high = |k: usize| _mm512_unpackhi_epi64(r[k], r[k + 1]);
    let [c0, c2, c4, c6] = lanes(low(0), low(2), low(4), low(6));
    let [c1, c3, c5, c7] = lanes(high(0), high(2), high(4), high(6));
    [c0, c1, c2, c3, c4, c5, c6, c7]
}
}

kernel! {
/// Returns the fourth components of 16 vectors.
fn fourths([a, b]: Vectors) -> __m512i {
    let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    _mm512_srai_epi32::<16>(_mm512_permutex2var_epi32(a, odd, b))
}
}
