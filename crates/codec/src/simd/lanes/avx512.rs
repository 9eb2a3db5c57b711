//! AVX-512: blocks of sixteen in one register.

#![allow(unsafe_code)]

use super::block::{BLOCK, BlockRow, BlockTask, Part};
use super::traits::{HALF_EXPONENT, IntegerPoint, Number, Points};
use crate::simd::isa::Avx512;
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Runs a kernel; the only place that instantiates [`Sixteen`].
pub(super) fn run<T: BlockTask>(_: Avx512, task: T) {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
    fn inside<T: BlockTask>(task: T) {
        task.run::<Sixteen>();
    }
    // SAFETY: the argument proves that the machine has these.
    unsafe { inside(task) }
}

// SAFETY of all intrinsics below: `Sixteen` is private to this file, and named by `run` only, which has the
// proof that the machine has AVX-512. Loads and stores go through references that cover all the memory they
// access, or at indices that `check` has compared with the length of the list.

#[derive(Clone, Copy)]
struct Sixteen(__m512);

macro_rules! operators {
    ($($name:ident $method:ident $intrinsic:ident;)*) => {$(
        impl $name for Sixteen {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: see above.
                Sixteen(unsafe { $intrinsic(self.0, other.0) })
            }
        }
    )*};
}
operators! {
    Add add _mm512_add_ps;
    Sub sub _mm512_sub_ps;
    Mul mul _mm512_mul_ps;
    Div div _mm512_div_ps;
}

impl Neg for Sixteen {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: see above.
        Sixteen(unsafe { _mm512_xor_ps(self.0, _mm512_set1_ps(-0.0)) })
    }
}

impl Number for Sixteen {
    type Mask = __mmask16;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: see above.
        Sixteen(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: see above.
        Sixteen(unsafe { _mm512_abs_ps(self.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: see above.
        Sixteen(unsafe { _mm512_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see above.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        a & b
    }
    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        mask == 0xFFFF
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see above.
        Sixteen(unsafe { _mm512_mask_blend_ps(mask, no.0, yes.0) })
    }
    #[inline(always)]
    fn halve_exponent(self) -> Self {
        // SAFETY: see above.
        Sixteen(unsafe {
            let half = _mm512_srli_epi32::<1>(_mm512_castps_si512(self.0));
            _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(HALF_EXPONENT as i32), half))
        })
    }
}

/// Panics unless all of these indices are below `count`.
#[inline(always)]
fn check(at: &BlockRow, count: usize) {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    // SAFETY: see above.
    let there = unsafe {
        let at = _mm512_loadu_si512(at.as_ptr().cast());
        _mm512_cmplt_epu32_mask(at, _mm512_set1_epi32(count as i32))
    };
    assert!(there == 0xFFFF, "items of a block beyond the end");
}

/// Returns an index, from memory: extracting it from the register into which [`check`] loads it would cost
/// more.
#[inline(always)]
fn number(at: &BlockRow, i: usize) -> usize {
    // SAFETY: a reference to what is read.
    unsafe { (&raw const at[i]).read_volatile() as usize }
}

/// Combines four rows of 128 bits into one register.
macro_rules! stack {
    ($row:ident, $i:expr) => {{
        let a = _mm512_castsi128_si512($row!($i));
        let a = _mm512_inserti32x4::<1>(a, $row!($i + 4));
        let a = _mm512_inserti32x4::<2>(a, $row!($i + 8));
        _mm512_inserti32x4::<3>(a, $row!($i + 12))
    }};
}

/// Transposes sixteen vectors to their first three components; the given register k has the vectors k, k + 4,
/// k + 8 and k + 12.
#[inline(always)]
fn turn_over([a, b, c, d]: [__m512i; 4]) -> [__m512i; 3] {
    // SAFETY: see above.
    unsafe {
        let (xy, zw) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (xy2, zw2) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        [_mm512_unpacklo_epi64(xy, xy2), _mm512_unpackhi_epi64(xy, xy2), _mm512_unpacklo_epi64(zw, zw2)]
    }
}

#[inline(always)]
fn narrow(points: &[[i16; 4]], at: &BlockRow) -> [__m512i; 3] {
    check(at, points.len());
    let base = points.as_ptr();
    // SAFETY: see above.
    unsafe {
        // Single loads are faster than a gather.
        macro_rules! two {
            ($i:expr) => {
                _mm_unpacklo_epi64(
                    _mm_loadl_epi64(base.add(number(at, $i)).cast()),
                    _mm_loadl_epi64(base.add(number(at, $i + 1)).cast()),
                )
            };
        }
        macro_rules! eight {
            ($i:expr) => {{
                let a = _mm512_castsi128_si512(two!($i));
                let a = _mm512_inserti32x4::<1>(a, two!($i + 2));
                let a = _mm512_inserti32x4::<2>(a, two!($i + 4));
                _mm512_inserti32x4::<3>(a, two!($i + 6))
            }};
        }
        let (low, high) = (eight!(0), eight!(8));
        let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        let xy = _mm512_permutex2var_epi32(low, even, high);
        let z = _mm512_permutex2var_epi32(low, odd, high);
        [
            _mm512_srai_epi32::<16>(_mm512_slli_epi32::<16>(xy)),
            _mm512_srai_epi32::<16>(xy),
            _mm512_srai_epi32::<16>(_mm512_slli_epi32::<16>(z)),
        ]
    }
}

#[inline(always)]
fn rows<T>(list: &[[T; 4]], at: &BlockRow) -> [__m512i; 3] {
    const { assert!(size_of::<T>() == 4) };
    check(at, list.len());
    let base = list.as_ptr();
    // SAFETY: see above.
    unsafe {
        macro_rules! row {
            ($i:expr) => {
                _mm_loadu_si128(base.add(number(at, $i)).cast())
            };
        }
        turn_over([stack!(row, 0), stack!(row, 1), stack!(row, 2), stack!(row, 3)])
    }
}

impl Part for Sixteen {
    const PARTS: usize = 1;
    type Whole = __m512i;

    #[inline(always)]
    fn load(from: &[f32; BLOCK], _: usize) -> Self {
        // SAFETY: see above.
        Sixteen(unsafe { _mm512_loadu_ps(from.as_ptr()) })
    }
    #[inline(always)]
    fn load_i16(from: &[i16; BLOCK], _: usize) -> Self {
        // SAFETY: see above.
        Sixteen(unsafe {
            let words = _mm256_loadu_si256(from.as_ptr().cast());
            _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(words))
        })
    }
    #[inline(always)]
    fn points<P: IntegerPoint>(points: &[P], at: &BlockRow, _: usize) -> [Self::Whole; 3] {
        match P::kind(points) {
            Points::Narrow(points) => narrow(points, at),
            Points::Wide(points) => rows(points, at),
        }
    }
    #[inline(always)]
    fn difference(a: Self::Whole, b: Self::Whole) -> Self {
        // SAFETY: see above.
        Sixteen(unsafe { _mm512_cvtepi32_ps(_mm512_sub_epi32(a, b)) })
    }
    #[inline(always)]
    fn vectors(list: &[[f32; 4]], at: &BlockRow, _: usize) -> [Self; 3] {
        let [x, y, z] = rows(list, at);
        // SAFETY: see above.
        unsafe {
            [
                Sixteen(_mm512_castsi512_ps(x)),
                Sixteen(_mm512_castsi512_ps(y)),
                Sixteen(_mm512_castsi512_ps(z)),
            ]
        }
    }
    #[inline(always)]
    fn run(planes: [&[i32]; 3], at: usize, _: usize) -> [Self::Whole; 3] {
        let [x, y, z] = planes.map(|plane| &plane[at..at + BLOCK]);
        // SAFETY: see above; each of these has sixteen.
        unsafe {
            [
                _mm512_loadu_si512(x.as_ptr().cast()),
                _mm512_loadu_si512(y.as_ptr().cast()),
                _mm512_loadu_si512(z.as_ptr().cast()),
            ]
        }
    }
    #[inline(always)]
    fn store_run(v: [Self::Whole; 3], planes: [&mut [i32; BLOCK]; 3], _: usize) {
        for (plane, v) in planes.into_iter().zip(v) {
            // SAFETY: see above.
            unsafe { _mm512_storeu_si512(plane.as_mut_ptr().cast(), v) }
        }
    }
    #[inline(always)]
    fn store_fours(v: [Self; 4], out: &mut [[f32; 4]; BLOCK], _: usize) {
        // SAFETY: see above; four stores of sixteen numbers are all of `out`.
        unsafe {
            let [x, y, z, w] = [v[0].0, v[1].0, v[2].0, v[3].0];
            let (xy, xy2) = (_mm512_unpacklo_ps(x, y), _mm512_unpackhi_ps(x, y));
            let (zw, zw2) = (_mm512_unpacklo_ps(z, w), _mm512_unpackhi_ps(z, w));
            // Quarter q of these has the vectors 4q, 4q + 1, 4q + 2, 4q + 3.
            let (a, b) = (_mm512_shuffle_ps::<0x44>(xy, zw), _mm512_shuffle_ps::<0xEE>(xy, zw));
            let (c, d) = (_mm512_shuffle_ps::<0x44>(xy2, zw2), _mm512_shuffle_ps::<0xEE>(xy2, zw2));
            let (ab02, ab13) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b));
            let (cd02, cd13) = (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xDD>(c, d));
            let to = out.as_mut_ptr().cast::<f32>();
            _mm512_storeu_ps(to, _mm512_shuffle_f32x4::<0x88>(ab02, cd02));
            _mm512_storeu_ps(to.add(16), _mm512_shuffle_f32x4::<0x88>(ab13, cd13));
            _mm512_storeu_ps(to.add(32), _mm512_shuffle_f32x4::<0xDD>(ab02, cd02));
            _mm512_storeu_ps(to.add(48), _mm512_shuffle_f32x4::<0xDD>(ab13, cd13));
        }
    }
    #[inline(always)]
    fn store_threes(v: [Self; 3], out: &mut [[f32; 3]; BLOCK], _: usize) {
        // SAFETY: see above; three stores of sixteen numbers are all of `out`.
        unsafe {
            let [x, y, z] = [v[0].0, v[1].0, v[2].0];
            let to = out.as_mut_ptr().cast::<f32>();
            // Number i of the output is component i mod 3 of vector i / 3: first from two registers, then
            // from the third.
            let xy = _mm512_setr_epi32(0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5);
            let yz = _mm512_setr_epi32(0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15);
            let a = _mm512_permutex2var_ps(_mm512_permutex2var_ps(x, xy, y), yz, z);
            _mm512_storeu_ps(to, a);
            let xy = _mm512_setr_epi32(21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26);
            let yz = _mm512_setr_epi32(0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15);
            let b = _mm512_permutex2var_ps(_mm512_permutex2var_ps(x, xy, y), yz, z);
            _mm512_storeu_ps(to.add(16), b);
            let xy = _mm512_setr_epi32(0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0);
            let yz = _mm512_setr_epi32(26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31);
            let c = _mm512_permutex2var_ps(_mm512_permutex2var_ps(x, xy, y), yz, z);
            _mm512_storeu_ps(to.add(32), c);
        }
    }
}
