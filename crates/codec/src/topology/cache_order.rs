//! An order of triangles in which a vertex cache finds most vertices, which encoder and decoder both derive
//! from the triangles.
//!
//! ```text
//! fan      of a vertex: its triangles of this material that are left, in coding order, are taken out. Their corners, in order, are candidates and go on a stack, which is empty when a material begins
//! clock    17 at first. A corner in order: if clock − its time > 16, its time is the clock, and the clock is 1 more. Times are 0 at first; clock and times are kept from material to material
//! next     of the candidates of the last fan that have triangles left, the first of those with the highest rank. If there is none: the stack is popped up to a vertex that has triangles left;
//!          if there is none: the first corner of the first triangle that is left
//! rank     age = clock − time; age if age + 2 · triangles left ≤ 16, else 0
//! ```
//!
//! Credit: Pedro Sander, Diego Nehab and Joshua Barczak, *Fast Triangle Reordering for Vertex Locality and
//! Reduced Overdraw*, 2007.

use std::ops::Range;

/// The number of vertices in the cache. Part of the format.
const CACHE: u32 = 16;

/// The triangles around each vertex, and the cache. All vertices must be below the number of vertices.
pub struct CacheOrder<'a> {
    triangles: &'a [[u32; 3]],
    /// The start of each vertex's triangles, and the end.
    first: Vec<u32>,
    /// The triangles of each vertex, ascending.
    around: Vec<u32>,
    /// The number of triangles of each vertex that are left in the range.
    left: Vec<u32>,
    time: Vec<u32>,
    clock: u32,
    done: Vec<bool>,
    stack: Vec<u32>,
}

impl<'a> CacheOrder<'a> {
    /// The bytes of memory for each vertex: start, triangles left, time.
    pub const BYTES_PER_VERTEX: u64 = 4 + 4 + 4;
    /// The bytes of memory for each index: a triangle around, the stack, a third of a mark and of the order.
    pub const BYTES_PER_INDEX: u64 = 4 + 4 + 2;

    /// Finds the triangles around each of `vertices` vertices.
    pub fn new(triangles: &'a [[u32; 3]], vertices: usize) -> CacheOrder<'a> {
        let mut first = vec![0u32; vertices + 2];
        for &v in triangles.as_flattened() {
            first[v as usize + 2] += 1;
        }
        for v in 2..first.len() {
            first[v] += first[v - 1];
        }
        let mut around = vec![0; 3 * triangles.len()];
        for (t, triangle) in (0..).zip(triangles) {
            for &v in triangle {
                let slot = &mut first[v as usize + 1];
                around[*slot as usize] = t;
                *slot += 1;
            }
        }
        CacheOrder {
            triangles,
            first,
            around,
            left: vec![0; vertices],
            time: vec![0; vertices],
            clock: CACHE + 1,
            done: vec![false; triangles.len()],
            stack: Vec::with_capacity(3 * triangles.len()),
        }
    }

    /// Appends the triangles of a range in their order to `out`. Ranges must be disjoint, and ascend.
    pub fn order(&mut self, range: Range<usize>, out: &mut Vec<u32>) {
        for &v in self.triangles[range.clone()].as_flattened() {
            self.left[v as usize] += 1;
        }
        self.stack.clear();
        let mut next = range.start;
        loop {
            let Some(seed) = self.seed(&mut next, range.end) else { return };
            let mut fan = Some(seed);
            while let Some(v) = fan {
                fan = self.fan(v, range.end, out);
            }
        }
    }

    /// Returns the last vertex on the stack that has triangles left, or the first corner of the next triangle
    /// that is left.
    fn seed(&mut self, next: &mut usize, end: usize) -> Option<u32> {
        while let Some(v) = self.stack.pop() {
            if self.left[v as usize] > 0 {
                return Some(v);
            }
        }
        while *next < end && self.done[*next] {
            *next += 1;
        }
        (*next < end).then(|| self.triangles[*next][0])
    }

    /// Appends the remaining triangles around `v`; returns the best of their corners that has triangles left.
    fn fan(&mut self, v: u32, end: usize, out: &mut Vec<u32>) -> Option<u32> {
        let start = self.stack.len();
        // Triangles of earlier ranges are done: they are not looked at again.
        while self.first[v as usize] < self.first[v as usize + 1] {
            let t = self.around[self.first[v as usize] as usize] as usize;
            if t >= end {
                break;
            }
            self.first[v as usize] += 1;
            if self.done[t] {
                continue;
            }
            self.done[t] = true;
            out.push(t as u32);
            for corner in self.triangles[t] {
                self.stack.push(corner);
                self.left[corner as usize] -= 1;
                let time = &mut self.time[corner as usize];
                if self.clock - *time > CACHE {
                    *time = self.clock;
                    self.clock += 1;
                }
            }
        }
        let mut best = None;
        for &v in &self.stack[start..] {
            let left = self.left[v as usize];
            if left == 0 {
                continue;
            }
            let age = self.clock - self.time[v as usize];
            let rank = if age.saturating_add(left.saturating_mul(2)) <= CACHE { age } else { 0 };
            if best.is_none_or(|(highest, _)| rank > highest) {
                best = Some((rank, v));
            }
        }
        best.map(|(_, v)| v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the vertices that a first-in first-out cache of 16 loads.
    fn loads(triangles: impl Iterator<Item = [u32; 3]>) -> usize {
        let (mut cache, mut loads) = (std::collections::VecDeque::new(), 0);
        for v in triangles.flatten() {
            if !cache.contains(&v) {
                loads += 1;
                cache.push_front(v);
                cache.truncate(CACHE as usize);
            }
        }
        loads
    }

    #[test]
    fn a_grid_in_rows_is_read_with_few_loads() {
        let n = 60;
        let cell = |i: u32| {
            let at = i / n * (n + 1) + i % n;
            [[at, at + 1, at + n + 1], [at + 1, at + n + 2, at + n + 1]]
        };
        let triangles: Vec<[u32; 3]> = (0..n * n).flat_map(cell).collect();
        let mut out = Vec::new();
        CacheOrder::new(&triangles, 61 * 61).order(0..triangles.len(), &mut out);
        let ordered = loads(out.iter().map(|&t| triangles[t as usize]));
        assert!(ordered * 10 < 61 * 61 * 15, "{ordered}");
        assert!(loads(triangles.iter().copied()) > ordered);
    }

    proptest! {
        #[test]
        fn all_triangles_of_each_range_come_once(
            t in proptest::collection::vec([0u32..12, 0u32..12, 0u32..12], 0..60), cuts: [usize; 2],
        ) {
            let mut ends = [cuts[0] % (t.len() + 1), cuts[1] % (t.len() + 1), t.len()];
            ends.sort_unstable();
            let (mut order, mut first) = (CacheOrder::new(&t, 12), 0);
            for end in ends {
                let mut out = Vec::new();
                order.order(first..end, &mut out);
                out.sort_unstable();
                prop_assert!(out.into_iter().eq(first as u32..end as u32));
                first = end;
            }
        }
    }
}
