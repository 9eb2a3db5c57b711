//! Meshes: points, faces, attributes and materials.

use super::bind_pose::{self, BindPoseMesh, BoneBinding, ShapeWeights};
use super::cache::GeometryCaches;
use super::deform::DeformedMesh;
use super::skeleton::Rigs;
use super::times::FrameTimes;
use super::tree::Tree;
use crate::parsed_mesh::NORMALS;
use glam::DVec3;
use meshreel_scene::{
    Attribute, Channel, Error, FaceSet, Mesh, MeshId, Remark, Scene, Scope, Skin, TimeSampling,
};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Upper limit for the blend shape weights of all meshes, over all frames and clips.
const MAX_WEIGHTS: u64 = 1 << 26;

/// The meshes converted so far.
pub(super) struct Meshes<'a> {
    tree: Arc<Tree>,
    times: &'a FrameTimes<'a>,
    rigs: &'a Rigs<'a>,
    sampling: Arc<TimeSampling>,
    pub caches: GeometryCaches,
    /// Meshes that are the same on all their nodes, by number in the file.
    known: HashMap<u32, MeshId>,
    /// The number of blend shape weights so far.
    weights: u64,
}

impl<'a> Meshes<'a> {
    pub fn new(path: &Path, tree: Arc<Tree>, times: &'a FrameTimes<'a>, rigs: &'a Rigs<'a>) -> Meshes<'a> {
        let (sampling, caches) = (times.sampling(), GeometryCaches::new(path));
        Meshes { tree, times, rigs, sampling, caches, known: HashMap::new(), weights: 0 }
    }

    /// Adds the mesh of node `n` to the scene. `bound`: its bones, if it has any.
    pub fn add_mesh(
        &mut self,
        parsed: &ufbx::Scene,
        (n, mesh): (usize, &ufbx::Mesh),
        bound: Option<BoneBinding>,
        path: &str,
        scene: &mut Scene,
        remarks: &mut Vec<Remark>,
    ) -> Result<MeshId, Error> {
        if let Some(id) = self.known.get(&mesh.element.typed_id) {
            return Ok(*id);
        }
        let (mut out, corners) = convert_mesh(mesh, path);
        out.is_subd = matches!(
            mesh.subdivision_display_mode,
            ufbx::SubdivisionDisplayMode::Smooth | ufbx::SubdivisionDisplayMode::HullAndSmooth
        );
        if out.is_subd {
            let what = "subdivision surface: its control cage is used, not subdivided";
            remarks.push(Remark::new(path, what));
        }
        let has_normals = has_normals(mesh);
        // A cache includes the effect of bones and shapes.
        let cached = self.caches.points(parsed, mesh, path, remarks);
        // Points without a bone may follow their node.
        let is_own = bound.as_ref().is_some_and(|bound| bound.bones.iter().any(|(bone, _)| *bone == n));
        let deformed = match cached {
            Some(_) => None,
            None => self.deformed(n, mesh, bound, path, &corners, remarks)?,
        };
        match deformed {
            None if cached.is_some() => {
                if has_normals {
                    let what = "its normals are those before the geometry cache moves it; they were left out";
                    remarks.push(Remark::new(path, what));
                }
                out.positions = cached.unwrap_or(out.positions);
                out = Mesh { topology: topology(&out), ..out };
            }
            None => out.normals = normals(mesh, &corners),
            Some((deformed, skin, indices)) => {
                if has_normals && indices.is_none() {
                    let what = "its normals belong to no corners of its faces; they were left out";
                    remarks.push(Remark::new(path, what));
                }
                out.positions = deformed.positions(&self.sampling);
                out.normals = indices.map(|indices| Attribute {
                    name: NORMALS.into(),
                    scope: Scope::FaceVarying,
                    values: deformed.normals(&self.sampling),
                    indices: Some(Channel::constant(indices)),
                });
                out.skin = skin;
                out = Mesh { topology: topology(&out), ..out };
            }
        }
        if !is_own {
            self.known.insert(mesh.element.typed_id, scene.meshes.len());
        }
        scene.meshes.push(out);
        Ok(scene.meshes.len() - 1)
    }

    /// Returns the mesh deformed by shapes and bones, its skin, and the normal index of each corner; `None`
    /// if nothing deforms it. `corners`: those of all faces.
    fn deformed(
        &mut self,
        n: usize,
        mesh: &ufbx::Mesh,
        bound: Option<BoneBinding>,
        path: &str,
        corners: &[usize],
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<Parts>, Error> {
        let bones = bound.as_ref().map(BoneBinding::nodes);
        let rig = bones.and_then(|bones| self.rigs.skin_skeleton(n, &bones));
        // Clips move joints only and cannot express that the node moves the mesh along.
        let by_clips =
            rig.iter().filter(|_| bound.as_ref().is_some_and(|bound| bound.posed_to_node.is_none()));
        let clips: Vec<_> = by_clips.flat_map(|(skeleton, _)| self.rigs.skeleton_clips(*skeleton)).collect();
        let shapes = bind_pose::shapes(mesh);
        let frames =
            clips.iter().fold(self.times.count, |sum, (_, times, _)| sum.saturating_add(times.count));
        self.weights = self.weights.saturating_add((shapes.len() as u64).saturating_mul(frames as u64));
        if self.weights > MAX_WEIGHTS {
            let what = "weights of blend shapes of an FBX file, over all frames";
            return Err(Error::limit(Path::new(path), what, self.weights, MAX_WEIGHTS));
        }
        let mut weights = bind_pose::weights(&shapes, mesh, self.times);
        let mut of_clips: Vec<ShapeWeights> =
            clips.iter().map(|(_, times, _)| bind_pose::weights(&shapes, mesh, times)).collect();
        // Shapes whose weight is always 0 are dropped.
        let seen: Vec<bool> = (0..shapes.len())
            .map(|shape| [&weights].into_iter().chain(&of_clips).any(|all| all[shape] != [0.0]))
            .collect();
        let shapes: Vec<_> =
            shapes.into_iter().zip(&seen).filter(|(_, seen)| **seen).map(|(own, _)| own).collect();
        for all in [&mut weights].into_iter().chain(&mut of_clips) {
            let mut seen = seen.iter();
            all.retain(|_| seen.next() == Some(&true));
        }
        if shapes.is_empty() && bound.is_none() {
            return Ok(None);
        }
        let points = mesh.vertices.iter().map(|p| DVec3::new(p.x, p.y, p.z)).collect();
        let normals = has_normals(mesh).then(|| bind_pose::bound_normals(mesh, corners)).flatten();
        let (normals, indices) = normals.unzip();
        let form = BindPoseMesh { points, normals, shapes, binding: bound };
        if form.normals.is_some() && !form.shapes.is_empty() && !form.shapes_move_normals() {
            let what = "its blend shapes say nothing of normals, which stay as they are without them";
            remarks.push(Remark::new(path, what));
        }
        let deformed = Arc::new(DeformedMesh::new(Arc::new(form), &self.tree, weights));
        let clips = clips.into_iter().zip(of_clips);
        let clips = clips.map(|((clip, _, motion), weights)| (clip, motion.clone(), weights)).collect();
        let skin = rig.and_then(|rig| deformed.skin(rig, clips, &self.sampling));
        Ok(Some((deformed, skin, indices)))
    }
}

/// A deformed mesh, its skin, and the normal index of each corner.
type Parts = (Arc<DeformedMesh>, Option<Arc<Skin>>, Option<Vec<u32>>);

/// `true` if the file itself has normals.
fn has_normals(mesh: &ufbx::Mesh) -> bool {
    mesh.vertex_normal.exists && !mesh.generated_normals && !mesh.vertex_normal.indices.is_empty()
}

fn topology(mesh: &Mesh) -> meshreel_scene::Topology {
    match mesh.positions.is_constant() {
        true => meshreel_scene::Topology::Constant,
        false => meshreel_scene::Topology::Homogeneous,
    }
}

/// Returns points and faces, uvs, colours and materials; and for each corner its index in the file.
fn convert_mesh(mesh: &ufbx::Mesh, path: &str) -> (Mesh, Vec<usize>) {
    let points = mesh.vertices.iter().map(|p| [p.x as f32, p.y as f32, p.z as f32]).collect();
    let (mut counts, mut corners, mut at) = (Vec::new(), Vec::new(), Vec::new());
    for face in &mesh.faces {
        let range =
            face.index_begin as usize..(face.index_begin as usize).saturating_add(face.num_indices as usize);
        let Some(own) = mesh.vertex_indices.get(range.clone()) else { continue };
        counts.push(own.len() as i32);
        corners.extend(own.iter().map(|i| i32::try_from(*i).unwrap_or(-1)));
        at.extend(range);
    }
    let mut out =
        Mesh::new(path, Channel::constant(points), Channel::constant(counts), Channel::constant(corners));
    let of_corner = |indices: &[u32]| corner_indices(indices, &at);
    for set in &mesh.uv_sets {
        let values = set.vertex_uv.values.iter().map(|v| [v.x as f32, v.y as f32]).collect();
        out.uvs.push(attribute(&set.name, values, of_corner(&set.vertex_uv.indices)));
    }
    for set in &mesh.color_sets {
        let value = |v: &ufbx::Vec4| [v.x as f32, v.y as f32, v.z as f32, v.w as f32];
        let values = set.vertex_color.values.iter().map(value).collect();
        out.colours.push(attribute(&set.name, values, of_corner(&set.vertex_color.indices)));
    }
    for (number, material) in mesh.materials.into_iter().enumerate() {
        let own = mesh.face_material.iter().zip(0..).filter(|(m, _)| **m as usize == number);
        let faces: Vec<i32> = own.map(|(_, face)| face).collect();
        if !faces.is_empty() {
            let name = material.element.name.to_string();
            out.face_sets.push(FaceSet { name, faces: Channel::constant(faces) });
        }
    }
    (out, at)
}

/// Returns the normals, if the file itself has them.
fn normals(mesh: &ufbx::Mesh, corners: &[usize]) -> Option<Attribute<[f32; 3]>> {
    let own = &mesh.vertex_normal;
    has_normals(mesh).then(|| {
        let values = own.values.iter().map(|v| [v.x as f32, v.y as f32, v.z as f32]).collect();
        attribute(NORMALS, values, corner_indices(&own.indices, corners))
    })
}

/// Returns the index of each corner.
fn corner_indices(indices: &[u32], corners: &[usize]) -> Vec<u32> {
    corners.iter().map(|&corner| indices.get(corner).copied().unwrap_or(u32::MAX)).collect()
}

fn attribute<T: Clone + Send + Sync + 'static>(
    name: &str,
    values: Vec<T>,
    indices: Vec<u32>,
) -> Attribute<T> {
    Attribute {
        name: name.into(),
        scope: Scope::FaceVarying,
        values: Channel::constant(values),
        indices: Some(Channel::constant(indices)),
    }
}
