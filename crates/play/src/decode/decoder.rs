//! Random access to decoded frames, synchronously: the units that a frame needs are decoded one by one, in
//! order, into buffers that were allocated once. Stepping forward decodes one unit per call (and one index
//! frame per group); a jump decodes a group's index frames and everything between its first frame and the
//! wanted one. The result does not depend on the order of calls.
//!
//! Everything is allocated in [`FrameDecoder::new`], except the predictor tables of fluid meshes, which are
//! allocated with the first of their frames.

use crate::Error;
use crate::debug::impl_debug;
use crate::decode::frame_slots::{FrameSlots, Step};
use crate::decode::matrix;
use crate::decode::mesh::MeshView;
use crate::decode::unit::{self, DecodeContext, UnitSource};
use crate::reel::frame::FrameData;
use crate::reel::open_file::Reel;
use crate::reel::order::FrameList;
use crate::reel::statics::{StaticMesh, Statics};
use meshreel_codec::record::Visibility;
use meshreel_codec::transform::Transform;
use meshreel_format::{BOX_SIZE, CHUNK_ENTRY_SIZE, ChunkEntry};
use std::sync::Arc;

/// Decodes the frames of one [`Reel`], in any order.
///
/// Before the first [`FrameDecoder::decode`] and after one that failed, it shows the file's static data: rest
/// transforms, meshes as in their first frame, empty fluid meshes, and no node with animated visibility.
pub struct FrameDecoder {
    reel: Reel,
    statics: Arc<Statics>,
    /// The words of each slot's frame.
    slots: Vec<Vec<u64>>,
    compressed: Vec<u8>,
    scratch: Vec<u64>,
    context: DecodeContext,
    frame_slots: FrameSlots,
    /// The frame that is shown, and its slot.
    current: Option<(usize, usize)>,
    world_matrices: Vec<[[f64; 4]; 3]>,
    /// See [`FrameDecoder::mesh_bytes`].
    mesh_bytes: Vec<f64>,
    /// See [`FrameDecoder::stream_bytes`].
    stream_bytes: Vec<Vec<f64>>,
    /// Per unit whether it is counted in `mesh_bytes`.
    counted: Vec<bool>,
}

impl_debug!("FrameDecoder", FrameDecoder, |decoder| { reel: decoder.reel, frame: decoder.frame() });

impl FrameDecoder {
    /// Creates a decoder: reads the static data (once per [`Reel`]) and allocates all buffers.
    pub fn new(reel: &Reel) -> Result<FrameDecoder, Error> {
        let statics = reel.statics()?;
        let description = reel.description();
        let units = 0..reel.unit_count();
        let compressed = units.clone().map(|u| reel.unit_size(u)).max();
        let scratch = units.map(|u| reel.scratch_words(u)).max();
        let slot = || vec![0; reel.frame_words()];
        let mut decoder = FrameDecoder {
            reel: reel.clone(),
            statics,
            slots: (0..reel.order().held_frames()).map(|_| slot()).collect(),
            compressed: Vec::with_capacity(compressed.unwrap_or(0)),
            scratch: vec![0; scratch.unwrap_or(0)],
            context: DecodeContext::default(),
            frame_slots: FrameSlots::new(reel.order()),
            current: None,
            world_matrices: vec![matrix::IDENTITY; description.nodes.len()],
            mesh_bytes: vec![0.0; description.meshes.len()],
            stream_bytes: description.meshes.iter().map(|mesh| vec![0.0; mesh.streams.len()]).collect(),
            counted: vec![false; reel.unit_count()],
        };
        decoder.update_world_matrices();
        Ok(decoder)
    }

    pub(crate) fn statics(&self) -> &Statics {
        &self.statics
    }

    /// Returns the file.
    #[must_use]
    pub fn reel(&self) -> &Reel {
        &self.reel
    }

    /// Returns each mesh's share of the compressed bytes of all frames read so far, for tools that print
    /// sizes. Each frame counts once, even if it is decoded again.
    #[must_use]
    pub fn mesh_bytes(&self) -> &[f64] {
        &self.mesh_bytes
    }

    /// Returns each stream's part of the mesh's bytes; 0 for a mesh whose faces change, as its streams are
    /// coded together. Panics if there is no such mesh.
    #[must_use]
    pub fn stream_bytes(&self, mesh: usize) -> &[f64] {
        &self.stream_bytes[mesh]
    }

    /// Returns the static values of each stream of a mesh as they were before block compression: of positions
    /// the first frame or the rest pose, weights and tables. For tools that print sizes. Panics if there is
    /// no such mesh.
    #[must_use]
    pub fn static_streams(&self, mesh: usize) -> Vec<&[u8]> {
        let StaticMesh { key, stream_bytes, .. } = &*self.statics.meshes[mesh];
        // Streams come last.
        let mut rest = &key.values[key.values.len() - stream_bytes.iter().sum::<u32>() as usize..];
        let streams = stream_bytes.iter().map(|&size| {
            let (own, behind) = rest.split_at(size as usize);
            rest = behind;
            own
        });
        streams.collect()
    }

    /// Returns the number of the frame that is shown.
    #[must_use]
    pub fn frame(&self) -> Option<usize> {
        self.current.map(|c| c.0)
    }

    /// Forgets all frames: the next one is decoded from the bytes of the file again. For measurements.
    pub fn forget(&mut self) {
        self.frame_slots = FrameSlots::new(self.reel.order());
        self.current = None;
    }

    /// Decodes `frame` and shows it. An error names the frame and, if it can, the mesh. Frames that do not
    /// depend on a damaged one can still be decoded.
    pub fn decode(&mut self, frame: usize) -> Result<(), Error> {
        let frames = self.reel.frame_count();
        if frame >= frames {
            return Err(Error::misuse(format!("frame {frame} of {frames} does not exist")));
        }
        if self.frame() == Some(frame) {
            return Ok(());
        }
        self.current = None;
        let reached = self.decode_until(frame);
        if let Ok(slot) = &reached {
            self.current = Some((frame, *slot));
        }
        self.update_world_matrices();
        reached.map(|_| ())
    }

    /// `true` if a node's own mesh is shown. Panics if there is no such node.
    #[must_use]
    pub fn visible(&self, node: usize) -> bool {
        match self.reel.description().nodes[node].visibility {
            Visibility::Always => true,
            Visibility::Never => false,
            Visibility::Animated => {
                let bit = self.reel.layout().visibility_bits[node];
                bit.zip(self.current_frame()).is_some_and(|(bit, frame)| frame.visible(bit))
            }
        }
    }

    /// Returns the transform of a node relative to its parent. Panics if there is no such node.
    #[must_use]
    pub fn transform(&self, node: usize) -> Transform {
        let rest = self.reel.description().nodes[node].rest;
        let number = self.reel.layout().transform_indices[node];
        let of_frame = number.zip(self.current_frame());
        of_frame.map_or(rest, |(number, frame)| frame.transforms()[number as usize])
    }

    /// Returns the object-to-world matrix of a node, row-major: the product of its own and its ancestors'
    /// matrices in f64. (A node whose mesh is baked has the identity: the vertices are in world space.)
    /// Panics if there is no such node.
    #[must_use]
    pub fn world(&self, node: usize) -> [[f64; 4]; 3] {
        self.world_matrices[node]
    }

    /// Returns a mesh of the frame that is shown. Panics if there is no such mesh.
    pub fn mesh(&self, mesh: usize) -> MeshView<'_> {
        MeshView::new(&self.reel, &self.statics, mesh, self.current_frame())
    }

    pub(crate) fn current_frame(&self) -> Option<FrameData<'_>> {
        let (_, slot) = self.current?;
        Some(FrameData { layout: self.reel.layout(), words: &self.slots[slot] })
    }

    /// Computes world matrices; parents come before children.
    fn update_world_matrices(&mut self) {
        for node in 0..self.world_matrices.len() {
            let local = self.transform(node).matrix();
            let parent = self.reel.description().nodes[node].parent;
            self.world_matrices[node] = match parent {
                Some(parent) => matrix::product(&self.world_matrices[parent as usize], &local),
                None => local,
            };
        }
    }

    /// Returns the slot that holds `frame`, and decodes the units that it needs.
    fn decode_until(&mut self, frame: usize) -> Result<usize, Error> {
        self.frame_slots.discard_plan();
        loop {
            match self.frame_slots.next_step(self.reel.order(), frame) {
                Step::Held(slot) => return Ok(slot),
                Step::Decode(unit) => self.decode_unit(unit, frame)?,
            }
        }
    }

    /// Decodes `unit`, whose needs are all held, on the way to `target`. Its slots are empty if that fails.
    fn decode_unit(&mut self, unit: usize, target: usize) -> Result<(), Error> {
        let frames = self.reel.unit_frames(unit);
        let taken = self.frame_slots.reserve(self.reel.order(), unit, target);
        let taken = &taken[..frames.len()];
        // This leaves empty buffers, which do not allocate.
        let mut words: [Vec<u64>; FrameList::MAX_LEN] = Default::default();
        for (words, &slot) in words.iter_mut().zip(taken) {
            *words = std::mem::take(&mut self.slots[slot]);
        }
        let read = self.read_unit(unit, &mut words[..taken.len()]);
        for (words, &slot) in words.into_iter().zip(taken) {
            self.slots[slot] = words;
        }
        if read.is_ok() {
            self.frame_slots.commit(frames, taken);
        }
        read
    }

    fn read_unit(&mut self, unit: usize, out: &mut [Vec<u64>]) -> Result<(), Error> {
        self.reel.read_unit(unit, &mut self.compressed)?;
        // A unit that is read again is not counted.
        let counted = std::mem::replace(&mut self.counted[unit], true);
        let packing = |chunk: &ChunkEntry| {
            let size = f64::from(chunk.size) + (CHUNK_ENTRY_SIZE + BOX_SIZE) as f64;
            if counted { 0.0 } else { size / f64::from(chunk.raw_size.max(1)) }
        };
        let count = out.len();
        let mut buffers: [&mut [u64]; FrameList::MAX_LEN] = Default::default();
        for (buffer, words) in buffers.iter_mut().zip(out.iter_mut()) {
            *buffer = words;
        }
        let (slots, holding) = (&self.slots, &self.frame_slots);
        let decoded = |frame: usize| holding.slot(frame).map(|slot| &slots[slot][..]);
        unit::decode(
            &self.reel,
            &self.statics,
            UnitSource { unit, compressed: &self.compressed, decoded: &decoded },
            &mut self.context,
            &mut self.scratch,
            &mut buffers[..count],
            &mut |(mesh, stream), chunk, bytes| {
                let size = bytes as f64 * packing(chunk);
                match stream {
                    Some(stream) => self.stream_bytes[mesh][stream] += size,
                    None => self.mesh_bytes[mesh] += size,
                }
            },
        )
    }
}
