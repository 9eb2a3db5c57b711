//! Numbers of which formulas take one or eight: the same bits on every machine.
//!
//! Only operations that IEEE 754 defines to the bit are provided, and nothing is contracted.

use fearless_simd::prelude::*;
use fearless_simd::{Select, f32x8, f64x8};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// One number or eight, of type `T` each: formulas are written once for both.
pub(crate) trait Real<T>:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<T, Output = Self>
    + Mul<T, Output = Self>
{
    /// The result of a comparison, for each number.
    type Mask: Copy;

    /// Returns a constant as such a number, or eight times.
    fn same(self, x: T) -> Self;
    fn sqrt(self) -> Self;
    /// Rounds down to an integer.
    fn floor(self) -> Self;
    /// Rounds to the nearest integer, ties to even.
    fn round(self) -> Self;
    /// Returns `self` if it is smaller, else `other`.
    fn min(self, other: T) -> Self;
    /// Returns `self` if it is larger, else `other`.
    fn max(self, other: T) -> Self;
    fn less(self, other: Self) -> Self::Mask;
    fn equal(self, other: Self) -> Self::Mask;
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn all(mask: Self::Mask) -> bool;
    fn any(mask: Self::Mask) -> bool;
    /// Returns `yes` where the mask is set, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
}

macro_rules! real {
    ($($one:ident, $eight:ident;)*) => {$(
        impl Real<$one> for $one {
            type Mask = bool;

            #[inline(always)]
            fn same(self, x: $one) -> Self {
                x
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $one::sqrt(self)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $one::floor(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn min(self, other: $one) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn max(self, other: $one) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn equal(self, other: Self) -> bool {
                self == other
            }
            #[inline(always)]
            fn both(a: bool, b: bool) -> bool {
                a && b
            }
            #[inline(always)]
            fn all(mask: bool) -> bool {
                mask
            }
            #[inline(always)]
            fn any(mask: bool) -> bool {
                mask
            }
            #[inline(always)]
            fn select(mask: bool, yes: $one, no: $one) -> $one {
                if mask { yes } else { no }
            }
        }

        impl<S: Simd> Real<$one> for $eight<S> {
            type Mask = <$eight<S> as SimdBase<S>>::Mask;

            #[inline(always)]
            fn same(self, x: $one) -> Self {
                $eight::splat(self.token(), x)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                SimdFloat::sqrt(self)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                SimdFloat::floor(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn min(self, other: $one) -> Self {
                SimdBase::min(self, other)
            }
            #[inline(always)]
            fn max(self, other: $one) -> Self {
                SimdBase::max(self, other)
            }
            #[inline(always)]
            fn less(self, other: Self) -> Self::Mask {
                self.simd_lt(other)
            }
            #[inline(always)]
            fn equal(self, other: Self) -> Self::Mask {
                self.simd_eq(other)
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
            fn any(mask: Self::Mask) -> bool {
                mask.any_true()
            }
            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                mask.select(yes, no)
            }
        }
    )*};
}
real! { f32, f32x8; f64, f64x8; }
