//! Any frame into memory, synchronously. Between frames are predicted from the index frames around them and from the
//! two frames before, so a decoder keeps five frames of each animated stream: two index frames and three between
//! them. Stepping forward decodes one frame a call (and one index frame per group); a jump decodes the group's index
//! frames and everything between its first and the wanted one. The result does not depend on the way.
//!
//! Everything is allocated in [`FrameDecoder::new`], but the predictor tables of fluid meshes.

use crate::fluid::Fluid;
use crate::mesh::{MeshView, Range};
use crate::open::{Group, Reel, SLOTS};
use crate::statics::{Statics, spatial};
use crate::words::{Held, Words};
use crate::{Error, matrix};
use meshreel_codec::Corrupt;
use meshreel_codec::block::Decompressor;
use meshreel_codec::parallelogram::Table;
use meshreel_codec::record::{MeshRecord, Method, Semantic, Visibility};
use meshreel_codec::stream::{self, References};
use meshreel_codec::transform::{self, Transform};
use meshreel_format::FrameKind;
use std::sync::Arc;

/// Slots of index frames; the others hold between frames.
const INDEX_SLOTS: std::ops::Range<usize> = 0..2;
const BETWEEN_SLOTS: std::ops::Range<usize> = 2..SLOTS as usize;
/// No place in a list.
const NOWHERE: u32 = u32::MAX;

/// Decodes frames of one [`Reel`], in any order.
///
/// Before the first [`FrameDecoder::decode`] and after one that failed, it shows the file's static data: rest
/// transforms, meshes as in their first frame, nothing of fluid meshes, and no node with animated visibility.
pub struct FrameDecoder {
    reel: Reel,
    statics: Arc<Statics>,
    layout: Layout,
    slots: [Slot; SLOTS as usize],
    /// State of fluid meshes, `Layout::fluids` long: each frame alone, so there is only one.
    fluids: Vec<Fluid>,
    /// The frame that `fluids` hold.
    fluid_frame: Option<usize>,
    compressed: Vec<u8>,
    raw: Vec<u8>,
    decompressor: Decompressor,
    /// Frame and slot that is shown.
    current: Option<(usize, usize)>,
    worlds: Vec<[[f64; 4]; 3]>,
    /// See [`FrameDecoder::mesh_bytes`].
    mesh_bytes: Vec<f64>,
    /// Per frame whether `mesh_bytes` has it.
    counted: Vec<bool>,
}

/// Where things are in a frame; derived from the description.
struct Layout {
    /// Per node its visibility bit, or [`NOWHERE`].
    bits: Vec<u32>,
    visibility_bits: usize,
    /// Per node its number among the animated transforms, or [`NOWHERE`].
    transforms: Vec<u32>,
    /// Nodes with animated transforms.
    animated: usize,
    meshes: Vec<MeshLayout>,
}

struct MeshLayout {
    /// Per stream its number in [`Slot::streams`], or [`NOWHERE`] where it is static or fluid.
    streams: Vec<u32>,
    /// Number in `FrameDecoder::fluids`, or [`NOWHERE`].
    fluid: u32,
    /// Index ranges of the materials of fixed topology.
    ranges: Vec<Range>,
}

/// One decoded frame.
#[derive(Default)]
struct Slot {
    frame: Option<usize>,
    visibility: Vec<u8>,
    transforms: Vec<Transform>,
    streams: Vec<Words>,
}

/// Slots that a between frame is predicted from.
#[derive(Clone, Copy)]
struct Between {
    previous: usize,
    before_previous: Option<usize>,
    index_before: usize,
    index_after: usize,
}

impl FrameDecoder {
    /// Reads the static data (once per [`Reel`]) and allocates all buffers.
    pub fn new(reel: &Reel) -> Result<FrameDecoder, Error> {
        let statics = reel.statics()?;
        let layout = Layout::new(reel);
        let description = reel.description();
        let slots = std::array::from_fn(|_| Slot::new(reel, &layout));
        let fluids = (description.meshes.iter())
            .filter(|m| m.method == Method::Fluid)
            .map(Fluid::new)
            .collect();
        let largest = |size: fn(&meshreel_format::FrameEntry) -> u32| {
            reel.frames().iter().map(size).max().unwrap_or(0) as usize
        };
        let mut decoder = FrameDecoder {
            reel: reel.clone(),
            statics,
            slots,
            fluids,
            fluid_frame: None,
            compressed: Vec::with_capacity(largest(|f| f.size)),
            raw: vec![0; largest(|f| f.raw_size)],
            decompressor: Decompressor::new(),
            current: None,
            worlds: vec![matrix::IDENTITY; description.nodes.len()],
            mesh_bytes: vec![0.0; description.meshes.len()],
            counted: vec![false; reel.frame_count()],
            layout,
        };
        decoder.place_nodes();
        Ok(decoder)
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
        if !self.fluids.is_empty() && self.fluid_frame != Some(frame) {
            // Predictions never need fluid meshes, the wanted frame does.
            self.forget(frame);
        }
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
                let bit = self.layout.bits[node] as usize;
                let byte = self.shown().and_then(|slot| slot.visibility.get(bit / 8));
                byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
            }
        }
    }

    /// Transform of a node relative to its parent. Panics where there is no such node.
    pub fn transform(&self, node: usize) -> Transform {
        let record = &self.reel.description().nodes[node];
        let animated = self.layout.transforms[node] as usize;
        let of_frame = self.shown().and_then(|slot| slot.transforms.get(animated));
        *of_frame.unwrap_or(&record.rest)
    }

    /// Object to world of a node, row-major: the chain of its parents' matrices in f64. (A node whose mesh is baked has
    /// the identity: the vertices are in world space.) Panics where there is no such node.
    pub fn world(&self, node: usize) -> [[f64; 4]; 3] {
        self.worlds[node]
    }

    /// A mesh of the frame that is shown. Panics where there is no such mesh.
    pub fn mesh(&self, mesh: usize) -> MeshView<'_> {
        let record = &self.reel.description().meshes[mesh];
        let layout = &self.layout.meshes[mesh];
        match self.fluids.get(layout.fluid as usize) {
            Some(fluid) => fluid.view(record, self.current.is_some()),
            None => {
                let fixed = &self.statics.meshes[mesh];
                MeshView {
                    record,
                    vertices: record.vertices,
                    source_points: record.source_points,
                    indices: &fixed.indices,
                    materials: &layout.ranges,
                    streams: &fixed.streams,
                    animated: self
                        .shown()
                        .map(|slot| (&layout.streams[..], &slot.streams[..])),
                }
            }
        }
    }

    fn shown(&self) -> Option<&Slot> {
        self.current.map(|(_, slot)| &self.slots[slot])
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

    // Which frame goes where.

    fn held(&self, frame: usize, slots: std::ops::Range<usize>) -> Option<usize> {
        slots
            .into_iter()
            .find(|&slot| self.slots[slot].frame == Some(frame))
    }

    fn forget(&mut self, frame: usize) {
        for slot in &mut self.slots {
            if slot.frame == Some(frame) {
                slot.frame = None;
            }
        }
    }

    /// The slot that holds `frame`, decoding what is needed.
    fn reach(&mut self, frame: usize) -> Result<usize, Error> {
        let Group { before, after } = self.reel.group(frame);
        if self.reel.frame_kind(frame) == FrameKind::Index {
            return self.index_frame(frame, frame);
        }
        let index_before = self.index_frame(before, after)?;
        let index_after = self.index_frame(after, before)?;
        // Start from the nearest frame whose predecessor is there too, so that its successor can be predicted.
        let mut last = (before, index_before);
        let mut before_last = None;
        if let Some(slot) = self.held(frame, BETWEEN_SLOTS) {
            return Ok(slot);
        }
        for slot in BETWEEN_SLOTS {
            let Some(candidate) = self.slots[slot].frame else {
                continue;
            };
            let predecessor = if candidate == before + 1 {
                Some(index_before)
            } else {
                candidate
                    .checked_sub(1)
                    .and_then(|p| self.held(p, BETWEEN_SLOTS))
            };
            if candidate > last.0 && candidate < frame && predecessor.is_some() {
                last = (candidate, slot);
                before_last = predecessor;
            }
        }
        while last.0 < frame {
            let free = BETWEEN_SLOTS
                .into_iter()
                .find(|&slot| slot != last.1 && Some(slot) != before_last);
            // Three slots, at most two of them taken.
            let slot = free.unwrap_or(BETWEEN_SLOTS.start);
            let references = Between {
                previous: last.1,
                before_previous: before_last,
                index_before,
                index_after,
            };
            self.fill(last.0 + 1, slot, Some(references))?;
            before_last = Some(last.1);
            last = (last.0 + 1, slot);
        }
        Ok(last.1)
    }

    /// The slot of index frame `frame`, decoded where it is not held, without losing index frame `keep`.
    fn index_frame(&mut self, frame: usize, keep: usize) -> Result<usize, Error> {
        if let Some(slot) = self.held(frame, INDEX_SLOTS) {
            return Ok(slot);
        }
        let keep = self.held(keep, INDEX_SLOTS);
        let empty = |slot: &usize| self.slots[*slot].frame.is_none();
        let slot = (INDEX_SLOTS.into_iter().find(empty))
            .or_else(|| INDEX_SLOTS.into_iter().find(|&slot| Some(slot) != keep))
            .unwrap_or(INDEX_SLOTS.start);
        self.fill(frame, slot, None)?;
        Ok(slot)
    }

    /// Decodes `frame` into `slot`, which holds nothing where that fails.
    fn fill(
        &mut self,
        frame: usize,
        slot: usize,
        references: Option<Between>,
    ) -> Result<(), Error> {
        // Taking leaves an empty slot, whose buffers are not allocated.
        let mut out = std::mem::take(&mut self.slots[slot]);
        out.frame = None;
        self.fluid_frame = None;
        let read = self.read(frame, &mut out, references);
        if read.is_ok() {
            out.frame = Some(frame);
            self.fluid_frame = Some(frame);
        }
        self.slots[slot] = out;
        read
    }

    // A frame's bytes.

    fn read(
        &mut self,
        frame: usize,
        out: &mut Slot,
        references: Option<Between>,
    ) -> Result<(), Error> {
        let path = self.reel.path();
        let in_frame = |corrupt: Corrupt, of: &str| {
            let at = if of.is_empty() {
                format!("frame {frame}")
            } else {
                format!("frame {frame}, {of}")
            };
            Error::corrupt(path, corrupt, at)
        };
        self.reel.reader().read_frame(frame, &mut self.compressed)?;
        let raw_size = self.reel.frames()[frame].raw_size as usize;
        let raw = &mut self.raw[..raw_size];
        match Decompressor::raw_size(&self.compressed) {
            Ok(size) if size == raw_size => {}
            Ok(_) => {
                let what = Corrupt("block and frame table disagree on the size");
                return Err(in_frame(what, ""));
            }
            Err(corrupt) => return Err(in_frame(corrupt, "")),
        }
        (self.decompressor.decompress(&self.compressed, raw)).map_err(|c| in_frame(c, ""))?;
        let mut bytes: &[u8] = raw;

        let visibility = take(&mut bytes, self.layout.visibility_bits.div_ceil(8));
        let visibility = visibility.map_err(|c| in_frame(c, "visibility"))?;
        out.visibility.copy_from_slice(visibility);
        if self.layout.animated > 0 {
            let previous = references.map(|r| &self.slots[r.previous].transforms[..]);
            let used = transform::decode(bytes, previous, &mut out.transforms)
                .and_then(|used| take(&mut bytes, used));
            used.map_err(|c| in_frame(c, "transforms"))?;
        }
        let stored = self.compressed.len() + meshreel_format::FRAME_ENTRY_SIZE;
        // A frame that is read again counts nothing.
        let packing = match std::mem::replace(&mut self.counted[frame], true) {
            false => stored as f64 / raw_size.max(1) as f64,
            true => 0.0,
        };
        for (m, mesh) in self.reel.description().meshes.iter().enumerate() {
            let layout = &self.layout.meshes[m];
            let left = bytes.len();
            match mesh.method {
                Method::Static => {}
                Method::Soft => {
                    let fixed = &self.statics.meshes[m];
                    for (s, record) in mesh.streams.iter().enumerate() {
                        let place = layout.streams[s] as usize;
                        let Some(words) = out.streams.get_mut(place) else {
                            continue;
                        };
                        let reference = |slot: usize| &self.slots[slot].streams[place];
                        let references = StreamReferences {
                            base: &fixed.streams[s],
                            previous: references.map(|r| reference(r.previous)),
                            before_previous: (references.and_then(|r| r.before_previous))
                                .map(reference),
                            index_before: references.map(|r| reference(r.index_before)),
                            index_after: references.map(|r| reference(r.index_after)),
                            table: &fixed.table,
                        };
                        let semantic = record.semantic;
                        let used = match words {
                            Words::U8(_) => references.read::<u8>(semantic, bytes, words),
                            Words::U16(_) => references.read::<u16>(semantic, bytes, words),
                            Words::U32(_) => references.read::<u32>(semantic, bytes, words),
                        };
                        used.and_then(|used| take(&mut bytes, used))
                            .map_err(|c| in_frame(c, &stream_name(mesh, s)))?;
                    }
                }
                Method::Fluid => {
                    if let Some(fluid) = self.fluids.get_mut(layout.fluid as usize) {
                        let used = fluid.read(mesh, bytes);
                        used.and_then(|used| take(&mut bytes, used))
                            .map_err(|c| in_frame(c, &format!("mesh {}", mesh.path)))?;
                    }
                }
            }
            self.mesh_bytes[m] += (left - bytes.len()) as f64 * packing;
        }
        if !bytes.is_empty() {
            return Err(in_frame(Corrupt("bytes left over"), ""));
        }
        Ok(())
    }
}

/// Buffers that a stream of one frame is predicted from.
struct StreamReferences<'a> {
    base: &'a Words,
    previous: Option<&'a Words>,
    before_previous: Option<&'a Words>,
    index_before: Option<&'a Words>,
    index_after: Option<&'a Words>,
    table: &'a Table,
}

impl StreamReferences<'_> {
    fn read<W: Held>(
        &self,
        semantic: Semantic,
        bytes: &[u8],
        out: &mut Words,
    ) -> Result<usize, Corrupt> {
        let references = References {
            base: Some(W::of(self.base)),
            previous: self.previous.map(W::of),
            before_previous: self.before_previous.map(W::of),
            index_before: self.index_before.map(W::of),
            index_after: self.index_after.map(W::of),
            table: self.table,
        };
        stream::decode(
            bytes,
            semantic.components(),
            spatial(semantic),
            references,
            W::of_mut(out),
        )
    }
}

/// For error messages.
fn stream_name(mesh: &MeshRecord, stream: usize) -> String {
    let what = match mesh.streams.get(stream).map(|s| s.semantic) {
        Some(Semantic::Position) => "positions",
        Some(Semantic::Normal) => "normals",
        Some(Semantic::QTangent) => "tangent frames",
        Some(Semantic::Uv) => "uvs",
        Some(Semantic::Colour) => "colours",
        None => "stream",
    };
    format!("mesh {}, {what}", mesh.path)
}

/// The next `count` bytes.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], Corrupt> {
    let (head, rest) = bytes
        .split_at_checked(count)
        .ok_or(Corrupt("the bytes end early"))?;
    *bytes = rest;
    Ok(head)
}

impl Layout {
    fn new(reel: &Reel) -> Layout {
        let description = reel.description();
        let mut count = [0u32; 4];
        let mut number = |list: usize, there: bool| {
            if there {
                count[list] += 1;
                count[list] - 1
            } else {
                NOWHERE
            }
        };
        let nodes = &description.nodes;
        let bits = (nodes.iter())
            .map(|n| number(0, n.visibility == Visibility::Animated))
            .collect();
        let transforms = nodes.iter().map(|n| number(1, n.animated)).collect();
        let meshes = (description.meshes.iter())
            .map(|mesh| MeshLayout {
                streams: (mesh.streams.iter())
                    .map(|s| number(2, s.animated && mesh.method == Method::Soft))
                    .collect(),
                fluid: number(3, mesh.method == Method::Fluid),
                ranges: (mesh.materials.iter())
                    .map(|m| Range {
                        first: m.first,
                        count: m.count,
                    })
                    .collect(),
            })
            .collect();
        Layout {
            bits,
            transforms,
            meshes,
            visibility_bits: count[0] as usize,
            animated: count[1] as usize,
        }
    }
}

impl Slot {
    fn new(reel: &Reel, layout: &Layout) -> Slot {
        let meshes = &reel.description().meshes;
        let animated = (meshes.iter().zip(&layout.meshes)).flat_map(|(mesh, layout)| {
            let streams = mesh.streams.iter().zip(&layout.streams);
            streams
                .filter(|(_, place)| **place != NOWHERE)
                .map(|(stream, _)| {
                    let len = stream.semantic.components() * mesh.vertices as usize;
                    Words::zeroed(stream.word, len)
                })
        });
        Slot {
            frame: None,
            visibility: vec![0; layout.visibility_bits.div_ceil(8)],
            transforms: vec![Transform::IDENTITY; layout.animated],
            streams: animated.collect(),
        }
    }
}
