//! The operations from which kernels are built: numbers, eight of them side by side, and points in memory.

pub use crate::width::Points;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The number of items that are computed side by side.
pub(crate) const LANES: usize = 8;

/// The indices of eight items.
pub(crate) type Row = [u32; LANES];

/// A decoded point: integers, in units that are the same for all points of the mesh.
pub trait IntegerPoint: Copy {
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
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    /// Returns `self` if it is smaller, else `other`.
    fn min(self, other: Self) -> Self;
    /// Returns `self` if it is larger, else `other`.
    fn max(self, other: Self) -> Self;
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
    fn sqrt(self) -> Self {
        f32::sqrt(self)
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
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
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

/// Eight numbers, with their loads and stores.
pub(crate) trait Lanes: Number {
    /// Eight integers of 32 bits.
    type Whole: Copy;

    fn load(from: &[f32; LANES]) -> Self;
    fn load_i16(from: &[i16; LANES]) -> Self;
    fn points<P: IntegerPoint>(points: &[P], at: &Row) -> [Self::Whole; 3];
    /// Returns `a − b`, wrapping.
    fn difference(a: Self::Whole, b: Self::Whole) -> Self;
    fn vectors(list: &[[f32; 4]], at: &Row) -> [Self; 3];
    fn load_vectors(list: &[[f32; 4]; LANES]) -> [Self; 3];
    /// Stores vectors; the fourth component becomes zero.
    fn store_vectors(v: [Self; 3], list: &mut [[f32; 4]; LANES]);
    /// Rounds to the nearest integers, ties to even, saturated to i32; NaN gives 0. The fourth component is
    /// 0.
    fn whole_vectors(v: [Self; 3]) -> [[i32; 4]; LANES];
    /// Returns the low 16 bits of these.
    fn short_vectors(v: [Self; 3]) -> [[i16; 4]; LANES];
    /// Loads eight numbers of each plane, from `at` on. Panics if the planes are too short.
    fn run(planes: [&[i32]; 3], at: usize) -> [Self::Whole; 3];
    /// Stores eight numbers to each plane.
    fn store_run(v: [Self::Whole; 3], planes: [&mut [i32; LANES]; 3]);
    /// Transposes: one vector of four per lane.
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES];
    /// Loads little-endian integers.
    fn le_i16(bytes: &[u8; 2 * LANES]) -> Self;
    /// Loads little-endian integers, rounded to f32.
    fn le_i32(bytes: &[u8; 4 * LANES]) -> Self;
    /// Loads little-endian floats.
    fn le_f32(bytes: &[u8; 4 * LANES]) -> Self;
    /// Returns integers of two bits each, the lowest first.
    fn pairs(bits: u16) -> Self;
    /// Reads rows of eight bit fields, minus half their range, adjacent from bit `first` on; once after byte
    /// `at[0]` and once after byte `at[1]` of `bytes`. `widths` gives the width of each field by its four
    /// bits of `codes`; all are zeros if `bytes` ends less than sixteen bytes after the fields.
    fn fields<const ROWS: usize>(
        bytes: &[u8],
        at: [usize; 2],
        first: usize,
        codes: [u32; ROWS],
        widths: &Widths,
    ) -> [[Self; 2]; ROWS];
}

/// The widths of bit fields by code, at most 25; that of code 0 is 0.
pub(crate) struct Widths(pub(super) [u8; 16]);

impl Widths {
    /// Panics if a width is too large; meant for constants.
    pub(crate) const fn new(widths: [u8; 16]) -> Widths {
        let mut i = 0;
        assert!(widths[0] == 0);
        while i < 16 {
            assert!(widths[i] <= 25);
            i += 1;
        }
        Widths(widths)
    }

    #[inline(always)]
    pub(crate) fn get(&self, code: u32) -> usize {
        usize::from(self.0[code as usize & 15])
    }
}

/// A kernel and its arguments. `run` must be `#[inline(always)]`, like everything that it calls.
pub(crate) trait Task {
    fn run<L: Lanes>(self);
}

/// Returns `true` if sixteen bytes follow the fields of both samples, which end at bit `end`.
#[inline(always)]
pub(super) fn room(bytes: &[u8], at: [usize; 2], end: usize) -> bool {
    let latest = if at[0] < at[1] { at[1] } else { at[0] };
    latest.saturating_add(end / 8 + 16) <= bytes.len()
}

#[inline(always)]
pub(super) fn four(bytes: &[u8], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}

/// Returns a field of at most 25 bits from bit `first` after byte `at` on, minus half its range; 0 if `bytes`
/// ends within four bytes of it.
#[inline(always)]
pub(crate) fn field(bytes: &[u8], at: usize, first: usize, width: usize) -> f32 {
    let from = bytes.get(at + first / 8..);
    let Some(window) = from.and_then(|rest| rest.first_chunk()) else {
        return 0.0;
    };
    let bits = u32::from_le_bytes(*window) >> (first % 8);
    let range = 1u32 << width;
    ((bits & (range - 1)) as i32 - (range >> 1) as i32) as f32
}
