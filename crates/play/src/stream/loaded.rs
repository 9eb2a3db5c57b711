//! A file that is ready to be played: its static data, the order of its units on the disk, and its needs of
//! the heap.

use crate::Error;
use crate::reel::open_file::Reel;
use crate::reel::statics::Statics;
use crate::stream::heap::Heap;
use crate::stream::sharing::MeshLibrary;
use meshreel_codec::sort;
use std::sync::Arc;

/// The most units that a frame may wait for: far more than any writer makes (64), and few enough to walk in a
/// tick.
const MAX_WAIT_UNITS: usize = 256;

/// Returns the bytes of the heap for the scratch of `benches` workspaces, of `words` words.
pub(crate) fn scratch_bytes(benches: usize, words: usize) -> u64 {
    match words {
        0 => 0,
        _ => benches as u64 * Heap::block_bytes(words),
    }
}

/// A file that is ready to be played.
pub(crate) struct LoadedFile {
    pub reel: Reel,
    pub statics: Arc<Statics>,
    /// The units in the order of their bytes.
    pub unit_order: Vec<u32>,
    /// The place of each unit in `unit_order`.
    pub unit_places: Vec<u32>,
    pub heap: HeapNeeds,
}

/// The needs of a file of the heap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeapNeeds {
    /// Words of the largest scratch.
    pub scratch_words: usize,
    frames: u64,
    units: u64,
    /// The number of frames that an instance needs at once, and the bytes of the heap for each.
    frames_at_once: u64,
    frame_bytes: u64,
    /// The bytes of the heap for its largest unit.
    read_bytes: u64,
}

impl HeapNeeds {
    pub fn new(reel: &Reel) -> HeapNeeds {
        let units = reel.unit_count();
        let scratch = (0..units).map(|u| reel.scratch_words(u)).max();
        let largest = (0..units).map(|u| reel.unit_size(u)).max();
        let frames = |u| reel.unit_dependencies(u).len() + reel.unit_frames(u).len();
        let most = (0..units).map(frames).max().unwrap_or(0) as u64;
        let coded = if reel.has_coded_points() { reel.order().held_coded_frames() } else { 0 };
        HeapNeeds {
            scratch_words: scratch.unwrap_or(0),
            frames: reel.frame_count() as u64,
            units: units as u64,
            // The shown frames, the next ones, and all that one unit needs.
            frames_at_once: (most + 4).max(coded),
            frame_bytes: Heap::block_bytes(reel.frame_words()),
            read_bytes: Heap::block_bytes(largest.unwrap_or(0).div_ceil(8) + 1),
        }
    }

    /// Returns the smallest number of heap bytes, besides scratch, with which `instances` instances can be
    /// played. Each may be elsewhere in the file, but all frames of the file are always enough. It includes
    /// two reads: the one with the current unit, and the next. A block counts as at least `least_block`
    /// bytes.
    pub fn min_bytes(&self, instances: u32, least_block: u64) -> u64 {
        let instances = u64::from(instances);
        let frames = (instances * self.frames_at_once).min(self.frames);
        let reads = (2 * instances).min(self.units);
        frames * self.frame_bytes.max(least_block) + reads * self.read_bytes.max(least_block)
    }

    /// Returns the smallest heap in which `instances` instances can be played by themselves with so many
    /// workspaces.
    pub fn min_heap(&self, instances: u32, least_block: u64, workspaces: usize) -> u64 {
        let bytes = self.min_bytes(instances, least_block) + scratch_bytes(workspaces, self.scratch_words);
        // As in `Scheduler::room_for_streams`; a heap consists of whole granules.
        (bytes.div_ceil(7) * 8).next_multiple_of(Heap::block_bytes(1))
    }
}

impl LoadedFile {
    pub fn new(reel: Reel, library: &MeshLibrary) -> Result<LoadedFile, Error> {
        let wait = reel.order().max_wait_units();
        if wait > MAX_WAIT_UNITS {
            let what = "frames that one frame waits for";
            return Err(Error::limit(reel.path(), what, wait as u64, MAX_WAIT_UNITS as u64));
        }
        // Static data that a decoder has read already is reused.
        let statics =
            reel.statics_or(|| Statics::load(&reel).map(|statics| library.deduplicate(&statics)))?;
        let units = reel.unit_count();
        let mut order: Vec<u32> = (0..units as u32).collect();
        sort::by_key(&mut order, |&u| reel.unit_chunk(u as usize).offset);
        let mut place = vec![0; units];
        for (i, &unit) in order.iter().enumerate() {
            place[unit as usize] = i as u32;
        }
        Ok(LoadedFile { statics, unit_order: order, unit_places: place, heap: HeapNeeds::new(&reel), reel })
    }

    /// Returns an error that names a unit.
    pub fn damaged(&self, unit: usize, what: &str) -> Error {
        let frames = self.reel.unit_frames(unit);
        let at = match frames[..] {
            [frame] => format!("frame {frame}"),
            _ => format!("frames {:?}", &frames[..]),
        };
        Error::malformed(self.reel.path(), what, at)
    }
}
