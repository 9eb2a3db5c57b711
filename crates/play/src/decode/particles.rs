//! Particles: frames bring their own number and identity of points, unit by unit. A frame is predicted from
//! the values of the same points in the frames that it refers to.

use crate::decode::input::Decoded;
use crate::reel::frame::{part, part_mut};
use crate::reel::layout::{MeshLayout, ParticlesLayout, Place};
use crate::reel::order::Order;
use bytemuck::Pod;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::{MeshRecord, StreamRecord};
use meshreel_codec::values::changing::REFERENCES;
use meshreel_codec::values::particles::{Found, Points, Reader, Room, Shape, Work};
use meshreel_codec::{Corrupt, take_sized};

const NO_PLACE: Corrupt = Corrupt("frames of particles that the description does not have");

/// The particles of a unit.
#[derive(Clone, Copy)]
pub(crate) struct Unit<'a> {
    pub record: &'a MeshRecord,
    pub layout: &'a MeshLayout,
    pub order: &'a Order,
    pub unit: usize,
}

/// The frames that a frame refers to, as far as they exist, and their distances to it in frames.
#[derive(Default)]
struct Sources<'a> {
    words: [Option<&'a [u64]>; REFERENCES],
    moments: [i32; REFERENCES],
    count: usize,
}

/// Returns the points of a decoded frame.
pub(crate) fn points<'a>(words: &'a [u64], places: &ParticlesLayout) -> Points<'a> {
    let &[count, curves, run] = part::<u32>(words, places.counts) else {
        return Points::default();
    };
    let (ids, lengths): (&[u64], &[u32]) = (part(words, places.ids), part(words, places.curves));
    let some = |count: u32, room: usize| (count as usize).min(room);
    Points {
        count: count as usize,
        run,
        ids: &ids[..some(count, ids.len())],
        curves: &lengths[..some(curves, lengths.len())],
    }
}

impl Unit<'_> {
    /// Reads the particles from the start of `bytes` into the frames of the unit; returns the bytes used. An
    /// error names the frame by its index in the unit.
    pub fn read(
        &self,
        bytes: &[u8],
        decoded: &Decoded<'_>,
        out: &mut [&mut [u64]],
        work: &mut Work,
    ) -> Result<usize, (usize, Corrupt)> {
        let (part, used) = take_sized(bytes).map_err(|c| (0, c))?;
        work.reserve(self.record.vertices as usize);
        let mut reader = Reader::new(part).map_err(|c| (0, c))?;
        let frames = self.order.frames(self.unit);
        for (at, &frame) in frames.iter().enumerate().take(out.len()) {
            let (done, rest) = out.split_at_mut(at);
            let mut sources = Sources::default();
            for (r, &source) in self.order.sources(frame).iter().enumerate().take(REFERENCES) {
                sources.words[r] = match frames.iter().position(|&f| f == source) {
                    Some(at) => done.get(at).map(|words| &**words),
                    None => decoded(source as usize),
                };
                sources.moments[r] = (i64::from(source) - i64::from(frame)) as i32;
                sources.count = r + 1;
            }
            self.frame(&mut reader, &sources, work, rest[0]).map_err(|c| (at, c))?;
        }
        reader.finish().map_err(|c| (0, c))?;
        Ok(used)
    }

    fn frame(
        &self,
        reader: &mut Reader<'_>,
        sources: &Sources<'_>,
        work: &mut Work,
        out: &mut [u64],
    ) -> Result<(), Corrupt> {
        let places = self.layout.particles.as_ref().ok_or(NO_PLACE)?;
        part_mut::<u32>(out, places.counts).fill(0);
        let mut others: [Points<'_>; REFERENCES] = Default::default();
        for (points_of, words) in others.iter_mut().zip(&sources.words) {
            *points_of = words.map(|words| points(words, places)).unwrap_or_default();
        }
        let others = &others[..sources.count];
        match reader.kind() {
            0 => return Ok(()),
            1 => self.own(reader, others, places, out)?,
            kind => {
                let source = sources.words.get(kind as usize - 2).copied().flatten();
                let source = source.ok_or(Corrupt("the points of a frame that has none"))?;
                part_mut::<u32>(out, places.counts).copy_from_slice(part(source, places.counts));
                part_mut::<u64>(out, places.ids).copy_from_slice(part(source, places.ids));
                part_mut::<u32>(out, places.curves).copy_from_slice(part(source, places.curves));
            }
        }
        let own = points(out, places);
        work.find(&own, others);
        let count = own.count;
        for (stream, place) in self.record.streams.iter().zip(&self.layout.streams) {
            let place = place.ok_or(NO_PLACE)?;
            match place.size {
                1 => stream_of::<u8>(reader, (stream, place, count), (sources, others), work, out)?,
                2 => stream_of::<u16>(reader, (stream, place, count), (sources, others), work, out)?,
                _ => stream_of::<u32>(reader, (stream, place, count), (sources, others), work, out)?,
            }
        }
        Ok(())
    }

    /// Reads the points of a frame that brings its own.
    fn own(
        &self,
        reader: &mut Reader<'_>,
        others: &[Points<'_>],
        places: &ParticlesLayout,
        out: &mut [u64],
    ) -> Result<(), Corrupt> {
        let particles = self.record.particles.unwrap_or_default();
        let shape = Shape { ids: particles.ids, curves: particles.curves.is_some() };
        // They follow each other in the buffer.
        let (head, lengths) = out.split_at_mut(places.curves.at);
        let ids = part_mut::<u64>(head, places.ids);
        let curves = part_mut::<u32>(lengths, Place { at: 0, ..places.curves });
        let room = Room { ids, curves, count: self.record.vertices as usize };
        let Found { count, curves, run } = reader.points(shape, others, room)?;
        part_mut::<u32>(out, places.counts).copy_from_slice(&[count as u32, curves as u32, run]);
        Ok(())
    }
}

/// Reads a stream of a frame with `count` points.
fn stream_of<W: Code + Pod>(
    reader: &mut Reader<'_>,
    (stream, place, count): (&StreamRecord, Place, usize),
    (sources, others): (&Sources<'_>, &[Points<'_>]),
    work: &mut Work,
    out: &mut [u64],
) -> Result<(), Corrupt> {
    let components = stream.semantic.components();
    let mut frames: [&[W]; REFERENCES] = [&[]; REFERENCES];
    for ((frame, words), points) in frames.iter_mut().zip(&sources.words).zip(others) {
        if let Some(words) = words {
            *frame = part::<W>(words, place).get(..components * points.count).ok_or(NO_PLACE)?;
        }
    }
    let out = part_mut::<W>(out, place).get_mut(..components * count).ok_or(NO_PLACE)?;
    let moments = &sources.moments[..sources.count];
    reader.stream(components, (&frames[..sources.count], moments), work, out)
}
