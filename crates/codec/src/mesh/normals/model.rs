//! What is known of the normals of a mesh, and what is kept while a frame is made.

use crate::mesh::normals::coding::Coding;
use crate::mesh::normals::places::Laid;
use crate::mesh::normals::surface::Surface;
use crate::mesh::normals::tangents::Tangents;
use crate::mesh::normals::turned::Turned;

/// Static part of the normals of a mesh, made from its bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Normals {
    pub(in crate::mesh) surface: Surface,
    pub(in crate::mesh) tangents: Option<Tangents>,
    /// What is turned by bones, where no polygon is looked at in a frame.
    pub(in crate::mesh) turned: Option<Turned>,
    /// Group of each vertex.
    pub(in crate::mesh) group: Vec<u32>,
    /// State of each group, then turn of each vertex.
    pub(in crate::mesh) base: Vec<i16>,
    /// Class of each group, then of each vertex.
    pub(in crate::mesh) classes: Vec<u8>,
    /// A vertex before each vertex that touches it and has the same normal.
    pub(in crate::mesh) mates: Vec<u32>,
    pub(in crate::mesh) step: f32,
    pub(in crate::mesh) turn_step: f32,
    pub(in crate::mesh) negated: bool,
    /// Whether states are packed, not coded.
    pub(in crate::mesh) packed: bool,
    /// Vectors that are kept while a frame is computed.
    pub(in crate::mesh) vectors: usize,
    /// How states are coded; nothing where they are packed.
    pub(in crate::mesh) coding: Coding,
}

/// Buffers of the frame that is built.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// Points of the moment.
    pub(super) laid: Laid,
    /// Of large polygons and sums; the first sixteen are zero. Where bones turn normals, the rotations of these.
    pub(in crate::mesh) vectors: Vec<[f32; 4]>,
    /// Per group.
    pub(in crate::mesh) normals: Vec<[f32; 4]>,
    /// Per class of tangents.
    pub(in crate::mesh) tangents: Vec<[f32; 4]>,
}

/// What is written of all vertices.
#[derive(Debug, Default)]
pub struct Directions<'a> {
    /// Unit normals.
    pub normals: Option<&'a mut [[f32; 3]]>,
    /// Unit tangents, and the signs of bitangents.
    pub tangents: Option<&'a mut [[f32; 4]]>,
}
