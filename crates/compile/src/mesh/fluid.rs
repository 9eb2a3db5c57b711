//! Frames of a mesh whose faces change: each is triangulated, split and laid out separately.

use crate::Error;
use crate::mesh::layout::{FaceCorners, face_sets, find_source_faces};
use crate::mesh::prepared::{NormalOrigin, Prepared};
use crate::mesh::source::MeshSource;
use crate::mesh::streams::{RequestedValues, Scratch, VertexOrigins, VertexValues, fill_channels};
use meshreel_codec::record::source_map::SourceMap;
use meshreel_options::Options;
use meshreel_process::attributes::ExpandedAttribute;
use meshreel_process::faces::{Faces, corner_faces, vertex_faces};
use meshreel_process::split::Splitter;
use meshreel_process::tangents::{Oriented, Tangents, orient};
use meshreel_process::{materials, normals, order, triangulate};
use meshreel_scene::{Attribute, Winding, sample};
use std::collections::HashMap;

/// One frame, ready to be quantized.
#[derive(Default)]
pub struct FluidFrame {
    /// Values of all vertices.
    pub values: VertexValues,
    /// Three vertices per triangle.
    pub indices: Vec<u32>,
    /// First index and number of indices of each material of the mesh.
    pub ranges: Vec<(u32, u32)>,
    /// The number of points in the source.
    pub points: usize,
}

/// Triangles and vertices of a frame, in the order of the source.
pub struct FrameLayout {
    /// Vertices of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// By triangle, its material's number in the mesh.
    pub material: Vec<u32>,
    /// By vertex, its point, one of its corners, and that corner's face.
    pub point: Vec<u32>,
    corner: Vec<u32>,
    face: Vec<u32>,
    /// By vertex, the sign of its bitangent, if tangents are kept.
    sign: Vec<f32>,
    faces: Faces,
    groups: normals::SmoothingGroups,
    /// The number of points in the source.
    pub points: usize,
    /// By triangle, its face.
    triangle_face: Vec<u32>,
    /// The faces of the source, invalid ones included.
    raw: sample::Faces,
    face_material: Vec<u32>,
    /// Vertices before tangents split them: by corner of the source its vertex, and by vertex the one it was
    /// split from.
    corner_vertex: Vec<u32>,
    split_from: Vec<u32>,
    /// `true` if the faces are wound opposite to the triangles.
    flip: bool,
}

/// Lays out `frame` and puts it into an order of its own.
pub fn evaluate(
    source: &MeshSource,
    prepared: &Prepared,
    frame: usize,
    options: &Options,
    scratch: &mut Scratch,
) -> Result<FluidFrame, Error> {
    let laid = lay_out(source, prepared, (frame, frame), options, scratch)?;
    let layout =
        order::order_triangles(&laid.triangles, &laid.material, prepared.materials.len(), laid.point.len());
    let order = &layout.vertex_order;
    Ok(FluidFrame {
        values: laid.values(source, prepared, frame, order, &layout.indices, scratch)?,
        indices: layout.indices,
        ranges: layout.ranges,
        points: laid.points,
    })
}

/// Returns the triangles and vertices of `frame`; the shape in `lead`, the first frame of its run, determines
/// the triangulation and the smoothing groups. Leaves the points of `frame` in `scratch`.
pub fn lay_out(
    source: &MeshSource,
    prepared: &Prepared,
    (lead, frame): (usize, usize),
    options: &Options,
    scratch: &mut Scratch,
) -> Result<FrameLayout, Error> {
    let mesh = &*source.mesh;
    let time = source.times[frame];
    scratch.read(source, lead, &[])?;
    let mut raw = sample::Faces::default();
    sample::faces_at(mesh, time, &mut raw)?;
    let faces = Faces::new(&raw.counts, &raw.indices, scratch.points().len());
    let corner_face = corner_faces(&faces);
    let groups = match prepared.channels.normals {
        NormalOrigin::Generated => normals::smooth_groups(scratch.object(), &faces, options.smooth_angle),
        _ => normals::SmoothingGroups::default(),
    };
    let splitter = corner_splits(source, prepared, time, (&faces, &corner_face), &groups)?;
    let mut triangles = triangulate::triangulate_faces(scratch.object(), &faces, mesh.winding);
    if source.is_mirrored() {
        triangles.corners.iter_mut().for_each(|t| t.swap(1, 2));
    }
    if lead != frame {
        scratch.read(source, frame, &[])?;
        if scratch.points().len() != faces.points {
            let what = format!("{}: frames {lead} and {frame} have other points", mesh.path);
            return Err(Error::Malformed { what });
        }
    }
    let split = splitter.finish(&faces.corner_point, faces.points);
    let face = vertex_faces(&split.vertex_corner, &corner_face);
    let origin = VertexOrigins {
        point: &split.vertex_point,
        corner: &split.vertex_corner,
        face: &face,
        faces: &faces,
        groups: &groups,
    };
    let by_vertex: Vec<[u32; 3]> =
        triangles.corners.iter().map(|t| t.map(|c| split.corner_vertex[c as usize])).collect();
    let oriented = split_for_tangents(source, prepared, frame, by_vertex, origin, scratch)?;
    let face_material = face_materials(source, prepared, time, raw.counts.len())?;
    let of = |list: &[u32]| -> Vec<u32> {
        let vertices = oriented.vertex.iter();
        vertices.map(|&v| list[v as usize]).collect()
    };
    Ok(FrameLayout {
        point: of(&split.vertex_point),
        corner: of(&split.vertex_corner),
        face: of(&face),
        sign: oriented.signs,
        triangles: oriented.triangles,
        material: triangles.faces.iter().map(|&f| face_material[f as usize]).collect(),
        faces,
        groups,
        points: scratch.points().len(),
        triangle_face: triangles.faces,
        raw,
        face_material,
        corner_vertex: split.corner_vertex,
        split_from: oriented.vertex,
        flip: (mesh.winding == Winding::Clockwise) != source.is_mirrored(),
    })
}

/// Splits points into vertices where uvs, colours or normals of their corners differ.
fn corner_splits(
    source: &MeshSource,
    prepared: &Prepared,
    time: f64,
    (faces, corner_face): (&Faces, &[u32]),
    groups: &normals::SmoothingGroups,
) -> Result<Splitter, Error> {
    let mesh = &*source.mesh;
    let mut splitter = Splitter::new(&faces.corner_point);
    for set in &prepared.channels.uvs {
        refine(&mut splitter, (&mesh.uvs[set.source], source.uv_seam), source, time, corner_face)?;
    }
    for set in &prepared.channels.colours {
        refine(&mut splitter, (&mesh.colours[set.source], 0.0), source, time, corner_face)?;
    }
    match (prepared.channels.normals, &mesh.normals) {
        (NormalOrigin::Source, Some(attribute)) => {
            refine(&mut splitter, (attribute, 0.0), source, time, corner_face)?;
        }
        (NormalOrigin::Generated, _) => {
            splitter.refine(|c| [groups.corner[c as usize]]);
        }
        _ => {}
    }
    Ok(splitter)
}

/// Returns the triangles, with vertices split again where the bitangents of their corners differ in sign, if
/// tangents are kept.
fn split_for_tangents(
    source: &MeshSource,
    prepared: &Prepared,
    frame: usize,
    triangles: Vec<[u32; 3]>,
    origin: VertexOrigins<'_>,
    scratch: &Scratch,
) -> Result<Oriented, Error> {
    let vertices = origin.point.len();
    if !prepared.channels.tangents {
        return Ok(Oriented { triangles, vertex: (0..vertices as u32).collect(), signs: Vec::new() });
    }
    let mut values = VertexValues::default();
    fill_channels(source, prepared, frame, requested_values(prepared), scratch, origin, &mut values)?;
    let tangents = Tangents::new(triangles.clone(), values.vertices());
    Ok(orient(&triangles, &tangents.corners(values.vertices()), vertices))
}

/// Returns the material of each face of the source, as a number in the mesh.
fn face_materials(
    source: &MeshSource,
    prepared: &Prepared,
    time: f64,
    faces: usize,
) -> Result<Vec<u32>, Error> {
    let sets = face_sets(&source.mesh, time)?;
    let assignment = materials::assign(sets.iter().map(|(n, f)| (n.as_str(), f.as_slice())), faces);
    let known = &prepared.materials;
    let number = |name: &str| known.iter().position(|all| all.name == name).unwrap_or(known.len() - 1) as u32;
    let numbers: Vec<u32> = assignment.materials.iter().map(|m| number(&m.name)).collect();
    Ok(assignment.face_material.iter().map(|&m| numbers[m as usize]).collect())
}

fn requested_values(prepared: &Prepared) -> RequestedValues {
    RequestedValues { normals: prepared.channels.normals != NormalOrigin::None, ..RequestedValues::all() }
}

impl FrameLayout {
    /// Returns the source map of the vertices in `order`, whose triangles are `indices`.
    pub fn source_map(&self, order: &[u32], indices: &[u32]) -> SourceMap {
        let turned = |t: [u32; 3]| {
            let first = (0..3).min_by_key(|&k| t[k]).unwrap_or(0);
            [t[first], t[(first + 1) % 3], t[(first + 2) % 3]]
        };
        let mut faces: HashMap<[u32; 3], Vec<u32>> = HashMap::new();
        for (&t, &face) in self.triangles.iter().zip(&self.triangle_face).rev() {
            faces.entry(turned(t)).or_default().push(face);
        }
        let face = |t: &[u32; 3]| {
            let of = faces.get_mut(&turned(t.map(|v| order[v as usize])));
            of.and_then(Vec::pop).unwrap_or(0)
        };
        let of = |list: &[u32]| -> Vec<u32> { order.iter().map(|&v| list[v as usize]).collect() };
        let mut map = SourceMap {
            points: self.points as u32,
            corners: self.raw.indices.len() as u32,
            faces: self.raw.counts.len() as u32,
            vertex_point: of(&self.point),
            triangle_face: indices.as_chunks::<3>().0.iter().map(face).collect(),
            ..SourceMap::default()
        };
        let corners = FaceCorners {
            vertex: &self.corner_vertex,
            unordered_vertex: &of(&self.split_from),
            material: &self.face_material,
        };
        let raw = (&self.raw.counts[..], &self.raw.indices[..]);
        (map.face_starts, map.other_faces) =
            find_source_faces((&map, indices), &self.faces, raw, self.flip, corners);
        map
    }

    /// Returns the values of `frame`, whose points are in `scratch`, for the vertices in `order` that
    /// `indices` refer to.
    pub fn values(
        &self,
        source: &MeshSource,
        prepared: &Prepared,
        frame: usize,
        order: &[u32],
        indices: &[u32],
        scratch: &Scratch,
    ) -> Result<VertexValues, Error> {
        let of = |list: &[u32]| -> Vec<u32> { order.iter().map(|&v| list[v as usize]).collect() };
        let (point, corner, face) = (of(&self.point), of(&self.corner), of(&self.face));
        let origin = VertexOrigins {
            point: &point,
            corner: &corner,
            face: &face,
            faces: &self.faces,
            groups: &self.groups,
        };
        let mut out = VertexValues::default();
        let want = requested_values(prepared);
        fill_channels(source, prepared, frame, want, scratch, origin, &mut out)?;
        if prepared.channels.tangents {
            let sign = |&v: &u32| self.sign.get(v as usize).copied().unwrap_or(1.0);
            let sign: Vec<f32> = order.iter().map(sign).collect();
            let tangents = Tangents::new(indices.as_chunks().0.to_vec(), out.vertices());
            out.tangents = tangents.vertices(out.vertices(), &sign);
        }
        Ok(out)
    }
}

fn refine<const N: usize>(
    splitter: &mut Splitter,
    (attribute, within): (&Attribute<[f32; N]>, f32),
    source: &MeshSource,
    time: f64,
    corner_face: &[u32],
) -> Result<(), Error>
where
    [f32; N]: sample::Lerp + Default,
{
    let mut values = sample::AttributeValues::default();
    sample::attribute_at(attribute, &source.mesh, time, &mut values)?;
    let expand = ExpandedAttribute::new(attribute.scope, &values.values, values.indices.as_deref());
    if expand.can_split() {
        splitter.refine_within(|c| expand.corner_value(c, corner_face[c as usize], 0), within);
    }
    Ok(())
}
