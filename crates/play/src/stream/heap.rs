//! The heap of the player: one allocation of fixed size, made once, that provides every large buffer:
//! compressed reads, scratch, decoded frames. The only file of this crate with unsafe code.
//!
//! It has two halves. [`Memory`] is shared: a lock per block, which threads take to read or write its words,
//! and which waits only while the block is being moved. [`Heap`] belongs to one thread, which alone
//! allocates, frees, evicts and moves.
//!
//! ```text
//! block:  free ──alloc──▶ held ──release──▶ spare ──evict──▶ free        held: somebody counts on it, it may only be moved
//!                          ▲──────hold──────┘                            spare: kept while there is room, oldest goes first
//! lock:   closed ──▶ idle ⇄ read by n │ written │ moving                 free and evict: only from idle
//! ```
//!
//! Fragmentation cannot stop playback:
//! 1. free space is found by size class (two levels: powers of two, eighths between them), merged with its
//!    neighbours at once;
//! 2. else the cheapest run of neighbours that are free or spare is evicted ([`Heap::make_room`]); cheap
//!    means few bytes of low rank;
//! 3. else blocks slide together, a bounded number of bytes at a time ([`Heap::compact`]), until the free
//!    space is one piece. Handles stay valid: they name a slot, not an address.
//!
//! Only a block that is locked at that moment is an obstacle, and jobs and reads end.

#![allow(unsafe_code)]

#[path = "heap/lists.rs"] // The model checker includes this file by its path.
mod lists;

use super::regions::{HeapCounters, Region, RegionState};
use super::sizes::{CLASSES, GRANULE, SUBCLASSES, granules_of};
use super::sync::{Arc, AtomicU32, AtomicU64, Ordering, Probe, spin_loop};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The number of ranks of spare blocks; those of rank 0 are evicted first.
pub(crate) const RANKS: usize = 3;
/// The number of spare blocks that are examined to find the cheapest run to evict.
const CANDIDATES: usize = 16;
const NO_SLOT: u32 = u32::MAX;

// The state half of a lock; the other half is the generation of the block.
const IDLE: u32 = 0;
const WRITTEN: u32 = u32::MAX;
const MOVING: u32 = u32::MAX - 1;
const CLOSED: u32 = u32::MAX - 2;
const MAX_READERS: u32 = CLOSED - 1;

/// A handle of a block of the heap. It is invalid everywhere once the block was freed or evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    slot: u32,
    generation: u32,
}

/// The source of a heap's memory, for hosts that provide all memory themselves. It is called once when a
/// player is created; the memory is returned when the player and all frames that it lent are gone, on any
/// thread.
///
/// # Safety
/// [`Allocator::allocate`] must return null, or memory of the size and alignment of the layout that nothing
/// else touches until it is passed to [`Allocator::deallocate`].
pub unsafe trait Allocator: Send + Sync {
    /// Returns memory with any content, or null if there is none.
    fn allocate(&self, layout: Layout) -> *mut u8;
    /// Takes memory back.
    ///
    /// # Safety
    /// The memory is from [`Allocator::allocate`] of the same allocator, with the same layout, and is
    /// returned only once.
    unsafe fn deallocate(&self, memory: *mut u8, layout: Layout);
}

/// The allocator of a heap; the global one if `None`.
type OptionalAllocator = Option<std::sync::Arc<dyn Allocator>>;

/// The words, and a lock for each block. Clones share them.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Arena>);

struct Arena {
    base: NonNull<u64>,
    words: usize,
    allocator: OptionalAllocator,
    slots: Box<[Slot]>,
}

struct Slot {
    /// Generation in the upper, state in the lower half.
    lock: AtomicU64,
    /// In words. Written only while no guard can be made (closed or moving).
    start: AtomicU32,
    words: AtomicU32,
    probe: Probe,
}

// SAFETY: the words are reached only through guards, and the locks give either many readers or one writer of
// a block; blocks do not overlap (see `Heap`), and a place is changed only while its lock is closed or
// moving.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

fn lock_word(generation: u32, state: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(state)
}

impl Arena {
    /// Returns `None` if the system does not have that much memory.
    fn new(words: usize, slots: usize, allocator: OptionalAllocator) -> Option<Arena> {
        let words = words.max(GRANULE);
        let layout = Arena::layout(words)?;
        let base = match &allocator {
            // SAFETY: the layout has a size, as `words` is not 0.
            None => NonNull::new(unsafe { alloc_zeroed(layout) }.cast())?,
            Some(own) => {
                let base = NonNull::new(own.allocate(layout))?;
                // SAFETY: so many bytes are there, by the trait's contract.
                unsafe { base.write_bytes(0, layout.size()) };
                base.cast()
            }
        };
        let slot = |_| Slot {
            lock: AtomicU64::new(lock_word(0, CLOSED)),
            start: AtomicU32::new(0),
            words: AtomicU32::new(0),
            probe: Probe::new(),
        };
        Some(Arena { base, words, allocator, slots: (0..slots).map(slot).collect() })
    }

    /// Returns `None` beyond half of the address space.
    fn layout(words: usize) -> Option<Layout> {
        Layout::from_size_align(words.checked_mul(8)?, 8 * GRANULE).ok()
    }

    /// Changes the state of a lock; waits only for a move to end.
    fn lock_block(&self, block: Block, to: impl Fn(u32) -> Option<u32>) -> Option<&Slot> {
        let slot = self.slots.get(block.slot as usize)?;
        let mut seen = slot.lock.load(Ordering::Relaxed);
        loop {
            if (seen >> 32) as u32 != block.generation {
                return None;
            }
            if seen as u32 == MOVING {
                spin_loop();
                seen = slot.lock.load(Ordering::Relaxed);
                continue;
            }
            let next = lock_word(block.generation, to(seen as u32)?);
            match (slot.lock).compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(slot),
                Err(now) => seen = now,
            }
        }
    }
}

impl Memory {
    /// Locks the block for reading, by any number of threads at once. `None` if it is gone or being written.
    pub fn read(&self, block: Block) -> Option<ReadGuard> {
        let one_more = |state| (state < MAX_READERS).then_some(state + 1);
        let place = self.lock(block, one_more)?;
        place.slot().probe.read();
        Some(ReadGuard(place))
    }

    /// Locks the block for writing. `None` if it is gone or in use.
    pub fn write(&self, block: Block) -> Option<WriteGuard> {
        let place = self.lock(block, |state| (state == IDLE).then_some(WRITTEN))?;
        place.slot().probe.write();
        Some(WriteGuard(place))
    }

    fn lock(&self, block: Block, to: impl Fn(u32) -> Option<u32>) -> Option<LockedBlock> {
        let (start, words) = self.0.lock_block(block, to)?.range();
        Some(LockedBlock { memory: self.clone(), block, start, words })
    }
}

impl Slot {
    fn range(&self) -> (usize, usize) {
        let load = |a: &AtomicU32| a.load(Ordering::Relaxed) as usize;
        (load(&self.start) * GRANULE, load(&self.words))
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if let Some(layout) = Arena::layout(self.words) {
            let base = self.base.as_ptr().cast();
            match &self.allocator {
                // SAFETY: allocated in `new` with the same layout; guards hold the memory, so none is left.
                None => unsafe { dealloc(base, layout) },
                // SAFETY: as above, and by this allocator.
                Some(own) => unsafe { own.deallocate(base, layout) },
            }
        }
    }
}

/// A block whose lock was taken.
struct LockedBlock {
    memory: Memory,
    block: Block,
    start: usize,
    words: usize,
}

impl LockedBlock {
    fn slot(&self) -> &Slot {
        &self.memory.0.slots[self.block.slot as usize]
    }
    fn as_ptr(&self) -> *mut u64 {
        // SAFETY: places lie in the allocation.
        unsafe { self.memory.0.base.as_ptr().add(self.start) }
    }
}

/// The words of a block, for reading. The block is neither moved nor evicted while this lives.
pub(crate) struct ReadGuard(LockedBlock);

impl Deref for ReadGuard {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        // SAFETY: in the allocation and initialised (zeroed at first); the lock keeps writers and moves away.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), self.0.words) }
    }
}

impl Clone for ReadGuard {
    fn clone(&self) -> ReadGuard {
        let again = self.0.memory.read(self.0.block);
        again.expect("a block that is being read can be read once more")
    }
}

impl Drop for ReadGuard {
    fn drop(&mut self) {
        let slot = self.0.slot();
        slot.probe.read();
        slot.lock.fetch_sub(1, Ordering::Release);
    }
}

/// The words of a block, for exclusive writing.
pub(crate) struct WriteGuard(LockedBlock);

impl Deref for WriteGuard {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        // SAFETY: as for a reader.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), self.0.words) }
    }
}

impl DerefMut for WriteGuard {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as for a reader; the lock keeps everyone else away.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr(), self.0.words) }
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        let idle = lock_word(self.0.block.generation, IDLE);
        self.0.slot().probe.write();
        self.0.slot().lock.store(idle, Ordering::Release);
    }
}

/// The state of a slot of the heap's table, and of its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockState {
    /// The slot is not in use.
    Unused,
    Free,
    /// At least one holder relies on it.
    Held,
    /// No holder relies on it; it is in the list of this rank.
    Spare(u8),
    /// It is freed as soon as its lock is idle.
    Condemned,
}

/// One block, in the order of addresses and in at most one list.
#[derive(Debug, Clone, Copy)]
struct BlockEntry {
    start: u32,
    granules: u32,
    before: u32,
    after: u32,
    previous: u32,
    next: u32,
    state: BlockState,
    holds: u32,
    generation: u32,
    tag: u64,
}

#[derive(Debug, Clone, Copy)]
struct BlockList {
    first: u32,
    last: u32,
}

const EMPTY_LIST: BlockList = BlockList { first: NO_SLOT, last: NO_SLOT };

/// The end of a gap from which a block is taken: long-lived blocks from the low one, others from the high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeapEnd {
    Low,
    High,
}

/// The blocks of a [`Memory`], for the one thread that owns it.
pub(crate) struct Heap {
    memory: Memory,
    entries: Vec<BlockEntry>,
    /// The list of unused slots, linked through `next`.
    unused: u32,
    free: [BlockList; CLASSES],
    /// For each first level, a mask of the second levels that are not empty.
    filled: [u8; CLASSES / SUBCLASSES],
    /// In each list the least recently spared block is first.
    spare: [BlockList; RANKS],
    condemned: BlockList,
    /// The first block in the order of addresses.
    lowest: u32,
    /// The block at which sliding continues in the next tick.
    cursor: u32,
    used_granules: u64,
    held_granules: u64,
    counters: HeapCounters,
}

impl Heap {
    /// Returns the most blocks: with less than 4 KiB each, eviction begins before the memory is full.
    pub fn slots(bytes: usize) -> usize {
        (bytes / 4096).clamp(64, 1 << 16)
    }

    /// Allocates `bytes`, and about 1 % for lists. `None` without that much memory, and beyond a terabyte.
    pub fn new(bytes: usize, allocator: OptionalAllocator) -> Option<Heap> {
        let granules = (bytes / (8 * GRANULE)).max(1);
        u32::try_from(granules + 1).ok()?;
        Heap::with_slots(granules, Heap::slots(bytes), allocator)
    }

    pub(crate) fn with_slots(granules: usize, slots: usize, allocator: OptionalAllocator) -> Option<Heap> {
        let memory = Memory(Arc::new(Arena::new(granules * GRANULE, slots, allocator)?));
        let entry = |i: usize| BlockEntry {
            start: 0,
            granules: 0,
            before: NO_SLOT,
            after: NO_SLOT,
            previous: NO_SLOT,
            next: if i + 1 < slots { i as u32 + 1 } else { NO_SLOT },
            state: BlockState::Unused,
            holds: 0,
            generation: 0,
            tag: 0,
        };
        let mut heap = Heap {
            memory,
            entries: (0..slots).map(entry).collect(),
            unused: 0,
            free: [EMPTY_LIST; CLASSES],
            filled: [0; CLASSES / SUBCLASSES],
            spare: [EMPTY_LIST; RANKS],
            condemned: EMPTY_LIST,
            lowest: 0,
            cursor: 0,
            used_granules: 0,
            held_granules: 0,
            counters: HeapCounters::default(),
        };
        let all = heap.take_slot()?;
        heap.entries[all as usize].granules = granules as u32;
        heap.add_free(all);
        Some(heap)
    }

    /// Returns the part of the heap that other threads use.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }
    /// Returns the largest number of blocks.
    pub fn max_blocks(&self) -> usize {
        self.entries.len()
    }
    /// Returns the bytes of the heap.
    pub fn bytes(&self) -> u64 {
        8 * self.memory.0.words as u64
    }
    /// Returns the bytes that are not free.
    pub fn used_bytes(&self) -> u64 {
        self.used_granules * 8 * GRANULE as u64
    }
    /// Returns the bytes of held blocks.
    pub fn held_bytes(&self) -> u64 {
        self.held_granules * 8 * GRANULE as u64
    }
    pub fn counters(&self) -> HeapCounters {
        self.counters
    }
    /// Returns the bytes that a block of `words` takes.
    pub fn block_bytes(words: usize) -> u64 {
        granules_of(words) as u64 * 8 * GRANULE as u64
    }

    /// Allocates a block of at least one word, held once, from free space alone. `tag` is reported when it is
    /// evicted.
    pub fn alloc(&mut self, words: usize, end: HeapEnd, tag: u64) -> Option<Block> {
        let granules = u32::try_from(granules_of(words)).ok()?;
        let found = self.find_free(granules)?;
        let size = self.entries[found as usize].granules;
        let mut block = found;
        if size > granules {
            let rest = self.take_slot()?;
            self.remove_free(found);
            block = self.split(found, rest, granules, end);
        } else {
            self.remove_free(found);
        }
        let entry = &mut self.entries[block as usize];
        entry.state = BlockState::Held;
        entry.holds = 1;
        entry.tag = tag;
        let generation = entry.generation;
        let slot = &self.memory.0.slots[block as usize];
        slot.start.store(entry.start, Ordering::Relaxed);
        slot.words.store(words as u32, Ordering::Relaxed);
        slot.lock.store(lock_word(generation, IDLE), Ordering::Release);
        self.used_granules += u64::from(granules);
        self.held_granules += u64::from(granules);
        self.counters.allocations += 1;
        self.counters.peak_bytes = self.counters.peak_bytes.max(self.used_bytes());
        Some(Block { slot: block, generation })
    }

    /// Adds a holder of the block; `false` if the block is gone.
    pub fn hold(&mut self, block: Block) -> bool {
        let Some(entry) = self.entry(block) else {
            return false;
        };
        match self.entries[entry].state {
            BlockState::Held => {}
            BlockState::Spare(rank) => {
                self.unlink(entry as u32, |heap| &mut heap.spare[usize::from(rank)]);
                self.held_granules += u64::from(self.entries[entry].granules);
            }
            _ => return false,
        }
        self.entries[entry].state = BlockState::Held;
        self.entries[entry].holds += 1;
        true
    }

    /// Removes a holder; after the last one the block is spare, with this rank.
    pub fn release(&mut self, block: Block, rank: usize) {
        let Some(entry) = self.entry(block).filter(|&e| self.entries[e].state == BlockState::Held) else {
            return;
        };
        self.entries[entry].holds -= 1;
        if self.entries[entry].holds == 0 {
            let rank = rank.min(RANKS - 1);
            self.entries[entry].state = BlockState::Spare(rank as u8);
            self.held_granules -= u64::from(self.entries[entry].granules);
            self.append(entry as u32, |heap| &mut heap.spare[rank]);
        }
    }

    /// Removes a holder of a block that nobody will want again; after the last one it is freed as soon as no
    /// thread is in it.
    pub fn discard(&mut self, block: Block) {
        let Some(entry) = self.entry(block) else {
            return;
        };
        match self.entries[entry].state {
            BlockState::Held => {
                self.entries[entry].holds -= 1;
                if self.entries[entry].holds > 0 {
                    return;
                }
                self.held_granules -= u64::from(self.entries[entry].granules);
            }
            BlockState::Spare(rank) => self.unlink(entry as u32, |heap| &mut heap.spare[usize::from(rank)]),
            _ => return,
        }
        if self.close(entry as u32) {
            self.free_block(entry as u32);
        } else {
            self.entries[entry].state = BlockState::Condemned;
            self.append(entry as u32, |heap| &mut heap.condemned);
        }
    }

    /// Frees discarded blocks that no thread is in any more. Examines at most `most`.
    pub fn sweep(&mut self, most: usize) {
        let mut at = self.condemned.first;
        for _ in 0..most {
            if at == NO_SLOT {
                return;
            }
            let next = self.entries[at as usize].next;
            if self.close(at) {
                self.unlink(at, |heap| &mut heap.condemned);
                self.free_block(at);
            }
            at = next;
        }
    }

    /// Evicts the cheapest run of neighbours that makes a gap of `words`, and calls `evicted` with the tag of
    /// each evicted block. `false` if no run is long enough, or a thread is in a block of it.
    pub fn make_room(&mut self, words: usize, mut evicted: impl FnMut(u64)) -> bool {
        let Ok(granules) = u32::try_from(granules_of(words)) else {
            return false;
        };
        if self.unused == NO_SLOT {
            self.free_a_slot(&mut evicted);
        }
        if self.find_free(granules).is_some() {
            return self.unused != NO_SLOT;
        }
        // Another thread may be in a block of the run: then the next best run is tried.
        for _ in 0..4 {
            let Some((first, last)) = self.cheapest_run(granules) else {
                break;
            };
            self.evict_run(first, last, &mut evicted);
            if self.find_free(granules).is_some() {
                return true;
            }
        }
        self.counters.failures += 1;
        false
    }

    /// Slides blocks towards the low end until there is a gap of `words` and a slot for the rest of it, or
    /// `budget` words were moved. `true` if there is.
    pub fn compact(&mut self, words: usize, budget: usize) -> bool {
        let Ok(granules) = u32::try_from(granules_of(words)) else {
            return false;
        };
        let mut left = budget.div_ceil(GRANULE) as u64;
        let (whole, mut wrapped) = (left, false);
        let found = |heap: &Heap| heap.find_free(granules).is_some() && heap.unused != NO_SLOT;
        while !found(self) {
            if self.cursor == NO_SLOT || self.entries[self.cursor as usize].state == BlockState::Unused {
                if std::mem::replace(&mut wrapped, true) {
                    return false;
                }
                self.cursor = self.lowest;
            }
            let at = self.cursor;
            let after = self.entries[at as usize].after;
            self.cursor = after;
            if self.entries[at as usize].state != BlockState::Free || after == NO_SLOT {
                continue;
            }
            let size = u64::from(self.entries[after as usize].granules);
            // One block is moved in any case, or a large one would stay forever.
            if size > left && left < whole {
                self.cursor = at;
                return false;
            }
            if self.slide(at, after) {
                left = left.saturating_sub(size);
                if left == 0 {
                    break;
                }
            }
        }
        found(self)
    }

    /// Lists all regions in the order of addresses. `owner` reads a tag.
    pub fn list_regions(&self, out: &mut Vec<Region>, owner: impl Fn(u64) -> u32) {
        out.clear();
        let mut at = self.lowest;
        while at != NO_SLOT {
            let entry = &self.entries[at as usize];
            let unit = 8 * GRANULE as u64;
            out.push(Region {
                start: u64::from(entry.start) * unit,
                size: u64::from(entry.granules) * unit,
                state: match entry.state {
                    BlockState::Free | BlockState::Unused => RegionState::Free,
                    BlockState::Spare(_) => RegionState::Spare,
                    BlockState::Held | BlockState::Condemned => RegionState::Held,
                },
                owner: if entry.state == BlockState::Free { u32::MAX } else { owner(entry.tag) },
            });
            at = entry.after;
        }
    }

    fn entry(&self, block: Block) -> Option<usize> {
        let entry = self.entries.get(block.slot as usize)?;
        let there = entry.generation == block.generation
            && !matches!(entry.state, BlockState::Unused | BlockState::Free);
        there.then_some(block.slot as usize)
    }

    // Making room.

    /// Returns the ends of the cheapest run found around the blocks that were spared first.
    fn cheapest_run(&self, granules: u32) -> Option<(u32, u32)> {
        let mut best: Option<(u64, u32, u32)> = None;
        let mut looked = 0;
        for rank in 0..RANKS {
            let mut at = self.spare[rank].first;
            while at != NO_SLOT && looked < CANDIDATES {
                looked += 1;
                if let Some(run) = self.run_around(at, granules)
                    && best.is_none_or(|b| run.0 < b.0)
                {
                    best = Some(run);
                }
                at = self.entries[at as usize].next;
            }
            if best.is_some() {
                break;
            }
            looked = 0;
        }
        best.map(|(_, first, last)| (first, last))
    }

    /// Returns the cost and the ends of a run around `at`, extended to the cheaper neighbour first.
    fn run_around(&self, at: u32, granules: u32) -> Option<(u64, u32, u32)> {
        let cost = |at: u32| -> Option<u64> {
            let entry = self.entries.get(at as usize)?;
            match entry.state {
                BlockState::Free => Some(0),
                BlockState::Spare(rank) if self.is_idle(at) => {
                    Some(u64::from(entry.granules) * (1 + 3 * u64::from(rank)))
                }
                _ => None,
            }
        };
        let (mut first, mut last) = (at, at);
        let mut total = cost(at)?;
        let mut size = u64::from(self.entries[at as usize].granules);
        while size < u64::from(granules) {
            let before = self.entries[first as usize].before;
            let after = self.entries[last as usize].after;
            let (more, price) = match (cost(before), cost(after)) {
                (None, None) => return None,
                (Some(price), None) => (before, price),
                (None, Some(price)) => (after, price),
                (Some(b), Some(a)) if b < a => (before, b),
                (Some(_), Some(a)) => (after, a),
            };
            if more == before {
                first = before;
            } else {
                last = after;
            }
            total += price;
            size += u64::from(self.entries[more as usize].granules);
        }
        Some((total, first, last))
    }

    fn evict_run(&mut self, first: u32, last: u32, evicted: &mut impl FnMut(u64)) {
        let end = self.entries[last as usize].after;
        let mut at = first;
        while at != end && at != NO_SLOT {
            // Merging may remove the next block.
            let next = self.entries[at as usize].after;
            let beyond =
                if next != NO_SLOT && next != end && self.entries[next as usize].state == BlockState::Free {
                    self.entries[next as usize].after
                } else {
                    next
                };
            at = if self.evict(at, evicted) { beyond } else { next };
        }
    }

    /// Evicts a spare block; returns whether it was evicted.
    fn evict(&mut self, at: u32, evicted: &mut impl FnMut(u64)) -> bool {
        let BlockState::Spare(rank) = self.entries[at as usize].state else {
            return false;
        };
        if !self.close(at) {
            return false;
        }
        self.unlink(at, |heap| &mut heap.spare[usize::from(rank)]);
        evicted(self.entries[at as usize].tag);
        self.counters.evictions += 1;
        self.free_block(at);
        true
    }

    /// If every slot is in use, evicts blocks until one is free: two neighbours that merge release one.
    fn free_a_slot(&mut self, evicted: &mut impl FnMut(u64)) {
        for rank in 0..RANKS {
            let mut at = self.spare[rank].first;
            for _ in 0..CANDIDATES {
                if at == NO_SLOT || self.unused != NO_SLOT {
                    break;
                }
                let next = self.entries[at as usize].next;
                self.evict(at, evicted);
                at = next;
            }
        }
    }

    fn is_idle(&self, at: u32) -> bool {
        self.memory.0.slots[at as usize].lock.load(Ordering::Relaxed) as u32 == IDLE
    }

    /// Closes the lock permanently; `false` if a thread is in the block.
    fn close(&mut self, at: u32) -> bool {
        let entry = &mut self.entries[at as usize];
        let next = entry.generation.wrapping_add(1);
        let closed = self.memory.0.slots[at as usize].lock.compare_exchange(
            lock_word(entry.generation, IDLE),
            lock_word(next, CLOSED),
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if closed.is_ok() {
            entry.generation = next;
        }
        closed.is_ok()
    }

    /// Turns a closed block that is in no list into free space.
    fn free_block(&mut self, at: u32) {
        self.used_granules -= u64::from(self.entries[at as usize].granules);
        let mut at = at;
        let before = self.entries[at as usize].before;
        if before != NO_SLOT && self.entries[before as usize].state == BlockState::Free {
            self.remove_free(before);
            self.merge(before, at);
            at = before;
        }
        let after = self.entries[at as usize].after;
        if after != NO_SLOT && self.entries[after as usize].state == BlockState::Free {
            self.remove_free(after);
            self.merge(at, after);
        }
        self.add_free(at);
    }

    /// Moves the block behind a gap to the gap's start.
    fn slide(&mut self, gap: u32, block: u32) -> bool {
        let (from, to) = (self.entries[block as usize].start, self.entries[gap as usize].start);
        let granules = self.entries[block as usize].granules;
        let slot = &self.memory.0.slots[block as usize];
        let generation = self.entries[block as usize].generation;
        let moving = slot.lock.compare_exchange(
            lock_word(generation, IDLE),
            lock_word(generation, MOVING),
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if moving.is_err() {
            return false;
        }
        slot.probe.write();
        // SAFETY: both places lie in the allocation; the lock keeps everyone away from the block, the gap is
        // nobody's, and `copy` allows them to overlap.
        unsafe {
            let base = self.memory.0.base.as_ptr();
            let words = granules as usize * GRANULE;
            std::ptr::copy(base.add(from as usize * GRANULE), base.add(to as usize * GRANULE), words);
        }
        slot.start.store(to, Ordering::Relaxed);
        slot.probe.write();
        slot.lock.store(lock_word(generation, IDLE), Ordering::Release);
        self.counters.moved_bytes += u64::from(granules) * 8 * GRANULE as u64;

        // before ─ gap ─ block ─ after   becomes   before ─ block ─ gap ─ after
        self.remove_free(gap);
        let before = self.entries[gap as usize].before;
        let after = self.entries[block as usize].after;
        self.link_neighbours(before, block);
        self.link_neighbours(block, gap);
        self.link_neighbours(gap, after);
        if before == NO_SLOT {
            self.lowest = block;
        }
        self.entries[block as usize].start = to;
        self.entries[gap as usize].start = to + granules;
        if after != NO_SLOT && self.entries[after as usize].state == BlockState::Free {
            self.remove_free(after);
            self.merge(gap, after);
        }
        self.add_free(gap);
        self.cursor = gap;
        true
    }
}
