//! Streams of normals that are predicted from the decoded positions: what is made of their static part when a
//! file is loaded, and the frames of a unit. In a decoded frame they are levels like any other normals.

use crate::cells::Cells;
use crate::frame::{part, part_mut};
use crate::layout::{MeshLayout, Place};
use crate::order::Order;
use crate::unit::Decoded;
use meshreel_codec::record::Semantic;
use meshreel_codec::soft::decode::First;
use meshreel_codec::soft::normal::{Normals, Shape, Work};
use meshreel_codec::soft::schedule::UNIT_FRAMES;
use meshreel_codec::soft::surface::Place as Place3;
use meshreel_codec::{Corrupt, take_sized};
use std::sync::{Mutex, PoisonError};

/// A stream of predicted normals, or of tangent frames.
pub(crate) struct Predicted {
    coded: Normals,
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
        positions: &Cells,
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

    fn work(&self) -> Work {
        let mut works = self.works.lock().unwrap_or_else(PoisonError::into_inner);
        works.pop().unwrap_or_else(|| {
            let mut work = self.coded.work();
            self.coded.set_uvs(&self.uvs, &mut work);
            works.reserve(1);
            work
        })
    }

    fn put_back(&self, work: Work) {
        let mut works = self.works.lock().unwrap_or_else(PoisonError::into_inner);
        works.push(work);
    }

    /// Levels of the first frame, as far as they are known without it.
    pub fn first(&self, positions: &Cells) -> Vec<u16> {
        let mut levels = vec![0; self.semantic.components() * self.coded.vertices()];
        let mut work = self.work();
        match positions.coded.first() {
            First::Narrow(cells) => self.write(cells, self.coded.base(), &mut work, &mut levels),
            First::Wide(cells) => self.write(cells, self.coded.base(), &mut work, &mut levels),
        }
        self.put_back(work);
        levels
    }

    fn write<P: Place3>(&self, cells: &[P], state: &[i16], work: &mut Work, levels: &mut [u16]) {
        self.coded.levels(cells, state, work, self.bits, levels);
    }
}

/// Where the frames of a unit of a stream go.
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
        const NOT_LAYERED: Corrupt = Corrupt("predicted normals without cells");
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
            let words = decoded(frame as usize).ok_or(Corrupt("a frame it needs is missing"))?;
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
