//! Reconstructs faces of the source from triangles: the boundary of the triangles of one face is that face.
//! Lossless, except for the first corner: a face begins at its smallest point, and [`SourceMap::face_starts`]
//! gives the offset to the source's first corner. If the boundary is not a loop, the triangles stay separate;
//! such faces, and those that have no triangles, are in [`SourceMap::other_faces`]. The compiler inspects the
//! result to decide what it must store.
//!
//! ```text
//! for each face, in order:
//!     edges of its triangles that no other of them has in the opposite direction
//!     follow them from the smallest point: they form one loop if each point is the start of one edge, the loop closes, and
//!         it has two points more than there are triangles
//! ```

use crate::record::source_map::SourceMap;
use crate::sort;

/// Faces, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceFaces {
    /// The number of corners of each face.
    pub counts: Vec<u32>,
    /// The vertex of each corner, counter-clockwise.
    pub vertices: Vec<u32>,
    /// The source face of each face.
    pub faces: Vec<u32>,
    /// A triangle of each face; for `others` the material instead.
    pub origins: Vec<FaceOrigin>,
}

/// The origin of a face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaceOrigin {
    /// This triangle, and others of the same face.
    Triangle(u32),
    /// One of [`SourceMap::other_faces`], with this material.
    Other(u32),
}

/// Returns the faces that follow from triangles, by number. `map` must fit the triangles.
pub fn trace_faces(indices: &[u32], map: &SourceMap) -> SourceFaces {
    let (triangles, _) = indices.as_chunks::<3>();
    let mut order: Vec<u32> = (0..triangles.len() as u32).collect();
    sort::by_key(&mut order, |&t| map.triangle_face[t as usize]);
    let mut out = SourceFaces::default();
    let mut scratch = BoundaryLoop::default();
    let face_of = |t: u32| map.triangle_face[t as usize];
    for face in order.chunk_by(|&a, &b| face_of(a) == face_of(b)) {
        let corners = face.iter().map(|&t| triangles[t as usize]);
        if face.len() > 1 && scratch.trace(corners.clone(), &map.vertex_point) {
            out.push(&scratch.corners, face_of(face[0]), FaceOrigin::Triangle(face[0]));
        } else {
            for (&t, corners) in face.iter().zip(corners) {
                out.push(&corners, face_of(t), FaceOrigin::Triangle(t));
            }
        }
    }
    out
}

/// Returns the faces of the source, each from its first corner on.
pub fn source_faces(indices: &[u32], map: &SourceMap) -> SourceFaces {
    let found = trace_faces(indices, map);
    let mut out = SourceFaces::default();
    let mut others = map.other_faces.iter().peekable();
    let mut left_out = None;
    let mut at = 0;
    for (i, (&count, &face)) in found.counts.iter().zip(&found.faces).enumerate() {
        let own = &found.vertices[at..at + count as usize];
        at += own.len();
        while let Some(other) = others.next_if(|o| o.face <= face) {
            out.push(&other.vertices, other.face, FaceOrigin::Other(other.material));
            left_out = Some(other.face);
        }
        if left_out == Some(face) {
            continue;
        }
        let start = map.face_starts.get(i).copied().unwrap_or(0) % count;
        let (before, from) = own.split_at(start as usize);
        out.push(from, face, found.origins[i]);
        out.vertices.extend_from_slice(before);
        if let Some(last) = out.counts.last_mut() {
            *last = count;
        }
    }
    for other in others {
        out.push(&other.vertices, other.face, FaceOrigin::Other(other.material));
    }
    out
}

impl SourceFaces {
    fn push(&mut self, vertices: &[u32], face: u32, of: FaceOrigin) {
        self.counts.push(vertices.len() as u32);
        self.vertices.extend_from_slice(vertices);
        self.faces.push(face);
        self.origins.push(of);
    }
}

/// The boundary of some triangles, in points, with a vertex for each corner.
#[derive(Default)]
struct BoundaryLoop {
    /// Edges: from point, to point, and the vertex at the start; sorted.
    all: Vec<(u32, u32, u32)>,
    /// The edges that no triangle has in the opposite direction.
    edges: Vec<(u32, u32, u32)>,
    corners: Vec<u32>,
}

impl BoundaryLoop {
    /// Fills `corners`; returns `false` if the boundary is not one simple loop around all points.
    fn trace(&mut self, triangles: impl Iterator<Item = [u32; 3]>, points: &[u32]) -> bool {
        self.all.clear();
        let mut count = 0;
        for corners in triangles {
            count += 1;
            for k in 0..3 {
                let (a, b) = (corners[k], corners[(k + 1) % 3]);
                let edge = (points[a as usize], points[b as usize], a);
                self.all.push(edge);
            }
        }
        sort::unstable(&mut self.all);
        self.edges.clear();
        for &(from, to, vertex) in &self.all {
            let back = self.all.partition_point(|e| (e.0, e.1) < (to, from));
            if self.all.get(back).is_some_and(|e| (e.0, e.1) == (to, from)) {
                continue;
            }
            if self.edges.last().is_some_and(|last| last.0 == from) {
                return false;
            }
            self.edges.push((from, to, vertex));
        }
        self.corners.clear();
        let Some(&(start, mut at, vertex)) = self.edges.first() else {
            return false;
        };
        self.corners.push(vertex);
        while at != start {
            match self.edges.binary_search_by_key(&at, |e| e.0) {
                Ok(next) if self.corners.len() < self.edges.len() => {
                    self.corners.push(self.edges[next].2);
                    at = self.edges[next].1;
                }
                _ => return false,
            }
        }
        // With fewer corners, some triangles have a point inside, or fold back on themselves.
        self.corners.len() == self.edges.len() && self.corners.len() == count + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::source_map::OtherFace;

    fn map(points: &[u32], faces: &[u32]) -> SourceMap {
        SourceMap {
            points: 100,
            corners: 100,
            faces: 100,
            vertex_point: points.to_vec(),
            triangle_face: faces.to_vec(),
            ..SourceMap::default()
        }
    }

    #[test]
    fn quads_and_pentagons_come_back() {
        // A pentagon as a fan of three, a quad and a triangle, mixed in the index buffer; vertices = points.
        let indices = [0, 1, 2, 5, 6, 7, 0, 2, 3, 5, 7, 8, 0, 3, 4, 9, 10, 11];
        let mut map = map(&(0..12).collect::<Vec<_>>(), &[7, 2, 7, 2, 7, 9]);
        let faces = trace_faces(&indices, &map);
        assert_eq!(faces.counts, [4, 5, 3]);
        assert_eq!(faces.vertices, [5, 6, 7, 8, 0, 1, 2, 3, 4, 9, 10, 11]);
        assert_eq!(faces.origins, [1, 0, 5].map(FaceOrigin::Triangle));
        assert_eq!(faces, source_faces(&indices, &map));
        // From the source's first corner on, and with faces that do not follow from triangles.
        map.face_starts = vec![1, 4, 2];
        let other =
            |face, vertices: &[u32]| OtherFace { face, material: face + 1, vertices: vertices.to_vec() };
        map.other_faces = vec![other(0, &[3, 4]), other(9, &[9, 10, 11, 10]), other(12, &[])];
        let faces = source_faces(&indices, &map);
        assert_eq!(faces.counts, [2, 4, 5, 4, 0]);
        assert_eq!(faces.faces, [0, 2, 7, 9, 12]);
        let corners = [3, 4, 6, 7, 8, 5, 4, 0, 1, 2, 3, 9, 10, 11, 10];
        assert_eq!(faces.vertices, corners);
        assert_eq!(faces.origins[3], FaceOrigin::Other(10));
    }

    #[test]
    fn split_vertices_are_joined_by_their_points() {
        // Vertices 2 and 4 are the same point, seen by two triangles of one quad.
        let indices = [0, 1, 2, 0, 4, 3];
        let faces = trace_faces(&indices, &map(&[10, 11, 12, 13, 12], &[0, 0]));
        assert_eq!(faces.counts, [4]);
        assert_eq!(faces.vertices, [0, 1, 4, 3]);
    }

    #[test]
    fn what_is_no_loop_stays_triangles() {
        // Two triangles of one face that touch only in a point, and a pair that covers itself in both
        // directions.
        let indices = [0, 1, 2, 0, 3, 4, 5, 6, 7, 5, 7, 6];
        let points: Vec<u32> = (0..8).collect();
        let faces = trace_faces(&indices, &map(&points, &[0, 0, 1, 1]));
        assert_eq!(faces.counts, [3; 4]);
        assert_eq!(faces.vertices, indices);
        // A pentagon with a spike: points 0, 1, 2 lie around the others' edges, which are walked in both
        // directions.
        let indices = [4, 0, 1, 4, 1, 2, 4, 2, 0];
        assert_eq!(trace_faces(&indices, &map(&points, &[0; 3])).vertices, indices);
        // Two loops that do not touch.
        let faces = trace_faces(&[0, 1, 2, 3, 4, 5], &map(&points, &[0, 0]));
        assert_eq!(faces.counts, [3; 2]);
    }
}
