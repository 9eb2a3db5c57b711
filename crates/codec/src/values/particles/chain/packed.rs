//! Chains in packed bits, for the preset fast: no entropy coder, and one law of motion for all points of a
//! stream, so that vectors decode them.
//!
//! ```text
//! links     for each stream its law, then the frames; without alignment, to the end of the bytes
//! law       varints: grain − 1 · memory: 0, or 2 to 16 at most · damping, at most 512 · for each component the pull, zigzag, clamped to ±2²²
//! frame     varint kind: 0 hidden · 1 points of its own · 2 those of the frame before; then for kind 1 its points, then each stream
//! ids       varint: how many points of the frame before are gone; for each, a varint: the points before it, from the last one that is gone, that stay ·
//!           varint: how many are born; if some are, a byte: 1 if the first id is above all ids of the frame before; for each a long varint: its id minus
//!           the smallest that it could have: one above the one before it; for the first one above all those, or 0
//! no ids    varint run · varint points, or varint curves and for each a varint, its points
//! stream    a byte: 1 if points at rest have a list of their own, else 0 · a bit per block: does it have residuals?, padded to a byte · for each block that
//!           has some, for each component, its code, four bits, the lowest first, padded to a byte · the fields of these, see blocks.rs
//! lists     of residuals, each in blocks of 16 numbers per component: points that move, or all that the frame before has · points at rest, if they
//!           have their own · points that are born
//! moves     the velocity of some component is not 0
//! next      of a point that moves: velocity v = ⌊(damping · velocity + 128) / 256⌋ + pull, position x = off + v; of one at rest: v = x = 0
//! value     value before + e + grain · residual, e = ⌊(x + 128) / 256⌋
//! smooth    if the memory n is not 0, the point moves, and the residual of no component is beyond ±8: off is x − 256 · e − (256 − α) · grain · residual,
//!           velocity v + β · grain · residual, α and β the gains of other chains: ⌊512 · (2n − 1) / n(n + 1)⌋, ⌊1536 / n(n + 1)⌋
//! else      off 0, velocity 256 · (e + grain · residual), the sum clamped to ±2¹³
//!           velocities are clamped to ±2²¹; off and velocity are 0 at birth
//! born      as in other chains: like the point born before it, or for curves the point before, or the beginning of the curve before
//! ```

use super::blocks::{BLOCK, unpack};
use super::frame::{ChainStream, PointFrame, PointLayout, room};
use super::motion::{GAINS, MAX_MEMORY, MAX_SMOOTH_RESIDUAL, check_components};
use crate::Corrupt;
use crate::bytes::Cursor;
use crate::simd::Kernel;
use crate::simd::doubles::Doubles;
use crate::simd::isa::Isa;
use crate::simd::run_kernel;
use crate::values::particles::prediction::MAX_GRAIN;
use crate::values::particles::{NO_POINT, TOO_MANY};

const MAX_DAMPING: u32 = 512;
pub(super) const MAX_PULL: i32 = 1 << 22;
const MAX_VELOCITY: i32 = 1 << 21;
const MAX_DISTANCE: i32 = MAX_VELOCITY >> 8;
const MAX_SMOOTH: i32 = MAX_SMOOTH_RESIDUAL as i32;
/// The points that are predicted at a time.
const CHUNK: usize = 256;

/// The motion of all points of a stream in an access unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedMotion {
    /// Residuals are multiples of this, at least 1.
    pub grain: i32,
    /// The number of frames that a motion is averaged over; 0 if only the last displacement counts.
    pub memory: u32,
    /// What remains of a velocity after a frame, in 2⁻⁸.
    pub damping: i32,
    /// For each component, the change of a velocity from frame to frame, in 2⁻⁸.
    pub pull: [i32; 4],
}

impl PackedMotion {
    fn read(bytes: &mut Cursor<'_>, components: usize) -> Result<PackedMotion, Corrupt> {
        let grain = bytes.varint()?.min(MAX_GRAIN) as i32 + 1;
        let memory = bytes.varint()?.min(MAX_MEMORY);
        if memory == 1 {
            return Err(Corrupt("particles: a motion of one frame"));
        }
        let damping = bytes.varint()?.min(MAX_DAMPING) as i32;
        let mut pull = [0; 4];
        for pull in &mut pull[..components] {
            let zigzag = bytes.varint()?;
            *pull = ((zigzag >> 1) as i32 ^ -(zigzag as i32 & 1)).clamp(-MAX_PULL, MAX_PULL);
        }
        Ok(PackedMotion { grain, memory, damping, pull })
    }
}

/// Adjacent points that are adjacent in the frame before too, or were not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PointRun {
    /// The number of the first one in the frame before, or [`NO_POINT`].
    pub from: u32,
    /// The number of points.
    pub count: u32,
}

/// What a packed chain needs for a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedBuffers {
    pub motion: Vec<PackedMotion>,
    pub runs: Vec<PointRun>,
    /// The points of the frame before that are gone.
    pub gone: Vec<u32>,
    /// The ids of the points that are born.
    pub born: Vec<u64>,
    /// Residuals, a plane for each component.
    pub residuals: Vec<i32>,
    /// The same in the order of points.
    pub ordered: Vec<i32>,
}

impl PackedBuffers {
    /// The bytes of memory of a point.
    pub const POINT_BYTES: u64 = 8 + 4 + 8 + 2 * 4 * 4;
    /// The bytes of memory for blocks that are not full.
    pub const PADDING_BYTES: u64 = 4 * (4 * 3 * BLOCK as u64);

    pub fn reserve(&mut self, layout: PointLayout<'_>) {
        let points = layout.max_points;
        room(&mut self.motion, layout.streams.len());
        room(&mut self.runs, points);
        room(&mut self.gone, if layout.kind.ids { points } else { 0 });
        room(&mut self.born, if layout.kind.ids { points } else { 0 });
        let widest = layout.streams.iter().map(|stream| stream.components).max().unwrap_or(0);
        room(&mut self.ordered, widest.saturating_mul(points));
        room(&mut self.residuals, widest.saturating_mul(points.saturating_add(3 * BLOCK)));
    }
}

/// Decodes links of packed bits, frame after frame.
#[derive(Clone, Copy)]
pub(super) struct PackedReader<'a> {
    bytes: Cursor<'a>,
}

/// A frame whose points were read, and the one before it.
pub(super) struct PackedFrame<'a> {
    pub now: &'a mut PointFrame,
    pub before: &'a PointFrame,
    pub packed: &'a mut PackedBuffers,
    /// For each point, `true` if a curve begins here.
    pub curve_starts: &'a [bool],
}

impl<'a> PackedReader<'a> {
    pub fn new(
        bytes: &'a [u8],
        streams: &[ChainStream],
        packed: &mut PackedBuffers,
    ) -> Result<PackedReader<'a>, Corrupt> {
        let mut bytes = Cursor::new(bytes);
        packed.motion.clear();
        for stream in streams {
            check_components(stream.components)?;
            packed.motion.push(PackedMotion::read(&mut bytes, stream.components)?);
        }
        Ok(PackedReader { bytes })
    }

    /// Starts with the points of a frame.
    #[cfg(feature = "encode")]
    pub fn of_points(bytes: &'a [u8]) -> PackedReader<'a> {
        PackedReader { bytes: Cursor::new(bytes) }
    }

    /// Reads the streams of a frame.
    pub fn streams(&mut self, streams: &[ChainStream], mut frame: PackedFrame<'_>) -> Result<(), Corrupt> {
        if frame.packed.motion.len() != streams.len() {
            return Err(Corrupt("particles: a chain of other streams"));
        }
        for (s, stream) in streams.iter().enumerate() {
            read_stream(&mut self.bytes, &mut frame, (s, *stream))?;
        }
        Ok(())
    }

    pub fn finish(self) -> Result<(), Corrupt> {
        match self.bytes.left() {
            0 => Ok(()),
            _ => Err(Corrupt("particles: bytes after the links of a chain")),
        }
    }

    /// Reads the points of the next frame. Returns `true` if the frame is shown.
    pub fn points(
        &mut self,
        layout: PointLayout<'_>,
        now: &mut PointFrame,
        before: &PointFrame,
        packed: &mut PackedBuffers,
    ) -> Result<bool, Corrupt> {
        packed.runs.clear();
        match self.bytes.varint()? {
            0 => return Ok(false),
            1 if layout.kind.ids => {
                let counts = self.ids(layout.max_points, before, packed)?;
                align(counts, now, before, packed)?;
            }
            1 => {
                now.run = self.bytes.varint()?.saturating_add(1);
                let count = self.bytes.varint()? as usize;
                match layout.kind.curves {
                    true => self.curves(count, layout, now)?,
                    false => now.count = count,
                }
                if now.count > layout.max_points {
                    return Err(TOO_MANY);
                }
                let same = now.run == before.run && now.count == before.count;
                push_run(&mut packed.runs, if same { 0 } else { NO_POINT }, now.count);
            }
            2 => {
                now.copy_points(before);
                push_run(&mut packed.runs, 0, now.count);
            }
            _ => return Err(Corrupt("particles: a frame of a chain of no kind")),
        }
        Ok(true)
    }

    fn curves(&mut self, count: usize, layout: PointLayout<'_>, now: &mut PointFrame) -> Result<(), Corrupt> {
        if count > layout.max_curves {
            return Err(TOO_MANY);
        }
        let mut sum = 0;
        for _ in 0..count {
            let length = self.bytes.varint()?;
            sum += u64::from(length);
            if sum > layout.max_points as u64 {
                return Err(TOO_MANY);
            }
            now.curves.push(length);
        }
        now.count = sum as usize;
        Ok(())
    }

    /// Reads which points are gone, and the ids of those that are born; returns the number of points.
    fn ids(
        &mut self,
        max_points: usize,
        before: &PointFrame,
        packed: &mut PackedBuffers,
    ) -> Result<usize, Corrupt> {
        let bytes = &mut self.bytes;
        packed.gone.clear();
        packed.born.clear();
        let gone = bytes.varint()? as usize;
        if gone > before.ids.len() {
            return Err(TOO_MANY);
        }
        let mut next = 0usize;
        for _ in 0..gone {
            let at = (bytes.varint()? as usize).checked_add(next);
            let at = at.filter(|at| *at < before.ids.len()).ok_or(TOO_MANY)?;
            packed.gone.push(at as u32);
            next = at + 1;
        }
        let born = bytes.varint()? as usize;
        let count = (before.ids.len() - gone).checked_add(born);
        let count = count.filter(|count| *count <= max_points).ok_or(TOO_MANY)?;
        if born == 0 {
            return Ok(count);
        }
        let mut next = match (bytes.u8()?, before.ids.last()) {
            (0, _) | (1, None) => Some(0),
            (1, Some(last)) => last.checked_add(1),
            _ => return Err(Corrupt("particles: births of no kind")),
        };
        for _ in 0..born {
            let id = next.and_then(|next: u64| next.checked_add(bytes.long_varint().ok()?));
            packed.born.push(id.ok_or(Corrupt("particles: an id beyond all"))?);
            next = id.and_then(|id| id.checked_add(1));
        }
        Ok(count)
    }
}

/// Appends points to the runs of a frame; births that follow each other are one run.
fn push_run(runs: &mut Vec<PointRun>, from: u32, count: usize) {
    match runs.last_mut() {
        Some(last) if from == NO_POINT && last.from == NO_POINT => last.count += count as u32,
        _ if count > 0 => runs.push(PointRun { from, count: count as u32 }),
        _ => {}
    }
}

/// Merges the points that stay with those that are born.
fn align(
    count: usize,
    now: &mut PointFrame,
    before: &PointFrame,
    packed: &mut PackedBuffers,
) -> Result<(), Corrupt> {
    let PackedBuffers { runs, gone, born, .. } = packed;
    let mut fresh = &born[..];
    let mut start = 0;
    for end in gone.iter().map(|at| *at as usize).chain([before.ids.len()]) {
        while let (Some(last), Some((id, rest))) = (before.ids[start..end].last(), fresh.split_first()) {
            if id > last {
                break;
            }
            let at = start + before.ids[start..end].partition_point(|other| other < id);
            if before.ids[at] == *id {
                return Err(Corrupt("particles: an id twice"));
            }
            push_run(runs, start as u32, at - start);
            now.ids.extend_from_slice(&before.ids[start..at]);
            push_run(runs, NO_POINT, 1);
            now.ids.push(*id);
            (fresh, start) = (rest, at);
        }
        push_run(runs, start as u32, end - start);
        now.ids.extend_from_slice(&before.ids[start..end]);
        start = end + 1;
    }
    push_run(runs, NO_POINT, fresh.len());
    now.ids.extend_from_slice(fresh);
    now.count = count;
    Ok(())
}

/// Reads a stream of the frame whose points were read.
fn read_stream(
    bytes: &mut Cursor<'_>,
    frame: &mut PackedFrame<'_>,
    (s, stream): (usize, ChainStream),
) -> Result<(), Corrupt> {
    let kind = bytes.u8()?;
    if kind > 1 {
        return Err(Corrupt("particles: a stream of no kind"));
    }
    let PackedFrame { now, before, packed, curve_starts } = frame;
    let PackedBuffers { motion, runs, residuals, ordered, .. } = &mut **packed;
    if before.streams[s].len() != 3 * stream.components * before.count {
        return Err(Corrupt("particles: a chain from a frame of other streams"));
    }
    let step = StreamStep {
        stream,
        motion: motion[s],
        runs,
        curve_starts: if now.curves.is_empty() { &[] } else { curve_starts },
        before: &before.streams[s],
        rest_apart: kind == 1,
    };
    let lists = step.lists();
    let blocks: usize = lists.iter().map(|count| count.div_ceil(BLOCK)).sum();
    let flags = bytes.bytes(blocks.div_ceil(8))?;
    let filled: usize = flags.iter().map(|flags| flags.count_ones() as usize).sum();
    let filled = filled * stream.components;
    let codes = bytes.bytes(filled.div_ceil(2))?;
    residuals.resize(stream.components * blocks * BLOCK, 0);
    run_kernel(
        Isa::get(),
        Unpack { flags, codes, filled, fields: bytes, residuals, components: stream.components },
    )?;
    step.run(lists, residuals, ordered, now.count, &mut now.streams[s]);
    Ok(())
}

const BEYOND: Corrupt = Corrupt("particles: residuals beyond the last block");

/// Unpacks the residuals of all blocks, component by component.
struct Unpack<'a, 'b> {
    flags: &'a [u8],
    codes: &'a [u8],
    /// The number of codes.
    filled: usize,
    fields: &'a mut Cursor<'b>,
    residuals: &'a mut [i32],
    components: usize,
}

impl Kernel for Unpack<'_, '_> {
    type Out = Result<(), Corrupt>;

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) -> Result<(), Corrupt> {
        let (plane, mut number) = (self.residuals.len() / self.components, 0);
        let mut fields = *self.fields;
        for b in 0..plane / BLOCK {
            let filled = self.flags[b / 8] >> (b % 8) & 1 == 1;
            for k in 0..self.components {
                let block = self.residuals[k * plane + b * BLOCK..].first_chunk_mut::<BLOCK>();
                let out = block.ok_or(BEYOND)?;
                if filled {
                    let code = self.codes[number / 2] >> (4 * (number % 2)) & 15;
                    number += 1;
                    unpack(code, &mut fields, out)?;
                } else {
                    *out = [0; BLOCK];
                }
            }
        }
        // Flags of blocks that do not exist count, too.
        if number != self.filled || number % 2 == 1 && self.codes[number / 2] >> 4 != 0 {
            return Err(BEYOND);
        }
        *self.fields = fields;
        Ok(())
    }
}

/// A stream from one frame to the next.
#[derive(Clone, Copy)]
pub(super) struct StreamStep<'a> {
    pub stream: ChainStream,
    pub motion: PackedMotion,
    pub runs: &'a [PointRun],
    /// For each point, `true` if a curve begins here; empty if they are not of curves.
    pub curve_starts: &'a [bool],
    /// Planes of the frame before: the codes of each component, then the offsets, then the velocities.
    pub before: &'a [i32],
    /// `true` if the residuals of points at rest have a list of their own.
    pub rest_apart: bool,
}

impl StreamStep<'_> {
    /// Returns the numbers of residuals of points that move, of points at rest, and of points that are born.
    pub fn lists(&self) -> [usize; 3] {
        let mut lists = [0; 3];
        for run in self.runs {
            let count = run.count as usize;
            if run.from == NO_POINT {
                lists[2] += count;
                continue;
            }
            let resting = match self.rest_apart {
                true => (0..count).filter(|v| !self.moves(run.from as usize + v)).count(),
                false => 0,
            };
            lists[0] += count - resting;
            lists[1] += resting;
        }
        lists
    }

    /// Returns `true` if a point of the frame before moves.
    pub fn moves(&self, v: usize) -> bool {
        let count = self.before.len() / (3 * self.stream.components);
        self.before[2 * self.stream.components * count..].chunks_exact(count).any(|plane| plane[v] != 0)
    }

    /// Returns the expected value of a point of the frame before.
    #[cfg(feature = "encode")]
    pub fn expected_point<const N: usize>(&self, v: usize) -> [i32; N] {
        let count = self.before.len() / (3 * N);
        let moves = self.moves(v);
        let before = |plane: usize| self.before[plane * count + v];
        std::array::from_fn(|k| {
            let (_, position) = self.motion.next(k, moves, before(N + k), before(2 * N + k));
            before(k).wrapping_add(nearest(position))
        })
    }

    /// Returns the value that is `residual` grains from the expected one.
    pub fn value(&self, expected: i32, residual: i32) -> i32 {
        self.stream.wrap(expected.wrapping_add(residual.wrapping_mul(self.motion.grain)))
    }

    /// Makes the planes of the next frame, of `count` points. `lists` are the numbers of residuals, `ordered`
    /// is scratch.
    pub fn run(
        self,
        lists: [usize; 3],
        residuals: &[i32],
        ordered: &mut Vec<i32>,
        count: usize,
        now: &mut Vec<i32>,
    ) {
        // Points that are born begin with zeros.
        let n = self.stream.components;
        now.resize(3 * n * count, 0);
        ordered.resize(n * count, 0);
        if count == 0 {
            return;
        }
        self.copy_runs(residuals, ordered, count, now);
        if self.rest_apart {
            self.sort_residuals(lists, residuals, ordered, now);
        }
        let isa = Isa::get();
        match n {
            1 => run_kernel(isa, Advance::<1> { motion: self.motion, stream: self.stream, ordered, now }),
            2 => run_kernel(isa, Advance::<2> { motion: self.motion, stream: self.stream, ordered, now }),
            3 => run_kernel(isa, Advance::<3> { motion: self.motion, stream: self.stream, ordered, now }),
            _ => run_kernel(isa, Advance::<4> { motion: self.motion, stream: self.stream, ordered, now }),
        }
        let [moving, resting, _] = lists.map(|count| count.next_multiple_of(BLOCK));
        self.bear(&residuals[moving + resting..], residuals.len() / n, count, now);
    }

    /// Copies points of the frame before to where they are in the next one, and residuals in the order of all
    /// of them; nothing of points that are born.
    fn copy_runs(&self, residuals: &[i32], ordered: &mut [i32], count: usize, now: &mut [i32]) {
        let n = self.stream.components;
        let (plane, before) = (residuals.len() / n, self.before.len() / (3 * n));
        let (mut first, mut next) = (0, 0);
        for run in self.runs {
            let length = run.count as usize;
            if run.from != NO_POINT {
                for (now, old) in now.chunks_exact_mut(count).zip(self.before.chunks_exact(before)) {
                    now[first..][..length].copy_from_slice(&old[run.from as usize..][..length]);
                }
                for (out, own) in ordered.chunks_exact_mut(count).zip(residuals.chunks_exact(plane)) {
                    if !self.rest_apart {
                        out[first..][..length].copy_from_slice(&own[next..][..length]);
                    }
                }
                next += length;
            }
            first += length;
        }
    }

    /// Merges the residuals of points that move and of points at rest.
    fn sort_residuals(&self, lists: [usize; 3], residuals: &[i32], ordered: &mut [i32], now: &[i32]) {
        let n = self.stream.components;
        let (plane, count) = (residuals.len() / n, ordered.len() / n);
        let mut next = [lists[0].next_multiple_of(BLOCK), 0];
        let mut first = 0;
        for run in self.runs {
            let points = first..first + run.count as usize;
            first = points.end;
            for v in points.filter(|_| run.from != NO_POINT) {
                let moves = (2 * n..3 * n).any(|plane| now[plane * count + v] != 0);
                let next = &mut next[usize::from(moves)];
                (0..n).for_each(|k| ordered[k * count + v] = residuals[k * plane + *next]);
                *next += 1;
            }
        }
    }

    /// Makes the points that the frame before does not have, from planes of their residuals.
    fn bear(&self, residuals: &[i32], plane: usize, count: usize, now: &mut [i32]) {
        let n = self.stream.components;
        let (mut first, mut next) = (0, 0);
        let (mut born, mut start) = (None::<usize>, None::<usize>);
        for run in self.runs {
            let points = first..first + run.count as usize;
            first = points.end;
            for v in points.filter(|_| run.from == NO_POINT) {
                let begins = self.curve_starts.get(v).copied().unwrap_or(false);
                let like = if begins { start } else { born };
                for k in 0..n {
                    let like = like.map_or(0, |like| now[k * count + like]);
                    now[k * count + v] = self.value(like, residuals[k * plane + next]);
                    now[(n + k) * count + v] = 0;
                    now[(2 * n + k) * count + v] = 0;
                }
                next += 1;
                born = Some(v);
                start = if begins { born } else { start };
            }
        }
    }
}

/// Returns the step nearest to a position.
#[inline(always)]
fn nearest(position: i32) -> i32 {
    (position + 128) >> 8
}

/// Moves all points on, in place, by their residuals. Points that are born are made afterwards.
struct Advance<'a, const N: usize> {
    motion: PackedMotion,
    stream: ChainStream,
    ordered: &'a [i32],
    now: &'a mut [i32],
}

impl<const N: usize> Kernel for Advance<'_, N> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) {
        let count = self.ordered.len() / N;
        let gains = GAINS[self.motion.memory as usize].map(|gain| gain as i32);
        for first in (0..count).step_by(CHUNK) {
            let length = (count - first).min(CHUNK);
            // Is not 0: a point moves; its motion has changed.
            let (mut moving, mut broken) = ([0; CHUNK], [0; CHUNK]);
            for k in 0..N {
                let velocities = &self.now[(2 * N + k) * count + first..][..length];
                let residuals = &self.ordered[k * count + first..][..length];
                for v in 0..length {
                    moving[v] |= velocities[v];
                    let beyond = residuals[v].wrapping_add(MAX_SMOOTH) as u32 > 2 * MAX_SMOOTH as u32;
                    broken[v] |= i32::from(beyond);
                }
            }
            for k in 0..N {
                let residuals = &self.ordered[k * count + first..][..length];
                let (codes, rest) = self.now[k * count..].split_at_mut(N * count);
                let (offsets, velocities) = rest.split_at_mut(N * count);
                let codes = &mut codes[first..][..length];
                let offsets = &mut offsets[first..][..length];
                let velocities = &mut velocities[first..][..length];
                for v in 0..length {
                    let moves = moving[v] != 0;
                    let point = (codes[v], offsets[v], velocities[v]);
                    let smooth = moves && broken[v] == 0 && self.motion.memory > 0;
                    let next =
                        self.motion.advance((self.stream, k), gains, point, (moves, smooth), residuals[v]);
                    (codes[v], offsets[v], velocities[v]) = next;
                }
            }
        }
    }
}

impl PackedMotion {
    /// Returns code, offset and velocity of a point in the next frame, in one component.
    #[inline(always)]
    fn advance(
        &self,
        (stream, k): (ChainStream, usize),
        [place, pace]: [i32; 2],
        (code, offset, velocity): (i32, i32, i32),
        (moves, smooth): (bool, bool),
        residual: i32,
    ) -> (i32, i32, i32) {
        let (velocity, position) = self.next(k, moves, offset, velocity);
        let step = nearest(position);
        let missed = residual.wrapping_mul(self.grain);
        let moved = step.wrapping_add(missed);
        let offset = (position - 256 * step).wrapping_sub((256 - place).wrapping_mul(missed));
        let continued = velocity.wrapping_add(pace.wrapping_mul(missed)).clamp(-MAX_VELOCITY, MAX_VELOCITY);
        let begun = 256 * moved.clamp(-MAX_DISTANCE, MAX_DISTANCE);
        let (offset, velocity) = if smooth { (offset, continued) } else { (0, begun) };
        (stream.wrap(code.wrapping_add(moved)), offset, velocity)
    }

    /// Returns the velocity and the position of a point in a component, in 2⁻⁸ of a step from its value.
    #[inline(always)]
    fn next(&self, k: usize, moves: bool, offset: i32, velocity: i32) -> (i32, i32) {
        let next = ((self.damping * velocity + 128) >> 8) + self.pull[k];
        if moves { (next, offset + next) } else { (0, 0) }
    }
}
