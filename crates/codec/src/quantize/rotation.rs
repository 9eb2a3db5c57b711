//! Rotations as integers: prediction between quaternions, small turns, angles. The same bits on every
//! machine.
//!
//! ```text
//! quaternion  x y z w, each i32 in 2⁻³⁰            angle  i32, a full turn is 2³²: it wraps as angles do
//! turn        y = tan(φ/4)·axis, each i32 in 2⁻³⁰: (1 − y², 2y) is the quaternion of a rotation by φ, not of unit length
//! ```
//!
//! A turn by modified Rodrigues parameters needs no sine, and has no singularity within a full turn; a
//! product is normalized by one integer square root and one division. So a rotation is coded in a chart
//! around its own prediction, which handles spins, flips and gimbal poses.
//!
//! Credit: T. F. Wiener, *Theoretical analysis of gimballess inertial reference equipment*, 1962 (the
//! parameters); K. Shoemake, *Animating rotation with quaternion curves*, 1985.

/// A quaternion x y z w in 2⁻³⁰.
pub type Quaternion = [i32; 4];

/// One, in 2⁻³⁰. Part of the format, like everything in this file.
pub const ONE: i32 = 1 << 30;
/// The identity rotation.
pub const IDENTITY: Quaternion = [0, 0, 0, ONE];

/// Returns a · b, normalized; `b` is in 2⁻²⁸ and of any length up to 4. `None` if the product is too short.
#[inline]
fn product(a: Quaternion, b: [i64; 4]) -> Option<Quaternion> {
    let [ax, ay, az, aw] = a;
    let (ax, ay, az, aw) = (i64::from(ax), i64::from(ay), i64::from(az), i64::from(aw));
    let [bx, by, bz, bw] = b;
    normalise([
        (aw * bx + ax * bw + ay * bz - az * by) >> 30,
        (aw * by - ax * bz + ay * bw + az * bx) >> 30,
        (aw * bz + ax * by - ay * bx + az * bw) >> 30,
        (aw * bw - ax * bx - ay * by - az * bz) >> 30,
    ])
}

/// Normalizes; the sum of squares must fit 64 bits. `None` if the quaternion is too short to have a
/// direction.
#[inline]
fn normalise(q: [i64; 4]) -> Option<Quaternion> {
    let n = q.iter().map(|v| v.unsigned_abs() * v.unsigned_abs()).sum::<u64>();
    let length = integer_sqrt(n);
    if length < 1 << 20 {
        return None;
    }
    let inverse = ((1u64 << 61) / length) as i64;
    let mut out = [0; 4];
    for (out, v) in out.iter_mut().zip(q) {
        let unit = (v * inverse) >> 31;
        *out = unit.clamp(i64::from(-ONE), i64::from(ONE)) as i32;
    }
    Some(out)
}

/// Returns ⌊√n⌋ for n < 2⁶⁴ − 2³³. The square root of IEEE 754 is exact to half a unit, so this is the same
/// everywhere.
#[inline]
fn integer_sqrt(n: u64) -> u64 {
    // Most values fit 63 bits, which machines convert in one step.
    let mut r = match i64::try_from(n) {
        Ok(n) => (n as f64).sqrt() as i64 as u64,
        Err(_) => (n as f64).sqrt() as u64,
    };
    if r * r > n {
        r -= 1;
    } else if (r + 1) * (r + 1) <= n {
        r += 1;
    }
    r
}

/// Returns the rotation `from` followed by the turn `y`, whose components are clamped to ±1.
#[inline]
pub fn apply_turn(from: Quaternion, y: [i64; 3]) -> Quaternion {
    let one = i64::from(ONE);
    let [x, y, z] = y;
    let y = [x.clamp(-one, one), y.clamp(-one, one), z.clamp(-one, one)];
    let square = (y[0] * y[0] + y[1] * y[1] + y[2] * y[2]) >> 32;
    let b = [y[0] >> 1, y[1] >> 1, y[2] >> 1, (1 << 28) - square];
    product(from, b).unwrap_or(from)
}

/// Returns the weighted sum of up to four rotations, with weights in 2⁻¹⁶ that add up to 2¹⁶; the first two
/// are the nearest in time, and the other two lie beyond the first and beyond the second. Not of unit length:
/// [`apply_turn`] normalizes.
#[inline]
pub fn weighted_sum(q: &[Quaternion], weights: &[i32]) -> Quaternion {
    let Some(&first) = q.first() else {
        return IDENTITY;
    };
    let mut sum = [0i64; 4];
    let mut signs = [1i64; 4];
    for (i, (q_i, &weight)) in q.iter().zip(weights).enumerate() {
        // q and −q are the same rotation: takes the one nearer to its neighbour in time.
        let beside = if i == 3 { 1 } else { 0 };
        let sign = if i > 0 && dot(*q_i, q[beside]) < 0 { -signs[beside] } else { signs[beside] };
        signs[i] = sign;
        for (s, &v) in sum.iter_mut().zip(q_i) {
            *s += sign * i64::from(weight) * i64::from(v);
        }
    }
    let (mut out, mut most) = (first, 0);
    for (out, v) in out.iter_mut().zip(sum) {
        *out = (v >> 16) as i32;
        most = most.max((v >> 16).unsigned_abs());
    }
    // Opposite rotations cancel out; far extrapolation exceeds the range.
    if !(1 << 26..3 << 29).contains(&most) {
        return first;
    }
    out
}

#[inline]
fn dot(a: Quaternion, b: Quaternion) -> i64 {
    let at = |i: usize| i64::from(a[i]) * i64::from(b[i]);
    // Each product is at most 2⁶⁰: no overflow.
    at(0) + at(1) + at(2) + at(3)
}

/// Returns sine and cosine of half the angle `turn`·2π/2³², by polynomials that are exact to 1e-11, without
/// functions of the platform.
#[inline]
pub fn half_sine_cosine(turn: i32) -> (f64, f64) {
    // Within ±π/2.
    let a = f64::from(turn) * (std::f64::consts::PI / 4_294_967_296.0);
    let s = a * a;
    let sine = a
        * (1.0
            + s * (-1.0 / 6.0
                + s * (1.0 / 120.0
                    + s * (-1.0 / 5040.0
                        + s * (1.0 / 362_880.0
                            + s * (-1.0 / 39_916_800.0
                                + s * (1.0 / 6_227_020_800.0 + s * (-1.0 / 1_307_674_368_000.0))))))));
    let cosine = 1.0
        + s * (-0.5
            + s * (1.0 / 24.0
                + s * (-1.0 / 720.0
                    + s * (1.0 / 40_320.0
                        + s * (-1.0 / 3_628_800.0
                            + s * (1.0 / 479_001_600.0
                                + s * (-1.0 / 87_178_291_200.0 + s * (1.0 / 20_922_789_888_000.0))))))));
    (sine, cosine)
}

/// Returns the product of two quaternions x y z w in f64: the same bits everywhere, as nothing is fused.
#[inline]
pub fn multiply(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    [
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ]
}

/// Returns the rotation about a unit axis by `turn`.
#[inline]
pub fn from_axis_turn(axis: [f64; 3], turn: i32) -> [f64; 4] {
    let (sine, cosine) = half_sine_cosine(turn);
    [axis[0] * sine, axis[1] * sine, axis[2] * sine, cosine]
}

/// Converts from 2⁻³⁰ to f64.
#[inline]
pub fn to_f64(q: Quaternion) -> [f64; 4] {
    q.map(|v| f64::from(v) * (1.0 / 1_073_741_824.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from_axis_angle(axis: [f64; 3], angle: f64) -> Quaternion {
        let n = axis.iter().map(|v| v * v).sum::<f64>().sqrt();
        let (s, c) = (angle / 2.0).sin_cos();
        let unit = |v: f64| (v * f64::from(ONE)).round() as i32;
        [unit(axis[0] / n * s), unit(axis[1] / n * s), unit(axis[2] / n * s), unit(c)]
    }

    fn rotation_angle(a: Quaternion, b: Quaternion) -> f64 {
        let (a, b) = (to_f64(a), to_f64(b));
        let inverse = [-a[0], -a[1], -a[2], a[3]];
        let d = multiply(inverse, b);
        2.0 * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt().atan2(d[3].abs())
    }

    fn turn(axis: [f64; 3], angle: f64) -> [i64; 3] {
        let n = axis.iter().map(|v| v * v).sum::<f64>().sqrt();
        axis.map(|v| (v / n * (angle / 4.0).tan() * f64::from(ONE)).round() as i64)
    }

    #[test]
    fn golden() {
        assert_eq!(apply_turn(IDENTITY, [0; 3]), IDENTITY);
        // y = 2⁻¹⁰: x = 2y/(1 + y²), w = (1 − y²)/(1 + y²).
        let small = apply_turn(IDENTITY, [1 << 20, 0, 0]);
        assert_eq!(small, [(1 << 21) - 2, 0, 0, (1 << 30) - (1 << 11)]);
        // A turn beyond the chart is clamped, not wrapped.
        assert_eq!(apply_turn(IDENTITY, [i64::MAX, 0, 0]), apply_turn(IDENTITY, [1 << 30, 0, 0]));
        assert_eq!(weighted_sum(&[], &[]), IDENTITY);
        // Opposite rotations have no mean: the first is taken.
        let flip = [ONE, 0, 0, 0];
        assert_eq!(weighted_sum(&[IDENTITY, [0, 0, 0, -ONE]], &[1 << 15, 1 << 15]), IDENTITY);
        assert!(rotation_angle(weighted_sum(&[IDENTITY, flip], &[1 << 15, 1 << 15]), IDENTITY) < 4.0);
    }

    #[test]
    fn sines_are_exact_enough() {
        for i in 0..=1000 {
            let turn = (i64::from(i32::MIN) + i * ((1i64 << 32) - 1) / 1000) as i32;
            let a = f64::from(turn) * std::f64::consts::PI / 4_294_967_296.0;
            let (s, c) = half_sine_cosine(turn);
            assert!((s - a.sin()).abs() < 1e-10 && (c - a.cos()).abs() < 1e-10, "{a}");
        }
    }

    proptest! {
        #[test]
        fn turns_are_what_they_say(a in any::<[i16; 3]>(), b in any::<[i16; 3]>(), first in -6.2f64..6.2, second in -3.1f64..3.1) {
            let axis = |v: [i16; 3]| v.map(|v| f64::from(v) + 0.5);
            let from = from_axis_angle(axis(a), first);
            let to = apply_turn(from, turn(axis(b), second));
            prop_assert!((rotation_angle(from, to) - second.abs()).abs() < 2e-8);
            let n: f64 = to_f64(to).iter().map(|v| v * v).sum();
            prop_assert!((n - 1.0).abs() < 2e-8);
        }

        #[test]
        fn steady_turns_are_predicted_exactly(axis in any::<[i16; 3]>(), from in -3.0f64..3.0, step in -0.7f64..0.7) {
            let axis = axis.map(|v| f64::from(v) + 0.5);
            let at = |i: f64| from_axis_angle(axis, from + i * step);
            let negative = |q: Quaternion| q.map(|v| -v);
            let taps = [at(-1.0), negative(at(1.0)), negative(at(-3.0)), at(3.0)];
            let got = apply_turn(weighted_sum(&taps, &[36864, 36864, -4096, -4096]), [0; 3]);
            prop_assert!(rotation_angle(got, at(0.0)) < 2e-8, "{}", rotation_angle(got, at(0.0)));
        }

        #[test]
        fn anything_is_survived(q in any::<[[i32; 4]; 4]>(), w in any::<[i16; 4]>(), y in any::<[i64; 3]>()) {
            let q = q.map(|q| q.map(|v| v.clamp(-ONE, ONE)));
            let mix = weighted_sum(&q, &w.map(i32::from));
            let out = apply_turn(mix, y);
            prop_assert!(out.iter().all(|v| (-ONE..=ONE).contains(v)));
        }
    }
}
