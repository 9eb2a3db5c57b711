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
use crate::reel::order::Frames;
use crate::stream::graph::Graph;
use crate::stream::heap::{Block, End, Heap};
use crate::stream::io::{Read, Token};
use crate::stream::loaded::Loaded;
use crate::stream::read_range::{range_of, rest_of, unit_end, unit_start};
use crate::stream::residency::{
    FRAME_RANK, Missing, NO_READ, NONE, READ_RANK, READS, ReadSlot, State, Stream,
};
use crate::stream::trace::span;
use crate::stream::work::{Ended, Task, Work};
use meshreel_codec::sort;
use std::sync::Arc;

/// The most reads in flight, of all streams and of one.
const MOST_READS: u32 = 16;
const STREAM_READS: u32 = 2;
/// The most reads in flight of a stream whose units are read one by one, to skip the vertex attributes
/// between them.
const SHORT_READS: u32 = 8;

/// The words of blocks that are moved in a tick: 2 MiB take about 0.2 ms.
const SLIDE: usize = 256 << 10;
/// Work that is due within this many microseconds counts as wanted now.
pub(crate) const NOW: u64 = 50_000;
/// The most frames that are given up for one allocation, and in one tick.
const STEALS: usize = 16;
const TICK_STEALS: usize = 64;
/// The most units that are started in a tick.
const LAUNCHES: usize = 256;
/// The nanoseconds of queued decoding per thread. Queued jobs are no longer reordered, so only as many are
/// queued as keep threads busy until the next tick.
const QUEUE: u64 = 40_000_000;
/// Microseconds before the first retry after a failure; doubles up to `LAST_RETRY`.
const FIRST_RETRY: u64 = 50_000;
const LAST_RETRY: u64 = 2_000_000;
/// The number of reads after a failure that bring one unit each, so that a damaged unit affects no other.
const CAREFUL: u8 = 8;
/// The number of such reads that may fail in a row before the whole stream waits.
const ALONE: u8 = 3;

/// Returns the bytes of the heap for `benches` scratches of `words` words.
pub(crate) fn scratch_bytes(benches: usize, words: usize) -> u64 {
    match words {
        0 => 0,
        _ => benches as u64 * Heap::cost(words),
    }
}

/// The purpose of a node of the job graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
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
    pub work: Arc<Work>,
    pub streams: Vec<Option<Stream>>,
    nodes: Vec<Node>,
    free_nodes: Vec<u32>,
    ended: Vec<u32>,
    evicted: Vec<u64>,
    /// The streams in the order in which they are served, with their sort key.
    turns: Vec<(u64, u32)>,
    pub incidents: Vec<Incident>,
    pub read_size: u64,
    pub now: u64,
    reads_in_flight: u32,
    pub in_flight: u32,
    next_token: u64,
    slid: bool,
    /// The number of words for which there was no room in this tick.
    refused: usize,
    /// The nanoseconds of decoding that may still be started in this tick.
    queue_left: u64,
    /// `true` if a request found no room in this tick.
    pub starved: bool,
    /// The number of frames that may still be given up in this tick.
    steals: usize,
    scratch_words: usize,
    /// The words of each bench's scratch.
    scratch: Vec<usize>,
    pub reads_on: bool,
    pub jobs_on: bool,
}

fn frame_tag(stream: u32, frame: u32) -> u64 {
    u64::from(stream) << 32 | u64::from(frame)
}

fn read_tag(stream: u32, slot: usize) -> u64 {
    u64::from(stream) << 32 | 1 << 31 | slot as u64
}

/// Returns the stream of a tag.
pub(crate) fn owner(tag: u64) -> u32 {
    (tag >> 32) as u32
}

impl Scheduler {
    pub fn new(heap: Heap, work: Arc<Work>, nodes: usize, read_size: u64) -> Scheduler {
        Scheduler {
            evicted: Vec::with_capacity(heap.most_blocks()),
            scratch: vec![0; work.bench_count()],
            heap,
            work,
            streams: Vec::new(),
            nodes: vec![Node::Free; nodes],
            free_nodes: (0..nodes as u32).rev().collect(),
            ended: Vec::with_capacity(nodes),
            turns: Vec::new(),
            incidents: Vec::with_capacity(64),
            read_size,
            now: 0,
            reads_in_flight: 0,
            in_flight: 0,
            next_token: 0,
            slid: false,
            refused: usize::MAX,
            queue_left: 0,
            starved: false,
            steals: TICK_STEALS,
            scratch_words: 0,
            reads_on: true,
            jobs_on: true,
        }
    }

    /// Reserves room for `count` streams, so that ticks do not allocate.
    pub fn reserve(&mut self, count: usize) {
        self.turns.reserve(count.saturating_sub(self.turns.len()));
    }

    /// Requests scratch of `words` words, which is allocated as soon as there is room.
    pub fn want_scratch(&mut self, words: usize) {
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
    pub fn fit_scratch(&mut self) {
        for bench in 0..self.scratch.len() {
            if self.scratch[bench] == self.scratch_words {
                continue;
            }
            let Some(block) = self.room(self.scratch_words, End::High, u64::from(NONE) << 32, true) else {
                return;
            };
            if let Some(old) = self.work.replace_scratch(bench, block) {
                self.heap.discard(old);
            }
            self.scratch[bench] = self.scratch_words;
        }
    }

    // Memory.

    /// Allocates a block, evicting others if necessary. `need` is `true` if it is to be shown now.
    fn room(&mut self, words: usize, end: End, tag: u64, need: bool) -> Option<Block> {
        if let Some(block) = self.heap.alloc(words, end, tag) {
            return Some(block);
        }
        // If less found no room in this tick, and nothing was given up since, this does not either.
        if words < self.refused {
            if self.make_room(words) {
                return self.heap.alloc(words, end, tag);
            }
            self.refused = words;
        }
        if !need {
            return None;
        }
        for _ in 0..STEALS {
            if self.steals == 0 || !(self.give_up_farthest() || self.give_up_read()) {
                break;
            }
            self.steals -= 1;
            self.refused = usize::MAX;
            if self.make_room(words) {
                return self.heap.alloc(words, end, tag);
            }
        }
        if !std::mem::replace(&mut self.slid, true) && self.heap.compact(words, SLIDE) {
            return self.heap.alloc(words, end, tag);
        }
        None
    }

    fn make_room(&mut self, words: usize) -> bool {
        let evicted = &mut self.evicted;
        evicted.clear();
        let room = self.heap.make_room(words, |tag| evicted.push(tag));
        for &tag in &self.evicted {
            let stream = self.streams.get_mut(owner(tag) as usize);
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
        let until = self.now + 2 * NOW;
        for _ in 0..4 {
            let farthest = (self.streams.iter_mut().flatten()).max_by_key(|s| s.farthest);
            let Some(stream) = farthest.filter(|s| s.farthest > until) else {
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
    pub fn least_block(&self) -> u64 {
        self.heap.bytes() / self.heap.most_blocks() as u64
    }

    /// Returns the number of jobs that have scratch of their own.
    pub fn bench_count(&self) -> usize {
        self.scratch.len()
    }

    /// Checks an opened file; returns an error if the heap is too small to ever show a frame of it.
    pub fn check_heap(&self, file: &Loaded) -> Result<(), Error> {
        let (least, heap) = (self.least_heap(file), self.heap.bytes());
        if file.least_bytes(1, 0) == 0 || least <= heap {
            return Ok(());
        }
        let what = "bytes that the heap must have to play it (Options::heap)";
        Err(Error::limit(file.reel.path(), what, least, heap))
    }

    /// Returns the smallest heap in which a file can be played by itself.
    pub fn least_heap(&self, file: &Loaded) -> u64 {
        let least = file.least_bytes(1, self.least_block());
        let bytes = least + scratch_bytes(self.bench_count(), file.scratch_words);
        // As in `room_for_streams`; a heap consists of whole granules.
        (bytes.div_ceil(7) * 8).next_multiple_of(Heap::cost(1))
    }

    /// Gives up bytes in memory that are wanted later than anything else. Returns whether there were some.
    fn give_up_read(&mut self) -> bool {
        let until = self.now + 2 * NOW;
        let (heap, streams) = (&mut self.heap, &mut self.streams);
        (streams.iter_mut().flatten()).any(|stream| stream.give_up_read(heap, until))
    }

    // Finished work.

    /// Takes in everything that ended since the last tick.
    pub fn collect(&mut self) {
        span!("collect");
        self.slid = false;
        self.refused = usize::MAX;
        self.steals = TICK_STEALS;
        self.heap.sweep(64);
        let mut ended = std::mem::take(&mut self.ended);
        self.work.collect(&mut ended);
        for &node in &ended {
            let task = std::mem::take(&mut *self.work.task(node));
            let what = std::mem::replace(&mut self.nodes[node as usize], Node::Free);
            self.free_nodes.push(node);
            self.in_flight -= 1;
            match what {
                Node::Free => {}
                Node::Read { stream, slot } => self.read_ended(stream, usize::from(slot), node, task.ended),
                Node::Decode { stream, unit } => self.decode_ended(stream, unit as usize, task),
            }
        }
        ended.clear();
        self.ended = ended;
    }

    fn read_ended(&mut self, number: u32, slot: usize, node: u32, ended: Ended) {
        self.reads_in_flight -= 1;
        let filled = self.work.filled(node);
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
        let first = stream.file.order[read.first as usize] as usize;
        let some = filled >= stream.file.reel.unit_size(first) as u64;
        if matches!(ended, Ended::Well) && some {
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
            stream.careful = stream.careful.saturating_sub(1);
            stream.tries = 0;
            if stream.faulty && stream.bad_units == 0 {
                stream.faulty = false;
                push(&mut self.incidents, Incident::Recovered(number));
            }
            return;
        }
        let error = match ended {
            Ended::Io(error) => error,
            _ => std::io::ErrorKind::UnexpectedEof.into(),
        };
        stream.counters.read_errors += 1;
        if !std::mem::replace(&mut stream.faulty, true) {
            push(&mut self.incidents, Incident::Read(number, error));
        }
        stream.careful = CAREFUL;
        let mut patience = 0;
        if read.first == read.last {
            // This unit cannot be read; others may, until some in a row could not.
            fail_unit(stream, first, now);
            patience = ALONE;
        }
        if stream.tries >= patience {
            stream.retry_at = now + back_off(stream.tries - patience);
        }
        stream.tries = stream.tries.saturating_add(1);
    }

    fn decode_ended(&mut self, number: u32, unit: usize, task: Task) {
        let Some(stream) = self.streams.get_mut(number as usize).and_then(Option::as_mut) else {
            return;
        };
        stream.units[unit].node = NONE;
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
        if matches!(task.ended, Ended::Well) {
            stream.unit_took(task.took);
            for (frame, block) in task.out.iter() {
                // If a unit was decoded again for some of its frames, the others are there already.
                if !stream.frame_decoded(frame, block) {
                    self.heap.discard(block);
                }
            }
            if stream.units[unit].tries > 0 {
                stream.units[unit].tries = 0;
                stream.bad_units = stream.bad_units.saturating_sub(1);
                if stream.bad_units == 0 && std::mem::replace(&mut stream.faulty, false) {
                    push(&mut self.incidents, Incident::Recovered(number));
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
        if let Ended::Damaged(error) = task.ended {
            stream.counters.damaged += 1;
            // Read again, in case the disk failed and not the file; reported once.
            stream.units[unit].read = NO_READ;
            stream.faulty = true;
            if stream.units[unit].tries == 0 {
                push(&mut self.incidents, Incident::Damaged(number, error));
            }
            fail_unit(stream, unit, self.now);
        }
    }

    // Decoding.

    /// Sorts the streams by their most urgent need.
    fn order_turns(&mut self, due: impl Fn(&Stream) -> Option<u64>) {
        self.turns.clear();
        for (number, stream) in self.streams.iter().enumerate() {
            let stream = stream.as_ref().filter(|s| s.admitted);
            if let Some(due) = stream.and_then(&due) {
                self.turns.push((due, number as u32));
            }
        }
        sort::plain(&mut self.turns);
    }

    /// Starts units that can be decoded: first those to be shown now, of all streams, then those after.
    pub fn decode(&mut self) {
        span!("start");
        if !self.jobs_on || !self.has_scratch() {
            return;
        }
        self.starved = false;
        self.order_turns(|s| s.launch.iter().map(|l| l.1).min());
        let mut left = LAUNCHES;
        let streams = self.streams.iter().flatten();
        let queued = streams.map(|s| s.decoding.len() as u64 * s.unit_time);
        let threads = self.scratch.len() as u64;
        self.queue_left = (threads * QUEUE).saturating_sub(queued.sum());
        for need in [true, false] {
            for i in 0..self.turns.len() {
                self.decode_stream(self.turns[i].1, need, &mut left);
            }
        }
    }

    fn decode_stream(&mut self, number: u32, need: bool, left: &mut usize) {
        let soon = self.now + NOW;
        let share = self.heap.bytes() / 4 * 3 / (self.turns.len() as u64).max(1);
        for i in 0.. {
            let Some(stream) = self.streams[number as usize].as_mut() else {
                return;
            };
            let Some(&(unit, due)) = stream.launch.get(i) else {
                return;
            };
            if (due <= soon) != need || stream.units[unit as usize].node != NONE {
                continue;
            }
            if *left == 0 || self.free_nodes.is_empty() || (self.queue_left == 0 && due > self.now) {
                return;
            }
            let unit_time = stream.unit_time;
            if !need && self.heap.held_bytes() > self.heap.bytes() / 4 * 3 && stream.kept_bytes() > share {
                self.starved = true;
                return;
            }
            match self.launch(number, unit as usize, due, need) {
                Launched::Yes => {
                    *left -= 1;
                    self.queue_left = self.queue_left.saturating_sub(unit_time);
                }
                Launched::NotYet => {}
                Launched::NoRoom => {
                    self.starved = true;
                    if let Some(stream) = self.streams[number as usize].as_mut() {
                        stream.counters.starved += 1;
                    }
                    return;
                }
            }
        }
    }

    fn launch(&mut self, number: u32, unit: usize, due: u64, need: bool) -> Launched {
        let Some(stream) = self.streams[number as usize].as_ref() else {
            return Launched::NotYet;
        };
        let file = stream.file.clone();
        let entry = stream.units[unit];
        let Some(read) = stream.reads.get(usize::from(entry.read)).copied() else {
            return Launched::NotYet;
        };
        let Some(compressed) = read.block.filter(|_| !read.cancelled && entry.retry_at <= self.now) else {
            return Launched::NotYet;
        };
        let mut task = Task { unit: unit as u32, ..Task::default() };
        for &frame in file.reel.unit_needs(unit).iter() {
            let there = stream.frames[frame as usize];
            let coming = there.state == State::Pending
                && (self.work.graph).is_wanted(stream.units[file.reel.unit_of(frame as usize)].node);
            match there.block {
                Some(block) if there.state == State::Decoded || coming => task.needs.push(frame, block),
                _ => return Launched::NotYet,
            }
        }
        // Held before room is made, so that they are not evicted for it.
        for (_, block) in task.needs.iter() {
            self.heap.hold(block);
        }
        self.heap.hold(compressed);
        for &frame in file.reel.unit_frames(unit).iter() {
            let words = file.reel.frame_words();
            match self.room(words, End::Low, frame_tag(number, frame), need) {
                Some(block) => task.out.push(frame, block),
                None => {
                    self.undo(&task, compressed);
                    return Launched::NoRoom;
                }
            }
        }
        let Some(node) = self.free_nodes.pop() else {
            self.undo(&task, compressed);
            return Launched::NoRoom;
        };
        let Some(stream) = self.streams[number as usize].as_mut() else {
            return Launched::NotYet;
        };
        self.nodes[node as usize] = Node::Decode { stream: number, unit: unit as u32 };
        self.in_flight += 1;
        stream.units[unit].node = node;
        stream.decoding.push(unit as u32);
        stream.counters.decodes += 1;
        for (frame, block) in task.out.iter() {
            let entry = &mut stream.frames[frame as usize];
            if entry.state == State::Absent {
                entry.block = Some(block);
                entry.state = State::Pending;
            }
        }
        let graph = &self.work.graph;
        graph.begin(node);
        self.work.set_due(node, due);
        follow(graph, stream, node, &task, read.node);
        let at = file.reel.unit_chunk(unit).offset - read.offset;
        task.compressed = Some((compressed, at as usize));
        task.file = Some(file);
        *self.work.task(node) = task;
        if graph.arm(node) {
            self.work.start(node);
        }
        Launched::Yes
    }

    /// Releases what a launch without room had taken.
    fn undo(&mut self, task: &Task, compressed: Block) {
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
    pub fn read(&mut self, horizon: u64) {
        span!("issue");
        if !self.reads_on {
            return;
        }
        for round in 0..SHORT_READS {
            let (now, soon) = (self.now, self.now + horizon);
            self.order_turns(|s| {
                let missing = s.missing.filter(|m| m.due <= soon || s.resident)?;
                let most = if s.skips_attributes() { SHORT_READS } else { STREAM_READS };
                let may = round < most && s.reads_in_flight < most;
                (may && s.retry_at <= now).then_some(missing.due)
            });
            if self.turns.is_empty() {
                return;
            }
            for i in 0..self.turns.len() {
                if self.reads_in_flight >= MOST_READS || self.free_nodes.is_empty() {
                    return;
                }
                let number = self.turns[i].1;
                if let Some((missing, stream)) = (self.streams[number as usize].as_mut())
                    .and_then(|stream| Some((stream.missing.take()?, stream)))
                {
                    let most = self.read_size;
                    let share = self.heap.bytes() / 4 / (self.turns.len() as u64).max(1);
                    let size = if stream.careful > 0 { 0 } else { most.min(share) };
                    let range = range_of(stream, missing, size, now);
                    if self.issue(number, range, missing) {
                        if let Some(stream) = self.streams[number as usize].as_mut() {
                            stream.missing = rest_of(stream, missing, range.1);
                        }
                    } else if range.0 < range.1 {
                        // If there is no room for that, its first unit is enough to continue.
                        self.issue(number, (missing.low, missing.low), missing);
                    }
                }
            }
        }
    }

    fn issue(&mut self, number: u32, (first, last): (u32, u32), missing: Missing) -> bool {
        let Some(stream) = self.streams[number as usize].as_mut() else {
            return false;
        };
        let Some(slot) = free_slot(stream, &mut self.heap) else {
            return false;
        };
        let file = stream.file.clone();
        let offset = unit_start(stream, first);
        let bytes = unit_end(stream, last) - offset;
        let need = missing.due <= self.now + NOW;
        let words = (bytes as usize).div_ceil(8);
        let Some(block) = self.room(words, End::High, read_tag(number, slot), need) else {
            if let Some(stream) = self.streams[number as usize].as_mut() {
                stream.counters.starved += 1;
            }
            return false;
        };
        let (Some(stream), Some(guard)) =
            (self.streams[number as usize].as_mut(), self.work.memory.write(block))
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
            let unit = file.order[place as usize] as usize;
            if stream.units[unit].read == NO_READ {
                stream.units[unit].read = slot as u8;
            }
        }
        stream.reads_in_flight += 1;
        stream.counters.reads += 1;
        stream.counters.bytes_read += bytes;
        self.reads_in_flight += 1;
        self.in_flight += 1;
        self.nodes[node as usize] = Node::Read { stream: number, slot: slot as u8 };
        self.work.graph.begin(node);
        self.work.begin_read(node);
        // Only the source starts it.
        let _ = self.work.graph.arm(node);
        let token = Token(self.next_token);
        let read = Read::new(self.work.clone(), node, token, offset, bytes as usize, missing.due, guard);
        stream.source.start(read);
        true
    }

    /// Cancels all work in flight of a stream.
    pub fn cancel_all(&mut self, number: u32) {
        let Some(stream) = self.streams[number as usize].as_mut() else {
            return;
        };
        for &unit in &stream.decoding {
            self.work.graph.cancel(stream.units[unit as usize].node);
        }
        for read in &mut stream.reads {
            if let Some(node) = read.node {
                read.cancelled = true;
                self.work.graph.cancel(node);
                stream.source.cancel(Token(read.token));
            }
        }
    }

    /// `true` if a stream has nothing in flight.
    pub fn is_quiet(&self, number: u32) -> bool {
        (self.streams[number as usize].as_ref())
            .is_none_or(|s| s.decoding.is_empty() && s.reads_in_flight == 0)
    }
}

enum Launched {
    Yes,
    /// A frame that it needs is not being decoded yet.
    NotYet,
    NoRoom,
}

/// Makes a node wait for the read that brings its bytes, and for the units whose frames it needs, once each.
fn follow(graph: &Graph, stream: &Stream, node: u32, task: &Task, read: Option<u32>) {
    let mut edge = 0;
    let mut leaders = [NONE; Frames::MOST];
    for (frame, _) in task.needs.iter() {
        let leader = stream.units[stream.file.reel.unit_of(frame as usize)].node;
        if stream.frames[frame as usize].state == State::Pending && !leaders.contains(&leader) {
            leaders[edge] = leader;
            graph.follow(node, edge, leader);
            edge += 1;
        }
    }
    if let Some(leader) = read {
        graph.follow(node, edge, leader);
    }
}

/// Reports an incident. If nobody fetches incidents, the list does not grow.
fn push(incidents: &mut Vec<Incident>, incident: Incident) {
    if incidents.len() < incidents.capacity() {
        incidents.push(incident);
    }
}

fn back_off(tries: u8) -> u64 {
    (FIRST_RETRY << tries.min(20)).min(LAST_RETRY)
}

fn fail_unit(stream: &mut Stream, unit: usize, now: u64) {
    let unit = &mut stream.units[unit];
    if unit.tries == 0 {
        stream.bad_units += 1;
    }
    unit.retry_at = now + back_off(unit.tries);
    unit.tries = unit.tries.saturating_add(1);
}

/// Returns a slot for a read: a free one, or else one whose bytes are not wanted.
fn free_slot(stream: &mut Stream, heap: &mut Heap) -> Option<usize> {
    if let Some(slot) = (0..READS).find(|&i| stream.reads[i].block.is_none()) {
        return Some(slot);
    }
    let idle = |r: &ReadSlot| r.node.is_none() && !r.held;
    let slot = (0..READS).filter(|&i| idle(&stream.reads[i])).min_by_key(|&i| stream.reads[i].token)?;
    if let Some(block) = stream.reads[slot].block {
        heap.discard(block);
    }
    stream.read_lost(slot, 0);
    Some(slot)
}
