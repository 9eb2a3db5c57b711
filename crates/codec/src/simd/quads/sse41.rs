//! SSE4.1: for machines without AVX2, and for tests of the 128-bit kernels on x86-64.

#![allow(unsafe_code)]

use super::traits::{Quad, Task};
use crate::simd::isa::Narrow;
use std::arch::x86_64::*;

/// Runs a kernel: the only place that instantiates [`Sse`].
pub(super) fn run<T: Task>(_: Narrow, task: T) -> T::Out {
    #[target_feature(enable = "sse4.1,ssse3")]
    fn inside<T: Task>(task: T) -> T::Out {
        task.run::<Sse>()
    }
    // SAFETY: the argument proves that the machine has SSE4.1.
    unsafe { inside(task) }
}

#[derive(Clone, Copy)]
pub(super) struct Sse(__m128i);

macro_rules! operations {
    ($(fn $name:ident($($arg:ident: $t:ty),*) $(-> $out:ty)? { $($body:tt)* })*) => {$(
        #[inline(always)]
        fn $name($($arg: $t),*) $(-> $out)? {
            // SAFETY: the types are named by `run` only, which has the proof that the machine has SSE4.1.
            // Loads and stores go through references that cover all the memory they access.
            #[allow(unused_unsafe)]
            unsafe { $($body)* }
        }
    )*};
}

macro_rules! f32s {
    ($intrinsic:ident($($arg:expr),*)) => { Sse(_mm_castps_si128($intrinsic($(_mm_castsi128_ps($arg.0)),*))) };
}

impl Quad for Sse {
    /// Pairs of two weights, repeated.
    type Weights = [__m128i; 2];

    operations! {
        fn load16(from: &[i16; 8]) -> Self { Sse(_mm_loadu_si128(from.as_ptr().cast())) }
        fn store16(v: Self, to: &mut [i16; 8]) { _mm_storeu_si128(to.as_mut_ptr().cast(), v.0) }
        fn load32(from: &[i32; 4]) -> Self { Sse(_mm_loadu_si128(from.as_ptr().cast())) }
        fn store32(v: Self, to: &mut [i32; 4]) { _mm_storeu_si128(to.as_mut_ptr().cast(), v.0) }
        fn load_f32(from: &[f32; 4]) -> Self { Sse(_mm_loadu_si128(from.as_ptr().cast())) }
        fn store_f32(v: Self, to: &mut [f32; 4]) { _mm_storeu_si128(to.as_mut_ptr().cast(), v.0) }
        fn load8(from: &[u8; 16]) -> Self { Sse(_mm_loadu_si128(from.as_ptr().cast())) }
        fn widen(from: &[i16; 4]) -> Self { Sse(_mm_cvtepi16_epi32(_mm_loadl_epi64(from.as_ptr().cast()))) }
        fn splat32(x: i32) -> Self { Sse(_mm_set1_epi32(x)) }
        fn splat_f32(x: f32) -> Self { Sse(_mm_castps_si128(_mm_set1_ps(x))) }

        fn add16(a: Self, b: Self) -> Self { Sse(_mm_add_epi16(a.0, b.0)) }
        fn mul16(a: Self, b: Self) -> Self { Sse(_mm_mullo_epi16(a.0, b.0)) }
        fn max16(a: Self, b: Self) -> Self { Sse(_mm_max_epi16(a.0, b.0)) }
        fn add32(a: Self, b: Self) -> Self { Sse(_mm_add_epi32(a.0, b.0)) }
        fn sub32(a: Self, b: Self) -> Self { Sse(_mm_sub_epi32(a.0, b.0)) }
        fn mul32(a: Self, b: Self) -> Self { Sse(_mm_mullo_epi32(a.0, b.0)) }
        fn min32(a: Self, b: Self) -> Self { Sse(_mm_min_epi32(a.0, b.0)) }
        fn abs32(a: Self) -> Self { Sse(_mm_abs_epi32(a.0)) }
        fn left(a: Self, bits: u32) -> Self { Sse(_mm_sll_epi32(a.0, _mm_cvtsi32_si128(bits as i32))) }
        fn right(a: Self, bits: u32) -> Self { Sse(_mm_sra_epi32(a.0, _mm_cvtsi32_si128(bits as i32))) }
        fn right_zeros(a: Self, bits: u32) -> Self { Sse(_mm_srl_epi32(a.0, _mm_cvtsi32_si128(bits as i32))) }
        fn and(a: Self, b: Self) -> Self { Sse(_mm_and_si128(a.0, b.0)) }
        fn or(a: Self, b: Self) -> Self { Sse(_mm_or_si128(a.0, b.0)) }
        fn xor(a: Self, b: Self) -> Self { Sse(_mm_xor_si128(a.0, b.0)) }
        fn select(mask: Self, yes: Self, no: Self) -> Self {
            Sse(_mm_or_si128(_mm_and_si128(mask.0, yes.0), _mm_andnot_si128(mask.0, no.0)))
        }
        fn look_up(table: Self, at: Self) -> Self { Sse(_mm_shuffle_epi8(table.0, at.0)) }
        fn zip32(a: Self, b: Self) -> [Self; 2] {
            [Sse(_mm_unpacklo_epi32(a.0, b.0)), Sse(_mm_unpackhi_epi32(a.0, b.0))]
        }
        fn zip64(a: Self, b: Self) -> [Self; 2] {
            [Sse(_mm_unpacklo_epi64(a.0, b.0)), Sse(_mm_unpackhi_epi64(a.0, b.0))]
        }
        fn fourths(a: Self, b: Self) -> Self {
            let both = _mm_shuffle_ps::<0xDD>(_mm_castsi128_ps(a.0), _mm_castsi128_ps(b.0));
            Sse(_mm_srli_epi32::<16>(_mm_castps_si128(both)))
        }
        fn narrow(a: [Self; 2]) -> Self { Sse(_mm_packs_epi32(a[0].0, a[1].0)) }

        fn weights(w: [i16; 4]) -> Self::Weights {
            let w = _mm_loadl_epi64(w.as_ptr().cast());
            [_mm_shuffle_epi32::<0>(w), _mm_shuffle_epi32::<0x55>(w)]
        }
        fn weights_of_three(w: [i16; 4]) -> Self::Weights {
            let w = _mm_loadl_epi64(w.as_ptr().cast());
            let ones = _mm_set1_epi16(1);
            [
                _mm_blend_epi16::<0xC0>(_mm_shuffle_epi32::<0>(w), ones),
                _mm_blend_epi16::<0xC0>(_mm_shuffle_epi32::<0x55>(w), ones),
            ]
        }
        fn weighted(rows: [Self; 4], w: Self::Weights) -> [Self; 2] {
            let [a, b, c, d] = [rows[0].0, rows[1].0, rows[2].0, rows[3].0];
            let low = _mm_add_epi32(
                _mm_madd_epi16(_mm_unpacklo_epi16(a, b), w[0]),
                _mm_madd_epi16(_mm_unpacklo_epi16(c, d), w[1]),
            );
            let high = _mm_add_epi32(
                _mm_madd_epi16(_mm_unpackhi_epi16(a, b), w[0]),
                _mm_madd_epi16(_mm_unpackhi_epi16(c, d), w[1]),
            );
            [Sse(low), Sse(high)]
        }

        fn weighted32(rows: [Self; 4], w: [i16; 4]) -> [Self; 2] {
            let w = _mm_cvtepi16_epi32(_mm_loadl_epi64(w.as_ptr().cast()));
            let (wa, wb) = (_mm_shuffle_epi32::<0>(w), _mm_shuffle_epi32::<0x55>(w));
            let (wc, wd) = (_mm_shuffle_epi32::<0xAA>(w), _mm_shuffle_epi32::<0xFF>(w));
            let [a, b, c, d] = [rows[0].0, rows[1].0, rows[2].0, rows[3].0];
            let first = _mm_add_epi64(_mm_mul_epi32(a, wa), _mm_mul_epi32(b, wb));
            let even = _mm_add_epi64(first, _mm_add_epi64(_mm_mul_epi32(c, wc), _mm_mul_epi32(d, wd)));
            let (a, b) = (_mm_srli_epi64::<32>(a), _mm_srli_epi64::<32>(b));
            let (c, d) = (_mm_srli_epi64::<32>(c), _mm_srli_epi64::<32>(d));
            let first = _mm_add_epi64(_mm_mul_epi32(a, wa), _mm_mul_epi32(b, wb));
            let odd = _mm_add_epi64(first, _mm_add_epi64(_mm_mul_epi32(c, wc), _mm_mul_epi32(d, wd)));
            [Sse(even), Sse(odd)]
        }
        fn scaled64(sums: [Self; 2], rho: Self) -> Self {
            let even = scaled(sums[0].0, rho.0);
            let odd = scaled(sums[1].0, _mm_srli_epi64::<32>(rho.0));
            Sse(_mm_blend_epi16::<0xCC>(even, _mm_slli_epi64::<32>(odd)))
        }

        fn to_f32(a: Self) -> Self { Sse(_mm_castps_si128(_mm_cvtepi32_ps(a.0))) }
        fn to_whole(a: Self) -> Self {
            // The conversion turns values that are too large into i32::MIN; flipping all bits gives i32::MAX
            // for positive ones.
            let x = _mm_castsi128_ps(a.0);
            let whole = _mm_cvtps_epi32(x);
            let above = _mm_castps_si128(_mm_cmpge_ps(x, _mm_set1_ps(2_147_483_648.0)));
            let known = _mm_castps_si128(_mm_cmpord_ps(x, x));
            Sse(_mm_and_si128(_mm_xor_si128(whole, above), known))
        }
        fn add_f32(a: Self, b: Self) -> Self { f32s!(_mm_add_ps(a, b)) }
        fn sub_f32(a: Self, b: Self) -> Self { f32s!(_mm_sub_ps(a, b)) }
        fn mul_f32(a: Self, b: Self) -> Self { f32s!(_mm_mul_ps(a, b)) }
        fn div_f32(a: Self, b: Self) -> Self { f32s!(_mm_div_ps(a, b)) }
        fn sqrt_f32(a: Self) -> Self { f32s!(_mm_sqrt_ps(a)) }
        fn min_f32(a: Self, b: Self) -> Self { f32s!(_mm_min_ps(a, b)) }
        fn max_f32(a: Self, b: Self) -> Self { f32s!(_mm_max_ps(a, b)) }
        fn less_f32(a: Self, b: Self) -> Self { f32s!(_mm_cmplt_ps(a, b)) }
        fn all(a: Self) -> bool { _mm_movemask_epi8(a.0) == 0xFFFF }
    }

    #[inline(always)]
    fn rounded<const BITS: i32>(sums: [Self; 2]) -> Self {
        // SAFETY: as above.
        unsafe {
            // Bits beyond 16 are removed first: packing would saturate.
            let half = _mm_set1_epi32(1 << (BITS - 1));
            let left = _mm_cvtsi32_si128(16 - BITS);
            let low = _mm_srai_epi32::<16>(_mm_sll_epi32(_mm_add_epi32(sums[0].0, half), left));
            let high = _mm_srai_epi32::<16>(_mm_sll_epi32(_mm_add_epi32(sums[1].0, half), left));
            Sse(_mm_packs_epi32(low, high))
        }
    }
    #[inline(always)]
    fn rounded64<const BITS: i32>(sums: [Self; 2]) -> Self {
        // SAFETY: as above.
        unsafe {
            // The low half of a shift by at most 32 bits does not depend on the sign.
            let half = _mm_set1_epi64x(1 << (BITS - 1));
            let even = _mm_srli_epi64::<BITS>(_mm_add_epi64(sums[0].0, half));
            let odd = _mm_srli_epi64::<BITS>(_mm_add_epi64(sums[1].0, half));
            Sse(_mm_blend_epi16::<0xCC>(even, _mm_slli_epi64::<32>(odd)))
        }
    }
}

/// Returns the low halves of `((sum >> 6)·ρ + 512) >> 10`, with the low halves of `rho`.
#[inline(always)]
unsafe fn scaled(sum: __m128i, rho: __m128i) -> __m128i {
    // SAFETY: as above.
    unsafe {
        // There is no 64-bit product and no 64-bit arithmetic shift: the bits that would be shifted in lie
        // above all kept bits, because multiplication by ρ only moves bits up.
        let sum = _mm_srli_epi64::<6>(sum);
        let low = _mm_mul_epu32(sum, rho);
        let high = _mm_mul_epu32(_mm_srli_epi64::<32>(sum), rho);
        let product = _mm_add_epi64(low, _mm_slli_epi64::<32>(high));
        _mm_srli_epi64::<10>(_mm_add_epi64(product, _mm_set1_epi64x(512)))
    }
}
