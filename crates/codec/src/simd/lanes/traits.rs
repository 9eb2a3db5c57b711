//! The operations from which kernels are built: numbers, eight of them side by side, and points in memory.

pub use crate::width::Points;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A decoded point: integers, in units that are the same for all points of the mesh.
pub trait IntegerPoint: Copy + Send + Sync {
    /// The factor of differences: a power of two, chosen so that squares of areas stay finite.
    const UNIT: f32;
    /// `true` if components have 32 bits.
    const WIDE: bool;
    /// The origin.
    const ZERO: Self;
    /// Returns these points by the width of their components.
    fn kind(points: &[Self]) -> Points<'_>;
    /// Returns the components.
    fn wide(self) -> [i32; 4];

    /// Returns the vector from `other` to `self`, at most 2¹⁷ long in each component; differences beyond 32
    /// bits wrap.
    #[inline(always)]
    fn minus(self, other: Self) -> [f32; 3] {
        let (a, b) = (self.wide(), other.wide());
        std::array::from_fn(|k| a[k].wrapping_sub(b[k]) as f32 * Self::UNIT)
    }
}

impl IntegerPoint for [i16; 4] {
    const UNIT: f32 = 1.0;
    const WIDE: bool = false;
    const ZERO: Self = [0; 4];
    #[inline(always)]
    fn kind(points: &[Self]) -> Points<'_> {
        Points::Narrow(points)
    }
    #[inline(always)]
    fn wide(self) -> [i32; 4] {
        self.map(i32::from)
    }
}

impl IntegerPoint for [i32; 4] {
    const UNIT: f32 = 1.0 / 65536.0;
    const WIDE: bool = true;
    const ZERO: Self = [0; 4];
    #[inline(always)]
    fn kind(points: &[Self]) -> Points<'_> {
        Points::Wide(points)
    }
    #[inline(always)]
    fn wide(self) -> [i32; 4] {
        self
    }
}

/// One number or eight: formulas are written once for both.
pub(crate) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The result of a comparison, for each number.
    type Mask: Copy;

    fn splat(x: f32) -> Self;
    fn abs(self) -> Self;
    /// Returns `self` if it is smaller, else `other`.
    fn min(self, other: Self) -> Self;
    fn less(self, other: Self) -> Self::Mask;
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn all(mask: Self::Mask) -> bool;
    /// Returns `yes` where the mask is set, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Returns the number whose bits are [`HALF_EXPONENT`] minus half of the bits of `self`.
    fn halve_exponent(self) -> Self;
}

/// The constant from which half of a number's bits are subtracted, to negate and halve its exponent. Part of
/// the format.
pub const HALF_EXPONENT: u32 = 0x5F1F_FFF9;

impl Number for f32 {
    type Mask = bool;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        x
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self < other
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
    fn select(mask: bool, yes: f32, no: f32) -> f32 {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn halve_exponent(self) -> f32 {
        f32::from_bits(HALF_EXPONENT.wrapping_sub(self.to_bits() >> 1))
    }
}
