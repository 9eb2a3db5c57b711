//! AVX2: one register of eight; vectors are transposed between memory and registers in 4 × 4 blocks.

#![allow(unsafe_code)]

use super::block::BlockTask;
use super::traits::{HALF_EXPONENT, IntegerPoint, LANES, Lanes, Number, Points, Row, Task, Widths, room};
use crate::simd::isa::Avx2;
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Runs a kernel; [`Eight`] is instantiated only here and in [`run_blocks`].
pub(super) fn run<T: Task>(_: Avx2, task: T) {
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn inside<T: Task>(task: T) {
        task.run::<Eight>();
    }
    // SAFETY: the argument proves that the machine has AVX2, and what comes with it.
    unsafe { inside(task) }
}

/// Runs a kernel over blocks.
pub(super) fn run_blocks<T: BlockTask>(_: Avx2, task: T) {
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

// SAFETY of all intrinsics below: `Eight` is private to this file, and named by `run` and `run_blocks` only,
// which have the proof that the machine has AVX2. Loads and stores go through references that cover all the
// memory they access.

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

/// Returns the bits of the nearest integers, saturated to 32 bits; 0 for NaN.
#[inline(always)]
fn whole(x: Eight) -> Eight {
    // SAFETY: see above.
    unsafe {
        // The conversion turns values that are too large into i32::MIN; flipping all bits gives i32::MAX for
        // positive ones.
        let whole = _mm256_cvtps_epi32(x.0);
        let limit = _mm256_set1_ps(2_147_483_648.0);
        let above = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(x.0, limit));
        let known = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_ORD_Q>(x.0, x.0));
        let whole = _mm256_and_si256(_mm256_xor_si256(whole, above), known);
        Eight(_mm256_castsi256_ps(whole))
    }
}

/// Transposes to the vectors 0 | 4, 1 | 5, 2 | 6, 3 | 7, each followed by a zero.
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
    fn points<P: IntegerPoint>(points: &[P], at: &Row) -> [Self::Whole; 3] {
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
        unsafe { [_mm256_castps_si256(x), _mm256_castps_si256(y), _mm256_castps_si256(z)] }
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
                let (low, high) = (_mm256_castps256_ps128(both[k]), _mm256_extractf128_ps::<1>(both[k]));
                _mm_storeu_ps(list[k].as_mut_ptr(), low);
                _mm_storeu_ps(list[k + 4].as_mut_ptr(), high);
            }
        }
    }
    #[inline(always)]
    fn whole_vectors(v: [Self; 3]) -> [[i32; 4]; LANES] {
        let mut out = [[0; 4]; LANES];
        // SAFETY: see above.
        unsafe {
            let whole = [whole(v[0]), whole(v[1]), whole(v[2])];
            for (k, both) in turn_back(whole).into_iter().enumerate() {
                let both = _mm256_castps_si256(both);
                _mm_storeu_si128(out[k].as_mut_ptr().cast(), _mm256_castsi256_si128(both));
                let high = _mm256_extracti128_si256::<1>(both);
                _mm_storeu_si128(out[k + 4].as_mut_ptr().cast(), high);
            }
        }
        out
    }
    #[inline(always)]
    fn short_vectors(v: [Self; 3]) -> [[i16; 4]; LANES] {
        let mut out = [[0; 4]; LANES];
        // SAFETY: see above.
        unsafe {
            let [x, y, z] = [whole(v[0]), whole(v[1]), whole(v[2])].map(|w| _mm256_castps_si256(w.0));
            // x and y, then z and zero, in 32 bits each.
            let xy = _mm256_blend_epi16::<0xAA>(x, _mm256_slli_epi32::<16>(y));
            let zero = _mm256_blend_epi16::<0xAA>(z, _mm256_setzero_si256());
            let pairs = [_mm256_unpacklo_epi32(xy, zero), _mm256_unpackhi_epi32(xy, zero)];
            for (k, both) in pairs.into_iter().enumerate() {
                let low = out[2 * k..].as_mut_ptr().cast();
                _mm_storeu_si128(low, _mm256_castsi256_si128(both));
                let high = out[2 * k + 4..].as_mut_ptr().cast();
                _mm_storeu_si128(high, _mm256_extracti128_si256::<1>(both));
            }
        }
        out
    }
    #[inline(always)]
    fn run(planes: [&[i32]; 3], at: usize) -> [Self::Whole; 3] {
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
    fn store_run(v: [Self::Whole; 3], planes: [&mut [i32; LANES]; 3]) {
        for (plane, v) in planes.into_iter().zip(v) {
            // SAFETY: see above.
            unsafe { _mm256_storeu_si256(plane.as_mut_ptr().cast(), v) }
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
    fn fields<const ROWS: usize>(
        bytes: &[u8],
        at: [usize; 2],
        first: usize,
        codes: [u32; ROWS],
        widths: &Widths,
    ) -> [[Self; 2]; ROWS] {
        const { assert!(ROWS <= 4) };
        let mut four = [0u32; 4];
        four[..ROWS].copy_from_slice(&codes);
        let mut out = [[Eight::splat(0.0); 2]; ROWS];
        // SAFETY: see above; fields are read only if `room` confirms that all exist.
        unsafe {
            // One byte per field, eight per row: widths, and their sums within the row.
            let codes = _mm_loadu_si128(four.as_ptr().cast());
            let nibble = _mm_set1_epi8(15);
            let low = _mm_and_si128(codes, nibble);
            let high = _mm_and_si128(_mm_srli_epi16::<4>(codes), nibble);
            let table = _mm_loadu_si128(widths.0.as_ptr().cast());
            let wide = [
                _mm_shuffle_epi8(table, _mm_unpacklo_epi8(low, high)),
                _mm_shuffle_epi8(table, _mm_unpackhi_epi8(low, high)),
            ];
            let sums = [sums(wide[0]), sums(wide[1])];
            let ends = [
                _mm_cvtsi128_si64(sums[0]) as u64,
                _mm_extract_epi64::<1>(sums[0]) as u64,
                _mm_cvtsi128_si64(sums[1]) as u64,
                _mm_extract_epi64::<1>(sums[1]) as u64,
            ];
            let all: u64 = ends[..ROWS].iter().map(|e| e >> 56).sum();
            if !room(bytes, at, first + all as usize) {
                return out;
            }
            let from = [bytes.as_ptr().add(at[0]), bytes.as_ptr().add(at[1])];
            let mut first = first;
            for row in 0..ROWS {
                let (own, sums) = (wide[row / 2], sums[row / 2]);
                let before = _mm_sub_epi8(sums, own);
                let (own, before) = match row % 2 {
                    0 => (own, before),
                    _ => (_mm_unpackhi_epi64(own, own), _mm_unpackhi_epi64(before, before)),
                };
                // Known to be below 32, which saves a check.
                let own = _mm256_and_si256(_mm256_cvtepu8_epi32(own), _mm256_set1_epi32(31));
                let range = _mm256_sllv_epi32(_mm256_set1_epi32(1), own);
                let mask = _mm256_sub_epi32(range, _mm256_set1_epi32(1));
                let half = _mm256_srli_epi32::<1>(range);
                // Four fields take at most 100 bits, so they are loaded at once. Both samples have the same
                // layout.
                let four = (ends[row] >> 24) as usize & 0xFF;
                let (a, b) = (first, first + four);
                let moves = _mm256_set_m128i(
                    _mm_set1_epi32((b & 7) as i32 - four as i32),
                    _mm_set1_epi32((a & 7) as i32),
                );
                let bits = _mm256_add_epi32(_mm256_cvtepu8_epi32(before), moves);
                let low = _mm256_shuffle_epi8(_mm256_srli_epi32::<3>(bits), each_byte());
                let which = _mm256_add_epi8(low, _mm256_set1_epi32(0x0302_0100));
                let shift = _mm256_and_si256(bits, _mm256_set1_epi32(7));
                for s in 0..2 {
                    let window = _mm256_set_m128i(
                        _mm_loadu_si128(from[s].add(b / 8).cast()),
                        _mm_loadu_si128(from[s].add(a / 8).cast()),
                    );
                    let words = _mm256_shuffle_epi8(window, which);
                    let fields = _mm256_and_si256(_mm256_srlv_epi32(words, shift), mask);
                    out[row][s] = Eight(_mm256_cvtepi32_ps(_mm256_sub_epi32(fields, half)));
                }
                first += (ends[row] >> 56) as usize;
            }
        }
        out
    }
}

/// Returns the sums up to each byte within each half.
#[inline(always)]
fn sums(bytes: __m128i) -> __m128i {
    // SAFETY: see above.
    unsafe {
        let sums = _mm_add_epi8(bytes, _mm_slli_epi64::<8>(bytes));
        let sums = _mm_add_epi8(sums, _mm_slli_epi64::<16>(sums));
        _mm_add_epi8(sums, _mm_slli_epi64::<32>(sums))
    }
}

/// Returns the shuffle of the lowest byte of each number to all its four bytes.
#[inline(always)]
fn each_byte() -> __m256i {
    // SAFETY: see above.
    unsafe {
        _mm256_setr_epi32(0, 0x0404_0404, 0x0808_0808, 0x0C0C_0C0C, 0, 0x0404_0404, 0x0808_0808, 0x0C0C_0C0C)
    }
}
