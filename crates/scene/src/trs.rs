//! Matrices as translation, rotation and scale. A matrix with shear takes two such transforms: `M = T · U · D
//! · Vᵀ` by its singular values, U and V rotations, D a scale.

use crate::transform::Qvv;
use glam::{DMat3, DMat4, DQuat, DVec3};

/// Largest deviation of a transform without shear, relative to the size of the matrix: the rounding of
/// exporters that compute in 32 bits.
const TOLERANCE: f64 = 2e-6;

/// Returns the transform of a matrix that has no shear; `None` for others.
pub fn decompose(m: &DMat4) -> Option<Qvv> {
    let linear = DMat3::from_mat4(*m);
    let mut scale = DVec3::new(linear.x_axis.length(), linear.y_axis.length(), linear.z_axis.length());
    let size = scale.max_element();
    let axis = |v: DVec3, s: f64| (s > size * 1e-12).then(|| v / s);
    let mut axes = complete_axes([
        axis(linear.x_axis, scale.x),
        axis(linear.y_axis, scale.y),
        axis(linear.z_axis, scale.z),
    ]);
    if axes.determinant() < 0.0 {
        axes.x_axis = -axes.x_axis;
        scale.x = -scale.x;
    }
    let rotation = DQuat::from_mat3(&axes).normalize();
    let back = DMat3::from_quat(rotation) * DMat3::from_diagonal(scale);
    let error = (0..3).map(|i| (back.col(i) - linear.col(i)).length()).fold(0.0, f64::max);
    let translation = m.w_axis.truncate();
    (error <= TOLERANCE * size).then_some(Qvv { translation, rotation, scale })
}

/// Returns the matrix that transforms normals: the inverse transpose times the absolute determinant, which
/// exists for every matrix.
pub fn cofactors(m: &DMat3) -> DMat3 {
    let (x, y, z) = (m.x_axis, m.y_axis, m.z_axis);
    let sign = if m.determinant() < 0.0 { -1.0 } else { 1.0 };
    DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y)) * sign
}

/// Returns a transform near a matrix with shear: its first axis and the plane of the first two keep their
/// directions, and all axes their lengths.
pub fn nearest_without_shear(m: &DMat4) -> Qvv {
    let linear = DMat3::from_mat4(*m);
    let lengths = [linear.x_axis, linear.y_axis, linear.z_axis].map(DVec3::length);
    let mut scale = DVec3::from_array(lengths);
    let size = scale.max_element();
    let part = |v: DVec3| (v.length() > size * 1e-12).then(|| v.normalize());
    let x = part(linear.x_axis);
    let along = |v: DVec3, axis: Option<DVec3>| axis.map_or(DVec3::ZERO, |a| a * a.dot(v));
    let y = part(linear.y_axis - along(linear.y_axis, x));
    let z = part(linear.z_axis - along(linear.z_axis, x) - along(linear.z_axis, y));
    let mut axes = complete_axes([x, y, z]);
    if axes.determinant() < 0.0 {
        axes.x_axis = -axes.x_axis;
        scale.x = -scale.x;
    }
    Qvv { rotation: DQuat::from_mat3(&axes).normalize(), translation: m.w_axis.truncate(), scale }
}

/// Splits any matrix into an outer transform (T, U, D) and an inner rotation (Vᵀ). Of the equally good splits
/// it returns the one whose V is nearest to `near`, so that a sequence of matrices gives a steady sequence.
pub fn split_shear(m: &DMat4, near: DMat3) -> (Qvv, DQuat, DMat3) {
    let linear = DMat3::from_mat4(*m);
    let v = align_axes(eigenvectors(linear.transpose() * linear), near);
    let stretched = linear * v;
    let sign = if linear.determinant() < 0.0 { -1.0 } else { 1.0 };
    let scale = DVec3::from_array(std::array::from_fn(|i| stretched.col(i).length() * sign));
    let size = scale.abs().max_element();
    let u = complete_axes(std::array::from_fn(|i| {
        (scale[i].abs() > size * 1e-9).then(|| stretched.col(i) / scale[i])
    }));
    let outer = Qvv { translation: m.w_axis.truncate(), rotation: DQuat::from_mat3(&u).normalize(), scale };
    (outer, DQuat::from_mat3(&v.transpose()).normalize(), v)
}

/// Completes the known axes to three at right angles; right-handed if at least one is missing.
fn complete_axes(axes: [Option<DVec3>; 3]) -> DMat3 {
    let [x, y, z] = match axes {
        [Some(x), Some(y), Some(z)] => [x, y, z],
        [None, Some(y), Some(z)] => [y.cross(z).normalize_or(y.any_orthonormal_vector()), y, z],
        [Some(x), None, Some(z)] => [x, z.cross(x).normalize_or(x.any_orthonormal_vector()), z],
        [Some(x), Some(y), None] => [x, y, x.cross(y).normalize_or(x.any_orthonormal_vector())],
        [Some(x), None, None] => {
            let (y, z) = x.any_orthonormal_pair();
            [x, y, z]
        }
        [None, Some(y), None] => {
            let (z, x) = y.any_orthonormal_pair();
            [x, y, z]
        }
        [None, None, Some(z)] => {
            let (x, y) = z.any_orthonormal_pair();
            [x, y, z]
        }
        [None, None, None] => [DVec3::X, DVec3::Y, DVec3::Z],
    };
    DMat3::from_cols(x, y, z)
}

/// Returns the eigenvectors of a symmetric matrix, by Jacobi rotations.
fn eigenvectors(mut s: DMat3) -> DMat3 {
    let mut v = DMat3::IDENTITY;
    for _ in 0..12 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let off = s.col(q)[p];
            if off.abs() <= f64::MIN_POSITIVE {
                continue;
            }
            let theta = (s.col(q)[q] - s.col(p)[p]) / (2.0 * off);
            let t = if theta == 0.0 { 1.0 } else { theta.signum() / (theta.abs() + theta.hypot(1.0)) };
            let c = 1.0 / t.hypot(1.0);
            let mut rotation = DMat3::IDENTITY;
            rotation.col_mut(p)[p] = c;
            rotation.col_mut(q)[q] = c;
            rotation.col_mut(q)[p] = t * c;
            rotation.col_mut(p)[q] = -t * c;
            s = rotation.transpose() * s * rotation;
            v *= rotation;
        }
    }
    v
}

/// Returns the axes `v` in the order and with the signs that are nearest to `near` and make a rotation.
fn align_axes(v: DMat3, near: DMat3) -> DMat3 {
    let mut best = (f64::NEG_INFINITY, v);
    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]] {
        for signs in 0..8 {
            let sign = |i: usize| if signs >> i & 1 == 1 { -1.0 } else { 1.0 };
            let other = DMat3::from_cols(
                v.col(order[0]) * sign(0),
                v.col(order[1]) * sign(1),
                v.col(order[2]) * sign(2),
            );
            let fit: f64 = (0..3).map(|i| other.col(i).dot(near.col(i))).sum();
            if other.determinant() > 0.0 && fit > best.0 {
                best = (fit, other);
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(a: &DMat4, b: &DMat4) -> f64 {
        (0..4).map(|i| (a.col(i) - b.col(i)).length()).fold(0.0, f64::max)
    }

    #[test]
    fn plain_transforms_come_back() {
        let rotation = DQuat::from_euler(glam::EulerRot::XYZ, 0.5, -1.2, 2.0);
        for scale in [
            DVec3::ONE,
            DVec3::new(2.0, 0.1, 30.0),
            DVec3::new(-1.0, 1.0, 1.0),
            DVec3::new(1.0, -2.0, 3.0),
            DVec3::new(-1.0, -2.0, -3.0),
            DVec3::new(0.0, 2.0, 1.0),
            DVec3::new(-1.0, 0.0, 0.0),
            DVec3::ZERO,
        ] {
            let m = DMat4::from_scale_rotation_translation(scale, rotation, DVec3::new(1.0, 2.0, 3.0));
            assert!(off(&DMat4::from(decompose(&m).unwrap().matrix()), &m) < 1e-12, "{scale}");
        }
    }

    #[test]
    fn shear_takes_two_nodes() {
        let mut near = DMat3::IDENTITY;
        let mut last: Option<DQuat> = None;
        for i in 0..100 {
            let a = f64::from(i) * 0.05;
            let shear = DMat4::from_scale(DVec3::new(1.0, 2.0, if i % 7 == 0 { -0.5 } else { 0.5 }))
                * DMat4::from_rotation_y(a.sin());
            let m = DMat4::from_translation(DVec3::X)
                * shear
                * DMat4::from_rotation_x(0.3)
                * DMat4::from_scale(DVec3::new(3.0, 1.0, 1.0));
            assert!(decompose(&m).is_none());
            let (outer, inner, v) = split_shear(&m, near);
            let back = DMat4::from(outer.matrix()) * DMat4::from_quat(inner);
            assert!(off(&back, &m) < 1e-9, "{i}: {}", off(&back, &m));
            if let Some(last) = last {
                assert!(last.angle_between(if last.dot(inner) < 0.0 { -inner } else { inner }) < 0.5);
            }
            (near, last) = (v, Some(inner));
        }
        let (outer, inner, _) = split_shear(
            &DMat4::from_cols_array(&[1., 0., 0., 0., 1., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 1.]),
            DMat3::IDENTITY,
        );
        assert!(
            (DMat4::from(outer.matrix()) * DMat4::from_quat(inner)).x_axis.abs_diff_eq(glam::DVec4::X, 1e-9)
        );
    }
}
