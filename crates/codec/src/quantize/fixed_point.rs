//! The integer types of fixed-point positions: i16, or i32 if the bounds are too large for the tolerance.
//!
//! All arithmetic wraps at the width of the type, so that encoder and decoder agree whatever the content.

use crate::width::{ByWidth, OwnedPoints, Points};
use fearless_simd::prelude::*;
use fearless_simd::{f32x4, i16x8, i32x4};

/// A component of a decoded vector, in units of the mesh. All arithmetic is two's complement and wraps.
pub trait FixedPoint: Copy + Default + PartialEq + Eq + std::fmt::Debug + Send + Sync + 'static {
    /// The bits of a component; an escaped component takes as many in the file.
    const BITS: u32;
    /// The largest absolute value that a coordinate may have.
    const MAX_COORDINATE: i32;
    /// Returns the low bits of `value`.
    fn wrap(value: i32) -> Self;
    /// Converts a vector of 16-bit components.
    fn from_i16(vector: [i16; 4]) -> [Self; 4];
    /// Wraps points of this width.
    fn into_owned_points(points: Vec<[Self; 4]>) -> OwnedPoints;
    /// Returns the points if they have this width.
    fn downcast(points: Points<'_>) -> Option<&[[Self; 4]]>;
    /// Returns the value.
    fn to_i32(self) -> i32;
    /// Converts a vector.
    fn to_f32x4<S: Simd>(simd: S, vector: [Self; 4]) -> f32x4<S>;
    /// Adds with wrapping.
    fn wrapping_add(self, other: Self) -> Self;
    /// Returns `(Σ c·r + 128) >> 8`.
    fn blend(references: [Self; 4], coefficients: [i16; 4]) -> Self;
    /// Returns `((Σ w·n >> 6)·ρ + 512) >> 10`.
    fn weigh(neighbours: [Self; 4], weights: [i16; 4], rho: i32) -> Self;
    /// Applies [`FixedPoint::weigh`] to four components, of which the last one is unused.
    fn weigh_all(neighbours: [[Self; 4]; 4], weights: [i16; 4], rho: i32) -> [Self; 4];
}

macro_rules! fixed_point {
    ($($t:ty, $wide:ty, $reach:expr, $own:ident, $floats:ident;)*) => {$(
        impl FixedPoint for $t {
            const BITS: u32 = <$t>::BITS;
            const MAX_COORDINATE: i32 = $reach;
            #[inline(always)]
            fn wrap(value: i32) -> Self { value as $t }
            #[inline(always)]
            fn from_i16(v: [i16; 4]) -> [Self; 4] { [v[0].into(), v[1].into(), v[2].into(), v[3].into()] }
            fn into_owned_points(points: Vec<[Self; 4]>) -> OwnedPoints { ByWidth::$own(points) }
            fn downcast(points: Points<'_>) -> Option<&[[Self; 4]]> {
                match points {
                    ByWidth::$own(points) => Some(points),
                    _ => None,
                }
            }
            #[inline(always)]
            fn to_i32(self) -> i32 { self as i32 }
            #[inline(always)]
            fn to_f32x4<S: Simd>(simd: S, vector: [Self; 4]) -> f32x4<S> { $floats(simd, vector) }
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn blend(r: [Self; 4], c: [i16; 4]) -> Self {
                let term = |k: usize| (c[k] as $wide).wrapping_mul(r[k] as $wide);
                let sum = term(0).wrapping_add(term(1)).wrapping_add(term(2)).wrapping_add(term(3));
                (sum.wrapping_add(128) >> 8) as $t
            }
            #[inline(always)]
            fn weigh(n: [Self; 4], w: [i16; 4], rho: i32) -> Self {
                let term = |k: usize| (w[k] as $wide).wrapping_mul(n[k] as $wide);
                let sum = term(0).wrapping_add(term(1)).wrapping_add(term(2)).wrapping_add(term(3));
                ((sum >> 6).wrapping_mul(rho as $wide).wrapping_add(512) >> 10) as $t
            }
            #[inline(always)]
            fn weigh_all(n: [[Self; 4]; 4], w: [i16; 4], rho: i32) -> [Self; 4] {
                let mut out = [0; 4];
                for k in 0..4 {
                    out[k] = <$t as FixedPoint>::weigh([n[0][k], n[1][k], n[2][k], n[3][k]], w, rho);
                }
                out
            }
        }
    )*};
}
fixed_point! {
    i16, i32, 31_000, Narrow, floats_of_narrow;
    i32, i64, (1 << 24) - 4096, Wide, floats_of_wide;
}

#[inline(always)]
fn floats_of_narrow<S: Simd>(simd: S, [x, y, z, w]: [i16; 4]) -> f32x4<S> {
    i16x8::simd_from(simd, [x, y, z, w, 0, 0, 0, 0]).widen().0.to_float()
}

#[inline(always)]
fn floats_of_wide<S: Simd>(simd: S, vector: [i32; 4]) -> f32x4<S> {
    i32x4::simd_from(simd, vector).to_float()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_and_wraps() {
        assert_eq!(i16::blend([10, 20, 0, 0], [128, 128, 0, 0]), 15);
        assert_eq!(i16::blend([10, 21, 0, 0], [128, 128, 0, 0]), 16);
        assert_eq!(i16::blend([-10, -21, 0, 0], [128, 128, 0, 0]), -15);
        assert_eq!(i32::blend([1 << 30, 1 << 30, 0, 0], [256, 256, 0, 0]), i32::MIN);
        assert_eq!(i16::blend([i16::MIN; 4], [i16::MIN; 4]), 0);
        assert_eq!(i16::weigh([100, 50, 0, 0], [2048, 2048, 0, 0], 16), 75);
        assert_eq!(i16::weigh([100, 50, 0, 0], [2048, 2048, 0, 0], 8), 38);
        assert_eq!(i32::weigh([100, 50, 0, 0], [2048, 2048, 0, 0], 4), 19);
        let _ = i16::weigh([i16::MIN; 4], [i16::MIN; 4], 16);
        assert_eq!(i16::wrap(70_000), 4464);
    }
}
