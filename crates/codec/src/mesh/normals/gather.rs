//! Sums of vectors that lie elsewhere, for sixteen items at a time, in the order of each item's list.

use crate::simd::lanes::{BLOCK, BlockRow, Part, Vector, plus};

/// Longest list that stands beside others; longer ones are summed before, one by one.
pub(super) const MOST: usize = 16;

/// Per item the numbers of its vectors, arranged for adding them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Gather {
    /// Per block where its rows end.
    ends: Vec<u32>,
    /// Numbers of vectors; 0 where a list has ended.
    rows: Vec<BlockRow>,
    /// Lists of items that have many, and where each ends.
    long: Vec<u32>,
    long_ends: Vec<u32>,
    /// Where the first sum of these is put.
    sums: usize,
}

/// Lists of items, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub ends: Vec<usize>,
    pub items: Vec<u32>,
}

impl Lists {
    /// Lists of so many items from pairs of an item and what its list gets next.
    pub fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)>) -> Lists {
        let pairs: Vec<(u32, u32)> = pairs.collect();
        let mut ends = vec![0usize; count + 1];
        for (item, _) in &pairs {
            ends[*item as usize + 1] += 1;
        }
        for i in 0..count {
            ends[i + 1] += ends[i];
        }
        let mut items = vec![0; pairs.len()];
        let mut free = ends.clone();
        for (item, value) in pairs {
            let at = &mut free[item as usize];
            items[*at] = value;
            *at += 1;
        }
        ends.remove(0);
        Lists { ends, items }
    }

    pub fn of(&self, item: usize) -> &[u32] {
        let start = item.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start..self.ends[item]]
    }
}

impl Gather {
    /// Vector 0 is to be zero; sums of long lists go to `next` and behind it, which is set to what is free
    /// then.
    pub fn new(lists: &Lists, next: &mut usize) -> Gather {
        let mut out = Gather { sums: *next, ..Gather::default() };
        let count = lists.ends.len();
        for first in (0..count).step_by(BLOCK) {
            let mut short: [&[u32]; BLOCK] = [&[]; BLOCK];
            let mut sums = [0u32; BLOCK];
            for (l, short) in short.iter_mut().enumerate().take(count - first) {
                let list = lists.of(first + l);
                if list.len() <= MOST {
                    *short = list;
                } else {
                    sums[l] = (out.sums + out.long_ends.len()) as u32;
                    out.long.extend(list);
                    out.long_ends.push(out.long.len() as u32);
                }
            }
            let most = short.iter().map(|list| list.len()).max().unwrap_or(0);
            let most = most.max(usize::from(sums != [0; BLOCK]));
            for row in 0..most {
                let mut numbers = [0; BLOCK];
                for l in 0..BLOCK {
                    let alone = if row == 0 { sums[l] } else { 0 };
                    numbers[l] = short[l].get(row).copied().unwrap_or(alone);
                }
                out.rows.push(numbers);
            }
            out.ends.push(out.rows.len() as u32);
        }
        *next += out.long_ends.len();
        out
    }

    /// The numbers of an item's vectors.
    pub fn list(&self, item: usize) -> Vec<u32> {
        let (block, lane) = (item / BLOCK, item % BLOCK);
        let start = if block == 0 { 0 } else { self.ends[block - 1] as usize };
        let rows = &self.rows[start..self.ends[block] as usize];
        let mut out = Vec::new();
        for number in rows.iter().map(|row| row[lane]).filter(|number| *number > 0) {
            match (number as usize).checked_sub(self.sums).filter(|i| *i < self.long_ends.len()) {
                Some(0) => out.extend(&self.long[..self.long_ends[0] as usize]),
                Some(i) => {
                    let (start, end) = (self.long_ends[i - 1], self.long_ends[i]);
                    out.extend(&self.long[start as usize..end as usize]);
                }
                None => out.push(number),
            }
        }
        out
    }

    /// Sums of long lists.
    pub fn sum_long(&self, vectors: &mut [[f32; 4]]) {
        let mut start = 0;
        for (i, &end) in self.long_ends.iter().enumerate() {
            let mut sum = [0.0f32; 3];
            for &at in &self.long[start..end as usize] {
                let [x, y, z, _] = vectors[at as usize];
                sum = plus(sum, [x, y, z]);
            }
            start = end as usize;
            vectors[self.sums + i] = [sum[0], sum[1], sum[2], 0.0];
        }
    }

    /// Adds to the sums of a part of a block each vector in turn.
    #[inline(always)]
    pub fn add<L: Part>(
        &self,
        mut sum: Vector<L>,
        (block, part): (usize, usize),
        vectors: &[[f32; 4]],
    ) -> Vector<L> {
        let start = if block == 0 { 0 } else { self.ends[block - 1] as usize };
        for row in &self.rows[start..self.ends[block] as usize] {
            sum = plus(sum, L::vectors(vectors, row, part));
        }
        sum
    }
}

/// The sixteen from `start` on of a list; where it ends earlier, `fill` takes their place.
#[inline(always)]
pub(super) fn sixteen<T: Copy>(list: &[T], start: usize, fill: T) -> [T; BLOCK] {
    let list = list.get(start..).unwrap_or(&[]);
    match list.first_chunk() {
        Some(all) => *all,
        None => {
            let mut out = [fill; BLOCK];
            out[..list.len()].copy_from_slice(list);
            out
        }
    }
}
