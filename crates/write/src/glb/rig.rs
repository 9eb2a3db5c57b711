//! Writes skins of meshes on the scene's skeletons: their joints are the skeleton's nodes, so its clips move
//! mesh and joints together.

use super::buffer::AccessorUse;
use super::tree::{Tree, metres};

use glam::{DAffine3, DMat4, DVec3};
use gltf_json::{Index, Node};
use meshreel_scene::{Error, Scene};

impl Tree<'_> {
    /// Returns for each skeleton whether a waiting mesh is on it.
    pub(super) fn skeletons_with_skins(&self, scene: &Scene) -> Vec<bool> {
        let mut out = vec![false; scene.skeletons.len()];
        for waiting in &self.pending_skins {
            if let Some(own) = waiting.skin.skeleton.and_then(|s| out.get_mut(s)) {
                *own = true;
            }
        }
        out
    }

    /// Gives the waiting meshes their skins: joints of the skin first, then the others of the skeleton, which
    /// belong to it without moving the mesh.
    pub(super) fn attach_skins(
        &mut self,
        scene: &Scene,
        skeletons: &[Vec<Index<Node>>],
        roots: &mut Vec<Index<Node>>,
    ) -> Result<(), Error> {
        let unit = DAffine3::from_scale(DVec3::splat(metres(scene.unit)));
        for waiting in std::mem::take(&mut self.pending_skins) {
            let (skin, Some(s)) = (&waiting.skin, waiting.skin.skeleton) else {
                continue;
            };
            let (Some(nodes), Some(skeleton)) = (skeletons.get(s), scene.skeletons.get(s)) else {
                continue;
            };
            let mut joints = Vec::with_capacity(nodes.len() + 1);
            let mut inverse: Vec<DAffine3> = Vec::with_capacity(nodes.len() + 1);
            if waiting.has_fixed_joint {
                let own = self.node("still");
                self.attach(None, own, roots);
                joints.push(own);
                inverse.push(unit);
            }
            for (joint, bind) in skin.joints.iter().zip(&skin.inverse_bind) {
                let Some(node) = nodes.get(*joint) else {
                    return Err(Error::misuse(format!("joint {joint} of a skin is not there")));
                };
                joints.push(*node);
                inverse.push(unit * DAffine3::from_mat4(*bind));
            }
            let mut rest: Vec<DAffine3> = Vec::with_capacity(nodes.len());
            for (joint, node) in skeleton.joints.iter().zip(nodes) {
                let above = joint.parent.and_then(|p| rest.get(p)).copied();
                let own = above.unwrap_or(DAffine3::IDENTITY) * joint.rest.matrix();
                rest.push(own);
                if !joints.contains(node) {
                    joints.push(*node);
                    let back = unit * own.inverse();
                    inverse.push(if back.is_finite() { back } else { unit });
                }
            }
            let matrices: Vec<[f32; 16]> =
                (inverse.iter()).map(|m| DMat4::from(*m).to_cols_array().map(|v| v as f32)).collect();
            let document = &mut self.meshes.document;
            let inverse = document.floats(&matrices, AccessorUse::Animation, false)?;
            let skin = gltf_json::Skin {
                extensions: None,
                extras: None,
                inverse_bind_matrices: Some(inverse),
                joints,
                name: Some(waiting.name),
                skeleton: None,
            };
            let skin = Index::push(&mut document.root.skins, skin);
            self.node_mut(waiting.node).skin = Some(skin);
        }
        Ok(())
    }
}
