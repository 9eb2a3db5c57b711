//! Eight numbers as an array: the reference, and the implementation for machines without vector kernels.

use super::traits::{IntegerPoint, LANES, Lanes, Number, Row, Widths, field, four, room};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The reference implementation.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; LANES]);

impl Portable {
    #[inline(always)]
    fn from_fn(f: impl Fn(usize) -> f32) -> Portable {
        Portable(std::array::from_fn(f))
    }
}

macro_rules! operators {
    ($($name:ident $method:ident $op:tt;)*) => {$(
        impl $name for Portable {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Portable::from_fn(|l| self.0[l] $op other.0[l])
            }
        }
    )*};
}

operators! { Add add +; Sub sub -; Mul mul *; Div div /; }

impl Neg for Portable {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Portable::from_fn(|l| -self.0[l])
    }
}

impl Number for Portable {
    type Mask = [bool; LANES];

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Portable([x; LANES])
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Portable::from_fn(|l| self.0[l].sqrt())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Portable::from_fn(|l| self.0[l].abs())
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Portable::from_fn(|l| Number::min(self.0[l], other.0[l]))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Portable::from_fn(|l| Number::max(self.0[l], other.0[l]))
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        std::array::from_fn(|l| self.0[l] < other.0[l])
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        std::array::from_fn(|l| a[l] && b[l])
    }
    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        mask == [true; LANES]
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Portable::from_fn(|l| if mask[l] { yes.0[l] } else { no.0[l] })
    }
    #[inline(always)]
    fn halve_exponent(self) -> Self {
        Portable::from_fn(|l| self.0[l].halve_exponent())
    }
}

impl Lanes for Portable {
    type Whole = [i32; LANES];

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        Portable(*from)
    }
    #[inline(always)]
    fn load_i16(from: &[i16; LANES]) -> Self {
        Portable(from.map(f32::from))
    }
    #[inline(always)]
    fn points<P: IntegerPoint>(points: &[P], at: &Row) -> [Self::Whole; 3] {
        let eight = at.map(|i| points[i as usize].wide());
        std::array::from_fn(|k| eight.map(|p| p[k]))
    }
    #[inline(always)]
    fn difference(a: Self::Whole, b: Self::Whole) -> Self {
        Portable::from_fn(|l| a[l].wrapping_sub(b[l]) as f32)
    }
    #[inline(always)]
    fn vectors(list: &[[f32; 4]], at: &Row) -> [Self; 3] {
        Self::load_vectors(&at.map(|i| list[i as usize]))
    }
    #[inline(always)]
    fn load_vectors(list: &[[f32; 4]; LANES]) -> [Self; 3] {
        std::array::from_fn(|k| Portable(list.map(|v| v[k])))
    }
    #[inline(always)]
    fn store_vectors(v: [Self; 3], list: &mut [[f32; 4]; LANES]) {
        *list = std::array::from_fn(|l| [v[0].0[l], v[1].0[l], v[2].0[l], 0.0]);
    }
    #[inline(always)]
    fn whole_vectors(v: [Self; 3]) -> [[i32; 4]; LANES] {
        let whole = |x: f32| x.round_ties_even() as i32;
        std::array::from_fn(|l| [whole(v[0].0[l]), whole(v[1].0[l]), whole(v[2].0[l]), 0])
    }
    #[inline(always)]
    fn short_vectors(v: [Self; 3]) -> [[i16; 4]; LANES] {
        Self::whole_vectors(v).map(|v| v.map(|x| x as i16))
    }
    #[inline(always)]
    fn run(planes: [&[i32]; 3], at: usize) -> [Self::Whole; 3] {
        planes.map(|plane| {
            let eight = &plane[at..at + LANES];
            std::array::from_fn(|l| eight[l])
        })
    }
    #[inline(always)]
    fn store_run(v: [Self::Whole; 3], planes: [&mut [i32; LANES]; 3]) {
        for (plane, v) in planes.into_iter().zip(v) {
            *plane = v;
        }
    }
    #[inline(always)]
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES] {
        std::array::from_fn(|l| v.map(|c| c.0[l]))
    }
    #[inline(always)]
    fn le_i16(bytes: &[u8; 2 * LANES]) -> Self {
        Portable::from_fn(|l| f32::from(i16::from_le_bytes([bytes[2 * l], bytes[2 * l + 1]])))
    }
    #[inline(always)]
    fn le_i32(bytes: &[u8; 4 * LANES]) -> Self {
        Portable::from_fn(|l| i32::from_le_bytes(four(bytes, 4 * l)) as f32)
    }
    #[inline(always)]
    fn le_f32(bytes: &[u8; 4 * LANES]) -> Self {
        Portable::from_fn(|l| f32::from_le_bytes(four(bytes, 4 * l)))
    }
    #[inline(always)]
    fn pairs(bits: u16) -> Self {
        Portable::from_fn(|l| f32::from((bits >> (2 * l)) & 3))
    }
    #[inline(always)]
    fn fields<const ROWS: usize>(
        bytes: &[u8],
        at: [usize; 2],
        first: usize,
        codes: [u32; ROWS],
        widths: &Widths,
    ) -> [[Self; 2]; ROWS] {
        let mut out = [[Portable([0.0; LANES]); 2]; ROWS];
        let mut before = first;
        for row in 0..ROWS {
            for l in 0..LANES {
                let width = widths.get(codes[row] >> (4 * l));
                for s in 0..2 {
                    out[row][s].0[l] = field(bytes, at[s], before, width);
                }
                before += width;
            }
        }
        // The same result as in implementations that load many fields at once.
        if !room(bytes, at, before) {
            out = [[Portable([0.0; LANES]); 2]; ROWS];
        }
        out
    }
}
