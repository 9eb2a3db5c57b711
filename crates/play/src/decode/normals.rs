//! Streams of normals that are predicted from the decoded positions: decodes their states, which does not
//! need positions. The normals are computed when a frame is shown ([`crate::reel::normals`]).

use crate::decode::input::FrameLookup;
use crate::reel::frame::{array, array_mut};
use crate::reel::layout::ArrayLayout;
use crate::reel::normals::PredictedNormals;
use crate::reel::order::DecodeOrder;
use meshreel_codec::schedule::MAX_UNIT_FRAMES;
use meshreel_codec::{Corrupt, take_length_prefixed};

/// A unit of one stream of predicted normals.
pub(crate) struct NormalsUnit<'a> {
    pub order: &'a DecodeOrder,
    pub unit: usize,
    /// The place of the states in a frame.
    pub states: ArrayLayout,
}

impl NormalsUnit<'_> {
    /// Reads the states of a stream's frames from the start of `bytes`; returns the bytes used.
    pub fn read(
        &self,
        predicted: &PredictedNormals,
        bytes: &[u8],
        decoded: &FrameLookup<'_>,
        out: &mut [&mut [u64]],
    ) -> Result<usize, Corrupt> {
        const NOT_LAYERED: Corrupt = Corrupt("predicted normals without fixed-point positions");
        let (unit, used) = take_length_prefixed(bytes)?;
        let DecodeOrder::Layered { schedule, units, .. } = self.order else {
            return Err(NOT_LAYERED);
        };
        let states = self.states;
        let near = schedule.normal_references(units[self.unit]);
        let mut earlier: [&[i16]; 12] = [&[]; 12];
        for (states_of, &frame) in earlier.iter_mut().zip(near.iter()) {
            let words =
                decoded(frame as usize).ok_or(Corrupt("a frame that it is predicted from is missing"))?;
            *states_of = array(words, states);
        }
        let count = out.len();
        let mut own: [&mut [i16]; MAX_UNIT_FRAMES] = Default::default();
        for (own, out) in own.iter_mut().zip(out.iter_mut()) {
            *own = array_mut(out, states);
        }
        let (earlier, own) = (&earlier[..near.len()], &mut own[..count]);
        predicted.coded.decode(unit, earlier, own)?;
        Ok(used)
    }
}
