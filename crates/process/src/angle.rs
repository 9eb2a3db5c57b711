//! Arc cosines from a polynomial: several times as fast as those of a mathematical library, and the same bits
//! on every machine, which those are not.

/// The arc cosine of x over √(1 − x), in powers of x, for 0 ≤ x ≤ 1.
///
/// Credit: C. Hastings, Approximations for digital computers, 1955 (M. Abramowitz, I. Stegun, Handbook of
/// mathematical functions, 4.4.46); off by at most 2·10⁻⁸.
const ARC_COSINE: [f32; 8] = [
    std::f32::consts::FRAC_PI_2,
    -0.214_598_8,
    0.088_978_99,
    -0.050_174_305,
    0.030_891_88,
    -0.017_088_126,
    0.006_670_09,
    -0.001_262_491_1,
];

/// The arc cosine of −1 … 1, in radians, to about the last digit of an `f32`.
#[inline(always)]
pub fn arc_cosine(cosine: f32) -> f32 {
    let x = cosine.abs();
    let sum = ARC_COSINE.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let acute = (1.0 - x).sqrt() * sum;
    if cosine < 0.0 { std::f32::consts::PI - acute } else { acute }
}

/// The arc tangent of x over x, in powers of x², for |x| ≤ tan(π/8): Chebyshev's expansion, off by at most
/// 3·10⁻¹⁴.
const ARC_TANGENT: [f64; 9] = [
    0.999_999_999_999_973_7,
    -0.333_333_333_308_638_5,
    0.199_999_996_125_387_32,
    -0.142_856_907_819_097_18,
    0.111_103_932_479_320_34,
    -0.090_784_939_977_997_52,
    0.075_644_050_609_588_59,
    -0.058_770_191_423_757_26,
    0.030_699_019_561_623_873,
];

/// The angle of a direction whose sine is not negative, 0 … π, to about 10⁻¹³; both may be of any length.
/// Without a branch, so that several angles are computed side by side.
#[inline(always)]
pub fn arc(sine: f64, cosine: f64) -> f64 {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    const TAN_EIGHTH: f64 = 0.414_213_562_373_095_03;
    let far = cosine.abs();
    // Of what lies near an axis the tangent itself, of what lies between two that of what is beyond 45°.
    let (low, high) = (sine <= TAN_EIGHTH * far, far < TAN_EIGHTH * sine);
    let over = if low { sine } else { sine - far };
    let over = if high { -far } else { over };
    let under = if low { far } else { sine + far };
    let under = if high { sine } else { under };
    let from = if low { 0.0 } else { FRAC_PI_4 };
    let from = if high { FRAC_PI_2 } else { from };
    let x = over / under;
    let square = x * x;
    let sum = ARC_TANGENT.iter().rev().fold(0.0, |sum, c| sum * square + c);
    let acute = from + x * sum;
    // Nothing has no direction.
    let acute = if under > 0.0 { acute } else { 0.0 };
    if cosine < 0.0 { PI - acute } else { acute }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_are_those_of_the_library() {
        for i in 0..=100_000 {
            let (sine, cosine) = (std::f64::consts::PI * f64::from(i) / 100_000.0).sin_cos();
            for length in [1.0, 1e-30, 1e30] {
                let (sine, cosine) = (sine.abs() * length, cosine * length);
                assert!((arc(sine, cosine) - sine.atan2(cosine)).abs() < 1e-13, "{i}");
            }
        }
        assert_eq!([arc(0.0, 0.0), arc(0.0, 1.0)], [0.0, 0.0]);
        assert_eq!(arc(0.0, -1.0), std::f64::consts::PI);
    }

    #[test]
    fn angles_are_those_of_the_library() {
        for i in 0..=100_000 {
            let cosine = (std::f64::consts::PI * f64::from(i) / 100_000.0).cos() as f32;
            let exact = f64::from(cosine).acos();
            assert!((f64::from(arc_cosine(cosine)) - exact).abs() < 4e-7, "{cosine}");
        }
        let near: f32 = 1.0 - 1.0 / (1 << 20) as f32;
        let exact = f64::from(near).acos();
        assert!((f64::from(arc_cosine(near)) / exact - 1.0).abs() < 1e-6);
        assert_eq!(arc_cosine(1.0), 0.0);
    }
}
