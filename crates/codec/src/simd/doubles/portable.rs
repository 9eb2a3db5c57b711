//! Eight numbers as an array: the reference, and the implementation for machines without vector kernels.

use super::traits::{Eight, LANES, Real, WINDOW};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The reference implementation.
#[derive(Clone, Copy)]
pub(super) struct Portable([f64; LANES]);

impl Portable {
    #[inline(always)]
    fn from_fn(f: impl Fn(usize) -> f64) -> Portable {
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

impl Real for Portable {
    type Mask = [bool; LANES];

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Portable([x; LANES])
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Portable::from_fn(|l| self.0[l].sqrt())
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Portable::from_fn(|l| self.0[l].floor())
    }
    #[inline(always)]
    fn round(self) -> Self {
        Portable::from_fn(|l| self.0[l].round_ties_even())
    }
    #[inline(always)]
    fn narrow(self) -> Self {
        Portable::from_fn(|l| self.0[l].narrow())
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Portable::from_fn(|l| Real::min(self.0[l], other.0[l]))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Portable::from_fn(|l| Real::max(self.0[l], other.0[l]))
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        std::array::from_fn(|l| self.0[l] < other.0[l])
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        std::array::from_fn(|l| self.0[l] == other.0[l])
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
    fn any(mask: Self::Mask) -> bool {
        mask != [false; LANES]
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Portable::from_fn(|l| if mask[l] { yes.0[l] } else { no.0[l] })
    }
}

impl Eight for Portable {
    type Whole = [i32; LANES];

    #[inline(always)]
    fn load(from: &[f64; LANES]) -> Self {
        Portable(*from)
    }
    #[inline(always)]
    fn store(self, to: &mut [f64; LANES]) {
        *to = self.0;
    }
    #[inline(always)]
    fn load_i32(from: &[i32; LANES]) -> Self {
        Portable(from.map(f64::from))
    }
    #[inline(always)]
    fn store_i32(self, to: &mut [i32; LANES]) {
        *to = self.0.map(|x| x as i32);
    }
    #[inline(always)]
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES] {
        std::array::from_fn(|l| v.map(|c| c.0[l] as f32))
    }
    #[inline(always)]
    fn look_up(nibbles: u32, table: &[u8; 16]) -> Self::Whole {
        std::array::from_fn(|l| i32::from(table[(nibbles >> (4 * l) & 15) as usize]))
    }
    #[inline(always)]
    fn plus(a: Self::Whole, b: Self::Whole) -> Self::Whole {
        std::array::from_fn(|l| a[l].wrapping_add(b[l]))
    }
    #[inline(always)]
    fn sums_before(a: Self::Whole) -> (Self::Whole, u32) {
        let mut sum = 0i32;
        let before = a.map(|v| {
            sum = sum.wrapping_add(v);
            sum.wrapping_sub(v)
        });
        (before, sum as u32)
    }
    #[inline(always)]
    fn fields(window: &[u8; WINDOW], first: Self::Whole, widths: Self::Whole) -> [Self; 3] {
        let words = first.map(|first| {
            let at = (first as u32 >> 3) as usize & 255;
            let mut word = [0; 8];
            word.copy_from_slice(&window[at..at + 8]);
            u64::from_le_bytes(word) >> (first & 7)
        });
        std::array::from_fn(|k| {
            Portable::from_fn(|l| {
                let width = widths[l] as u32 & 31;
                let field = (words[l] >> (k as u32 * width)) as u32;
                let above = 32 - width;
                let left = field.checked_shl(above).unwrap_or(0) as i32;
                f64::from(left.checked_shr(above).unwrap_or(0))
            })
        })
    }
}
