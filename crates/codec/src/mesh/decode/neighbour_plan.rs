//! The neighbours and weights of a mesh, arranged for the vectorized decoders.

use crate::mesh::blocks::BLOCK;
use crate::mesh::table_sets::DecodingTables;

/// The neighbours and weights of a mesh, arranged for the vectorized decoders. All neighbours are valid
/// points.
#[derive(Debug, Clone, Default)]
pub struct NeighbourPlan {
    /// By point, padded with zeros for one more block: the four neighbours, in a list each, and their
    /// weights.
    pub(super) neighbours: [Vec<u32>; 4],
    pub(super) weights: Vec<[i16; 4]>,
    pub(super) points: usize,
}

impl NeighbourPlan {
    pub fn new(
        neighbours: &[[u32; 4]],
        weights: &[[i16; 4]],
        tables: &DecodingTables,
    ) -> Option<NeighbourPlan> {
        let points = neighbours.len();
        let inside = |n: &[u32; 4]| n.iter().all(|&n| (n as usize) < points);
        if !neighbours.iter().all(inside)
            || weights.len() != points
            || tables.map.iter().any(|&t| usize::from(t) >= tables.len())
            || tables.len() > 255
        {
            return None;
        }
        Some(NeighbourPlan {
            neighbours: [0, 1, 2, 3].map(|k| padded(neighbours.iter().map(|n| n[k]))),
            weights: padded(weights.iter().copied()),
            points,
        })
    }

    /// Returns the neighbours of a point, and their weights.
    #[inline(always)]
    pub(super) fn weighted_neighbours(&self, v: usize) -> ([u32; 4], [i16; 4]) {
        ([0, 1, 2, 3].map(|k| self.neighbours[k][v]), self.weights[v])
    }
}

/// Collects the values and appends zeros for one more block.
pub(in crate::mesh) fn padded<T: Clone + Default>(values: impl Iterator<Item = T>) -> Vec<T> {
    let more = std::iter::repeat_n(T::default(), BLOCK);
    values.chain(more).collect()
}
