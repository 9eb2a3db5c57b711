//! Decodes 32-bit positions with AVX-512, with the tokens of sixteen vertices at a time.

#![allow(unsafe_code)]

use super::{BlockContext, Register, Residuals, ScalarResiduals, WideBlock};
use crate::mesh::blocks::BLOCK;
use crate::mesh::contexts::ByteLookup;
use crate::mesh::decode::bundle::Bundle;
use crate::mesh::decode::static_part::StaticPart;
use crate::mesh::decode::tokens::avx512::{TablesAndShifts, TokenStream};
use crate::mesh::decode::unit::{DecodedPoint, UnitBody, UnitResiduals};
use crate::mesh::registers::avx512::kernel;
use crate::simd::isa::Avx512;
use std::arch::x86_64::*;

/// Decodes an access unit.
pub(in crate::mesh::decode) fn decode(
    _: Avx512,
    s: &StaticPart,
    bundle: &Bundle<i32>,
    body: &mut UnitBody,
    out: &mut [&mut [DecodedPoint<i32>]],
    scratch: &mut [DecodedPoint<i32>],
) {
    // SAFETY: the first argument proves that AVX-512 is available.
    unsafe { decode_bundle(s, bundle, body, out, scratch) }
}

kernel! {
unsafe fn decode_bundle(
    s: &StaticPart,
    bundle: &Bundle<i32>,
    body: &mut UnitBody,
    out: &mut [&mut [DecodedPoint<i32>]],
    scratch: &mut [DecodedPoint<i32>],
) {
    // A plan exists only if all tables that contexts name exist.
    let ready = s.plan.as_ref().and_then(|_| s.tables.slot_tables());
    let lookup = ready.and_then(|ready| Some((ready, ready.contexts.lookup.as_deref()?)));
    if let (UnitResiduals::Tokens(tokens), Some((ready, lookup))) = (&mut body.source, lookup) {
        let mut coded = TokenResiduals { stream: TokenStream::new(tokens), lookup, slots: ready.slots.as_ptr().cast() };
        super::decode::<I32x16, _>(s, bundle, &mut coded, out, scratch);
        coded.stream.put_back(tokens);
        return;
    }
    super::decode::<I32x16, _>(s, bundle, &mut ScalarResiduals { body, tables: &s.tables }, out, scratch);
}
}

/// Tokens and raw bits. Created only if AVX-512 is available, with the tables of the part.
struct TokenResiduals<'a, 'b> {
    stream: TokenStream<'b>,
    lookup: &'a ByteLookup,
    slots: *const i32,
}

impl Residuals for TokenResiduals<'_, '_> {
    #[inline(always)]
    fn has_contexts(&self) -> bool {
        true
    }

    #[inline(always)]
    fn block(&mut self, asked: &BlockContext<'_>) -> Option<WideBlock> {
        // SAFETY: AVX-512 and the tables are available, or this value would not exist.
        unsafe { self.vectors(asked) }
    }
}

impl TokenResiduals<'_, '_> {
    kernel! {
    unsafe fn vectors(&mut self, asked: &BlockContext<'_>) -> Option<WideBlock> {
        let active = ((1u32 << asked.count) - 1) as u16;
        // SAFETY: 64 bytes each; the tables are those of the part.
        unsafe {
            let near = _mm512_loadu_si512(asked.near.as_ptr().cast());
            let past = _mm512_loadu_si512(asked.past.as_ptr().cast());
            // A damaged file may give any value here, so negative ones are set to 0.
            let zero = _mm512_setzero_si512();
            let context = TablesAndShifts::new(self.lookup, asked.layer, _mm512_max_epi32(near, zero), _mm512_max_epi32(past, zero));
            let [x, y, z] = self.stream.axes_block(self.lookup, self.slots, context, active)?;
            // Sums that overflow are negative as signed numbers, and large as unsigned ones.
            let size = _mm512_add_epi32(_mm512_abs_epi32(x), _mm512_abs_epi32(y));
            let size = _mm512_min_epu32(size, _mm512_set1_epi32(1 << 30));
            let size = _mm512_add_epi32(size, _mm512_min_epu32(_mm512_abs_epi32(z), _mm512_set1_epi32(1 << 30)));
            let size = _mm512_min_epu32(size, _mm512_set1_epi32(4095));
            Some(rows([x, y, z, size]))
        }
    }
    }
}

kernel! {
/// Returns vectors from their components.
fn rows([x, y, z, w]: [__m512i; 4]) -> WideBlock {
    let (xy, zw) = (_mm512_unpacklo_epi32(x, y), _mm512_unpacklo_epi32(z, w));
    let (xy2, zw2) = (_mm512_unpackhi_epi32(x, y), _mm512_unpackhi_epi32(z, w));
    // Row i has the vectors i, i + 4, i + 8, i + 12.
    let rows = [
        _mm512_unpacklo_epi64(xy, zw),
        _mm512_unpackhi_epi64(xy, zw),
        _mm512_unpacklo_epi64(xy2, zw2),
        _mm512_unpackhi_epi64(xy2, zw2),
    ];
    let mut out = [[0; 4]; BLOCK];
    for (i, row) in rows.into_iter().enumerate() {
        let parts = [
            _mm512_extracti32x4_epi32::<0>(row),
            _mm512_extracti32x4_epi32::<1>(row),
            _mm512_extracti32x4_epi32::<2>(row),
            _mm512_extracti32x4_epi32::<3>(row),
        ];
        for (k, part) in parts.into_iter().enumerate() {
            // SAFETY: 16 bytes.
            unsafe { _mm_storeu_si128(out[4 * k + i].as_mut_ptr().cast(), part) };
        }
    }
    out
}
}

/// Sixteen numbers. Created in [`decode_bundle`] only, where AVX-512 is available.
#[derive(Clone, Copy)]
struct I32x16(__m512i);

impl Register for I32x16 {
    const COUNT: usize = 16;
    type Products = [__m512i; 2];

    #[inline(always)]
    fn load(list: &[i32]) -> Self {
        let list: &[i32; 16] = list.first_chunk().expect("sixteen numbers");
        // SAFETY: AVX-512 is available, and the list has 64 bytes.
        I32x16(unsafe { _mm512_loadu_si512(list.as_ptr().cast()) })
    }
    #[inline(always)]
    fn store(self, list: &mut [i32]) {
        let list: &mut [i32; 16] = list.first_chunk_mut().expect("sixteen numbers");
        // SAFETY: AVX-512 is available, and the list has 64 bytes.
        unsafe { _mm512_storeu_si512(list.as_mut_ptr().cast(), self.0) }
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: AVX-512 is available.
        I32x16(unsafe { _mm512_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    fn with_fourths(self, other: Self) -> Self {
        // SAFETY: AVX-512 is available.
        I32x16(unsafe { _mm512_mask_mov_epi32(self.0, 0x8888, other.0) })
    }
    #[inline(always)]
    fn weighted([a, b, c, d]: [Self; 4], weights: [i16; 4]) -> [__m512i; 2] {
        // SAFETY: the instruction set is available.
        unsafe {
            let w = [
                _mm512_set1_epi64(i64::from(weights[0])),
                _mm512_set1_epi64(i64::from(weights[1])),
                _mm512_set1_epi64(i64::from(weights[2])),
                _mm512_set1_epi64(i64::from(weights[3])),
            ];
            let odd = [
                _mm512_srli_epi64::<32>(a.0),
                _mm512_srli_epi64::<32>(b.0),
                _mm512_srli_epi64::<32>(c.0),
                _mm512_srli_epi64::<32>(d.0),
            ];
            [even_products([a.0, b.0, c.0, d.0], w), even_products(odd, w)]
        }
    }
    #[inline(always)]
    fn rounded<const BITS: i32>(sums: [__m512i; 2]) -> Self {
        // SAFETY: AVX-512 is available.
        unsafe {
            let half = _mm512_set1_epi64(1 << (BITS - 1));
            let bits = _mm_cvtsi32_si128(BITS);
            // Low halves of a shift by at most 32 bits do not depend on the sign.
            let even = _mm512_srl_epi64(_mm512_add_epi64(sums[0], half), bits);
            let odd = _mm512_srl_epi64(_mm512_add_epi64(sums[1], half), bits);
            I32x16(_mm512_mask_mov_epi32(even, 0xAAAA, _mm512_slli_epi64::<32>(odd)))
        }
    }
    #[inline(always)]
    fn scaled(sums: [__m512i; 2], rho: Self) -> Self {
        // SAFETY: the instruction set is available.
        unsafe {
            let even = even_scaled(sums[0], _mm512_and_si512(rho.0, _mm512_set1_epi64(0xFFFF_FFFF)));
            let odd = even_scaled(sums[1], _mm512_srli_epi64::<32>(rho.0));
            I32x16(_mm512_mask_mov_epi32(even, 0xAAAA, _mm512_slli_epi64::<32>(odd)))
        }
    }
}

/// Multiplies the even numbers of four rows by four weights and adds the products. A closure would not be
/// compiled for the instruction set.
#[inline(always)]
unsafe fn even_products([a, b, c, d]: [__m512i; 4], w: [__m512i; 4]) -> __m512i {
    // SAFETY: the instruction set is available.
    unsafe {
        let first = _mm512_add_epi64(_mm512_mul_epi32(a, w[0]), _mm512_mul_epi32(b, w[1]));
        let second = _mm512_add_epi64(_mm512_mul_epi32(c, w[2]), _mm512_mul_epi32(d, w[3]));
        _mm512_add_epi64(first, second)
    }
}

/// Returns the low halves of `((sum >> 6)·ρ + 512) >> 10`. ρ is at most 16, so the products fit.
#[inline(always)]
unsafe fn even_scaled(sum: __m512i, rho: __m512i) -> __m512i {
    // SAFETY: the instruction set is available.
    unsafe {
        let product = _mm512_mullo_epi64(_mm512_srai_epi64::<6>(sum), rho);
        _mm512_srli_epi64::<10>(_mm512_add_epi64(product, _mm512_set1_epi64(512)))
    }
}
