//! The static data of a file's meshes in memory: indices, predictor tables, static streams, bases of animated
//! ones. Read by [`crate::decode`].

use crate::reel::fixed_point::FixedPointStream;
use crate::reel::frame::FrameData;
use crate::reel::normals::PredictedNormals;
use crate::reel::quantized::QuantizedBuffer;
use crate::reel::{lod, visibility};
use meshreel_codec::record::{ParticlesRecord, StreamRecord};
use meshreel_codec::values::parallelogram::PredictorTable;
use meshreel_codec::values::particles::point_set::PointSet;
use meshreel_format::checksum;
use std::sync::Arc;

/// The static data of all meshes, in their order.
#[derive(Clone)]
pub(crate) struct Statics {
    /// Equal meshes of several files of a player are shared.
    pub meshes: Vec<Arc<StaticMesh>>,
    /// The buffer of a frame in which meshes are in their start state, and one of the end state; empty if no
    /// mesh has such a state.
    pub end_states: Arc<[Vec<u64>; 2]>,
}

/// The static data of one mesh; empty for fluid ones.
#[derive(Default)]
pub(crate) struct StaticMesh {
    /// The bytes it was made from, by which equal meshes of other files are found.
    pub key: StaticMeshKey,
    pub indices: Vec<u32>,
    /// The point of each vertex, until values are read; empty if `indices` do not bring it.
    pub vertex_point: Vec<u32>,
    /// The ids or curves of points without faces.
    pub point_set: PointSet,
    /// LOD levels beside the mesh itself.
    pub lods: Vec<lod::LodLevel>,
    /// The visibility of its triangles, if not all are always visible.
    pub visibility: Option<visibility::TriangleVisibility>,
    pub predictor_table: PredictorTable,
    /// Per stream its values (static) or those of the first frame (animated). Empty for fixed-point streams
    /// and predicted ones.
    pub streams: Vec<QuantizedBuffer>,
    /// Per fixed-point stream its parts.
    pub fixed_point: Vec<Vec<FixedPointStream>>,
    /// Per stream of predicted normals its predictor.
    pub normals: Vec<Option<Box<PredictedNormals>>>,
    /// Per stream the number of its bytes at the end of the key's values.
    pub stream_bytes: Vec<u32>,
}

/// The bytes and counts that determine everything in a [`StaticMesh`].
#[derive(Default, PartialEq)]
pub(crate) struct StaticMeshKey {
    /// The numbers of vertices and points, and whether there is a table.
    pub counts: (u32, u32, bool),
    pub streams: Vec<StreamRecord>,
    pub particles: Option<ParticlesRecord>,
    pub connectivity: Vec<u8>,
    pub values: Vec<u8>,
    pub lods: Vec<u8>,
    pub visibility: Vec<u8>,
}

impl StaticMeshKey {
    /// Returns a hash that is equal for equal meshes, and hardly ever for others.
    pub fn hash(&self) -> u64 {
        let sums = [checksum(&self.connectivity), checksum(&self.values)];
        checksum(bytemuck::cast_slice(&sums))
    }
}

impl<'a> FrameData<'a> {
    /// Returns the buffer that holds a mesh as this frame shows it: this one, or that of the mesh's end
    /// state.
    pub fn for_mesh(self, statics: &'a Statics, mesh: usize) -> FrameData<'a> {
        match self.end_state(mesh) {
            None => self,
            Some(still) => FrameData { words: &statics.end_states[still as usize], ..self },
        }
    }
}
