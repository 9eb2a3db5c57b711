//! The results of the search for settings as bytes, from which an encoder can be recreated without it. Not
//! part of the format: only the same version reads them.

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed};
use crate::mesh::defaults::DEFAULT_SETS;
use crate::mesh::encode::coding::{CodingTables, default_coding_tables};
use crate::mesh::tables::TokenTables;
use crate::mesh::weights::FITS;
use crate::quantize::lattice::{Lattice, LatticeChoice};
use std::sync::Arc;

/// Chosen settings and their origin.
pub(super) struct SearchResult {
    /// The effort with which frame 0 was coded.
    pub(super) effort: u32,
    pub(super) choice: LatticeChoice,
    /// The tables from which the costs of frame 0 were estimated, if any.
    pub(super) cost_tables: Option<Arc<CodingTables>>,
}

/// Written instead of the number of a set: no tables.
const NO_TABLES: u8 = u8::MAX;

impl SearchResult {
    /// Returns the bytes of the settings and of the tables of all frames.
    pub(super) fn write(&self, coding: &CodingTables) -> Vec<u8> {
        let LatticeChoice {
            lattice,
            first_precision: first,
            key_precision: key,
            deepest_precision: last,
            error_weight,
            fit,
        } = self.choice;
        let mut out = vec![self.effort as u8, u8::from(lattice == Lattice::Cubic), fit];
        for number in [first, key, last, error_weight] {
            out.extend(number.to_le_bytes());
        }
        match &self.cost_tables {
            Some(tables) => put_tables(tables, &mut out),
            None => out.push(NO_TABLES),
        }
        put_tables(coding, &mut out);
        out
    }

    pub(super) fn read(bytes: &[u8]) -> Result<(SearchResult, Arc<CodingTables>), Corrupt> {
        let mut c = Cursor::new(bytes);
        let [effort, lattice, fit] = c.array()?;
        let [first, key, last, error_weight] = [c.f32()?, c.f32()?, c.f32()?, c.f32()?];
        let finer = [first, key, last].iter().all(|by| (0.0..=1e6).contains(by));
        let usable = (1..=9).contains(&effort) && lattice < 2 && usize::from(fit) < FITS.len();
        if !(usable && finer && (0.0..=1e6).contains(&error_weight)) {
            return Err(Corrupt("settings out of range"));
        }
        let lattice = if lattice == 1 { Lattice::Cubic } else { Lattice::Centred };
        let choice = LatticeChoice {
            lattice,
            first_precision: first,
            key_precision: key,
            deepest_precision: last,
            error_weight,
            fit,
        };
        let weighed_by = take_tables(&mut c)?;
        let coding = take_tables(&mut c)?.ok_or(Corrupt("settings without tables"))?;
        match c.left() {
            0 => Ok((SearchResult { effort: effort.into(), choice, cost_tables: weighed_by }, coding)),
            _ => Err(Corrupt("settings: bytes left over")),
        }
    }
}

fn put_tables(coding: &CodingTables, out: &mut Vec<u8>) {
    out.push(coding.set);
    if coding.set == 0 {
        put_length_prefixed(&coding.tables.encode(), out);
    }
}

fn take_tables(c: &mut Cursor<'_>) -> Result<Option<Arc<CodingTables>>, Corrupt> {
    match c.u8()? {
        NO_TABLES => Ok(None),
        0 => Ok(Some(Arc::new(CodingTables::new(TokenTables::decode(c.length_prefixed()?)?, 0)))),
        set if set <= DEFAULT_SETS => Ok(default_coding_tables().get(usize::from(set) - 1).cloned()),
        _ => Err(Corrupt("settings: unknown tables")),
    }
}
