//! AVX2: two registers of four.

#![allow(unsafe_code)]

use super::traits::{Eight, LANES, Real, Task, WINDOW};
use crate::simd::isa::Avx2;
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Runs a kernel; the only place that instantiates [`Pair`].
pub(super) fn run<T: Task>(_: Avx2, task: T) -> T::Out {
    #[target_feature(enable = "avx2")]
    fn inside<T: Task>(task: T) -> T::Out {
        task.run::<Pair>()
    }
    // SAFETY: the argument proves that the machine has AVX2.
    unsafe { inside(task) }
}

// SAFETY of all intrinsics below: `Pair` is private to this file, and named by `run` only, which has the
// proof that the machine has AVX2. Loads and stores go through references that cover all the memory they
// access.

#[derive(Clone, Copy)]
struct Pair(__m256d, __m256d);

macro_rules! operators {
    ($($name:ident $method:ident $intrinsic:ident;)*) => {$(
        impl $name for Pair {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: see above.
                unsafe { Pair($intrinsic(self.0, other.0), $intrinsic(self.1, other.1)) }
            }
        }
    )*};
}
operators! {
    Add add _mm256_add_pd;
    Sub sub _mm256_sub_pd;
    Mul mul _mm256_mul_pd;
    Div div _mm256_div_pd;
}

impl Neg for Pair {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: see above.
        unsafe {
            let sign = _mm256_set1_pd(-0.0);
            Pair(_mm256_xor_pd(self.0, sign), _mm256_xor_pd(self.1, sign))
        }
    }
}

/// Converts both halves to f32.
#[inline(always)]
fn floats(x: Pair) -> __m256 {
    // SAFETY: see above.
    unsafe { _mm256_set_m128(_mm256_cvtpd_ps(x.1), _mm256_cvtpd_ps(x.0)) }
}

impl Real for Pair {
    type Mask = (__m256d, __m256d);

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: see above.
        unsafe { Pair(_mm256_set1_pd(x), _mm256_set1_pd(x)) }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: see above.
        unsafe { Pair(_mm256_sqrt_pd(self.0), _mm256_sqrt_pd(self.1)) }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        // SAFETY: see above.
        unsafe { Pair(_mm256_floor_pd(self.0), _mm256_floor_pd(self.1)) }
    }
    #[inline(always)]
    fn round(self) -> Self {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        // SAFETY: see above.
        unsafe { Pair(_mm256_round_pd::<NEAREST>(self.0), _mm256_round_pd::<NEAREST>(self.1)) }
    }
    #[inline(always)]
    fn narrow(self) -> Self {
        // SAFETY: see above.
        unsafe { Pair(_mm256_cvtps_pd(_mm256_cvtpd_ps(self.0)), _mm256_cvtps_pd(_mm256_cvtpd_ps(self.1))) }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { Pair(_mm256_min_pd(self.0, other.0), _mm256_min_pd(self.1, other.1)) }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: see above.
        unsafe { Pair(_mm256_max_pd(self.0, other.0), _mm256_max_pd(self.1, other.1)) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see above.
        unsafe {
            (_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0), _mm256_cmp_pd::<_CMP_LT_OQ>(self.1, other.1))
        }
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        // SAFETY: see above.
        unsafe {
            (_mm256_cmp_pd::<_CMP_EQ_OQ>(self.0, other.0), _mm256_cmp_pd::<_CMP_EQ_OQ>(self.1, other.1))
        }
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        // SAFETY: see above.
        unsafe { (_mm256_and_pd(a.0, b.0), _mm256_and_pd(a.1, b.1)) }
    }
    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        // SAFETY: see above.
        unsafe { _mm256_movemask_pd(_mm256_and_pd(mask.0, mask.1)) == 15 }
    }
    #[inline(always)]
    fn any(mask: Self::Mask) -> bool {
        // SAFETY: see above.
        unsafe { _mm256_movemask_pd(_mm256_or_pd(mask.0, mask.1)) != 0 }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see above.
        unsafe { Pair(_mm256_blendv_pd(no.0, yes.0, mask.0), _mm256_blendv_pd(no.1, yes.1, mask.1)) }
    }
}

impl Eight for Pair {
    type Whole = __m256i;

    #[inline(always)]
    fn load(from: &[f64; LANES]) -> Self {
        let from = from.as_ptr();
        // SAFETY: see above.
        unsafe { Pair(_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4))) }
    }
    #[inline(always)]
    fn store(self, to: &mut [f64; LANES]) {
        let to = to.as_mut_ptr();
        // SAFETY: see above.
        unsafe {
            _mm256_storeu_pd(to, self.0);
            _mm256_storeu_pd(to.add(4), self.1);
        }
    }
    #[inline(always)]
    fn load_i32(from: &[i32; LANES]) -> Self {
        let from = from.as_ptr().cast::<__m128i>();
        // SAFETY: see above.
        unsafe {
            Pair(_mm256_cvtepi32_pd(_mm_loadu_si128(from)), _mm256_cvtepi32_pd(_mm_loadu_si128(from.add(1))))
        }
    }
    #[inline(always)]
    fn store_i32(self, to: &mut [i32; LANES]) {
        let to = to.as_mut_ptr().cast::<__m128i>();
        // SAFETY: see above.
        unsafe {
            _mm_storeu_si128(to, _mm256_cvttpd_epi32(self.0));
            _mm_storeu_si128(to.add(1), _mm256_cvttpd_epi32(self.1));
        }
    }
    #[inline(always)]
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES] {
        let mut out = [[0.0; 4]; LANES];
        // SAFETY: see above.
        unsafe {
            let [x, y, z, w] = [floats(v[0]), floats(v[1]), floats(v[2]), floats(v[3])];
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
        look_up(nibbles, table)
    }
    #[inline(always)]
    fn plus(a: Self::Whole, b: Self::Whole) -> Self::Whole {
        // SAFETY: see above.
        unsafe { _mm256_add_epi32(a, b) }
    }
    #[inline(always)]
    fn sums_before(a: Self::Whole) -> (Self::Whole, u32) {
        sums_before(a)
    }
    #[inline(always)]
    fn fields(window: &[u8; WINDOW], first: Self::Whole, widths: Self::Whole) -> [Self; 3] {
        let mut out = [Pair::splat(0.0); 3];
        // SAFETY: see above.
        unsafe {
            let words = words(window, first);
            let bits = _mm256_and_si256(first, _mm256_set1_epi32(7));
            let mut low = _mm256_srlv_epi64(words[0], wide(bits)[0]);
            let mut high = _mm256_srlv_epi64(words[1], wide(bits)[1]);
            let step = wide(widths);
            let above = _mm256_sub_epi32(_mm256_set1_epi32(32), widths);
            for out in &mut out {
                let fields = _mm256_shuffle_ps::<0x88>(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
                let fields = _mm256_permute4x64_epi64::<0xD8>(_mm256_castps_si256(fields));
                // Shifting by 32 gives 0.
                let fields = _mm256_srav_epi32(_mm256_sllv_epi32(fields, above), above);
                *out = Pair(
                    _mm256_cvtepi32_pd(_mm256_castsi256_si128(fields)),
                    _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(fields)),
                );
                low = _mm256_srlv_epi64(low, step[0]);
                high = _mm256_srlv_epi64(high, step[1]);
            }
        }
        out
    }
}

/// Widens eight numbers of 32 bits to 64.
#[inline(always)]
fn wide(x: __m256i) -> [__m256i; 2] {
    // SAFETY: see above.
    unsafe {
        [
            _mm256_cvtepu32_epi64(_mm256_castsi256_si128(x)),
            _mm256_cvtepu32_epi64(_mm256_extracti128_si256::<1>(x)),
        ]
    }
}

/// Returns, for each lane, the 64 bits that begin with the byte that contains its bit `first`.
#[inline(always)]
pub(super) fn words(window: &[u8; WINDOW], first: __m256i) -> [__m256i; 2] {
    let mut at = [0u32; LANES];
    // SAFETY: see above; offsets are below 256, and the window has eight bytes more.
    unsafe {
        let bytes = _mm256_and_si256(_mm256_srli_epi32::<3>(first), _mm256_set1_epi32(255));
        _mm256_storeu_si256(at.as_mut_ptr().cast(), bytes);
        let word = |lane: usize| window.as_ptr().add(at[lane] as usize).cast::<i64>().read_unaligned();
        [
            _mm256_set_epi64x(word(3), word(2), word(1), word(0)),
            _mm256_set_epi64x(word(7), word(6), word(5), word(4)),
        ]
    }
}

/// Looks up bytes of a table by eight numbers of four bits.
#[inline(always)]
pub(super) fn look_up(nibbles: u32, table: &[u8; 16]) -> __m256i {
    // SAFETY: see above.
    unsafe {
        let places = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        let moved = _mm256_srlv_epi32(_mm256_set1_epi32(nibbles as i32), places);
        // The upper three bytes of each become 0.
        let which = _mm256_or_si256(_mm256_and_si256(moved, _mm256_set1_epi32(15)), _mm256_set1_epi32(-256));
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
        _mm256_shuffle_epi8(table, which)
    }
}

/// Returns, for each lane, the sum of all lanes before it; and the sum of all lanes.
#[inline(always)]
pub(super) fn sums_before(a: __m256i) -> (__m256i, u32) {
    // SAFETY: see above.
    unsafe {
        let sums = _mm256_add_epi32(a, _mm256_slli_si256::<4>(a));
        let sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
        // Adds the sum of the lower four to all of the upper four.
        let low = _mm256_shuffle_epi32::<0xFF>(sums);
        let low = _mm256_permute2x128_si256::<0x08>(low, low);
        let sums = _mm256_add_epi32(sums, low);
        (_mm256_sub_epi32(sums, a), _mm256_extract_epi32::<7>(sums) as u32)
    }
}
