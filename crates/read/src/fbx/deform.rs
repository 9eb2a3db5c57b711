//! Points and normals deformed by blend shapes and bones: for each played frame, and at any time of a clip.
//!
//! A mesh moved by bones is in world space, as skinned meshes of glTF are, so its bones are in the space of
//! their skeleton.

use super::bind_pose::{BindPoseMesh, ShapeWeights};
use super::skeleton::ClipMotion;
use super::tree::Tree;
use glam::DMat4;
use meshreel_scene::{Channel, DrivenMesh, Error, Identity, Skin, Source, TimeSampling};
use std::sync::Arc;

/// A mesh and everything that deforms it in each frame.
pub(super) struct DeformedMesh {
    mesh: Arc<BindPoseMesh>,
    tree: Arc<Tree>,
    weights: ShapeWeights,
    moves: bool,
}

impl DeformedMesh {
    pub fn new(form: Arc<BindPoseMesh>, tree: &Arc<Tree>, weights: ShapeWeights) -> DeformedMesh {
        let bones = form.binding.iter().flat_map(|b| &b.bones).any(|(bone, _)| tree.moves(*bone));
        let moves = tree.frames > 1 && (bones || weights.iter().any(|own| own.len() > 1));
        DeformedMesh { mesh: form, tree: tree.clone(), weights, moves }
    }

    fn samples(&self) -> usize {
        if self.moves { self.tree.frames } else { 1 }
    }

    fn weight(&self, frame: usize) -> impl Fn(usize) -> f64 {
        move |shape| self.weights[shape][frame.min(self.weights[shape].len() - 1)]
    }

    /// Returns for each bone the matrix from the bind pose of the mesh to the world.
    fn pose(&self, frame: usize) -> Vec<DMat4> {
        let Some(bound) = &self.mesh.binding else {
            return Vec::new();
        };
        let world = self.tree.world(frame);
        bound.bones.iter().map(|(bone, bind)| world[*bone] * *bind).collect()
    }

    /// Returns the points over time.
    pub fn positions(self: &Arc<Self>, sampling: &Arc<TimeSampling>) -> Channel<[f32; 3]> {
        Channel::new(sampling.clone(), Arc::new(DeformedPoints(self.clone())))
    }

    /// Returns the normals over time.
    pub fn normals(self: &Arc<Self>, sampling: &Arc<TimeSampling>) -> Channel<[f32; 3]> {
        Channel::new(sampling.clone(), Arc::new(DeformedNormals(self.clone())))
    }

    /// Makes the skin: the bones as joints of a skeleton, and the clips that move the mesh. `skeleton`: its
    /// number, and the joint of each bone; `clips`: for each clip its number, its motion and the weights of
    /// all shapes.
    pub fn skin(
        self: &Arc<Self>,
        (skeleton, joints): (usize, Vec<usize>),
        clips: Vec<(usize, Arc<ClipMotion>, ShapeWeights)>,
        sampling: &Arc<TimeSampling>,
    ) -> Option<Arc<Skin>> {
        let bound = self.mesh.binding.as_ref()?;
        // Animated shapes are not part of the bind pose, which is one for all frames.
        let stand = self.weights.iter().all(|own| own.len() == 1);
        let bind = if stand { self.mesh.shaped_points(self.weight(0)) } else { self.mesh.points.clone() };
        let bind: Vec<[f32; 3]> = bind.iter().map(|p| p.as_vec3().to_array()).collect();
        let driven = clips.into_iter().map(|(clip, motion, weights)| {
            let own = ClipDriver { mesh: self.mesh.clone(), joints: joints.clone(), motion, weights };
            (clip, Arc::new(own) as Arc<dyn DrivenMesh>)
        });
        let driven = driven.collect();
        Some(Arc::new(Skin {
            skeleton: Some(skeleton),
            joints,
            inverse_bind: bound.bones.iter().map(|(_, bind)| *bind).collect(),
            bind_positions: bind.into(),
            influences: bound.influences.per_point,
            joint: bound.influences.joint.clone(),
            weight: bound.influences.weight.clone(),
            dual_fraction: bound.influences.dual.clone(),
            pose: Channel::new(sampling.clone(), Arc::new(BonePoses(self.clone()))),
            driven,
        }))
    }
}

/// The points over time.
struct DeformedPoints(Arc<DeformedMesh>);

impl Source<[f32; 3]> for DeformedPoints {
    fn len(&self) -> usize {
        self.0.samples()
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        self.0.mesh.points(self.0.weight(i), &self.0.pose(i), out);
        Ok(())
    }
}

/// The normals over time.
struct DeformedNormals(Arc<DeformedMesh>);

impl DeformedNormals {
    /// `false` if only shapes without normals deform the mesh.
    fn moves(&self) -> bool {
        self.0.mesh.binding.is_some() || self.0.mesh.shapes_move_normals()
    }
}

impl Source<[f32; 3]> for DeformedNormals {
    fn len(&self) -> usize {
        if self.moves() { self.0.samples() } else { 1 }
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        self.0.mesh.normals(self.0.weight(i), &self.0.pose(i), out);
        Ok(())
    }
}

/// The matrices of the bones over time.
struct BonePoses(Arc<DeformedMesh>);

impl Source<DMat4> for BonePoses {
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

/// A mesh moved by a clip.
struct ClipDriver {
    mesh: Arc<BindPoseMesh>,
    /// The joint of each bone.
    joints: Vec<usize>,
    motion: Arc<ClipMotion>,
    weights: ShapeWeights,
}

impl DrivenMesh for ClipDriver {
    fn points(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        let at = self.motion.sample_position(time);
        let object = self.motion.world_transforms(at);
        let bones = self.mesh.binding.iter().flat_map(|bound| &bound.bones);
        let pose: Vec<DMat4> =
            bones.zip(&self.joints).map(|((_, bind), joint)| object[*joint] * *bind).collect();
        let weight = |shape: usize| {
            let own = &self.weights[shape];
            let left = (at as usize).min(own.len() - 1);
            let right = (left + 1).min(own.len() - 1);
            own[left] + (own[right] - own[left]) * at.fract()
        };
        self.mesh.points(weight, &pose, out);
        Ok(())
    }
}
