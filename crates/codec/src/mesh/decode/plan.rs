//! Neighbours and weights of a mesh, arranged for the kernels.

use crate::mesh::blocks::{BLOCK, BUNDLE};
use crate::mesh::shared::Shared;

/// Neighbours and weights of a mesh, arranged for the kernels. Neighbours are known to be points.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// By point, and zeros for a block more: where four neighbours are among lines, each in a list of its
    /// own, and their weights.
    pub(super) near: [Vec<u32>; 4],
    pub(super) weights: Vec<[i16; 4]>,
    pub(super) points: usize,
}

/// Bytes of a vertex in eight frames.
pub(in crate::mesh) const LINE: usize = 8 * BUNDLE;

impl Plan {
    pub fn new(neighbours: &[[u32; 4]], weights: &[[i16; 4]], tables: &Shared) -> Option<Plan> {
        let points = neighbours.len();
        let inside = |n: &[u32; 4]| n.iter().all(|&n| (n as usize) < points);
        if points >= (i32::MAX as usize) / LINE
            || !neighbours.iter().all(inside)
            || weights.len() != points
            || tables.map.iter().any(|&t| usize::from(t) >= tables.len())
            || tables.len() > 255
        {
            return None;
        }
        Some(Plan {
            near: [0, 1, 2, 3].map(|k| padded(neighbours.iter().map(|n| n[k] * LINE as u32))),
            weights: padded(weights.iter().copied()),
            points,
        })
    }

    /// Neighbours of a point, and their weights.
    #[inline(always)]
    pub(super) fn near_of(&self, v: usize) -> ([u32; 4], [i16; 4]) {
        let near = [0, 1, 2, 3].map(|k| self.near[k][v] / LINE as u32);
        (near, self.weights[v])
    }
}

/// With zeros for a block more.
pub(in crate::mesh) fn padded<T: Clone + Default>(values: impl Iterator<Item = T>) -> Vec<T> {
    let more = std::iter::repeat_n(T::default(), BLOCK);
    values.chain(more).collect()
}
