//! A k-d tree over points: the nearest one, and all within a distance, nearer side first. (J. Bentley,
//! *Multidimensional binary search trees*, 1975.) Points are kept in tree order in one array.

use std::ops::Range;

/// A k-d tree of points; those that are not finite are left out.
pub(crate) struct KdTree {
    points: Vec<[f64; 3]>,
    /// For each point of the tree, its number in the list.
    ids: Vec<u32>,
    /// Axis that the middle of each inner range splits; [`ONE_PLACE`] for ranges of equal points, which
    /// cannot be split.
    axis: Vec<u8>,
}

const LEAF: usize = 8;

/// Stands for no axis: all points of the range are equal.
const ONE_PLACE: u8 = 3;

impl KdTree {
    pub fn new(points: &[[f64; 3]]) -> KdTree {
        let mut order: Vec<u32> =
            (0..points.len() as u32).filter(|&i| points[i as usize].iter().all(|v| v.is_finite())).collect();
        let mut axis = vec![0; order.len()];
        let mut stack = vec![(0, order.len())];
        while let Some((low, high)) = stack.pop() {
            if high - low <= LEAF {
                continue;
            }
            let range = &mut order[low..high];
            let (mut least, mut most) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
            for &i in range.iter() {
                for k in 0..3 {
                    least[k] = least[k].min(points[i as usize][k]);
                    most[k] = most[k].max(points[i as usize][k]);
                }
            }
            let size = |k: usize| most[k] - least[k];
            let k = (0..3).reduce(|a, b| if size(b) > size(a) { b } else { a }).unwrap_or(0);
            let middle = range.len() / 2;
            if size(k) == 0.0 {
                range.sort_unstable();
                axis[low + middle] = ONE_PLACE;
                continue;
            }
            range.select_nth_unstable_by(middle, |&a, &b| {
                points[a as usize][k].total_cmp(&points[b as usize][k]).then(a.cmp(&b))
            });
            axis[low + middle] = k as u8;
            stack.push((low, low + middle));
            stack.push((low + middle + 1, high));
        }
        KdTree { points: order.iter().map(|&i| points[i as usize]).collect(), ids: order, axis }
    }

    /// Returns the distance to the nearest point and its number; `None` if the tree is empty or `p` is not
    /// finite.
    pub fn nearest(&self, p: [f64; 3]) -> Option<(f64, u32)> {
        let mut best = (f64::INFINITY, u32::MAX);
        self.descend(
            p,
            true,
            0..self.points.len(),
            &mut |square, id| {
                if square < best.0 {
                    best = (square, id);
                }
                Some(best.0)
            },
            f64::INFINITY,
        );
        (best.1 != u32::MAX).then_some((best.0.sqrt(), best.1))
    }

    /// Passes `visit` the numbers of points within `radius` until it returns `true`, but at most `limit` of
    /// them. Returns whether `visit` did, and whether the search ended undecided because of the limit.
    pub fn within(
        &self,
        p: [f64; 3],
        radius: f64,
        limit: usize,
        mut visit: impl FnMut(u32) -> bool,
    ) -> (bool, bool) {
        let (mut found, mut seen) = (false, 0);
        let square = radius * radius;
        self.descend(
            p,
            false,
            0..self.points.len(),
            &mut |d, id| {
                if d <= square {
                    seen += 1;
                    found = visit(id);
                }
                (!found && seen < limit).then_some(square)
            },
            square,
        );
        (found, !found && seen >= limit)
    }

    /// Calls `visit` with squared distance and number; it returns the squared distance up to which to search
    /// on, or `None` to stop. Depth is bounded by the logarithm of the size. `once`: visit only one of many
    /// equal points.
    fn descend(
        &self,
        p: [f64; 3],
        once: bool,
        range: Range<usize>,
        visit: &mut impl FnMut(f64, u32) -> Option<f64>,
        mut square: f64,
    ) -> Option<f64> {
        let (low, high) = (range.start, range.end);
        let middle = low + (high - low) / 2;
        let one_place = high - low > LEAF && self.axis[middle] == ONE_PLACE;
        if high - low <= LEAF || one_place {
            let visited = if one_place && once { low + 1 } else { high };
            for i in low..visited {
                square = visit(distance(p, self.points[i]), self.ids[i])?;
            }
            return Some(square);
        }
        let k = usize::from(self.axis[middle]);
        let side = p[k] - self.points[middle][k];
        let (near, far) = match side < 0.0 {
            true => (low..middle, middle + 1..high),
            false => (middle + 1..high, low..middle),
        };
        square = self.descend(p, once, near, visit, square)?;
        if side * side <= square {
            square = visit(distance(p, self.points[middle]), self.ids[middle])?;
            square = self.descend(p, once, far, visit, square)?;
        }
        Some(square)
    }
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud(n: usize, step: f64) -> Vec<[f64; 3]> {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 40) as f64 / (1u64 << 24) as f64 / step).floor() * step
        };
        (0..n).map(|_| [next(), next(), next() * 0.01]).collect()
    }

    #[test]
    fn agrees_with_looking_at_all() {
        for (n, step) in [(0, 0.1), (1, 0.1), (9, 0.1), (500, 0.25), (2000, 1e-6)] {
            let points = cloud(n, step);
            let tree = KdTree::new(&points);
            for p in cloud(50, 1e-6) {
                let expected = points.iter().map(|q| distance(p, *q)).reduce(f64::min);
                assert_eq!(tree.nearest(p).map(|(d, _)| d), expected.map(f64::sqrt));
                for radius in [0.0, 0.05, 0.3, 9.0] {
                    let mut got = Vec::new();
                    let (found, cut) = tree.within(p, radius, usize::MAX, |id| {
                        got.push(id);
                        false
                    });
                    assert!(!found && !cut);
                    got.sort_unstable();
                    let all: Vec<u32> = (0..n as u32)
                        .filter(|&i| distance(p, points[i as usize]) <= radius * radius)
                        .collect();
                    assert_eq!(got, all);
                }
            }
        }
    }

    #[test]
    fn a_million_equal_points_and_nan() {
        let mut points = vec![[1.0; 3]; 1_000_000];
        points[5] = [f64::NAN; 3];
        let tree = KdTree::new(&points);
        assert_eq!(tree.nearest([0.0; 3]).unwrap().0, 3f64.sqrt());
        assert!(tree.nearest([f64::NAN; 3]).is_none());
        let mut seen = 0;
        let (found, cut) = tree.within([1.0; 3], 0.0, 100, |_| {
            seen += 1;
            false
        });
        assert!(!found && cut && seen == 100);
        // A search without the tree's pruning would take days.
        for i in 0..1_000_000 {
            let [x, y] = [1, 7].map(|k| f64::from(i * k % 1000) / 1000.0);
            assert!(tree.nearest([x, y, 1.0]).unwrap().0 <= 2f64.sqrt());
        }
    }
}
