//! Streams of normals that are predicted from the decoded positions: what is made of their static part when a
//! file is loaded, and the frames of a unit. In a decoded frame they are levels like any other normals.

use crate::reel::fixed_point::FixedPoint;
use meshreel_codec::mesh::normals::surface::Place as Place3;
use meshreel_codec::mesh::normals::{Normals, Shape, Work};
use meshreel_codec::record::Semantic;
use meshreel_codec::{Corrupt, each_width, take_sized};
use std::sync::{Mutex, PoisonError};

/// A stream of predicted normals, or of tangent frames.
pub(crate) struct Predicted {
    pub(crate) coded: Normals,
    semantic: Semantic,
    bits: u32,
    uvs: Vec<[f32; 2]>,
    /// Buffers that no thread uses at the moment.
    works: Mutex<Vec<Work>>,
}

impl Predicted {
    /// Reads the static part from the start of `bytes`; also the bytes used. `uvs` of tangent frames: two per
    /// vertex.
    pub fn read(
        bytes: &[u8],
        (semantic, bits, states): (Semantic, u32, u32),
        indices: &[u32],
        positions: &FixedPoint,
        uvs: Vec<[f32; 2]>,
    ) -> Result<(Predicted, usize), Corrupt> {
        let (bytes, used) = take_sized(bytes)?;
        let shape = Shape { triangles: indices.as_chunks::<3>().0, point: &positions.places, uvs: &uvs };
        let coded = Normals::read(bytes, shape)?;
        if coded.state_len() != states as usize {
            return Err(Corrupt("predicted normals: another number of states"));
        }
        if coded.has_tangents() != (semantic == Semantic::QTangent) {
            return Err(Corrupt("predicted normals: tangents where there are none"));
        }
        let predicted = Predicted { works: Mutex::default(), coded, semantic, bits, uvs };
        let work = predicted.work();
        predicted.put_back(work);
        Ok((predicted, used))
    }

    pub(crate) fn work(&self) -> Work {
        let mut works = self.works.lock().unwrap_or_else(PoisonError::into_inner);
        works.pop().unwrap_or_else(|| {
            let mut work = self.coded.work();
            self.coded.set_uvs(&self.uvs, &mut work);
            works.reserve(1);
            work
        })
    }

    pub(crate) fn put_back(&self, work: Work) {
        let mut works = self.works.lock().unwrap_or_else(PoisonError::into_inner);
        works.push(work);
    }

    /// Levels of the first frame, as far as they are known without it.
    pub fn first(&self, positions: &FixedPoint) -> Vec<u16> {
        let mut levels = vec![0; self.semantic.components() * self.coded.vertices()];
        let mut work = self.work();
        let first = positions.coded.first();
        each_width!(first, cells => self.write(cells, self.coded.base(), &mut work, &mut levels));
        self.put_back(work);
        levels
    }

    pub(crate) fn write<P: Place3>(
        &self,
        positions: &[P],
        state: &[i16],
        work: &mut Work,
        levels: &mut [u16],
    ) {
        self.coded.levels(positions, state, work, self.bits, levels);
    }
}
