//! Default sets of frequency tables, so that short animations need not store their own. Part of the format.
//!
//! A file names a set by its number, 1 … [`DEFAULT_SETS`]; the encoder chooses the set, or the file's own
//! tables, by the size of the result. `defaults.bin` holds the sets, each coded like the tables of a static
//! part ([`crate::mesh::tables`]) and preceded by its size in two bytes; `docs/FORMAT/tables.hex` shows the
//! same bytes as text. `meshreel-bench tables` regenerates them from the tokens of short animations,
//! clustered by the cost of their tokens with each other's tables.

use crate::Corrupt;
use crate::mesh::tables::TokenTables;

/// The number of default sets.
pub const DEFAULT_SETS: u8 = 15;

static BYTES: &[u8] = include_bytes!("defaults.bin");

/// Returns the coded sets in order.
pub fn coded_sets() -> impl Iterator<Item = &'static [u8]> {
    let mut rest = BYTES;
    std::iter::from_fn(move || {
        let (size, behind) = rest.split_first_chunk()?;
        let (set, behind) = behind.split_at_checked(u16::from_le_bytes(*size).into())?;
        rest = behind;
        Some(set)
    })
}

/// Returns the set of this number, from 1. Fails for 0 and for numbers above [`DEFAULT_SETS`].
pub fn default_set(number: u8) -> Result<TokenTables, Corrupt> {
    let at = usize::from(number).checked_sub(1);
    let bytes = at.and_then(|at| coded_sets().nth(at));
    TokenTables::decode(bytes.ok_or(NO_SET)?)
}

pub(super) const NO_SET: Corrupt = Corrupt("tables: no default set has this number");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sets_are_there_and_are_what_the_document_says() {
        assert_eq!(coded_sets().count(), usize::from(DEFAULT_SETS));
        assert_eq!(coded_sets().map(|s| s.len() + 2).sum::<usize>(), BYTES.len());
        assert!(default_set(0).is_err() && default_set(DEFAULT_SETS + 1).is_err());
        let text = include_str!("../../../../docs/FORMAT/tables.hex");
        let mut documented = vec![String::new()];
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            match line {
                "" => documented.push(String::new()),
                line => documented.last_mut().unwrap().push_str(line),
            }
        }
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(documented, coded_sets().map(hex).collect::<Vec<_>>());
    }
}
