//! Rotations between samples.

use glam::DQuat;

/// Interpolates between two rotations, the short way round. Quaternions are not normalized, as the format
/// defines, and neither is the angle between them: those of 16 bits or with few digits are not quite of unit
/// length.
pub fn slerp_unnormalized(from: DQuat, to: DQuat, fraction: f64) -> DQuat {
    let (cosine, to) = match from.dot(to) {
        cosine if cosine < 0.0 => (-cosine, -to),
        cosine => (cosine, to),
    };
    let (own, other) = match cosine < 1.0 - 1e-5 {
        true => {
            let angle = cosine.acos();
            (((1.0 - fraction) * angle).sin() / angle.sin(), (fraction * angle).sin() / angle.sin())
        }
        false => (1.0 - fraction, fraction),
    };
    from * own + to * other
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter turn in three digits, interpolated as by OpenUSD: its angle is not exactly a quarter.
    #[test]
    fn quaternions_are_taken_as_they_are() {
        let quarter = DQuat::from_xyzw(0.0, 0.0, 0.707, 0.707);
        let angle = |q: DQuat| 2.0 * q.z.atan2(q.w).to_degrees();
        let between = |to: DQuat| angle(slerp_unnormalized(DQuat::IDENTITY, to, 0.25));
        assert!((between(quarter) - 22.4977).abs() < 1e-3, "{}", between(quarter));
        assert!((between(-quarter) - between(quarter)).abs() < 1e-12);
        assert!(slerp_unnormalized(quarter, DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), 0.5).is_finite());
        assert!((angle(slerp_unnormalized(quarter, quarter, 0.5)) - 90.0).abs() < 1e-9);
    }
}
