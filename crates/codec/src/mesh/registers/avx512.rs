//! AVX-512: the definitions shared by the decoders of tokens and of packed residuals.

#![allow(unsafe_code)]

use super::narrow::NarrowVectors;
use super::wide::WideVectors;
use fearless_simd::prelude::*;
use fearless_simd::x86::Avx512;
use fearless_simd::{i16x32, i32x16, i64x8};
use std::arch::x86_64::*;

macro_rules! kernel {
    ($(#[$meta:meta])* $vis:vis unsafe fn $($rest:tt)*) => {
        $(#[$meta])*
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,avx2,bmi1,bmi2,popcnt")]
        $vis unsafe fn $($rest)*
    };
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        $(#[$meta])*
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,avx2,bmi1,bmi2,popcnt")]
        $vis fn $($rest)*
    };
}

impl NarrowVectors for i16x32<Avx512> {
    type Sums = i32x16<Avx512>;

    #[inline(always)]
    fn sums(start: i32x16<Avx512>, rows: [Self; 4], weights: [[Self; 2]; 2]) -> [i32x16<Avx512>; 2] {
        weighted(start.token(), start, rows, weights)
    }
    #[inline(always)]
    fn pack([low, high]: [i32x16<Avx512>; 2]) -> Self {
        pack(low.token(), low, high)
    }
    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        let r: &mut [Self; 8] = rows.first_chunk_mut().expect("eight rows");
        *r = transposed(r[0].token(), *r);
    }
}

fearless_simd::kernel! {
    #[inline(always)]
    fn weighted(
        token: Avx512,
        start: i32x16<Avx512>,
        rows: [i16x32<Avx512>; 4],
        weights: [[i16x32<Avx512>; 2]; 2],
    ) -> [i32x16<Avx512>; 2] {
        let [a, b, c, d]: [__m512i; 4] = [rows[0].into(), rows[1].into(), rows[2].into(), rows[3].into()];
        let [first, second] = weights;
        let low = products(start.into(), _mm512_unpacklo_epi16(a, b), first[0].into());
        let high = products(start.into(), _mm512_unpackhi_epi16(a, b), second[0].into());
        [
            products(low, _mm512_unpacklo_epi16(c, d), first[1].into()).simd_into(token),
            products(high, _mm512_unpackhi_epi16(c, d), second[1].into()).simd_into(token),
        ]
    }
}
fearless_simd::kernel! {
    #[inline(always)]
    fn pack(token: Avx512, low: i32x16<Avx512>, high: i32x16<Avx512>) -> i16x32<Avx512> {
        _mm512_packs_epi32(low.into(), high.into()).simd_into(token)
    }
}
fearless_simd::kernel! {
    /// Transposes eight rows of eight vectors.
    #[inline(always)]
    fn transposed(token: Avx512, rows: [i16x32<Avx512>; 8]) -> [i16x32<Avx512>; 8] {
        // By pairs of columns, then by lanes.
        let lanes = |a: __m512i, b: __m512i, c: __m512i, d: __m512i| {
            let (even, odd) = (
                [_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d)],
                [_mm512_shuffle_i64x2::<0xDD>(a, b), _mm512_shuffle_i64x2::<0xDD>(c, d)],
            );
            [
                _mm512_shuffle_i64x2::<0x88>(even[0], even[1]).simd_into(token),
                _mm512_shuffle_i64x2::<0x88>(odd[0], odd[1]).simd_into(token),
                _mm512_shuffle_i64x2::<0xDD>(even[0], even[1]).simd_into(token),
                _mm512_shuffle_i64x2::<0xDD>(odd[0], odd[1]).simd_into(token),
            ]
        };
        let low = |k: usize| _mm512_unpacklo_epi64(rows[k].into(), rows[k + 1].into());
        let high = |k: usize| _mm512_unpackhi_epi64(rows[k].into(), rows[k + 1].into());
        let [c0, c2, c4, c6] = lanes(low(0), low(2), low(4), low(6));
        let [c1, c3, c5, c7] = lanes(high(0), high(2), high(4), high(6));
        [c0, c1, c2, c3, c4, c5, c6, c7]
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

/// Even numbers, then odd ones.
impl WideVectors for i32x16<Avx512> {
    type Wide = i64x8<Avx512>;

    #[inline(always)]
    fn sums(rows: [Self; 4], weights: [Self; 4]) -> [i64x8<Avx512>; 2] {
        let simd = rows[0].token();
        let [a, b] = [wide_products(simd, rows[0], weights[0]), wide_products(simd, rows[1], weights[1])];
        let [c, d] = [wide_products(simd, rows[2], weights[2]), wide_products(simd, rows[3], weights[3])];
        [(a[0] + b[0]) + (c[0] + d[0]), (a[1] + b[1]) + (c[1] + d[1])]
    }
    #[inline(always)]
    fn widened(self) -> [i64x8<Avx512>; 2] {
        let both = self.bitcast::<i64x8<Avx512>>();
        [(both << 32) >> 32, both >> 32]
    }
    #[inline(always)]
    fn low([even, odd]: [i64x8<Avx512>; 2]) -> Self {
        low(even.token(), even, odd)
    }
    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        let r: &mut [Self; 4] = rows.first_chunk_mut().expect("four rows");
        *r = wide_transpose(r[0].token(), *r);
    }
}

fearless_simd::kernel! {
    #[inline(always)]
    fn wide_products(token: Avx512, a: i32x16<Avx512>, b: i32x16<Avx512>) -> [i64x8<Avx512>; 2] {
        let odd = (_mm512_srli_epi64::<32>(a.into()), _mm512_srli_epi64::<32>(b.into()));
        let even = _mm512_mul_epi32(a.into(), b.into());
        [even.simd_into(token), _mm512_mul_epi32(odd.0, odd.1).simd_into(token)]
    }
}
fearless_simd::kernel! {
    #[inline(always)]
    fn low(token: Avx512, even: i64x8<Avx512>, odd: i64x8<Avx512>) -> i32x16<Avx512> {
        let odd = _mm512_slli_epi64::<32>(odd.into());
        _mm512_mask_mov_epi32(even.into(), 0xAAAA, odd).simd_into(token)
    }
}
kernel! {
/// Transposes four rows of four vectors.
pub(in crate::mesh) fn wide_transposed([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab, ba) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xDD>(a, b));
    let (cd, dc) = (_mm512_shuffle_i64x2::<0x88>(c, d), _mm512_shuffle_i64x2::<0xDD>(c, d));
    [
        _mm512_shuffle_i64x2::<0x88>(ab, cd),
        _mm512_shuffle_i64x2::<0x88>(ba, dc),
        _mm512_shuffle_i64x2::<0xDD>(ab, cd),
        _mm512_shuffle_i64x2::<0xDD>(ba, dc),
    ]
}
}
fearless_simd::kernel! {
    #[inline(always)]
    fn wide_transpose(token: Avx512, rows: [i32x16<Avx512>; 4]) -> [i32x16<Avx512>; 4] {
        let [a, b, c, d] = wide_transposed([rows[0].into(), rows[1].into(), rows[2].into(), rows[3].into()]);
        [a.simd_into(token), b.simd_into(token), c.simd_into(token), d.simd_into(token)]
    }
}

/// The mask of all 16-bit components of vectors except the fourth.
pub(in crate::mesh) const AXES: __mmask32 = 0x7777_7777;

/// The 16 vectors of a block of one frame, half of them in each register.
pub(in crate::mesh) type Vectors = [__m512i; 2];

pub(in crate::mesh) use kernel;
