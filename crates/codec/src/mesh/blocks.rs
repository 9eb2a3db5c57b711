//! Cuts the points of a hierarchy level into blocks of 16, and bundles up to eight frames.

use crate::mesh::hierarchy::Hierarchy;
use crate::schedule::MAX_UNIT_FRAMES;
use std::ops::Range;

// Part of the format.
/// The largest number of frames decoded side by side.
pub const BUNDLE: usize = MAX_UNIT_FRAMES;

/// The number of vertices per block.
pub const BLOCK: usize = 16;

/// The vectors of a block of one frame.
pub(in crate::mesh) type PointBlock<N> = [[N; 4]; BLOCK];

/// Returns the blocks of a level that has the vertices `range`; the last block may be shorter.
pub fn blocks(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(BLOCK).map(move |start| start..end.min(start + BLOCK))
}

/// The number of vectors of scratch memory that decoding needs: eight per point, and some padding.
pub const fn scratch_len(points: usize) -> usize {
    (points + BLOCK + 1) * BUNDLE
}

/// Returns the number of blocks per frame.
pub(in crate::mesh) fn count(hierarchy: &Hierarchy) -> usize {
    (0..hierarchy.level_count()).map(|l| blocks(hierarchy.level(l)).count()).sum()
}
