//! What is known of the normals of a mesh, and what is kept while a frame is made.

use crate::entropy::range::Chance;
use crate::mesh::normals::contexts::{Blocks, Contexts};
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
    /// The largest classes of items that have a bit together.
    pub(super) group_blocks: Blocks,
    pub(super) turn_blocks: Blocks,
    /// Of each block of vertices, what its turns follow.
    pub(super) turn_near: Vec<BlockNear>,
    /// Up to three groups before each group, and two vertices before each vertex, that touch it.
    pub(in crate::mesh) near_groups: Vec<[u32; 3]>,
    pub(in crate::mesh) near_vertices: Vec<[u32; 2]>,
    /// A vertex before each vertex that touches it and has the same normal.
    pub(in crate::mesh) mates: Vec<u32>,
    pub(in crate::mesh) step: f32,
    pub(in crate::mesh) turn_step: f32,
    pub(in crate::mesh) negated: bool,
    /// Whether states are packed, not range coded.
    pub(in crate::mesh) packed: bool,
    /// Vectors that are kept while a frame is computed.
    pub(in crate::mesh) vectors: usize,
    pub(in crate::mesh) chances: Contexts<Chance>,
}

/// Between which numbers the groups of a block's vertices lie, and their mates.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct BlockNear {
    pub groups: [u32; 2],
    pub mates: [u32; 2],
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
