//! Transforms of moving nodes that are coded as a clip: their tables in the description, and the frames of a
//! unit.

use crate::decode::input::FrameLookup;
use crate::reel::chunk_content::take_bytes;
use crate::reel::frame::{array, array_mut};
use crate::reel::layout::ArrayLayout;
use crate::reel::open_file::Reel;
use crate::reel::order::DecodeOrder;
use crate::{Error, error};
use meshreel_codec::clip::nodes::NodeTracks;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::schedule::MAX_UNIT_FRAMES;
use meshreel_codec::transform::Transform;
use meshreel_codec::{Corrupt, take_length_prefixed};
use meshreel_format::kind;

/// Reads the frames of a unit from the start of `bytes`; returns the bytes used. In a frame the states lie
/// behind the transforms.
pub(crate) fn read(
    nodes: &NodeTracks,
    [transforms_at, states_at]: [ArrayLayout; 2],
    (order, unit): (&DecodeOrder, usize),
    bytes: &[u8],
    decoded: &FrameLookup<'_>,
    out: &mut [&mut [u64]],
) -> Result<usize, Corrupt> {
    let DecodeOrder::Layered { schedule, units, .. } = order else {
        return Err(Corrupt("coded transforms in a file without temporal layers"));
    };
    let (coded, used) = take_length_prefixed(bytes)?;
    let count = out.len();
    let mut states: [&mut [i32]; MAX_UNIT_FRAMES] = Default::default();
    let mut transforms: [&mut [Transform]; MAX_UNIT_FRAMES] = Default::default();
    let places = out.iter_mut().zip(&mut states).zip(&mut transforms);
    for ((words, state), transforms) in places {
        let (before, behind) = words.split_at_mut(states_at.offset);
        *transforms = array_mut(before, transforms_at);
        *state = array_mut(behind, ArrayLayout { offset: 0, ..states_at });
    }
    let found = |frame: u32| Some(array::<i32>(decoded(frame as usize)?, states_at));
    let (states, transforms) = (&mut states[..count], &mut transforms[..count]);
    nodes.decode_unit(*schedule, units[unit], coded, &found, states, transforms)?;
    let mut rest = bytes;
    take_bytes(&mut rest, used)?;
    Ok(used)
}

/// Statistics of moving nodes whose transforms are coded as a clip, for tools.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MovingNodes {
    /// The number of moving nodes.
    pub count: usize,
    /// The numbers of nodes with animated translation, rotation and scale.
    pub animated_counts: [usize; 3],
    /// The bytes of their transforms in all frames, and of the tables that decoding them needs.
    pub bytes: u64,
}

impl Reel {
    /// Counts moving nodes and their bytes; `None` if nothing moves, or if transforms are stored unpacked.
    /// Reads all frames.
    pub fn moving_nodes(&self) -> Result<Option<MovingNodes>, Error> {
        let Some(nodes) = &self.layout().node_decoder else {
            return Ok(None);
        };
        let description = self.description();
        let mut decompressor = Decompressor::new();
        // The tables are part of a chunk that is compressed as a whole.
        let once = self.chunks_of(kind::DESCRIPTION).next();
        let packed = once.map_or(1.0, |chunk| {
            let chunk = &self.chunks()[chunk as usize];
            f64::from(chunk.size) / f64::from(chunk.raw_size.max(1))
        });
        let mut bytes = description.node_setup.len() as f64 * packed;
        for (unit, &chunk) in self.unit_chunks().iter().enumerate() {
            let raw = self.chunk(chunk, &mut decompressor)?;
            let at = self.unit_frames(unit).len() * self.layout().visibility.len;
            let (_, used) = take_length_prefixed(raw.get(at..).unwrap_or_default())
                .map_err(|c| error::corrupt(self.path(), c, format!("chunk {chunk}")))?;
            let stored = f64::from(self.unit_chunk(unit).size) / raw.len().max(1) as f64;
            bytes += used as f64 * stored;
        }
        let of = |part: usize| nodes.tracks.iter().filter(|t| t.setup.moves[part]).count();
        Ok(Some(MovingNodes {
            count: nodes.tracks.len(),
            animated_counts: [0, 1, 2].map(of),
            bytes: bytes.ceil() as u64,
        }))
    }
}
