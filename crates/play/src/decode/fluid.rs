//! Fluid meshes, whose topology changes: frames bring their own indices and vertices, unit by unit. A frame
//! may have the same triangles as another one, and be predicted from it.

use crate::decode::input::FrameLookup;
use crate::reel::frame::{array, array_mut};
use crate::reel::layout::{ArrayLayout, FluidLayout, IndexRange, MeshLayout};
use crate::reel::order::DecodeOrder;
use bytemuck::Pod;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::{MeshRecord, StreamRecord};
use meshreel_codec::schedule::MAX_REFERENCES;
use meshreel_codec::values::changing;
use meshreel_codec::values::changing::{ChangingReader, FrameHead, StreamPrediction, TriangleBuffers};
use meshreel_codec::{Corrupt, take_length_prefixed};

/// The numbers of vertices, indices and points of a fluid mesh in a decoded frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    vertices: u32,
    indices: u32,
    source_points: u32,
    points: u32,
    /// 0 for a frame that is hidden or coded by itself, else one more than its run.
    run: u32,
}

impl Counts {
    fn from_words(words: &[u64], places: &FluidLayout) -> Counts {
        match *array::<u32>(words, places.counts) {
            [vertices, indices, source_points, points, run] => {
                Counts { vertices, indices, source_points, points, run }
            }
            _ => Counts::default(),
        }
    }

    fn same_triangles(&self, other: &Counts) -> bool {
        let source_points = self.source_points;
        let other = Counts { source_points, ..*other };
        *self == other && self.run > 0
    }

    fn write(&self, places: &FluidLayout, out: &mut [u64]) {
        let all = [self.vertices, self.indices, self.source_points, self.points, self.run];
        array_mut::<u32>(out, places.counts).copy_from_slice(&all);
    }
}

/// A fluid mesh in a unit.
#[derive(Clone, Copy)]
pub(crate) struct FluidUnit<'a> {
    pub record: &'a MeshRecord,
    pub layout: &'a MeshLayout,
    pub order: &'a DecodeOrder,
    pub unit: usize,
}

/// The frames that a frame refers to, as far as they exist.
type FluidReferences<'a> = [Option<&'a [u64]>; MAX_REFERENCES];

impl FluidUnit<'_> {
    /// Reads the mesh from the start of `bytes` into the frames of the unit; returns the bytes used. An error
    /// names the frame by its index in the unit.
    pub fn read(
        &self,
        bytes: &[u8],
        decoded: &FrameLookup<'_>,
        out: &mut [&mut [u64]],
        work: &mut changing::ChangingBuffers,
    ) -> Result<usize, (usize, Corrupt)> {
        let (part, used) = take_length_prefixed(bytes).map_err(|c| (0, c))?;
        let record = self.record;
        work.reserve(record.vertices as usize, record.indices as usize);
        let mut reader = ChangingReader::new(part).map_err(|c| (0, c))?;
        let frames = self.order.frames(self.unit);
        let mut before = Counts::default();
        for (at, &frame) in frames.iter().enumerate().take(out.len()) {
            let (done, rest) = out.split_at_mut(at);
            let mut sources: FluidReferences<'_> = [None; MAX_REFERENCES];
            for (slot, &source) in sources.iter_mut().zip(self.order.layered_references(frame).iter()) {
                *slot = match frames.iter().position(|&f| f == source) {
                    Some(at) => done.get(at).map(|words| &**words),
                    None => decoded(source as usize),
                };
            }
            let read = self.read_frame(&mut reader, &sources, before, work, rest[0]);
            before = read.map_err(|c| (at, c))?;
        }
        reader.finish().map_err(|c| (0, c))?;
        Ok(used)
    }

    /// Reads a frame; `before` are the counts of the triangles for which `work` was last prepared.
    fn read_frame(
        &self,
        reader: &mut ChangingReader<'_>,
        sources: &FluidReferences<'_>,
        before: Counts,
        work: &mut changing::ChangingBuffers,
        out: &mut [u64],
    ) -> Result<Counts, Corrupt> {
        let places = self.layout.fluid.as_ref();
        let places = places.ok_or(Corrupt("frames of a mesh that the description does not animate"))?;
        Counts::default().write(places, out);
        array_mut::<IndexRange>(out, places.materials).fill(IndexRange::default());
        let head = reader.head();
        if head.kind == 0 {
            return Ok(before);
        }
        if head.source_points > self.record.source_points {
            return Err(Corrupt("larger than the description says"));
        }
        let counts = match head.kind {
            1 => {
                let counts = self.checked_counts(head)?;
                let mut triangles = self.triangles_mut(&counts, places, out);
                reader.triangles(head, work, &mut triangles)?;
                counts
            }
            kind => {
                const NO_TRIANGLES: Corrupt = Corrupt("the triangles of a frame that has none");
                let source = sources.get(kind as usize - 2).copied().flatten();
                let source = source.ok_or(NO_TRIANGLES)?;
                let from = Counts::from_words(source, places);
                if from.run == 0 {
                    return Err(NO_TRIANGLES);
                }
                for place in [places.indices, places.point] {
                    array_mut::<u32>(out, place).copy_from_slice(array(source, place));
                }
                let materials = array_mut::<IndexRange>(out, places.materials);
                materials.copy_from_slice(array(source, places.materials));
                let counts = Counts { source_points: head.source_points, ..from };
                if !counts.same_triangles(&before) {
                    let triangles = self.triangles_mut(&counts, places, out);
                    work.reuse_triangles(&triangles, counts.vertices as usize, counts.points as usize);
                }
                counts
            }
        };
        // Frames with the same triangles serve as references.
        let mut alike: FluidReferences<'_> = [None; MAX_REFERENCES];
        let all = sources.iter().flatten();
        let all = all.filter(|words| counts.same_triangles(&Counts::from_words(words, places)));
        for (slot, words) in alike.iter_mut().zip(all) {
            *slot = Some(words);
        }
        for (stream, place) in self.record.streams.iter().zip(&self.layout.streams) {
            let place = place.ok_or(Corrupt("frames of a mesh that the description does not animate"))?;
            match place.value_bytes {
                1 => self.read_stream::<u8>(reader, (stream, place), &counts, &alike, work, out)?,
                2 => self.read_stream::<u16>(reader, (stream, place), &counts, &alike, work, out)?,
                _ => self.read_stream::<u32>(reader, (stream, place), &counts, &alike, work, out)?,
            }
        }
        counts.write(places, out);
        Ok(counts)
    }

    /// Returns the counts of a frame with triangles of its own, checked against the description.
    fn checked_counts(&self, head: FrameHead) -> Result<Counts, Corrupt> {
        let record = self.record;
        let indices = u64::from(head.triangles) * 3;
        let points = match record.points {
            0 => head.vertices,
            most => most.min(head.vertices),
        };
        let fits = head.vertices <= record.vertices
            && indices <= u64::from(record.indices)
            && head.points <= points
            && (record.points > 0 || head.points == head.vertices)
            && head.run < u32::MAX;
        if !fits {
            return Err(Corrupt("larger than the description says"));
        }
        Ok(Counts {
            vertices: head.vertices,
            indices: indices as u32,
            source_points: head.source_points,
            points: head.points,
            run: head.run + 1,
        })
    }

    /// Returns the parts of a frame's buffer that its triangles are written to.
    fn triangles_mut<'o>(
        &self,
        counts: &Counts,
        places: &FluidLayout,
        out: &'o mut [u64],
    ) -> TriangleBuffers<'o> {
        // They follow each other in the buffer.
        let behind = |place: ArrayLayout, at: usize| ArrayLayout { offset: place.offset - at, ..place };
        let (head, rest) = out.split_at_mut(places.indices.offset);
        let (indices, rest) = rest.split_at_mut(places.point.offset - places.indices.offset);
        let ranges = array_mut::<IndexRange>(head, places.materials);
        let split = counts.points != counts.vertices;
        let vertices = if split { counts.vertices } else { 0 };
        let indices = array_mut::<u32>(indices, behind(places.indices, places.indices.offset));
        let point = array_mut::<u32>(rest, behind(places.point, places.point.offset));
        TriangleBuffers {
            ranges: bytemuck::cast_slice_mut(ranges),
            indices: &mut indices[..counts.indices as usize],
            point: &mut point[..vertices as usize],
        }
    }

    fn read_stream<W: Code + Pod>(
        &self,
        reader: &mut ChangingReader<'_>,
        (stream, place): (&StreamRecord, ArrayLayout),
        counts: &Counts,
        alike: &FluidReferences<'_>,
        work: &mut changing::ChangingBuffers,
        out: &mut [u64],
    ) -> Result<(), Corrupt> {
        let places = self.layout.fluid.as_ref();
        let places = places.ok_or(Corrupt("frames of a mesh that the description does not animate"))?;
        let kind = StreamPrediction::from_semantic(stream.semantic);
        if kind == StreamPrediction::Normals {
            self.predict_normals(counts, places, u32::from(stream.bits), work, out)?;
        }
        let components = stream.semantic.components();
        let size = components * counts.vertices as usize;
        let mut frames: [&[W]; MAX_REFERENCES] = [&[]; MAX_REFERENCES];
        let mut count = 0;
        for (slot, words) in frames.iter_mut().zip(alike.iter().flatten()) {
            *slot = &array::<W>(words, place)[..size];
            count += 1;
        }
        let split = counts.points != counts.vertices;
        let vertices = if split { counts.vertices as usize } else { 0 };
        let (before, rest) = out.split_at_mut(place.offset);
        let point = &array::<u32>(before, places.point)[..vertices];
        let out = array_mut::<W>(rest, ArrayLayout { offset: 0, ..place });
        reader.stream(kind, components, &frames[..count], point, work, &mut out[..size])
    }

    /// Predicts the normals of a frame from its positions, which are decoded first.
    fn predict_normals(
        &self,
        counts: &Counts,
        places: &FluidLayout,
        bits: u32,
        work: &mut changing::ChangingBuffers,
        out: &[u64],
    ) -> Result<(), Corrupt> {
        let place = self.layout.streams.first().copied().flatten();
        let place = place.ok_or(Corrupt("frames of a mesh that the description does not animate"))?;
        let indices = &array::<u32>(out, places.indices)[..counts.indices as usize];
        let size = 3 * counts.vertices as usize;
        match place.value_bytes {
            1 => work.predict_normals(indices, &array::<u8>(out, place)[..size], bits),
            2 => work.predict_normals(indices, &array::<u16>(out, place)[..size], bits),
            _ => work.predict_normals(indices, &array::<u32>(out, place)[..size], bits),
        }
        Ok(())
    }
}
