//! The decoded static part of a mesh's normals, and the buffers for computing a frame.

use crate::mesh::normals::arranged_points::ArrangedPoints;
use crate::mesh::normals::coding::StateCoding;
use crate::mesh::normals::surface::Surface;
use crate::mesh::normals::tangents::Tangents;
use crate::mesh::normals::turned::TurnedVectors;

/// The decoded static part of a mesh's normals.
#[derive(Debug, Clone, PartialEq)]
pub struct Normals {
    pub(in crate::mesh) surface: Surface,
    pub(in crate::mesh) tangents: Option<Tangents>,
    /// The vectors at rest, if bones turn them; polygons are then not used.
    pub(in crate::mesh) turned: Option<TurnedVectors>,
    /// The group of each vertex.
    pub(in crate::mesh) group: Vec<u32>,
    /// The state of each group, then the turn of each vertex.
    pub(in crate::mesh) base: Vec<i16>,
    /// The class of each group, then of each vertex.
    pub(in crate::mesh) classes: Vec<u8>,
    /// For each vertex, an earlier one that touches it and has the same normal.
    pub(in crate::mesh) mates: Vec<u32>,
    pub(in crate::mesh) step: f32,
    pub(in crate::mesh) turn_step: f32,
    pub(in crate::mesh) negated: bool,
    /// `true` if states are packed, not entropy coded.
    pub(in crate::mesh) packed: bool,
    /// The number of vectors stored while a frame is computed.
    pub(in crate::mesh) vectors: usize,
    /// The coding of states; empty if they are packed.
    pub(in crate::mesh) coding: StateCoding,
}

/// Buffers for computing a frame.
#[derive(Debug, Clone, Default)]
pub struct NormalBuffers {
    /// The points of the moment.
    pub(super) arranged: ArrangedPoints,
    /// Vectors of large polygons and sums; the first sixteen are zero. If bones turn normals, their
    /// rotations.
    pub(in crate::mesh) vectors: Vec<[f32; 4]>,
    /// The normal of each group.
    pub(in crate::mesh) normals: Vec<[f32; 4]>,
    /// The tangent of each class.
    pub(in crate::mesh) tangents: Vec<[f32; 4]>,
}

/// The outputs for all vertices; `None` if not requested.
#[derive(Debug, Default)]
pub struct Directions<'a> {
    /// Unit normals.
    pub normals: Option<&'a mut [[f32; 3]]>,
    /// Unit tangents, and the signs of bitangents.
    pub tangents: Option<&'a mut [[f32; 4]]>,
}
