//! Decodes the tokens and raw bits of sixteen vertices with AVX2.
//!
//! * **Entropy coding**: 16 lanes in two registers; slots are gathered, and words distributed to the lanes
//!   that take one by a permutation that is looked up by the mask of these lanes.
//! * **Raw bits**: their numbers follow from the tokens, positions are a prefix sum, and a gather loads all.
//!   A block with an escape or with large shifts is decoded vertex by vertex; a block whose tokens are all
//!   zero has none.
//!
//! The order of vertices in registers is 0 1 4 5 2 3 6 7 ([`VERTEX_ORDER`]), which results from shuffling
//! 4-vectors within register halves.

#![allow(unsafe_code)]

use super::Input;
use crate::mesh::blocks::{BLOCK, PointBlock};
use crate::mesh::contexts::QUARTER_BITS;
use crate::mesh::decode::kernel::{self, Arguments, BlockContext, ResidualBlocks};
use crate::mesh::decode::unit::{CodedTokens, UnitResiduals};
use crate::mesh::pack::narrow::PackedStream;
use crate::mesh::registers::Register;
use crate::mesh::registers::avx2::{
    BlockResiduals, Padded, REFILL_INDICES, TOKEN_BITS, VERTEX_ORDER, load_i16x16, residual_index,
};
use crate::mesh::table_sets::SlotTables;
use crate::mesh::token::{self, BitReader, ESCAPE};
use crate::simd::isa;
use fearless_simd::i16x16;
use fearless_simd::prelude::*;
use fearless_simd::x86::Avx2;
use std::arch::x86_64::*;

/// Decodes a bundle. Tokens need tables with slots.
pub(in crate::mesh::decode) fn decode(isa: isa::Avx2, arguments: Arguments<i16>, source: &mut UnitResiduals) {
    let simd = isa.token();
    let tables = arguments.s.tables.slot_tables();
    simd.vectorize(
        #[inline(always)]
        || {
            let input = match (&*source, tables) {
                (UnitResiduals::Tokens(t), Some(tables)) => {
                    // SAFETY: the token proves that AVX2 is available.
                    Input::Tokens((unsafe { TokenStream::new(t) }, tables))
                }
                (UnitResiduals::Packed(p), _) => Input::Packed(PackedStream::new(p)),
                _ => Input::Zero,
            };
            let mut residuals = Residuals(input);
            kernel::decode::<i16x16<Avx2>, _>(simd, arguments, &mut residuals);
            match (&residuals.0, source) {
                // SAFETY: as above.
                (Input::Tokens((stream, _)), UnitResiduals::Tokens(t)) => unsafe { stream.put_back(t) },
                (Input::Packed(fields), UnitResiduals::Packed(p)) => fields.put_back(p),
                _ => {}
            }
        },
    );
}

/// Created in [`decode`] only, where AVX2 is available.
struct Residuals<'a, 't>(Input<(TokenStream<'a>, &'t SlotTables), PackedStream<'a>>);

impl ResidualBlocks<i16x16<Avx2>> for Residuals<'_, '_> {
    #[inline(always)]
    fn next_block(&mut self, block: &BlockContext<i16x16<Avx2>>) -> Option<[i16x16<Avx2>; BLOCK / 4]> {
        let simd = block.predicted[0].token();
        // SAFETY: AVX2 is available, and contexts are those of the tables.
        let residuals = unsafe {
            match &mut self.0 {
                Input::Zero => return None,
                Input::Packed(fields) => {
                    let q = fields.block(simd, block.count)?;
                    let row = |i: usize| i16x16::load(simd, &q[4 * i..]);
                    return Some([row(0), row(1), row(2), row(3)]);
                }
                Input::Tokens((stream, tables)) => {
                    let directory = tables.contexts.directory[block.layer].as_ptr().cast();
                    let contexts = contexts(directory, block.root, *block.predicted, block.references);
                    stream.block(tables.slots.as_ptr().cast(), contexts, active(block.count))?
                }
            }
        };
        // SAFETY: as above.
        Some(unsafe { vectors(simd, residuals) })
    }
}

/// Returns vectors with their magnitudes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn vectors(simd: Avx2, BlockResiduals { x, y, z }: BlockResiduals) -> [i16x16<Avx2>; BLOCK / 4] {
    let size =
        _mm256_adds_epu16(_mm256_adds_epu16(_mm256_abs_epi16(x), _mm256_abs_epi16(y)), _mm256_abs_epi16(z));
    let size = _mm256_min_epu16(size, _mm256_set1_epi16(4095));
    let xy = [_mm256_unpacklo_epi16(x, y), _mm256_unpackhi_epi16(x, y)];
    let zm = [_mm256_unpacklo_epi16(z, size), _mm256_unpackhi_epi16(z, size)];
    [
        _mm256_unpacklo_epi32(xy[0], zm[0]).simd_into(simd),
        _mm256_unpackhi_epi32(xy[0], zm[0]).simd_into(simd),
        _mm256_unpacklo_epi32(xy[1], zm[1]).simd_into(simd),
        _mm256_unpackhi_epi32(xy[1], zm[1]).simd_into(simd),
    ]
}

/// Returns masks of the first `count` of 16 vertices.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn active(count: usize) -> [__m256i; 2] {
    let count = _mm256_set1_epi32(count.min(BLOCK) as i32);
    let first = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    let second = _mm256_add_epi32(first, _mm256_set1_epi32(8));
    [_mm256_cmpgt_epi32(count, first), _mm256_cmpgt_epi32(count, second)]
}

/// Returns the directory entries, table and shift, of a block. The class of a sum is given by the leading
/// bits of the sum as a float.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn contexts(
    directory: *const i32,
    root: bool,
    predicted: [i16x16<Avx2>; BLOCK / 4],
    [a, b]: [&PointBlock<i16>; 2],
) -> [__m256i; 2] {
    let simd = predicted[0].token();
    let past = |quad: usize| {
        let (a, b) = (i16x16::load(simd, &a[4 * quad..]), i16x16::load(simd, &b[4 * quad..]));
        _mm256_max_epi16(_mm256_max_epi16(a.into(), b.into()), _mm256_setzero_si256())
    };
    let past = [fourths(past(0), past(1)), fourths(past(2), past(3))];
    let p = predicted;
    let near = match root {
        false => [fourths(p[0].into(), p[1].into()), fourths(p[2].into(), p[3].into())],
        true => [_mm256_slli_epi32::<2>(past[0]), _mm256_slli_epi32::<2>(past[1])],
    };
    let classes = _mm256_setr_epi8(
        0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, //
        0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4,
    );
    let entries = |near: __m256i, past: __m256i| {
        let past = _mm256_min_epi32(past, _mm256_set1_epi32(15));
        let past = _mm256_shuffle_epi8(classes, past);
        let near = _mm256_sub_ps(_mm256_cvtepi32_ps(near), _mm256_set1_ps(0.5));
        let near = _mm256_castps_si256(_mm256_max_ps(near, _mm256_set1_ps(0.25)));
        let near = _mm256_srli_epi32::<18>(_mm256_sub_epi32(near, _mm256_set1_epi32(QUARTER_BITS)));
        let index = _mm256_or_si256(_mm256_and_si256(near, _mm256_set1_epi32(!7)), past);
        // SAFETY: sums are below 2^17, so the index is below 80 · 8.
        unsafe { _mm256_i32gather_epi32::<4>(directory, index) }
    };
    [entries(near[0], past[0]), entries(near[1], past[1])]
}

/// Returns the fourth components of eight vectors, in the order of `VERTEX_ORDER`.
#[inline]
#[target_feature(enable = "avx2")]
fn fourths(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    let both = _mm256_castps_si256(_mm256_shuffle_ps::<0xDD>(a, b));
    _mm256_srli_epi32::<16>(both)
}

/// The lanes, words and raw bits of an access unit.
pub(in crate::mesh::decode) struct TokenStream<'a> {
    /// The states of the first lanes, up to eight, in the order of `VERTEX_ORDER`, and of eight more.
    a: __m256i,
    b: __m256i,
    lanes: usize,
    words: Padded<'a>,
    next: usize,
    raw: Padded<'a>,
    bit: usize,
}

const ALL_BITS: i32 = -1;

impl<'a> TokenStream<'a> {
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(in crate::mesh::decode) fn new(t: &CodedTokens<'a>) -> TokenStream<'a> {
        let lanes = |first: usize| VERTEX_ORDER.map(|k| t.rans.states[(first + k) & (t.lanes - 1)] as i32);
        TokenStream {
            a: load_i32x8(lanes(0)),
            b: load_i32x8(lanes(8)),
            lanes: t.lanes,
            words: Padded::new(t.rans.words),
            next: t.rans.next,
            raw: Padded::new(t.raw.bytes()),
            bit: t.raw.position(),
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(in crate::mesh::decode) fn put_back(&self, t: &mut CodedTokens<'a>) {
        for (first, half) in [(0, self.a), (8, self.b)] {
            let values = values(half);
            for k in 0..8 {
                let lane = first + VERTEX_ORDER[k];
                if lane < t.lanes {
                    t.rans.states[lane] = values[k] as u32;
                }
            }
        }
        t.rans.next = self.next;
        t.raw = BitReader::at_bit(t.raw.bytes(), self.bit);
    }

    /// Decodes the tokens of eight lanes, and returns them with the new states.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn step(
        &mut self,
        slots: *const i32,
        x: __m256i,
        table: __m256i,
        active: __m256i,
    ) -> (__m256i, __m256i) {
        let low = _mm256_and_si256(x, _mm256_set1_epi32(4095));
        let index = _mm256_or_si256(_mm256_and_si256(table, _mm256_set1_epi32(0xFF_F000)), low);
        // SAFETY: the table is one of the part's, and each table has 4096 slots.
        let entry = unsafe { _mm256_i32gather_epi32::<4>(slots, index) };
        let token = _mm256_and_si256(entry, _mm256_and_si256(active, _mm256_set1_epi32(255)));
        let high = _mm256_srli_epi32::<12>(x);
        let frequency = _mm256_and_si256(_mm256_srli_epi32::<8>(entry), _mm256_set1_epi32(4095));
        let product = _mm256_add_epi32(_mm256_mullo_epi32(frequency, high), high);
        let new = _mm256_add_epi32(product, _mm256_srli_epi32::<20>(entry));
        let takes = _mm256_cmpeq_epi32(_mm256_srli_epi32::<16>(new), _mm256_setzero_si256());
        let takes = _mm256_and_si256(takes, active);
        let mask = _mm256_movemask_ps(_mm256_castsi256_ps(takes)) as u32;
        // SAFETY: 128 bytes can be read.
        let words = unsafe { _mm_loadu_si128(self.words.pointer(2 * self.next).cast()) };
        let words = _mm256_cvtepu16_epi32(words);
        // SAFETY: eight bytes of a table.
        let order = unsafe { _mm_loadl_epi64(REFILL_INDICES[mask as usize].as_ptr().cast()) };
        let words = _mm256_permutevar8x32_epi32(words, _mm256_cvtepu8_epi32(order));
        let refilled = _mm256_or_si256(_mm256_slli_epi32::<16>(new), words);
        let new = _mm256_blendv_epi8(new, refilled, takes);
        self.next += mask.count_ones() as usize;
        (token, _mm256_blendv_epi8(x, new, active))
    }

    /// Decodes the tokens of 16 vertices.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn tokens(
        &mut self,
        slots: *const i32,
        context: [__m256i; 2],
        active: [__m256i; 2],
    ) -> (__m256i, __m256i) {
        // SAFETY: the conditions are those of the enclosing function.
        unsafe {
            if self.lanes < 8 {
                return self.tokens_one_by_one(slots, context, active);
            }
            let (first, a) = self.step(slots, self.a, context[0], active[0]);
            self.a = a;
            let sixteen = self.lanes == 16;
            let x = if sixteen { self.b } else { self.a };
            let (second, b) = self.step(slots, x, context[1], active[1]);
            if sixteen {
                self.b = b;
            } else {
                self.a = b;
            }
            (first, second)
        }
    }

    /// Decodes the tokens of 16 vertices one by one, if there are fewer lanes than a register holds.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn tokens_one_by_one(
        &mut self,
        slots: *const i32,
        context: [__m256i; 2],
        active: [__m256i; 2],
    ) -> (__m256i, __m256i) {
        let (context, active) = (context.map(|x| values(x)), active.map(|x| values(x)));
        let mut states = values(self.a);
        let mut tokens = [[0; 8]; 2];
        // A block takes at most 16 words.
        let words = self.words.pointer(2 * self.next).cast::<u16>();
        let mut taken = 0;
        for v in 0..16 {
            let (half, lane) = (v / 8, VERTEX_ORDER[v % 8]);
            if active[half][lane] == 0 {
                break;
            }
            let state = &mut states[VERTEX_ORDER[v & (self.lanes - 1)]];
            let x = *state as u32;
            let index = context[half][lane] as u32 & 0xFF_F000 | x & 4095;
            // SAFETY: the table is one of the part's, and each table has 4096 slots; 128 bytes of words can
            // be read.
            let (entry, word) =
                unsafe { (*slots.add(index as usize) as u32, words.add(taken).read_unaligned()) };
            tokens[half][lane] = (entry & 255) as i32;
            let new = ((entry >> 8 & 4095) + 1).wrapping_mul(x >> 12).wrapping_add(entry >> 20);
            let takes = new < 1 << 16;
            *state = if takes { new << 16 | u32::from(word) } else { new } as i32;
            taken += usize::from(takes);
        }
        self.next += taken;
        self.a = load_i32x8(states);
        (load_i32x8(tokens[0]), load_i32x8(tokens[1]))
    }

    /// Decodes the residuals of 16 vertices; `None` if all are zero.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(in crate::mesh::decode) unsafe fn block(
        &mut self,
        slots: *const i32,
        context: [__m256i; 2],
        active: [__m256i; 2],
    ) -> Option<BlockResiduals> {
        // SAFETY: the conditions are those of the enclosing function.
        let (first, second) = unsafe { self.tokens(slots, context, active) };
        let shift = |n: usize| _mm256_and_si256(_mm256_srli_epi32::<24>(context[n]), active[n]);
        let shifts = [shift(0), shift(1)];
        let shifted = _mm256_or_si256(shifts[0], shifts[1]);
        let any = _mm256_or_si256(first, second);
        if _mm256_testz_si256(shifted, shifted) == 1 {
            if _mm256_testz_si256(any, any) == 1 {
                return None;
            }
            // SAFETY: the conditions are those of the enclosing function.
            Some(unsafe { self.plain([first, second]) })
        } else {
            // SAFETY: the conditions are those of the enclosing function.
            Some(unsafe { self.shifted([first, second], shifts, active) })
        }
    }

    /// Returns the bit positions of the vertices relative to the current one, and the total, from their
    /// numbers of bits.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn positions(counts: [__m256i; 2]) -> ([__m256i; 2], u32) {
        let sum = |x: __m256i| {
            // To the order of vertices.
            let x = _mm256_permute4x64_epi64::<0xD8>(x);
            let s = _mm256_add_epi32(x, _mm256_slli_si256::<4>(x));
            let s = _mm256_add_epi32(s, _mm256_slli_si256::<8>(s));
            let carry = _mm256_permutevar8x32_epi32(s, _mm256_set1_epi32(3));
            let s = _mm256_add_epi32(s, _mm256_blend_epi32::<0xF0>(_mm256_setzero_si256(), carry));
            (_mm256_sub_epi32(s, x), s)
        };
        let (a, total_a) = sum(counts[0]);
        let (b, total_b) = sum(counts[1]);
        let total = _mm256_permutevar8x32_epi32(total_a, _mm256_set1_epi32(7));
        let b = _mm256_add_epi32(b, total);
        let end = _mm256_extract_epi32::<7>(total_b) + _mm256_extract_epi32::<7>(total_a);
        let back = |x| _mm256_permute4x64_epi64::<0xD8>(x);
        ([back(a), back(b)], end as u32)
    }

    /// Returns at least 25 bits at each position.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn windows(&self, positions: [__m256i; 2]) -> [__m256i; 2] {
        let from = self.raw.pointer(self.bit >> 3);
        let bit = _mm256_set1_epi32((self.bit & 7) as i32);
        let window = |p: __m256i| {
            let at = _mm256_add_epi32(p, bit);
            // SAFETY: 16 vertices of at most 25 bits lie within 128 bytes.
            let words = unsafe { _mm256_i32gather_epi32::<1>(from.cast(), _mm256_srli_epi32::<3>(at)) };
            _mm256_srlv_epi32(words, _mm256_and_si256(at, _mm256_set1_epi32(7)))
        };
        [window(positions[0]), window(positions[1])]
    }

    /// Decodes residuals without shifts.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn plain(&mut self, tokens: [__m256i; 2]) -> BlockResiduals {
        let escape = _mm256_set1_epi32(i32::from(ESCAPE));
        let escapes =
            _mm256_or_si256(_mm256_cmpeq_epi32(tokens[0], escape), _mm256_cmpeq_epi32(tokens[1], escape));
        if _mm256_testz_si256(escapes, escapes) == 0 {
            return self.residuals_one_by_one(
                tokens,
                [_mm256_setzero_si256(); 2],
                [_mm256_set1_epi32(ALL_BITS); 2],
            );
        }
        let entry = |t: __m256i| {
            // SAFETY: tokens are below 256.
            unsafe { _mm256_i32gather_epi32::<4>(TOKEN_BITS[0].as_ptr().cast(), t) }
        };
        let entries = [entry(tokens[0]), entry(tokens[1])];
        let bits = |n: usize| _mm256_srli_epi32::<19>(entries[n]);
        let (positions, total) = Self::positions([bits(0), bits(1)]);
        // SAFETY: at most 9 bits per vertex.
        let windows = unsafe { self.windows(positions) };
        self.bit += total as usize;
        let one = _mm256_set1_epi32(1);
        let each = |e: __m256i, mut bits: __m256i| {
            let parity = _mm256_and_si256(_mm256_srli_epi32::<18>(e), one);
            let mut axis = |sign: __m256i, extra: __m256i, base: __m256i| {
                let negative = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_and_si256(bits, sign));
                bits = _mm256_srlv_epi32(bits, sign);
                let low = _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(ALL_BITS), extra), bits);
                bits = _mm256_srlv_epi32(bits, extra);
                let a = _mm256_add_epi32(base, low);
                let v = _mm256_add_epi32(_mm256_add_epi32(a, a), parity);
                _mm256_sub_epi32(_mm256_xor_si256(v, negative), negative)
            };
            let three = _mm256_set1_epi32(3);
            let seven = _mm256_set1_epi32(7);
            let x = axis(
                _mm256_and_si256(e, one),
                _mm256_and_si256(_mm256_srli_epi32::<3>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<9>(e), seven),
            );
            let y = axis(
                _mm256_and_si256(_mm256_srli_epi32::<1>(e), one),
                _mm256_and_si256(_mm256_srli_epi32::<5>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<12>(e), seven),
            );
            let z = axis(
                _mm256_and_si256(_mm256_srli_epi32::<2>(e), one),
                _mm256_and_si256(_mm256_srli_epi32::<7>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<15>(e), seven),
            );
            [x, y, z]
        };
        let a = each(entries[0], windows[0]);
        let b = each(entries[1], windows[1]);
        BlockResiduals {
            x: _mm256_packs_epi32(a[0], b[0]),
            y: _mm256_packs_epi32(a[1], b[1]),
            z: _mm256_packs_epi32(a[2], b[2]),
        }
    }

    /// Decodes residuals of which some are shifted.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn shifted(
        &mut self,
        tokens: [__m256i; 2],
        shifts: [__m256i; 2],
        active: [__m256i; 2],
    ) -> BlockResiduals {
        let escape = _mm256_set1_epi32(i32::from(ESCAPE));
        let zero = _mm256_setzero_si256();
        let slow = |n: usize| {
            _mm256_or_si256(
                _mm256_cmpeq_epi32(tokens[n], escape),
                _mm256_cmpgt_epi32(shifts[n], _mm256_set1_epi32(5)),
            )
        };
        let slow = _mm256_or_si256(slow(0), slow(1));
        if _mm256_testz_si256(slow, slow) == 0 {
            return self.residuals_one_by_one(tokens, shifts, active);
        }
        let entry = |n: usize| {
            let shifted = _mm256_cmpgt_epi32(shifts[n], zero);
            let index = _mm256_or_si256(tokens[n], _mm256_and_si256(shifted, _mm256_set1_epi32(256)));
            // SAFETY: tokens are below 256.
            unsafe { _mm256_i32gather_epi32::<4>(TOKEN_BITS.as_ptr().cast(), index) }
        };
        let entries = [entry(0), entry(1)];
        let bits = |n: usize| {
            let thrice = _mm256_add_epi32(shifts[n], _mm256_add_epi32(shifts[n], shifts[n]));
            _mm256_add_epi32(_mm256_srli_epi32::<19>(entries[n]), thrice)
        };
        let (positions, total) = Self::positions([bits(0), bits(1)]);
        // SAFETY: at most 3 + 15 + 6 bits per vertex.
        let windows = unsafe { self.windows(positions) };
        self.bit += total as usize;
        let one = _mm256_set1_epi32(1);
        let each = |n: usize| {
            let (e, k, mut bits) = (entries[n], shifts[n], windows[n]);
            let parity = _mm256_and_si256(_mm256_srli_epi32::<18>(e), one);
            // The difference of a negative value from −(2a + p): 0 without a shift, else 2p − 2.
            let turn = _mm256_and_si256(
                _mm256_cmpgt_epi32(k, zero),
                _mm256_sub_epi32(_mm256_add_epi32(parity, parity), _mm256_set1_epi32(2)),
            );
            let mut axis = |sign: __m256i, extra: __m256i, base: __m256i| {
                let negative = _mm256_sub_epi32(zero, _mm256_and_si256(bits, sign));
                bits = _mm256_srlv_epi32(bits, sign);
                let width = _mm256_add_epi32(extra, k);
                let low = _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(ALL_BITS), width), bits);
                bits = _mm256_srlv_epi32(bits, width);
                let a = _mm256_add_epi32(_mm256_sllv_epi32(base, k), low);
                let v = _mm256_add_epi32(_mm256_add_epi32(a, a), parity);
                let v = _mm256_sub_epi32(_mm256_xor_si256(v, negative), negative);
                _mm256_add_epi32(v, _mm256_and_si256(negative, turn))
            };
            let three = _mm256_set1_epi32(3);
            let seven = _mm256_set1_epi32(7);
            let x = axis(
                _mm256_and_si256(e, one),
                _mm256_and_si256(_mm256_srli_epi32::<3>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<9>(e), seven),
            );
            let y = axis(
                _mm256_and_si256(_mm256_srli_epi32::<1>(e), one),
                _mm256_and_si256(_mm256_srli_epi32::<5>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<12>(e), seven),
            );
            let z = axis(
                _mm256_and_si256(_mm256_srli_epi32::<2>(e), one),
                _mm256_and_si256(_mm256_srli_epi32::<7>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<15>(e), seven),
            );
            [x, y, z]
        };
        let (a, b) = (each(0), each(1));
        BlockResiduals {
            x: _mm256_packs_epi32(a[0], b[0]),
            y: _mm256_packs_epi32(a[1], b[1]),
            z: _mm256_packs_epi32(a[2], b[2]),
        }
    }

    /// Decodes residuals of any kind, one by one.
    #[cold]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn residuals_one_by_one(
        &mut self,
        tokens: [__m256i; 2],
        shifts: [__m256i; 2],
        active: [__m256i; 2],
    ) -> BlockResiduals {
        let tokens = tokens.map(|x| values(x));
        let shifts = shifts.map(|x| values(x));
        let active = active.map(|x| values(x));
        let mut raw = BitReader::at_bit(self.raw.bytes, self.bit);
        let mut out = [[0i16; 16]; 3];
        for v in 0..16 {
            let (half, lane) = (v / 8, VERTEX_ORDER[v % 8]);
            if active[half][lane] == 0 {
                continue;
            }
            let (token, k) = (tokens[half][lane] as u8, shifts[half][lane] as u32);
            let q = token::residual::<i16>(token, k, &mut raw);
            for axis in 0..3 {
                out[axis][residual_index(v)] = q[axis] as i16;
            }
        }
        self.bit = raw.position();
        let [x, y, z] = out.map(|v| load_i16x16(v));
        BlockResiduals { x, y, z }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::mesh::decode) fn load_i32x8(v: [i32; 8]) -> __m256i {
    // SAFETY: 32 bytes.
    unsafe { _mm256_loadu_si256(v.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn values(v: __m256i) -> [i32; 8] {
    let mut out = [0; 8];
    // SAFETY: 32 bytes.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), v) };
    out
}
