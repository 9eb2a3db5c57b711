//! The sizes of blocks of the heap, and the size classes of free blocks.

/// The granularity of sizes and places in 64-bit words: 256 bytes, so that vectors and cache lines are
/// aligned.
pub(crate) const GRANULE: usize = 32;
/// The number of size classes between powers of two.
pub(crate) const SUBCLASSES: usize = 8;
pub(crate) const CLASSES: usize = 32 * SUBCLASSES;

pub(crate) fn granules_of(words: usize) -> usize {
    words.max(1).div_ceil(GRANULE)
}

/// Returns the size class: the position of the highest bit, and the three bits below it.
pub(crate) fn size_class(granules: u32) -> usize {
    let first = granules.max(1).ilog2() as usize;
    let second = if first >= 3 {
        (granules >> (first - 3)) as usize & (SUBCLASSES - 1)
    } else {
        (granules << (3 - first)) as usize & (SUBCLASSES - 1)
    };
    first * SUBCLASSES + second
}
