//! Linear blend skinning: points as joints move them, and normals by what moves their points.

use crate::trs;
use glam::{DMat3, DMat4, DVec3};
use std::sync::Arc;

/// Joints and weights of points, as many for each.
pub(crate) struct Influences {
    pub per_point: usize,
    pub joint: Arc<[u16]>,
    pub weight: Arc<[f32]>,
}

impl Influences {
    fn points(&self) -> std::ops::Range<usize> {
        0..self.joint.len() / self.per_point.max(1)
    }

    /// Those of a point that count.
    fn of(&self, point: usize) -> impl Iterator<Item = (usize, f64)> {
        let own = point * self.per_point..(point + 1) * self.per_point;
        let joints = self.joint.get(own.clone()).unwrap_or_default();
        let weights = self.weight.get(own).unwrap_or_default();
        let all = joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        all.map(|(joint, weight)| (usize::from(*joint), f64::from(*weight)))
    }

    /// Where the joints put a point that was bound at `at`: there, where none has it.
    pub fn moved(&self, point: usize, at: DVec3, matrices: &[DMat4]) -> DVec3 {
        let (mut sum, mut total) = (DVec3::ZERO, 0.0);
        for (joint, weight) in self.of(point) {
            let moved = matrices.get(joint).map(|m| m.transform_point3(at));
            sum += moved.unwrap_or(at) * weight;
            total += weight;
        }
        if total > 0.0 { sum / total } else { at }
    }

    /// What the normals at a point are multiplied with, but for their length; none where no joint has it.
    fn turn(&self, point: usize, matrices: &[DMat4]) -> Option<DMat3> {
        let (mut sum, mut any) = (DMat3::ZERO, false);
        for (joint, weight) in self.of(point) {
            sum += matrices.get(joint).map_or(DMat3::IDENTITY, |m| DMat3::from_mat4(*m)) * weight;
            any = true;
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
    pub fn moved(
        &self,
        offsets: &[DVec3],
        influences: Option<&Influences>,
        matrices: &[DMat4],
        out: &mut Vec<[f32; 3]>,
    ) {
        // One matrix for each point, which several normals may share.
        let turn = |own: &Influences| own.points().map(|point| own.turn(point, matrices)).collect();
        let turns: Vec<Option<DMat3>> = influences.map_or(Vec::new(), turn);
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
