//! Statistics of the heap, as plain data.

/// Counts of events in the heap since the player was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HeapCounters {
    /// The number of blocks allocated.
    pub allocations: u64,
    /// The number of requests that found no room in spite of evictions; they are made again later.
    pub failures: u64,
    /// The number of spare blocks that were evicted.
    pub evictions: u64,
    /// The number of bytes that were moved to close gaps.
    pub moved_bytes: u64,
    /// The largest number of bytes that were held or spare at once.
    pub peak_bytes: u64,
}

/// A region of the heap, for a map of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Region {
    /// Offset in bytes from the start of the heap.
    pub start: u64,
    /// Bytes of the region.
    pub size: u64,
    /// The use of the region.
    pub state: RegionState,
    /// The number of the file that it belongs to, or `u32::MAX` for none.
    pub owner: u32,
}

/// The use of a [`Region`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum RegionState {
    Free,
    Held,
    /// Kept while there is room.
    Spare,
}
