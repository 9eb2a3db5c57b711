//! What a debug overlay shows, as plain data: a map of the heap, and of each stream what was requested, read
//! and decoded.

use crate::stream::ids::FileId;
use crate::stream::regions::{HeapCounters, Region};
use crate::stream::residency::{State, Stream, StreamCounters};

/// The player at one tick. Its lists are used again by the next call.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// Ticks so far.
    pub ticks: u64,
    /// Instances that there are.
    pub instances: usize,
    /// Instances that want to be served, and for which the heap has no room.
    pub refused: usize,
    /// Bytes of the heap.
    pub heap_bytes: u64,
    /// Bytes of it that are not free.
    pub heap_used: u64,
    /// Bytes of it that are wanted or in use; the others can go at any moment.
    pub heap_held: u64,
    /// Counts of events in the heap.
    pub heap: HeapCounters,
    /// Every piece of it, in the order of addresses.
    pub regions: Vec<Region>,
    /// Reads and units in flight.
    pub in_flight: u32,
    /// Seconds that threads have spent decoding, together; 0 where the system has no clock.
    pub decode_seconds: f64,
    /// One for each open file.
    pub streams: Vec<StreamStatistics>,
}

/// One stream.
#[derive(Debug, Clone, Default)]
pub struct StreamStatistics {
    /// Its file.
    pub file: Option<FileId>,
    /// An instance of it is among those that the heap can serve.
    pub admitted: bool,
    /// All its frames are to stay in memory.
    pub resident: bool,
    /// Something of it cannot be read, or is damaged.
    pub faulty: bool,
    /// Frames, first and last, whose bytes are on their way.
    pub requested: Vec<[u32; 2]>,
    /// Frames, first and last, whose bytes are in memory.
    pub read: Vec<[u32; 2]>,
    /// Frames, first and last, that are decoded.
    pub decoded: Vec<[u32; 2]>,
    /// Bytes of the heap that wanted frames take.
    pub kept_bytes: u64,
    /// Since it was opened.
    pub counters: StreamCounters,
}

impl StreamStatistics {
    pub(crate) fn fill(&mut self, file: FileId, stream: &Stream) {
        self.file = Some(file);
        self.admitted = stream.admitted;
        self.resident = stream.resident;
        self.faulty = stream.faulty;
        self.kept_bytes = stream.kept_bytes();
        self.counters = stream.counters;
        let read_of = |frame: usize| {
            let unit = &stream.units[stream.file.reel.unit_of(frame)];
            stream.reads.get(usize::from(unit.read))
        };
        let frames = stream.frames.len();
        ranges(&mut self.requested, frames, |f| read_of(f).is_some_and(|r| r.node.is_some()));
        ranges(&mut self.read, frames, |f| read_of(f).is_some_and(|r| r.node.is_none()));
        ranges(&mut self.decoded, frames, |f| stream.frames[f].state == State::Decoded);
    }
}

fn ranges(out: &mut Vec<[u32; 2]>, frames: usize, is: impl Fn(usize) -> bool) {
    out.clear();
    for frame in (0..frames).filter(|&f| is(f)) {
        match out.last_mut() {
            Some([_, last]) if *last + 1 == frame as u32 => *last += 1,
            _ => out.push([frame as u32; 2]),
        }
    }
}
