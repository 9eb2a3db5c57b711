//! The operations from which kernels of eight f64 are built.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The number of values that are computed side by side.
pub(crate) const LANES: usize = 8;

/// The number of bytes from which bit fields are read: each field begins in the first 256.
pub(crate) const WINDOW: usize = 264;
/// The widest bit field: three of them, and seven bits before, fit 64.
pub(crate) const WIDEST: usize = 19;

/// One number or eight: formulas are written once for both.
pub(crate) trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The result of a comparison, for each number.
    type Mask: Copy;

    fn splat(x: f64) -> Self;
    fn sqrt(self) -> Self;
    /// Rounds down to an integer.
    fn floor(self) -> Self;
    /// Rounds to the nearest integer, ties to even.
    fn round(self) -> Self;
    /// Rounds to the nearest f32.
    fn narrow(self) -> Self;
    /// Returns `self` if it is smaller, else `other`.
    fn min(self, other: Self) -> Self;
    /// Returns `self` if it is larger, else `other`.
    fn max(self, other: Self) -> Self;
    fn less(self, other: Self) -> Self::Mask;
    fn equal(self, other: Self) -> Self::Mask;
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn all(mask: Self::Mask) -> bool;
    fn any(mask: Self::Mask) -> bool;
    /// Returns `yes` where the mask is set, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
}

impl Real for f64 {
    type Mask = bool;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        f64::floor(self)
    }
    #[inline(always)]
    fn round(self) -> Self {
        self.round_ties_even()
    }
    #[inline(always)]
    fn narrow(self) -> Self {
        f64::from(self as f32)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
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
    fn select(mask: bool, yes: f64, no: f64) -> f64 {
        if mask { yes } else { no }
    }
}

/// Eight numbers, with their loads and stores.
pub(crate) trait Eight: Real {
    /// Eight integers of 32 bits.
    type Whole: Copy;

    fn load(from: &[f64; LANES]) -> Self;
    fn store(self, to: &mut [f64; LANES]);
    fn load_i32(from: &[i32; LANES]) -> Self;
    /// Stores integers within 32 bits.
    fn store_i32(self, to: &mut [i32; LANES]);
    /// Rounds to f32 and transposes: one vector of four per lane.
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES];
    /// Returns the bytes of `table` at eight numbers of four bits, the lowest first.
    fn look_up(nibbles: u32, table: &[u8; 16]) -> Self::Whole;
    fn plus(a: Self::Whole, b: Self::Whole) -> Self::Whole;
    /// Returns, for each lane, the sum of all lanes before it; and the sum of all lanes.
    fn sums_before(a: Self::Whole) -> (Self::Whole, u32);
    /// Reads three adjacent bit fields in two's complement for each lane, at most [`WIDEST`] bits each; the
    /// first of a lane begins at its bit `first` of the window. A field of width 0 is 0.
    fn fields(window: &[u8; WINDOW], first: Self::Whole, widths: Self::Whole) -> [Self; 3];
}

/// A kernel and its arguments. `run` must be `#[inline(always)]`, like everything that it calls.
pub(crate) trait Task {
    type Out;
    fn run<E: Eight>(self) -> Self::Out;
}
