//! Any frame into memory, synchronously: what is needed for it is decoded unit by unit, in order, into buffers that were
//! allocated once. Stepping forward decodes one unit a call (and one index frame per group); a jump decodes a group's
//! index frames and everything between its first and the wanted one. The result does not depend on the way.
//!
//! Everything is allocated in [`FrameDecoder::new`], but room for the predictor tables of fluid meshes: with the first
//! of their frames.

use crate::frame::Frame;
use crate::mesh::MeshView;
use crate::open::Reel;
use crate::statics::Statics;
use crate::unit::{self, Frames, Source, Worker};
use crate::{Error, matrix};
use meshreel_codec::record::Visibility;
use meshreel_codec::transform::Transform;
use meshreel_format::{BOX_SIZE, CHUNK_ENTRY_SIZE, ChunkEntry};
use std::sync::Arc;

/// Decodes frames of one [`Reel`], in any order.
///
/// Before the first [`FrameDecoder::decode`] and after one that failed, it shows the file's static data: rest
/// transforms, meshes as in their first frame, nothing of fluid meshes, and no node with animated visibility.
pub struct FrameDecoder {
    reel: Reel,
    statics: Arc<Statics>,
    slots: Vec<Slot>,
    compressed: Vec<u8>,
    scratch: Vec<u64>,
    worker: Worker,
    /// Units still to be decoded, the next one last: each waits for the one behind it.
    plan: Vec<usize>,
    /// Of each slot how much what it holds is needed.
    needed: Vec<Need>,
    /// Frame and slot that is shown.
    current: Option<(usize, usize)>,
    worlds: Vec<[[f64; 4]; 3]>,
    /// See [`FrameDecoder::mesh_bytes`].
    mesh_bytes: Vec<f64>,
    /// Per unit whether `mesh_bytes` has it.
    counted: Vec<bool>,
}

/// How much a held frame is needed, in the order in which slots are given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// By nothing in the plan, as far as is known.
    None,
    /// By what is decoded last.
    Later,
    /// By the unit that is decoded now.
    Now,
}

/// One decoded frame.
#[derive(Default)]
struct Slot {
    frame: Option<usize>,
    words: Vec<u64>,
}

impl FrameDecoder {
    /// Reads the static data (once per [`Reel`]) and allocates all buffers.
    pub fn new(reel: &Reel) -> Result<FrameDecoder, Error> {
        let statics = reel.statics()?;
        let description = reel.description();
        let units = 0..reel.unit_count();
        let compressed = units.clone().map(|u| reel.unit_size(u)).max();
        let scratch = units.map(|u| reel.scratch_words(u)).max();
        let slot = || Slot {
            frame: None,
            words: vec![0; reel.frame_words()],
        };
        let mut decoder = FrameDecoder {
            reel: reel.clone(),
            statics,
            slots: (0..reel.order().slots()).map(|_| slot()).collect(),
            compressed: Vec::with_capacity(compressed.unwrap_or(0)),
            scratch: vec![0; scratch.unwrap_or(0)],
            worker: Worker::default(),
            // A jump to the end of a group waits for all of it.
            plan: Vec::with_capacity(reel.order().longest_wait()),
            needed: vec![Need::None; reel.order().slots() as usize],
            current: None,
            worlds: vec![matrix::IDENTITY; description.nodes.len()],
            mesh_bytes: vec![0.0; description.meshes.len()],
            counted: vec![false; reel.unit_count()],
        };
        decoder.place_nodes();
        Ok(decoder)
    }

    pub(crate) fn statics(&self) -> &Statics {
        &self.statics
    }

    /// The file.
    pub fn reel(&self) -> &Reel {
        &self.reel
    }

    /// Per mesh its share of the compressed bytes of all frames read so far, for tools that print sizes. After
    /// every frame was decoded once, each counts once.
    pub fn mesh_bytes(&self) -> &[f64] {
        &self.mesh_bytes
    }

    /// The frame that is shown.
    pub fn frame(&self) -> Option<usize> {
        self.current.map(|c| c.0)
    }

    /// Decodes `frame` and shows it. An error names the frame and, where it lies in one, the mesh; other frames that
    /// do not depend on the damaged one can still be decoded.
    pub fn decode(&mut self, frame: usize) -> Result<(), Error> {
        let frames = self.reel.frame_count();
        if frame >= frames {
            return Err(Error::misuse(format!(
                "frame {frame} of {frames} does not exist"
            )));
        }
        if self.frame() == Some(frame) {
            return Ok(());
        }
        self.current = None;
        let reached = self.reach(frame);
        if let Ok(slot) = &reached {
            self.current = Some((frame, *slot));
        }
        self.place_nodes();
        reached.map(|_| ())
    }

    /// Whether a node's own mesh is shown. Panics where there is no such node.
    pub fn visible(&self, node: usize) -> bool {
        match self.reel.description().nodes[node].visibility {
            Visibility::Always => true,
            Visibility::Never => false,
            Visibility::Animated => {
                let bit = self.reel.layout().bits[node];
                bit.zip(self.shown())
                    .is_some_and(|(bit, frame)| frame.visible(bit))
            }
        }
    }

    /// Transform of a node relative to its parent. Panics where there is no such node.
    pub fn transform(&self, node: usize) -> Transform {
        let rest = self.reel.description().nodes[node].rest;
        let number = self.reel.layout().numbers[node];
        let of_frame = number.zip(self.shown());
        of_frame.map_or(rest, |(number, frame)| frame.transforms()[number as usize])
    }

    /// Object to world of a node, row-major: the chain of its parents' matrices in f64. (A node whose mesh is baked has
    /// the identity: the vertices are in world space.) Panics where there is no such node.
    pub fn world(&self, node: usize) -> [[f64; 4]; 3] {
        self.worlds[node]
    }

    /// A mesh of the frame that is shown. Panics where there is no such mesh.
    pub fn mesh(&self, mesh: usize) -> MeshView<'_> {
        MeshView::new(&self.reel, &self.statics, mesh, self.shown())
    }

    pub(crate) fn shown(&self) -> Option<Frame<'_>> {
        let (_, slot) = self.current?;
        Some(Frame {
            layout: self.reel.layout(),
            words: &self.slots[slot].words,
        })
    }

    /// World matrices; parents stand before children.
    fn place_nodes(&mut self) {
        for node in 0..self.worlds.len() {
            let local = self.transform(node).matrix();
            let parent = self.reel.description().nodes[node].parent;
            self.worlds[node] = match parent {
                Some(parent) => matrix::product(&self.worlds[parent as usize], &local),
                None => local,
            };
        }
    }

    fn held(&self, frame: usize) -> Option<usize> {
        self.slots.iter().position(|slot| slot.frame == Some(frame))
    }

    /// The slot that holds `frame`, decoding what is needed: down from its unit to one that has all it needs, and back up.
    ///
    /// Each unit is decoded with all it needs ([`FrameDecoder::fill`] keeps that), and no unit twice on the way, whatever
    /// the slots held before:
    ///
    /// * *Chains* (serial frames between two index frames, keys of a segment): unit k needs k − 1 and k − 2, and in serial
    ///   files the two index frames around. Once it is decoded, k and k − 1 are held. The plan goes down through missing
    ///   frames only, so it cannot pass below k + 1: from there both needs are held, and from k + 2 there is only k + 1. Units
    ///   of a chain are so decoded in rising order until the one that was asked for.
    /// * *Index frames* are looked for before the chain. From then on every unit of the plan needs both of them.
    /// * *Groups*: the plan begins with the unit that was asked for and, for the last layer of a group, the layer above it.
    ///   What these two need is never given up, see [`FrameDecoder::fill`]; each key that they miss ends a chain of keys.
    fn reach(&mut self, frame: usize) -> Result<usize, Error> {
        self.plan.clear();
        loop {
            if let Some(slot) = self.held(frame) {
                return Ok(slot);
            }
            let unit = match self.plan.last() {
                Some(&unit) => unit,
                None => self.reel.unit_of(frame),
            };
            if self.plan.is_empty() {
                self.plan.push(unit);
            }
            let needs = self.reel.unit_needs(unit);
            match needs.iter().find(|&&n| self.held(n as usize).is_none()) {
                Some(&missing) => self.plan.push(self.reel.unit_of(missing as usize)),
                None => {
                    self.fill(unit, frame)?;
                    self.plan.pop();
                }
            }
        }
    }

    /// Decodes `unit`, the last of the plan for `target`, all of whose needs are held. Its slots hold nothing where that fails.
    ///
    /// A slot is taken from what it does not need itself; of these, what the first two units of the plan need goes last. There
    /// are always as many ([`crate::order::Order::slots`]):
    ///
    /// * Serial: a between frame needs four and takes one, of five. An index frame needs none, and is decoded only while the
    ///   unit that was asked for misses it: at most three others wait for that.
    /// * Layered: a group needs four keys and, for its last layer, the seven frames above that; the last layer takes eight
    ///   more: 19. A key needs two keys and takes one, and the key before it in the plan may need two others: 11 + 5 = 16. So
    ///   of 21 slots what the first two units need is never taken.
    fn fill(&mut self, unit: usize, target: usize) -> Result<(), Error> {
        let frames = self.reel.unit_frames(unit);
        // Those of its frames that are still held are decoded again, in their places.
        for slot in &mut self.slots {
            slot.frame = slot.frame.filter(|f| !frames.contains(&(*f as u32)));
        }
        self.needed.fill(Need::None);
        let first = self.plan.iter().take(2).map(|&unit| (unit, Need::Later));
        for (unit, need) in first.chain([(unit, Need::Now)]) {
            for &frame in self.reel.unit_needs(unit).iter() {
                if let Some(slot) = self.held(frame as usize) {
                    self.needed[slot] = need;
                }
            }
        }
        let mut taken = [0; Frames::MOST];
        for i in 0..frames.len() {
            let slot = self.free_slot(target, &taken[..i]);
            self.slots[slot].frame = None;
            taken[i] = slot;
        }
        let taken = &taken[..frames.len()];
        // Taking leaves empty buffers, which are not allocated.
        let mut words: [Vec<u64>; Frames::MOST] = Default::default();
        for (words, &slot) in words.iter_mut().zip(taken) {
            *words = std::mem::take(&mut self.slots[slot].words);
        }
        let read = self.read(unit, &mut words[..taken.len()]);
        for ((words, &slot), &frame) in words.into_iter().zip(taken).zip(frames.iter()) {
            self.slots[slot] = Slot {
                frame: read.is_ok().then_some(frame as usize),
                words,
            };
        }
        read
    }

    /// A slot to decode into: an empty one, else the least needed and, of these, the farthest from `target`.
    fn free_slot(&self, target: usize, taken: &[usize]) -> usize {
        let distance = |slot: usize| match self.slots[slot].frame {
            None => usize::MAX,
            Some(held) => held.abs_diff(target),
        };
        let free = (0..self.slots.len())
            .filter(|slot| !taken.contains(slot) && self.needed[*slot] != Need::Now);
        // There is one, see `fill`; an empty one is needed by nothing.
        let least = free.max_by_key(|&slot| (std::cmp::Reverse(self.needed[slot]), distance(slot)));
        least.unwrap_or(0)
    }

    fn read(&mut self, unit: usize, out: &mut [Vec<u64>]) -> Result<(), Error> {
        self.reel.read_unit(unit, &mut self.compressed)?;
        // A unit that is read again counts nothing.
        let counted = std::mem::replace(&mut self.counted[unit], true);
        let packing = |chunk: &ChunkEntry| {
            let size = f64::from(chunk.size) + (CHUNK_ENTRY_SIZE + BOX_SIZE) as f64;
            if counted {
                0.0
            } else {
                size / f64::from(chunk.raw_size.max(1))
            }
        };
        let count = out.len();
        let mut buffers: [&mut [u64]; Frames::MOST] = Default::default();
        for (buffer, words) in buffers.iter_mut().zip(out.iter_mut()) {
            *buffer = words;
        }
        let slots = &self.slots;
        let decoded = |frame: usize| {
            let slot = slots.iter().find(|slot| slot.frame == Some(frame));
            slot.map(|slot| &slot.words[..])
        };
        unit::decode(
            &self.reel,
            &self.statics,
            Source {
                unit,
                compressed: &self.compressed,
            },
            &mut self.worker,
            &mut self.scratch,
            &decoded,
            &mut buffers[..count],
            &mut |mesh, chunk, bytes| self.mesh_bytes[mesh] += bytes as f64 * packing(chunk),
        )
    }
}
