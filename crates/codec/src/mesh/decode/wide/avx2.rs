//! Decodes 32-bit positions with AVX2.

#![allow(unsafe_code)]

use super::{Register, ScalarResiduals};
use crate::mesh::decode::bundle::Bundle;
use crate::mesh::decode::static_part::StaticPart;
use crate::mesh::decode::unit::{DecodedPoint, UnitBody};
use crate::simd::isa::Avx2;
use std::arch::x86_64::*;

/// Decodes an access unit.
pub(in crate::mesh::decode) fn decode(
    _: Avx2,
    s: &StaticPart,
    bundle: &Bundle<i32>,
    body: &mut UnitBody,
    out: &mut [&mut [DecodedPoint<i32>]],
    scratch: &mut [DecodedPoint<i32>],
) {
    // SAFETY: the first argument proves that AVX2 is available.
    unsafe { decode_bundle(s, bundle, body, out, scratch) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn decode_bundle(
    s: &StaticPart,
    bundle: &Bundle<i32>,
    body: &mut UnitBody,
    out: &mut [&mut [DecodedPoint<i32>]],
    scratch: &mut [DecodedPoint<i32>],
) {
    super::decode::<I32x8, _>(s, bundle, &mut ScalarResiduals { body, tables: &s.tables }, out, scratch);
}

/// Eight numbers. Created in [`decode_bundle`] only, where AVX2 is available.
#[derive(Clone, Copy)]
struct I32x8(__m256i);

impl Register for I32x8 {
    const COUNT: usize = 8;
    type Products = [__m256i; 2];

    #[inline(always)]
    fn load(list: &[i32]) -> Self {
        let list: &[i32; 8] = list.first_chunk().expect("eight numbers");
        // SAFETY: AVX2 is available, and the list has 32 bytes.
        I32x8(unsafe { _mm256_loadu_si256(list.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, list: &mut [i32]) {
        let list: &mut [i32; 8] = list.first_chunk_mut().expect("eight numbers");
        // SAFETY: AVX2 is available, and the list has 32 bytes.
        unsafe { _mm256_storeu_si256(list.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: AVX2 is available.
        I32x8(unsafe { _mm256_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    fn with_fourths(self, other: Self) -> Self {
        // SAFETY: AVX2 is available.
        I32x8(unsafe { _mm256_blend_epi32::<0x88>(self.0, other.0) })
    }
    #[inline(always)]
    fn weighted([a, b, c, d]: [Self; 4], weights: [i16; 4]) -> [__m256i; 2] {
        // SAFETY: the instruction set is available.
        unsafe {
            let w = [
                _mm256_set1_epi64x(i64::from(weights[0])),
                _mm256_set1_epi64x(i64::from(weights[1])),
                _mm256_set1_epi64x(i64::from(weights[2])),
                _mm256_set1_epi64x(i64::from(weights[3])),
            ];
            let odd = [
                _mm256_srli_epi64::<32>(a.0),
                _mm256_srli_epi64::<32>(b.0),
                _mm256_srli_epi64::<32>(c.0),
                _mm256_srli_epi64::<32>(d.0),
            ];
            [even_products([a.0, b.0, c.0, d.0], w), even_products(odd, w)]
        }
    }
    #[inline(always)]
    fn rounded<const BITS: i32>(sums: [__m256i; 2]) -> Self {
        // SAFETY: AVX2 is available.
        unsafe {
            let half = _mm256_set1_epi64x(1 << (BITS - 1));
            let bits = _mm_cvtsi32_si128(BITS);
            // Low halves of a shift by at most 32 bits do not depend on the sign.
            let even = _mm256_srl_epi64(_mm256_add_epi64(sums[0], half), bits);
            let odd = _mm256_srl_epi64(_mm256_add_epi64(sums[1], half), bits);
            I32x8(_mm256_blend_epi32::<0xAA>(even, _mm256_slli_epi64::<32>(odd)))
        }
    }
    #[inline(always)]
    fn scaled(sums: [__m256i; 2], rho: Self) -> Self {
        // SAFETY: the instruction set is available.
        unsafe {
            let even = even_scaled(sums[0], rho.0);
            let odd = even_scaled(sums[1], _mm256_srli_epi64::<32>(rho.0));
            I32x8(_mm256_blend_epi32::<0xAA>(even, _mm256_slli_epi64::<32>(odd)))
        }
    }
}

/// Multiplies the even numbers of four rows by four weights and adds the products. A closure would not be
/// compiled for the instruction set.
#[inline(always)]
unsafe fn even_products([a, b, c, d]: [__m256i; 4], w: [__m256i; 4]) -> __m256i {
    // SAFETY: the instruction set is available.
    unsafe {
        let first = _mm256_add_epi64(_mm256_mul_epi32(a, w[0]), _mm256_mul_epi32(b, w[1]));
        let second = _mm256_add_epi64(_mm256_mul_epi32(c, w[2]), _mm256_mul_epi32(d, w[3]));
        _mm256_add_epi64(first, second)
    }
}

/// Returns the low halves of `((sum >> 6)·ρ + 512) >> 10`, for 64-bit sums and the even numbers of `rho`.
#[inline(always)]
unsafe fn even_scaled(sum: __m256i, rho: __m256i) -> __m256i {
    // SAFETY: the instruction set is available.
    unsafe {
        // An arithmetic shift: an offset is added before and its shifted value subtracted after.
        let sum = _mm256_srli_epi64::<6>(_mm256_add_epi64(sum, _mm256_set1_epi64x(1 << 62)));
        let sum = _mm256_sub_epi64(sum, _mm256_set1_epi64x(1 << 56));
        let low = _mm256_mul_epu32(sum, rho);
        let high = _mm256_mul_epi32(_mm256_srli_epi64::<32>(sum), rho);
        let product = _mm256_add_epi64(low, _mm256_slli_epi64::<32>(high));
        _mm256_srli_epi64::<10>(_mm256_add_epi64(product, _mm256_set1_epi64x(512)))
    }
}
