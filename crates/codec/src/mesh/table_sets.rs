//! Frequency tables prepared for decoding and shared between parts: each default set exists once per process,
//! each set of a file's own once per file.
//!
//! Tables with an entry for each of 4096 slots decode fastest but take up to half a megabyte. Only parts with
//! enough points for the vectorized decoders get such tables of their own; the others search.

use crate::Corrupt;
use crate::entropy::rans::{self, Frequencies, Slots, TOTAL};
use crate::mesh::byte_budget::ByteBudget;
use crate::mesh::contexts::ContextLookup;
use crate::mesh::defaults::{DEFAULT_SETS, NO_SET, default_set};
use crate::mesh::tables::{CONTEXTS, TokenTables};
use crate::mesh::token::TOKENS;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The number of points from which tables have slots; with fewer, they would take more memory than the
/// frames.
const MIN_SLOT_POINTS: usize = 512;

/// Frequency tables in the form that decoders read.
#[derive(Debug)]
pub struct DecodingTables {
    /// The number of the table, by context.
    pub map: [u8; CONTEXTS],
    pub(super) form: TableForm,
}

#[derive(Debug)]
pub(super) enum TableForm {
    /// One entry per slot.
    Slots(SlotTables),
    /// Compact tables that are searched.
    Compact(Box<[CompactTable]>),
}

/// Tables with one entry per slot.
#[derive(Debug)]
pub(super) struct SlotTables {
    pub slots: Box<[Slots]>,
    /// The tables in which the vectorized decoders look up contexts.
    pub contexts: ContextLookup,
}

/// A compact table in which the token of a slot is searched.
#[derive(Debug)]
pub(super) struct CompactTable {
    /// The first slot of each token; a token without slots begins where the next one does.
    starts: [u16; TOKENS + 1],
    /// The token of the first slot of each run of 64 slots.
    first: [u8; (TOTAL as usize) >> SLOT_RUN_BITS],
}

const SLOT_RUN_BITS: u32 = 6;

impl CompactTable {
    fn new(table: &Frequencies) -> CompactTable {
        let mut ranges =
            CompactTable { starts: [0; TOKENS + 1], first: [0; (TOTAL as usize) >> SLOT_RUN_BITS] };
        for (token, &f) in table.iter().enumerate() {
            ranges.starts[token + 1] = ranges.starts[token].saturating_add(f);
        }
        for (step, first) in ranges.first.iter_mut().enumerate() {
            let slot = (step as u16) << SLOT_RUN_BITS;
            let after = |token: &usize| ranges.starts[token + 1] > slot;
            *first = (0..TOKENS).find(after).unwrap_or(0) as u8;
        }
        ranges
    }

    /// Returns the entry that [`Slots`] has for a slot.
    #[inline(always)]
    pub fn entry(&self, slot: u32) -> u32 {
        let slot = slot & (TOTAL - 1);
        let mut token = usize::from(self.first[(slot >> SLOT_RUN_BITS) as usize]);
        while token < TOKENS - 1 && u32::from(self.starts[token + 1]) <= slot {
            token += 1;
        }
        let start = u32::from(self.starts[token]);
        let frequency = u32::from(self.starts[token + 1]).saturating_sub(start);
        token as u32 | (frequency.saturating_sub(1)) << 8 | slot.saturating_sub(start) << 20
    }
}

impl DecodingTables {
    /// Prepares tables for parts of `points` points.
    pub fn new(tables: &TokenTables, points: usize) -> DecodingTables {
        let all = &tables.tables;
        if points < MIN_SLOT_POINTS {
            return DecodingTables {
                map: tables.map,
                form: TableForm::Compact(all.iter().map(CompactTable::new).collect()),
            };
        }
        let mut slots = vec![[0; TOTAL as usize]; all.len()].into_boxed_slice();
        for (slots, table) in slots.iter_mut().zip(all) {
            rans::fill(table, slots);
        }
        DecodingTables {
            map: tables.map,
            form: TableForm::Slots(SlotTables { contexts: ContextLookup::new(&tables.map, &slots), slots }),
        }
    }

    /// Returns the bytes of memory that `tables` tables take for parts of `points` points.
    pub const fn bytes_of(tables: usize, points: usize) -> u64 {
        let each = match points < MIN_SLOT_POINTS {
            true => tables * size_of::<CompactTable>(),
            false => tables * size_of::<Slots>() + ContextLookup::BYTES,
        };
        (size_of::<DecodingTables>() + 32 + each) as u64
    }

    /// Returns the tables for the vectorized decoders; `None` if tokens are searched.
    pub(super) fn slot_tables(&self) -> Option<&SlotTables> {
        match &self.form {
            TableForm::Slots(ready) => Some(ready),
            TableForm::Compact(_) => None,
        }
    }

    /// Returns the number of tables.
    pub(super) fn len(&self) -> usize {
        match &self.form {
            TableForm::Slots(ready) => ready.slots.len(),
            TableForm::Compact(ranges) => ranges.len(),
        }
    }
}

/// The tables of a file's parts, each stored once, while the static data is read.
#[derive(Debug)]
pub struct TableSets {
    /// Keyed by their coded bytes: tables without slots, then tables with slots.
    own: [HashMap<Box<[u8]>, Arc<DecodingTables>>; 2],
    /// Bit n is set if default set n was used.
    defaults: u32,
    /// Counts the tables, and the lists of normals.
    pub budget: ByteBudget,
}

impl Default for TableSets {
    /// Without a memory limit: a part brings at most half a megabyte of tables.
    fn default() -> TableSets {
        TableSets::new(ByteBudget::unlimited())
    }
}

impl TableSets {
    /// Creates an empty collection whose tables are taken from this budget.
    pub fn new(budget: ByteBudget) -> TableSets {
        TableSets { own: Default::default(), defaults: 0, budget }
    }

    /// Returns the default set of a number.
    pub(super) fn default_set(&mut self, number: u8) -> Result<Arc<DecodingTables>, Corrupt> {
        let shared = default_tables(number)?;
        let bit = 1u32.checked_shl(number.into()).unwrap_or(0);
        if self.defaults & bit == 0 {
            self.budget.add(DecodingTables::bytes_of(shared.len(), usize::MAX))?;
            self.defaults |= bit;
        }
        Ok(shared)
    }

    /// Returns the tables coded in a part of `points` points.
    pub(super) fn own_set(&mut self, coded: &[u8], points: usize) -> Result<Arc<DecodingTables>, Corrupt> {
        let large = usize::from(points >= MIN_SLOT_POINTS);
        if let Some(known) = self.own[large].get(coded) {
            return Ok(known.clone());
        }
        let tables = TokenTables::decode(coded)?;
        // The key, a copy of the coded bytes, lives as long as this collection.
        let found_by = 96 + 2 * coded.len() as u64;
        self.budget.add(DecodingTables::bytes_of(tables.tables.len(), points) + found_by)?;
        let shared = Arc::new(DecodingTables::new(&tables, points));
        self.own[large].insert(coded.into(), shared.clone());
        Ok(shared)
    }
}

/// Returns the default set of a number, ready to decode with: built on first use and kept.
pub(super) fn default_tables(number: u8) -> Result<Arc<DecodingTables>, Corrupt> {
    static READY: [OnceLock<Arc<DecodingTables>>; DEFAULT_SETS as usize] =
        [const { OnceLock::new() }; DEFAULT_SETS as usize];
    let at = usize::from(number).checked_sub(1);
    let ready = at.and_then(|at| READY.get(at)).ok_or(NO_SET)?;
    if let Some(known) = ready.get() {
        return Ok(known.clone());
    }
    let made = default_set(number)?;
    Ok(ready.get_or_init(|| Arc::new(DecodingTables::new(&made, usize::MAX))).clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::defaults;

    #[test]
    fn searched_tables_say_what_slots_say() {
        for number in 1..=defaults::DEFAULT_SETS {
            let tables = defaults::default_set(number).unwrap();
            for table in &tables.tables {
                let mut slots = [0; TOTAL as usize];
                rans::fill(table, &mut slots);
                let ranges = CompactTable::new(table);
                for (slot, entry) in (0..).zip(slots) {
                    assert_eq!(ranges.entry(slot), entry, "slot {slot} of set {number}");
                }
            }
        }
    }

    #[test]
    fn equal_sets_are_one_and_all_are_counted() {
        let coded: Vec<&[u8]> = defaults::coded_sets().collect();
        let mut sets = TableSets::default();
        let first = sets.own_set(coded[0], 20).unwrap();
        let bytes = sets.budget.used();
        assert!(Arc::ptr_eq(&first, &sets.own_set(coded[0], 20).unwrap()));
        assert_eq!(sets.budget.used(), bytes);
        assert!(bytes < 24 << 10, "{bytes}");
        let large = sets.own_set(coded[0], MIN_SLOT_POINTS).unwrap();
        assert!(!Arc::ptr_eq(&first, &large) && sets.budget.used() > bytes + (100 << 10));
        let shared = sets.default_set(1).unwrap();
        assert!(Arc::ptr_eq(&shared, &TableSets::default().default_set(1).unwrap()));
        let mut limited = TableSets::new(ByteBudget::new(sets.budget.used() - 1));
        limited.own_set(coded[0], 20).unwrap();
        limited.own_set(coded[0], MIN_SLOT_POINTS).unwrap();
        assert!(limited.default_set(1).is_err() && limited.budget.refused() == Some(sets.budget.used()));
        assert!(limited.own_set(&coded[1][..10], 20).is_err());
    }
}
