//! Streams of normals that are predicted from the decoded positions: the data that is derived from their
//! static part when a file is loaded. A decoded frame holds their states, from which the normals are computed
//! when it is shown.

use crate::reel::fixed_point::{Coded, FixedPoint};
use meshreel_codec::mesh::normals::{Built, Directions, Frame, Moment, Normals, Rest, Shape, Work};
use meshreel_codec::record::Semantic;
use meshreel_codec::topology::grid;
use meshreel_codec::{Corrupt, take_sized};
use std::sync::{Mutex, PoisonError};

/// A stream of predicted normals, or of tangent frames.
pub(crate) struct Predicted {
    pub coded: Normals,
    /// Buffers that no thread uses at the moment.
    works: Mutex<Vec<Work>>,
}

impl Predicted {
    /// Reads the static part from the start of `bytes`; returns also the number of bytes used. `uvs` holds
    /// two per vertex for tangent frames. `grid` is given if the triangles form one.
    pub fn read(
        bytes: &[u8],
        (semantic, states): (Semantic, u32),
        (indices, grid): (&[u32], Option<grid::Shape>),
        positions: &FixedPoint,
        uvs: &[[f32; 2]],
    ) -> Result<(Predicted, usize), Corrupt> {
        let (bytes, used) = take_sized(bytes)?;
        let skin = match &positions.coded {
            Coded::Skin(skin) => skin.turning_bones().map(|bones| (skin, bones)),
            Coded::Soft(_) => None,
        };
        let rest = skin.as_ref().map(|(skin, bones)| Rest { bones, rigid: skin.bones.rigid });
        let first = positions.coded.first().lent();
        let triangles = indices.as_chunks::<3>().0;
        let shape = Shape { triangles, point: &positions.places, uvs, grid, first, rest };
        let coded = Normals::read(bytes, shape)?;
        if coded.state_len() != states as usize {
            return Err(Corrupt("predicted normals: another number of states"));
        }
        if coded.has_tangents() != (semantic == Semantic::QTangent) {
            return Err(Corrupt("predicted normals: tangents where there are none"));
        }
        let predicted = Predicted { works: Mutex::default(), coded };
        let work = predicted.work();
        predicted.put_back(work);
        Ok((predicted, used))
    }

    /// Returns buffers for the normals of one moment. Allocates if other threads use all that exist.
    fn work(&self) -> Work {
        let mut works = self.works.lock().unwrap_or_else(PoisonError::into_inner);
        works.pop().unwrap_or_else(|| {
            works.reserve(1);
            self.coded.work()
        })
    }

    fn put_back(&self, work: Work) {
        let mut works = self.works.lock().unwrap_or_else(PoisonError::into_inner);
        works.push(work);
    }
}

/// The inputs from which the normals of a frame are computed.
#[derive(Clone, Copy)]
pub(crate) struct PredictedFrame<'a> {
    pub predicted: &'a Predicted,
    pub frame: Frame<'a>,
}

impl<'a> PredictedFrame<'a> {
    /// Returns this frame, or a moment between it and another one of the same stream.
    fn moment(self, next: Option<(PredictedFrame<'a>, f32)>) -> Moment<'a> {
        let own = Moment::from(self.frame);
        match next {
            Some((next, t)) => own.towards(next.frame, t),
            None => own,
        }
    }

    /// Writes the requested directions of all vertices. Panics if `out` has another size, or if it asks for
    /// tangents that the stream does not have.
    pub fn write(self, next: Option<(PredictedFrame<'a>, f32)>, out: Directions<'_>) {
        let mut work = self.predicted.work();
        self.predicted.coded.write(self.moment(next), &mut work, out);
        self.predicted.put_back(work);
    }

    /// Computes all normals and, if wanted, tangents, and passes them to `read`.
    pub fn build<T>(
        self,
        next: Option<(PredictedFrame<'a>, f32)>,
        tangents: bool,
        read: impl FnOnce(Built<'_>) -> T,
    ) -> T {
        let mut work = self.predicted.work();
        let out = read(self.predicted.coded.build(self.moment(next), tangents, &mut work));
        self.predicted.put_back(work);
        out
    }
}
