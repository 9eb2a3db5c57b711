//! Points and normals that blend shapes and bones move, a frame at a time.

use super::form::{Form, Weights};
use super::tree::Tree;
use crate::{Channel, Error, Identity, Skin, Source, TimeSampling};
use glam::DMat4;
use std::sync::Arc;

/// A mesh on node `node`, and what moves it in each frame.
pub(super) struct Deformed {
    form: Form,
    tree: Arc<Tree>,
    node: usize,
    weights: Weights,
    moves: bool,
}

impl Deformed {
    pub fn new(form: Form, tree: &Arc<Tree>, node: usize, weights: Weights) -> Deformed {
        let bones = form.bound.iter().flat_map(|b| &b.bones).any(|(bone, _)| tree.moves(*bone));
        let bones = bones || form.bound.is_some() && tree.moves(node);
        let moves = tree.frames > 1 && (bones || weights.iter().any(|own| own.len() > 1));
        Deformed { form, tree: tree.clone(), node, weights, moves }
    }

    fn samples(&self) -> usize {
        if self.moves { self.tree.frames } else { 1 }
    }

    fn weight(&self, frame: usize) -> impl Fn(usize) -> f64 {
        move |shape| self.weights[shape][frame.min(self.weights[shape].len() - 1)]
    }

    /// For each bone the matrix from the mesh as it was bound to where the bone puts it, in the node's own space.
    fn pose(&self, frame: usize) -> Vec<DMat4> {
        let Some(bound) = &self.form.bound else {
            return Vec::new();
        };
        let world = self.tree.world(frame);
        let own = world[self.node];
        // A node of no size has its mesh in one point, wherever bones are.
        let back = if own.determinant().abs() > 1e-30 { own.inverse() } else { DMat4::IDENTITY };
        bound.bones.iter().map(|(bone, bind)| back * world[*bone] * *bind).collect()
    }

    /// The points over time.
    pub fn positions(self: &Arc<Self>, sampling: &Arc<TimeSampling>) -> Channel<[f32; 3]> {
        Channel::new(sampling.clone(), Arc::new(Points(self.clone())))
    }

    /// The normals over time.
    pub fn normals(self: &Arc<Self>, sampling: &Arc<TimeSampling>) -> Channel<[f32; 3]> {
        Channel::new(sampling.clone(), Arc::new(Normals(self.clone())))
    }

    /// The bones as the mesh's own, where nothing but they moves it.
    pub fn skin(self: &Arc<Self>, sampling: &Arc<TimeSampling>) -> Option<Arc<Skin>> {
        let bound = self.form.bound.as_ref()?;
        let moved = self.weights.iter().any(|own| own.len() > 1);
        if moved || !self.moves {
            return None;
        }
        let bind = self.form.shaped(self.weight(0));
        let bind: Vec<[f32; 3]> = bind.iter().map(|p| p.as_vec3().to_array()).collect();
        Some(Arc::new(Skin {
            skeleton: None,
            joints: (0..bound.bones.len()).collect(),
            inverse_bind: bound.bones.iter().map(|(_, bind)| *bind).collect(),
            bind_positions: bind.into(),
            influences: bound.influences.per_point,
            joint: bound.influences.joint.clone(),
            weight: bound.influences.weight.clone(),
            pose: Channel::new(sampling.clone(), Arc::new(Poses(self.clone()))),
            driven: Vec::new(),
        }))
    }
}

/// Points over time.
struct Points(Arc<Deformed>);

impl Source<[f32; 3]> for Points {
    fn len(&self) -> usize {
        self.0.samples()
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        self.0.form.points(self.0.weight(i), &self.0.pose(i), out);
        Ok(())
    }
}

/// Normals over time.
struct Normals(Arc<Deformed>);

impl Normals {
    /// Of shapes that leave normals alone nothing is seen.
    fn moves(&self) -> bool {
        self.0.form.bound.is_some() || self.0.form.shapes_turn()
    }
}

impl Source<[f32; 3]> for Normals {
    fn len(&self) -> usize {
        if self.moves() { self.0.samples() } else { 1 }
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        self.0.form.normals(self.0.weight(i), &self.0.pose(i), out);
        Ok(())
    }
}

/// Matrices of the bones over time.
struct Poses(Arc<Deformed>);

impl Source<DMat4> for Poses {
    fn len(&self) -> usize {
        self.0.samples()
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        *out = self.0.pose(i);
        Ok(())
    }
}
