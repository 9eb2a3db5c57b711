//! Sums of vectors stored elsewhere, for sixteen items at a time, in the order of each item's list.

use crate::simd::lanes::{BLOCK, BlockRow, Part, Vector, plus};

/// The longest list that is summed side by side; longer ones are summed before, one by one.
pub(super) const MAX_SHORT_LIST: usize = 16;

/// For each item, the numbers of the vectors in its sum, arranged for adding.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Gather {
    /// The end of each block's rows.
    block_ends: Vec<u32>,
    /// The numbers of vectors; 0 after the end of a list.
    rows: Vec<BlockRow>,
    /// The lists of items with many vectors, and the end of each.
    long: Vec<u32>,
    long_ends: Vec<u32>,
    /// The number of the vector that receives the first sum of these.
    sums: usize,
}

/// The lists of items, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct ItemLists {
    pub end_offsets: Vec<u32>,
    pub items: Vec<u32>,
}

impl ItemLists {
    /// Creates the lists of `count` items from pairs of an item and the next entry of its list, which are
    /// computed twice.
    pub fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> ItemLists {
        let mut ends = vec![0u32; count];
        for (item, _) in pairs.clone() {
            ends[item as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            // The start of the list for now, which the entries move to its end.
            (*end, sum) = (sum, sum + *end);
        }
        let mut items = vec![0; sum as usize];
        for (item, value) in pairs {
            let at = &mut ends[item as usize];
            items[*at as usize] = value;
            *at += 1;
        }
        ItemLists { end_offsets: ends, items }
    }

    pub fn list(&self, item: usize) -> &[u32] {
        let start = item.checked_sub(1).map_or(0, |before| self.end_offsets[before]);
        &self.items[start as usize..self.end_offsets[item] as usize]
    }
}

impl Gather {
    /// Vector 0 must be zero. The sums of long lists are stored from `next` on, which is moved behind them.
    pub fn new(lists: &ItemLists, next: &mut usize) -> Gather {
        let mut out = Gather { sums: *next, ..Gather::default() };
        let count = lists.end_offsets.len();
        for first in (0..count).step_by(BLOCK) {
            let mut short: [&[u32]; BLOCK] = [&[]; BLOCK];
            let mut sums = [0u32; BLOCK];
            for (l, short) in short.iter_mut().enumerate().take(count - first) {
                let list = lists.list(first + l);
                if list.len() <= MAX_SHORT_LIST {
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
            out.block_ends.push(out.rows.len() as u32);
        }
        *next += out.long_ends.len();
        out
    }

    /// Returns the numbers of an item's vectors.
    pub fn list(&self, item: usize) -> Vec<u32> {
        let (block, lane) = (item / BLOCK, item % BLOCK);
        let start = if block == 0 { 0 } else { self.block_ends[block - 1] as usize };
        let rows = &self.rows[start..self.block_ends[block] as usize];
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

    /// Computes the sums of long lists.
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

    /// Adds the vectors of a part of a block to its sums, one after the other.
    #[inline(always)]
    pub fn add<L: Part>(
        &self,
        mut sum: Vector<L>,
        (block, part): (usize, usize),
        vectors: &[[f32; 4]],
    ) -> Vector<L> {
        let start = if block == 0 { 0 } else { self.block_ends[block - 1] as usize };
        for row in &self.rows[start..self.block_ends[block] as usize] {
            sum = plus(sum, L::vectors(vectors, row, part));
        }
        sum
    }
}

/// Returns sixteen entries of a list from `start` on, padded with `fill` beyond its end.
#[inline(always)]
pub(super) fn padded_block<T: Copy>(list: &[T], start: usize, fill: T) -> [T; BLOCK] {
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
