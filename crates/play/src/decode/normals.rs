//! Frames of streams of normals that are predicted from the decoded positions.

use crate::decode::input::Decoded;
use crate::reel::frame::{part, part_mut};
use crate::reel::layout::{MeshLayout, Place};
use crate::reel::normals::Predicted;
use crate::reel::order::Order;
use meshreel_codec::mesh::normals::Work;
use meshreel_codec::schedule::UNIT_FRAMES;
use meshreel_codec::{Corrupt, take_sized};

/// A unit of one stream of predicted normals, and the place in a frame that its frames are written to.
pub(crate) struct Unit<'a> {
    pub order: &'a Order,
    pub unit: usize,
    pub layout: &'a MeshLayout,
    pub stream: usize,
}

impl Unit<'_> {
    /// Reads the frames of a stream, whose positions are decoded, from the start of `bytes`; returns the
    /// bytes used.
    pub fn read(
        &self,
        predicted: &Predicted,
        bytes: &[u8],
        decoded: &Decoded<'_>,
        out: &mut [&mut [u64]],
    ) -> Result<usize, Corrupt> {
        const NOT_LAYERED: Corrupt = Corrupt("predicted normals without fixed-point positions");
        let (unit, used) = take_sized(bytes)?;
        let Order::Layered { schedule, units, .. } = self.order else {
            return Err(NOT_LAYERED);
        };
        let levels = self.layout.streams[self.stream].ok_or(NOT_LAYERED)?;
        let states = self.layout.states[self.stream].ok_or(NOT_LAYERED)?;
        let positions = self.layout.streams[0].ok_or(NOT_LAYERED)?;
        let near = schedule.near(units[self.unit]);
        let mut earlier: [&[i16]; 12] = [&[]; 12];
        for (states_of, &frame) in earlier.iter_mut().zip(near.iter()) {
            let words =
                decoded(frame as usize).ok_or(Corrupt("a frame that it is predicted from is missing"))?;
            *states_of = part(words, states);
        }
        let count = out.len();
        let mut own: [&mut [i16]; UNIT_FRAMES] = Default::default();
        for (own, out) in own.iter_mut().zip(out.iter_mut()) {
            *own = part_mut(out, states);
        }
        let (earlier, own) = (&earlier[..near.len()], &mut own[..count]);
        predicted.coded.decode(unit, earlier, own)?;
        let mut work = predicted.work();
        for out in out {
            build(predicted, [positions, states, levels], out, &mut work);
        }
        predicted.put_back(work);
        Ok(used)
    }
}

/// Levels of a frame from its positions and states. Places are handed out in the order of streams: positions
/// lie before the levels, and those before the states.
fn build(predicted: &Predicted, [positions, states, levels]: [Place; 3], frame: &mut [u64], work: &mut Work) {
    let (before, rest) = frame.split_at_mut(levels.at);
    let (own, after) = rest.split_at_mut(states.at - levels.at);
    let levels = part_mut(own, Place { at: 0, ..levels });
    let states = part(after, Place { at: 0, ..states });
    match positions.size {
        8 => predicted.write::<[i16; 4]>(part(before, positions), states, work, levels),
        _ => predicted.write::<[i32; 4]>(part(before, positions), states, work, levels),
    }
}
