//! AVX2: one register of eight; vectors are turned over between memory and registers in 4 × 4 blocks.

#![allow(unsafe_code)]

use super::{LANES, Lanes, Number, Place, Points, Row, Task, Widths};
use crate::isa::Avx2;
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Runs a kernel; the only place where [`Eight`] comes into being.
pub(super) fn run<T: Task>(_: Avx2, task: T) {
    #[target_feature(enable = "avx2")]
    fn inside<T: Task>(task: T) {
        task.run::<Eight>();
    }
    // SAFETY: the argument proves that the machine has AVX2.
    unsafe { inside(task) }
}

// SAFETY of all intrinsics below: `Eight` is private to this file, and named by `run` only, which has the proof that the
// machine has AVX2. Loads and stores go through references to all that they touch.

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

/// A point as four numbers of 32 bits.
#[inline(always)]
fn point<P: Place>(points: &[P], at: u32) -> __m128 {
    // SAFETY: see above.
    unsafe {
        _mm_castsi128_ps(match P::kind(points) {
            Points::Narrow(p) => {
                _mm_cvtepi16_epi32(_mm_loadl_epi64((&raw const p[at as usize]).cast()))
            }
            Points::Wide(p) => _mm_loadu_si128((&raw const p[at as usize]).cast()),
        })
    }
}

#[inline(always)]
fn vector(v: &[f32; 4]) -> __m128 {
    // SAFETY: see above.
    unsafe { _mm_loadu_ps(v.as_ptr()) }
}

/// The first three components of eight vectors.
#[inline(always)]
fn turn_over(v: [__m128; LANES]) -> [__m256; 3] {
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

/// Vectors 0 | 4, 1 | 5, 2 | 6, 3 | 7 with a zero behind each.
#[inline(always)]
fn turn_back(v: [Eight; 3]) -> [__m256; 4] {
    // SAFETY: see above.
    unsafe {
        let [x, y, z] = [v[0].0, v[1].0, v[2].0];
        let zero = _mm256_setzero_ps();
        let (xy, xy2) = (_mm256_unpacklo_ps(x, y), _mm256_unpackhi_ps(x, y));
        let (zw, zw2) = (_mm256_unpacklo_ps(z, zero), _mm256_unpackhi_ps(z, zero));
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
    fn sqrt(self) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_sqrt_ps(self.0) })
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
    fn max(self, other: Self) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn round(self) -> Self {
        // SAFETY: see above.
        Eight(unsafe {
            _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0)
        })
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
}

impl Lanes for Eight {
    type Whole = __m256i;

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_loadu_ps(from.as_ptr()) })
    }
    #[inline(always)]
    fn load_i16(from: &[i16; LANES]) -> Self {
        // SAFETY: see above.
        Eight(unsafe {
            let words = _mm_loadu_si128(from.as_ptr().cast());
            _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(words))
        })
    }
    #[inline(always)]
    fn words(self) -> [u16; LANES] {
        let mut out = [0; LANES];
        // SAFETY: see above.
        unsafe {
            let whole = _mm256_cvttps_epi32(self.0);
            let low = _mm256_castsi256_si128(whole);
            let words = _mm_packus_epi32(low, _mm256_extracti128_si256::<1>(whole));
            _mm_storeu_si128(out.as_mut_ptr().cast(), words);
        }
        out
    }
    #[inline(always)]
    fn points<P: Place>(points: &[P], at: &Row) -> [Self::Whole; 3] {
        let [a, b, c, d, e, f, g, h] = *at;
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
        unsafe {
            [
                _mm256_castps_si256(x),
                _mm256_castps_si256(y),
                _mm256_castps_si256(z),
            ]
        }
    }
    #[inline(always)]
    fn difference(a: Self::Whole, b: Self::Whole) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_cvtepi32_ps(_mm256_sub_epi32(a, b)) })
    }
    #[inline(always)]
    fn vectors(list: &[[f32; 4]], at: &Row) -> [Self; 3] {
        let [a, b, c, d, e, f, g, h] = *at;
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
    fn load_vectors(list: &[[f32; 4]; LANES]) -> [Self; 3] {
        Self::vectors(list, &[0, 1, 2, 3, 4, 5, 6, 7])
    }
    #[inline(always)]
    fn store_vectors(v: [Self; 3], list: &mut [[f32; 4]; LANES]) {
        let both = turn_back(v);
        for k in 0..4 {
            // SAFETY: see above.
            unsafe {
                let (low, high) = (
                    _mm256_castps256_ps128(both[k]),
                    _mm256_extractf128_ps::<1>(both[k]),
                );
                _mm_storeu_ps(list[k].as_mut_ptr(), low);
                _mm_storeu_ps(list[k + 4].as_mut_ptr(), high);
            }
        }
    }
    #[inline(always)]
    fn add_to(v: [Self; 3], list: &mut [[f32; 4]], at: &Row) {
        let both = turn_back(v);
        for l in 0..LANES {
            let sum = &mut list[at[l] as usize];
            // SAFETY: see above.
            unsafe {
                let own = match l {
                    0..4 => _mm256_castps256_ps128(both[l]),
                    _ => _mm256_extractf128_ps::<1>(both[l - 4]),
                };
                _mm_storeu_ps(sum.as_mut_ptr(), _mm_add_ps(vector(sum), own));
            }
        }
    }
    #[inline(always)]
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES] {
        let mut out = [[0.0; 4]; LANES];
        // SAFETY: see above.
        unsafe {
            let [x, y, z, w] = [v[0].0, v[1].0, v[2].0, v[3].0];
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
    fn le_i16(bytes: &[u8; 2 * LANES]) -> Self {
        // SAFETY: see above.
        Eight(unsafe {
            let words = _mm_loadu_si128(bytes.as_ptr().cast());
            _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(words))
        })
    }
    #[inline(always)]
    fn le_i32(bytes: &[u8; 4 * LANES]) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_cvtepi32_ps(_mm256_loadu_si256(bytes.as_ptr().cast())) })
    }
    #[inline(always)]
    fn le_f32(bytes: &[u8; 4 * LANES]) -> Self {
        // SAFETY: see above.
        Eight(unsafe { _mm256_castsi256_ps(_mm256_loadu_si256(bytes.as_ptr().cast())) })
    }
    #[inline(always)]
    fn pairs(bits: u16) -> Self {
        // SAFETY: see above.
        Eight(unsafe {
            let places = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
            let moved = _mm256_srlv_epi32(_mm256_set1_epi32(i32::from(bits)), places);
            _mm256_cvtepi32_ps(_mm256_and_si256(moved, _mm256_set1_epi32(3)))
        })
    }
    #[inline(always)]
    fn fields(bytes: &[u8], first: [usize; 2], codes: u32, widths: &Widths) -> ([Self; 2], usize) {
        // SAFETY: see above; gathers stay within `bytes`, see there.
        unsafe {
            let places = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
            let codes = _mm256_srlv_epi32(_mm256_set1_epi32(codes as i32), places);
            let codes = _mm256_and_si256(codes, _mm256_set1_epi32(15));
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(widths.0.as_ptr().cast()));
            // The upper bytes are of code 0, and so is what they become.
            let widths = _mm256_shuffle_epi8(table, codes);
            // Sums up to each: within both halves, and then the lower half's on top of the upper one's.
            let sums = _mm256_add_epi32(widths, _mm256_slli_si256::<4>(widths));
            let sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
            let low = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(3));
            let upper = _mm256_blend_epi32::<0xF0>(_mm256_setzero_si256(), low);
            let sums = _mm256_add_epi32(sums, upper);
            let before = _mm256_sub_epi32(sums, widths);
            let all = _mm256_extract_epi32::<7>(sums) as u32 as usize;
            let range = _mm256_sllv_epi32(_mm256_set1_epi32(1), widths);
            let mask = _mm256_sub_epi32(range, _mm256_set1_epi32(1));
            let half = _mm256_srli_epi32::<1>(range);
            // No closure: it would stay outside the instruction set.
            let mut out = [Eight(_mm256_setzero_ps()); 2];
            for (out, first) in out.iter_mut().zip(first) {
                // No field begins behind `first + all`, so four bytes of each are there.
                if first.saturating_add(all) / 8 + 4 <= bytes.len() {
                    let at = _mm256_add_epi32(before, _mm256_set1_epi32((first & 7) as i32));
                    let from = bytes.as_ptr().add(first / 8).cast();
                    let words = _mm256_i32gather_epi32::<1>(from, _mm256_srli_epi32::<3>(at));
                    let fields =
                        _mm256_srlv_epi32(words, _mm256_and_si256(at, _mm256_set1_epi32(7)));
                    let fields = _mm256_sub_epi32(_mm256_and_si256(fields, mask), half);
                    *out = Eight(_mm256_cvtepi32_ps(fields));
                }
            }
            (out, all)
        }
    }
}
