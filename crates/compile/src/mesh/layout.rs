//! Triangles and vertices, and their order, of a mesh with constant faces.

use crate::Error;
use crate::mesh::channels;
use crate::mesh::channels::CornerClasses;
use crate::mesh::prepared::{FixedLayout, NormalOrigin, Prepared};
use crate::mesh::scan::PositionScan;
use crate::mesh::source::MeshSource;
use meshreel_codec::record::source_map::SourceMap;
use meshreel_codec::topology::grid::Grid;
use meshreel_options::{Options, Preset};
use meshreel_process::faces::vertex_faces;
use meshreel_process::materials::Assignment;
use meshreel_process::order::{self, TriangleOrder};
use meshreel_process::split::Splitter;
use meshreel_process::tangents::{Oriented, Tangents, orient};
use meshreel_process::{normals, repeats, triangulate};
use meshreel_scene::{Remark, Winding, sample};
use std::cmp::Ordering;

/// Triangles and vertices before they are ordered.
pub struct Unordered {
    /// Three vertices per triangle.
    pub triangles: Vec<[u32; 3]>,
    /// By triangle, its face in the source.
    pub faces: Vec<u32>,
    /// By triangle, its material.
    pub material: Vec<u32>,
    /// By corner of the source, its vertex.
    pub corner_vertex: Vec<u32>,
    /// The source's faces.
    pub raw: sample::Faces,
}

/// Returns groups of corners that share a generated normal, and splits corners by them.
pub fn smoothing_groups(
    prepared: &Prepared,
    corners: &mut CornerClasses,
    angle: Option<f64>,
) -> normals::SmoothingGroups {
    let mut groups = normals::SmoothingGroups::default();
    if prepared.channels.normals == NormalOrigin::Generated {
        groups = normals::smooth_groups(&prepared.scan.first, &corners.faces, angle);
        if groups.splits_points {
            corners.splitter.refine(|c| [groups.corner[c as usize]]);
        }
    }
    groups
}

/// Returns the triangles of all faces except repeated ones, and a vertex for each class of corners.
pub fn triangles(
    source: &MeshSource,
    scan: &PositionScan,
    corners: CornerClasses,
    groups: normals::SmoothingGroups,
    materials: &Assignment,
    remarks: &mut Vec<Remark>,
) -> (FixedLayout, Unordered) {
    let CornerClasses { raw, faces, face_of: corner_face, splitter } = corners;
    let mut triangles = triangulate::triangulate_faces(&scan.first, &faces, source.mesh.winding);
    if source.is_mirrored() {
        triangles.corners.iter_mut().for_each(|t| t.swap(1, 2));
    }
    let split = splitter.finish(&faces.corner_point, faces.points);
    let repeats = repeats::repeats(&faces, &split.corner_vertex, &materials.face_material);
    if !repeats.is_empty() {
        let what = format!("faces left out: {} that repeat earlier ones", repeats.len());
        remarks.push(Remark::new(&source.mesh.path, what));
        triangles.leave_out(&repeats);
    }
    let vertices = |t: &[u32; 3]| t.map(|c| split.corner_vertex[c as usize]);
    let unordered = Unordered {
        triangles: triangles.corners.iter().map(vertices).collect(),
        material: triangles.faces.iter().map(|&f| materials.face_material[f as usize]).collect(),
        faces: triangles.faces,
        corner_vertex: split.corner_vertex,
        raw,
    };
    let fixed = FixedLayout {
        vertex_face: vertex_faces(&split.vertex_corner, &corner_face),
        vertex_point: split.vertex_point,
        vertex_corner: split.vertex_corner,
        face_count: unordered.raw.counts.len(),
        faces,
        groups,
        first_points: scan.first.clone(),
        ..FixedLayout::default()
    };
    (fixed, unordered)
}

/// Splits vertices again where the bitangents of their triangles differ in sign.
pub fn orientation(
    source: &MeshSource,
    prepared: &Prepared,
    fixed: &FixedLayout,
    unordered: &mut Unordered,
) -> Result<Oriented, Error> {
    let triangles = std::mem::take(&mut unordered.triangles);
    let vertices = fixed.vertex_point.len();
    if !prepared.channels.tangents {
        return Ok(Oriented { triangles, vertex: (0..vertices as u32).collect(), signs: Vec::new() });
    }
    let values = fixed.first_values(source, prepared)?;
    let tangents = Tangents::new(triangles.clone(), values.vertices());
    Ok(orient(&triangles, &tangents.corners(values.vertices()), vertices))
}

/// Returns the order of triangles and vertices: that of a regular grid, if they form one (which is recorded
/// in `fixed`), else the one that predicts and draws best.
pub fn order(
    fixed: &mut FixedLayout,
    oriented: &Oriented,
    unordered: &Unordered,
    materials: usize,
    preset: Preset,
) -> TriangleOrder {
    let material = &unordered.material;
    if preset != Preset::Classic && material.windows(2).all(|w| w[0] == w[1]) {
        fixed.grid = find_grid(oriented, &fixed.vertex_point);
    }
    let Some(grid) = &fixed.grid else {
        return order::order_triangles(&oriented.triangles, material, materials, oriented.vertex.len());
    };
    let (count, used) = (3 * grid.triangles.len() as u32, material[0]);
    let range = |m: u32| match m.cmp(&used) {
        Ordering::Less => (0, 0),
        Ordering::Equal => (0, count),
        Ordering::Greater => (count, 0),
    };
    let vertex = point_vertex(oriented, &fixed.vertex_point);
    let number = |p: &u32| vertex[*p as usize];
    TriangleOrder {
        indices: grid.indices(),
        triangle_order: grid.triangles.clone(),
        vertex_order: grid.vertices.iter().map(number).collect(),
        ranges: (0..materials as u32).map(range).collect(),
    }
}

/// Puts triangles and vertices into their order. Returns, by vertex, the one that it was before it was
/// oriented.
pub fn reorder(
    fixed: &mut FixedLayout,
    layout: TriangleOrder,
    oriented: &Oriented,
    unordered: &Unordered,
) -> Vec<u32> {
    let from = reordered(&layout.vertex_order, &oriented.vertex);
    let order = |list: &[u32]| from.iter().map(|&v| list[v as usize]).collect::<Vec<u32>>();
    fixed.vertex_point = order(&fixed.vertex_point);
    fixed.vertex_corner = order(&fixed.vertex_corner);
    fixed.vertex_face = order(&fixed.vertex_face);
    fixed.vertex_sign =
        layout.vertex_order.iter().map(|&v| oriented.signs.get(v as usize).copied().unwrap_or(1.0)).collect();
    fixed.triangle_face = layout.triangle_order.iter().map(|&t| unordered.faces[t as usize]).collect();
    fixed.indices = layout.indices;
    fixed.ranges = layout.ranges;
    from
}

/// Adds to the source map the faces of the source that triangles do not determine. `from`: by vertex, the one
/// that it was before ordering.
pub fn source_faces(
    source: &MeshSource,
    fixed: &mut FixedLayout,
    unordered: &Unordered,
    from: &[u32],
    materials: &Assignment,
    options: &Options,
) {
    if options.strip || source.remeshed.is_some() {
        return;
    }
    let flip = (source.mesh.winding == Winding::Clockwise) != source.is_mirrored();
    let corners = channels::FaceCorners {
        vertex: &unordered.corner_vertex,
        unordered_vertex: from,
        material: &materials.face_material,
    };
    let raw = (&unordered.raw.counts[..], &unordered.raw.indices[..]);
    let map = SourceMap {
        vertex_point: fixed.vertex_point.clone(),
        triangle_face: fixed.triangle_face.clone(),
        ..SourceMap::default()
    };
    let made = (&map, &fixed.indices[..]);
    (fixed.face_starts, fixed.undetermined_faces) =
        channels::find_source_faces(made, &fixed.faces, raw, flip, corners);
}

/// Finds groups of triangles that share a tangent.
pub fn tangent_groups(
    source: &MeshSource,
    prepared: &Prepared,
    fixed: &mut FixedLayout,
) -> Result<(), Error> {
    if prepared.channels.tangents {
        let values = fixed.first_values(source, prepared)?;
        fixed.tangents = Some(Tangents::new(fixed.indices.as_chunks().0.to_vec(), values.vertices()));
    }
    Ok(())
}

/// Returns, by vertex, the first one whose position is the same in all frames; `None` if all differ.
pub fn vertex_welds(weld: Option<Splitter>, vertex_point: &[u32]) -> Option<Vec<u32>> {
    let mut representative: Vec<u32> = Vec::new();
    let of = |v: usize| {
        let point = vertex_point[v];
        weld.as_ref().map_or(point, |classes| classes.class_of(point)) as usize
    };
    let mut first = vec![u32::MAX; (0..vertex_point.len()).map(of).max().map_or(0, |m| m + 1)];
    let mut any = false;
    for v in 0..vertex_point.len() {
        let slot = &mut first[of(v)];
        match *slot {
            u32::MAX => *slot = v as u32,
            _ => any = true,
        }
        representative.push(*slot);
    }
    any.then_some(representative)
}

/// Returns the entries of `list` in the given order.
fn reordered(order: &[u32], list: &[u32]) -> Vec<u32> {
    order.iter().map(|&v| list[v as usize]).collect()
}

/// Returns the vertex of each point; every point must have one.
fn point_vertex(oriented: &Oriented, vertex_point: &[u32]) -> Vec<u32> {
    let mut out = vec![0; oriented.vertex.len()];
    for (v, &of) in (0..).zip(&oriented.vertex) {
        out[vertex_point[of as usize] as usize] = v;
    }
    out
}

/// Returns the grid that the triangles form, if they do and its vertices are the source's points, row by row.
fn find_grid(oriented: &Oriented, vertex_point: &[u32]) -> Option<Grid> {
    let mut points: Vec<u32> = (oriented.vertex.iter()).map(|&v| vertex_point[v as usize]).collect();
    let by_point = |t: &[u32; 3]| t.map(|v| points[v as usize]);
    let triangles: Vec<[u32; 3]> = oriented.triangles.iter().map(by_point).collect();
    points.sort_unstable();
    // A seam of uvs or normals gives a point several vertices.
    let once = points.iter().copied().eq(0..points.len() as u32);
    once.then(|| Grid::find(&triangles, points.len())).flatten()
}
