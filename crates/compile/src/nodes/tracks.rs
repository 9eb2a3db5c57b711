//! The flattened nodes, frame by frame, as a player sees them, and decomposed transforms.

use crate::Error;
use crate::nodes::flatten::FlatNode;
use crate::nodes::matrix::product;
use meshreel_codec::transform::Transform;
use meshreel_process::trs::{Trs, align, decompose};
use meshreel_scene::sample::World;
use meshreel_scene::{LocalTransform, PlacedObject, Scene};

/// Returns a local transform as translation, rotation and scale, as in the source or decomposed from a
/// matrix. `previous` is the frame before, which decides between equivalent signs. `None` if it is not
/// finite.
pub fn decompose_local(local: &LocalTransform, previous: Option<&Trs>) -> Option<Trs> {
    match local {
        LocalTransform::Matrix(matrix) => decompose(matrix, previous),
        LocalTransform::Components(parts) if !parts.matrix().is_finite() => None,
        LocalTransform::Components(parts) => Some(Trs {
            rotation: match previous {
                Some(previous) => align(previous.rotation, parts.rotation),
                None if parts.rotation.w < 0.0 => -parts.rotation,
                None => parts.rotation,
            },
            translation: parts.translation,
            scale: parts.scale,
        }),
    }
}

/// The flattened nodes, frame by frame, as a player sees them: each transform decomposed, rounded to f32, and
/// multiplied down the tree.
pub struct NodeTracks<'a> {
    nodes: &'a [FlatNode],
    /// The source at the last requested time.
    pub world: World<'a>,
    previous: Vec<Option<Trs>>,
    /// Local transform of each node.
    pub local: Vec<Transform>,
    /// World matrix of each node, 3×4 by rows.
    pub decoded: Vec<[[f64; 4]; 3]>,
}

impl<'a> NodeTracks<'a> {
    /// Creates the tracks, at no frame yet.
    pub fn new(
        scene: &'a Scene,
        placed: &'a [PlacedObject],
        nodes: &'a [FlatNode],
    ) -> Result<NodeTracks<'a>, Error> {
        Ok(NodeTracks {
            nodes,
            world: World::new(scene, placed)?,
            previous: vec![None; nodes.len()],
            local: vec![Transform::IDENTITY; nodes.len()],
            decoded: vec![Transform::IDENTITY.matrix(); nodes.len()],
        })
    }

    /// Returns a node's local transform, not rounded.
    pub fn decomposed(&self, node: usize) -> Trs {
        self.previous[node].unwrap_or(Trs::IDENTITY)
    }

    /// Evaluates a time. Signs of quaternions and scales follow the last requested time, so times must be
    /// given in order.
    pub fn evaluate(&mut self, time: f64) -> Result<(), Error> {
        self.world.evaluate(time)?;
        for (i, node) in self.nodes.iter().enumerate() {
            if node.animated || self.previous[i].is_none() {
                let parts = decompose_local(&node.local_transform(&self.world), self.previous[i].as_ref())
                    .or(self.previous[i])
                    .unwrap_or(Trs::IDENTITY);
                self.local[i] = Transform {
                    rotation: parts.rotation.to_array().map(|x| x as f32),
                    translation: parts.translation.to_array().map(|x| x as f32),
                    scale: parts.scale.to_array().map(|x| x as f32),
                };
                self.previous[i] = Some(parts);
            }
            let own = self.local[i].matrix();
            self.decoded[i] = node.parent.map_or(own, |p| product(&self.decoded[p], &own));
        }
        Ok(())
    }
}
