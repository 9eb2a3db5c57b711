//! Converts corners to vertices, for formats with one value of each kind per vertex: finds frames of equal
//! faces, and the corners of a point that become separate vertices.

use super::corners::{DistinctValues, PerCorner, face_set_indices};
use super::polygon::{UsableFaces, triangulate, usable_faces};
use glam::{DMat3, DMat4};
use meshreel_scene::identity::content_identity;
use meshreel_scene::sample::{Faces, faces_at, positions_at, topology_identity};
use meshreel_scene::{Error, Identity, Mesh, Winding};
use std::collections::{BTreeMap, HashMap};

/// Indices of the distinct pairs of class and value.
type Classes = HashMap<(u32, u128), u32>;

/// Facts about a run of frames that are needed before it is written.
pub(crate) struct RunPlan {
    pub first: usize,
    pub end: usize,
    pub moves: bool,
    pub normals_move: bool,
    /// The normal class of each corner: different if corners of one point have different normals in any
    /// frame.
    corners: Option<Vec<u32>>,
}

/// A corner of a face, whose values a vertex takes.
#[derive(Clone, Copy)]
pub(crate) struct Corner {
    pub point: u32,
    pub face: u32,
    pub corner: u32,
}

impl Corner {
    pub fn from_point(point: u32) -> Corner {
        Corner { point, face: 0, corner: 0 }
    }
}

/// Triangles of each face set, as vertex indices; those of faces in no set come first.
pub(crate) type TrianglesBySet = BTreeMap<Option<u32>, Vec<u32>>;

/// Vertices of a run.
pub(crate) struct Vertices {
    /// The corner that each vertex takes its values from.
    pub list: Vec<Corner>,
    /// The vertex of each corner; `None` if points are the vertices.
    pub of_corner: Option<Vec<u32>>,
}

/// Renumbers vertices in the order in which triangles first use them; unused ones come last.
pub(crate) fn sort_by_first_use(list: &mut Vec<Corner>, parts: &mut TrianglesBySet) {
    let mut numbers = vec![u32::MAX; list.len()];
    let mut order = Vec::with_capacity(list.len());
    for vertex in parts.values_mut().flatten() {
        let number = &mut numbers[*vertex as usize];
        if *number == u32::MAX {
            *number = order.len() as u32;
            order.push(list[*vertex as usize]);
        }
        *vertex = *number;
    }
    let unused = list.iter().zip(&numbers).filter(|(_, number)| **number == u32::MAX);
    order.extend(unused.map(|(corner, _)| *corner));
    *list = order;
}

/// The first frame of a run, with all values that do not change in it.
pub(crate) struct FirstFrame {
    pub frame: MeshFrame,
    faces: Faces,
    pub usable: UsableFaces,
    pub uvs: Vec<PerCorner<[f32; 2]>>,
    pub colours: Vec<PerCorner<[f32; 4]>>,
}

impl FirstFrame {
    pub fn read(mesh: &Mesh, time: f64) -> Result<FirstFrame, Error> {
        let frame = MeshFrame::read(mesh, time)?;
        let mut faces = Faces::default();
        faces_at(mesh, time, &mut faces)?;
        let uvs = mesh.uvs.iter().map(|a| PerCorner::read(a, mesh, time)).collect::<Result<_, _>>()?;
        let colours =
            mesh.colours.iter().map(|a| PerCorner::read(a, mesh, time)).collect::<Result<_, _>>()?;
        let usable = usable_faces(&faces, frame.positions.len());
        Ok(FirstFrame { frame, faces, usable, uvs, colours })
    }

    /// Makes corners that differ in anything different vertices. Each takes the values of its first corner.
    pub fn vertices(&self, plan: &RunPlan) -> Vertices {
        let splits = plan.corners.is_some()
            || self.uvs.iter().any(PerCorner::splits)
            || self.colours.iter().any(PerCorner::splits);
        if !splits {
            let list = (0..self.frame.positions.len() as u32).map(Corner::from_point).collect();
            return Vertices { list, of_corner: None };
        }
        let mut distinct: DistinctValues<Corner, (u32, u32)> = DistinctValues::new();
        let mut vertices = vec![u32::MAX; self.faces.indices.len()];
        let mut wide: Vec<Classes> = vec![Classes::new(); self.uvs.len() + self.colours.len()];
        for &(face, first, count) in &self.usable.list {
            for corner in first..first + count {
                let point = self.faces.indices[corner as usize] as u32;
                let mut class = plan.corners.as_ref().map_or(point, |c| c[corner as usize]);
                // Each attribute splits the classes of those before it.
                let uv = self.uvs.iter().map(|a| {
                    pack(a.value(point as usize, face as usize, corner as usize).unwrap_or_default())
                });
                let colour = self.colours.iter().map(|a| {
                    pack(a.value(point as usize, face as usize, corner as usize).unwrap_or([1.0; 4]))
                });
                for (value, classes) in uv.chain(colour).zip(&mut wide) {
                    let next = classes.len() as u32;
                    class = *classes.entry((class, value)).or_insert(next);
                }
                vertices[corner as usize] = distinct.insert((point, class), Corner { point, face, corner });
            }
        }
        Vertices { list: distinct.list, of_corner: Some(vertices) }
    }

    /// Returns the triangles of all usable faces, counter-clockwise.
    pub fn triangles(&self, mesh: &Mesh, time: f64, vertices: &Vertices) -> Result<TrianglesBySet, Error> {
        let sets = face_set_indices(mesh, &self.faces, time)?;
        let mut parts = TrianglesBySet::new();
        let mut polygon = Vec::new();
        for &(face, first, count) in &self.usable.list {
            let part = parts.entry(sets[face as usize]).or_default();
            let corners = first as usize..(first + count) as usize;
            polygon.clear();
            let points = self.faces.indices[corners.clone()].iter();
            polygon.extend(points.map(|&i| self.frame.positions[i as usize]));
            let vertex = |k: u32| {
                let corner = corners.start + k as usize;
                match &vertices.of_corner {
                    Some(vertices) => vertices[corner],
                    None => self.faces.indices[corner] as u32,
                }
            };
            triangulate(&polygon, |[a, b, c]| match mesh.winding {
                Winding::CounterClockwise => part.extend([a, b, c].map(vertex)),
                Winding::Clockwise => part.extend([a, c, b].map(vertex)),
            });
        }
        Ok(parts)
    }
}

/// Positions and normals at one time.
pub(crate) struct MeshFrame {
    pub positions: Vec<[f32; 3]>,
    normals: Option<PerCorner<[f32; 3]>>,
}

impl MeshFrame {
    pub fn read(mesh: &Mesh, time: f64) -> Result<MeshFrame, Error> {
        let mut positions = Vec::new();
        positions_at(mesh, time, &mut positions)?;
        let normals = mesh.normals.as_ref().map(|a| PerCorner::read(a, mesh, time)).transpose()?;
        Ok(MeshFrame { positions, normals })
    }

    pub fn identity(&self) -> (Identity, Identity) {
        (content_identity(&self.positions), self.normals.as_ref().map_or(0, PerCorner::identity))
    }

    pub fn vertices(&self, list: &[Corner], cleaned: &mut bool) -> Vec<[f32; 3]> {
        let vertex = |c: &Corner| {
            let p = self.positions.get(c.point as usize).copied().unwrap_or_default();
            *cleaned |= !p.iter().all(|v| v.is_finite());
            p.map(finite_or_zero)
        };
        list.iter().map(vertex).collect()
    }

    /// Returns normals of vertices, of length 1 as glTF demands.
    pub fn vertex_normals(&self, list: &[Corner]) -> Option<Vec<[f32; 3]>> {
        let normals = self.normals.as_ref()?;
        let normal = |c: &Corner| {
            let n = normals.value(c.point as usize, c.face as usize, c.corner as usize).unwrap_or_default();
            let n = glam::DVec3::from_array(n.map(f64::from)).try_normalize().unwrap_or(glam::DVec3::Z);
            [n.x as f32, n.y as f32, n.z as f32]
        };
        Some(list.iter().map(normal).collect())
    }
}

/// Divides the frames into runs and finds the channels that change in each.
pub(crate) fn plan_runs(mesh: &Mesh, times: &[f64]) -> Result<Vec<RunPlan>, Error> {
    let mut plans: Vec<RunPlan> = Vec::new();
    let mut faces = Faces::default();
    let mut other = Faces::default();
    let mut last_topology = None;
    let mut points = usize::MAX;
    let mut first_identity = (0, 0);
    let constant = mesh.positions.is_constant()
        && mesh
            .normals
            .as_ref()
            .is_none_or(|n| n.values.is_constant() && n.indices.as_ref().is_none_or(|i| i.is_constant()));
    for (f, &time) in times.iter().enumerate() {
        let topology = topology_identity(mesh, time);
        let mut same = last_topology == Some(topology);
        if same
            && constant
            && let Some(plan) = plans.last_mut()
        {
            plan.end = f + 1;
            continue;
        }
        if !same {
            faces_at(mesh, time, &mut other)?;
            same = other == faces && last_topology.is_some();
            std::mem::swap(&mut faces, &mut other);
            last_topology = Some(topology);
        }
        let frame = MeshFrame::read(mesh, time)?;
        let now = frame.identity();
        if !same || frame.positions.len() != points {
            points = frame.positions.len();
            first_identity = now;
            plans.push(RunPlan { first: f, end: f, moves: false, normals_move: false, corners: None });
        }
        let Some(plan) = plans.last_mut() else {
            continue;
        };
        plan.end = f + 1;
        plan.moves |= now.0 != first_identity.0;
        let normals_moved = now.1 != first_identity.1;
        plan.normals_move |= normals_moved;
        if let Some(normals) = frame.normals.filter(|n| n.splits() && (normals_moved || plan.first == f)) {
            plan.corners = Some(split_by_normals(plan.corners.take(), &faces, points, &normals));
        }
    }
    Ok(plans)
}

/// Splits corner classes further by normals.
fn split_by_normals(
    before: Option<Vec<u32>>,
    faces: &Faces,
    points: usize,
    normals: &PerCorner<[f32; 3]>,
) -> Vec<u32> {
    let mut out = before.unwrap_or_else(|| faces.indices.iter().map(|&i| i as u32).collect());
    let mut numbers = Classes::with_capacity(points);
    for &(face, first, count) in &usable_faces(faces, points).list {
        let corners = first as usize..(first + count) as usize;
        for (corner, class) in corners.clone().zip(&mut out[corners]) {
            let point = faces.indices[corner] as usize;
            let value = pack(normals.value(point, face as usize, corner).unwrap_or_default());
            let next = numbers.len() as u32;
            *class = *numbers.entry((*class, value)).or_insert(next);
        }
    }
    out
}

fn pack<const N: usize>(values: [f32; N]) -> u128 {
    values.iter().fold(0, |all, v| all << 32 | u128::from(v.to_bits()))
}

pub(crate) fn finite_or_zero(v: f32) -> f32 {
    if v.is_nan() { 0.0 } else { v.clamp(f32::MIN, f32::MAX) }
}

/// Returns the cofactors of the linear part, which transform normals under any scale, even if there is no
/// inverse.
pub(crate) fn normal_matrix(m: &DMat4) -> DMat3 {
    let m = DMat3::from_mat4(*m);
    let cofactors =
        DMat3::from_cols(m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis), m.x_axis.cross(m.y_axis));
    if m.determinant() < 0.0 { -cofactors } else { cofactors }
}
