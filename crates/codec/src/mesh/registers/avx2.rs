//! AVX2: the tables and types shared by the decoders of tokens and of packed residuals. The order of vertices
//! in registers is 0 1 4 5 2 3 6 7, which results from shuffling 4-vectors within register halves.

#![allow(unsafe_code)]

use super::narrow::NarrowVectors;
use super::wide::WideVectors;
use crate::mesh::token::ESCAPE;
use fearless_simd::prelude::*;
use fearless_simd::x86::Avx2;
use fearless_simd::{i16x16, i32x8, i64x4};
use std::arch::x86_64::*;

impl NarrowVectors for i16x16<Avx2> {
    type Sums = i32x8<Avx2>;

    #[inline(always)]
    fn sums(start: i32x8<Avx2>, [a, b, c, d]: [Self; 4], weights: [[Self; 2]; 2]) -> [i32x8<Avx2>; 2] {
        let [first, second] = weights;
        let simd = start.token();
        let (ab, cd) = (zip(simd, a, b), zip(simd, c, d));
        let low = ab[0].pairwise_dot_product(first[0]) + cd[0].pairwise_dot_product(first[1]);
        let high = ab[1].pairwise_dot_product(second[0]) + cd[1].pairwise_dot_product(second[1]);
        [start + low, start + high]
    }
    #[inline(always)]
    fn pack([low, high]: [i32x8<Avx2>; 2]) -> Self {
        pack(low.token(), low, high)
    }
    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        let [a, b, c, d] = *rows.first_chunk().expect("four rows");
        rows[..4].copy_from_slice(&transposed(a.token(), a, b, c, d));
    }
}

fearless_simd::kernel! {
    /// Interleaves the numbers of the low halves and of the high halves of every 128 bits.
    #[inline(always)]
    fn zip(token: Avx2, a: i16x16<Avx2>, b: i16x16<Avx2>) -> [i16x16<Avx2>; 2] {
        let low = _mm256_unpacklo_epi16(a.into(), b.into());
        [low.simd_into(token), _mm256_unpackhi_epi16(a.into(), b.into()).simd_into(token)]
    }
}
fearless_simd::kernel! {
    #[inline(always)]
    fn pack(token: Avx2, low: i32x8<Avx2>, high: i32x8<Avx2>) -> i16x16<Avx2> {
        _mm256_packs_epi32(low.into(), high.into()).simd_into(token)
    }
}
fearless_simd::kernel! {
    /// Transposes four rows of four vectors.
    #[inline(always)]
    fn transposed(
        token: Avx2,
        a: i16x16<Avx2>,
        b: i16x16<Avx2>,
        c: i16x16<Avx2>,
        d: i16x16<Avx2>,
    ) -> [i16x16<Avx2>; 4] {
        let (ab, ba) = (_mm256_unpacklo_epi64(a.into(), b.into()), _mm256_unpackhi_epi64(a.into(), b.into()));
        let (cd, dc) = (_mm256_unpacklo_epi64(c.into(), d.into()), _mm256_unpackhi_epi64(c.into(), d.into()));
        [
            _mm256_permute2x128_si256::<0x20>(ab, cd).simd_into(token),
            _mm256_permute2x128_si256::<0x20>(ba, dc).simd_into(token),
            _mm256_permute2x128_si256::<0x31>(ab, cd).simd_into(token),
            _mm256_permute2x128_si256::<0x31>(ba, dc).simd_into(token),
        ]
    }
}

/// Even numbers, then odd ones.
impl WideVectors for i32x8<Avx2> {
    type Wide = i64x4<Avx2>;

    #[inline(always)]
    fn sums(rows: [Self; 4], weights: [Self; 4]) -> [i64x4<Avx2>; 2] {
        let simd = rows[0].token();
        let [a, b] = [products(simd, rows[0], weights[0]), products(simd, rows[1], weights[1])];
        let [c, d] = [products(simd, rows[2], weights[2]), products(simd, rows[3], weights[3])];
        [(a[0] + b[0]) + (c[0] + d[0]), (a[1] + b[1]) + (c[1] + d[1])]
    }
    #[inline(always)]
    fn widened(self) -> [i64x4<Avx2>; 2] {
        let both = self.bitcast::<i64x4<Avx2>>();
        [(both << 32) >> 32, both >> 32]
    }
    #[inline(always)]
    fn low([even, odd]: [i64x4<Avx2>; 2]) -> Self {
        low(even.token(), even, odd)
    }
    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        let [a, b] = *rows.first_chunk().expect("two rows");
        let (a, b) = (a.split(), b.split());
        (rows[0], rows[1]) = (a.0.combine(b.0), a.1.combine(b.1));
    }
}

fearless_simd::kernel! {
    #[inline(always)]
    fn products(token: Avx2, a: i32x8<Avx2>, b: i32x8<Avx2>) -> [i64x4<Avx2>; 2] {
        let odd = (_mm256_srli_epi64::<32>(a.into()), _mm256_srli_epi64::<32>(b.into()));
        let even = _mm256_mul_epi32(a.into(), b.into());
        [even.simd_into(token), _mm256_mul_epi32(odd.0, odd.1).simd_into(token)]
    }
}
fearless_simd::kernel! {
    #[inline(always)]
    fn low(token: Avx2, even: i64x4<Avx2>, odd: i64x4<Avx2>) -> i32x8<Avx2> {
        let odd = _mm256_slli_epi64::<32>(odd.into());
        _mm256_blend_epi32::<0xAA>(even.into(), odd).simd_into(token)
    }
}

/// By token, without and with a shift: the layout of its raw bits. Bits 0–2: sign bit present, per axis; 3–8:
/// number of class bits; 9–17: base of the class; 18: parity; 19–23: number of bits without shifted ones.
pub(in crate::mesh) static TOKEN_BITS: [[u32; 256]; 2] = token_bits();

pub(in crate::mesh) const fn token_bits() -> [[u32; 256]; 2] {
    let mut out = [[0; 256]; 2];
    let base = [0, 1, 2, 3, 5];
    let extra = [0, 0, 0, 1, 2];
    let mut shifted = 0;
    while shifted < 2 {
        let mut token = 0;
        while token < ESCAPE as usize {
            let parity = token / 125;
            let classes = [token / 25 % 5, token / 5 % 5, token % 5];
            let mut axis = 0;
            let mut entry = (parity as u32) << 18;
            let mut count = 0;
            while axis < 3 {
                let c = classes[axis];
                let sign = (shifted > 0 || parity > 0 || c > 0) as u32;
                entry |= sign << axis | extra[c] << (3 + 2 * axis) | base[c] << (9 + 3 * axis);
                count += sign + extra[c];
                axis += 1;
            }
            out[shifted][token] = entry | count << 19;
            token += 1;
        }
        shifted += 1;
    }
    out
}

/// By mask of the lanes that take a word: the index of the next word for each lane. Lanes are in the order of
/// `VERTEX_ORDER`.
pub(in crate::mesh) static REFILL_INDICES: [[u8; 8]; 256] = refill_indices();

/// The order of vertices in a register of 8, as a shuffle of 4-vectors produces and the next one consumes it.
pub(in crate::mesh) const VERTEX_ORDER: [usize; 8] = [0, 1, 4, 5, 2, 3, 6, 7];

pub(in crate::mesh) const fn refill_indices() -> [[u8; 8]; 256] {
    let mut out = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let mut lane = 0;
        while lane < 8 {
            let mut other = 0;
            while other < 8 {
                if VERTEX_ORDER[other] < VERTEX_ORDER[lane] && mask >> other & 1 == 1 {
                    out[mask][lane] += 1;
                }
                other += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    out
}

/// Bytes that can be read at and beyond their end, as zeros.
pub(in crate::mesh) struct Padded<'a> {
    pub(in crate::mesh) bytes: &'a [u8],
    /// The last bytes, then zeros.
    pub(in crate::mesh) end: [u8; 2 * PAD],
    /// The offset of `end` in `bytes`.
    pub(in crate::mesh) from: usize,
}

pub(in crate::mesh) const PAD: usize = 256;

impl<'a> Padded<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Padded<'a> {
        let from = bytes.len().saturating_sub(PAD);
        let mut end = [0; 2 * PAD];
        end[..bytes.len() - from].copy_from_slice(&bytes[from..]);
        Padded { bytes, end, from }
    }

    /// Returns a pointer from which at least 128 bytes can be read: those at `at`, or zeros beyond the end.
    #[inline(always)]
    pub(crate) fn pointer(&self, at: usize) -> *const u8 {
        if at + 128 <= self.bytes.len() {
            // SAFETY: inside.
            unsafe { self.bytes.as_ptr().add(at) }
        } else {
            // `at` lies behind `from`, since `end` holds the last 256 bytes.
            let at = (at.max(self.from) - self.from).min(2 * PAD - 128);
            // SAFETY: inside.
            unsafe { self.end.as_ptr().add(at) }
        }
    }
}

/// The residuals of a block of one frame, in the order of `VERTEX_ORDER`: 16 values of 16 bits per axis.
pub(in crate::mesh) struct BlockResiduals {
    pub(in crate::mesh) x: __m256i,
    pub(in crate::mesh) y: __m256i,
    pub(in crate::mesh) z: __m256i,
}

/// Returns the index in a [`BlockResiduals`] of vertex `v` of a block.
pub(in crate::mesh) fn residual_index(v: usize) -> usize {
    let (half, lane) = (v / 8, VERTEX_ORDER[v % 8]);
    lane / 4 * 8 + half * 4 + lane % 4
}

#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::mesh) fn load_i16x16(v: [i16; 16]) -> __m256i {
    // SAFETY: 32 bytes.
    unsafe { _mm256_loadu_si256(v.as_ptr().cast()) }
}
