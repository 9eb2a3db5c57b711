//! Registers of 128 bits: a block is processed in four parts, so that intermediate values stay in registers.

#![allow(unsafe_code)]

use super::block::{BLOCK, BlockRow, BlockTask, Part};
use super::traits::{HALF_EXPONENT, IntegerPoint, Number, Points};
use crate::simd::isa::{Narrow, NarrowToken};
use fearless_simd::prelude::*;
use fearless_simd::{Select, f32x4, i16x8, i32x4, mask32x4, u32x4};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Runs a kernel; the only place that instantiates [`Four`].
#[inline(always)]
pub(super) fn run<T: BlockTask>(narrow: Narrow, task: T) {
    narrow.token().vectorize(
        #[inline(always)]
        || task.run::<Four>(),
    );
}

/// Returns a token, which has no content.
#[inline(always)]
fn token() -> NarrowToken {
    // SAFETY: `Four` is private to this file, and named by `run` only, which has such a token.
    unsafe { std::mem::transmute::<(), NarrowToken>(()) }
}

/// Four numbers.
#[derive(Clone, Copy)]
struct Four(f32x4<NarrowToken>);

/// Four integers.
type Whole = i32x4<NarrowToken>;

macro_rules! operators {
    ($($name:ident $method:ident;)*) => {$(
        impl $name for Four {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Four($name::$method(self.0, other.0))
            }
        }
    )*};
}
operators! { Add add; Sub sub; Mul mul; Div div; }

impl Neg for Four {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Four(-self.0)
    }
}

impl Number for Four {
    type Mask = mask32x4<NarrowToken>;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Four(f32x4::splat(token(), x))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Four(self.0.abs())
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // This is what `minps` does; the minimum of other instruction sets differs for NaN.
        if cfg!(target_arch = "x86_64") {
            return Four(self.0.min(other.0));
        }
        Self::select(self.less(other), self, other)
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        self.0.simd_lt(other.0)
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        a & b
    }
    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        mask.all_true()
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Four(mask.select(yes.0, no.0))
    }
    #[inline(always)]
    fn halve_exponent(self) -> Self {
        let half = self.0.bitcast::<u32x4<_>>() >> 1;
        Four((u32x4::splat(token(), HALF_EXPONENT) - half).bitcast())
    }
}

/// Transposes four rows.
macro_rules! turned {
    ($rows:expr) => {{
        let [a, b, c, d] = $rows;
        let ([ac, ac2], [bd, bd2]) = ([a.zip_low(c), a.zip_high(c)], [b.zip_low(d), b.zip_high(d)]);
        [ac.zip_low(bd), ac.zip_high(bd), ac2.zip_low(bd2), ac2.zip_high(bd2)]
    }};
}

/// Returns a quarter of a block.
#[inline(always)]
fn four<T>(list: &[T; BLOCK], part: usize) -> &[T; 4] {
    &list.as_chunks().0[part]
}

#[inline(always)]
fn point<P: IntegerPoint>(points: &[P], at: u32) -> Whole {
    match P::kind(points) {
        Points::Narrow(p) => widened(p[at as usize]),
        Points::Wide(p) => i32x4::simd_from(token(), p[at as usize]),
    }
}

/// Converts four integers.
#[inline(always)]
fn widened([a, b, c, d]: [i16; 4]) -> Whole {
    i16x8::simd_from(token(), [a, b, c, d, 0, 0, 0, 0]).widen().0
}

impl Part for Four {
    const PARTS: usize = BLOCK / 4;
    type Whole = Whole;

    #[inline(always)]
    fn load(from: &[f32; BLOCK], part: usize) -> Self {
        Four(f32x4::simd_from(token(), *four(from, part)))
    }
    #[inline(always)]
    fn load_i16(from: &[i16; BLOCK], part: usize) -> Self {
        Four(widened(*four(from, part)).to_float())
    }
    #[inline(always)]
    fn points<P: IntegerPoint>(points: &[P], at: &BlockRow, part: usize) -> [Whole; 3] {
        let [a, b, c, d] = *four(at, part);
        let rows = [point(points, a), point(points, b), point(points, c), point(points, d)];
        let [x, y, z, _] = turned!(rows);
        [x, y, z]
    }
    #[inline(always)]
    fn difference(a: Whole, b: Whole) -> Self {
        Four((a - b).to_float())
    }
    #[inline(always)]
    fn vectors(list: &[[f32; 4]], at: &BlockRow, part: usize) -> [Self; 3] {
        let [a, b, c, d] = *four(at, part);
        let vector = |at: u32| f32x4::simd_from(token(), list[at as usize]);
        let [x, y, z, _] = turned!([vector(a), vector(b), vector(c), vector(d)]);
        [Four(x), Four(y), Four(z)]
    }
    #[inline(always)]
    fn run([x, y, z]: [&[i32]; 3], at: usize, part: usize) -> [Whole; 3] {
        let at = at + 4 * part;
        let (x, y, z) = (&x[at..at + 4], &y[at..at + 4], &z[at..at + 4]);
        [i32x4::from_slice(token(), x), i32x4::from_slice(token(), y), i32x4::from_slice(token(), z)]
    }
    #[inline(always)]
    fn store_run(v: [Whole; 3], planes: [&mut [i32; BLOCK]; 3], part: usize) {
        for (plane, v) in planes.into_iter().zip(v) {
            v.store_slice(&mut plane[4 * part..4 * part + 4]);
        }
    }
    #[inline(always)]
    fn store_fours(v: [Self; 4], out: &mut [[f32; 4]; BLOCK], part: usize) {
        let rows = turned!([v[0].0, v[1].0, v[2].0, v[3].0]);
        for (out, row) in out[4 * part..4 * part + 4].iter_mut().zip(rows) {
            *out = row.to_array();
        }
    }
}
