//! Skins of meshes whose joints are their own: nodes below the mesh, as many as there are joints, each with
//! its matrices as an animation.

use super::Tree;
use super::clip::extras;
use super::rig::is_rig;
use crate::sample::pose_at;
use crate::{Error, Mesh, Skin};
use glam::{DMat3, DMat4, DVec3};
use gltf_json::{Index, Node};

/// Joints and weights of four influences.
type Set = (Vec<[u16; 4]>, Vec<[f32; 4]>);

/// How vertices hang on joints.
pub(super) struct Bound {
    /// One per four influences.
    pub sets: Vec<Set>,
    /// Joint 0 is one that never moves, for vertices that hang on none; those of the skin follow.
    pub still: bool,
}

impl Bound {
    /// Of vertices that are these points; their normals at `time` become those of the bind pose.
    pub fn new(
        mesh: &Mesh,
        skin: &Skin,
        time: f64,
        points: &[u32],
        normals: Option<&mut [[f32; 3]]>,
    ) -> Result<Bound, Error> {
        let k = skin.influences;
        let of = |point: u32| {
            let own = point as usize * k..(point as usize + 1) * k;
            let joints = skin.joint.get(own.clone()).unwrap_or_default();
            let weights = skin.weight.get(own).unwrap_or_default();
            (joints.iter().zip(weights)).filter(|(_, w)| **w > 0.0)
        };
        let still = points.iter().any(|&p| of(p).next().is_none());
        let first = u16::from(still);
        let most = points.iter().map(|&p| of(p).count()).max().unwrap_or(0);
        let mut sets: Vec<Set> = Vec::new();
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
                    // Undoes what the inverse transpose does to it.
                    let bound = blend.transpose() * DVec3::from_array(normal.map(f64::from));
                    let bound = bound.try_normalize().unwrap_or(DVec3::Z);
                    *normal = bound.to_array().map(|v| v as f32);
                }
            }
        }
        Ok(Bound { sets, still })
    }
}

impl Tree<'_> {
    /// Hangs the joints of a mesh below its node, and makes them its skin.
    pub(super) fn own_joints(
        &mut self,
        mesh: &Mesh,
        node: Index<Node>,
        skin: &Skin,
        still: bool,
    ) -> Result<(), Error> {
        let frames = self.meshes.times.len();
        let mut matrices: Vec<Vec<DMat4>> = vec![Vec::with_capacity(frames); skin.joints.len()];
        let mut pose = Vec::new();
        for i in 0..frames {
            pose_at(mesh, self.meshes.times[i], &mut pose)?;
            for (list, m) in matrices.iter_mut().zip(&pose) {
                list.push(*m);
            }
        }
        let mut joints = Vec::with_capacity(matrices.len() + 1);
        if still {
            let own = self.node("still");
            self.attach(Some(node), own, &mut Vec::new());
            joints.push(own);
        }
        for (number, matrices) in matrices.iter().enumerate() {
            let own = self.node(&format!("bone {number}"));
            self.attach(Some(node), own, &mut Vec::new());
            joints.push(self.transform(own, matrices, &mesh.path)?);
        }
        let skins = &mut self.meshes.document.root.skins;
        let skin = gltf_json::Skin {
            extensions: None,
            // They are of this mesh alone, and nobody's skeleton.
            extras: extras(serde_json::json!({ "clip": false })),
            inverse_bind_matrices: None,
            joints,
            name: mesh.path.rsplit('/').next().map(String::from),
            skeleton: None,
        };
        let skin = Index::push(skins, skin);
        self.get(node).skin = Some(skin);
        Ok(())
    }
}
