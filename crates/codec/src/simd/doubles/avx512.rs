//! AVX-512: one register of eight.

#![allow(unsafe_code)]

use super::avx2;
use super::traits::{Eight, LANES, Real, Task, WINDOW};
use crate::simd::isa::Avx512;
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Runs a kernel; the only place that instantiates [`Row`].
pub(super) fn run<T: Task>(_: Avx512, task: T) -> T::Out {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt")]
    fn inside<T: Task>(task: T) -> T::Out {
        task.run::<Row>()
    }
    // SAFETY: the argument proves that the machine has AVX-512.
    unsafe { inside(task) }
}

// SAFETY of all intrinsics below: `Row` is private to this file, and named by `run` only, which has the proof
// that the machine has AVX-512. Loads and stores go through references that cover all the memory they access.

#[derive(Clone, Copy)]
struct Row(__m512d);

macro_rules! operators {
    ($($name:ident $method:ident $intrinsic:ident;)*) => {$(
        impl $name for Row {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: see above.
                Row(unsafe { $intrinsic(self.0, other.0) })
            }
        }
    )*};
}
operators! {
    Add add _mm512_add_pd;
    Sub sub _mm512_sub_pd;
    Mul mul _mm512_mul_pd;
    Div div _mm512_div_pd;
}

impl Neg for Row {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_xor_pd(self.0, _mm512_set1_pd(-0.0)) })
    }
}

impl Real for Row {
    type Mask = __mmask8;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_set1_pd(x) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_sqrt_pd(self.0) })
    }
    #[inline(always)]
    fn floor(self) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn round(self) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn narrow(self) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_cvtps_pd(_mm512_cvtpd_ps(self.0)) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_min_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_max_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see above.
        unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        // SAFETY: see above.
        unsafe { _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        a & b
    }
    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        mask == 0xFF
    }
    #[inline(always)]
    fn any(mask: Self::Mask) -> bool {
        mask != 0
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_mask_blend_pd(mask, no.0, yes.0) })
    }
}

impl Eight for Row {
    type Whole = __m256i;

    #[inline(always)]
    fn load(from: &[f64; LANES]) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_loadu_pd(from.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f64; LANES]) {
        // SAFETY: see above.
        unsafe { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn load_i32(from: &[i32; LANES]) -> Self {
        // SAFETY: see above.
        Row(unsafe { _mm512_cvtepi32_pd(_mm256_loadu_si256(from.as_ptr().cast())) })
    }
    #[inline(always)]
    fn store_i32(self, to: &mut [i32; LANES]) {
        // SAFETY: see above.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm512_cvttpd_epi32(self.0)) }
    }
    #[inline(always)]
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES] {
        let mut out = [[0.0; 4]; LANES];
        // SAFETY: see above.
        unsafe {
            let (x, y) = (_mm512_cvtpd_ps(v[0].0), _mm512_cvtpd_ps(v[1].0));
            let (z, w) = (_mm512_cvtpd_ps(v[2].0), _mm512_cvtpd_ps(v[3].0));
            let (xy, xy2) = (_mm256_unpacklo_ps(x, y), _mm256_unpackhi_ps(x, y));
            let (zw, zw2) = (_mm256_unpacklo_ps(z, w), _mm256_unpackhi_ps(z, w));
            let both = [
                _mm256_shuffle_ps::<0x44>(xy, zw),
                _mm256_shuffle_ps::<0xEE>(xy, zw),
                _mm256_shuffle_ps::<0x44>(xy2, zw2),
                _mm256_shuffle_ps::<0xEE>(xy2, zw2),
            ];
            for (k, both) in both.into_iter().enumerate() {
                _mm_storeu_ps(out[k].as_mut_ptr(), _mm256_castps256_ps128(both));
                _mm_storeu_ps(out[k + 4].as_mut_ptr(), _mm256_extractf128_ps::<1>(both));
            }
        }
        out
    }
    #[inline(always)]
    fn look_up(nibbles: u32, table: &[u8; 16]) -> Self::Whole {
        avx2::look_up(nibbles, table)
    }
    #[inline(always)]
    fn plus(a: Self::Whole, b: Self::Whole) -> Self::Whole {
        // SAFETY: see above.
        unsafe { _mm256_add_epi32(a, b) }
    }
    #[inline(always)]
    fn sums_before(a: Self::Whole) -> (Self::Whole, u32) {
        avx2::sums_before(a)
    }
    #[inline(always)]
    fn fields(window: &[u8; WINDOW], first: Self::Whole, widths: Self::Whole) -> [Self; 3] {
        let mut out = [Row::splat(0.0); 3];
        // SAFETY: see above.
        unsafe {
            let [low, high] = avx2::words(window, first);
            let words = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            let bits = _mm256_and_si256(first, _mm256_set1_epi32(7));
            let mut words = _mm512_srlv_epi64(words, _mm512_cvtepu32_epi64(bits));
            let step = _mm512_cvtepu32_epi64(widths);
            let above = _mm512_sub_epi64(_mm512_set1_epi64(64), step);
            for out in &mut out {
                // Shifting by 64 gives 0.
                let fields = _mm512_srav_epi64(_mm512_sllv_epi64(words, above), above);
                *out = Row(_mm512_cvtepi64_pd(fields));
                words = _mm512_srlv_epi64(words, step);
            }
        }
        out
    }
}
