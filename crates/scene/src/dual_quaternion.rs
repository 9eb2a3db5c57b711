//! Dual quaternion skinning: blends the rotations and translations of several joints, so that a limb that
//! turns keeps its thickness. Stretches are blended linearly, and applied before rotation and translation.
//!
//! Credit: Ladislav Kavan, Steven Collins, Jiří Žára and Carol O'Sullivan, "Skinning with dual quaternions",
//! 2007.

use crate::trs;
use glam::{DAffine3, DMat3, DMat4, DQuat, DVec3};

const ZERO: DQuat = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);

/// A joint's matrix as a symmetric stretch, followed by a rotation and translation as a dual quaternion.
#[derive(Clone, Copy, Debug)]
pub struct DualJoint {
    real: DQuat,
    dual: DQuat,
    stretch: DMat3,
}

impl DualJoint {
    /// Splits an affine matrix; the stretch of a matrix that mirrors mirrors too.
    pub fn from_matrix(matrix: &DMat4) -> DualJoint {
        let (outer, inner, axes) = trs::split_shear(matrix, DMat3::IDENTITY);
        let real = (outer.rotation * inner).normalize();
        let DVec3 { x, y, z } = outer.translation * 0.5;
        let stretch = axes * DMat3::from_diagonal(outer.scale) * axes.transpose();
        DualJoint { real, dual: DQuat::from_xyzw(x, y, z, 0.0) * real, stretch }
    }

    /// Like [`DualJoint::from_matrix`], with OpenUSD's exception: a matrix that scales below 1/100,000
    /// contributes no rotation or translation, and does not stretch.
    pub fn from_matrix_unless_flat(matrix: &DMat4) -> DualJoint {
        let (outer, ..) = trs::split_shear(matrix, DMat3::IDENTITY);
        match outer.scale.abs().min_element() < 1e-5 {
            true => DualJoint { real: ZERO, dual: ZERO, stretch: DMat3::IDENTITY },
            false => DualJoint::from_matrix(matrix),
        }
    }
}

/// Returns the transform of a point from its joints, given as index into `joints` and weight; `None` if there
/// are none.
pub fn blended(joints: &[DualJoint], own: impl Iterator<Item = (usize, f64)> + Clone) -> Option<DAffine3> {
    let own = own.filter_map(|(number, weight)| Some((joints.get(number)?, weight)));
    // Rotations take the shorter arc from that of the joint with the largest weight, the first if several.
    let (pivot, _) = own.clone().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let (mut real, mut dual, mut stretch, mut total) = (ZERO, ZERO, DMat3::ZERO, 0.0);
    for (joint, weight) in own {
        let signed = if joint.real.dot(pivot.real) < 0.0 { -weight } else { weight };
        real += joint.real * signed;
        dual += joint.dual * signed;
        stretch += joint.stretch * weight;
        total += weight;
    }
    let length = real.length();
    let (turn, dual) = if length > 0.0 { (real / length, dual / length) } else { (pivot.real, pivot.dual) };
    let translation = (dual * turn.conjugate()).xyz() * 2.0;
    Some(DAffine3 { matrix3: DMat3::from_quat(turn) * stretch * (1.0 / total), translation })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(matrix: DMat4) -> DAffine3 {
        blended(&[DualJoint::from_matrix(&matrix)], [(0, 1.0)].into_iter()).unwrap()
    }

    #[test]
    fn one_joint_moves_a_point_as_its_matrix_does() {
        let turn = DQuat::from_euler(glam::EulerRot::XYZ, 0.3, -2.0, 1.1);
        let place = DVec3::new(3.0, -4.0, 5.0);
        let mut sheared = DMat4::from_scale_rotation_translation(DVec3::new(1.0, 2.0, 0.5), turn, place);
        sheared.x_axis += sheared.y_axis * 0.7;
        let mirrored = DMat4::from_scale_rotation_translation(DVec3::new(-1.0, 2.0, 3.0), turn, place);
        let flat = DMat4::from_scale_rotation_translation(DVec3::new(1.0, 0.0, 3.0), turn, place);
        let gone = DMat4::from_scale_rotation_translation(DVec3::ZERO, turn, place);
        for matrix in [DMat4::IDENTITY, sheared, mirrored, flat, gone] {
            let own = DMat4::from(one(matrix));
            assert!(own.abs_diff_eq(matrix, 1e-9), "{own} {matrix}");
        }
    }

    #[test]
    fn half_way_between_two_rotations_nothing_gets_thinner() {
        // The same rotation with the other sign, too.
        let half = DMat4::from_axis_angle(DVec3::X, 3.0);
        let far = DMat4::from_axis_angle(DVec3::X, -3.0) * DMat4::from_scale(DVec3::splat(3.0));
        let joints = [DualJoint::from_matrix(&half), DualJoint::from_matrix(&far)];
        let moved = blended(&joints, [(0, 0.5), (1, 0.5)].into_iter()).unwrap();
        let at = moved.transform_point3(DVec3::Y);
        assert!(at.distance(DVec3::new(0.0, -2.0, 0.0)) < 1e-9, "{at}");
        assert!(blended(&joints, [(7, 1.0)].into_iter()).is_none());
    }
}
