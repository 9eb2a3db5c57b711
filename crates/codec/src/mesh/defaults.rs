//! Default sets of tables, so that a short animation need not keep its own. Part of the format.
//!
//! A file names a set by number, 1 … [`SETS`]; which one, if any, the encoder chooses by the bytes it takes.
//! The sets are the bytes of `defaults.bin`, each coded as tables are in a static part ([`crate::mesh::tables`])
//! behind its size in two bytes; `docs/FORMAT/tables.hex` has the same bytes as text. `meshreel-bench tables` makes
//! them anew: from the tokens of short animations, clustered by what their tokens cost with each other's
//! tables.

use crate::Corrupt;
use crate::mesh::tables::Tables;

/// Number of default sets.
pub const SETS: u8 = 15;

static BYTES: &[u8] = include_bytes!("defaults.bin");

/// The coded sets in order.
pub fn coded() -> impl Iterator<Item = &'static [u8]> {
    let mut rest = BYTES;
    std::iter::from_fn(move || {
        let (size, behind) = rest.split_first_chunk()?;
        let (set, behind) = behind.split_at_checked(u16::from_le_bytes(*size).into())?;
        rest = behind;
        Some(set)
    })
}

/// The set of a number; 0 is none.
pub fn set(number: u8) -> Result<Tables, Corrupt> {
    let at = usize::from(number).checked_sub(1);
    let bytes = at.and_then(|at| coded().nth(at));
    Tables::decode(bytes.ok_or(NO_SET)?)
}

pub(super) const NO_SET: Corrupt = Corrupt("tables: no default set has this number");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sets_are_there_and_are_what_the_document_says() {
        assert_eq!(coded().count(), usize::from(SETS));
        assert_eq!(coded().map(|s| s.len() + 2).sum::<usize>(), BYTES.len());
        assert!(set(0).is_err() && set(SETS + 1).is_err());
        let text = include_str!("../../../../docs/FORMAT/tables.hex");
        let mut documented = vec![String::new()];
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            match line {
                "" => documented.push(String::new()),
                line => documented.last_mut().unwrap().push_str(line),
            }
        }
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(documented, coded().map(hex).collect::<Vec<_>>());
    }
}
