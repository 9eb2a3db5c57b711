//! Joints and weights of the vertices of a mesh.

use glam::{DMat3, DVec3};
use meshreel_scene::sample::pose_at;
use meshreel_scene::{Error, Mesh, Skin};

/// `true` if a skin is on a skeleton and has at most one pose of its own.
pub(super) fn is_rig(skin: &Skin) -> bool {
    skin.skeleton.is_some() && skin.pose.len() <= 1
}

/// Joints and weights of four influences.
type InfluenceSet = (Vec<[u16; 4]>, Vec<[f32; 4]>);

/// Joints and weights of the vertices of a mesh, four per set.
pub(super) struct VertexInfluences {
    /// One set per four influences.
    pub sets: Vec<InfluenceSet>,
    /// `true` if joint 0 is added as one that never moves, for vertices without joints; those of the skin
    /// follow.
    pub has_fixed_joint: bool,
}

impl VertexInfluences {
    /// `points`: the point of each vertex; `normals`: normals of the vertices at `time`, which are converted
    /// to those of the bind pose.
    pub fn new(
        mesh: &Mesh,
        skin: &Skin,
        time: f64,
        points: &[u32],
        normals: Option<&mut [[f32; 3]]>,
    ) -> Result<VertexInfluences, Error> {
        let k = skin.influences;
        let of = |point: u32| {
            let own = point as usize * k..(point as usize + 1) * k;
            let joints = skin.joint.get(own.clone()).unwrap_or_default();
            let weights = skin.weight.get(own).unwrap_or_default();
            (joints.iter().zip(weights)).filter(|(_, w)| **w > 0.0)
        };
        let has_fixed_joint = points.iter().any(|&p| of(p).next().is_none());
        let first = u16::from(has_fixed_joint);
        let most = points.iter().map(|&p| of(p).count()).max().unwrap_or(0);
        let mut sets: Vec<InfluenceSet> = Vec::new();
        for set in 0..most.div_ceil(4).max(1) {
            let (mut joints, mut weights) = (Vec::new(), Vec::new());
            for &point in points {
                let (mut j, mut w) = ([0; 4], [0.0; 4]);
                for (i, (joint, weight)) in of(point).skip(4 * set).take(4).enumerate() {
                    (j[i], w[i]) = (joint + first, *weight);
                }
                if set == 0 && of(point).next().is_none() {
                    w[0] = 1.0;
                }
                joints.push(j);
                weights.push(w);
            }
            sets.push((joints, weights));
        }
        if let Some(normals) = normals {
            let mut pose = Vec::new();
            match is_rig(skin) {
                true => skin.pose.read(0, &mut pose)?,
                false => pose_at(mesh, time, &mut pose).map(|_| ())?,
            }
            for (normal, &point) in normals.iter_mut().zip(points) {
                let mut blend = DMat3::ZERO;
                for (&joint, &w) in of(point) {
                    if let Some(m) = pose.get(usize::from(joint)) {
                        blend += DMat3::from_mat4(*m) * f64::from(w);
                    }
                }
                if of(point).next().is_some() {
                    // Inverts the inverse transpose.
                    let bound = blend.transpose() * DVec3::from_array(normal.map(f64::from));
                    let bound = bound.try_normalize().unwrap_or(DVec3::Z);
                    *normal = bound.to_array().map(|v| v as f32);
                }
            }
        }
        Ok(VertexInfluences { sets, has_fixed_joint })
    }
}
