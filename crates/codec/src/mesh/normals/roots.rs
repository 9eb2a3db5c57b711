//! Inverse roots, arc cosines and rotations as the format defines them: a few products and sums each, with
//! the same bits on every machine.

use crate::simd::lanes::{Number, Vector, dot, minus, select, times};
use std::f32::consts::{FRAC_PI_2, PI, TAU};

// Part of the format, as are all numbers here.
/// The constants of `rough_inverse_root`.
pub const ROUGH_ROOT: [f32; 2] = [2.389_244_6, 0.703_952_25];
/// The coefficients of `angle`.
pub const ARC: [f32; 4] = [1.570_728_8, -0.212_114_4, 0.074_261, -0.018_729_3];
/// The coefficients of `rough_angle`.
pub const ROUGH_ARC: [f32; 3] = [1.085_445, -0.320_988, 0.662_658];

/// The normal of a group without faces.
pub const UP: [f32; 3] = [0.0, 0.0, 1.0];

/// Returns the inverse square root within 7·10⁻⁴: one Newton step from half the negated exponent, with the
/// constants of J. Kadlec. For zero it is a large number. Part of the format.
#[inline(always)]
pub(in crate::mesh) fn rough_inverse_root<N: Number>(x: N) -> N {
    let y = x.halve_exponent();
    y * ((N::splat(ROUGH_ROOT[0]) - (x * y) * y) * N::splat(ROUGH_ROOT[1]))
}

/// Returns the inverse square root within 10⁻⁶, by another step. Part of the format.
#[inline(always)]
pub(in crate::mesh) fn inverse_root<N: Number>(x: N) -> N {
    let y = rough_inverse_root(x);
    y * (N::splat(1.5) - (x * N::splat(0.5) * y) * y)
}

// Vectors whose squared length is not between these have no direction.
/// The lower limit of the square in `inverse_length`.
pub const SMALLEST: f32 = 1e-30;
/// The upper limit of the square in `inverse_length`.
pub const LARGEST: f32 = 1e30;

/// Returns one over the length, given its square; zero if there is no direction.
#[inline(always)]
pub(in crate::mesh) fn inverse_length<N: Number>(square: N) -> N {
    let usable = N::both(N::splat(SMALLEST).less(square), square.less(N::splat(LARGEST)));
    N::select(usable, inverse_root(square), N::splat(0.0))
}

/// Returns the arc cosine within 10⁻³, clamped beyond ±1: formula 4.4.45 of M. Abramowitz and I. Stegun,
/// *Handbook of mathematical functions*, 1964, with a rough root. Part of the format.
#[inline(always)]
pub(super) fn angle<N: Number>(cosine: N) -> N {
    let a = cosine.abs().min(N::splat(1.0));
    let inner = N::splat(ARC[1]) + a * (N::splat(ARC[2]) + a * N::splat(ARC[3]));
    let rest = N::splat(1.0) - a;
    let arc = (rest * rough_inverse_root(rest)) * (N::splat(ARC[0]) + a * inner);
    N::select(cosine.less(N::splat(0.0)), N::splat(PI) - arc, arc)
}

/// Returns the arc cosine within 0.015 for cosines up to 0.9, 0.02 up to 0.98 and 0.15 up to 1, by a
/// polynomial fitted to that. It is accurate enough for weights, most of which are right angles. Part of the
/// format.
#[inline(always)]
pub(super) fn rough_angle<N: Number>(cosine: N) -> N {
    let square = cosine * cosine;
    let [a, b, c] = ROUGH_ARC.map(N::splat);
    let inner = a + square * (b + square * c);
    N::splat(FRAC_PI_2) - cosine * inner
}

/// Returns the interior angle: `angle`, or 2π − `angle` at a reflex corner, where `side` is negative. Part of
/// the format.
#[inline(always)]
pub(super) fn interior<N: Number>(angle: N, cosine: N, side: N) -> N {
    let reflex = N::both(side.less(N::splat(0.0)), cosine.less(N::splat(0.999)));
    N::select(reflex, N::splat(TAU) - angle, angle)
}

/// Returns the cosine and sine of the angle 2h that a half angle h with the square `v` stands for, the sine
/// as a factor of h. Nearly exact for small h; h = π/2 is nearly a half turn, and larger values continue from
/// there. Part of the format.
#[inline(always)]
pub(in crate::mesh) fn rotation<N: Number>(v: N) -> [N; 2] {
    // tan h = h · (15 − v) / (15 − 6 v), as numerator and denominator.
    let above = N::splat(1.0) - v * N::splat(1.0 / 15.0);
    let below = N::splat(1.0) - v * N::splat(0.4);
    let (sine, cosine) = (above * above * v, below * below);
    let scale = N::splat(1.0) / (cosine + sine);
    [(cosine - sine) * scale, (above * below) * (scale + scale)]
}

/// Returns approximately the cosine and sine of an angle between −π and π. Part of the format.
#[inline(always)]
pub(in crate::mesh) fn cosine_and_sine<N: Number>(angle: N) -> [N; 2] {
    let half = angle * N::splat(0.5);
    let [c, s] = rotation(half * half);
    [c, half * s]
}

/// Normalizes vectors; those without a direction become +z.
#[inline(always)]
pub(in crate::mesh) fn normalized<N: Number>(v: Vector<N>) -> Vector<N> {
    let scale = inverse_length(dot(v, v));
    select(N::splat(0.0).less(scale), times(v, scale), [N::splat(UP[0]), N::splat(UP[1]), N::splat(UP[2])])
}

/// Returns the direction of the component of `v` perpendicular to the unit vector `n`, and a mask that is set
/// where this component is larger than rounding errors.
#[inline(always)]
pub(in crate::mesh) fn project_to_plane<N: Number>(v: Vector<N>, n: Vector<N>) -> (Vector<N>, N::Mask) {
    let rest = minus(v, times(n, dot(v, n)));
    let square = dot(rest, rest);
    let scale = inverse_length(square);
    let there = N::both((dot(v, v) * N::splat(1e-8)).less(square), N::splat(0.0).less(scale));
    (times(rest, scale), there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_near_and_nothing_is_no_number() {
        for i in 0..400_000u32 {
            let x = f32::from_bits(0x0D00_0000 + i * 4_099);
            if x.is_finite() && x < 1e30 {
                let exact = 1.0 / f64::from(x).sqrt();
                let [rough, near] =
                    [rough_inverse_root(x), inverse_root(x)].map(|y| (f64::from(y) / exact - 1.0).abs());
                assert!(rough < 7e-4 && near < 1e-6, "{x} {rough} {near}");
            }
        }
        assert!(rough_inverse_root(0.0f32).is_finite() && inverse_root(0.0f32).is_finite());
        assert_eq!([0.0, 1e-38, f32::INFINITY, f32::NAN].map(inverse_length), [0.0; 4]);
    }

    #[test]
    fn angles_are_weights_and_turns_are_exact_where_they_are_small() {
        for i in -100_000..=100_000 {
            let x = i as f32 / 100_000.0;
            let exact = f64::from(x).acos();
            let off = (f64::from(angle(x)) - exact).abs();
            assert!(off < 1.2e-3, "{x} {off}");
            let rough = (f64::from(rough_angle(x)) - exact).abs();
            assert!(
                rough < 0.015 || x.abs() > 0.9 && rough < 0.02 || x.abs() > 0.98 && rough < 0.15,
                "{x} {rough}"
            );
            let a = f64::from(x) * std::f64::consts::PI;
            let [c, s] = cosine_and_sine(a as f32);
            let off = (f64::from(c) - a.cos()).abs().max((f64::from(s) - a.sin()).abs());
            assert!(off < 5e-7 + 1.3e-3 * (a / 2.0).powi(7).abs(), "{a} {off}");
            assert!((c * c + s * s - 1.0).abs() < 5e-7);
        }
        assert_eq!([angle(2.0f32), angle(f32::MAX)], [angle(1.0); 2]);
        assert_eq!(cosine_and_sine(0.0), [1.0, 0.0]);
    }
}
