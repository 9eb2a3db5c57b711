//! Streams of normals that are predicted from the decoded positions: the data that is derived from their
//! static part when a file is loaded. A decoded frame holds their states, from which the normals are computed
//! when it is shown.

use crate::reel::fixed_point::{FixedPointStream, PositionDecoder};
use meshreel_codec::mesh::byte_budget::ByteBudget;
use meshreel_codec::mesh::normals::{
    ComputedNormals, Directions, InterpolatedFrame, MeshGeometry, NormalBuffers, Normals, NormalsFrame,
    PointBones,
};
use meshreel_codec::record::Semantic;
use meshreel_codec::topology::grid;
use meshreel_codec::{Corrupt, take_length_prefixed};
use std::sync::{Mutex, PoisonError};

/// A stream of predicted normals, or of tangent frames.
pub(crate) struct PredictedNormals {
    pub coded: Normals,
    /// Buffers that no thread uses at the moment.
    idle_works: Mutex<Vec<NormalBuffers>>,
}

impl PredictedNormals {
    /// Reads the static part from the start of `bytes`; returns also the number of bytes used. `uvs` holds
    /// two per vertex for tangent frames. `grid` is given if the triangles form one. Fails if the lists made
    /// from it exceed the budget.
    pub fn read(
        bytes: &[u8],
        (semantic, states): (Semantic, u32),
        (indices, grid): (&[u32], Option<grid::GridShape>),
        positions: &FixedPointStream,
        (uvs, budget): (&[[f32; 2]], &mut ByteBudget),
    ) -> Result<(PredictedNormals, usize), Corrupt> {
        let (bytes, used) = take_length_prefixed(bytes)?;
        let skin = match &positions.decoder {
            PositionDecoder::Skin(skin) => skin.turning_bones().map(|bones| (skin, bones)),
            PositionDecoder::Soft(_) => None,
        };
        let rest = skin.as_ref().map(|(skin, bones)| PointBones { bones, rigid: skin.bones.rigid });
        let first = positions.decoder.first().as_points();
        let triangles = indices.as_chunks::<3>().0;
        let shape =
            MeshGeometry { triangles, point: &positions.vertex_points, uvs, grid, first, point_bones: rest };
        let coded = Normals::read(bytes, shape, budget)?;
        if coded.state_len() != states as usize {
            return Err(Corrupt("predicted normals: another number of states"));
        }
        if coded.has_tangents() != (semantic == Semantic::QTangent) {
            return Err(Corrupt("predicted normals: tangents where there are none"));
        }
        let predicted = PredictedNormals { idle_works: Mutex::default(), coded };
        let work = predicted.take_work();
        predicted.return_work(work);
        Ok((predicted, used))
    }

    /// Returns buffers for the normals of one moment. Allocates if other threads use all that exist.
    fn take_work(&self) -> NormalBuffers {
        let mut works = self.idle_works.lock().unwrap_or_else(PoisonError::into_inner);
        works.pop().unwrap_or_else(|| {
            works.reserve(1);
            self.coded.buffers()
        })
    }

    fn return_work(&self, work: NormalBuffers) {
        let mut works = self.idle_works.lock().unwrap_or_else(PoisonError::into_inner);
        works.push(work);
    }
}

/// The inputs from which the normals of a frame are computed.
#[derive(Clone, Copy)]
pub(crate) struct PredictedFrame<'a> {
    pub predicted: &'a PredictedNormals,
    pub frame: NormalsFrame<'a>,
}

impl<'a> PredictedFrame<'a> {
    /// Returns this frame, or a moment between it and another one of the same stream.
    fn moment(self, next: Option<(PredictedFrame<'a>, f32)>) -> InterpolatedFrame<'a> {
        let own = InterpolatedFrame::from(self.frame);
        match next {
            Some((next, t)) => own.towards(next.frame, t),
            None => own,
        }
    }

    /// Writes the requested directions of all vertices. Panics if `out` has another size, or if it asks for
    /// tangents that the stream does not have.
    pub fn write(self, next: Option<(PredictedFrame<'a>, f32)>, out: Directions<'_>) {
        let mut work = self.predicted.take_work();
        self.predicted.coded.write(self.moment(next), &mut work, out);
        self.predicted.return_work(work);
    }

    /// Computes all normals and, if wanted, tangents, and passes them to `read`.
    pub fn build<T>(
        self,
        next: Option<(PredictedFrame<'a>, f32)>,
        tangents: bool,
        read: impl FnOnce(ComputedNormals<'_>) -> T,
    ) -> T {
        let mut work = self.predicted.take_work();
        let out = read(self.predicted.coded.build(self.moment(next), tangents, &mut work));
        self.predicted.return_work(work);
        out
    }
}
