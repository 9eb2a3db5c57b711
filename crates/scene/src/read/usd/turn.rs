//! Rotations between samples.

use glam::DQuat;

/// A rotation between two, the short way round. Quaternions are taken as they are, as the format has it: those
/// of 16 bits are not quite of unit length.
pub fn turn_between(from: DQuat, to: DQuat, fraction: f64) -> DQuat {
    let unit = |q: DQuat, length: f64| {
        if length > 0.0 && length.is_finite() { q / length } else { DQuat::IDENTITY }
    };
    let (a, b) = (from.length(), to.length());
    unit(from, a).slerp(unit(to, b), fraction) * (a + (b - a) * fraction)
}
