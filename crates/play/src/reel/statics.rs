//! What a file's meshes have that no frame changes, as it is held: indices, predictor tables, static streams,
//! bases of animated ones. Read by [`crate::decode`].

use crate::reel::fixed_point::FixedPoint;
use crate::reel::frame::Frame;
use crate::reel::normals::Predicted;
use crate::reel::quantized::QuantizedBuffer;
use crate::reel::{lod, visibility};
use meshreel_codec::record::StreamRecord;
use meshreel_codec::values::parallelogram::Table;
use meshreel_format::checksum;
use std::sync::Arc;

/// Static data of all meshes, in their order.
#[derive(Clone)]
pub(crate) struct Statics {
    /// Equal meshes of several files of a player are one and the same.
    pub meshes: Vec<Arc<StaticMesh>>,
    /// A frame's buffer of the meshes that do not move at their start, and one of those at their end; empty
    /// where there are none.
    pub end_states: Arc<[Vec<u64>; 2]>,
}

/// Static data of one mesh; empty for fluid ones.
#[derive(Default)]
pub(crate) struct StaticMesh {
    /// The bytes it was made of, by which equal meshes of other files are found.
    pub made_of: MadeOf,
    pub indices: Vec<u32>,
    /// LOD levels beside the mesh itself.
    pub lods: Vec<lod::LodLevel>,
    /// Its triangles by when they are drawn, where not all always are.
    pub visibility: Option<visibility::TriangleVisibility>,
    pub table: Table,
    /// Per stream its values (static) or those of the first frame (animated). Nothing for fixed-point streams
    /// and predicted ones.
    pub streams: Vec<QuantizedBuffer>,
    /// Per fixed-point stream its parts.
    pub fixed_point: Vec<Vec<FixedPoint>>,
    /// Per stream of predicted normals what predicts them.
    pub normals: Vec<Option<Box<Predicted>>>,
}

/// The bytes and counts that determine all that a [`StaticMesh`] holds.
#[derive(Default, PartialEq)]
pub(crate) struct MadeOf {
    /// Vertices, points, and whether there is a table.
    pub counts: (u32, u32, bool),
    pub streams: Vec<StreamRecord>,
    pub connectivity: Vec<u8>,
    pub values: Vec<u8>,
    pub lods: Vec<u8>,
    pub drawn: Vec<u8>,
}

impl MadeOf {
    /// Equal for equal meshes, and hardly ever for others.
    pub fn hash(&self) -> u64 {
        let sums = [checksum(&self.connectivity), checksum(&self.values)];
        checksum(bytemuck::cast_slice(&sums))
    }
}

impl<'a> Frame<'a> {
    /// The buffer that holds a mesh as this frame shows it: this one, or that of the mesh's end state.
    pub fn of(self, statics: &'a Statics, mesh: usize) -> Frame<'a> {
        match self.end_state(mesh) {
            None => self,
            Some(still) => Frame { words: &statics.end_states[still as usize], ..self },
        }
    }
}
