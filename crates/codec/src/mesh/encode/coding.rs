//! Tables prepared for coding, and the cost of tokens with them.

use crate::entropy::rans::{self, EncodingTable, Frequencies};
use crate::mesh::defaults::{DEFAULT_SETS, default_set};
use crate::mesh::tables::{self, CONTEXTS, TokenLengths, TokenTables};
use crate::mesh::token::{ESCAPE, RAW_BITS};
use crate::quantize::fixed_point::FixedPoint;
use std::sync::{Arc, OnceLock};

/// Returns all default sets, prepared for coding.
pub(in crate::mesh) fn default_coding_tables() -> &'static [Arc<CodingTables>] {
    static CODINGS: OnceLock<Vec<Arc<CodingTables>>> = OnceLock::new();
    let coding = |number| Some(Arc::new(CodingTables::new(default_set(number).ok()?, number)));
    CODINGS.get_or_init(|| (1..=DEFAULT_SETS).filter_map(coding).collect())
}

/// Returns the bits of each token, per table of each default set.
pub(in crate::mesh) fn default_token_lengths() -> &'static [Vec<TokenLengths>] {
    static LENGTHS: OnceLock<Vec<Vec<TokenLengths>>> = OnceLock::new();
    LENGTHS.get_or_init(|| default_coding_tables().iter().map(|set| set.tables.lengths()).collect())
}

/// Tables prepared for coding.
#[derive(Clone)]
pub struct CodingTables {
    pub tables: TokenTables,
    /// The number of the default set; 0 if the file stores the tables.
    pub set: u8,
    pub(in crate::mesh) starts: Vec<EncodingTable>,
    pub(in crate::mesh) costs: Vec<Costs>,
    /// The index in `costs` for each context.
    pub(in crate::mesh) cost_of: [u16; CONTEXTS],
}

/// The bits of each token, by table and shift.
#[derive(Clone)]
pub(in crate::mesh) struct Costs {
    /// Bits including raw ones, by parity and classes, with class 5 for values beyond any token:
    /// `216·p + 36·x + 6·y + z`. Tokens without a frequency cost as much as the escape.
    pub(in crate::mesh) bits: [f32; COSTS],
    /// A lower bound of the costs of all residuals except zero.
    pub(in crate::mesh) min_nonzero_bits: f32,
}

pub(in crate::mesh) const COSTS: usize = 2 * 216;

impl Costs {
    fn new(table: &Frequencies, k: u32) -> Costs {
        let total = rans::TOTAL as f32;
        let escape = 48.0 + (total / f32::from(table[usize::from(ESCAPE)].max(1))).log2();
        let mut least = escape;
        let bits = std::array::from_fn(|n| {
            let classes = [n / 36 % 6, n / 6 % 6, n % 6];
            if classes.contains(&5) {
                return escape;
            }
            let token = 125 * (n / 216) + 25 * classes[0] + 5 * classes[1] + classes[2];
            let raw = f32::from(RAW_BITS[k as usize][token]);
            let bits = match table[token] {
                0 => escape + raw,
                f => (total / f32::from(f)).log2() + raw,
            };
            // With low bits, even the first token may stand for another residual.
            if n > 0 || k > 0 {
                least = least.min(bits);
            }
            bits
        });
        Costs { bits, min_nonzero_bits: least }
    }
}

impl CodingTables {
    /// Prepares the tables of the default set `set`, or the file's own if it is 0.
    pub fn new(tables: TokenTables, set: u8) -> CodingTables {
        let starts = tables.tables.iter().map(rans::encoding_table).collect();
        let mut kinds: Vec<(u8, u32)> = Vec::new();
        let mut cost_of = [0; CONTEXTS];
        for (context, cost) in cost_of.iter_mut().enumerate() {
            let kind = (tables.map[context], tables::shift(tables::context_neighbour_class(context)));
            let known = kinds.iter().position(|k| *k == kind);
            *cost = known.unwrap_or(kinds.len()) as u16;
            if known.is_none() {
                kinds.push(kind);
            }
        }
        let costs = kinds.iter().map(|&(table, k)| Costs::new(&tables.tables[usize::from(table)], k));
        CodingTables { costs: costs.collect(), cost_of, starts, tables, set }
    }

    #[inline(always)]
    pub(in crate::mesh) fn range(&self, context: usize, token: u8) -> (u16, u16) {
        self.starts[usize::from(self.tables.map[context])][usize::from(token)]
    }
}

#[inline(always)]
pub(in crate::mesh) fn wrapped<W: FixedPoint>(q: i32) -> i32 {
    W::wrap(q).to_i32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_default_sets_can_be_coded_with() {
        assert_eq!(default_coding_tables().len(), usize::from(DEFAULT_SETS));
    }
}
