//! Particles in chains: each frame continues the one before it. All links between two key frames are in one
//! unit, which is read for the key frame after them. The frames between wait for their own units, which
//! mostly come next; if a decoder has other ones, it reads the links again, from the key frame before. So a
//! frame that begins a group keeps the motion of its points, and the first frame of the unit with the links
//! keeps their bytes.

use crate::decode::input::FrameLookup;
use crate::decode::particles::points;
use crate::reel::frame::{array, array_mut};
use crate::reel::layout::{ArrayLayout, ChainLayout, MeshLayout, ParticlesLayout, WAITING_FRAMES};
use crate::reel::order::DecodeOrder;
use bytemuck::Pod;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::MeshRecord;
use meshreel_codec::schedule;
use meshreel_codec::values::particles::chain::{Chain, ChainReader, ChainStream, PointLayout};
use meshreel_codec::values::particles::{ParticleKind, ParticlePoints};
use meshreel_codec::{Corrupt, take_length_prefixed};

const NO_CHAIN: Corrupt = Corrupt("a chain that the description does not have");
const MISSING_FRAME: Corrupt = Corrupt("a chain from a frame that is not there");

/// The chain of a thread, and frames that have been read but not yet been asked for: of two groups of each
/// mesh, as the key frame after the next may be decoded before the frames of a group.
#[derive(Default)]
pub(crate) struct ChainContext {
    chain: Chain,
    waiting: Vec<WaitingGroup>,
}

/// Frames of a group.
#[derive(Default)]
struct WaitingGroup {
    /// The file, the mesh, and the group.
    of: Option<(u64, usize, u32)>,
    frames: Vec<WaitingFrame>,
    count: usize,
}

#[derive(Default)]
struct WaitingFrame {
    frame: u32,
    shown: bool,
    points: usize,
    run: u32,
    ids: Vec<u64>,
    curves: Vec<u32>,
    /// The values of each stream, component-major, of as many bytes as in frames.
    streams: Vec<Vec<u32>>,
}

/// A frame of points to be written to where decoded frames are: the last one of a chain, or a waiting one.
trait DecodedPoints {
    fn points(&self) -> ParticlePoints<'_>;
    /// Writes the values of a stream, component-major.
    fn values<W: Code + Pod>(&self, stream: usize, components: usize, out: &mut [W]);
}

impl DecodedPoints for Chain {
    fn points(&self) -> ParticlePoints<'_> {
        self.points()
    }

    fn values<W: Code + Pod>(&self, stream: usize, components: usize, out: &mut [W]) {
        self.values(stream, components, out);
    }
}

impl DecodedPoints for WaitingFrame {
    fn points(&self) -> ParticlePoints<'_> {
        ParticlePoints { count: self.points, run: self.run, ids: &self.ids, curves: &self.curves }
    }

    fn values<W: Code + Pod>(&self, stream: usize, _: usize, out: &mut [W]) {
        let values: &[W] = bytemuck::cast_slice(&self.streams[stream]);
        out.iter_mut().zip(values).for_each(|(out, value)| *out = *value);
    }
}

impl WaitingFrame {
    /// Allocates memory for any frame of this layout.
    fn reserve(&mut self, layout: PointLayout<'_>) {
        fn room<T>(list: &mut Vec<T>, count: usize) {
            list.reserve(count.saturating_sub(list.len()));
        }
        room(&mut self.ids, if layout.kind.ids { layout.max_points } else { 0 });
        room(&mut self.curves, layout.max_curves);
        if self.streams.len() < layout.streams.len() {
            self.streams.resize_with(layout.streams.len(), Vec::new);
        }
        for (list, stream) in self.streams.iter_mut().zip(layout.streams) {
            room(list, waiting_words(stream, layout.max_points));
        }
    }

    fn keep(&mut self, frame: u32, shown: bool, chain: &Chain, layout: PointLayout<'_>) {
        let own = chain.points();
        (self.frame, self.shown, self.points, self.run) = (frame, shown, own.count, own.run);
        self.ids.clear();
        self.ids.extend_from_slice(own.ids);
        self.curves.clear();
        self.curves.extend_from_slice(own.curves);
        for (s, (list, stream)) in self.streams.iter_mut().zip(layout.streams).enumerate() {
            list.resize(waiting_words(stream, own.count), 0);
            match stream.word {
                _ if !shown => {}
                1 => chain.values::<u8>(s, stream.components, bytemuck::cast_slice_mut(list)),
                2 => chain.values::<u16>(s, stream.components, bytemuck::cast_slice_mut(list)),
                _ => chain.values::<u32>(s, stream.components, list),
            }
        }
    }
}

/// Returns the 32-bit words that the values of a stream take.
fn waiting_words(stream: &ChainStream, points: usize) -> usize {
    stream.components.saturating_mul(points).saturating_mul(stream.word).div_ceil(4)
}

impl WaitingGroup {
    /// Keeps the current frame of a chain.
    fn keep(&mut self, frame: u32, shown: bool, chain: &Chain, layout: PointLayout<'_>) {
        if self.count < WAITING_FRAMES {
            self.frames[self.count].keep(frame, shown, chain, layout);
            self.count += 1;
        }
    }

    fn find(&self, frame: u32) -> Option<&WaitingFrame> {
        self.frames[..self.count].iter().find(|waiting| waiting.frame == frame)
    }
}

impl ChainContext {
    /// Returns the place for the waiting frames of a group, with memory for all of them.
    fn waiting(&mut self, (file, mesh, group): (u64, usize, u32), layout: PointLayout<'_>) -> usize {
        let place = |of: (u64, usize, u32)| (of.0, of.1, of.2 % 2);
        let own =
            |waiting: &WaitingGroup| waiting.of.is_some_and(|of| place(of) == place((file, mesh, group)));
        // Those of a file that was played before serve again.
        let other = |waiting: &WaitingGroup| waiting.of.is_none_or(|of| of.0 != file);
        let found = self.waiting.iter().position(own).or_else(|| self.waiting.iter().position(other));
        let at = found.unwrap_or_else(|| {
            self.waiting.push(WaitingGroup::default());
            self.waiting.len() - 1
        });
        let waiting = &mut self.waiting[at];
        waiting.frames.resize_with(WAITING_FRAMES, WaitingFrame::default);
        waiting.frames.iter_mut().for_each(|frame| frame.reserve(layout));
        at
    }
}

/// The particles of a unit.
#[derive(Clone, Copy)]
pub(crate) struct ChainUnit<'a> {
    /// The number of the file, of all that are open.
    pub file: u64,
    pub mesh: usize,
    pub record: &'a MeshRecord,
    pub layout: &'a MeshLayout,
    pub order: &'a DecodeOrder,
    pub unit: usize,
}

/// The places of a mesh's particle data in a frame, and their layout.
#[derive(Clone, Copy)]
struct ChainArrays<'a> {
    unit: ChainUnit<'a>,
    particles: &'a ParticlesLayout,
    chain: &'a ChainLayout,
    points: PointLayout<'a>,
}

impl ChainUnit<'_> {
    /// Reads the particles from the start of `bytes` into the frames of the unit; returns the bytes used. An
    /// error names the frame by its index in the unit.
    pub fn read(
        &self,
        bytes: &[u8],
        decoded: &FrameLookup<'_>,
        out: &mut [&mut [u64]],
        context: &mut ChainContext,
    ) -> Result<usize, (usize, Corrupt)> {
        let (own, used) = take_length_prefixed(bytes).map_err(|c| (0, c))?;
        let places = self.arrays().map_err(|c| (0, c))?;
        let DecodeOrder::Layered { schedule, units, .. } = self.order else {
            return Err((0, NO_CHAIN));
        };
        let unit = units[self.unit];
        let group = match unit {
            schedule::Unit::Key(key) => key.saturating_sub(1),
            schedule::Unit::LowerLayers(group) | schedule::Unit::TopLayer(group) => group,
        };
        let waiting = context.waiting((self.file, self.mesh, group), places.points);
        let ChainContext { chain, waiting: groups } = context;
        let waiting = &mut groups[waiting];
        chain.reserve(places.points);
        match unit {
            schedule::Unit::Key(key) if !schedule.chain_continues(key) => {
                chain.clear(places.points);
                let frame = schedule.key_frame(key);
                places.read_links(own, frame..frame + 1, &[frame], out, chain, None)?;
            }
            _ => self.read_group(places, (group, unit), own, decoded, out, (chain, waiting))?,
        }
        if let (schedule::Unit::Key(_), Some(out)) = (unit, out.first_mut()) {
            places.store_motion(chain, out);
        }
        if let (true, Some(out)) = (schedule.has_chain_frames(unit), out.first_mut()) {
            places.store_links(own, out).map_err(|c| (0, c))?;
        }
        Ok(used)
    }

    /// Reads the part of a unit that belongs to a group.
    fn read_group(
        &self,
        places: ChainArrays<'_>,
        (group, unit): (u32, schedule::Unit),
        own: &[u8],
        decoded: &FrameLookup<'_>,
        out: &mut [&mut [u64]],
        (chain, waiting): (&mut Chain, &mut WaitingGroup),
    ) -> Result<(), (usize, Corrupt)> {
        let DecodeOrder::Layered { schedule, .. } = self.order else {
            return Err((0, NO_CHAIN));
        };
        let links = schedule.chain_unit(group);
        let (has_links, frames) = (links == unit, self.order.frames(self.unit));
        if !has_links && !own.is_empty() {
            return Err((0, Corrupt("links of a chain where there can be none")));
        }
        let of = Some((self.file, self.mesh, group));
        if !has_links && waiting.of == of && frames.iter().all(|&frame| waiting.find(frame).is_some()) {
            return places.write_waiting(waiting, &frames, out);
        }
        let first = decoded(schedule.key_frame(group) as usize).ok_or((0, MISSING_FRAME))?;
        places.resume_from(first, chain).map_err(|c| (0, c))?;
        if has_links {
            // Nothing waits if this fails; the place stays that of the mesh.
            (waiting.of, waiting.count) = (of, 0);
            places.read_links(own, schedule.chain_frames(group), &frames, out, chain, Some(waiting))?;
            return Ok(());
        }
        let frame = schedule.frames_of(links).first().copied().ok_or((0, MISSING_FRAME))?;
        let bytes = places.frame_links(decoded(frame as usize).ok_or((0, MISSING_FRAME))?);
        places.read_links(bytes, schedule.chain_frames(group), &frames, out, chain, None)
    }

    fn arrays(&self) -> Result<ChainArrays<'_>, Corrupt> {
        let layout = self.layout;
        let chain = layout.chain.as_ref().ok_or(NO_CHAIN)?;
        let own = self.record.particles.unwrap_or_default();
        let points = PointLayout {
            coding: chain.coding,
            kind: ParticleKind { ids: own.ids, curves: own.curves.is_some() },
            max_points: self.record.vertices as usize,
            max_curves: own.curves.map_or(0, |curves| curves.max_curves as usize),
            streams: &chain.streams,
        };
        let particles = layout.particles.as_ref().ok_or(NO_CHAIN)?;
        Ok(ChainArrays { unit: *self, particles, chain, points })
    }
}

impl ChainArrays<'_> {
    /// Writes frames that waited.
    fn write_waiting(
        &self,
        waiting: &WaitingGroup,
        wanted: &[u32],
        out: &mut [&mut [u64]],
    ) -> Result<(), (usize, Corrupt)> {
        for (at, (frame, out)) in wanted.iter().zip(out).enumerate() {
            let waiting = waiting.find(*frame).ok_or((at, MISSING_FRAME))?;
            self.write_frame(waiting, waiting.shown, out).map_err(|c| (at, c))?;
        }
        Ok(())
    }

    /// Reads links up to the last of the `wanted` frames, and to the end if that is the last frame. All other
    /// frames wait, if any do; then all links are read.
    fn read_links(
        &self,
        bytes: &[u8],
        frames: std::ops::Range<u32>,
        wanted: &[u32],
        out: &mut [&mut [u64]],
        chain: &mut Chain,
        mut waiting: Option<&mut WaitingGroup>,
    ) -> Result<(), (usize, Corrupt)> {
        let last = match waiting {
            Some(_) => frames.end.saturating_sub(1),
            None => wanted.iter().max().copied().unwrap_or(0),
        };
        let mut reader = ChainReader::new(bytes, self.points, chain).map_err(|c| (0, c))?;
        for frame in frames.clone().take_while(|&frame| frame <= last) {
            let at = wanted.iter().position(|&f| f == frame);
            let shown = reader.frame(self.points, chain).map_err(|c| (at.unwrap_or(0), c))?;
            if let Some((at, out)) = at.and_then(|at| Some((at, out.get_mut(at)?))) {
                self.write_frame(&*chain, shown, out).map_err(|c| (at, c))?;
            } else if let Some(waiting) = &mut waiting {
                waiting.keep(frame, shown, chain, self.points);
            }
        }
        match last + 1 == frames.end {
            true => reader.finish().map_err(|c| (0, c)),
            false => Ok(()),
        }
    }

    /// Writes a frame of points.
    fn write_frame(&self, chain: &impl DecodedPoints, shown: bool, out: &mut [u64]) -> Result<(), Corrupt> {
        let counts = array_mut::<u32>(out, self.particles.counts);
        counts.fill(0);
        if !shown {
            return Ok(());
        }
        let own = chain.points();
        counts.copy_from_slice(&[own.count as u32, own.curves.len() as u32, own.run]);
        let ids = array_mut::<u64>(out, self.particles.ids).get_mut(..own.ids.len()).ok_or(NO_CHAIN)?;
        ids.copy_from_slice(own.ids);
        let curves =
            array_mut::<u32>(out, self.particles.curves).get_mut(..own.curves.len()).ok_or(NO_CHAIN)?;
        curves.copy_from_slice(own.curves);
        for (s, place) in self.unit.layout.streams.iter().enumerate() {
            let place = place.ok_or(NO_CHAIN)?;
            match place.value_bytes {
                1 => self.write_stream::<u8>((chain, s), place, own, out)?,
                2 => self.write_stream::<u16>((chain, s), place, own, out)?,
                _ => self.write_stream::<u32>((chain, s), place, own, out)?,
            }
        }
        Ok(())
    }

    fn write_stream<W: Code + Pod>(
        &self,
        (chain, s): (&impl DecodedPoints, usize),
        place: ArrayLayout,
        own: ParticlePoints<'_>,
        out: &mut [u64],
    ) -> Result<(), Corrupt> {
        let components = self.points.streams[s].components;
        let out = array_mut::<W>(out, place).get_mut(..components * own.count).ok_or(NO_CHAIN)?;
        chain.values(s, components, out);
        Ok(())
    }

    /// Continues from a key frame.
    fn resume_from(&self, words: &[u64], chain: &mut Chain) -> Result<(), Corrupt> {
        let own = points(words, self.particles);
        let streams = self.points.streams;
        chain.resume(own, self.points);
        let mut moves = array::<u32>(words, self.chain.motion);
        for (s, place) in self.unit.layout.streams.iter().enumerate() {
            let components = streams[s].components;
            let size = self.points.coding.state_len(components).saturating_mul(self.points.max_points);
            let (of_stream, rest) = moves.split_at_checked(size).ok_or(NO_CHAIN)?;
            moves = rest;
            let place = place.ok_or(NO_CHAIN)?;
            let count = components * own.count;
            fn values<W: Pod>(words: &[u64], place: ArrayLayout, count: usize) -> Result<&[W], Corrupt> {
                array::<W>(words, place).get(..count).ok_or(NO_CHAIN)
            }
            match place.value_bytes {
                1 => chain.restore_stream::<u8>(s, components, values(words, place, count)?, of_stream)?,
                2 => chain.restore_stream::<u16>(s, components, values(words, place, count)?, of_stream)?,
                _ => chain.restore_stream::<u32>(s, components, values(words, place, count)?, of_stream)?,
            }
        }
        Ok(())
    }

    /// Keeps the motion of a key frame's points.
    fn store_motion(&self, chain: &Chain, out: &mut [u64]) {
        let mut moves = array_mut::<u32>(out, self.chain.motion);
        for (s, stream) in self.points.streams.iter().enumerate() {
            let size = self.points.coding.state_len(stream.components).saturating_mul(self.points.max_points);
            let Some((of_stream, rest)) = moves.split_at_mut_checked(size) else {
                return;
            };
            chain.save_stream(s, stream.components, of_stream);
            moves = rest;
        }
    }

    fn store_links(&self, bytes: &[u8], out: &mut [u64]) -> Result<(), Corrupt> {
        array_mut::<u32>(out, self.chain.link_size).fill(bytes.len() as u32);
        let links = array_mut::<u8>(out, self.chain.links).get_mut(..bytes.len());
        links.ok_or(Corrupt("more links of a chain than a unit can have"))?.copy_from_slice(bytes);
        Ok(())
    }

    /// Returns the bytes that [`ChainArrays::store_links`] stored.
    fn frame_links<'w>(&self, words: &'w [u64]) -> &'w [u8] {
        let size = array::<u32>(words, self.chain.link_size).first().copied().unwrap_or(0);
        let links = array::<u8>(words, self.chain.links);
        &links[..links.len().min(size as usize)]
    }
}
