//! Trees over the groups and vertices of a mesh, and the tables with which the masks and numbers of
//! [`crate::mesh::normals::states`] are coded, as they are at the start of each access unit.
//!
//! ```text
//! tree       of groups, and of vertices with tangents: nodes of 4, 16, 64 and 256 items in order, the last ones with fewer; a node has four
//!            parts, items or nodes. heat of an item = min(class, 2), of a node the largest of its items'
//! masks      a table for each tree, each size of nodes and each pattern = heats of the parts, 0 if there is none: weight of a mask =
//!            (product of the parts' chance[tree][size][heat] to change, or of 65536 − that if it does not) >> 32; of mask 0 in
//!            nodes of less than 256 items 0
//! numbers    a table each of pairs, longer and turns: weights 2^(15 − exponent)
//! changes    a table with the weights 1, 1, 1, 1, 0 …
//! ```
//!
//! Bytes, range coded: the chances of groups, then of vertices if there are tangents, from nodes of 4 items
//! to those of 256 and from heat 0 to 2: one bit, whether it is not even, then eight plain ones
//! (`chance_from_code`). Then the exponents of pairs and longer, and of turns if there are tangents: one bit,
//! whether it is not 15, then four plain ones.

use crate::entropy::nibble::{NibbleTable, SYMBOLS};
use crate::entropy::range::{BitCoder, Chance};
#[cfg(feature = "encode")]
use crate::mesh::normals::contexts::chance_code;
use crate::mesh::normals::contexts::{EVEN_CHANCE_CODE, chance_from_code};

/// The number of sizes of nodes: 4, 16, 64 and 256 items.
pub(super) const SIZES: usize = 4;
const HEATS: usize = 3;
/// The number of patterns of four heats.
const PATTERNS: usize = HEATS * HEATS * HEATS * HEATS;

/// The numbers of tables other than those of masks.
pub(super) const CHANGES: usize = 0;
pub(super) const PAIRS: usize = 1;
pub(super) const LONGER: usize = 2;
pub(super) const TURNS: usize = 3;
const EXPONENT_TABLES: [usize; 3] = [PAIRS, LONGER, TURNS];
/// The number of the first table of masks.
const MASKS: usize = 4;
/// The largest number of tables.
const MAX_TABLES: usize = MASKS + 2 * SIZES * PATTERNS;

/// The exponent of a number that is not expected.
const MAX_EXPONENT: u8 = 15;

/// The nodes over items in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tree {
    pub items: usize,
    /// By size: the table of each node.
    pub nodes: [Vec<u16>; SIZES],
}

/// The coding of states: trees, and the tables to start from.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::mesh) struct StateCoding {
    pub(super) groups: Tree,
    pub(super) turns: Tree,
    /// For each table of masks: its tree, size and pattern.
    masks: Vec<(u8, u8, u8)>,
    /// The chances that a part changes, by tree, size and heat.
    chances: [[[u8; HEATS]; SIZES]; 2],
    /// The exponents of numbers.
    exponents: [[u8; SYMBOLS]; EXPONENT_TABLES.len()],
    tables: Vec<NibbleTable>,
}

impl Default for StateCoding {
    fn default() -> StateCoding {
        StateCoding {
            groups: Tree::default(),
            turns: Tree::default(),
            masks: Vec::new(),
            chances: [[[EVEN_CHANCE_CODE; HEATS]; SIZES]; 2],
            exponents: [[MAX_EXPONENT; SYMBOLS]; EXPONENT_TABLES.len()],
            tables: Vec::new(),
        }
    }
}

/// Returns the heat of a part of a pattern.
fn heat(pattern: u8, part: usize) -> usize {
    usize::from(pattern) / HEATS.pow(part as u32) % HEATS
}

impl StateCoding {
    /// Builds the trees over items of these classes.
    pub(super) fn trees(&mut self, groups: &[u8], vertices: &[u8]) {
        let mut known = vec![0u16; MAX_TABLES];
        for (tree, classes) in [groups, vertices].into_iter().enumerate() {
            let mut heats: Vec<u8> =
                classes.iter().map(|class| class.min(&(HEATS as u8 - 1)).to_owned()).collect();
            let mut nodes: [Vec<u16>; SIZES] = Default::default();
            for (size, nodes) in nodes.iter_mut().enumerate() {
                for parts in heats.chunks(4) {
                    let pattern = parts.iter().rev().fold(0, |all, heat| HEATS as u8 * all + heat);
                    let number = &mut known[(tree * SIZES + size) * PATTERNS + usize::from(pattern)];
                    if *number == 0 {
                        self.masks.push((tree as u8, size as u8, pattern));
                        *number = (MASKS + self.masks.len() - 1) as u16;
                    }
                    nodes.push(*number);
                }
                heats = heats.chunks(4).map(|parts| parts.iter().copied().max().unwrap_or(0)).collect();
            }
            let made = Tree { items: classes.len(), nodes };
            *(if tree == 0 { &mut self.groups } else { &mut self.turns }) = made;
        }
    }

    /// Codes the chances and exponents from which tables start.
    pub(super) fn starts(&mut self, bits: &mut impl BitCoder<Context = Chance>, tangents: bool) {
        let trees = 1 + usize::from(tangents);
        let mut used = Chance::default();
        for code in self.chances[..trees].as_flattened_mut().as_flattened_mut() {
            let wanted = *code;
            *code = match bits.bit(&mut used, wanted != EVEN_CHANCE_CODE) {
                true => bits.raw_bits(8, u32::from(wanted)) as u8,
                false => EVEN_CHANCE_CODE,
            };
        }
        let mut used = Chance::default();
        for exponent in self.exponents[..trees + 1].as_flattened_mut() {
            let wanted = *exponent;
            *exponent = match bits.bit(&mut used, wanted != MAX_EXPONENT) {
                true => bits.raw_bits(4, u32::from(wanted)) as u8,
                false => MAX_EXPONENT,
            };
        }
    }

    pub(super) fn make_tables(&mut self) {
        self.tables = vec![NibbleTable::new(std::array::from_fn(|changes| u64::from(changes < 4)))];
        for exponents in &self.exponents {
            self.tables.push(NibbleTable::new(
                exponents.map(|exponent| 1 << (MAX_EXPONENT - exponent.min(MAX_EXPONENT))),
            ));
        }
        for &(tree, size, pattern) in &self.masks {
            let chances = &self.chances[usize::from(tree)][usize::from(size)];
            let one = |part: usize| 65536 - u64::from(chance_from_code(chances[heat(pattern, part)]).mean());
            let ones = [0, 1, 2, 3].map(one);
            self.tables.push(NibbleTable::new(std::array::from_fn(|mask| {
                if mask == 0 && usize::from(size) + 1 < SIZES {
                    return 0;
                }
                let part = |k: usize| if mask >> k & 1 != 0 { ones[k] } else { 65536 - ones[k] };
                (part(0) * part(1) * part(2) * part(3)) >> 32
            })));
        }
    }

    /// Returns the tables with which a unit starts.
    pub(super) fn tables(&self) -> [NibbleTable; MAX_TABLES] {
        let mut tables = [NibbleTable::EMPTY; MAX_TABLES];
        for (to, from) in tables.iter_mut().zip(&self.tables) {
            *to = *from;
        }
        tables
    }
}

#[cfg(feature = "encode")]
pub(super) use fit::RareChanges;

#[cfg(feature = "encode")]
mod fit {
    use crate::mesh::normals::coding::*;
    use crate::mesh::normals::contexts::chance_from_counts;

    /// The number of occurrences of each symbol, by table.
    pub type SymbolCounts = Vec<[u32; SYMBOLS]>;

    impl StateCoding {
        /// Returns counts of zero.
        pub fn counts(&self) -> SymbolCounts {
            vec![[0; SYMBOLS]; MASKS + self.masks.len()]
        }

        /// Fits chances and exponents to counts; `seldom` describes groups and vertices that did not change.
        pub fn fit(&mut self, counts: &SymbolCounts, seldom: [RareChanges; 2]) {
            for (exponents, table) in self.exponents.iter_mut().zip(EXPONENT_TABLES) {
                let all = f64::from(counts[table].iter().sum::<u32>());
                // Tables that were not used keep the default, which costs nothing.
                if all == 0.0 {
                    continue;
                }
                let all = all + 1.6;
                let exponent = |count: u32| (all / (f64::from(count) + 0.1)).log2().round();
                *exponents = counts[table].map(|count| exponent(count).min(f64::from(MAX_EXPONENT)) as u8);
            }
            for tree in 0..2 {
                for size in 0..SIZES {
                    let own = self.masks.iter().zip(&counts[MASKS..]);
                    let own = own.filter(|(m, _)| (usize::from(m.0), usize::from(m.1)) == (tree, size));
                    let list: Vec<(u8, &[u32; SYMBOLS])> = own.map(|(m, counts)| (m.2, counts)).collect();
                    let mut chances = chances(&list, size + 1 == SIZES);
                    let own = seldom[tree].chance(size, chances[1]);
                    chances[0] = chances[0].map(|seen| own.clamp(seen, seen.max(0.5)));
                    let near = |one: f64| chance_from_counts(((1.0 - one) * 1e6) as u32, (one * 1e6) as u32);
                    self.chances[tree][size] =
                        chances.map(|one| one.map_or(EVEN_CHANCE_CODE, |one| chance_code(near(one))));
                }
            }
            self.make_tables();
        }
    }

    /// Estimates how often items of class 0 change. Classes come from the samples that are counted, so these
    /// items changed in none of them. The number of items that change in one more sample is that of items
    /// that changed once, divided by the number of samples (I. J. Good and A. Turing).
    #[derive(Debug, Clone, Copy, Default)]
    pub struct RareChanges {
        /// By heat 0 and 1: the items, and their changes.
        items: [f64; 2],
        changes: [f64; 2],
        samples: f64,
    }

    impl RareChanges {
        /// Adds an item of a class, which changed `changes` times in `samples` samples.
        pub fn add(&mut self, class: u8, changes: usize, samples: usize) {
            self.samples = samples as f64;
            if let Some(items) = self.items.get_mut(usize::from(class)) {
                *items += 1.0;
                self.changes[usize::from(class)] += changes as f64;
            }
            // It stands for items whose change was not seen.
            self.changes[0] += f64::from(u8::from(changes == 1));
        }

        /// Returns the chance that a part of heat 0 changes in nodes of this size, given that of heat 1.
        fn chance(&self, size: usize, other: Option<f64>) -> f64 {
            let [none, one] = [0, 1].map(|h| self.changes[h] / (self.items[h] * self.samples).max(1.0));
            let items = 4f64.powi(size as i32);
            match other {
                Some(other) if none > 0.0 => other * items * none / (one + (items - 1.0) * none),
                _ => 1.0 - (1.0 - none.min(1.0)).powf(items),
            }
        }
    }

    /// Returns the chance that a part changes, by heat, from the counts of masks by pattern. Without `zero`,
    /// masks of zero are not counted, and as many are added as there would have been. `None` for heats that
    /// did not occur.
    fn chances(list: &[(u8, &[u32; SYMBOLS])], zero: bool) -> [Option<f64>; HEATS] {
        let (mut one, mut parts) = ([0.02, 0.1, 0.2], [0; HEATS]);
        for &(pattern, counts) in list {
            (0..4).for_each(|k| parts[heat(pattern, k)] += counts.iter().sum::<u32>());
        }
        for _ in 0..30 {
            let (mut changed, mut all) = ([0.1; HEATS], [1.0; HEATS]);
            for &(pattern, counts) in list {
                let none = (0..4).map(|k| 1.0 - one[heat(pattern, k)]).product::<f64>();
                let seen = f64::from(counts.iter().sum::<u32>());
                let there = if zero { seen } else { seen / (1.0 - none).max(1e-9) };
                for k in 0..4 {
                    let with = counts.iter().enumerate().filter(|(mask, _)| mask >> k & 1 != 0);
                    all[heat(pattern, k)] += there;
                    changed[heat(pattern, k)] += f64::from(with.map(|(_, count)| count).sum::<u32>());
                }
            }
            one = std::array::from_fn(|h| f64::clamp(changed[h] / all[h], 5e-4, 0.95));
        }
        std::array::from_fn(|h| (parts[h] > 0).then_some(one[h]))
    }
}
