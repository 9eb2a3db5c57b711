//! From vertices back to the source (HOUSE §8.1): strippable, counted apart.

use crate::Corrupt;

/// Of one mesh with fixed topology.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMap {
    /// Points, corners and faces of the source mesh.
    pub points: u32,
    /// Sum of the face counts.
    pub corners: u32,
    /// Faces.
    pub faces: u32,
    /// Per vertex its source point.
    pub vertex_point: Vec<u32>,
    /// Per vertex one source corner (in the file's own order) whose attributes it has; u32::MAX for a point without face.
    pub vertex_corner: Vec<u32>,
    /// Per triangle its source face.
    pub triangle_face: Vec<u32>,
}

/// Appends the map to `out` (delta + byte planes; the chunk is block-compressed by the caller).
pub fn encode(_map: &SourceMap, _out: &mut Vec<u8>) {
    todo!()
}
/// Reads a map from the start of `bytes`; allocates no more than the bytes justify. Returns the bytes used.
pub fn decode(_bytes: &[u8]) -> Result<(SourceMap, usize), Corrupt> {
    todo!()
}
