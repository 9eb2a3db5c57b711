//! Units: what is stored, read, checked and decoded as a whole. Of a classic file each frame is one.
//!
//! This is all that decoders and the player need to know about the order in which a file can be decoded: the frames of
//! a unit, the frames that must be decoded before it, and [`decode`].

use crate::Error;
use crate::fluid;
use crate::frame::{part, part_mut};
use crate::layout::Place;
use crate::open::{FrameKind, Reel};
use crate::statics::{Statics, spatial};
use crate::words::Held;
use bytemuck::Pod;
use meshreel_codec::Corrupt;
use meshreel_codec::block::Decompressor;
use meshreel_codec::parallelogram::Table;
use meshreel_codec::record::{MeshRecord, Method, Semantic};
use meshreel_codec::stream::{self, References};
use meshreel_codec::transform;
use meshreel_codec::word::Word;

/// A few frame numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Frames {
    list: [u32; Frames::MOST],
    count: usize,
}

impl Frames {
    /// Most frames of a unit, and most that one needs.
    pub const MOST: usize = 16;

    fn push(&mut self, frame: usize) {
        let frame = frame as u32;
        if self.count < Frames::MOST && !self.contains(&frame) {
            self.list[self.count] = frame;
            self.count += 1;
        }
    }
}

impl std::ops::Deref for Frames {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &self.list[..self.count]
    }
}

/// The units of a file: `0..count`.
impl Reel {
    pub(crate) fn unit_count(&self) -> usize {
        self.frame_count()
    }

    /// The unit that brings `frame`.
    pub(crate) fn unit_of(&self, frame: usize) -> usize {
        frame
    }

    /// The frames of a unit, in the order of time.
    pub(crate) fn unit_frames(&self, unit: usize) -> Frames {
        let mut frames = Frames::default();
        frames.push(unit);
        frames
    }

    /// The frames of other units that must be decoded before it.
    pub(crate) fn unit_needs(&self, unit: usize) -> Frames {
        let mut needs = Frames::default();
        if let Some(between) = Between::of(self, unit) {
            needs.push(between.index_before);
            needs.push(between.index_after);
            needs.push(between.previous);
            if let Some(frame) = between.before_previous {
                needs.push(frame);
            }
        }
        needs
    }

    /// Reads a unit as it lies in the file, and compares its checksum. `out` is replaced; its memory is reused.
    pub(crate) fn read_unit(&self, unit: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let chunk = self.unit_chunk(unit);
        out.clear();
        out.resize(chunk.size as usize, 0);
        let read = self.reader().source().read_at(chunk.offset, out);
        read.map_err(|e| Error::io(self.path(), "could not be read", e))?;
        self.check_unit(unit, out)
    }

    /// Compares the checksum of a unit's bytes.
    pub(crate) fn check_unit(&self, unit: usize, bytes: &[u8]) -> Result<(), Error> {
        if meshreel_format::checksum(bytes) == self.unit_chunk(unit).checksum {
            return Ok(());
        }
        let frame = self.unit_frames(unit).first().copied().unwrap_or(0);
        let what = "the checksum does not match";
        Err(Error::malformed(
            self.path(),
            what,
            format!("frame {frame}"),
        ))
    }

    /// Most units that one frame can wait for, itself included.
    pub(crate) fn longest_wait(&self) -> usize {
        let group = |frame| self.group(frame);
        let longest = (0..self.frame_count()).map(|f| group(f).after - group(f).before);
        2 + longest.max().unwrap_or(0)
    }

    /// 64-bit words of one decoded frame.
    pub(crate) fn frame_words(&self) -> usize {
        self.layout().words
    }

    /// 64-bit words that decoding a unit needs for a while.
    pub(crate) fn scratch_words(&self, unit: usize) -> usize {
        (self.unit_chunk(unit).raw_size as usize).div_ceil(8)
    }
}

/// Frames that a between frame of a classic file is predicted from.
#[derive(Clone, Copy)]
struct Between {
    previous: usize,
    before_previous: Option<usize>,
    index_before: usize,
    index_after: usize,
}

impl Between {
    fn of(reel: &Reel, frame: usize) -> Option<Between> {
        if reel.frame_kind(frame) == FrameKind::Index {
            return None;
        }
        let group = reel.group(frame);
        Some(Between {
            previous: frame - 1,
            before_previous: (frame - 1 > group.before).then(|| frame - 2),
            index_before: group.before,
            index_after: group.after,
        })
    }
}

/// What a decoding thread keeps from unit to unit. Nothing in it depends on the file.
#[derive(Default)]
pub(crate) struct Worker {
    pub decompressor: Decompressor,
    /// Predictor table of a fluid mesh.
    pub table: Table,
}

/// Decoded frames by number; none where it is not there.
pub(crate) type Decoded<'a> = dyn Fn(usize) -> Option<&'a [u64]> + 'a;

/// Called with each mesh and the bytes that it has in the decompressed unit.
pub(crate) type Meter<'a> = dyn FnMut(usize, usize) + 'a;

/// A unit being decoded; names it in errors.
struct Job<'a> {
    reel: &'a Reel,
    statics: &'a Statics,
    frame: usize,
    references: Option<[Option<&'a [u64]>; 4]>,
}

/// A unit as it lies in the file; the caller has compared its checksum.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub unit: usize,
    pub compressed: &'a [u8],
}

/// Decodes a unit into `out`, the buffers of its frames in the order of [`Reel::unit_frames`], `frame_words` each.
/// `scratch` is `scratch_words` long. On an error the frames hold anything. Allocates nothing, but for the tables of
/// fluid meshes.
#[allow(clippy::too_many_arguments)] // Everything that a job brings, once.
pub(crate) fn decode(
    reel: &Reel,
    statics: &Statics,
    source: Source<'_>,
    worker: &mut Worker,
    scratch: &mut [u64],
    decoded: &Decoded<'_>,
    out: &mut [&mut [u64]],
    meter: &mut Meter<'_>,
) -> Result<(), Error> {
    let [out] = out else {
        return Err(Error::misuse("a unit has one frame"));
    };
    let Source { unit, compressed } = source;
    let references = match Between::of(reel, unit) {
        None => None,
        Some(b) => {
            let before_previous = b.before_previous.map(decoded);
            let found = [
                decoded(b.previous),
                before_previous.flatten(),
                decoded(b.index_before),
                decoded(b.index_after),
            ];
            let missing = [found[0], found[2], found[3]].contains(&None);
            if missing || before_previous == Some(None) {
                return Err(Error::misuse("a frame is decoded before those it needs"));
            }
            Some(found)
        }
    };
    let job = Job {
        reel,
        statics,
        frame: unit,
        references,
    };
    let raw = job.decompress(compressed, worker, scratch)?;
    job.read(raw, worker, out, meter)
}

impl<'a> Job<'a> {
    fn corrupt(&self, corrupt: Corrupt, of: &str) -> Error {
        let frame = self.frame;
        let at = match of {
            "" => format!("frame {frame}"),
            of => format!("frame {frame}, {of}"),
        };
        Error::corrupt(self.reel.path(), corrupt, at)
    }

    fn decompress<'s>(
        &self,
        compressed: &[u8],
        worker: &mut Worker,
        scratch: &'s mut [u64],
    ) -> Result<&'s [u8], Error> {
        let size = self.reel.unit_chunk(self.frame).raw_size as usize;
        let raw = bytemuck::cast_slice_mut(scratch);
        let raw: &mut [u8] = raw.get_mut(..size).ok_or_else(|| {
            Error::misuse(format!("{size} bytes of scratch are needed to decompress"))
        })?;
        match Decompressor::raw_size(compressed) {
            Ok(said) if said == size => {}
            Ok(_) => {
                let what = Corrupt("block and frame table disagree on the size");
                return Err(self.corrupt(what, ""));
            }
            Err(corrupt) => return Err(self.corrupt(corrupt, "")),
        }
        let done = worker.decompressor.decompress(compressed, raw);
        done.map_err(|c| self.corrupt(c, ""))?;
        Ok(raw)
    }

    fn read(
        &self,
        mut bytes: &[u8],
        worker: &mut Worker,
        out: &mut [u64],
        meter: &mut Meter<'_>,
    ) -> Result<(), Error> {
        let layout = self.reel.layout();
        let visibility: &mut [u8] = part_mut(out, layout.visibility);
        let bits = take(&mut bytes, visibility.len());
        visibility.copy_from_slice(bits.map_err(|c| self.corrupt(c, "visibility"))?);
        if layout.transforms.len > 0 {
            let previous = self.references.and_then(|r| r[0]);
            let previous = previous.map(|words| part(words, layout.transforms));
            let used = transform::decode(bytes, previous, part_mut(out, layout.transforms));
            used.and_then(|used| take(&mut bytes, used))
                .map_err(|c| self.corrupt(c, "transforms"))?;
        }
        for (m, mesh) in self.reel.description().meshes.iter().enumerate() {
            let before = bytes.len();
            match mesh.method {
                Method::Static => {}
                Method::Soft => self.read_soft(m, mesh, &mut bytes, out)?,
                Method::Fluid => {
                    let layout = &layout.meshes[m];
                    let used = fluid::read(mesh, layout, bytes, out, &mut worker.table);
                    used.and_then(|used| take(&mut bytes, used))
                        .map_err(|c| self.corrupt(c, &format!("mesh {}", mesh.path)))?;
                }
            }
            meter(m, before - bytes.len());
        }
        if bytes.is_empty() {
            return Ok(());
        }
        Err(self.corrupt(Corrupt("bytes left over"), ""))
    }

    fn read_soft(
        &self,
        m: usize,
        mesh: &MeshRecord,
        bytes: &mut &[u8],
        out: &mut [u64],
    ) -> Result<(), Error> {
        for (s, record) in mesh.streams.iter().enumerate() {
            let Some(place) = self.reel.layout().meshes[m].streams[s] else {
                continue;
            };
            let used = match place.size {
                1 => self.read_stream::<u8>((m, s), record.semantic, place, bytes, out),
                2 => self.read_stream::<u16>((m, s), record.semantic, place, bytes, out),
                _ => self.read_stream::<u32>((m, s), record.semantic, place, bytes, out),
            };
            used.and_then(|used| take(bytes, used))
                .map_err(|c| self.corrupt(c, &stream_name(mesh, s)))?;
        }
        Ok(())
    }

    fn read_stream<W: Held + Word + Pod>(
        &self,
        (mesh, stream): (usize, usize),
        semantic: Semantic,
        place: Place,
        bytes: &[u8],
        out: &mut [u64],
    ) -> Result<usize, Corrupt> {
        let fixed = &self.statics.meshes[mesh];
        let reference = |i: usize| {
            let words = self.references.and_then(|r| r[i]);
            words.map(|words| part::<W>(words, place))
        };
        let references = References {
            base: Some(W::of(&fixed.streams[stream])),
            previous: reference(0),
            before_previous: reference(1),
            index_before: reference(2),
            index_after: reference(3),
            table: &fixed.table,
        };
        let (components, spatial) = (semantic.components(), spatial(semantic));
        stream::decode(bytes, components, spatial, references, part_mut(out, place))
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
