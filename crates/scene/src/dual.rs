//! Dual quaternion skinning: what several joints do to a point is blended as rotations and translations, so that a
//! limb that turns keeps its thickness. What joints stretch is blended linearly, before they turn and move it.
//!
//! Credit: Ladislav Kavan, Steven Collins, Jiří Žára and Carol O'Sullivan, "Skinning with dual quaternions", 2007.

use crate::trs;
use glam::{DAffine3, DMat3, DMat4, DQuat, DVec3};

const ZERO: DQuat = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);

/// A joint's matrix: a symmetric stretch, and behind it a rotation and a translation as a dual quaternion.
#[derive(Clone, Copy, Debug)]
pub struct DualJoint {
    real: DQuat,
    dual: DQuat,
    stretch: DMat3,
}

impl DualJoint {
    /// Of an affine matrix; one that mirrors has a stretch that does.
    pub fn of(matrix: &DMat4) -> DualJoint {
        let (outer, inner, axes) = trs::sheared(matrix, DMat3::IDENTITY);
        let real = (outer.rotation * inner).normalize();
        let DVec3 { x, y, z } = outer.translation * 0.5;
        let stretch = axes * DMat3::from_diagonal(outer.scale) * axes.transpose();
        DualJoint { real, dual: DQuat::from_xyzw(x, y, z, 0.0) * real, stretch }
    }

    /// The same as OpenUSD has it: a matrix that makes something smaller than 1/100,000 has no part in rotations and
    /// translations, and stretches nothing.
    pub(crate) fn unless_flat(matrix: &DMat4) -> DualJoint {
        let (outer, ..) = trs::sheared(matrix, DMat3::IDENTITY);
        match outer.scale.abs().min_element() < 1e-5 {
            true => DualJoint { real: ZERO, dual: ZERO, stretch: DMat3::IDENTITY },
            false => DualJoint::of(matrix),
        }
    }
}

/// What moves a point that these joints move, by numbers of `joints` and their weights; none where none does.
pub fn blended(joints: &[DualJoint], own: impl Iterator<Item = (usize, f64)> + Clone) -> Option<DAffine3> {
    let own = own.filter_map(|(number, weight)| Some((joints.get(number)?, weight)));
    // Rotations are taken the short way round from that of the joint that weighs most, the first of several.
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
        blended(&[DualJoint::of(&matrix)], [(0, 1.0)].into_iter()).unwrap()
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
        // The same rotation said with the other sign, too.
        let half = DMat4::from_axis_angle(DVec3::X, 3.0);
        let far = DMat4::from_axis_angle(DVec3::X, -3.0) * DMat4::from_scale(DVec3::splat(3.0));
        let joints = [DualJoint::of(&half), DualJoint::of(&far)];
        let moved = blended(&joints, [(0, 0.5), (1, 0.5)].into_iter()).unwrap();
        let at = moved.transform_point3(DVec3::Y);
        assert!(at.distance(DVec3::new(0.0, -2.0, 0.0)) < 1e-9, "{at}");
        assert!(blended(&joints, [(7, 1.0)].into_iter()).is_none());
    }
}
