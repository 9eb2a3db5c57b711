//! The states and turns of a frame, coded as a tree of masks of changes, and numbers. Lossless.
//!
//! Few items change from the reference; they are near each other and mostly those that the encoder's samples
//! corrected. A mask is one symbol for four parts of a node, and nothing is coded below a part that does not
//! change, so decoding time depends on the number of changes. Tables: [`crate::mesh::normals::coding`];
//! symbols: [`crate::entropy::nibble`].
//!
//! ```text
//! unit       for each frame: plain n, its reference, with as many bits as the largest number needs; then
//!            symbol [changes]: 1 groups change, 2 vertices change, 3 both; the trees of these
//! tree       for each node of 256 items in order: node
//! node       symbol [mask]: bit k is 1 if part k changes; for each such part in order: its node, or its item. Bits of parts that
//!            do not exist are ignored
//! group      symbol [pairs] = 4·a + b, a the bits of |x|, b those of |y|, 3 meaning three or more; x and y with a, b:
//!            state = old + 3·(x, y)
//! vertex     symbol [turns] = a, the bits of |z|, z with a: turn = old + 3·z
//! x with a   3 of a group: a = min(3 + symbol [longer], 16).  a = 0: 0; else v = plain a: |x| = 2^(a − 1) + (v >> 1), negative if v is odd
//! ```

use crate::entropy::nibble::NibbleCoder;
use crate::entropy::range::{BitCoder, Chance};
use crate::mesh::normals::coding::{CHANGES, LONGER, PAIRS, TURNS, Tree};
use crate::mesh::normals::contexts::{add_strides, strides};
use crate::mesh::normals::model::Normals;

/// The code of numbers with this many bits or more.
const LONGER_CODE: u32 = 3;
/// The largest number of bits of a number.
const MAX_NUMBER_BITS: u32 = 16;

/// A list of items, some of which change.
struct Section<'a, S: NibbleCoder, const NUMBERS: usize> {
    symbols: &'a mut S,
    tables: &'a mut [S::Table],
    tree: &'a Tree,
    old: &'a [[i16; NUMBERS]],
    new: &'a mut [[i16; NUMBERS]],
}

/// The parts of a node that change.
struct ChangedParts {
    mask: usize,
    first: usize,
    end: usize,
}

impl Iterator for ChangedParts {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let part = self.first + self.mask.trailing_zeros() as usize;
        let there = self.mask != 0 && part < self.end;
        self.mask &= self.mask.wrapping_sub(1);
        there.then_some(part)
    }
}

impl<S: NibbleCoder, const NUMBERS: usize> Section<'_, S, NUMBERS> {
    #[inline(always)]
    fn code(&mut self) {
        for node in 0..self.tree.nodes[3].len() {
            for chunk in self.code_mask(3, node) {
                for block in self.code_mask(2, chunk) {
                    for quad in self.code_mask(1, block) {
                        for item in self.code_mask(0, quad) {
                            self.item(item);
                        }
                    }
                }
            }
        }
    }

    /// Codes the mask of the parts of a node that change.
    #[inline(always)]
    fn code_mask(&mut self, size: usize, node: usize) -> ChangedParts {
        let table = &mut self.tables[usize::from(self.tree.nodes[size][node])];
        let first = 4 * node;
        let mut wanted = 0;
        if S::KNOWN {
            let (old, new, items) = (self.old, &*self.new, 4usize.pow(size as u32));
            let at = |part: usize| (part * items).min(old.len());
            let differs = |k: &usize| {
                let items = at(first + k)..at(first + k + 1);
                old[items.clone()] != new[items]
            };
            wanted = (0..4).filter(differs).map(|k| 1 << k).sum();
        }
        let mask = self.symbols.symbol(table, wanted);
        let end = size.checked_sub(1).map_or(self.tree.items, |below| self.tree.nodes[below].len());
        ChangedParts { mask, first, end }
    }

    #[inline(always)]
    fn item(&mut self, item: usize) {
        let old = self.old[item];
        let wanted: [i16; NUMBERS] = std::array::from_fn(|k| strides(old[k], self.new[item][k]));
        let bits = wanted.map(|x| 16 - x.unsigned_abs().leading_zeros());
        let table = if NUMBERS == 2 { PAIRS } else { TURNS };
        let symbol = match bits[..] {
            [a, b] => 4 * a.min(LONGER_CODE) + b.min(LONGER_CODE),
            _ => bits[0].min(15),
        };
        let symbol = self.symbols.symbol(&mut self.tables[table], symbol as usize) as u32;
        for k in 0..NUMBERS {
            let mut count = if NUMBERS == 2 { symbol >> (2 - 2 * k) & 3 } else { symbol };
            if NUMBERS == 2 && count == LONGER_CODE {
                let more = bits[k].saturating_sub(LONGER_CODE) as usize;
                count = (LONGER_CODE + self.symbols.symbol(&mut self.tables[LONGER], more) as u32)
                    .min(MAX_NUMBER_BITS);
            }
            if count > 0 {
                self.new[item][k] = add_strides(old[k], self.number(count, wanted[k]));
            }
        }
    }

    /// Codes a number with `count` bits.
    #[inline(always)]
    fn number(&mut self, count: u32, wanted: i16) -> i16 {
        let top = 1 << (count - 1);
        let rest = u32::from(wanted.unsigned_abs()) & (top - 1);
        let value = self.symbols.raw_bits(count, rest << 1 | u32::from(wanted < 0));
        let size = (top | value >> 1) as i32;
        (if value & 1 != 0 { -size } else { size }) as i16
    }
}

impl Normals {
    /// Builds the trees of items whose classes are known.
    pub(super) fn find_trees(&mut self) {
        if !self.packed {
            let (groups, vertices) = self.classes.split_at(self.groups());
            self.coding.trees(groups, vertices);
        }
    }

    /// Codes the chances and exponents from which the tables of units start.
    pub(super) fn starts(&mut self, bits: &mut impl BitCoder<Context = Chance>) {
        if !self.packed {
            let tangents = self.has_tangents();
            self.coding.starts(bits, tangents);
            self.coding.make_tables();
        }
    }

    /// Codes the states of a frame; in a decoder they are those of the reference on entry.
    pub(in crate::mesh) fn frame<S: NibbleCoder>(
        &self,
        symbols: &mut S,
        tables: &mut [S::Table],
        from: &[i16],
        state: &mut [i16],
    ) {
        let groups = 2 * self.groups();
        let (old, old_turns) = from.split_at(groups);
        let (new, new_turns) = state.split_at_mut(groups);
        let mut wanted = 0;
        if S::KNOWN {
            wanted = usize::from(old != new) | usize::from(old_turns != new_turns) << 1;
        }
        let changes = symbols.symbol(&mut tables[CHANGES], wanted);
        if changes & 1 != 0 {
            let (old, new) = (old.as_chunks::<2>().0, new.as_chunks_mut().0);
            Section { symbols, tables, tree: &self.coding.groups, old, new }.code();
        }
        if changes & 2 != 0 {
            let (old, new) = (old_turns.as_chunks::<1>().0, new_turns.as_chunks_mut().0);
            Section { symbols, tables, tree: &self.coding.turns, old, new }.code();
        }
    }
}

#[cfg(all(test, feature = "encode"))]
mod tests {
    use super::*;
    use crate::entropy::nibble::{Counter, Decoder, Encoder};
    use crate::mesh::normals::coding::StateCoding;
    use proptest::prelude::*;

    fn section<S: NibbleCoder, const NUMBERS: usize>(
        symbols: &mut S,
        tables: &mut [S::Table],
        tree: &Tree,
        [old, new]: [&mut [[i16; NUMBERS]]; 2],
    ) {
        Section { symbols, tables, tree, old, new }.code();
    }

    fn decode<const NUMBERS: usize>(
        coding: &StateCoding,
        tree: &Tree,
        bytes: &[u8],
        old: &[[i16; NUMBERS]],
    ) -> Result<Vec<[i16; NUMBERS]>, crate::Corrupt> {
        let (mut old, mut new) = (old.to_vec(), old.to_vec());
        let mut symbols = Decoder::new(bytes)?;
        section(&mut symbols, &mut coding.tables(), tree, [&mut old, &mut new]);
        symbols.finish()?;
        Ok(new)
    }

    /// Codes twice, the second time with tables fitted to the first; returns the size in bytes.
    fn round_trip<const NUMBERS: usize>(
        classes: &[u8],
        old: &[[i16; NUMBERS]],
        new: &[[i16; NUMBERS]],
    ) -> usize {
        let mut coding = StateCoding::default();
        coding.trees(if NUMBERS == 2 { classes } else { &[] }, if NUMBERS == 1 { classes } else { &[] });
        let (mut old, mut new) = (old.to_vec(), new.to_vec());
        let mut size = 0;
        for _ in 0..2 {
            let mut counts = coding.counts();
            let tree = if NUMBERS == 2 { coding.groups.clone() } else { coding.turns.clone() };
            section(&mut Counter, &mut counts, &tree, [&mut old, &mut new]);
            coding.fit(&counts, Default::default());
            let (mut symbols, mut bytes) = (Encoder::default(), Vec::new());
            section(&mut symbols, &mut coding.tables(), &tree, [&mut old, &mut new]);
            symbols.finish(&mut bytes);
            assert_eq!(decode(&coding, &tree, &bytes, &old).as_ref(), Ok(&new));
            for cut in 0..bytes.len().min(200) {
                assert!(decode(&coding, &tree, &bytes[..cut], &old).is_err());
            }
            for bit in 0..8 * bytes.len().min(200) {
                bytes[bit / 8] ^= 1 << (bit % 8);
                let _ = decode(&coding, &tree, &bytes, &old);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            size = bytes.len();
        }
        size
    }

    #[test]
    fn sizes_about_nodes_and_values_of_all_lengths() {
        for count in [1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, 300] {
            let classes: Vec<u8> = (0..count).map(|i| (i % 7 % 4) as u8).collect();
            let old = vec![[5i16, -7]; count];
            for length in 0..14 {
                let off = |i: usize| if i.is_multiple_of(3) { 1 << length } else { 0 };
                let new: Vec<[i16; 2]> =
                    (0..count).map(|i| [add_strides(5, off(i)), add_strides(-7, -off(i + 1))]).collect();
                round_trip(&classes, &old, &new);
                let turns: Vec<[i16; 1]> = (0..count).map(|i| [add_strides(1, off(i))]).collect();
                round_trip(&classes, &vec![[1]; count], &turns);
            }
            let (least, most) = (vec![[i16::MIN; 2]; count], vec![[i16::MAX; 2]; count]);
            round_trip(&classes, &least, &most);
            round_trip(&classes, &most, &least);
            let (least, most) = (vec![[i16::MIN]; count], vec![[i16::MAX]; count]);
            round_trip(&classes, &least, &most);
            round_trip(&classes, &most, &least);
        }
    }

    #[test]
    fn few_changes_take_few_bytes() {
        let count = 10_000;
        let classes: Vec<u8> = (0..count).map(|i| u8::from(i % 100 < 10)).collect();
        let new: Vec<[i16; 1]> = (0..count).map(|i| [if i % 100 == 5 { 3 } else { 0 }]).collect();
        let bytes = round_trip(&classes, &vec![[0]; count], &new);
        // One of ten where changes are likely: 58 bytes with a sign each.
        assert!(bytes < 130, "{bytes}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn states_come_back(
            items in prop::collection::vec((0u8..4, any::<[i16; 2]>(), 0u8..4, any::<[i16; 2]>()), 1..400),
            shift in 0u32..15,
        ) {
            let classes: Vec<u8> = items.iter().map(|item| item.0).collect();
            let old: Vec<[i16; 2]> = items.iter().map(|item| item.1).collect();
            let change = |(_, old, whether, by): &(u8, [i16; 2], u8, [i16; 2])| match whether {
                0 => [0, 1].map(|k| {
                    let by = by[k] >> shift;
                    let new = i32::from(old[k]) + i32::from(by) * 3;
                    // Within 16 bits, like the values of an encoder.
                    if i16::try_from(new).is_ok() { add_strides(old[k], by) } else { old[k] }
                }),
                _ => *old,
            };
            let new: Vec<[i16; 2]> = items.iter().map(change).collect();
            round_trip(&classes, &old, &new);
            let first = |states: &[[i16; 2]]| states.iter().map(|s| [s[0]]).collect::<Vec<[i16; 1]>>();
            round_trip(&classes, &first(&old), &first(&new));
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            classes in prop::collection::vec(0u8..4, 0..300),
            bytes in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut coding = StateCoding::default();
            coding.trees(&classes, &classes);
            coding.fit(&coding.counts(), Default::default());
            let _ = decode(&coding, &coding.groups, &bytes, &vec![[1, 2]; classes.len()]);
            let _ = decode(&coding, &coding.turns, &bytes, &vec![[1]; classes.len()]);
        }
    }
}
