//! Points that blend shapes and bones move, a frame at a time: shapes first, then linear blend skinning.

use super::times::Times;
use super::tree::{Tree, matrix};
use crate::read::in_between::weight_of_key;
use crate::{Channel, Error, Identity, Remark, Skin, Source, TimeSampling};
use glam::{DMat4, DVec3};
use std::sync::Arc;

/// Most weights of blend shapes over all frames of a mesh.
const MOST_WEIGHTS: u64 = 1 << 26;

/// A mesh on node `node`, as it was bound, and what moves it.
pub(super) struct Deformed {
    tree: Arc<Tree>,
    node: usize,
    points: Vec<DVec3>,
    shapes: Vec<Shape>,
    bound: Option<Bound>,
    moves: bool,
}

/// A blend shape: how far it moves which points, by its weight in each frame (or the one that it always has).
struct Shape {
    offsets: Vec<(u32, DVec3)>,
    weights: Vec<f64>,
}

/// Bones, and the influences of all points.
struct Bound {
    /// Node of each, and the matrix from the mesh as it was bound to that node.
    bones: Vec<(usize, DMat4)>,
    influences: usize,
    joint: Arc<[u16]>,
    weight: Arc<[f32]>,
}

impl Deformed {
    /// None where nothing deforms it.
    pub fn read(
        times: &Times<'_>,
        tree: &Arc<Tree>,
        node: usize,
        mesh: &ufbx::Mesh,
        path: &str,
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<Deformed>, Error> {
        let points: Vec<DVec3> = mesh.vertices.iter().map(|p| DVec3::new(p.x, p.y, p.z)).collect();
        let mut shapes = Vec::new();
        for blend in &mesh.blend_deformers {
            for channel in &blend.channels {
                let asked = (channel.keyframes.len() as u64 + 1).saturating_mul(tree.frames as u64);
                if asked > MOST_WEIGHTS {
                    let what = "weights of blend shapes of an FBX file";
                    return Err(Error::limit(std::path::Path::new(path), what, asked, MOST_WEIGHTS));
                }
                shapes.extend(of_channel(times, tree, channel, points.len()));
            }
        }
        let bound = match mesh.skin_deformers.into_iter().next() {
            Some(skin) => Bound::read(skin, points.len(), tree, path, remarks)?,
            None => None,
        };
        if mesh.skin_deformers.len() > 1 {
            remarks.push(Remark::new(path, "it has several skins; the first was taken"));
        }
        if shapes.is_empty() && bound.is_none() {
            return Ok(None);
        }
        let bones = bound.iter().flat_map(|b| &b.bones).any(|(bone, _)| tree.moves(*bone));
        let moves = tree.frames > 1
            && (bones || bound.is_some() && tree.moves(node) || shapes.iter().any(|s| s.weights.len() > 1));
        Ok(Some(Deformed { tree: tree.clone(), node, points, shapes, bound, moves }))
    }

    fn samples(&self) -> usize {
        if self.moves { self.tree.frames } else { 1 }
    }

    /// Points as shapes move them.
    fn shaped(&self, frame: usize) -> Vec<DVec3> {
        let mut points = self.points.clone();
        for shape in &self.shapes {
            let weight = shape.weights[frame.min(shape.weights.len() - 1)];
            for (point, offset) in shape.offsets.iter().filter(|_| weight != 0.0) {
                points[*point as usize] += weight * *offset;
            }
        }
        points
    }

    /// For each bone the matrix from the mesh as it was bound to where the bone puts it, in the node's own space.
    fn pose(&self, bound: &Bound, frame: usize) -> Vec<DMat4> {
        let world = self.tree.world(frame);
        let own = world[self.node];
        // A node of no size has its mesh in one point, wherever bones are.
        let back = if own.determinant().abs() > 1e-30 { own.inverse() } else { DMat4::IDENTITY };
        bound.bones.iter().map(|(bone, bind)| back * world[*bone] * *bind).collect()
    }

    fn at(&self, frame: usize) -> Vec<[f32; 3]> {
        let mut points = self.shaped(frame);
        if let Some(bound) = &self.bound {
            let pose = self.pose(bound, frame);
            for (i, point) in points.iter_mut().enumerate() {
                let own = i * bound.influences..(i + 1) * bound.influences;
                let influences = bound.joint[own.clone()].iter().zip(&bound.weight[own]);
                let mut sum = DVec3::ZERO;
                let mut total = 0.0;
                for (joint, weight) in influences.filter(|(_, w)| **w > 0.0) {
                    let weight = f64::from(*weight);
                    sum += weight * pose[usize::from(*joint)].transform_point3(*point);
                    total += weight;
                }
                if total > 0.0 {
                    *point = sum / total;
                }
            }
        }
        points.iter().map(|p| p.as_vec3().to_array()).collect()
    }

    /// The points over time.
    pub fn positions(self: &Arc<Self>, sampling: &Arc<TimeSampling>) -> Channel<[f32; 3]> {
        Channel::new(sampling.clone(), Arc::new(Points(self.clone())))
    }

    /// The bones as the mesh's own, where nothing but they moves it.
    pub fn skin(self: &Arc<Self>, sampling: &Arc<TimeSampling>) -> Option<Arc<Skin>> {
        let bound = self.bound.as_ref()?;
        let moved = self.shapes.iter().any(|s| s.weights.len() > 1);
        if moved || !self.moves {
            return None;
        }
        let bind: Vec<[f32; 3]> = self.shaped(0).iter().map(|p| p.as_vec3().to_array()).collect();
        Some(Arc::new(Skin {
            skeleton: None,
            joints: (0..bound.bones.len()).collect(),
            inverse_bind: bound.bones.iter().map(|(_, bind)| *bind).collect(),
            bind_positions: bind.into(),
            influences: bound.influences,
            joint: bound.joint.clone(),
            weight: bound.weight.clone(),
            pose: Channel::new(sampling.clone(), Arc::new(Poses(self.clone()))),
            driven: Vec::new(),
        }))
    }
}

/// Shapes of a channel: a shape for each of its keys, whose weight goes up to its own key and down to the next.
fn of_channel(times: &Times<'_>, tree: &Tree, channel: &ufbx::BlendChannel, points: usize) -> Vec<Shape> {
    let weight = |frame: usize| {
        let (anim, time) = times.at(frame);
        ufbx::evaluate_blend_weight(anim, channel, time)
    };
    let all: Vec<f64> = match tree.frames {
        0 | 1 => vec![channel.weight],
        frames => (0..frames).map(weight).collect(),
    };
    let targets: Vec<f64> = channel.keyframes.iter().map(|key| key.target_weight).collect();
    let shapes = channel.keyframes.iter().enumerate().map(|(k, key)| {
        let offsets = key.shape.offset_vertices.iter().zip(&key.shape.position_offsets);
        let within = offsets.filter(|(vertex, _)| (**vertex as usize) < points);
        let offsets = within.map(|(vertex, o)| (*vertex, DVec3::new(o.x, o.y, o.z))).collect();
        let mut weights: Vec<f64> = all.iter().map(|w| weight_of_key(&targets, k, *w)).collect();
        if weights.iter().all(|w| *w == weights[0]) {
            weights.truncate(1);
        }
        Shape { offsets, weights }
    });
    shapes.filter(|shape| shape.weights != [0.0]).collect()
}

impl Bound {
    fn read(
        skin: &ufbx::SkinDeformer,
        points: usize,
        tree: &Tree,
        path: &str,
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<Bound>, Error> {
        if matches!(
            skin.skinning_method,
            ufbx::SkinningMethod::DualQuaternion | ufbx::SkinningMethod::BlendedDqLinear
        ) {
            remarks.push(Remark::new(path, "its skin blends dual quaternions, which is done linearly here"));
        }
        if skin.clusters.len() > usize::from(u16::MAX) {
            let allowed = u64::from(u16::MAX);
            let what = "bones of a mesh";
            return Err(Error::limit(std::path::Path::new(path), what, skin.clusters.len() as u64, allowed));
        }
        let mut bones = Vec::new();
        let mut places = Vec::new();
        for cluster in &skin.clusters {
            let node = cluster.bone_node.as_ref().map(|node| node.element.typed_id as usize);
            let node = node.filter(|n| *n < tree.parents.len());
            places.push(node.map(|_| bones.len() as u16));
            if let Some(node) = node {
                bones.push((node, matrix(&cluster.geometry_to_bone)));
            }
        }
        if bones.is_empty() {
            return Ok(None);
        }
        let weights_of = |i: usize| {
            let own = skin.vertices.get(i).map_or(0..0, |v| {
                v.weight_begin as usize..(v.weight_begin as usize).saturating_add(v.num_weights as usize)
            });
            skin.weights.get(own).unwrap_or_default()
        };
        let most = (0..points).map(|i| weights_of(i).len()).max().unwrap_or(0).max(1);
        let (mut joint, mut weight) = (vec![0u16; points * most], vec![0f32; points * most]);
        for i in 0..points {
            let own = weights_of(i).iter().filter_map(|w| {
                let place = places.get(w.cluster_index as usize).copied().flatten()?;
                (w.weight.is_finite() && w.weight > 0.0).then_some((place, w.weight))
            });
            let own: Vec<(u16, f64)> = own.collect();
            let total: f64 = own.iter().map(|(_, w)| w).sum();
            for (k, (place, w)) in own.into_iter().enumerate() {
                joint[i * most + k] = place;
                weight[i * most + k] = (w / total) as f32;
            }
        }
        Ok(Some(Bound { bones, influences: most, joint: joint.into(), weight: weight.into() }))
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
        *out = self.0.at(i);
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
        out.clear();
        if let Some(bound) = &self.0.bound {
            *out = self.0.pose(bound, i);
        }
        Ok(())
    }
}
