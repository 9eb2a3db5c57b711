//! Statistics for a debug overlay, as plain data: a map of the heap, and the requested, read and decoded
//! frames of each stream.

use crate::stream::ids::FileId;
use crate::stream::regions::{HeapCounters, Region};
use crate::stream::residency::{FrameState, Stream, StreamCounters};

/// The player at one tick. The next call reuses its lists.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// The number of ticks so far.
    pub ticks: u64,
    /// The number of instances.
    pub instances: usize,
    /// The number of instances that want to be served, and for which the heap has no room.
    pub refused: usize,
    /// The bytes of the heap.
    pub heap_bytes: u64,
    /// The bytes of it that are not free.
    pub heap_used: u64,
    /// The bytes of it that are wanted or in use; the others can be evicted at any moment.
    pub heap_held: u64,
    /// Counts of events in the heap.
    pub heap: HeapCounters,
    /// Every region of the heap, in the order of addresses.
    pub regions: Vec<Region>,
    /// The number of reads and units in flight.
    pub in_flight: u32,
    /// The seconds that threads have spent decoding, in total; 0 if the system has no clock.
    pub decode_seconds: f64,
    /// One entry for each open file.
    pub streams: Vec<StreamStatistics>,
}

/// The statistics of one stream.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StreamStatistics {
    /// Its file.
    pub file: Option<FileId>,
    /// Whether one of its instances was admitted.
    pub admitted: bool,
    /// Whether all its frames are to stay in memory.
    pub resident: bool,
    /// Whether part of it cannot be read, or is damaged.
    pub faulty: bool,
    /// Ranges of frames, first and last, whose bytes are being read.
    pub requested: Vec<[u32; 2]>,
    /// Ranges of frames, first and last, whose bytes are in memory.
    pub read: Vec<[u32; 2]>,
    /// Ranges of frames, first and last, that are decoded.
    pub decoded: Vec<[u32; 2]>,
    /// The bytes of the heap that wanted frames take.
    pub held_bytes: u64,
    /// Counters since it was opened.
    pub counters: StreamCounters,
}

impl StreamStatistics {
    pub(crate) fn fill(&mut self, file: FileId, stream: &Stream) {
        self.file = Some(file);
        self.admitted = stream.admitted;
        self.resident = stream.resident;
        self.faulty = stream.faulty;
        self.held_bytes = stream.held_bytes();
        self.counters = stream.counters;
        let read_of = |frame: usize| {
            let unit = &stream.units[stream.file.reel.unit_of(frame)];
            stream.reads.get(usize::from(unit.read))
        };
        let frames = stream.frames.len();
        ranges(&mut self.requested, frames, |f| read_of(f).is_some_and(|r| r.node.is_some()));
        ranges(&mut self.read, frames, |f| read_of(f).is_some_and(|r| r.node.is_none()));
        ranges(&mut self.decoded, frames, |f| stream.frames[f].state == FrameState::Decoded);
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
