//! Skinning: moves points by joints, with linear blending, dual quaternions or a blend of both, and rotates
//! normals by the transforms that move their points.

use crate::dual_quaternion::{self, DualJoint};
use crate::trs;
use glam::{DAffine3, DMat3, DMat4, DVec3};
use std::sync::Arc;

/// Joints and weights of points, the same number for each point.
pub struct Influences {
    /// Number of influences of each point.
    pub per_point: usize,
    /// Indices of joints, `per_point` for each point.
    pub joint: Arc<[u16]>,
    /// The weights of these joints; 0 for none.
    pub weight: Arc<[f32]>,
    /// For each point, the share of dual quaternion skinning (0..=1); empty if all skinning is linear.
    pub dual: Arc<[f32]>,
}

/// The transforms of all joints at one time.
pub struct JointPose {
    /// Maps points from the bind pose to their posed positions, one per joint.
    matrices: Vec<DMat4>,
    dual: Option<DualPose>,
}

/// The same transforms in the space of the skeleton, as dual quaternions.
struct DualPose {
    to_skeleton: DMat4,
    joints: Vec<DualJoint>,
    from_skeleton: DMat4,
}

impl JointPose {
    /// Makes a pose from transforms in the space of the bound points, one per joint.
    pub fn new(matrices: Vec<DMat4>, influences: &Influences) -> JointPose {
        let dual = (!influences.dual.is_empty()).then(|| {
            let joints = matrices.iter().map(DualJoint::from_matrix).collect();
            DualPose { to_skeleton: DMat4::IDENTITY, joints, from_skeleton: DMat4::IDENTITY }
        });
        JointPose { matrices, dual }
    }

    /// Makes a pose from joint transforms in the space of a skeleton, into which `into` maps points and from
    /// which `out_of` maps them back; the rotations are blended as OpenUSD does.
    pub fn dual_quaternion(into: DMat4, joints: &[DMat4], out_of: DMat4) -> JointPose {
        let matrices = joints.iter().map(|joint| out_of * *joint * into).collect();
        let joints = joints.iter().map(DualJoint::from_matrix_unless_flat).collect();
        JointPose { matrices, dual: Some(DualPose { to_skeleton: into, joints, from_skeleton: out_of }) }
    }
}

impl Influences {
    fn points(&self) -> std::ops::Range<usize> {
        0..self.joint.len() / self.per_point.max(1)
    }

    /// Returns the joints and weights of a point whose weight is above 0.
    fn point_influences(&self, point: usize) -> impl Iterator<Item = (usize, f64)> + Clone {
        let own = point * self.per_point..(point + 1) * self.per_point;
        let joints = self.joint.get(own.clone()).unwrap_or_default();
        let weights = self.weight.get(own).unwrap_or_default();
        let all = joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        all.map(|(joint, weight)| (usize::from(*joint), f64::from(*weight)))
    }

    /// Returns a point's share of dual quaternion skinning, and the transform that this gives.
    fn dual_transform(&self, point: usize, pose: &JointPose) -> Option<(f64, DAffine3)> {
        let part = self.dual.get(point).copied().filter(|part| *part > 0.0)?;
        let pose = pose.dual.as_ref()?;
        let moved = DMat4::from(dual_quaternion::blended(&pose.joints, self.point_influences(point))?);
        Some((f64::from(part), DAffine3::from_mat4(pose.from_skeleton * moved * pose.to_skeleton)))
    }

    /// Returns the posed position of a point bound at `at`, or `at` itself if no joint has weight there.
    pub fn posed_point(&self, point: usize, at: DVec3, pose: &JointPose) -> DVec3 {
        let (mut sum, mut total) = (DVec3::ZERO, 0.0);
        for (joint, weight) in self.point_influences(point) {
            let moved = pose.matrices.get(joint).map(|m| m.transform_point3(at));
            sum += moved.unwrap_or(at) * weight;
            total += weight;
        }
        let linear = if total > 0.0 { sum / total } else { at };
        match self.dual_transform(point, pose) {
            Some((part, moved)) => linear.lerp(moved.transform_point3(at), part),
            None => linear,
        }
    }

    /// Returns the matrix that normals at a point are multiplied with, up to scale; `None` if no joint has
    /// weight there.
    fn normal_matrix(&self, point: usize, pose: &JointPose) -> Option<DMat3> {
        let (mut sum, mut any) = (DMat3::ZERO, false);
        for (joint, weight) in self.point_influences(point) {
            sum += pose.matrices.get(joint).map_or(DMat3::IDENTITY, |m| DMat3::from_mat4(*m)) * weight;
            any = true;
        }
        if let Some((part, moved)) = self.dual_transform(point, pose) {
            sum = sum * (1.0 - part) + moved.matrix3 * part;
        }
        any.then(|| trs::cofactors(&sum))
    }
}

/// Normals in the bind pose, and the point that each belongs to.
pub struct BindNormals {
    /// The normals.
    pub values: Vec<[f32; 3]>,
    /// For each normal, the index of its point.
    pub point: Vec<u32>,
}

impl BindNormals {
    /// Computes all normals, of unit length: the offset of their point is added, and the inverse transpose of
    /// the point's transform applied. `offsets` has one entry per point, or is empty.
    pub fn posed(&self, offsets: &[DVec3], skin: Option<(&Influences, &JointPose)>, out: &mut Vec<[f32; 3]>) {
        // One matrix per point, since several normals may share it.
        let turn = |(own, pose): (&Influences, &JointPose)| {
            own.points().map(|point| own.normal_matrix(point, pose)).collect()
        };
        let turns: Vec<Option<DMat3>> = skin.map_or(Vec::new(), turn);
        out.clear();
        out.extend(self.values.iter().zip(&self.point).map(|(normal, point)| {
            let point = *point as usize;
            let offset = offsets.get(point).copied().unwrap_or(DVec3::ZERO);
            let normal = DVec3::from_array(normal.map(f64::from)) + offset;
            let turned = turns.get(point).copied().flatten().map_or(normal, |turn| turn * normal);
            turned.normalize_or_zero().to_array().map(|v| v as f32)
        }));
    }
}
