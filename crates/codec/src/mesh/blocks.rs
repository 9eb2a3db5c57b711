//! How the points of a level are cut into blocks, and frames bundled.

use crate::mesh::hierarchy::Hierarchy;
use crate::schedule::UNIT_FRAMES;
use std::ops::Range;

// Part of the format.
/// Most frames side by side.
pub const BUNDLE: usize = UNIT_FRAMES;

/// Vertices of a block.
pub const BLOCK: usize = 16;

/// A block of one frame, whose vectors have 16 bits, in registers of 128: two vertices each.
pub(in crate::mesh) type Rows = [[i16; 8]; ROWS];

/// Registers of a block of one frame.
pub(in crate::mesh) const ROWS: usize = BLOCK / 2;

/// Blocks of a level of vertices `range`.
pub fn blocks(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(BLOCK).map(move |start| start..end.min(start + BLOCK))
}

/// Vectors of scratch memory that decoding needs: eight per point, and a little.
pub const fn scratch_len(points: usize) -> usize {
    (points + BLOCK + 1) * BUNDLE
}

/// Blocks of a frame.
pub(in crate::mesh) fn count(hierarchy: &Hierarchy) -> usize {
    (0..hierarchy.levels()).map(|l| blocks(hierarchy.level(l)).count()).sum()
}
