//! Rebuilds the source's faces from triangles: a face is what its triangles enclose.

use meshreel::SourceMap;
use meshreel::raw::record::MeshRecord;
use meshreel::raw::record::source_faces::{FaceOrigin, source_faces};

/// The form of extracted faces, for a file that has the source map of its meshes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaceForm {
    /// The source's faces.
    #[default]
    Source,
    /// The file's own triangles, for formats without other faces: polygons may be triangulated again in
    /// another way, which is another surface if they are not flat.
    Triangles,
}

/// Faces of a mesh. Corners refer to vertices and to points; the two are the same without a source map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ExtractedFaces {
    /// Corners of each face.
    pub counts: Vec<i32>,
    /// Vertex of each corner, faces one after the other, counter-clockwise.
    pub vertices: Vec<u32>,
    /// Material of each face: a number in the record's list.
    pub materials: Vec<Option<u32>>,
}

/// Returns the triangles as faces. `ranges`: first index and number of indices of each material.
pub(super) fn triangles(indices: &[u32], ranges: &[(u32, u32)]) -> ExtractedFaces {
    let count = indices.len() / 3;
    ExtractedFaces {
        counts: vec![3; count],
        vertices: indices[..3 * count].to_vec(),
        materials: triangle_materials(count, ranges),
    }
}

/// Returns the source's faces, in its order, each starting at its first corner.
pub(super) fn rebuild(indices: &[u32], ranges: &[(u32, u32)], map: &SourceMap) -> ExtractedFaces {
    let materials = triangle_materials(indices.len() / 3, ranges);
    let faces = source_faces(indices, map);
    let material = |of: &FaceOrigin| match *of {
        FaceOrigin::Triangle(t) => materials.get(t as usize).copied().flatten(),
        FaceOrigin::Other(material) => Some(material).filter(|m| (*m as usize) < ranges.len()),
    };
    ExtractedFaces {
        counts: faces.counts.iter().map(|&n| n as i32).collect(),
        materials: faces.origins.iter().map(material).collect(),
        vertices: faces.vertices,
    }
}

/// Returns one vertex of each point; 0 for a point that has none.
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
