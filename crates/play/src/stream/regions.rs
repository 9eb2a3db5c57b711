//! What the heap tells about itself, as plain data.

/// Counts of events in the heap since the player was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapCounters {
    /// Blocks given out.
    pub allocations: u64,
    /// Requests that found no room, whatever was evicted; they are made again later.
    pub failures: u64,
    /// Spare blocks that made room.
    pub evictions: u64,
    /// Bytes that were moved to close gaps.
    pub moved_bytes: u64,
    /// Most bytes that were held or spare at once.
    pub peak_bytes: u64,
}

/// A piece of the heap, for a map of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Bytes from the start.
    pub start: u64,
    /// Bytes of the region.
    pub size: u64,
    /// What the region is used for.
    pub state: RegionState,
    /// Who it belongs to: the number of the file, or `u32::MAX` for nobody's.
    pub owner: u32,
}

/// See [`Region`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RegionState {
    Free,
    Held,
    /// Kept while there is room.
    Spare,
}
