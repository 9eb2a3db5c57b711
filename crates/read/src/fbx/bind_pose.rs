//! Meshes in their bind pose: points and normals, blend shapes, bones and their influences. Deforms them by
//! shapes first, then by bones.

use super::moving::{matrix, moves_weight};
use super::times::FrameTimes;
use super::tree::Tree;
use glam::{DMat4, DVec3};
use meshreel_scene::in_between::weight_of_key;
use meshreel_scene::skinning::{BindNormals, Influences, JointPose};
use meshreel_scene::{Error, Remark};
use std::path::Path;

/// Upper limit for the influences of a mesh: points times the largest number of bones of a point.
const MAX_INFLUENCES: u64 = 1 << 28;

/// A mesh in its bind pose.
pub(super) struct BindPoseMesh {
    pub points: Vec<DVec3>,
    pub normals: Option<BindNormals>,
    pub shapes: Vec<BlendShapeKey>,
    pub binding: Option<BoneBinding>,
}

/// A blend shape: the offsets of points and of normals, and the channel and key it belongs to.
pub(super) struct BlendShapeKey {
    points: Vec<PointOffset>,
    normals: Vec<PointOffset>,
    channel: usize,
    key: usize,
}

type PointOffset = (u32, DVec3);

/// The weights of all shapes: for each shape one weight for all frames, or one per frame.
pub(super) type ShapeWeights = Vec<Vec<f64>>;

/// The bones of a mesh, and the influences of all points.
pub(super) struct BoneBinding {
    /// The node of each bone, and the matrix from the mesh in its bind pose to that node.
    pub bones: Vec<(usize, DMat4)>,
    pub influences: Influences,
    /// If the mesh's node moves the skinned mesh relative to its bind pose, the matrix from posed points to
    /// the space of that node; `None` if the bones alone place the points.
    pub posed_to_node: Option<DMat4>,
}

/// The program that saved the file. Programs differ in where they show a skinned mesh whose node has moved
/// since the bind pose.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Program {
    /// The node moves the skinned mesh along.
    Maya,
    /// The bones alone place the skinned mesh.
    BonesAlone,
    Unknown,
}

impl Program {
    pub fn from_scene(parsed: &ufbx::Scene) -> Program {
        let saved = &parsed.metadata.latest_application.name;
        let name = if saved.is_empty() { &parsed.metadata.creator } else { saved };
        let is = |names: &[&str]| names.iter().any(|own| name.contains(own));
        match () {
            () if is(&["Maya"]) => Program::Maya,
            () if is(&["Blender", "MotionBuilder", "3ds Max", "3dsMax"]) => Program::BonesAlone,
            () => Program::Unknown,
        }
    }
}

/// Adds weighted offsets.
fn add_offsets(to: &mut [DVec3], offsets: &[PointOffset], weight: f64) {
    for (point, offset) in offsets.iter().filter(|_| weight != 0.0) {
        if let Some(to) = to.get_mut(*point as usize) {
            *to += weight * *offset;
        }
    }
}

impl BindPoseMesh {
    /// Returns the points deformed by the shapes, given their weights.
    pub fn shaped_points(&self, weight: impl Fn(usize) -> f64) -> Vec<DVec3> {
        let mut points = self.points.clone();
        for (number, shape) in self.shapes.iter().enumerate() {
            add_offsets(&mut points, &shape.points, weight(number));
        }
        points
    }

    /// Computes the points deformed by shapes of the given weights and bones of the given matrices.
    pub fn points(&self, weight: impl Fn(usize) -> f64, pose: &[DMat4], out: &mut Vec<[f32; 3]>) {
        let points = self.shaped_points(weight);
        let skin = self.skin(pose);
        let moved = |(number, at): (usize, &DVec3)| {
            let own = skin.as_ref().map(|(influences, pose)| influences.posed_point(number, *at, pose));
            own.unwrap_or(*at).as_vec3().to_array()
        };
        out.clear();
        out.extend(points.iter().enumerate().map(moved));
    }

    /// Computes the normals deformed by shapes of the given weights and bones of the given matrices.
    pub fn normals(&self, weight: impl Fn(usize) -> f64, pose: &[DMat4], out: &mut Vec<[f32; 3]>) {
        out.clear();
        let Some(normals) = &self.normals else { return };
        let mut offsets = Vec::new();
        if self.shapes.iter().any(|shape| !shape.normals.is_empty()) {
            offsets = vec![DVec3::ZERO; self.points.len()];
            for (number, shape) in self.shapes.iter().enumerate() {
                add_offsets(&mut offsets, &shape.normals, weight(number));
            }
        }
        let skin = self.skin(pose);
        normals.posed(&offsets, skin.as_ref().map(|(influences, pose)| (*influences, pose)), out);
    }

    /// Returns the influences and the pose that bones of these matrices give.
    fn skin(&self, pose: &[DMat4]) -> Option<(&Influences, JointPose)> {
        let influences = &self.binding.as_ref()?.influences;
        Some((influences, JointPose::new(pose.to_vec(), influences)))
    }

    /// `true` if shapes move normals as well as points.
    pub fn shapes_move_normals(&self) -> bool {
        self.shapes.iter().any(|shape| !shape.normals.is_empty())
    }
}

/// Returns all shapes of a mesh: one for each key of each channel.
pub(super) fn shapes(mesh: &ufbx::Mesh) -> Vec<BlendShapeKey> {
    let points = mesh.vertices.len();
    let mut out = Vec::new();
    for (channel, own) in channels(mesh).enumerate() {
        for (key, shape) in own.keyframes.iter().map(|key| &key.shape).enumerate() {
            let list = |offsets: &[ufbx::Vec3]| -> Vec<PointOffset> {
                let all = shape.offset_vertices.iter().zip(offsets).enumerate();
                let within = all.filter(|(_, (vertex, _))| (**vertex as usize) < points);
                // A shape limited to a group of points has a weight for each of its points.
                let part = |i: usize| shape.offset_weights.get(i).copied().unwrap_or(1.0);
                let wide = within.map(|(i, (vertex, o))| (*vertex, part(i) * DVec3::new(o.x, o.y, o.z)));
                wide.filter(|(_, offset)| *offset != DVec3::ZERO).collect()
            };
            let (points, normals) = (list(&shape.position_offsets), list(&shape.normal_offsets));
            out.push(BlendShapeKey { points, normals, channel, key });
        }
    }
    out
}

/// Returns the channels of all blend shapes of a mesh.
pub(super) fn channels(mesh: &ufbx::Mesh) -> impl Iterator<Item = &ufbx::BlendChannel> {
    mesh.blend_deformers.into_iter().flat_map(|blend| &blend.channels)
}

/// Returns the weights of the given shapes of a mesh over the frames of `times`.
pub(super) fn weights(shapes: &[BlendShapeKey], mesh: &ufbx::Mesh, times: &FrameTimes<'_>) -> ShapeWeights {
    let mut out = vec![Vec::new(); shapes.len()];
    for (number, channel) in channels(mesh).enumerate() {
        let at = |frame: usize| {
            let (anim, time) = times.animation_at(frame);
            ufbx::evaluate_blend_weight(anim, channel, time)
        };
        let count = if times.anims().any(|anim| moves_weight(anim, channel)) { times.count } else { 1 };
        let all: Vec<f64> = (0..count).map(at).collect();
        let targets: Vec<f64> = channel.keyframes.iter().map(|key| key.target_weight).collect();
        let own = shapes.iter().zip(&mut out).filter(|(shape, _)| shape.channel == number);
        for (shape, out) in own {
            *out = all.iter().map(|w| weight_of_key(&targets, shape.key, *w)).collect();
            if out.iter().all(|w| *w == out[0]) {
                out.truncate(1);
            }
        }
    }
    out
}

impl BoneBinding {
    /// Reads the bones of the first skin of the mesh on node `n`; `None` if it has no skin.
    pub fn read(
        (n, mesh): (usize, &ufbx::Mesh),
        tree: &Tree,
        by: Program,
        path: &str,
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<BoneBinding>, Error> {
        let Some(skin) = mesh.skin_deformers.into_iter().next() else {
            return Ok(None);
        };
        if mesh.skin_deformers.len() > 1 {
            remarks.push(Remark::new(path, "it has several skins; the first was taken"));
        }
        let file = Path::new(path);
        if skin.clusters.len() >= usize::from(u16::MAX) {
            let (asked, allowed) = (skin.clusters.len() as u64, u64::from(u16::MAX) - 1);
            return Err(Error::limit(file, "bones of a mesh", asked, allowed));
        }
        let mut bones = Vec::new();
        let mut places = Vec::new();
        for cluster in &skin.clusters {
            let node = cluster.bone_node.as_ref().map(|node| node.element.typed_id as usize);
            let node = node.filter(|n| *n < tree.parents.len());
            places.push(node.map(|_| bones.len() as u16));
            if let Some(node) = node {
                let bind = matrix(&cluster.geometry_to_bone);
                if !bind.is_finite() {
                    return Err(Error::malformed(file, "a bind matrix that is no finite numbers", "skin"));
                }
                bones.push((node, bind));
            }
        }
        if bones.is_empty() {
            return Ok(None);
        }
        let points = mesh.vertices.len();
        let own_of = |i: usize| {
            let own = skin.vertices.get(i).map_or(0..0, |v| {
                v.weight_begin as usize..(v.weight_begin as usize).saturating_add(v.num_weights as usize)
            });
            let own = skin.weights.get(own).unwrap_or_default().iter();
            own.filter_map(|w| {
                let place = places.get(w.cluster_index as usize).copied().flatten()?;
                (w.weight.is_finite() && w.weight > 0.0).then_some((place, w.weight))
            })
        };
        let most = (0..points).map(|i| own_of(i).count()).max().unwrap_or(0).max(1);
        let asked = (points as u64).saturating_mul(most as u64);
        if asked > MAX_INFLUENCES {
            let what = "points of a skin times the bones of the point that has most";
            return Err(Error::limit(file, what, asked, MAX_INFLUENCES));
        }
        let (mut joint, mut weight) = (vec![0u16; points * most], vec![0f32; points * most]);
        let node = bones.len() as u16;
        for i in 0..points {
            let total: f64 = own_of(i).map(|(_, w)| w).sum();
            for (k, (place, w)) in own_of(i).enumerate() {
                joint[i * most + k] = place;
                weight[i * most + k] = (w / total) as f32;
            }
            if own_of(i).next().is_none() {
                // Points without a bone follow the node.
                (joint[i * most], weight[i * most]) = (node, 1.0);
            }
        }
        let elsewhere = bind_transform_if_moved(skin, n, tree);
        let carried = elsewhere.filter(|_| by == Program::Maya);
        if joint.contains(&node) {
            // If the node moves the skinned mesh along, points without a bone stay at rest relative to it.
            let unmoved = carried.map(|at| (0, tree.world(0)[0].inverse() * at));
            bones.push(unmoved.unwrap_or((n, DMat4::IDENTITY)));
        }
        let several = carried.is_none() && mesh.element.instances.len() > 1;
        remarks
            .extend(placement_remark(by, several, elsewhere.is_some()).map(|what| Remark::new(path, what)));
        let dual = dual_parts(skin, points).into();
        let influences = Influences { per_point: most, joint: joint.into(), weight: weight.into(), dual };
        Ok(Some(BoneBinding { bones, influences, posed_to_node: carried.map(|at| at.inverse()) }))
    }

    /// Returns the nodes of the bones.
    pub fn nodes(&self) -> Vec<usize> {
        self.bones.iter().map(|(node, _)| *node).collect()
    }
}

/// Returns for each point the share of dual quaternion skinning; empty if all skinning is linear.
fn dual_parts(skin: &ufbx::SkinDeformer, points: usize) -> Vec<f32> {
    let all = match skin.skinning_method {
        ufbx::SkinningMethod::DualQuaternion => Some(1.0),
        ufbx::SkinningMethod::BlendedDqLinear => None,
        _ => return Vec::new(),
    };
    let part = |point: usize| {
        let own = skin.vertices.get(point).map_or(0.0, |vertex| vertex.dq_weight as f32);
        all.unwrap_or(if own.is_finite() { own.clamp(0.0, 1.0) } else { 0.0 })
    };
    let parts: Vec<f32> = (0..points).map(part).collect();
    if parts.iter().all(|part| *part == 0.0) { Vec::new() } else { parts }
}

/// Returns a remark on the position of a skinned mesh that its bones alone place: if `several` nodes have the
/// skin, or the node is `elsewhere` than at bind time.
fn placement_remark(by: Program, several: bool, elsewhere: bool) -> Option<&'static str> {
    match () {
        () if several => Some(
            "its skin is on several nodes, which do not place it: it is where its bones are, for all of them",
        ),
        () if by == Program::Unknown && elsewhere => Some(
            "its node is not where its skin was bound: it is where its bones are, which programs but Maya show",
        ),
        () => None,
    }
}

/// Returns the transform of the mesh's node at bind time, or `None` if the node is there in all frames.
fn bind_transform_if_moved(skin: &ufbx::SkinDeformer, n: usize, tree: &Tree) -> Option<DMat4> {
    let cluster = skin.clusters.into_iter().find(|cluster| cluster.bone_node.is_some())?;
    let at = matrix(&cluster.bind_to_world) * matrix(&cluster.geometry_to_bone);
    let most = at.to_cols_array().iter().fold(1.0f64, |most, v| most.max(v.abs()));
    let there = !tree.moves(n) && tree.world(0)[n].abs_diff_eq(at, 1e-5 * most);
    (!there && at.inverse().is_finite()).then_some(at)
}

/// Returns the normals in the bind pose, one for each pair of a normal in the file and a point that has it,
/// and the index of each corner into them. `None` if the file has no normals, or they do not match the
/// corners. `corners`: those of all faces.
pub(super) fn bound_normals(mesh: &ufbx::Mesh, corners: &[usize]) -> Option<(BindNormals, Vec<u32>)> {
    let own = &mesh.vertex_normal;
    let mut known = std::collections::HashMap::new();
    let mut out = BindNormals { values: Vec::new(), point: Vec::new() };
    let mut indices = Vec::with_capacity(corners.len());
    for &corner in corners {
        let (value, point) = (*own.indices.get(corner)?, *mesh.vertex_indices.get(corner)?);
        let normal = own.values.get(value as usize)?;
        mesh.vertices.get(point as usize)?;
        let next = out.values.len() as u32;
        let number = *known.entry((value, point)).or_insert(next);
        if number == next {
            out.values.push([normal.x as f32, normal.y as f32, normal.z as f32]);
            out.point.push(point);
        }
        indices.push(number);
    }
    (!out.values.is_empty()).then_some((out, indices))
}
