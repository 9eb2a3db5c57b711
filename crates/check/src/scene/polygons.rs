//! Faces of the source out of triangles: what the triangles of one face enclose is that face.

use meshreel::SourceMap;
use meshreel::record::MeshRecord;
use std::collections::HashMap;

/// Faces of a mesh. Corners refer to vertices and to points; the two are the same without a source map.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Polygons {
    /// Corners of each face.
    pub counts: Vec<i32>,
    /// Vertex of each corner, faces one after the other, counter-clockwise.
    pub vertices: Vec<u32>,
    /// Material of each face: a number in the record's list.
    pub materials: Vec<Option<u32>>,
}

/// The triangles as they are. `ranges` = first index and number of indices of each material.
pub(super) fn triangles(indices: &[u32], ranges: &[(u32, u32)]) -> Polygons {
    let count = indices.len() / 3;
    Polygons {
        counts: vec![3; count],
        vertices: indices[..3 * count].to_vec(),
        materials: triangle_materials(count, ranges),
    }
}

/// The faces of the source, in its order. Faces that enclose nothing (fewer than three corners, or no area left) are
/// gone; a face whose triangles make no single loop stays in triangles.
pub(super) fn rebuild(indices: &[u32], ranges: &[(u32, u32)], map: &SourceMap) -> Polygons {
    let (triangles, _) = indices.as_chunks::<3>();
    let materials = triangle_materials(triangles.len(), ranges);
    let mut order: Vec<usize> = (0..triangles.len()).collect();
    order.sort_by_key(|&t| map.triangle_face[t]);
    let mut out = Polygons::default();
    let mut scratch = Loop::default();
    for face in order.chunk_by(|&a, &b| map.triangle_face[a] == map.triangle_face[b]) {
        let corners = face.iter().map(|&t| triangles[t]);
        if face.len() > 1 && scratch.trace(corners.clone(), &map.vertex_point) {
            out.counts.push(scratch.corners.len() as i32);
            out.vertices.extend_from_slice(&scratch.corners);
            out.materials.push(materials[face[0]]);
        } else {
            for (&t, corners) in face.iter().zip(corners) {
                out.counts.push(3);
                out.vertices.extend_from_slice(&corners);
                out.materials.push(materials[t]);
            }
        }
    }
    out
}

/// Per point one of its vertices; 0 for a point that has none.
pub(super) fn point_vertices(record: &MeshRecord, map: &SourceMap) -> Vec<u32> {
    let mut vertices = vec![0; record.source_points as usize];
    for (vertex, &point) in map.vertex_point.iter().enumerate().rev() {
        vertices[point as usize] = vertex as u32;
    }
    vertices
}

fn triangle_materials(count: usize, ranges: &[(u32, u32)]) -> Vec<Option<u32>> {
    let mut materials = vec![None; count];
    for (m, &(first, len)) in ranges.iter().enumerate() {
        let first = first as usize / 3;
        let end = (first + len as usize / 3).min(count);
        if let Some(range) = materials.get_mut(first..end) {
            range.fill(Some(m as u32));
        }
    }
    materials
}

/// The boundary of some triangles, in points, with a vertex for each corner.
#[derive(Default)]
struct Loop {
    /// Edges that no triangle has the other way round: from point → to point, and the vertex at the start.
    edges: HashMap<u32, (u32, u32)>,
    all: Vec<(u32, u32, u32)>,
    corners: Vec<u32>,
}

impl Loop {
    /// Fills `corners`; false where the boundary is not one simple loop.
    fn trace(&mut self, triangles: impl Iterator<Item = [u32; 3]>, points: &[u32]) -> bool {
        self.all.clear();
        for corners in triangles {
            for k in 0..3 {
                let (a, b) = (corners[k], corners[(k + 1) % 3]);
                let edge = (points[a as usize], points[b as usize], a);
                self.all.push(edge);
            }
        }
        self.all.sort_unstable();
        let there = |from: u32, to: u32| {
            let at = self.all.partition_point(|e| (e.0, e.1) < (from, to));
            self.all.get(at).is_some_and(|e| (e.0, e.1) == (from, to))
        };
        self.edges.clear();
        let mut start = None;
        for &(from, to, vertex) in &self.all {
            if there(to, from) {
                continue;
            }
            if self.edges.insert(from, (to, vertex)).is_some() {
                return false;
            }
            // Begin at the corner that comes first in the vertex order, which follows from nothing but the file.
            start = Some(start.map_or(from, |s: u32| s.min(from)));
        }
        let Some(start) = start else { return false };
        self.corners.clear();
        let mut at = start;
        while let Some((next, vertex)) = self.edges.remove(&at) {
            self.corners.push(vertex);
            at = next;
        }
        at == start && self.edges.is_empty() && self.corners.len() >= 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(points: &[u32], faces: &[u32]) -> SourceMap {
        SourceMap {
            points: 100,
            corners: 100,
            faces: 100,
            vertex_point: points.to_vec(),
            vertex_corner: vec![0; points.len()],
            triangle_face: faces.to_vec(),
        }
    }

    #[test]
    fn quads_and_pentagons_come_back() {
        // A pentagon as a fan of three, a quad and a triangle, mixed up in the index buffer; vertices = points.
        let indices = [0, 1, 2, 5, 6, 7, 0, 2, 3, 5, 7, 8, 0, 3, 4, 9, 10, 11];
        let map = map(&(0..12).collect::<Vec<_>>(), &[7, 2, 7, 2, 7, 9]);
        let faces = rebuild(&indices, &[(0, 12), (12, 6)], &map);
        assert_eq!(faces.counts, [4, 5, 3]);
        assert_eq!(faces.vertices, [5, 6, 7, 8, 0, 1, 2, 3, 4, 9, 10, 11]);
        assert_eq!(faces.materials, [Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn split_vertices_are_joined_by_their_points() {
        // Vertices 2 and 4 are the same point, seen by two triangles of one quad.
        let indices = [0, 1, 2, 0, 4, 3];
        let faces = rebuild(&indices, &[], &map(&[10, 11, 12, 13, 12], &[0, 0]));
        assert_eq!(faces.counts, [4]);
        assert_eq!(faces.vertices, [0, 1, 4, 3]);
        assert_eq!(faces.materials, [None]);
    }

    #[test]
    fn what_is_no_loop_stays_triangles() {
        // Two triangles of one face that touch in a point only, and a pair that covers itself both ways.
        let indices = [0, 1, 2, 0, 3, 4, 5, 6, 7, 5, 7, 6];
        let faces = rebuild(
            &indices,
            &[],
            &map(&(0..8).collect::<Vec<_>>(), &[0, 0, 1, 1]),
        );
        assert_eq!(faces.counts, [3; 4]);
        assert_eq!(faces.vertices, indices);
    }
}
