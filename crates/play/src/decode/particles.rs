//! Particles: frames bring their own number and identity of points, unit by unit. A frame is predicted from
//! the values of the same points in the frames that it refers to.

use crate::decode::input::FrameLookup;
use crate::reel::frame::{array, array_mut};
use crate::reel::layout::{ArrayLayout, MeshLayout, ParticlesLayout};
use crate::reel::order::DecodeOrder;
use bytemuck::Pod;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::{MeshRecord, StreamRecord};
use meshreel_codec::schedule::MAX_REFERENCES;
use meshreel_codec::values::particles::{
    ParticleBuffers, ParticleKind, ParticlePoints, ParticleReader, PointBuffers, PointCounts,
};
use meshreel_codec::{Corrupt, take_length_prefixed};

const NO_PARTICLES: Corrupt = Corrupt("frames of particles that the description does not have");

/// The particles of a unit.
#[derive(Clone, Copy)]
pub(crate) struct ParticlesUnit<'a> {
    pub record: &'a MeshRecord,
    pub layout: &'a MeshLayout,
    pub order: &'a DecodeOrder,
    pub unit: usize,
}

/// The frames that a frame refers to, as far as they exist, and their distances to it in frames.
#[derive(Default)]
struct ParticleReferences<'a> {
    words: [Option<&'a [u64]>; MAX_REFERENCES],
    frame_distances: [i32; MAX_REFERENCES],
    count: usize,
}

/// Returns the points of a decoded frame.
pub(crate) fn points<'a>(words: &'a [u64], places: &ParticlesLayout) -> ParticlePoints<'a> {
    let &[count, curves, run] = array::<u32>(words, places.counts) else {
        return ParticlePoints::default();
    };
    let (ids, lengths): (&[u64], &[u32]) = (array(words, places.ids), array(words, places.curves));
    let some = |count: u32, room: usize| (count as usize).min(room);
    ParticlePoints {
        count: count as usize,
        run,
        ids: &ids[..some(count, ids.len())],
        curves: &lengths[..some(curves, lengths.len())],
    }
}

impl ParticlesUnit<'_> {
    /// Reads the particles from the start of `bytes` into the frames of the unit; returns the bytes used. An
    /// error names the frame by its index in the unit.
    pub fn read(
        &self,
        bytes: &[u8],
        decoded: &FrameLookup<'_>,
        out: &mut [&mut [u64]],
        work: &mut ParticleBuffers,
    ) -> Result<usize, (usize, Corrupt)> {
        let (part, used) = take_length_prefixed(bytes).map_err(|c| (0, c))?;
        work.reserve(self.record.vertices as usize);
        let mut reader = ParticleReader::new(part).map_err(|c| (0, c))?;
        let frames = self.order.frames(self.unit);
        for (at, &frame) in frames.iter().enumerate().take(out.len()) {
            let (done, rest) = out.split_at_mut(at);
            let mut sources = ParticleReferences::default();
            for (r, &source) in self.order.layered_references(frame).iter().enumerate().take(MAX_REFERENCES) {
                sources.words[r] = match frames.iter().position(|&f| f == source) {
                    Some(at) => done.get(at).map(|words| &**words),
                    None => decoded(source as usize),
                };
                sources.frame_distances[r] = (i64::from(source) - i64::from(frame)) as i32;
                sources.count = r + 1;
            }
            self.read_frame(&mut reader, &sources, work, rest[0]).map_err(|c| (at, c))?;
        }
        reader.finish().map_err(|c| (0, c))?;
        Ok(used)
    }

    fn read_frame(
        &self,
        reader: &mut ParticleReader<'_>,
        sources: &ParticleReferences<'_>,
        work: &mut ParticleBuffers,
        out: &mut [u64],
    ) -> Result<(), Corrupt> {
        let places = self.layout.particles.as_ref().ok_or(NO_PARTICLES)?;
        array_mut::<u32>(out, places.counts).fill(0);
        let mut others: [ParticlePoints<'_>; MAX_REFERENCES] = Default::default();
        for (points_of, words) in others.iter_mut().zip(&sources.words) {
            *points_of = words.map(|words| points(words, places)).unwrap_or_default();
        }
        let others = &others[..sources.count];
        match reader.kind() {
            0 => return Ok(()),
            1 => self.read_points(reader, others, places, out)?,
            kind => {
                let source = sources.words.get(kind as usize - 2).copied().flatten();
                let source = source.ok_or(Corrupt("the points of a frame that has none"))?;
                array_mut::<u32>(out, places.counts).copy_from_slice(array(source, places.counts));
                array_mut::<u64>(out, places.ids).copy_from_slice(array(source, places.ids));
                array_mut::<u32>(out, places.curves).copy_from_slice(array(source, places.curves));
            }
        }
        let own = points(out, places);
        work.match_points(&own, others);
        let count = own.count;
        for (stream, place) in self.record.streams.iter().zip(&self.layout.streams) {
            let place = place.ok_or(NO_PARTICLES)?;
            match place.value_bytes {
                1 => read_stream::<u8>(reader, (stream, place, count), (sources, others), work, out)?,
                2 => read_stream::<u16>(reader, (stream, place, count), (sources, others), work, out)?,
                _ => read_stream::<u32>(reader, (stream, place, count), (sources, others), work, out)?,
            }
        }
        Ok(())
    }

    /// Reads the points of a frame that brings its own.
    fn read_points(
        &self,
        reader: &mut ParticleReader<'_>,
        others: &[ParticlePoints<'_>],
        places: &ParticlesLayout,
        out: &mut [u64],
    ) -> Result<(), Corrupt> {
        let particles = self.record.particles.unwrap_or_default();
        let shape = ParticleKind { ids: particles.ids, curves: particles.curves.is_some() };
        // They follow each other in the buffer.
        let (head, lengths) = out.split_at_mut(places.curves.offset);
        let ids = array_mut::<u64>(head, places.ids);
        let curves = array_mut::<u32>(lengths, ArrayLayout { offset: 0, ..places.curves });
        let room = PointBuffers { ids, curves, count: self.record.vertices as usize };
        let PointCounts { count, curves, run } = reader.points(shape, others, room)?;
        array_mut::<u32>(out, places.counts).copy_from_slice(&[count as u32, curves as u32, run]);
        Ok(())
    }
}

/// Reads a stream of a frame with `count` points.
fn read_stream<W: Code + Pod>(
    reader: &mut ParticleReader<'_>,
    (stream, place, count): (&StreamRecord, ArrayLayout, usize),
    (sources, others): (&ParticleReferences<'_>, &[ParticlePoints<'_>]),
    work: &mut ParticleBuffers,
    out: &mut [u64],
) -> Result<(), Corrupt> {
    let components = stream.semantic.components();
    let mut frames: [&[W]; MAX_REFERENCES] = [&[]; MAX_REFERENCES];
    for ((frame, words), points) in frames.iter_mut().zip(&sources.words).zip(others) {
        if let Some(words) = words {
            *frame = array::<W>(words, place).get(..components * points.count).ok_or(NO_PARTICLES)?;
        }
    }
    let out = array_mut::<W>(out, place).get_mut(..components * count).ok_or(NO_PARTICLES)?;
    let moments = &sources.frame_distances[..sources.count];
    reader.stream(components, (&frames[..sources.count], moments), work, out)
}
