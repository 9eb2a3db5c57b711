//! AVX2: one register of eight; vectors are transposed between memory and registers in 4 × 4 blocks.

#![allow(unsafe_code)]

use super::block::{BLOCK, BlockRow, BlockTask, Part};
use super::traits::{HALF_EXPONENT, IntegerPoint, Number, Points};
use crate::simd::isa::Avx2;
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Runs a kernel; the only place that instantiates [`Eight`].
pub(super) fn run<T: BlockTask>(_: Avx2, task: T) {
    #[target_feature(enable = "avx2")]
    fn inside<T: BlockTask>(task: T) {
        task.run::<Eight>();
    }
    // SAFETY: the argument proves that the machine has AVX2.
    unsafe { inside(task) }
}

/// Prefetches line by line, 64 bytes each.
#[inline(always)]
pub(super) fn fetch(_: Avx2, bytes: &[u8]) {
    let mut at = 0;
    while at < bytes.len() {
        // SAFETY: a hint, which reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(at).cast()) }
        at += 64;
    }
}

// SAFETY of all intrinsics below: `Eight` is private to this file, and named by `run` only, which has the
// proof that the machine has AVX2. Loads and stores go through references that cover all the memory they
// access.

#[derive(Clone, Copy)]
struct Eight(__m256);

macro_rules! operators {
    ($($name:ident $method:ident $intrinsic:ident;)*) => {$(
        impl $name for Eight {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: see above.
                Eight(unsafe { $intrinsic(self.0, other.0) })
            }
        }
    )*};
}
operators! {
    Add add _mm256_add_ps;
    Sub sub _mm256_sub_ps;
    Mul mul _mm256_mul_ps;
    Div div _mm256_div_ps;
}

impl Neg for Eight {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_xor_ps(self.0, _mm256_set1_ps(-0.0)) })
    }
}

/// Loads a point as four numbers of 32 bits.
#[inline(always)]
fn point<P: IntegerPoint>(points: &[P], at: u32) -> __m128 {
    // SAFETY: see above.
    unsafe {
        _mm_castsi128_ps(match P::kind(points) {
            Points::Narrow(p) => _mm_cvtepi16_epi32(_mm_loadl_epi64((&raw const p[at as usize]).cast())),
            Points::Wide(p) => _mm_loadu_si128((&raw const p[at as usize]).cast()),
        })
    }
}

#[inline(always)]
fn vector(v: &[f32; 4]) -> __m128 {
    // SAFETY: see above.
    unsafe { _mm_loadu_ps(v.as_ptr()) }
}

/// Transposes the first three components of eight vectors.
#[inline(always)]
fn turn_over(v: [__m128; 8]) -> [__m256; 3] {
    // SAFETY: see above.
    unsafe {
        let a = _mm256_set_m128(v[4], v[0]);
        let b = _mm256_set_m128(v[5], v[1]);
        let c = _mm256_set_m128(v[6], v[2]);
        let d = _mm256_set_m128(v[7], v[3]);
        let (xy, zw) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (xy2, zw2) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(xy, xy2),
            _mm256_shuffle_ps::<0xEE>(xy, xy2),
            _mm256_shuffle_ps::<0x44>(zw, zw2),
        ]
    }
}

/// Transposes to the vectors 0 | 4, 1 | 5, 2 | 6, 3 | 7.
#[inline(always)]
fn turn_back(v: [Eight; 4]) -> [__m256; 4] {
    // SAFETY: see above.
    unsafe {
        let [x, y, z, w] = [v[0].0, v[1].0, v[2].0, v[3].0];
        let (xy, xy2) = (_mm256_unpacklo_ps(x, y), _mm256_unpackhi_ps(x, y));
        let (zw, zw2) = (_mm256_unpacklo_ps(z, w), _mm256_unpackhi_ps(z, w));
        [
            _mm256_shuffle_ps::<0x44>(xy, zw),
            _mm256_shuffle_ps::<0xEE>(xy, zw),
            _mm256_shuffle_ps::<0x44>(xy2, zw2),
            _mm256_shuffle_ps::<0xEE>(xy2, zw2),
        ]
    }
}

impl Number for Eight {
    type Mask = __m256;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_set1_ps(x) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see above.
        unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        // SAFETY: see above.
        unsafe { _mm256_and_ps(a, b) }
    }
    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        // SAFETY: see above.
        unsafe { _mm256_movemask_ps(mask) == 0xFF }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_blendv_ps(no.0, yes.0, mask) })
    }
    #[inline(always)]
    fn halve_exponent(self) -> Self {
        // SAFETY: see above.
        Eight(unsafe {
            let half = _mm256_srli_epi32::<1>(_mm256_castps_si256(self.0));
            _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(HALF_EXPONENT as i32), half))
        })
    }
}

/// The number of lanes: half a block.
const LANES: usize = BLOCK / 2;

#[inline(always)]
fn half<T>(block: &[T; BLOCK], part: usize) -> &[T; LANES] {
    &block.as_chunks().0[part]
}

impl Part for Eight {
    const PARTS: usize = 2;
    type Whole = __m256i;

    #[inline(always)]
    fn load(from: &[f32; BLOCK], part: usize) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_loadu_ps(half(from, part).as_ptr()) })
    }
    #[inline(always)]
    fn load_i16(from: &[i16; BLOCK], part: usize) -> Self {
        // SAFETY: see above.
        Eight(unsafe {
            let words = _mm_loadu_si128(half(from, part).as_ptr().cast());
            _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(words))
        })
    }
    #[inline(always)]
    fn points<P: IntegerPoint>(points: &[P], at: &BlockRow, part: usize) -> [Self::Whole; 3] {
        let [a, b, c, d, e, f, g, h] = *half(at, part);
        let [x, y, z] = turn_over([
            point(points, a),
            point(points, b),
            point(points, c),
            point(points, d),
            point(points, e),
            point(points, f),
            point(points, g),
            point(points, h),
        ]);
        // SAFETY: see above.
        unsafe { [_mm256_castps_si256(x), _mm256_castps_si256(y), _mm256_castps_si256(z)] }
    }
    #[inline(always)]
    fn difference(a: Self::Whole, b: Self::Whole) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_cvtepi32_ps(_mm256_sub_epi32(a, b)) })
    }
    #[inline(always)]
    fn vectors(list: &[[f32; 4]], at: &BlockRow, part: usize) -> [Self; 3] {
        let [a, b, c, d, e, f, g, h] = *half(at, part);
        let [x, y, z] = turn_over([
            vector(&list[a as usize]),
            vector(&list[b as usize]),
            vector(&list[c as usize]),
            vector(&list[d as usize]),
            vector(&list[e as usize]),
            vector(&list[f as usize]),
            vector(&list[g as usize]),
            vector(&list[h as usize]),
        ]);
        [Eight(x), Eight(y), Eight(z)]
    }
    #[inline(always)]
    fn run(planes: [&[i32]; 3], at: usize, part: usize) -> [Self::Whole; 3] {
        let at = at + part * LANES;
        let [x, y, z] = planes.map(|plane| &plane[at..at + LANES]);
        // SAFETY: see above; each of these has eight.
        unsafe {
            [
                _mm256_loadu_si256(x.as_ptr().cast()),
                _mm256_loadu_si256(y.as_ptr().cast()),
                _mm256_loadu_si256(z.as_ptr().cast()),
            ]
        }
    }
    #[inline(always)]
    fn store_run(v: [Self::Whole; 3], planes: [&mut [i32; BLOCK]; 3], part: usize) {
        for (plane, v) in planes.into_iter().zip(v) {
            let half: &mut [i32; LANES] = &mut plane.as_chunks_mut().0[part];
            // SAFETY: see above.
            unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), v) }
        }
    }
    #[inline(always)]
    fn store_fours(v: [Self; 4], out: &mut [[f32; 4]; BLOCK], part: usize) {
        let out: &mut [[f32; 4]; LANES] = &mut out.as_chunks_mut().0[part];
        for (k, both) in turn_back(v).into_iter().enumerate() {
            // SAFETY: see above.
            unsafe {
                _mm_storeu_ps(out[k].as_mut_ptr(), _mm256_castps256_ps128(both));
                _mm_storeu_ps(out[k + 4].as_mut_ptr(), _mm256_extractf128_ps::<1>(both));
            }
        }
    }
}
