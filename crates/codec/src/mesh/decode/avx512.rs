//! Decoding of a unit with AVX-512: the same bits as [`crate::mesh::decode::bundle::decode_scalar`], and twice as fast as
//! [`crate::mesh::decode::avx2`].
//!
//! * **Prediction**: the innovations of a vertex in eight frames are one register, and one cache line.
//!   Weights are multiplied in pairs and summed by one instruction (`vpdpwssd`); the magnitudes, fourth in
//!   each vector, have weight 1. A unit of one frame has its innovations vertex by vertex; neighbours are
//!   gathered.
//! * **Context**: sums become classes, and classes tables, by permutations of bytes (`vpermi2b`).
//! * **Range coding**: 16 lanes are one register. Whether a token is 0 is seen without its table: tables take
//!   more than the first cache holds, and are read for the other tokens only. Words are dealt to the lanes
//!   that take one by `vpexpandd`.
//! * **Raw bits**: numbers of bits follow from the tokens, positions are a prefix sum, and a permutation of
//!   bytes brings each vertex the four bytes that it needs.
//! * **Packed residuals**: a permutation of bytes and shifts by word; `vpexpandq` deals them to the vertices
//!   of a mask.

#![allow(unsafe_code)]

use super::bundle::{Bundle, Reference};
use super::first::Static;
use super::plan::Plan;
use super::unit::{Source, Tokens, Vector};
use crate::entropy::rans::LANES;
use crate::mesh::blocks::{self, BLOCK, BUNDLE, scratch_len};
use crate::mesh::contexts::{Lookup, NO_LOOKUP, PAST_MOST, QUARTER};
use crate::mesh::pack::avx512::Fields;
use crate::mesh::registers::avx2::{Padded, TOKEN_BITS};
use crate::mesh::registers::avx512::{AXES, Vectors, kernel};
use crate::mesh::token::{self, BitReader, ESCAPE};
use crate::schedule::REFERENCES;
use crate::simd::isa::Avx512;
use std::arch::x86_64::*;

/// Vectors of half a block.
const HALF: usize = BLOCK / 2;
/// The mask of the first three of each four double words, which are pairs of words of two vectors.
const PAIRS: __mmask16 = 0x7777;
/// The low byte of double words.
const LOW_BYTES: __mmask64 = 0x1111_1111_1111_1111;

/// Decodes a unit; the same as [`crate::mesh::decode::bundle::decode_scalar`].
///
/// False, and nothing done, if the arguments are not what the kernel is for.
pub(super) fn decode(
    _: Avx512,
    plan: &Plan,
    s: &Static,
    bundle: &Bundle<i16>,
    source: &mut Source,
    out: &mut [&mut [Vector<i16>]],
    scratch: &mut [Vector<i16>],
) -> bool {
    let n = plan.points;
    let ready = s.tables.ready();
    let lookup = ready.and_then(|ready| ready.contexts.lookup.as_deref());
    if matches!(source, Source::Tokens(_)) && lookup.is_none() {
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
    // SAFETY: AVX-512 is there (the first argument says so), and all slices have the lengths that the kernel
    // relies on.
    unsafe { run(plan, lookup, s, bundle, source, out, scratch) };
    true
}

// Where residuals come from, for the compiler.
const ZERO: u8 = 0;
const TOKENS: u8 = 1;
const PACKED: u8 = 2;

/// Where residuals come from.
#[allow(clippy::large_enum_variant)] // One per unit, on the stack.
enum Input<'a> {
    Zero,
    Tokens(Stream<'a>),
    Packed(Fields<'a>),
}

kernel! {
unsafe fn run(
    plan: &Plan,
    lookup: &Lookup,
    s: &Static,
    bundle: &Bundle<i16>,
    source: &mut Source,
    out: &mut [&mut [Vector<i16>]],
    scratch: &mut [Vector<i16>],
) {
    let kernel = Kernel::new(plan, lookup, s, bundle, out, scratch);
    let mut input = match source {
        Source::Zero => Input::Zero,
        Source::Tokens(t) => Input::Tokens(Stream::new(t)),
        Source::Packed(p) => Input::Packed(Fields::new(p)),
    };
    // SAFETY: the kinds are those of the input.
    unsafe {
        match (&input, kernel.frames) {
            (Input::Zero, 1) => kernel.levels::<ZERO, true>(s, bundle, &mut input),
            (Input::Zero, _) => kernel.levels::<ZERO, false>(s, bundle, &mut input),
            (Input::Tokens(_), 1) => kernel.levels::<TOKENS, true>(s, bundle, &mut input),
            (Input::Tokens(_), _) => kernel.levels::<TOKENS, false>(s, bundle, &mut input),
            (Input::Packed(_), 1) => kernel.levels::<PACKED, true>(s, bundle, &mut input),
            (Input::Packed(_), _) => kernel.levels::<PACKED, false>(s, bundle, &mut input),
        }
    }
    match (&input, source) {
        (Input::Tokens(stream), Source::Tokens(t)) => stream.put_back(t),
        (Input::Packed(fields), Source::Packed(p)) => fields.put_back(p),
        _ => {}
    }
}
}

/// More points than that have more innovations than fit beside the rest into a cache of 2 MiB.
const FAR: usize = 20_000;

/// The values that all blocks of a level share.
struct Place {
    root: bool,
    /// Whether neighbours are likely to be outside the second cache.
    far: bool,
    /// Whether innovations are looked at again.
    kept: bool,
    rho: Rho,
}

/// ρ by frame, in 1/16.
struct Rho {
    /// All are 1.
    whole: bool,
    low: __m512i,
    high: __m512i,
}

impl Rho {
    kernel! {
    /// As unpacking leaves vectors: of one frame all the same, else even and odd frames apart.
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
    plan: &'a Plan,
    lookup: &'a Lookup,
    slots: *const i32,
    frames: usize,
    layers: [usize; BUNDLE],
    /// S for the axes, 1 for the magnitude.
    step: [__m512i; BUNDLE],
    coefficients: [[__m512i; 2]; BUNDLE],
    /// By frame: its references and itself, from the first vertex on.
    references: [[*const Vector<i16>; REFERENCES]; BUNDLE],
    out: [*mut Vector<i16>; BUNDLE],
    innovation: *mut __m512i,
}

impl<'a> Kernel<'a> {
    kernel! {
    fn new(
        plan: &'a Plan,
        lookup: &'a Lookup,
        s: &Static,
        bundle: &Bundle<'a, i16>,
        out: &mut [&mut [Vector<i16>]],
        scratch: &mut [Vector<i16>],
    ) -> Kernel<'a> {
        // In whole cache lines; there is one vector's worth of them to spare.
        let start = scratch.as_mut_ptr().cast::<u8>();
        let line = size_of::<__m512i>();
        let innovation = start.wrapping_add(start.addr().wrapping_neg() % line);
        let mut kernel = Kernel {
            plan,
            lookup,
            slots: (s.tables.ready()).map_or(std::ptr::null(), |ready| ready.slots.as_ptr().cast()),
            frames: out.len(),
            layers: bundle.layers,
            step: bundle.layers.map(|l| {
                let one = i64::from(s.grid.steps[l]);
                _mm512_set1_epi64(one | one << 16 | one << 32 | 1 << 48)
            }),
            coefficients: [[_mm512_setzero_si512(); 2]; BUNDLE],
            references: [[std::ptr::null(); REFERENCES]; BUNDLE],
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
                Reference::Known(frame) => frame.as_ptr(),
                Reference::Inside(frame) => kernel.out[frame].cast_const(),
            });
        }
        kernel
    }
    }

    kernel! {
    /// Decodes all vertices, of `ONE` frame or more. `KIND` must be the input's.
    unsafe fn levels<const KIND: u8, const ONE: bool>(
        &self,
        s: &Static,
        bundle: &Bundle<i16>,
        input: &mut Input,
    ) {
        let levels = s.hierarchy.levels();
        for level in 0..levels {
            let rho: [i32; BUNDLE] = std::array::from_fn(|f| {
                bundle.heads.get(f).map_or(16, |h| 4 * i32::from(h.rho[level]))
            });
            let place = Place {
                root: level == 0,
                far: level > 0 && self.plan.points > FAR,
                kept: level + 1 < levels,
                rho: Rho::new(rho, self.frames),
            };
            for vertices in blocks::blocks(s.hierarchy.level(level)) {
                let (start, count) = (vertices.start, vertices.len());
                // SAFETY: the block's vertices are points.
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
    /// Decodes `count` vertices of one level from number `start` on: a `FULL` block of 16, or less.
    unsafe fn block<const KIND: u8, const ONE: bool, const FULL: bool>(
        &self,
        place: &Place,
        start: usize,
        count: usize,
        input: &mut Input,
    ) {
        let zero = _mm512_setzero_si512();
        let active = ((1u32 << count) - 1) as u16;
        let mut inn = [[zero; 2]; BUNDLE];
        if !ONE && place.far {
            let ahead = (start + BLOCK).min(self.plan.points);
            for near in &self.plan.near {
                for v in ahead..ahead + BLOCK {
                    // SAFETY: there are zeros for a whole block behind the last point. Asking for memory
                    // touches nothing.
                    unsafe {
                        let offset = *near.as_ptr().add(v) as usize;
                        _mm_prefetch::<_MM_HINT_T0>(self.innovation.byte_add(offset).cast());
                    }
                }
            }
        }
        // SAFETY: as here.
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
            if !place.kept {
                return;
            }
            // Behind the last point there is room for a whole block.
            if ONE {
                let to = self.innovation.cast::<Vector<i16>>().add(start);
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
    /// Spatial prediction of a block in all frames: x, y, z and the sum of the neighbours' magnitudes.
    unsafe fn predict<const KIND: u8, const WHOLE: bool>(
        &self,
        place: &Place,
        start: usize,
        out: &mut [Vectors; BUNDLE],
    ) {
        let ones = _mm512_set1_epi32(0x0001_0001);
        for h in 0..2 {
            let row = |v: usize| {
                let v = start + HALF * h + v;
                // SAFETY: there are zeros for a whole block behind the last point; neighbours are points.
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
                        let offset = *self.plan.near[k].as_ptr().add(v);
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
    /// Prediction in a unit of one frame.
    unsafe fn predict_one<const KIND: u8, const WHOLE: bool>(
        &self,
        place: &Place,
        start: usize,
        out: &mut [Vectors; BUNDLE],
    ) {
        let ones = _mm512_set1_epi32(0x0001_0001);
        for h in 0..2 {
            let v = start + HALF * h;
            // SAFETY: as above.
            unsafe {
                let near = |k: usize| {
                    let offsets = _mm256_loadu_si256(self.plan.near[k].as_ptr().add(v).cast());
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
    /// Adds the residual and the temporal prediction: from a prediction becomes the innovation.
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
        // SAFETY: the active vertices are there.
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
                // SAFETY: as here.
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
                // SAFETY: as here.
                unsafe {
                    let context = Context::new(self.lookup, self.layers[f], near, past);
                    stream.block(self.lookup, self.slots, context, active)
                }
            }
            // SAFETY: the kinds are equal.
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
            // SAFETY: the active vertices are there.
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
/// `sum` plus products of pairs of words. The compiler makes three instructions of two of these, to end
/// sooner; what counts here is how many there are.
fn products(mut sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: AVX-512 VNNI is there, and nothing but the register changes.
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
/// `start` plus sums of four vectors by weights, the low and the high ones of each lane apart.
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
/// The number from which [`rounded`] expects sums to start.
fn half<const WHOLE: bool>() -> __m512i {
    match WHOLE {
        true => _mm512_maskz_set1_epi32(PAIRS, 2048),
        false => _mm512_setzero_si512(),
    }
}
}

kernel! {
/// Sums times ρ, rounded; those of magnitudes as they are, but only where there are tokens.
fn rounded<const KIND: u8, const WHOLE: bool>([low, high]: [__m512i; 2], rho: &Rho) -> __m512i {
    let each = |sum: __m512i, rho: __m512i| {
        // ((sum >> 6) · 16 + 512) >> 10 is (sum + 2048) >> 12; of that 16 bits.
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
/// Rows of eight 64-bit values become columns.
fn transposed(r: [__m512i; 8]) -> [__m512i; 8] {
    // By pairs of columns, then lanes.
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
/// The fourths of 16 vectors.
fn fourths([a, b]: Vectors) -> __m512i {
    let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    _mm512_srai_epi32::<16>(_mm512_permutex2var_epi32(a, odd, b))
}
}

/// Tables and shifts of 16 vertices.
pub(super) struct Context {
    table: __m512i,
    shift: __m512i,
}

impl Context {
    kernel! {
    pub(super) unsafe fn new(lookup: &Lookup, layer: usize, near: __m512i, past: __m512i) -> Context {
        // SAFETY: 128 bytes each.
        let find = |bytes: &[u8; 128], index: __m512i| unsafe {
            let low = _mm512_loadu_si512(bytes.as_ptr().cast());
            let high = _mm512_loadu_si512(bytes.as_ptr().add(64).cast());
            _mm512_maskz_permutex2var_epi8(LOW_BYTES, low, index, high)
        };
        let classes = _mm512_broadcast_i32x4(_mm_setr_epi8(
            0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4,
        ));
        let past = _mm512_min_epi32(past, _mm512_set1_epi32(PAST_MOST as i32 - 1));
        let past = _mm512_shuffle_epi8(classes, past);
        let near = _mm512_sub_ps(_mm512_cvtepi32_ps(near), _mm512_set1_ps(0.5));
        let near = _mm512_castps_si512(_mm512_max_ps(near, _mm512_set1_ps(0.25)));
        let near = _mm512_srli_epi32::<21>(_mm512_sub_epi32(near, _mm512_set1_epi32(QUARTER)));
        let context = _mm512_add_epi32(find(&lookup.near, near), past);
        Context {
            table: find(&lookup.tables[layer], context),
            shift: find(&lookup.shift, near),
        }
    }
    }
}

pub(super) struct Stream<'a> {
    /// Of up to eight lanes, in the lower half.
    states: __m512i,
    lanes: usize,
    words: Padded<'a>,
    next: usize,
    raw: Padded<'a>,
    bit: usize,
}

impl<'a> Stream<'a> {
    kernel! {
    pub(super) fn new(t: &Tokens<'a>) -> Stream<'a> {
        Stream {
            // SAFETY: 16 states.
            states: unsafe { _mm512_loadu_si512(t.rans.states.as_ptr().cast()) },
            lanes: t.lanes,
            words: Padded::new(t.rans.words),
            next: t.rans.next,
            raw: Padded::new(t.raw.bytes()),
            bit: t.raw.position(),
        }
    }
    }

    kernel! {
    pub(super) fn put_back(&self, t: &mut Tokens<'a>) {
        let states = values(self.states).map(|x| x as u32);
        t.rans.states[..t.lanes].copy_from_slice(&states[..t.lanes]);
        t.rans.next = self.next;
        t.raw = BitReader::at(t.raw.bytes(), self.bit);
    }
    }

    kernel! {
    /// Tokens of the active lanes, else 0.
    unsafe fn tokens(
        &mut self,
        lookup: &Lookup,
        slots: *const i32,
        table: __m512i,
        active: __mmask16,
    ) -> __m512i {
        let x = self.states;
        let low = _mm512_and_si512(x, _mm512_set1_epi32(4095));
        let high = _mm512_srli_epi32::<12>(x);
        // SAFETY: 32 words.
        let zeros = unsafe { _mm512_loadu_si512(lookup.zeros.as_ptr().cast()) };
        let zeros = _mm512_maskz_permutexvar_epi16(0x5555_5555, table, zeros);
        let others = _mm512_mask_cmpge_epu32_mask(active, low, zeros);
        let (mut frequency, mut offset, mut token) = (zeros, low, _mm512_setzero_si512());
        if others != 0 {
            let index = _mm512_or_si512(_mm512_slli_epi32::<12>(table), low);
            // SAFETY: the table is one of the part's, and a table has 4096 slots.
            let entry = unsafe { _mm512_mask_i32gather_epi32::<4>(token, others, index, slots) };
            token = _mm512_and_si512(entry, _mm512_set1_epi32(255));
            let f = _mm512_and_si512(_mm512_srli_epi32::<8>(entry), _mm512_set1_epi32(4095));
            frequency = _mm512_mask_add_epi32(frequency, others, f, _mm512_set1_epi32(1));
            offset = _mm512_mask_srli_epi32::<20>(offset, others, entry);
        }
        let new = _mm512_add_epi32(_mm512_mullo_epi32(frequency, high), offset);
        let takes = _mm512_mask_cmplt_epu32_mask(active, new, _mm512_set1_epi32(1 << 16));
        // SAFETY: 128 bytes can be read.
        let words = unsafe { _mm256_loadu_si256(self.words.at(2 * self.next).cast()) };
        let words = _mm512_maskz_expand_epi32(takes, _mm512_cvtepu16_epi32(words));
        let refilled = _mm512_or_si512(_mm512_slli_epi32::<16>(new), words);
        let new = _mm512_mask_mov_epi32(new, takes, refilled);
        self.states = _mm512_mask_mov_epi32(x, active, new);
        self.next += takes.count_ones() as usize;
        token
    }
    }

    kernel! {
    /// Tokens of the active vertices, which are the first ones, where there are fewer lanes than half a
    /// register: one by one.
    unsafe fn few(&mut self, slots: *const i32, table: __m512i, active: __mmask16) -> __m512i {
        let (tables, mut states) = (values(table), values(self.states));
        let mut tokens = [0; BLOCK];
        // A block takes at most 16 words.
        let words = self.words.at(2 * self.next).cast::<u16>();
        let mut taken = 0;
        for v in 0..active.count_ones() as usize {
            let state = &mut states[v & (self.lanes - 1)];
            let x = *state as u32;
            let low = x & 4095;
            // SAFETY: the table is one of the part's, and a table has 4096 slots; 128 bytes of words can be
            // read.
            let (entry, word) = unsafe {
                let entry = *slots.add((tables[v] as usize) << 12 | low as usize) as u32;
                (entry, words.add(taken).read_unaligned())
            };
            tokens[v] = (entry & 255) as i32;
            let new = ((entry >> 8 & 4095) + 1).wrapping_mul(x >> 12).wrapping_add(entry >> 20);
            let takes = new < 1 << 16;
            *state = if takes { new << 16 | u32::from(word) } else { new } as i32;
            taken += usize::from(takes);
        }
        self.next += taken;
        // SAFETY: 64 bytes each.
        unsafe {
            self.states = _mm512_loadu_si512(states.as_ptr().cast());
            _mm512_loadu_si512(tokens.as_ptr().cast())
        }
    }
    }

    kernel! {
    /// Tokens of a block, by its contexts.
    unsafe fn block_tokens(
        &mut self,
        lookup: &Lookup,
        slots: *const i32,
        table: __m512i,
        active: __mmask16,
    ) -> __m512i {
        // SAFETY: as here.
        unsafe {
            if self.lanes == LANES {
                self.tokens(lookup, slots, table, active)
            } else if self.lanes < LANES / 2 {
                self.few(slots, table, active)
            } else {
                let first = self.tokens(lookup, slots, table, active & 0xFF);
                let table = _mm512_shuffle_i64x2::<0x4E>(table, table);
                let second = self.tokens(lookup, slots, table, active >> 8);
                _mm512_shuffle_i64x2::<0x44>(first, second)
            }
        }
    }
    }

    kernel! {
    /// Residuals of a block; None if all are zero.
    unsafe fn block(
        &mut self,
        lookup: &Lookup,
        slots: *const i32,
        context: Context,
        active: __mmask16,
    ) -> Option<Vectors> {
        // SAFETY: as here.
        unsafe {
            let tokens = self.block_tokens(lookup, slots, context.table, active);
            let shifts = context.shift;
            match self.lengths(tokens, shifts, active) {
                Lengths::Zero => None,
                Lengths::Long => Some(self.long_residuals(tokens, shifts, active)),
                Lengths::Plain => Some(packed_axes(self.axes::<false>(tokens, shifts, active))),
                Lengths::Shifted => Some(packed_axes(self.axes::<true>(tokens, shifts, active))),
            }
        }
    }
    }

    kernel! {
    /// The same of residuals of up to 32 bits, by axis.
    pub(super) unsafe fn axes_block(
        &mut self,
        lookup: &Lookup,
        slots: *const i32,
        context: Context,
        active: __mmask16,
    ) -> Option<[__m512i; 3]> {
        // SAFETY: as here.
        unsafe {
            let tokens = self.block_tokens(lookup, slots, context.table, active);
            let shifts = context.shift;
            match self.lengths(tokens, shifts, active) {
                Lengths::Zero => None,
                Lengths::Long => Some(self.long_axes(tokens, shifts, active)),
                Lengths::Plain => Some(self.axes::<false>(tokens, shifts, active)),
                Lengths::Shifted => Some(self.axes::<true>(tokens, shifts, active)),
            }
        }
    }
    }

    kernel! {
    /// How the raw bits of tokens are to be read.
    fn lengths(&self, tokens: __m512i, shifts: __m512i, active: __mmask16) -> Lengths {
        let escapes = _mm512_cmpeq_epi32_mask(tokens, _mm512_set1_epi32(i32::from(ESCAPE)));
        let wide = _mm512_mask_cmpgt_epi32_mask(active, shifts, _mm512_set1_epi32(5));
        let shifted = _mm512_mask_test_epi32_mask(active, shifts, shifts) != 0;
        if escapes != 0 || wide != 0 {
            Lengths::Long
        } else if shifted {
            Lengths::Shifted
        } else if _mm512_test_epi32_mask(tokens, tokens) == 0 {
            Lengths::Zero
        } else {
            Lengths::Plain
        }
    }
    }

    kernel! {
    /// Residuals of up to 32 bits, one by one.
    #[cold]
    unsafe fn long_axes(&mut self, tokens: __m512i, shifts: __m512i, active: __mmask16) -> [__m512i; 3] {
        let (tokens, shifts) = (values(tokens), values(shifts));
        let mut bits = BitReader::at(self.raw.bytes, self.bit);
        let mut out = [[0; BLOCK]; 3];
        for v in 0..active.count_ones() as usize {
            let q = token::residual::<i32>(tokens[v] as u8, shifts[v] as u32, &mut bits);
            (out[0][v], out[1][v], out[2][v]) = (q[0], q[1], q[2]);
        }
        self.bit = bits.position();
        // SAFETY: 64 bytes each.
        out.map(|axis| unsafe { _mm512_loadu_si512(axis.as_ptr().cast()) })
    }
    }

    kernel! {
    /// Residuals by axis, of tokens without escapes and shifts of at most 5.
    unsafe fn axes<const SHIFTED: bool>(
        &mut self,
        tokens: __m512i,
        shifts: __m512i,
        active: __mmask16,
    ) -> [__m512i; 3] {
        let zero = _mm512_setzero_si512();
        let one = _mm512_set1_epi32(1);
        let entries = if SHIFTED {
            let shifted = _mm512_test_epi32_mask(shifts, shifts);
            let index = _mm512_mask_add_epi32(tokens, shifted, tokens, _mm512_set1_epi32(256));
            // SAFETY: tokens are below 256.
            unsafe {
                _mm512_mask_i32gather_epi32::<4>(zero, active, index, TOKEN_BITS.as_ptr().cast())
            }
        } else {
            let some = _mm512_test_epi32_mask(tokens, tokens);
            // SAFETY: tokens are below 256. Token 0 has no bits.
            unsafe {
                _mm512_mask_i32gather_epi32::<4>(zero, some, tokens, TOKEN_BITS.as_ptr().cast())
            }
        };
        let k = if SHIFTED { _mm512_maskz_mov_epi32(active, shifts) } else { zero };
        let mut counts = _mm512_srli_epi32::<19>(entries);
        if SHIFTED {
            let thrice = _mm512_add_epi32(k, _mm512_add_epi32(k, k));
            counts = _mm512_add_epi32(counts, thrice);
        }
        // SAFETY: at most 3 + 15 + 6 bits per vertex.
        let mut bits = unsafe { self.windows(counts) };
        let parity = _mm512_and_si512(_mm512_srli_epi32::<18>(entries), one);
        // What −(2a + p) lacks of a negative value: 0 without shift, else 2p − 2.
        let turn = _mm512_maskz_sub_epi32(
            _mm512_test_epi32_mask(k, k),
            _mm512_add_epi32(parity, parity),
            _mm512_set1_epi32(2),
        );
        let mut axis = |sign: __m512i, extra: __m512i, base: __m512i| {
            let negative = _mm512_test_epi32_mask(bits, sign);
            bits = _mm512_srlv_epi32(bits, sign);
            let width = if SHIFTED { _mm512_add_epi32(extra, k) } else { extra };
            let all = _mm512_set1_epi32(-1);
            let low = _mm512_andnot_si512(_mm512_sllv_epi32(all, width), bits);
            bits = _mm512_srlv_epi32(bits, width);
            let base = if SHIFTED { _mm512_sllv_epi32(base, k) } else { base };
            let a = _mm512_add_epi32(base, low);
            let v = _mm512_or_si512(_mm512_add_epi32(a, a), parity);
            let minus = if SHIFTED { turn } else { zero };
            _mm512_mask_sub_epi32(v, negative, minus, v)
        };
        let part = |shift: u32, mask: i32| {
            let shift = _mm_cvtsi32_si128(shift as i32);
            _mm512_and_si512(_mm512_srl_epi32(entries, shift), _mm512_set1_epi32(mask))
        };
        let x = axis(part(0, 1), part(3, 3), part(9, 7));
        let y = axis(part(1, 1), part(5, 3), part(12, 7));
        let z = axis(part(2, 1), part(7, 3), part(15, 7));
        [x, y, z]
    }
    }

    kernel! {
    /// First bit of each vertex, counted from the byte of the present one, from their numbers of bits, which
    /// are passed.
    fn positions(&mut self, counts: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let sum = _mm512_add_epi32(counts, _mm512_alignr_epi32::<15>(counts, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<14>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<12>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<8>(sum, zero));
        let first = _mm512_set1_epi32((self.bit & 7) as i32);
        let at = _mm512_add_epi32(_mm512_sub_epi32(sum, counts), first);
        let last = _mm_extract_epi32::<3>(_mm512_extracti32x4_epi32::<3>(sum));
        self.bit += last as usize;
        at
    }
    }

    kernel! {
    /// At least 25 bits of each vertex, from their numbers of bits, which are passed.
    unsafe fn windows(&mut self, counts: __m512i) -> __m512i {
        // SAFETY: 128 bytes can be read.
        let bytes = unsafe { _mm512_loadu_si512(self.raw.at(self.bit >> 3).cast()) };
        let at = self.positions(counts);
        // All lie within 7 + 16 · 24 bits, and four bytes from there within 64.
        let from = _mm512_mullo_epi16(_mm512_srli_epi32::<3>(at), _mm512_set1_epi32(0x0101));
        let from = _mm512_or_si512(from, _mm512_slli_epi32::<16>(from));
        let from = _mm512_add_epi32(from, _mm512_set1_epi32(0x0302_0100));
        let words = _mm512_permutexvar_epi8(from, bytes);
        _mm512_srlv_epi32(words, _mm512_and_si512(at, _mm512_set1_epi32(7)))
    }
    }

    kernel! {
    /// Residuals of any kind: escapes, and more bits than windows of 32 have.
    #[cold]
    unsafe fn long_residuals(
        &mut self,
        tokens: __m512i,
        shifts: __m512i,
        active: __mmask16,
    ) -> Vectors {
        let escapes = _mm512_cmpeq_epi32_mask(tokens, _mm512_set1_epi32(i32::from(ESCAPE)));
        let shifted = _mm512_test_epi32_mask(shifts, shifts);
        let index = _mm512_mask_add_epi32(tokens, shifted, tokens, _mm512_set1_epi32(256));
        // SAFETY: tokens are below 256.
        let entries = unsafe {
            let zero = _mm512_setzero_si512();
            _mm512_mask_i32gather_epi32::<4>(zero, active, index, TOKEN_BITS.as_ptr().cast())
        };
        let k = _mm512_maskz_mov_epi32(active, shifts);
        let thrice = _mm512_add_epi32(k, _mm512_add_epi32(k, k));
        let counts = _mm512_add_epi32(_mm512_srli_epi32::<19>(entries), thrice);
        let counts = _mm512_mask_mov_epi32(counts, escapes, _mm512_set1_epi32(48));
        let bytes = self.raw.at(self.bit >> 3);
        let at = self.positions(counts);
        let halves = |x: __m512i| [_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64::<1>(x)];
        let (at, entries, k) = (halves(at), halves(entries), halves(k));
        let [low, high] = [0, 1].map(|h| {
            // SAFETY: all lie within 7 + 16 · 48 bits, and eight bytes from there within 128.
            let window = unsafe {
                _mm512_i32gather_epi64::<1>(_mm256_srli_epi32::<3>(at[h]), bytes.cast())
            };
            let first = _mm256_and_si256(at[h], _mm256_set1_epi32(7));
            let window = _mm512_srlv_epi64(window, _mm512_cvtepu32_epi64(first));
            long_axes(entries[h], k[h], (escapes >> (8 * h)) as u8, window)
        });
        let [x, y, z] = [0, 1, 2].map(|axis| {
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low[axis]), high[axis])
        });
        packed_axes([x, y, z])
    }
    }
}

kernel! {
/// Vectors from their axes, with their magnitudes.
fn packed_axes([x, y, z]: [__m512i; 3]) -> Vectors {
    let size = _mm512_add_epi32(_mm512_abs_epi32(x), _mm512_abs_epi32(y));
    let size = _mm512_add_epi32(size, _mm512_abs_epi32(z));
    joined(x, y, z, _mm512_min_epi32(size, _mm512_set1_epi32(4095)))
}
}

/// How the raw bits of a block's tokens are read.
enum Lengths {
    /// There are none, and all residuals are zero.
    Zero,
    /// Without shifts.
    Plain,
    /// With shifts of at most 5.
    Shifted,
    /// With escapes or larger shifts.
    Long,
}

kernel! {
/// The axes of eight vertices, of an entry of `TOKEN_BITS` and a shift each; those of escapes are what their
/// bits are.
fn long_axes(entries: __m256i, k: __m256i, escapes: __mmask8, window: __m512i) -> [__m256i; 3] {
    let (e, k) = (_mm512_cvtepu32_epi64(entries), _mm512_cvtepu32_epi64(k));
    let one = _mm512_set1_epi64(1);
    let parity = _mm512_and_si512(_mm512_srli_epi64::<18>(e), one);
    // What −(2a + p) lacks of a negative value: 0 without shift, else 2p − 2.
    let turn = _mm512_maskz_sub_epi64(
        _mm512_test_epi64_mask(k, k),
        _mm512_add_epi64(parity, parity),
        _mm512_set1_epi64(2),
    );
    let mut bits = window;
    [(0, 3, 9), (1, 5, 12), (2, 7, 15)].map(|(sign, extra, base)| {
        let part = |shift: i64, mask: i64| {
            let part = _mm512_srl_epi64(e, _mm_cvtsi64_si128(shift));
            _mm512_and_si512(part, _mm512_set1_epi64(mask))
        };
        let place = _mm512_srl_epi64(window, _mm_cvtsi64_si128(16 * sign));
        let sign = part(sign, 1);
        let negative = _mm512_test_epi64_mask(bits, sign);
        bits = _mm512_srlv_epi64(bits, sign);
        let width = _mm512_add_epi64(part(extra, 3), k);
        let low = _mm512_andnot_si512(_mm512_sllv_epi64(_mm512_set1_epi64(-1), width), bits);
        bits = _mm512_srlv_epi64(bits, width);
        let a = _mm512_add_epi64(_mm512_sllv_epi64(part(base, 7), k), low);
        let v = _mm512_or_si512(_mm512_add_epi64(a, a), parity);
        let v = _mm512_mask_sub_epi64(v, negative, turn, v);
        let escaped = _mm512_srai_epi64::<48>(_mm512_slli_epi64::<48>(place));
        _mm512_cvtepi64_epi32(_mm512_mask_mov_epi64(v, escapes, escaped))
    })
}
}

kernel! {
/// Vectors from their components.
fn joined(x: __m512i, y: __m512i, z: __m512i, size: __m512i) -> Vectors {
    let low = 0x5555_5555;
    let xy = _mm512_mask_mov_epi16(_mm512_slli_epi32::<16>(y), low, x);
    let zs = _mm512_mask_mov_epi16(_mm512_slli_epi32::<16>(size), low, z);
    let first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    let second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    [
        _mm512_permutex2var_epi32(xy, first, zs),
        _mm512_permutex2var_epi32(xy, second, zs),
    ]
}
}

kernel! {
fn values(v: __m512i) -> [i32; 16] {
    let mut out = [0; 16];
    // SAFETY: 64 bytes.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), v) };
    out
}
}
