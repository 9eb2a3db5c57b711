//! HDF5 guards its structures with checksums, which changed bytes do not get past.

use std::path::Path;

use meshreel_read::{ReadOptions, open};
use meshreel_scene::Error;

/// How many structures of one file are looked after; changes touch one or two.
const MAX_REPAIRS: usize = 4;

/// Puts checksums right, as far as reading the file comes across them: the reader says which it found and
/// which it expected. `path` is where the file is written to.
pub fn repair(bytes: &mut [u8], path: &Path) {
    for _ in 0..MAX_REPAIRS {
        if std::fs::write(path, &*bytes).is_err() {
            return;
        }
        let wrong = match open(path, &ReadOptions::default()) {
            Ok((_, remarks)) => remarks.iter().find_map(|remark| mismatch(&remark.what)),
            Err(Error::Malformed { what, .. }) => mismatch(&what),
            Err(_) => None,
        };
        let Some((stored, right)) = wrong else {
            return;
        };
        let stored = stored.to_le_bytes();
        let Some(at) = bytes.windows(4).position(|window| window == stored) else {
            return;
        };
        bytes[at..at + 4].copy_from_slice(&right.to_le_bytes());
    }
}

/// The two numbers of "checksum mismatch: expected 0x…, got 0x…".
fn mismatch(what: &str) -> Option<(u32, u32)> {
    let (_, rest) = what.split_once("checksum mismatch: expected 0x")?;
    let (stored, rest) = rest.split_once(", got 0x")?;
    let hex = |text: &str| u32::from_str_radix(text.get(..8)?, 16).ok();
    Some((hex(stored)?, hex(rest)?))
}
