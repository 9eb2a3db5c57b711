//! Joints and weights of the vertices of a mesh.

use crate::skins::{influences, to_bind_pose};
use meshreel_scene::{Error, Mesh, Skin};

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
        let of = |point: u32| influences(skin, point);
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
            to_bind_pose(mesh, skin, time, points, normals)?;
        }
        Ok(VertexInfluences { sets, has_fixed_joint })
    }
}
