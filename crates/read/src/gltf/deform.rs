//! Meshes moved by morph targets and skins: their points and normals at the samples of the played animation
//! and at any time of a clip.

use super::animation::{Curve, NodeCurves};
use super::primitives::MeshAccessors;
use super::rig::{Rig, numbers_identity};
use super::tree::PoseEvaluator;
use glam::{DAffine3, DMat4, DVec3};
use meshreel_scene::{Channel, DrivenMesh, Error, Identity, Skin, Source, TimeSampling, trs};
use std::sync::Arc;

/// The morph targets and the skin that move a mesh on a node.
pub(super) struct Deformation {
    shape: Arc<MeshAccessors>,
    rig: Arc<Rig>,
    skin: Option<MeshSkin>,
    /// The node whose weights apply, and their values where nothing animates them.
    node: usize,
    weights: Vec<f64>,
    pub times: Arc<TimeSampling>,
    samples: usize,
}

/// The skin of a mesh: its points in the bind pose, their influences, and the joints that move them.
#[derive(Clone)]
struct MeshSkin {
    bind: Arc<[[f32; 3]]>,
    influences: usize,
    joint: Arc<[u16]>,
    weight: Arc<[f32]>,
    joints: Arc<SkinJoints>,
}

/// The joints of a skin and the poses that move them.
struct SkinJoints {
    rig: Arc<Rig>,
    pose_evaluator: PoseEvaluator,
    /// The index of each joint in `pose_evaluator`.
    pose_indices: Vec<usize>,
    inverse_bind: Vec<DAffine3>,
}

impl SkinJoints {
    fn new(rig: &Arc<Rig>, binding: &FileSkin<'_>) -> Arc<SkinJoints> {
        let (posing, places) = PoseEvaluator::new(&rig.tree, binding.nodes);
        Arc::new(SkinJoints {
            rig: rig.clone(),
            pose_evaluator: posing,
            pose_indices: places,
            inverse_bind: binding.inverse_bind.clone(),
        })
    }

    /// Returns the matrix of each joint at `time`, from bind space to world space.
    fn matrices(&self, time: f64) -> Vec<DAffine3> {
        let mut world = Vec::new();
        let rig = &self.rig;
        let (animation, time) = rig.takes.animation_at(time);
        self.pose_evaluator.world(&rig.tree, animation, time, &mut world);
        let joints = self.pose_indices.iter().zip(&self.inverse_bind);
        joints.map(|(&place, inverse)| world[place] * *inverse).collect()
    }
}

/// The matrices of a skin's joints at the samples of a mesh.
struct SkinMatrices {
    joints: Arc<SkinJoints>,
    times: Arc<TimeSampling>,
    samples: usize,
}

impl Source<DMat4> for SkinMatrices {
    fn len(&self) -> usize {
        self.samples
    }
    fn identity(&self, i: usize) -> Identity {
        let all = self.joints.matrices(self.times.time(i));
        let numbers: Vec<f64> = all.iter().flat_map(DAffine3::to_cols_array).collect();
        numbers_identity(&numbers)
    }
    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        out.clear();
        let all = self.joints.matrices(self.times.time(i));
        out.extend(all.into_iter().map(DMat4::from));
        Ok(())
    }
    fn has_own_interpolation(&self) -> bool {
        self.samples > 1
    }
    fn read_between(&self, time: f64, out: &mut Vec<DMat4>) -> Result<bool, Error> {
        out.clear();
        out.extend(self.joints.matrices(time).into_iter().map(DMat4::from));
        Ok(true)
    }
}

/// A skin of the file.
pub(super) struct FileSkin<'a> {
    /// The nodes of its joints.
    pub nodes: &'a [usize],
    pub inverse_bind: Vec<DAffine3>,
    /// The number of the skeleton, and the skeleton's joint for each node.
    pub skeleton: usize,
    pub joints: Vec<usize>,
    /// The clips of the skeleton: number, and the rig that plays the animation of each.
    pub clips: Vec<(usize, Arc<Rig>)>,
}

/// A node that shows a mesh, with the skin and the weights that it adds.
pub(super) struct Placement<'a> {
    pub rig: &'a Arc<Rig>,
    pub node: usize,
    pub skin: Option<FileSkin<'a>>,
    /// The weights of the morph targets where no animation moves them.
    pub weights: Vec<f64>,
    /// The uniform times of the animation, or the times of the weights' keys if these suffice.
    pub sampling: Option<(TimeSampling, usize)>,
}

impl Deformation {
    /// Makes the deformation and, if there is one, the skin.
    pub fn new(
        shape: &Arc<MeshAccessors>,
        placement: Placement<'_>,
        remark: impl FnMut(String),
    ) -> Result<(Deformation, Option<Arc<Skin>>), Error> {
        let rig = placement.rig;
        let joints = (placement.skin.as_ref()).map(|binding| SkinJoints::new(rig, binding));
        let weights = rig.takes.node_curves(placement.node);
        let moves = (joints.as_ref()).is_some_and(|joints| joints.pose_evaluator.moves(&rig.takes))
            || rig.takes.may_change(weights.flat_map(NodeCurves::weight_curves));
        let constant = || {
            let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 };
            (sampling, 1)
        };
        let (times, samples) = match moves {
            true => placement.sampling.unwrap_or_else(constant),
            false => constant(),
        };
        let times = Arc::new(times);
        let mut out = Deformation {
            shape: shape.clone(),
            rig: rig.clone(),
            skin: None,
            node: placement.node,
            weights: placement.weights,
            times: times.clone(),
            samples,
        };
        let skin = match placement.skin.zip(joints) {
            None => None,
            Some((binding, joints)) => {
                let (joint, weight) = shape.read_influences(binding.nodes.len(), remark)?;
                let (joint, weight): (Arc<[u16]>, Arc<[f32]>) = (joint.into(), weight.into());
                let mut bind_positions = Vec::new();
                shape.positions(&mut bind_positions)?;
                let pose = SkinMatrices { joints: joints.clone(), times: times.clone(), samples };
                let bind: Arc<[[f32; 3]]> = bind_positions.into();
                let bound = |joints: Arc<SkinJoints>| MeshSkin {
                    bind: bind.clone(),
                    influences: shape.influences,
                    joint: joint.clone(),
                    weight: weight.clone(),
                    joints,
                };
                let driven = binding.clips.iter().map(|(clip, rig)| {
                    let driver = Deformation {
                        shape: shape.clone(),
                        rig: rig.clone(),
                        skin: Some(bound(SkinJoints::new(rig, &binding))),
                        node: placement.node,
                        weights: out.weights.clone(),
                        times: times.clone(),
                        samples: 1,
                    };
                    (*clip, Arc::new(driver) as Arc<dyn DrivenMesh>)
                });
                let driven = driven.collect();
                out.skin = Some(bound(joints));
                Some(Arc::new(Skin {
                    skeleton: Some(binding.skeleton),
                    joints: binding.joints,
                    inverse_bind: binding.inverse_bind.iter().map(|m| (*m).into()).collect(),
                    bind_positions: bind,
                    influences: shape.influences,
                    joint,
                    weight,
                    dual_fraction: Arc::new([]),
                    pose: Channel::new(times, Arc::new(pose)),
                    driven,
                }))
            }
        };
        Ok((out, skin))
    }

    /// Computes the weights of the morph targets at `time`.
    fn weights(&self, time: f64, out: &mut Vec<f64>) {
        self.rig.takes.weights(self.node, time, &self.weights, out);
    }

    fn identity(&self, i: usize) -> Identity {
        let time = self.times.time(i);
        let mut numbers = Vec::new();
        self.weights(time, &mut numbers);
        if let Some(bound) = &self.skin {
            for matrix in bound.joints.matrices(time) {
                numbers.extend(matrix.to_cols_array());
            }
        }
        numbers_identity(&numbers)
    }

    /// `true` if linear interpolation of the samples is not exact: a skin rotates, and weights may bend.
    fn bends(&self) -> bool {
        let mut weights = self.rig.takes.node_curves(self.node);
        self.samples > 1 && (self.skin.is_some() || weights.any(|own| own.weight_curves().any(Curve::bends)))
    }

    fn read(&self, i: usize, what: DeformedValue, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        if i >= self.samples {
            return Err(Error::misuse(format!("sample {i} of {}", self.samples)));
        }
        self.evaluate(self.times.time(i), what, out)
    }

    /// Computes positions or normals at any time.
    fn evaluate(&self, time: f64, what: DeformedValue, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        out.clear();
        let part = match what {
            DeformedValue::Positions => 0,
            DeformedValue::Normals => 1,
        };
        match (what, &self.skin) {
            (DeformedValue::Positions, Some(bound)) => out.extend_from_slice(&bound.bind),
            (DeformedValue::Positions, None) => self.shape.positions(out)?,
            (DeformedValue::Normals, _) => self.shape.normals(out)?,
        }
        let mut values: Vec<DVec3> = out.iter().map(|v| DVec3::from_array(v.map(f64::from))).collect();
        let mut weights = Vec::new();
        self.weights(time, &mut weights);
        self.shape.morph(part, &weights, &mut values)?;
        if let Some(bound) = &self.skin {
            let matrices = bound.joints.matrices(time);
            let k = bound.influences;
            let joints = bound.joint.chunks(k.max(1));
            let weights = bound.weight.chunks(k.max(1));
            for ((value, joints), weights) in values.iter_mut().zip(joints).zip(weights) {
                let mut influences = joints.iter().zip(weights).filter(|(_, w)| **w > 0.0);
                let Some((&joint, &weight)) = influences.next() else { continue };
                let mut sum = matrices[usize::from(joint)];
                // Most points of most characters follow a single joint.
                if weight != 1.0 {
                    let w = f64::from(weight);
                    sum = DAffine3::from_mat3_translation(sum.matrix3 * w, sum.translation * w);
                }
                for (&joint, &weight) in influences {
                    let (m, w) = (&matrices[usize::from(joint)], f64::from(weight));
                    sum.matrix3 += m.matrix3 * w;
                    sum.translation += m.translation * w;
                }
                *value = match what {
                    DeformedValue::Positions => sum.transform_point3(*value),
                    DeformedValue::Normals => trs::cofactors(&sum.matrix3) * *value,
                };
            }
        }
        for (out, value) in out.iter_mut().zip(values) {
            let value = match what {
                DeformedValue::Positions => value,
                DeformedValue::Normals => value.normalize_or_zero(),
            };
            *out = value.to_array().map(|v| v as f32);
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
pub(super) enum DeformedValue {
    Positions,
    Normals,
}

impl DrivenMesh for Deformation {
    fn points(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        self.evaluate(time, DeformedValue::Positions, out)
    }
}

pub(super) struct DeformedSource(pub Arc<Deformation>, pub DeformedValue);

impl Source<[f32; 3]> for DeformedSource {
    fn len(&self) -> usize {
        self.0.samples
    }
    fn identity(&self, i: usize) -> Identity {
        self.0.identity(i)
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        self.0.read(i, self.1, out)
    }
    fn has_own_interpolation(&self) -> bool {
        self.0.bends()
    }
    fn read_between(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<bool, Error> {
        if !self.0.bends() {
            return Ok(false);
        }
        self.0.evaluate(time, self.1, out)?;
        Ok(true)
    }
}
