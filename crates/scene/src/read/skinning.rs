//! Skinning: points as joints move them, blended linearly, by dual quaternions or by both; and normals by what moves
//! their points.

use crate::dual::{self, DualJoint};
use crate::trs;
use glam::{DAffine3, DMat3, DMat4, DVec3};
use std::sync::Arc;

/// Joints and weights of points, as many for each.
pub(crate) struct Influences {
    pub per_point: usize,
    pub joint: Arc<[u16]>,
    pub weight: Arc<[f32]>,
    /// Of each point the part that dual quaternions blend; none where all is linear.
    pub dual: Arc<[f32]>,
}

/// What joints do at a time.
pub(crate) struct Pose {
    /// From where points were bound to where they are.
    matrices: Vec<DMat4>,
    dual: Option<DualPose>,
}

/// The same in the space of the skeleton.
struct DualPose {
    into: DMat4,
    joints: Vec<DualJoint>,
    out_of: DMat4,
}

impl Pose {
    /// Joints that move points in the space that these were bound in.
    pub fn new(matrices: Vec<DMat4>, influences: &Influences) -> Pose {
        let dual = (!influences.dual.is_empty()).then(|| {
            let joints = matrices.iter().map(DualJoint::of).collect();
            DualPose { into: DMat4::IDENTITY, joints, out_of: DMat4::IDENTITY }
        });
        Pose { matrices, dual }
    }

    /// Joints of a skeleton's space, which `into` leads to and `out_of` away from; their rotations are blended, as
    /// OpenUSD does it.
    pub fn dual(into: DMat4, joints: &[DMat4], out_of: DMat4) -> Pose {
        let matrices = joints.iter().map(|joint| out_of * *joint * into).collect();
        let joints = joints.iter().map(DualJoint::unless_flat).collect();
        Pose { matrices, dual: Some(DualPose { into, joints, out_of }) }
    }
}

impl Influences {
    fn points(&self) -> std::ops::Range<usize> {
        0..self.joint.len() / self.per_point.max(1)
    }

    /// Those of a point that count.
    fn of(&self, point: usize) -> impl Iterator<Item = (usize, f64)> + Clone {
        let own = point * self.per_point..(point + 1) * self.per_point;
        let joints = self.joint.get(own.clone()).unwrap_or_default();
        let weights = self.weight.get(own).unwrap_or_default();
        let all = joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        all.map(|(joint, weight)| (usize::from(*joint), f64::from(*weight)))
    }

    /// The part of a point that dual quaternions blend, and what moves it by these.
    fn dual(&self, point: usize, pose: &Pose) -> Option<(f64, DAffine3)> {
        let part = self.dual.get(point).copied().filter(|part| *part > 0.0)?;
        let pose = pose.dual.as_ref()?;
        let moved = DMat4::from(dual::blended(&pose.joints, self.of(point))?);
        Some((f64::from(part), DAffine3::from_mat4(pose.out_of * moved * pose.into)))
    }

    /// Where the joints put a point that was bound at `at`: there, where none has it.
    pub fn moved(&self, point: usize, at: DVec3, pose: &Pose) -> DVec3 {
        let (mut sum, mut total) = (DVec3::ZERO, 0.0);
        for (joint, weight) in self.of(point) {
            let moved = pose.matrices.get(joint).map(|m| m.transform_point3(at));
            sum += moved.unwrap_or(at) * weight;
            total += weight;
        }
        let linear = if total > 0.0 { sum / total } else { at };
        match self.dual(point, pose) {
            Some((part, moved)) => linear.lerp(moved.transform_point3(at), part),
            None => linear,
        }
    }

    /// What the normals at a point are multiplied with, but for their length; none where no joint has it.
    fn turn(&self, point: usize, pose: &Pose) -> Option<DMat3> {
        let (mut sum, mut any) = (DMat3::ZERO, false);
        for (joint, weight) in self.of(point) {
            sum += pose.matrices.get(joint).map_or(DMat3::IDENTITY, |m| DMat3::from_mat4(*m)) * weight;
            any = true;
        }
        if let Some((part, moved)) = self.dual(point, pose) {
            sum = sum * (1.0 - part) + moved.matrix3 * part;
        }
        any.then(|| trs::cofactors(&sum))
    }
}

/// Normals as they were bound, and the point that each belongs to.
pub(crate) struct Normals {
    pub values: Vec<[f32; 3]>,
    pub point: Vec<u32>,
}

impl Normals {
    /// All of them, of unit length: with the offset of their point added, by the inverse transpose of what moves
    /// it. `offsets`: one for each point, or none at all.
    pub fn moved(&self, offsets: &[DVec3], skin: Option<(&Influences, &Pose)>, out: &mut Vec<[f32; 3]>) {
        // One matrix for each point, which several normals may share.
        let turn =
            |(own, pose): (&Influences, &Pose)| own.points().map(|point| own.turn(point, pose)).collect();
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
