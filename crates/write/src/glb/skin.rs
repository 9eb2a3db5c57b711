//! Writes skins of meshes with joints of their own: nodes below the mesh, one per joint, each with its
//! matrices as an animation.

use super::tree::{Tree, extras};

use gltf_json::{Index, Node};
use meshreel_scene::sample::pose_at;
use meshreel_scene::{Error, LocalTransform, Mesh, Skin};

impl Tree<'_> {
    /// Attaches the joints of a mesh below its node, and makes them its skin.
    pub(super) fn own_joints(
        &mut self,
        mesh: &Mesh,
        node: Index<Node>,
        skin: &Skin,
        has_fixed_joint: bool,
    ) -> Result<(), Error> {
        let frames = self.meshes.times.len();
        let mut matrices: Vec<Vec<LocalTransform>> = vec![Vec::with_capacity(frames); skin.joints.len()];
        let mut pose = Vec::new();
        for i in 0..frames {
            pose_at(mesh, self.meshes.times[i], &mut pose)?;
            for (list, m) in matrices.iter_mut().zip(&pose) {
                list.push((*m).into());
            }
        }
        let mut joints = Vec::with_capacity(matrices.len() + 1);
        if has_fixed_joint {
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
            // They belong to this mesh only, and to no skeleton.
            extras: extras(serde_json::json!({ "clip": false })),
            inverse_bind_matrices: None,
            joints,
            name: mesh.path.rsplit('/').next().map(String::from),
            skeleton: None,
        };
        let skin = Index::push(skins, skin);
        self.node_mut(node).skin = Some(skin);
        Ok(())
    }
}
