//! Joints with one or two axes, found in their rotations: knees and elbows need one number per sample, wrists
//! and feet two.
//!
//! ```text
//! hinge      R = R₀·exp(a·u)             u: first principal axis of log(R₀⁻¹R)
//! two axes   R = R₀·exp(a·u)·exp(b·v)    then uᵀ(D − 1)v = 0 for all D = R₀⁻¹R: alternately the smallest eigenvector of the
//!                                        moments of (D − 1)v for u, and of (D − 1)ᵀu for v, from several starts
//! ```
//!
//! A fit counts only if every sample agrees with it to far below the tolerance.

use glam::{DMat3, DQuat, DVec3};
use meshreel_codec::clip::{Axis, Rotation, SmallestThree};

/// Samples that a fit looks at; all are checked.
const FITTED: usize = 48;

/// A fit with the smallest number of components such that no sample is further than `most` radians away.
pub fn fit(rotations: &[DQuat], most: f64) -> Rotation {
    let Some(&first) = rotations.first() else {
        return Rotation::Free;
    };
    let rest = SmallestThree::new(first.to_array());
    let base = DQuat::from_array(rest.float());
    let step = rotations.len().div_ceil(FITTED);
    let some: Vec<DQuat> =
        (rotations.iter().step_by(step)).chain(rotations.last()).map(|r| base.inverse() * *r).collect();
    let mut moments = DMat3::ZERO;
    for d in &some {
        let v = d.to_scaled_axis();
        moments += outer(v, v);
    }
    let (axes, _) = eigen(moments);
    let axis = Axis::new(axes[2].to_array());
    let u = DVec3::from_array(axis.float());
    let hinge = |r: &DQuat| {
        let d = base.inverse() * *r;
        let left = twist(d, u).inverse() * d;
        angle(left) <= most
    };
    if rotations.iter().all(hinge) {
        return Rotation::Hinge { rest, axis };
    }
    two_axes(rotations, base, rest, &some, axes, most).unwrap_or(Rotation::Free)
}

fn two_axes(
    rotations: &[DQuat],
    base: DQuat,
    rest: SmallestThree,
    some: &[DQuat],
    axes: [DVec3; 3],
    most: f64,
) -> Option<Rotation> {
    let matrices: Vec<DMat3> = some.iter().map(|d| DMat3::from_quat(*d) - DMat3::IDENTITY).collect();
    let starts = [axes[2], axes[1], axes[0], DVec3::X, DVec3::Y, DVec3::Z];
    let mut best: Option<(f64, DVec3, DVec3)> = None;
    for start in starts {
        let (mut u, mut v, mut rest) = (DVec3::X, start, f64::MAX);
        for _ in 0..24 {
            let moments = |side: &dyn Fn(&DMat3) -> DVec3| {
                matrices.iter().fold(DMat3::ZERO, |sum, m| {
                    let s = side(m);
                    sum + outer(s, s)
                })
            };
            let (axes, _) = eigen(moments(&|m| *m * v));
            u = axes[0];
            let (axes, values) = eigen(moments(&|m| m.transpose() * u));
            v = axes[0];
            if values[0] > rest * 0.98 {
                break;
            }
            rest = values[0];
        }
        if best.is_none_or(|(value, ..)| rest < value) {
            best = Some((rest, u, v));
        }
    }
    let (_, u, v) = best?;
    let (first, second) = (Axis::new(u.to_array()), Axis::new(v.to_array()));
    let (u, v) = (DVec3::from_array(first.float()), DVec3::from_array(second.float()));
    if u.cross(v).length() < 0.1 {
        return None;
    }
    let agrees = |r: &DQuat| {
        let d = base.inverse() * *r;
        let (a, b) = angles(d, u, v);
        let fitted = DQuat::from_axis_angle(u, a) * DQuat::from_axis_angle(v, b);
        angle(fitted.inverse() * d) <= most
    };
    rotations.iter().all(agrees).then_some(Rotation::TwoAxes { rest, first, second })
}

/// Angles of exp(a·u)·exp(b·v), nearest to `d`.
pub fn angles(d: DQuat, u: DVec3, v: DVec3) -> (f64, f64) {
    // The first turn alone takes v to where d takes it.
    let (from, to) = (v - u * u.dot(v), d * v);
    let to = to - u * u.dot(to);
    let a = u.dot(from.cross(to)).atan2(from.dot(to));
    let left = DQuat::from_axis_angle(u, -a) * d;
    (a, twist_angle(left, v))
}

/// The part of a rotation that turns about a unit axis.
pub fn twist(d: DQuat, axis: DVec3) -> DQuat {
    DQuat::from_axis_angle(axis, twist_angle(d, axis))
}

/// Its angle, within ±π.
pub fn twist_angle(d: DQuat, axis: DVec3) -> f64 {
    let half = axis.dot(d.xyz()).atan2(d.w);
    let angle = 2.0 * half;
    angle - std::f64::consts::TAU * (angle / std::f64::consts::TAU).round()
}

/// Angle of a rotation, exact for small ones.
pub fn angle(d: DQuat) -> f64 {
    2.0 * d.xyz().length().atan2(d.w.abs())
}

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// Eigenvectors and values of a symmetric matrix, rising.
fn eigen(m: DMat3) -> ([DVec3; 3], [f64; 3]) {
    let mut a = m.to_cols_array_2d();
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..10 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q].abs() <= (a[p][p].abs() + a[q][q].abs()) * 1e-16 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = f64::copysign(1.0, theta) / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for k in 0..3 {
                let (x, y) = (a[k][p], a[k][q]);
                (a[k][p], a[k][q]) = (c * x - s * y, s * x + c * y);
            }
            for k in 0..3 {
                let (x, y) = (a[p][k], a[q][k]);
                (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
                let (x, y) = (v[p][k], v[q][k]);
                (v[p][k], v[q][k]) = (c * x - s * y, s * x + c * y);
            }
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]));
    (order.map(|i| DVec3::from_array(v[i])), order.map(|i| a[i][i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hinges_and_two_axes_are_found_and_free_ones_are_not() {
        let rest = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -1.0).normalize(), 1.1);
        let (u, v) = (DVec3::new(0.3, 1.0, 0.2).normalize(), DVec3::new(1.0, -0.4, 0.1).normalize());
        let at = |i: usize| ((i as f64 * 0.13).sin() * 1.2, (i as f64 * 0.29).cos() * 0.8);
        let hinge: Vec<_> = (0..200).map(|i| rest * DQuat::from_axis_angle(u, at(i).0)).collect();
        assert!(matches!(fit(&hinge, 1e-5), Rotation::Hinge { .. }));
        let two: Vec<_> = (0..200)
            .map(|i| rest * DQuat::from_axis_angle(u, at(i).0) * DQuat::from_axis_angle(v, at(i).1))
            .collect();
        assert!(matches!(fit(&two, 1e-5), Rotation::TwoAxes { .. }));
        let free: Vec<_> = (0..200)
            .map(|i| two[i] * DQuat::from_axis_angle(DVec3::Z, (i as f64 * 0.41).sin() * 0.3))
            .collect();
        assert_eq!(fit(&free, 1e-5), Rotation::Free);
    }
}
