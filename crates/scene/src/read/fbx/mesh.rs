//! Meshes: points, faces, attributes, materials.

use super::cache::Caches;
use super::deform::Deformed;
use super::form::{self, Bound, Form, Weights};
use super::times::Times;
use super::tree::Tree;
use crate::read::shape::NORMALS;
use crate::{Attribute, Channel, Error, FaceSet, Mesh, MeshId, Remark, Scene, Scope, TimeSampling};
use glam::DVec3;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Meshes that are there already.
pub(super) struct Meshes<'a> {
    tree: Arc<Tree>,
    times: &'a Times<'a>,
    sampling: Arc<TimeSampling>,
    pub caches: Caches,
    /// By number in the file: those that nothing deforms are shared.
    still: HashMap<u32, MeshId>,
}

impl<'a> Meshes<'a> {
    pub fn new(path: &Path, tree: Arc<Tree>, times: &'a Times<'a>) -> Meshes<'a> {
        let (sampling, caches) = (times.sampling(), Caches::new(path));
        Meshes { tree, times, sampling, caches, still: HashMap::new() }
    }

    /// The mesh of node `n`, which becomes one of the scene's.
    pub fn place(
        &mut self,
        parsed: &ufbx::Scene,
        n: usize,
        mesh: &ufbx::Mesh,
        path: &str,
        scene: &mut Scene,
        remarks: &mut Vec<Remark>,
    ) -> Result<MeshId, Error> {
        if let Some(id) = self.still.get(&mesh.element.typed_id) {
            return Ok(*id);
        }
        let (mut out, corners) = faces(mesh, path);
        out.is_subd = mesh.subdivision_display_mode == ufbx::SubdivisionDisplayMode::Smooth;
        let has_normals = has_normals(mesh);
        // A cache has all that bones and shapes do to the mesh.
        let cached = self.caches.points(parsed, mesh, path, remarks);
        let form = match cached {
            Some(_) => None,
            None => self.form(n, mesh, path, &corners, remarks)?,
        };
        match form {
            None if cached.is_some() => {
                if has_normals {
                    let what = "its normals are those before the geometry cache moves it; they were left out";
                    remarks.push(Remark::new(path, what));
                }
                out.positions = cached.unwrap_or(out.positions);
                self.still.insert(mesh.element.typed_id, scene.meshes.len());
                out = Mesh { topology: topology(&out), ..out };
            }
            None => {
                out.normals = normals(mesh, &corners);
                self.still.insert(mesh.element.typed_id, scene.meshes.len());
            }
            Some((form, weights, indices)) => {
                if has_normals && form.normals.is_none() {
                    let what = "its normals belong to no corners of its faces; they were left out";
                    remarks.push(Remark::new(path, what));
                }
                let deformed = Arc::new(Deformed::new(form, &self.tree, n, weights));
                out.positions = deformed.positions(&self.sampling);
                out.normals = indices.map(|indices| Attribute {
                    name: NORMALS.into(),
                    scope: Scope::FaceVarying,
                    values: deformed.normals(&self.sampling),
                    indices: Some(Channel::constant(indices)),
                });
                out.skin = deformed.skin(&self.sampling);
                out = Mesh { topology: topology(&out), ..out };
            }
        }
        scene.meshes.push(out);
        Ok(scene.meshes.len() - 1)
    }

    /// The mesh as it was bound, weights of its shapes, and which of its normals each corner has; none where nothing
    /// deforms it. `corners`: those of all faces.
    fn form(
        &self,
        n: usize,
        mesh: &ufbx::Mesh,
        path: &str,
        corners: &[usize],
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<(Form, Weights, Option<Vec<u32>>)>, Error> {
        let shapes = form::shapes(mesh);
        let weights = form::weights(&shapes, mesh, self.times, path)?;
        // Those that never show are not followed.
        let (shapes, weights): (Vec<_>, Weights) =
            shapes.into_iter().zip(weights).filter(|(_, own)| *own != [0.0]).unzip();
        let bound = Bound::read(n, mesh, &self.tree, path, remarks)?;
        if shapes.is_empty() && bound.is_none() {
            return Ok(None);
        }
        let points = mesh.vertices.iter().map(|p| DVec3::new(p.x, p.y, p.z)).collect();
        let normals = has_normals(mesh).then(|| form::bound_normals(mesh, corners)).flatten();
        let (normals, indices) = normals.unzip();
        let form = Form { points, normals, shapes, bound };
        if form.normals.is_some() && !form.shapes.is_empty() && !form.shapes_turn() {
            let what = "its blend shapes say nothing of normals, which stay as they are without them";
            remarks.push(Remark::new(path, what));
        }
        Ok(Some((form, weights, indices)))
    }
}

/// Whether the file has normals itself.
fn has_normals(mesh: &ufbx::Mesh) -> bool {
    mesh.vertex_normal.exists && !mesh.generated_normals && !mesh.vertex_normal.indices.is_empty()
}

fn topology(mesh: &Mesh) -> crate::Topology {
    match mesh.positions.is_constant() {
        true => crate::Topology::Constant,
        false => crate::Topology::Homogeneous,
    }
}

/// Points and faces, uvs, colours and materials; and which of the file's corners those of the faces are.
fn faces(mesh: &ufbx::Mesh, path: &str) -> (Mesh, Vec<usize>) {
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
    let of_corner = |indices: &[u32]| of_corners(indices, &at);
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

/// Normals that the file has itself.
fn normals(mesh: &ufbx::Mesh, corners: &[usize]) -> Option<Attribute<[f32; 3]>> {
    let own = &mesh.vertex_normal;
    has_normals(mesh).then(|| {
        let values = own.values.iter().map(|v| [v.x as f32, v.y as f32, v.z as f32]).collect();
        attribute(NORMALS, values, of_corners(&own.indices, corners))
    })
}

/// The index of each corner.
fn of_corners(indices: &[u32], corners: &[usize]) -> Vec<u32> {
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
