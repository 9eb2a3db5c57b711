//! The results of the search for settings as bytes, from which an encoder can be recreated without it. Not
//! part of the format: only the same version reads them.

use crate::Corrupt;
use crate::bytes::{Cursor, put_sized};
use crate::mesh::defaults::SETS;
use crate::mesh::encode::coding::{Coding, codings};
use crate::mesh::tables::Tables;
use crate::mesh::weights::FITS;
use crate::quantize::lattice::{Choice, Lattice};
use std::sync::Arc;

/// Chosen settings and their origin.
pub(super) struct Settled {
    /// The effort with which frame 0 was coded.
    pub(super) effort: u32,
    pub(super) choice: Choice,
    /// The tables from which the costs of frame 0 were estimated, if any.
    pub(super) weighed_by: Option<Arc<Coding>>,
}

/// Written instead of the number of a set: no tables.
const NONE: u8 = u8::MAX;

impl Settled {
    /// Returns the bytes of the settings and of the tables of all frames.
    pub(super) fn write(&self, coding: &Coding) -> Vec<u8> {
        let Choice { lattice, first, key, last, error_weight, fit } = self.choice;
        let mut out = vec![self.effort as u8, u8::from(lattice == Lattice::Cubic), fit];
        for number in [first, key, last, error_weight] {
            out.extend(number.to_le_bytes());
        }
        match &self.weighed_by {
            Some(tables) => put_tables(tables, &mut out),
            None => out.push(NONE),
        }
        put_tables(coding, &mut out);
        out
    }

    pub(super) fn read(bytes: &[u8]) -> Result<(Settled, Arc<Coding>), Corrupt> {
        let mut c = Cursor::new(bytes);
        let [effort, lattice, fit] = c.array()?;
        let [first, key, last, error_weight] = [c.f32()?, c.f32()?, c.f32()?, c.f32()?];
        let finer = [first, key, last].iter().all(|by| (0.0..=1e6).contains(by));
        let usable = (1..=9).contains(&effort) && lattice < 2 && usize::from(fit) < FITS.len();
        if !(usable && finer && (0.0..=1e6).contains(&error_weight)) {
            return Err(Corrupt("settings out of range"));
        }
        let lattice = if lattice == 1 { Lattice::Cubic } else { Lattice::Centred };
        let choice = Choice { lattice, first, key, last, error_weight, fit };
        let weighed_by = take_tables(&mut c)?;
        let coding = take_tables(&mut c)?.ok_or(Corrupt("settings without tables"))?;
        match c.left() {
            0 => Ok((Settled { effort: effort.into(), choice, weighed_by }, coding)),
            _ => Err(Corrupt("settings: bytes left over")),
        }
    }
}

fn put_tables(coding: &Coding, out: &mut Vec<u8>) {
    out.push(coding.set);
    if coding.set == 0 {
        put_sized(&coding.tables.encode(), out);
    }
}

fn take_tables(c: &mut Cursor<'_>) -> Result<Option<Arc<Coding>>, Corrupt> {
    match c.u8()? {
        NONE => Ok(None),
        0 => Ok(Some(Arc::new(Coding::new(Tables::decode(c.sized()?)?, 0)))),
        set if set <= SETS => Ok(codings().get(usize::from(set) - 1).cloned()),
        _ => Err(Corrupt("settings: unknown tables")),
    }
}
