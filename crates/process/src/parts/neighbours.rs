//! Nearest neighbours of many points in a space of a few dozen dimensions: a k-d tree over an order of the
//! points.
//!
//! Not taken from a package: any number of points may coincide, and the result must depend on nothing but the
//! points.

use crate::Cancellation;
use rayon::prelude::*;

/// The largest number of points of a leaf.
const LEAF: usize = 12;

/// Points of `dimensions` numbers each, one after the other.
pub struct KdTree<'a> {
    points: &'a [f32],
    dimensions: usize,
    /// Points, sorted so that every node is a range, split in the middle.
    order: Vec<u32>,
    /// By middle of a node's range, the node's axis.
    axes: Vec<u8>,
}

/// The query position, and the point that is excluded.
struct Query<'a> {
    point: u32,
    position: &'a [f32],
}

impl<'a> KdTree<'a> {
    /// Builds the tree in O(n log² n).
    pub fn new(points: &'a [f32], dimensions: usize) -> KdTree<'a> {
        let count = points.len() / dimensions.max(1);
        let mut tree =
            KdTree { points, dimensions, order: (0..count as u32).collect(), axes: vec![0; count] };
        let mut ranges = vec![(0, count)];
        while let Some((start, end)) = ranges.pop() {
            let range = start..end;
            if range.len() <= LEAF {
                continue;
            }
            let axis = tree.widest(&tree.order[range.clone()]);
            let middle = range.start + range.len() / 2;
            let at = |p: u32| points[p as usize * dimensions + axis];
            tree.order[range.clone()]
                .select_nth_unstable_by(range.len() / 2, |&a, &b| at(a).total_cmp(&at(b)).then(a.cmp(&b)));
            tree.axes[middle] = axis as u8;
            ranges.push((start, middle));
            ranges.push((middle + 1, end));
        }
        tree
    }

    fn widest(&self, points: &[u32]) -> usize {
        let mut widest = (0, -1.0);
        for axis in 0..self.dimensions {
            let mut side = (f32::INFINITY, f32::NEG_INFINITY);
            for &p in points {
                let v = self.points[p as usize * self.dimensions + axis];
                side = (side.0.min(v), side.1.max(v));
            }
            if side.1 - side.0 > widest.1 {
                widest = (axis, side.1 - side.0);
            }
        }
        widest.0
    }

    fn point(&self, p: u32) -> &[f32] {
        &self.points[p as usize * self.dimensions..][..self.dimensions]
    }

    /// Returns up to `k` nearest neighbours of each point, nearest first; of equally near ones the smaller
    /// number first. Once cancelled, the remaining points get none.
    pub fn all_nearest(&self, k: usize, cancellation: &Cancellation) -> Vec<Vec<u32>> {
        if k == 0 {
            return vec![Vec::new(); self.order.len()];
        }
        let count = self.order.len() as u32;
        (0..count)
            .into_par_iter()
            .map(|p| {
                if cancellation.is_cancelled() {
                    return Vec::new();
                }
                let mut found = Vec::with_capacity(k + 1);
                let from = Query { point: p, position: self.point(p) };
                self.visit(0..self.order.len(), &from, k, &mut found);
                found.into_iter().map(|(_, p)| p).collect()
            })
            .collect()
    }

    /// Returns up to `k` points nearest to a position, with squared distances.
    pub fn nearest(&self, at: &[f32], k: usize) -> Vec<(f32, u32)> {
        let mut found = Vec::with_capacity(k + 1);
        if k > 0 {
            let from = Query { point: u32::MAX, position: at };
            self.visit(0..self.order.len(), &from, k, &mut found);
        }
        found
    }

    fn visit(&self, range: std::ops::Range<usize>, from: &Query<'_>, k: usize, found: &mut Vec<(f32, u32)>) {
        if range.len() <= LEAF {
            for &p in &self.order[range] {
                self.offer(p, from, k, found);
            }
            return;
        }
        let middle = range.start + range.len() / 2;
        let (p, axis) = (self.order[middle], usize::from(self.axes[middle]));
        let off = from.position[axis] - self.point(p)[axis];
        let (near, far) = match off < 0.0 {
            true => (range.start..middle, middle + 1..range.end),
            false => (middle + 1..range.end, range.start..middle),
        };
        self.visit(near, from, k, found);
        self.offer(p, from, k, found);
        if found.len() < k || off * off <= found[found.len() - 1].0 {
            self.visit(far, from, k, found);
        }
    }

    fn offer(&self, p: u32, from: &Query<'_>, k: usize, found: &mut Vec<(f32, u32)>) {
        if p == from.point {
            return;
        }
        let pairs = self.point(p).iter().zip(from.position);
        let entry = (pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f32>(), p);
        let after = |x: &(f32, u32)| x.0.total_cmp(&entry.0).then(x.1.cmp(&entry.1)).is_lt();
        let at = found.partition_point(after);
        if at < k {
            found.insert(at, entry);
            found.truncate(k);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_nearest_are_the_nearest(points in proptest::collection::vec(-9i8..9, 0..600), d in 1usize..5, k in 0usize..20) {
            let points: Vec<f32> = points.chunks_exact(d).flatten().map(|&v| f32::from(v)).collect();
            let tree = KdTree::new(&points, d);
            let count = points.len() / d;
            for (p, found) in tree.all_nearest(k, &Cancellation::never()).into_iter().enumerate() {
                let far = |q: usize| -> f32 {
                    (0..d).map(|i| (points[p * d + i] - points[q * d + i]).powi(2)).sum()
                };
                let mut all: Vec<usize> = (0..count).filter(|&q| q != p).collect();
                all.sort_by(|&a, &b| far(a).total_cmp(&far(b)).then(a.cmp(&b)));
                all.truncate(k);
                prop_assert_eq!(found, all.into_iter().map(|q| q as u32).collect::<Vec<_>>());
            }
        }
    }
}
