//! Access units: the parts of a file that are stored, read, checked and decoded as a whole.
//!
//! Decoders and the player need to know only this about the order in which a file can be decoded: the frames
//! of a unit, the frames that must be decoded before it, and [`decode`].

use crate::decode::classic::{self, spatial_prediction};
use crate::decode::input::{FrameLookup, skip_stream};
use crate::decode::{chain, fixed_point, fluid, node_transforms, normals, particles};
use crate::reel::chunk_content::take_bytes;
use crate::reel::end_states::{EndState, MotionWindow};
use crate::reel::frame::{self, array_mut};
use crate::reel::layout::ArrayLayout;
use crate::reel::open_file::Reel;
pub(crate) use crate::reel::order::FrameList;
use crate::reel::order::{DecodeOrder, ReferenceFrames};
use crate::reel::quantized::QuantizedInteger;
use crate::reel::statics::Statics;
use crate::{Error, error};
use bytemuck::Pod;
use meshreel_codec::classic::stream;
use meshreel_codec::classic::stream::References as StreamReferences;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::{CODEC_CLASSIC, MeshRecord, Method, Semantic};
use meshreel_codec::{Corrupt, transform};
use meshreel_format::ChunkEntry;

/// The memory that a decoding thread reuses from unit to unit. It does not depend on the file.
#[derive(Default)]
pub(crate) struct DecodeContext {
    pub decompressor: Decompressor,
    /// Predictor tables of fluid meshes.
    pub tables: classic::FrameTableDeriver,
    /// The tables of meshes with changing topology that are coded unit by unit.
    pub fluid: meshreel_codec::values::changing::ChangingBuffers,
    /// The tables of particles.
    pub particles: meshreel_codec::values::particles::ParticleBuffers,
    /// Chains of particles.
    pub chain: chain::ChainContext,
}

/// A callback that receives each mesh, and each of its streams, with the chunk of its bytes, and their number
/// when decompressed.
pub(crate) type ByteMeter<'a> = dyn FnMut((usize, Option<usize>), &ChunkEntry, usize) + 'a;

/// A unit as stored in the file, with the vertex attributes behind it if they are read. The caller has
/// verified its checksums.
#[derive(Clone, Copy)]
pub(crate) struct UnitSource<'a, 'd> {
    pub unit: usize,
    pub compressed: &'a [u8],
    /// The frames of other units that it needs.
    pub decoded: &'a FrameLookup<'d>,
}

impl MotionWindow {
    /// Returns a frame of the window.
    pub fn find_frame<'a, 'd: 'a>(
        &self,
        statics: &'a Statics,
        decoded: &FrameLookup<'d>,
        frame: usize,
    ) -> Option<&'a [u64]> {
        let frame = frame + self.window.start as usize;
        match self.end_state(frame as u32) {
            Some(still) => Some(&statics.end_states[still as usize]),
            None => decoded(frame),
        }
    }
}

/// The streams that a chunk has bytes of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    /// All but vertex attributes that are stored apart.
    Base,
    /// The vertex attributes that are stored apart.
    Attributes,
    /// All streams.
    All,
}

/// A unit of one mesh, in the frames of its window.
struct MeshUnit<'p, 'd> {
    order: &'p DecodeOrder,
    unit: usize,
    frames: FrameList,
    decoded: &'p FrameLookup<'d>,
}

impl MeshUnit<'_, '_> {
    /// Returns a frame that a frame of this unit needs: of another unit, or one of this unit that is done.
    fn find_frame<'f>(&'f self, frame: u32, done: &'f [&mut [u64]]) -> Option<&'f [u64]> {
        match self.frames.iter().position(|&f| f == frame) {
            Some(at) => done.get(at).map(|words| &**words),
            None => (self.decoded)(frame as usize),
        }
    }
}

/// A unit being decoded; errors name it.
struct UnitDecoder<'a, 'd> {
    reel: &'a Reel,
    statics: &'a Statics,
    unit: usize,
    frames: FrameList,
    decoded: &'a FrameLookup<'d>,
}

/// Decodes a unit into `out`, the buffers of its frames in the order of [`Reel::unit_frames`], `frame_words`
/// each. `scratch` has `scratch_words` words. On an error the frames' content is undefined. Allocates only
/// for the tables of fluid meshes, when a worker meets the first or a larger one.
pub(crate) fn decode(
    reel: &Reel,
    statics: &Statics,
    source: UnitSource<'_, '_>,
    worker: &mut DecodeContext,
    scratch: &mut [u64],
    out: &mut [&mut [u64]],
    meter: &mut ByteMeter<'_>,
) -> Result<(), Error> {
    let decoded = source.decoded;
    let job =
        UnitDecoder { reel, statics, unit: source.unit, frames: reel.unit_frames(source.unit), decoded };
    let needs = reel.unit_dependencies(source.unit);
    if needs.iter().any(|&frame| decoded(frame as usize).is_none()) {
        return Err(Error::misuse("a frame is decoded before those it needs"));
    }
    if out.len() != job.frames.len() || scratch.len() < reel.scratch_words(source.unit) {
        return Err(Error::misuse("a unit is decoded into other buffers than it needs"));
    }
    let (raw, scratch) = scratch.split_at_mut(reel.raw_words(source.unit));
    let mut rest = source.compressed;
    let mut next = |tier: Tier, chunk: &ChunkEntry| {
        let own = take_bytes(&mut rest, chunk.size as usize).map_err(|c| job.corrupt(0, c, ""))?;
        let raw = job.decompress(own, chunk.raw_size as usize, worker, raw)?;
        let meter = &mut |of, bytes| meter(of, chunk, bytes);
        job.read_tier(tier, raw, worker, scratch, out, meter)
    };
    next(Tier::Base, reel.unit_chunk(source.unit))?;
    (reel.attributes_chunk(source.unit)).map_or(Ok(()), |chunk| next(Tier::Attributes, chunk))
}

/// Decodes the first or the last frame of a mesh's window, a unit of its own, into the buffer of a frame.
pub(crate) fn decode_end_state(
    reel: &Reel,
    statics: &Statics,
    (mesh, order, unit): (usize, &DecodeOrder, usize),
    mut bytes: &[u8],
    scratch: &mut [u64],
    out: &mut [&mut [u64]],
) -> Result<(), Error> {
    let job = UnitDecoder { reel, statics, unit: 0, frames: order.frames(unit), decoded: &|_| None };
    let part = MeshUnit { order, unit, ..job.whole_unit() };
    job.read_streams((mesh, Tier::All), &part, &mut bytes, scratch, out, &mut |_, _| {})?;
    match bytes {
        [] => Ok(()),
        _ => Err(job.corrupt(0, Corrupt("bytes left over"), "the end of a motion")),
    }
}

impl<'a, 'd> UnitDecoder<'a, 'd> {
    fn corrupt(&self, at: usize, corrupt: Corrupt, of: &str) -> Error {
        let frame = self.frames.get(at).or(self.frames.first()).unwrap_or(&0);
        let at = match of {
            "" => format!("frame {frame}"),
            of => format!("frame {frame}, {of}"),
        };
        error::corrupt(self.reel.path(), corrupt, at)
    }

    fn decompress<'s>(
        &self,
        compressed: &[u8],
        size: usize,
        worker: &mut DecodeContext,
        raw: &'s mut [u64],
    ) -> Result<&'s [u8], Error> {
        let raw: &mut [u8] = &mut bytemuck::cast_slice_mut(raw)[..size];
        match Decompressor::raw_size(compressed) {
            Ok(said) if said == size => {}
            Ok(_) => {
                let what = Corrupt("block and chunk table disagree on the size");
                return Err(self.corrupt(0, what, ""));
            }
            Err(corrupt) => return Err(self.corrupt(0, corrupt, "")),
        }
        let done = worker.decompressor.decompress(compressed, raw);
        done.map_err(|c| self.corrupt(0, c, ""))?;
        Ok(raw)
    }

    /// Returns the unit for meshes that move in all frames.
    fn whole_unit(&self) -> MeshUnit<'_, 'd> {
        MeshUnit { order: self.reel.order(), unit: self.unit, frames: self.frames, decoded: self.decoded }
    }

    fn read_tier(
        &self,
        tier: Tier,
        mut bytes: &[u8],
        worker: &mut DecodeContext,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
        meter: &mut dyn FnMut((usize, Option<usize>), usize),
    ) -> Result<(), Error> {
        let layout = self.reel.layout();
        let second = tier == Tier::Attributes;
        for at in 0..if second { 0 } else { out.len() } {
            self.read_nodes(at, &mut bytes, out)?;
        }
        if let Some(coded) = layout.node_decoder.as_ref().filter(|_| !second) {
            let unit = (self.reel.order(), self.unit);
            let places = [layout.transforms, layout.transform_states];
            let used = node_transforms::read(coded, places, unit, bytes, self.decoded, out);
            used.and_then(|used| take_bytes(&mut bytes, used))
                .map_err(|c| self.corrupt(0, c, "transforms"))?;
        }
        for (m, mesh) in self.reel.description().meshes.iter().enumerate() {
            let before = bytes.len();
            match mesh.method {
                Method::Static => {}
                Method::Fluid | Method::Particles if second => {}
                Method::Soft | Method::Rigid | Method::Skinned => match self.reel.motion_window(m) {
                    None => {
                        self.read_streams((m, tier), &self.whole_unit(), &mut bytes, scratch, out, meter)?
                    }
                    Some(own) => {
                        let Some(unit) = own.window_unit(self.reel.order(), self.unit) else {
                            continue;
                        };
                        let decoded = |frame: usize| own.find_frame(self.statics, self.decoded, frame);
                        let part = MeshUnit {
                            order: &own.order,
                            unit,
                            frames: own.order.frames(unit),
                            decoded: &decoded,
                        };
                        self.read_streams((m, tier), &part, &mut bytes, scratch, out, meter)?;
                    }
                },
                Method::Fluid if mesh.codec != CODEC_CLASSIC => {
                    let (layout, order) = (&layout.meshes[m], self.reel.order());
                    let unit = fluid::FluidUnit { record: mesh, layout, order, unit: self.unit };
                    let used = unit.read(bytes, self.decoded, out, &mut worker.fluid);
                    let name = || format!("mesh {}", mesh.path);
                    let used = used.map_err(|(at, c)| self.corrupt(at, c, &name()))?;
                    take_bytes(&mut bytes, used).map_err(|c| self.corrupt(0, c, &name()))?;
                }
                Method::Particles => self.read_particles(m, &mut bytes, worker, out)?,
                Method::Fluid => {
                    let layout = &self.reel.layout().meshes[m];
                    for (at, out) in out.iter_mut().enumerate() {
                        let used = classic::read_mesh(mesh, layout, bytes, out, &mut worker.tables);
                        used.and_then(|used| take_bytes(&mut bytes, used))
                            .map_err(|c| self.corrupt(at, c, &format!("mesh {}", mesh.path)))?;
                    }
                }
            }
            meter((m, None), before - bytes.len());
        }
        if bytes.is_empty() {
            return Ok(());
        }
        Err(self.corrupt(0, Corrupt("bytes left over"), ""))
    }

    /// Reads all frames of particles.
    fn read_particles(
        &self,
        mesh: usize,
        bytes: &mut &[u8],
        worker: &mut DecodeContext,
        out: &mut [&mut [u64]],
    ) -> Result<(), Error> {
        let record = &self.reel.description().meshes[mesh];
        let (layout, order) = (&self.reel.layout().meshes[mesh], self.reel.order());
        let used = match &layout.chain {
            Some(_) => {
                let (file, unit) = (self.reel.number(), self.unit);
                let unit = chain::ChainUnit { file, mesh, record, layout, order, unit };
                unit.read(bytes, self.decoded, out, &mut worker.chain)
            }
            None => {
                let unit = particles::ParticlesUnit { record, layout, order, unit: self.unit };
                unit.read(bytes, self.decoded, out, &mut worker.particles)
            }
        };
        let name = || format!("particles {}", record.path);
        let used = used.map_err(|(at, c)| self.corrupt(at, c, &name()))?;
        take_bytes(bytes, used).map_err(|c| self.corrupt(0, c, &name()))?;
        Ok(())
    }

    /// Reads the visibility and transforms of frame `at` of the unit.
    fn read_nodes(&self, at: usize, bytes: &mut &[u8], out: &mut [&mut [u64]]) -> Result<(), Error> {
        let layout = self.reel.layout();
        let (done, rest) = out.split_at_mut(at);
        let out = &mut *rest[0];
        let visibility: &mut [u8] = array_mut(out, layout.visibility);
        let bits = take_bytes(bytes, visibility.len());
        visibility.copy_from_slice(bits.map_err(|c| self.corrupt(at, c, "visibility"))?);
        let still: &mut [u8] = array_mut(out, layout.end_states);
        for (mesh, still) in still.iter_mut().enumerate() {
            let own = self.reel.motion_window(mesh);
            *still = EndState::byte(own.and_then(|own| own.end_state(self.frames[at])));
        }
        if layout.transforms.len == 0 || layout.node_decoder.is_some() {
            return Ok(());
        }
        let references = self.reel.order().references(self.frames[at]);
        let whole = self.whole_unit();
        let previous = references.previous.and_then(|frame| whole.find_frame(frame, done));
        let previous = previous.map(|words| frame::array(words, layout.transforms));
        let used = transform::decode(bytes, previous, array_mut(out, layout.transforms));
        used.and_then(|used| take_bytes(bytes, used)).map_err(|c| self.corrupt(at, c, "transforms"))?;
        Ok(())
    }

    /// Reads all frames of those streams of a mesh that are in a tier.
    fn read_streams(
        &self,
        (mesh, tier): (usize, Tier),
        part: &MeshUnit<'_, '_>,
        bytes: &mut &[u8],
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
        meter: &mut dyn FnMut((usize, Option<usize>), usize),
    ) -> Result<(), Error> {
        let record = &self.reel.description().meshes[mesh];
        for stream in 0..record.streams.len() {
            let second = record.separate_attributes && record.is_attribute(stream);
            if tier == Tier::All || second == (tier == Tier::Attributes) {
                let before = bytes.len();
                self.read_stream((mesh, stream), part, bytes, scratch, out)?;
                meter((mesh, Some(stream)), before - bytes.len());
            }
        }
        Ok(())
    }

    /// Reads all frames of a stream.
    fn read_stream(
        &self,
        (mesh, stream): (usize, usize),
        part: &MeshUnit<'_, '_>,
        bytes: &mut &[u8],
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Error> {
        let record = &self.reel.description().meshes[mesh];
        let name = |c: Corrupt, at| self.corrupt(at, c, &stream_name(record, stream));
        let states = self.reel.layout().meshes[mesh].normal_states[stream];
        if let (Some(predicted), Some(states)) = (&self.statics.meshes[mesh].normals[stream], states) {
            let unit = normals::NormalsUnit { order: part.order, unit: part.unit, states };
            let used = unit.read(predicted, bytes, part.decoded, out);
            used.and_then(|used| take_bytes(bytes, used)).map_err(|c| name(c, 0))?;
            return Ok(());
        }
        let Some(place) = self.reel.layout().meshes[mesh].streams[stream] else {
            if record.is_attribute(stream) {
                let used = skip_stream(record, &record.streams[stream], bytes, out.len());
                used.and_then(|used| take_bytes(bytes, used)).map_err(|c| name(c, 0))?;
            }
            return Ok(());
        };
        if record.streams[stream].coding.has_fixed_point() {
            let unit = fixed_point::FixedPointUnit {
                order: part.order,
                unit: part.unit,
                place,
                bones: self.reel.layout().meshes[mesh].bones,
                // Vertex attributes of such a mesh are decoded.
                coded_points: self.reel.layout().meshes[mesh].coded_points.filter(|_| place.len == 0),
            };
            let parts = &self.statics.meshes[mesh].fixed_point[stream];
            let used = unit.read(parts, bytes, part.decoded, scratch, out);
            used.and_then(|used| take_bytes(bytes, used)).map_err(|c| name(c, 0))?;
            return Ok(());
        }
        for at in 0..out.len() {
            let used = match place.value_bytes {
                1 => self.read_classic::<u8>((mesh, stream), part, at, place, bytes, out),
                2 => self.read_classic::<u16>((mesh, stream), part, at, place, bytes, out),
                _ => self.read_classic::<u32>((mesh, stream), part, at, place, bytes, out),
            };
            used.and_then(|used| take_bytes(bytes, used)).map_err(|c| name(c, at))?;
        }
        Ok(())
    }

    /// Reads one frame of a stream of the preset `classic`.
    fn read_classic<W: QuantizedInteger + Code + Pod>(
        &self,
        (mesh, stream): (usize, usize),
        part: &MeshUnit<'_, '_>,
        at: usize,
        place: ArrayLayout,
        bytes: &[u8],
        out: &mut [&mut [u64]],
    ) -> Result<usize, Corrupt> {
        let fixed = &self.statics.meshes[mesh];
        let (done, rest) = out.split_at_mut(at);
        let ReferenceFrames { previous, before_previous, index_before, index_after } =
            part.order.references(part.frames[at]);
        let found = |frame: Option<u32>| {
            let words = frame.and_then(|frame| part.find_frame(frame, done));
            words.map(|words| frame::array::<W>(words, place))
        };
        let references = StreamReferences {
            base: Some(W::slice(&fixed.streams[stream])),
            previous: found(previous),
            before_previous: found(before_previous),
            index_before: found(index_before),
            index_after: found(index_after),
            table: &fixed.predictor_table,
        };
        let semantic = self.reel.description().meshes[mesh].streams[stream].semantic;
        let out = array_mut(rest[0], place);
        let (components, spatial) = (semantic.components(), spatial_prediction(semantic));
        stream::decode(bytes, components, spatial, references, out)
    }
}

/// Returns the name of a stream for error messages.
fn stream_name(mesh: &MeshRecord, stream: usize) -> String {
    let what = match mesh.streams.get(stream).map(|s| s.semantic) {
        Some(Semantic::Position) => "positions",
        Some(Semantic::Normal) => "normals",
        Some(Semantic::QTangent) => "tangent frames",
        Some(Semantic::Uv) => "uvs",
        Some(Semantic::Colour) => "colours",
        Some(Semantic::Velocity) => "velocities",
        Some(Semantic::Width) => "widths",
        Some(_) => "attached numbers",
        None => "stream",
    };
    format!("mesh {}, {what}", mesh.path)
}
