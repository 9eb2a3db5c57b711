//! Arc cosines and arc tangents from polynomials: several times as fast as those of a mathematical library,
//! and, unlike those, the same bits on every machine.

/// Coefficients of the arc cosine of x over √(1 − x), in powers of x, for 0 ≤ x ≤ 1.
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

/// Returns the arc cosine of a number within −1 … 1, in radians, to about the last digit of an `f32`.
#[inline(always)]
pub fn arc_cosine(cosine: f32) -> f32 {
    let x = cosine.abs();
    let sum = ARC_COSINE.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let acute = (1.0 - x).sqrt() * sum;
    if cosine < 0.0 { std::f32::consts::PI - acute } else { acute }
}

/// Coefficients of the arc tangent of x over x, in powers of x², for 0 ≤ x ≤ √2 − 1: interpolated at
/// Chebyshev nodes, off by at most 3·10⁻¹³.
const ARC_TANGENT: [f64; 8] = [
    0.999_999_999_999_270_9,
    -0.333_333_332_783_820_44,
    0.199_999_931_886_947_12,
    -0.142_853_912_531_359_54,
    0.111_035_348_129_832_94,
    -0.089_932_163_857_979_5,
    0.069_770_013_331_571_66,
    -0.037_701_670_540_938_73,
];

/// Returns the angle between 0 and π, in radians, of which these are the sine and the cosine, both times the
/// same factor; the sine must not be negative. Off by less than 10⁻¹². If both are 0, it is 0, or π if
/// the cosine is −0, as in mathematical libraries.
#[inline(always)]
pub fn angle_of(sine: f64, cosine: f64) -> f64 {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};
    let x = cosine.abs();
    let (less, more) = if sine <= x { (sine, x) } else { (x, sine) };
    // Beyond √2 − 1 the angle to π/4 is smaller.
    let far = less > (SQRT_2 - 1.0) * more;
    let (above, below) = if far { (less - more, less + more) } else { (less, more) };
    let tangent = above / if below > 0.0 { below } else { 1.0 };
    let square = tangent * tangent;
    let part = tangent * ARC_TANGENT.iter().rev().fold(0.0, |sum, c| sum * square + c);
    let acute = if far { part + FRAC_PI_4 } else { part };
    let angle = if sine <= x { acute } else { FRAC_PI_2 - acute };
    if cosine.is_sign_negative() { PI - angle } else { angle }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_of_sines_and_cosines_are_those_of_the_library() {
        for i in 0..=100_000 {
            let angle = std::f64::consts::PI * f64::from(i) / 100_000.0;
            let (sine, cosine) = (3.0 * angle.sin().max(0.0), 3.0 * angle.cos());
            assert!((angle_of(sine, cosine) - sine.atan2(cosine)).abs() < 1e-12, "{angle}");
        }
        assert_eq!([angle_of(0.0, 0.0), angle_of(0.0, 5.0)], [0.0; 2]);
        for (sine, cosine) in [(0.0, -1.0), (0.0, -0.0), (1e-300, 1e-300), (1e150, 0.0), (1e-9, 1.0)] {
            assert!((angle_of(sine, cosine) - f64::atan2(sine, cosine)).abs() < 1e-12 * sine.max(1.0));
        }
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
