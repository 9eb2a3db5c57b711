//! The surfaces of a mesh: its parts by material, and their triangles as Godot winds them.
//!
//! Files have triangles that are counter-clockwise seen from outside; in Godot front faces are clockwise. So
//! the second and third vertex of each triangle change places.

use super::vertices::{Primitive, primitive};
use meshreel::MeshFrame;
use std::ops::Range;

/// The part of a mesh that has one material.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurfacePart {
    /// The index of the material in the mesh's record; `None` for points and curves.
    pub material: Option<usize>,
    /// The vertices that it uses; `None` for all of a mesh whose faces change.
    pub vertices: Option<Range<usize>>,
}

impl SurfacePart {
    /// Returns the name of its material in the source; empty if it has none.
    pub fn material_name<'a>(&self, mesh: &MeshFrame<'a>) -> &'a str {
        let materials = &mesh.record().materials;
        self.material.and_then(|number| materials.get(number)).map_or("", |material| &material.name)
    }

    /// Returns the range of its vertices in a mesh that has so many.
    pub fn range(&self, vertex_count: usize) -> Range<usize> {
        match &self.vertices {
            Some(range) => range.start.min(vertex_count)..range.end.min(vertex_count),
            None => 0..vertex_count,
        }
    }
}

/// A level of detail of a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceLod {
    /// The largest distance to the mesh itself, in the mesh's own space.
    pub error: f32,
    /// Its triangles, between the same vertices.
    pub indices: Vec<u32>,
}

/// Returns `true` if anything of a mesh changes but its place.
pub fn changes(mesh: &MeshFrame<'_>) -> bool {
    mesh.is_fluid() || mesh.record().streams.iter().any(|stream| stream.animated)
}

/// Returns the parts of a mesh. A material without triangles has none, unless faces change.
pub fn parts(mesh: &MeshFrame<'_>) -> Vec<SurfacePart> {
    if mesh.record().particles.is_some() {
        return vec![SurfacePart { material: None, vertices: None }];
    }
    let part = |material: usize| {
        let vertices = match mesh.is_fluid() {
            true => None,
            false => Some(used_vertices(mesh, material)?),
        };
        Some(SurfacePart { material: Some(material), vertices })
    };
    (0..mesh.record().materials.len()).filter_map(part).collect()
}

/// Returns the range of vertices between which the triangles of a material lie, in all levels of detail.
fn used_vertices(mesh: &MeshFrame<'_>, material: usize) -> Option<Range<usize>> {
    let mut range: Option<Range<usize>> = None;
    for level in 0..mesh.lod_count() {
        let lod = mesh.lod(level);
        for index in level_indices(lod.indices, lod.materials.get(material)) {
            let index = *index as usize;
            range = Some(range.map_or(index..index + 1, |r| r.start.min(index)..r.end.max(index + 1)));
        }
    }
    range
}

fn level_indices<'a>(indices: &'a [u32], range: Option<&meshreel::view::IndexRange>) -> &'a [u32] {
    let Some(range) = range else { return &[] };
    let (first, count) = (range.first as usize, range.count as usize);
    indices.get(first..first.saturating_add(count)).unwrap_or(&[])
}

/// Returns the indices of a part, from its first vertex on: triangles as Godot winds them, pairs of points of
/// curves, none for points.
pub fn indices(mesh: &MeshFrame<'_>, part: &SurfacePart) -> Vec<u32> {
    let start = part.vertices.as_ref().map_or(0, |range| range.start as u32);
    match (part.material, primitive(mesh)) {
        (Some(material), _) => clockwise(mesh.material_indices(material).unwrap_or(&[]), start),
        (None, Primitive::Lines) => line_indices(mesh.curves()),
        (None, _) => Vec::new(),
    }
}

/// Returns the levels of detail of a part, beside the mesh itself. Those without triangles are left out.
pub fn lods(mesh: &MeshFrame<'_>, part: &SurfacePart) -> Vec<SurfaceLod> {
    let (Some(material), Some(range)) = (part.material, &part.vertices) else { return Vec::new() };
    let level = |level: usize| {
        let lod = mesh.lod(level);
        let indices = clockwise(level_indices(lod.indices, lod.materials.get(material)), range.start as u32);
        SurfaceLod { error: lod.error, indices }
    };
    (1..mesh.lod_count()).map(level).filter(|lod| !lod.indices.is_empty()).collect()
}

/// Returns triangles whose second and third vertices have changed places, counted from vertex `start`.
fn clockwise(triangles: &[u32], start: u32) -> Vec<u32> {
    let (triangles, _) = triangles.as_chunks::<3>();
    triangles.iter().flat_map(|[a, b, c]| [a - start, c - start, b - start]).collect()
}

/// Returns pairs of neighbours on each curve.
fn line_indices(curves: &[u32]) -> Vec<u32> {
    let mut out = Vec::new();
    let mut first = 0;
    for &count in curves {
        out.extend((first + 1..first + count).flat_map(|second| [second - 1, second]));
        first += count;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangles_become_clockwise() {
        assert_eq!(clockwise(&[4, 5, 6, 4, 6, 7], 4), [0, 2, 1, 0, 3, 2]);
    }

    #[test]
    fn curves_are_lines_between_neighbours() {
        assert_eq!(line_indices(&[3, 1, 0, 2]), [0, 1, 1, 2, 4, 5]);
    }
}
