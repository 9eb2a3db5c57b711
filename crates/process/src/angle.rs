//! Arc cosines from a polynomial: several times as fast as those of a mathematical library, and, unlike
//! those, the same bits on every machine.

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

#[cfg(test)]
mod tests {
    use super::*;

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
