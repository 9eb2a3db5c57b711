//! The scheduler: the work of a tick on all streams together. It collects finished work, starts decodes,
//! issues reads, and decides who gets memory.
//!
//! If there is no room, memory is freed in this order ([`Scheduler::make_room`]):
//! 1. frames that are no longer wanted, those released first (a run of neighbours, the cheapest of some);
//! 2. bytes that were read and are decoded, likewise;
//! 3. only for frames that are to be shown now: wanted frames, those that are due last, of any stream; then
//!    bytes that are decoded later;
//! 4. blocks are slid together, some megabytes per tick.
//!
//! Work ahead of its time uses only 1 and 2, and not beyond its stream's share once the heap is three
//! quarters full. Requests that found no room are made again in the next tick. Which instances the heap can
//! serve together is decided before, in `admission`.

use crate::Error;
use crate::reel::order::FrameList;
use crate::stream::graph::JobGraph;
use crate::stream::heap::{Block, Heap, HeapEnd};
use crate::stream::io::{ReadRequest, ReadToken};
use crate::stream::jobs::{JobContext, Outcome, Task};
use crate::stream::loaded::LoadedFile;
use crate::stream::read_range::{choose_range, remaining_units, unit_end, unit_start};
use crate::stream::residency::{
    FRAME_RANK, FrameState, MissingUnits, NO_INDEX, NO_READ, READ_RANK, READ_SLOTS, ReadSlot, Stream,
};
use crate::stream::trace::span;
use meshreel_codec::sort;
use std::sync::Arc;

/// The most reads in flight, of all streams and of one.
const MAX_READS_IN_FLIGHT: u32 = 16;
const MAX_STREAM_READS: u32 = 2;
/// The most reads in flight of a stream whose units are read one by one, to skip the bytes between them that
/// nobody wants.
const MAX_SHORT_READS: u32 = 8;

/// The words of blocks that are moved in a tick: 2 MiB take about 0.2 ms.
const MAX_COMPACTED_WORDS: usize = 256 << 10;
/// Work that is due within this many microseconds counts as wanted now.
pub(crate) const URGENT_MICROSECONDS: u64 = 50_000;
/// The most frames that are given up for one allocation, and in one tick.
const MAX_STEALS: usize = 16;
const MAX_TICK_STEALS: usize = 64;
/// The most units that are started in a tick.
const MAX_TICK_LAUNCHES: usize = 256;
/// The nanoseconds of queued decoding per thread. Queued jobs are no longer reordered, so only as many are
/// queued as keep threads busy until the next tick.
const MAX_QUEUED_NANOSECONDS: u64 = 40_000_000;
/// Microseconds before the first retry after a failure; doubles up to `MAX_RETRY_MICROSECONDS`.
const MIN_RETRY_MICROSECONDS: u64 = 50_000;
const MAX_RETRY_MICROSECONDS: u64 = 2_000_000;
/// The number of reads after a failure that bring one unit each, so that a damaged unit affects no other.
const SINGLE_UNIT_READS: u8 = 8;
/// The number of such reads that may fail in a row before the whole stream waits.
const MAX_SINGLE_UNIT_FAILURES: u8 = 3;

/// The purpose of a node of the job graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodePurpose {
    Free,
    Read { stream: u32, slot: u8 },
    Decode { stream: u32, unit: u32 },
}

/// A failure or recovery, reported once.
#[derive(Debug)]
pub(crate) enum Incident {
    Read(u32, std::io::Error),
    Damaged(u32, Error),
    Recovered(u32),
}

/// Decides which reads and decodes run when, for all streams of a player.
pub(crate) struct Scheduler {
    pub heap: Heap,
    pub jobs: Arc<JobContext>,
    pub streams: Vec<Option<Stream>>,
    nodes: Vec<NodePurpose>,
    free_nodes: Vec<u32>,
    finished: Vec<u32>,
    evicted: Vec<u64>,
    /// The streams in the order in which they are served, with their sort key.
    service_order: Vec<(u64, u32)>,
    pub incidents: Vec<Incident>,
    pub read_size: u64,
    pub now: u64,
    reads_in_flight: u32,
    pub in_flight: u32,
    next_token: u64,
    compacted: bool,
    /// The number of words for which there was no room in this tick.
    refused_words: usize,
    /// The nanoseconds of decoding that may still be started in this tick.
    queue_left: u64,
    /// `true` if a request found no room in this tick.
    pub starved: bool,
    /// The number of frames that may still be given up in this tick.
    steals: usize,
    scratch_words: usize,
    /// The words of each workspace's scratch.
    scratch: Vec<usize>,
    pub reads_enabled: bool,
    pub jobs_enabled: bool,
}

fn frame_tag(stream: u32, frame: u32) -> u64 {
    u64::from(stream) << 32 | u64::from(frame)
}

fn read_tag(stream: u32, slot: usize) -> u64 {
    u64::from(stream) << 32 | 1 << 31 | slot as u64
}

/// Returns the stream of a tag.
pub(crate) fn tag_stream(tag: u64) -> u32 {
    (tag >> 32) as u32
}

impl Scheduler {
    pub fn new(heap: Heap, work: Arc<JobContext>, nodes: usize, read_size: u64) -> Scheduler {
        Scheduler {
            evicted: Vec::with_capacity(heap.max_blocks()),
            scratch: vec![0; work.workspace_count()],
            heap,
            jobs: work,
            streams: Vec::new(),
            nodes: vec![NodePurpose::Free; nodes],
            free_nodes: (0..nodes as u32).rev().collect(),
            finished: Vec::with_capacity(nodes),
            service_order: Vec::new(),
            incidents: Vec::with_capacity(64),
            read_size,
            now: 0,
            reads_in_flight: 0,
            in_flight: 0,
            next_token: 0,
            compacted: false,
            refused_words: usize::MAX,
            queue_left: 0,
            starved: false,
            steals: MAX_TICK_STEALS,
            scratch_words: 0,
            reads_enabled: true,
            jobs_enabled: true,
        }
    }

    /// Reserves room for `count` streams, so that ticks do not allocate.
    pub fn reserve(&mut self, count: usize) {
        self.service_order.reserve(count.saturating_sub(self.service_order.len()));
    }

    /// Requests scratch of `words` words, which is allocated as soon as there is room.
    pub fn request_scratch(&mut self, words: usize) {
        self.scratch_words = words;
    }

    /// Returns the words of the largest scratch that exists or is requested.
    pub fn scratch_words(&self) -> usize {
        self.scratch.iter().copied().fold(self.scratch_words, usize::max)
    }

    pub fn has_scratch(&self) -> bool {
        self.scratch.iter().all(|&words| words >= self.scratch_words)
    }

    /// Resizes the scratch as requested. Called first in a tick, so that it finds room.
    pub fn resize_scratch(&mut self) {
        for bench in 0..self.scratch.len() {
            if self.scratch[bench] == self.scratch_words {
                continue;
            }
            let Some(block) =
                self.alloc_evicting(self.scratch_words, HeapEnd::High, u64::from(NO_INDEX) << 32, true)
            else {
                return;
            };
            if let Some(old) = self.jobs.replace_scratch(bench, block) {
                self.heap.discard(old);
            }
            self.scratch[bench] = self.scratch_words;
        }
    }

    // Memory.

    /// Allocates a block, evicting others if necessary. `need` is `true` if it is to be shown now.
    fn alloc_evicting(&mut self, words: usize, end: HeapEnd, tag: u64, need: bool) -> Option<Block> {
        if let Some(block) = self.heap.alloc(words, end, tag) {
            return Some(block);
        }
        // If less found no room in this tick, and nothing was given up since, this does not either.
        if words < self.refused_words {
            if self.make_room(words) {
                return self.heap.alloc(words, end, tag);
            }
            self.refused_words = words;
        }
        if !need {
            return None;
        }
        for _ in 0..MAX_STEALS {
            if self.steals == 0 || !(self.give_up_farthest() || self.give_up_read()) {
                break;
            }
            self.steals -= 1;
            self.refused_words = usize::MAX;
            if self.make_room(words) {
                return self.heap.alloc(words, end, tag);
            }
        }
        if !std::mem::replace(&mut self.compacted, true) && self.heap.compact(words, MAX_COMPACTED_WORDS) {
            return self.heap.alloc(words, end, tag);
        }
        None
    }

    fn make_room(&mut self, words: usize) -> bool {
        let evicted = &mut self.evicted;
        evicted.clear();
        let room = self.heap.make_room(words, |tag| evicted.push(tag));
        for &tag in &self.evicted {
            let stream = self.streams.get_mut(tag_stream(tag) as usize);
            let Some(stream) = stream.and_then(Option::as_mut) else {
                continue;
            };
            let index = tag as u32;
            if index >> 31 == 1 {
                stream.read_lost((index & 0xFF) as usize, 0);
            } else {
                stream.frame_lost(index);
            }
        }
        room
    }

    /// Makes the wanted frame that is due last, of all streams, spare; `false` if all are due soon.
    fn give_up_farthest(&mut self) -> bool {
        let until = self.now + 2 * URGENT_MICROSECONDS;
        for _ in 0..4 {
            let farthest = (self.streams.iter_mut().flatten()).max_by_key(|s| s.farthest_due);
            let Some(stream) = farthest.filter(|s| s.farthest_due > until) else {
                return false;
            };
            if stream.give_up_farthest(&mut self.heap, until) {
                return true;
            }
        }
        false
    }

    /// Returns the bytes that streams and scratch may need together; the rest is for fragmentation.
    pub fn room_for_streams(&self) -> u64 {
        self.heap.bytes() / 8 * 7
    }

    /// Returns the average block size in bytes below which the slots run out before the heap does.
    pub fn min_block_bytes(&self) -> u64 {
        self.heap.bytes() / self.heap.max_blocks() as u64
    }

    /// Returns the number of jobs that have scratch of their own.
    pub fn workspace_count(&self) -> usize {
        self.scratch.len()
    }

    /// Checks an opened file; returns an error if the heap is too small to ever show a frame of it.
    pub fn check_heap(&self, file: &LoadedFile) -> Result<(), Error> {
        let (least, heap) = (self.min_heap_bytes(file), self.heap.bytes());
        if file.heap.min_bytes(1, 0) == 0 || least <= heap {
            return Ok(());
        }
        let what = "bytes that the heap must have to play it (Options::heap)";
        Err(Error::limit(file.reel.path(), what, least, heap))
    }

    /// Returns the smallest heap in which a file can be played by itself.
    pub fn min_heap_bytes(&self, file: &LoadedFile) -> u64 {
        file.heap.min_heap(1, self.min_block_bytes(), self.workspace_count())
    }

    /// Gives up bytes in memory that are wanted later than anything else. Returns whether there were some.
    fn give_up_read(&mut self) -> bool {
        let until = self.now + 2 * URGENT_MICROSECONDS;
        let (heap, streams) = (&mut self.heap, &mut self.streams);
        (streams.iter_mut().flatten()).any(|stream| stream.give_up_read(heap, until))
    }

    // Finished work.

    /// Takes in everything that ended since the last tick.
    pub fn collect(&mut self) {
        span!("collect");
        self.compacted = false;
        self.refused_words = usize::MAX;
        self.steals = MAX_TICK_STEALS;
        self.heap.sweep(64);
        let mut ended = std::mem::take(&mut self.finished);
        self.jobs.collect(&mut ended);
        for &node in &ended {
            let task = std::mem::take(&mut *self.jobs.task(node));
            let what = std::mem::replace(&mut self.nodes[node as usize], NodePurpose::Free);
            self.free_nodes.push(node);
            self.in_flight -= 1;
            match what {
                NodePurpose::Free => {}
                NodePurpose::Read { stream, slot } => {
                    self.read_ended(stream, usize::from(slot), node, task.outcome)
                }
                NodePurpose::Decode { stream, unit } => self.decode_ended(stream, unit as usize, task),
            }
        }
        ended.clear();
        self.finished = ended;
    }

    fn read_ended(&mut self, number: u32, slot: usize, node: u32, ended: Outcome) {
        self.reads_in_flight -= 1;
        let filled = self.jobs.filled(node);
        let now = self.now;
        let Some(stream) = self.streams.get_mut(number as usize).and_then(Option::as_mut) else {
            return;
        };
        stream.reads_in_flight -= 1;
        let read = stream.reads[slot];
        let Some(block) = read.block else {
            return;
        };
        let whole = filled == read.bytes;
        let first = stream.file.unit_order[read.first as usize] as usize;
        let some = filled >= stream.file.reel.unit_size(first) as u64;
        if matches!(ended, Outcome::Success) && some {
            stream.reads[slot].node = None;
            // A read that succeeded in spite of being cancelled is used.
            stream.reads[slot].cancelled = false;
            if !whole {
                stream.read_lost(slot, filled);
            }
        } else {
            stream.read_lost(slot, 0);
            self.heap.discard(block);
        }
        if read.cancelled {
            return;
        }
        if whole {
            stream.single_unit_reads = stream.single_unit_reads.saturating_sub(1);
            stream.failures = 0;
            if stream.faulty && stream.bad_units == 0 {
                stream.faulty = false;
                report_incident(&mut self.incidents, Incident::Recovered(number));
            }
            return;
        }
        let error = match ended {
            Outcome::Io(error) => error,
            _ => std::io::ErrorKind::UnexpectedEof.into(),
        };
        stream.counters.read_errors += 1;
        if !std::mem::replace(&mut stream.faulty, true) {
            report_incident(&mut self.incidents, Incident::Read(number, error));
        }
        stream.single_unit_reads = SINGLE_UNIT_READS;
        let mut patience = 0;
        if read.first == read.last {
            // This unit cannot be read; others may, until some in a row could not.
            fail_unit(stream, first, now);
            patience = MAX_SINGLE_UNIT_FAILURES;
        }
        if stream.failures >= patience {
            stream.retry_at = now + back_off(stream.failures - patience);
        }
        stream.failures = stream.failures.saturating_add(1);
    }

    fn decode_ended(&mut self, number: u32, unit: usize, task: Task) {
        let Some(stream) = self.streams.get_mut(number as usize).and_then(Option::as_mut) else {
            return;
        };
        stream.units[unit].node = NO_INDEX;
        stream.decoding.retain(|&u| u as usize != unit);
        for (frame, block) in task.needs.iter() {
            // A block that the stream no longer owns is freed, as nobody would use it as a spare.
            if stream.frames[frame as usize].block == Some(block) {
                self.heap.release(block, FRAME_RANK);
            } else {
                self.heap.discard(block);
            }
        }
        if let Some((block, ..)) = task.compressed {
            if stream.reads.iter().any(|r| r.block == Some(block)) {
                self.heap.release(block, READ_RANK);
            } else {
                self.heap.discard(block);
            }
        }
        if matches!(task.outcome, Outcome::Success) {
            stream.record_unit_time(task.nanoseconds);
            for (frame, block) in task.out.iter() {
                // If a unit was decoded again for some of its frames, the others are there already.
                if !stream.frame_decoded(frame, block) {
                    self.heap.discard(block);
                }
            }
            if stream.units[unit].failures > 0 {
                stream.units[unit].failures = 0;
                stream.bad_units = stream.bad_units.saturating_sub(1);
                if stream.bad_units == 0 && std::mem::replace(&mut stream.faulty, false) {
                    report_incident(&mut self.incidents, Incident::Recovered(number));
                }
            }
            return;
        }
        for (frame, block) in task.out.iter() {
            if stream.frames[frame as usize].block == Some(block) {
                stream.frame_lost(frame);
            }
            self.heap.discard(block);
        }
        if let Outcome::Damaged(error) = task.outcome {
            stream.counters.damaged += 1;
            // Read again, in case the disk failed and not the file; reported once.
            stream.units[unit].read = NO_READ;
            stream.faulty = true;
            if stream.units[unit].failures == 0 {
                report_incident(&mut self.incidents, Incident::Damaged(number, error));
            }
            fail_unit(stream, unit, self.now);
        }
    }

    // Decoding.

    /// Sorts the streams by their most urgent need.
    fn sort_streams(&mut self, due: impl Fn(&Stream) -> Option<u64>) {
        self.service_order.clear();
        for (number, stream) in self.streams.iter().enumerate() {
            let stream = stream.as_ref().filter(|s| s.admitted);
            if let Some(due) = stream.and_then(&due) {
                self.service_order.push((due, number as u32));
            }
        }
        sort::unstable(&mut self.service_order);
    }

    /// Starts units that can be decoded: first those to be shown now, of all streams, then those after.
    pub fn start_decodes(&mut self) {
        span!("start");
        if !self.jobs_enabled || !self.has_scratch() {
            return;
        }
        self.starved = false;
        self.sort_streams(|s| s.launch.iter().map(|l| l.1).min());
        let mut left = MAX_TICK_LAUNCHES;
        let streams = self.streams.iter().flatten();
        let queued = streams.map(|s| s.decoding.len() as u64 * s.unit_nanoseconds);
        let threads = self.scratch.len() as u64;
        self.queue_left = (threads * MAX_QUEUED_NANOSECONDS).saturating_sub(queued.sum());
        for need in [true, false] {
            for i in 0..self.service_order.len() {
                self.decode_stream(self.service_order[i].1, need, &mut left);
            }
        }
    }

    fn decode_stream(&mut self, number: u32, need: bool, left: &mut usize) {
        let soon = self.now + URGENT_MICROSECONDS;
        let share = self.heap.bytes() / 4 * 3 / (self.service_order.len() as u64).max(1);
        for i in 0.. {
            let Some(stream) = self.streams[number as usize].as_mut() else {
                return;
            };
            let Some(&(unit, due)) = stream.launch.get(i) else {
                return;
            };
            if (due <= soon) != need || stream.units[unit as usize].node != NO_INDEX {
                continue;
            }
            if *left == 0 || self.free_nodes.is_empty() || (self.queue_left == 0 && due > self.now) {
                return;
            }
            let unit_time = stream.unit_nanoseconds;
            if !need && self.heap.held_bytes() > self.heap.bytes() / 4 * 3 && stream.held_bytes() > share {
                self.starved = true;
                return;
            }
            match self.launch(number, unit as usize, due, need) {
                LaunchResult::Started => {
                    *left -= 1;
                    self.queue_left = self.queue_left.saturating_sub(unit_time);
                }
                LaunchResult::NotYet => {}
                LaunchResult::NoRoom => {
                    self.starved = true;
                    if let Some(stream) = self.streams[number as usize].as_mut() {
                        stream.counters.starved += 1;
                    }
                    return;
                }
            }
        }
    }

    fn launch(&mut self, number: u32, unit: usize, due: u64, need: bool) -> LaunchResult {
        let Some(stream) = self.streams[number as usize].as_ref() else {
            return LaunchResult::NotYet;
        };
        let file = stream.file.clone();
        let entry = stream.units[unit];
        let Some(read) = stream.reads.get(usize::from(entry.read)).copied() else {
            return LaunchResult::NotYet;
        };
        let Some(compressed) = read.block.filter(|_| !read.cancelled && entry.retry_at <= self.now) else {
            return LaunchResult::NotYet;
        };
        let mut task = Task { unit: unit as u32, ..Task::default() };
        for &frame in file.reel.unit_dependencies(unit).iter() {
            let there = stream.frames[frame as usize];
            let coming = there.state == FrameState::Pending
                && (self.jobs.graph).is_wanted(stream.units[file.reel.unit_of(frame as usize)].node);
            match there.block {
                Some(block) if there.state == FrameState::Decoded || coming => task.needs.push(frame, block),
                _ => return LaunchResult::NotYet,
            }
        }
        // Held before room is made, so that they are not evicted for it.
        for (_, block) in task.needs.iter() {
            self.heap.hold(block);
        }
        self.heap.hold(compressed);
        for &frame in file.reel.unit_frames(unit).iter() {
            let words = file.reel.frame_words();
            match self.alloc_evicting(words, HeapEnd::Low, frame_tag(number, frame), need) {
                Some(block) => task.out.push(frame, block),
                None => {
                    self.undo_launch(&task, compressed);
                    return LaunchResult::NoRoom;
                }
            }
        }
        let Some(node) = self.free_nodes.pop() else {
            self.undo_launch(&task, compressed);
            return LaunchResult::NoRoom;
        };
        let Some(stream) = self.streams[number as usize].as_mut() else {
            return LaunchResult::NotYet;
        };
        self.nodes[node as usize] = NodePurpose::Decode { stream: number, unit: unit as u32 };
        self.in_flight += 1;
        stream.units[unit].node = node;
        stream.decoding.push(unit as u32);
        stream.counters.decodes += 1;
        for (frame, block) in task.out.iter() {
            let entry = &mut stream.frames[frame as usize];
            if entry.state == FrameState::Absent {
                entry.block = Some(block);
                entry.state = FrameState::Pending;
            }
        }
        let graph = &self.jobs.graph;
        graph.begin(node);
        self.jobs.set_due(node, due);
        add_dependencies(graph, stream, node, &task, read.node);
        let at = file.reel.unit_chunk(unit).offset - read.offset;
        task.compressed = Some((compressed, at as usize));
        task.file = Some(file);
        *self.jobs.task(node) = task;
        if graph.arm(node) {
            self.jobs.start(node);
        }
        LaunchResult::Started
    }

    /// Releases what a launch without room had taken.
    fn undo_launch(&mut self, task: &Task, compressed: Block) {
        for (_, block) in task.needs.iter() {
            self.heap.release(block, FRAME_RANK);
        }
        self.heap.release(compressed, READ_RANK);
        for (_, block) in task.out.iter() {
            self.heap.discard(block);
        }
    }

    // Reading.

    /// Issues reads, the most urgent first, from each stream in turn.
    pub fn issue_reads(&mut self, horizon: u64) {
        span!("issue");
        if !self.reads_enabled {
            return;
        }
        for round in 0..MAX_SHORT_READS {
            let (now, soon) = (self.now, self.now + horizon);
            self.sort_streams(|s| {
                let missing = s.missing.filter(|m| m.due <= soon || s.resident)?;
                let most = if s.has_gaps() { MAX_SHORT_READS } else { MAX_STREAM_READS };
                let may = round < most && s.reads_in_flight < most;
                (may && s.retry_at <= now).then_some(missing.due)
            });
            if self.service_order.is_empty() {
                return;
            }
            for i in 0..self.service_order.len() {
                if self.reads_in_flight >= MAX_READS_IN_FLIGHT || self.free_nodes.is_empty() {
                    return;
                }
                let number = self.service_order[i].1;
                if let Some((missing, stream)) = (self.streams[number as usize].as_mut())
                    .and_then(|stream| Some((stream.missing.take()?, stream)))
                {
                    let most = self.read_size;
                    let share = self.heap.bytes() / 4 / (self.service_order.len() as u64).max(1);
                    let size = if stream.single_unit_reads > 0 { 0 } else { most.min(share) };
                    let range = choose_range(stream, missing, size, now);
                    if self.issue_read(number, range, missing) {
                        if let Some(stream) = self.streams[number as usize].as_mut() {
                            stream.missing = remaining_units(stream, missing, range.1);
                        }
                    } else if range.0 < range.1 {
                        // If there is no room for that, its first unit is enough to continue.
                        self.issue_read(number, (missing.low, missing.low), missing);
                    }
                }
            }
        }
    }

    fn issue_read(&mut self, number: u32, (first, last): (u32, u32), missing: MissingUnits) -> bool {
        let Some(stream) = self.streams[number as usize].as_mut() else {
            return false;
        };
        let Some(slot) = free_slot(stream, &mut self.heap) else {
            return false;
        };
        let file = stream.file.clone();
        let offset = unit_start(stream, first);
        let bytes = unit_end(stream, last) - offset;
        let need = missing.due <= self.now + URGENT_MICROSECONDS;
        let words = (bytes as usize).div_ceil(8);
        let Some(block) = self.alloc_evicting(words, HeapEnd::High, read_tag(number, slot), need) else {
            if let Some(stream) = self.streams[number as usize].as_mut() {
                stream.counters.starved += 1;
            }
            return false;
        };
        let (Some(stream), Some(guard)) =
            (self.streams[number as usize].as_mut(), self.jobs.memory.write(block))
        else {
            self.heap.discard(block);
            return false;
        };
        let Some(node) = self.free_nodes.pop() else {
            drop(guard);
            self.heap.discard(block);
            return false;
        };
        self.next_token += 1;
        stream.reads[slot] = ReadSlot {
            block: Some(block),
            node: Some(node),
            first,
            last,
            offset,
            bytes,
            token: self.next_token,
            wanted: stream.epoch,
            due: missing.due,
            held: true,
            cancelled: false,
        };
        for place in first..=last {
            let unit = file.unit_order[place as usize] as usize;
            if stream.units[unit].read == NO_READ {
                stream.units[unit].read = slot as u8;
            }
        }
        stream.reads_in_flight += 1;
        stream.counters.reads += 1;
        stream.counters.bytes_read += bytes;
        self.reads_in_flight += 1;
        self.in_flight += 1;
        self.nodes[node as usize] = NodePurpose::Read { stream: number, slot: slot as u8 };
        self.jobs.graph.begin(node);
        self.jobs.reset_filled(node);
        // Only the source starts it.
        let _ = self.jobs.graph.arm(node);
        let token = ReadToken(self.next_token);
        let read =
            ReadRequest::new(self.jobs.clone(), node, token, offset, bytes as usize, missing.due, guard);
        stream.source.start(read);
        true
    }

    /// Cancels all work in flight of a stream.
    pub fn cancel_all(&mut self, number: u32) {
        let Some(stream) = self.streams[number as usize].as_mut() else {
            return;
        };
        for &unit in &stream.decoding {
            self.jobs.graph.cancel(stream.units[unit as usize].node);
        }
        for read in &mut stream.reads {
            if let Some(node) = read.node {
                read.cancelled = true;
                self.jobs.graph.cancel(node);
                stream.source.cancel(ReadToken(read.token));
            }
        }
    }

    /// `true` if a stream has nothing in flight.
    pub fn is_quiet(&self, number: u32) -> bool {
        (self.streams[number as usize].as_ref())
            .is_none_or(|s| s.decoding.is_empty() && s.reads_in_flight == 0)
    }
}

enum LaunchResult {
    Started,
    /// A frame that it needs is not being decoded yet.
    NotYet,
    NoRoom,
}

/// Makes a node wait for the read that brings its bytes, and for the units whose frames it needs, once each.
fn add_dependencies(graph: &JobGraph, stream: &Stream, node: u32, task: &Task, read: Option<u32>) {
    let mut edge = 0;
    let mut leaders = [NO_INDEX; FrameList::MAX_LEN];
    for (frame, _) in task.needs.iter() {
        let leader = stream.units[stream.file.reel.unit_of(frame as usize)].node;
        if stream.frames[frame as usize].state == FrameState::Pending && !leaders.contains(&leader) {
            leaders[edge] = leader;
            graph.add_dependency(node, edge, leader);
            edge += 1;
        }
    }
    if let Some(leader) = read {
        graph.add_dependency(node, edge, leader);
    }
}

/// Reports an incident. If nobody fetches incidents, the list does not grow.
fn report_incident(incidents: &mut Vec<Incident>, incident: Incident) {
    if incidents.len() < incidents.capacity() {
        incidents.push(incident);
    }
}

fn back_off(tries: u8) -> u64 {
    (MIN_RETRY_MICROSECONDS << tries.min(20)).min(MAX_RETRY_MICROSECONDS)
}

fn fail_unit(stream: &mut Stream, unit: usize, now: u64) {
    let unit = &mut stream.units[unit];
    if unit.failures == 0 {
        stream.bad_units += 1;
    }
    unit.retry_at = now + back_off(unit.failures);
    unit.failures = unit.failures.saturating_add(1);
}

/// Returns a slot for a read: a free one, or else one whose bytes are not wanted.
fn free_slot(stream: &mut Stream, heap: &mut Heap) -> Option<usize> {
    if let Some(slot) = (0..READ_SLOTS).find(|&i| stream.reads[i].block.is_none()) {
        return Some(slot);
    }
    let idle = |r: &ReadSlot| r.node.is_none() && !r.held;
    let slot = (0..READ_SLOTS).filter(|&i| idle(&stream.reads[i])).min_by_key(|&i| stream.reads[i].token)?;
    if let Some(block) = stream.reads[slot].block {
        heap.discard(block);
    }
    stream.read_lost(slot, 0);
    Some(slot)
}
