//! The hierarchy of points from coarse to fine, with the ring of coarser points that predicts each.

/// Points by level, and the ring of coarser points from which each is predicted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hierarchy {
    /// `order[new] = point`: a permutation of all points.
    pub order: Vec<u32>,
    /// Level l has the new numbers `starts[l]..starts[l + 1]`. Level 0 holds the roots, level 1 the star (may
    /// be empty); the others follow from coarse to fine.
    pub starts: Vec<u32>,
    /// Point `new` has the ring `ring[ring_starts[new]..ring_starts[new + 1]]`.
    pub ring_starts: Vec<u32>,
    /// The rings, in new numbers: at most 8 per point, all different and of coarser levels; empty for roots
    /// only.
    pub ring: Vec<u32>,
}

impl Hierarchy {
    /// Returns the ring of point `new`, in the new numbering.
    pub fn ring_of(&self, new: usize) -> &[u32] {
        &self.ring[self.ring_starts[new] as usize..self.ring_starts[new + 1] as usize]
    }

    /// Drops the rings, which nothing needs once the weights are known.
    pub(in crate::mesh) fn forget_rings(&mut self) {
        (self.ring, self.ring_starts) = Default::default();
    }

    /// Returns the number of levels.
    pub fn level_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the new numbers of the points of a level.
    pub fn level(&self, level: usize) -> std::ops::Range<usize> {
        self.starts[level] as usize..self.starts[level + 1] as usize
    }
}

impl Hierarchy {
    pub(crate) fn push_level(&mut self, level: impl IntoIterator<Item = u32>) {
        self.order.extend(level);
        self.starts.push(self.order.len() as u32);
    }

    pub(crate) fn push_ring(&mut self, ring: impl IntoIterator<Item = u32>) {
        self.ring.extend(ring);
        self.ring_starts.push(self.ring.len() as u32);
    }
}
