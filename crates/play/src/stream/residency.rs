//! One open file, shared by all its instances: the state of its units and frames, and the demands of this
//! tick for them.
//!
//! ```text
//! unit:   absent ──read issued──▶ reading ──landed──▶ read ──started──▶ decoding ──▶ its frames are decoded
//! frame:  absent ──started──▶ pending ──▶ decoded: kept while wanted, then spare, then evicted
//! ```
//!
//! A plan ([`Stream::begin_plan`] to [`Stream::end_plan`]) walks the demands once per tick, the most urgent
//! first: frames that are shown, that should be shown, that come next. A frame that is decoded is kept; for
//! one that is not, the units that it waits for are listed in an order in which they can be started, back to
//! frames that are decoded. Beyond the decode horizon only reading is planned, up to the read horizon.
//! Whatever no walk reaches any more is released, or cancelled if it is in flight.
//!
//! So a jump needs no special case: it demands one pair of frames, whose units lie in one range of the file.

use crate::stream::heap::{Block, Heap};
use crate::stream::io::AsyncSource;
use crate::stream::loaded::LoadedFile;
use crate::time::clock::Pace;
use crate::time::demand::{FrameDemand, FramePair, Span};
use std::sync::Arc;

/// The number of reads of one stream that can be in flight or in memory.
pub(crate) const READ_SLOTS: usize = 24;
pub(crate) const NO_INDEX: u32 = u32::MAX;
/// No read.
pub(crate) const NO_READ: u8 = u8::MAX;
/// The number of frames of a resident file that are planned per tick.
const RESIDENT_FRAMES_PER_TICK: usize = 64;
/// Ticks between plans up to the read horizon; those in between go up to the decode horizon.
const READ_PLAN_TICKS: u32 = 4;
/// The most units that are started from one plan.
const MAX_LAUNCHES: usize = 512;
/// The assumed nanoseconds for a unit until one was decoded and measured.
const INITIAL_UNIT_NANOSECONDS: u64 = 500_000;
/// Due time in microseconds of frames that are only wanted because their file is resident.
const RESIDENT_DUE_MICROSECONDS: u64 = 60_000_000;

/// Ranks of spare blocks: a frame takes more memory than its read bytes, and can be decoded again from them.
pub(crate) const FRAME_RANK: usize = 0;
pub(crate) const READ_RANK: usize = 1;

#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamUnit {
    /// The node that decodes it, or `NO_INDEX`.
    pub node: u32,
    /// The read that has or will have its bytes, or `NO_READ`.
    pub read: u8,
    /// Failures in a row.
    pub failures: u8,
    /// The last plan that wanted it.
    pub wanted: u32,
    pub due: u64,
    /// After a failure it is not retried before this time.
    pub retry_at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameState {
    Absent,
    /// Its unit is being decoded into the block.
    Pending,
    Decoded,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamFrame {
    pub block: Option<Block>,
    pub state: FrameState,
    /// `true` if it is held because it is wanted; then it is in the list of wanted frames.
    pub held: bool,
    pub wanted: u32,
    pub due: u64,
}

/// The bytes of several units, one after the other in the file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadSlot {
    pub block: Option<Block>,
    /// The node of the read, while it is in flight.
    pub node: Option<u32>,
    /// The first and last place in the order of units.
    pub first: u32,
    pub last: u32,
    pub offset: u64,
    pub bytes: u64,
    pub token: u64,
    pub wanted: u32,
    /// The time at which the first of it is wanted.
    pub due: u64,
    pub held: bool,
    pub cancelled: bool,
}

/// The horizons of plans, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Horizons {
    pub decode: u64,
    pub read: u64,
}

/// The most urgently missing units, as a range of places in the order of units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MissingUnits {
    pub due: u64,
    pub low: u32,
    pub high: u32,
}

/// Counters of one stream since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StreamCounters {
    /// The number of reads issued.
    pub reads: u64,
    /// The number of bytes requested from the disk.
    pub bytes_read: u64,
    /// The number of units whose decoding was started.
    pub decodes: u64,
    /// The number of frames that were decoded.
    pub frames_decoded: u64,
    /// The number of ticks in which an instance lacked the frame that should have been shown.
    pub missed: u64,
    /// The number of ticks between a start or a jump and its first frame, which are not counted as missed.
    pub seek_wait_ticks: u64,
    /// The number of reads and units in flight that were cancelled.
    pub aborts: u64,
    /// The number of reads that failed.
    pub read_errors: u64,
    /// The number of damaged units.
    pub damaged: u64,
    /// The number of times that it found no room in the heap.
    pub starved: u64,
}

pub(crate) struct Stream {
    pub file: Arc<LoadedFile>,
    /// The source of its bytes.
    pub source: Arc<dyn AsyncSource>,
    pub number: u32,
    pub units: Vec<StreamUnit>,
    pub frames: Vec<StreamFrame>,
    held_frames: Vec<u32>,
    pub reads: [ReadSlot; READ_SLOTS],
    /// Units that are being decoded.
    pub decoding: Vec<u32>,
    /// The units to start, in this order, and their due times.
    pub launch: Vec<(u32, u64)>,
    pub missing: Option<MissingUnits>,
    pub epoch: u32,
    /// `true` if every frame stays in memory once it is decoded.
    pub resident: bool,
    /// `true` if the file was opened as a resident one.
    pub planned_resident: bool,
    resident_next: usize,
    /// `true` if one of its instances was admitted.
    pub admitted: bool,
    pub active: bool,
    /// `true` if this plan went up to the read horizon.
    reads_planned: bool,
    /// The number of its admitted instances.
    pub admitted_instances: u32,
    /// `true` while reads fail: they are then small, and not issued before `retry_at`.
    pub faulty: bool,
    pub single_unit_reads: u8,
    pub failures: u8,
    pub retry_at: u64,
    /// The number of units that failed last time.
    pub bad_units: u32,
    pub reads_in_flight: u32,
    pub farthest_due: u64,
    /// The smallest step of the frames that instances want in this plan; `u32::MAX` if none wants any.
    least_step: u32,
    /// The approximate nanoseconds that a unit takes.
    pub unit_nanoseconds: u64,
    pub counters: StreamCounters,
}

impl Stream {
    /// Allocates all the memory that it will need.
    pub fn new(file: Arc<LoadedFile>, source: Arc<dyn AsyncSource>, number: u32, resident: bool) -> Stream {
        let frames = file.reel.frame_count();
        let units = file.reel.unit_count();
        let unit = StreamUnit { node: NO_INDEX, read: NO_READ, failures: 0, wanted: 0, due: 0, retry_at: 0 };
        let frame = StreamFrame { block: None, state: FrameState::Absent, held: false, wanted: 0, due: 0 };
        Stream {
            source,
            number,
            units: vec![unit; units],
            frames: vec![frame; frames],
            held_frames: Vec::with_capacity(frames),
            reads: [ReadSlot::default(); READ_SLOTS],
            decoding: Vec::with_capacity(units),
            launch: Vec::with_capacity(MAX_LAUNCHES.min(units)),
            missing: None,
            epoch: 0,
            resident,
            planned_resident: resident,
            resident_next: 0,
            admitted: false,
            active: false,
            reads_planned: false,
            admitted_instances: 0,
            faulty: false,
            single_unit_reads: 0,
            failures: 0,
            retry_at: 0,
            bad_units: 0,
            reads_in_flight: 0,
            farthest_due: 0,
            least_step: u32::MAX,
            unit_nanoseconds: INITIAL_UNIT_NANOSECONDS,
            counters: StreamCounters::default(),
            file,
        }
    }

    /// `true` if bytes that nobody wants lie between its units: vertex attributes that are left out, or
    /// frames that all instances leave out.
    pub fn has_gaps(&self) -> bool {
        self.file.reel.attributes_apart() == (true, false) || self.leaves_frames_out()
    }

    /// `true` if every instance leaves frames out.
    fn leaves_frames_out(&self) -> bool {
        (2..u32::MAX).contains(&self.least_step)
    }

    /// `true` if a frame can be shown.
    pub fn is_decoded(&self, frame: u32) -> bool {
        (self.frames.get(frame as usize)).is_some_and(|f| f.state == FrameState::Decoded)
    }

    pub fn has_pair(&self, pair: FramePair) -> bool {
        self.is_decoded(pair.first) && self.is_decoded(pair.second)
    }

    // The plan of a tick.

    /// Begins a plan.
    pub fn begin_plan(&mut self) {
        // No plan has the number 0.
        self.epoch = self.epoch.wrapping_add(1).max(1);
        self.launch.clear();
        self.missing = None;
        self.active = false;
        self.reads_planned = false;
        self.farthest_due = 0;
        self.least_step = u32::MAX;
    }

    /// Marks the frames that an instance shows and those that it should show.
    pub fn plan_now(
        &mut self,
        heap: &mut Heap,
        now: u64,
        due: u64,
        demand: &FrameDemand,
        shown: Option<(FramePair, Pace)>,
    ) {
        for frame in shown.iter().flat_map(|(p, _)| [p.first, p.second]) {
            if self.is_decoded(frame) {
                self.want_frame(heap, now, now, frame as usize);
            }
        }
        if let Some(pair) = demand.now {
            self.active = true;
            for frame in [pair.first, pair.second] {
                self.want_frame(heap, now, due, frame as usize);
            }
        }
        self.active |= demand.spans_used > 0;
        let steps = demand.spans().iter().map(|span| span.step.max(1));
        self.least_step = steps.fold(self.least_step, u32::min);
    }

    /// Marks the frames that an instance will want next, up to the decode horizon.
    pub fn plan_next(&mut self, heap: &mut Heap, now: u64, demand: &FrameDemand, horizon: u64) {
        let file = self.file.clone();
        for span in demand.spans() {
            let due = span_frames(&file, span, now, 0, horizon);
            due.for_each(|(frame, due)| self.want_frame(heap, now, due, frame));
        }
    }

    /// Marks the units after those, up to the read horizon. As this changes little, it is done only if
    /// something is missing, or in turn.
    pub fn plan_reads(&mut self, now: u64, demand: &FrameDemand, horizons: Horizons) {
        self.reads_planned |=
            self.missing.is_some() || (self.epoch.wrapping_add(self.number)).is_multiple_of(READ_PLAN_TICKS);
        if !self.reads_planned {
            return;
        }
        let file = self.file.clone();
        for span in demand.spans() {
            let due = span_frames(&file, span, now, horizons.decode, horizons.read);
            due.for_each(|(frame, due)| self.want_read(now, due, frame));
        }
    }

    /// Plans the next missing frames of a file that shall be in memory as a whole.
    pub fn plan_resident(&mut self, heap: &mut Heap, now: u64) {
        if !self.resident || !self.active || self.leaves_frames_out() {
            return;
        }
        for _ in 0..RESIDENT_FRAMES_PER_TICK {
            let Some(frame) = self.frames.get(self.resident_next) else {
                return;
            };
            if frame.state == FrameState::Decoded && frame.held {
                self.resident_next += 1;
            } else {
                break;
            }
        }
        let end = (self.resident_next + RESIDENT_FRAMES_PER_TICK).min(self.frames.len());
        for frame in self.resident_next..end {
            self.want_frame(heap, now, now + RESIDENT_DUE_MICROSECONDS, frame);
        }
    }

    /// Marks a frame as wanted in decoded form.
    fn want_frame(&mut self, heap: &mut Heap, now: u64, due: u64, frame: usize) {
        let epoch = self.epoch;
        let Some(entry) = self.frames.get_mut(frame).filter(|f| f.wanted != epoch) else {
            return;
        };
        entry.wanted = epoch;
        entry.due = due;
        self.farthest_due = self.farthest_due.max(due);
        if self.file.reel.has_coded_points() {
            // A decoder elsewhere needs all of its unit, and the frames that this needs.
            let unit = self.file.reel.unit_of(frame);
            for list in [self.file.reel.unit_frames(unit), self.file.reel.unit_dependencies(unit)] {
                list.iter().for_each(|&frame| self.want_frame(heap, now, due, frame as usize));
            }
        }
        let entry = &mut self.frames[frame];
        if entry.state == FrameState::Decoded {
            if !entry.held
                && let Some(block) = entry.block
                && heap.hold(block)
            {
                entry.held = true;
                self.held_frames.push(frame as u32);
            }
            return;
        }
        let unit = self.file.reel.unit_of(frame);
        if self.units[unit].wanted == epoch && self.units[unit].due <= due {
            // A read that was only foreseen is planned again.
            if self.launch.iter().any(|l| l.0 == unit as u32) || self.units[unit].node != NO_INDEX {
                return;
            }
        }
        self.units[unit].wanted = epoch;
        self.units[unit].due = due;
        // The recursion is as deep as a frame's wait, which `LoadedFile` limits.
        let needs = self.file.reel.unit_dependencies(unit);
        for &need in needs.iter() {
            self.want_frame(heap, now, due, need as usize);
        }
        if self.units[unit].node != NO_INDEX {
            return;
        }
        self.want_bytes(now, due, unit);
        if self.launch.len() < self.launch.capacity() {
            self.launch.push((unit as u32, due));
        }
    }

    /// Marks a frame as wanted later, so that it must be read but not decoded.
    fn want_read(&mut self, now: u64, due: u64, frame: usize) {
        if self.frames[frame].state != FrameState::Absent {
            return;
        }
        let unit = self.file.reel.unit_of(frame);
        if self.units[unit].wanted == self.epoch || self.units[unit].node != NO_INDEX {
            return;
        }
        self.units[unit].wanted = self.epoch;
        self.units[unit].due = due;
        self.want_bytes(now, due, unit);
        let needs = self.file.reel.unit_dependencies(unit);
        for &need in needs.iter() {
            let other = self.file.reel.unit_of(need as usize);
            let there = self.frames[need as usize].state != FrameState::Absent;
            if !there && self.units[other].wanted != self.epoch && self.units[other].node == NO_INDEX {
                self.units[other].wanted = self.epoch;
                self.units[other].due = due;
                self.want_bytes(now, due, other);
            }
        }
    }

    fn want_bytes(&mut self, now: u64, due: u64, unit: usize) {
        let entry = &self.units[unit];
        if let Some(read) = self.reads.get_mut(usize::from(entry.read)) {
            let again = read.wanted == self.epoch;
            read.due = if again { read.due.min(due) } else { due };
            read.wanted = self.epoch;
            return;
        }
        if entry.retry_at > now {
            return;
        }
        let place = self.file.unit_places[unit];
        match &mut self.missing {
            Some(missing) if missing.due == due => {
                missing.low = missing.low.min(place);
                missing.high = missing.high.max(place);
            }
            Some(missing) if missing.due < due => {}
            missing => {
                *missing = Some(MissingUnits { due, low: place, high: place });
            }
        }
    }

    /// Releases what this plan did not reach. Calls `cancel` with the nodes to cancel: of a unit, or of a
    /// read with its token.
    pub fn end_plan(&mut self, heap: &mut Heap, mut cancel: impl FnMut(u32, Option<u64>)) {
        let mut i = 0;
        while i < self.held_frames.len() && !self.resident {
            let frame = &mut self.frames[self.held_frames[i] as usize];
            if frame.wanted == self.epoch {
                i += 1;
                continue;
            }
            frame.held = false;
            if let Some(block) = frame.block {
                heap.release(block, FRAME_RANK);
            }
            self.held_frames.swap_remove(i);
        }
        if !self.resident {
            for &unit in &self.decoding {
                let unit = &mut self.units[unit as usize];
                // Set to a number that no plan has, so that it is cancelled once.
                if unit.wanted != self.epoch && unit.wanted != 0 {
                    unit.wanted = 0;
                    self.counters.aborts += 1;
                    cancel(unit.node, None);
                }
            }
        }
        for read in self.reads.iter_mut().filter(|_| self.reads_planned) {
            let Some(block) = read.block else {
                continue;
            };
            let wanted = read.wanted == self.epoch;
            match read.node {
                Some(node) if !wanted && !read.cancelled && !self.resident => {
                    read.cancelled = true;
                    self.counters.aborts += 1;
                    cancel(node, Some(read.token));
                }
                Some(_) => {}
                None if wanted && !read.held => read.held = heap.hold(block),
                None if !wanted && read.held => {
                    read.held = false;
                    heap.release(block, READ_RANK);
                }
                None => {}
            }
        }
    }

    // Changes of blocks.

    /// Records that a frame was decoded into a block, which its node held; the stream keeps it from here on.
    /// `false` if it was decoded already, into another block.
    pub fn frame_decoded(&mut self, frame: u32, block: Block) -> bool {
        self.counters.frames_decoded += 1;
        let entry = &mut self.frames[frame as usize];
        if entry.state == FrameState::Decoded {
            return false;
        }
        entry.block = Some(block);
        entry.state = FrameState::Decoded;
        entry.held = true;
        self.held_frames.push(frame);
        true
    }

    /// Records that a frame's block is gone.
    pub fn frame_lost(&mut self, frame: u32) {
        let entry = &mut self.frames[frame as usize];
        entry.block = None;
        entry.state = FrameState::Absent;
        self.resident_next = self.resident_next.min(frame as usize);
    }

    /// Records that a read's block is gone, or holds only `filled` bytes.
    pub fn read_lost(&mut self, slot: usize, filled: u64) {
        let read = self.reads[slot];
        for place in read.first..=read.last {
            let unit = self.file.unit_order[place as usize] as usize;
            let reel = &self.file.reel;
            let end = reel.unit_end(unit) - read.offset;
            if self.units[unit].read == slot as u8 && (filled == 0 || end > filled) {
                self.units[unit].read = NO_READ;
            }
        }
        if filled == 0 {
            self.reads[slot] = ReadSlot::default();
        }
    }

    /// Gives up the kept frame that is wanted last, if not before `until`. Returns whether there was one.
    pub fn give_up_farthest(&mut self, heap: &mut Heap, until: u64) -> bool {
        let due = |frame: &u32| self.frames[*frame as usize].due;
        let farthest = (0..self.held_frames.len()).max_by_key(|&i| due(&self.held_frames[i]));
        let Some(i) = farthest.filter(|&i| due(&self.held_frames[i]) > until) else {
            self.farthest_due = 0;
            return false;
        };
        let frame = self.held_frames.swap_remove(i) as usize;
        self.frames[frame].held = false;
        self.farthest_due = self.frames[frame].due;
        // The need for room was more important than residency.
        self.resident = false;
        if let Some(block) = self.frames[frame].block {
            heap.release(block, FRAME_RANK);
        }
        true
    }

    /// Gives up the bytes in memory that are wanted last, if not before `until`. Returns whether there were
    /// some.
    pub fn give_up_read(&mut self, heap: &mut Heap, until: u64) -> bool {
        let idle = |r: &&mut ReadSlot| r.held && r.node.is_none() && r.due > until;
        let farthest = (self.reads.iter_mut()).filter(idle).max_by_key(|r| r.due);
        let Some((read, block)) = farthest.and_then(|r| r.block.map(|block| (r, block))) else {
            return false;
        };
        read.held = false;
        heap.release(block, READ_RANK);
        true
    }

    /// Updates the average time of a unit, in nanoseconds.
    pub fn record_unit_time(&mut self, time: u64) {
        self.unit_nanoseconds = (3 * self.unit_nanoseconds + time) / 4;
    }

    /// Returns the bytes of the heap that wanted frames take.
    pub fn held_bytes(&self) -> u64 {
        self.held_frames.len() as u64 * Heap::block_bytes(self.file.reel.frame_words())
    }

    /// Releases everything; nothing may be in flight.
    pub fn clear(&mut self, heap: &mut Heap) {
        self.held_frames.clear();
        for frame in &mut self.frames {
            if let Some(block) = frame.block.take() {
                heap.discard(block);
            }
            frame.state = FrameState::Absent;
            frame.held = false;
        }
        for read in &mut self.reads {
            if let Some(block) = read.block {
                heap.discard(block);
            }
            *read = ReadSlot::default();
        }
        for unit in &mut self.units {
            unit.read = NO_READ;
        }
        self.resident_next = 0;
    }
}

impl Stream {
    /// Returns the frames of a demand after those that are shown now, in the order in which they are due, up
    /// to the first one that is not decoded.
    pub fn decoded_ahead(&self, demand: &FrameDemand) -> impl Iterator<Item = u32> + '_ {
        let spans = demand.spans;
        let used = usize::from(demand.spans_used).min(spans.len());
        (spans.into_iter().take(used)).flat_map(|span| {
            let all = span_frames(&self.file, &span, 0, 0, u64::MAX).map(|(frame, _)| frame as u32);
            all.take_while(|&frame| self.is_decoded(frame))
        })
    }
}

/// Returns the frames of a span that are due from `from` to `to` microseconds ahead, with their due times.
fn span_frames<'a>(
    file: &'a LoadedFile,
    span: &Span,
    now: u64,
    from: u64,
    to: u64,
) -> impl Iterator<Item = (usize, u64)> + use<'a> {
    let times = file.reel.frames();
    let last = times.len().saturating_sub(1) as u32;
    let (first, end) = (span.from.min(last), span.to.min(last));
    let step = span.step.max(1);
    let count = if times.is_empty() { 0 } else { first.abs_diff(end).div_ceil(step) + 1 };
    let start = times.get(first as usize).map_or(0.0, |f| f.time);
    let (wait, rate) = (f64::from(span.in_seconds), f64::from(span.rate).max(1e-9));
    (0..count)
        .map(move |i| match end >= first {
            true => first.saturating_add(i.saturating_mul(step)).min(end),
            false => first.saturating_sub(i.saturating_mul(step)).max(end),
        })
        .map(move |frame| {
            let seconds = wait + (times[frame as usize].time - start).abs() / rate;
            (frame as usize, (seconds.max(0.0) * 1e6) as u64)
        })
        .take_while(move |&(_, ahead)| ahead < to)
        .skip_while(move |&(_, ahead)| ahead < from)
        .map(move |(frame, ahead)| (frame, now.saturating_add(ahead)))
}
