//! What sections of plans and parts hold, and under which names neither is written.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// Refuses names of other kinds of files, and inputs, for what is written.
pub(super) fn check_name(target: &Path, inputs: &[PathBuf], what: &str) -> Result<(), Failure> {
    let extension = target.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    if meshreel_inputs::EXTENSIONS.contains(&&extension[..]) || extension == "reel" {
        let what = format!("{}: {what} is written, which is no such file", target.display());
        return Err(Failure::usage(what));
    }
    match inputs.iter().any(|input| input == target) {
        true => Err(Failure::usage(format!("{}: is an input, and {what}", target.display()))),
        false => Ok(()),
    }
}

/// What a file is.
pub(super) const HEAD: u32 = 1;
/// What was decided, for parts.
pub(super) const DECISIONS: u32 = 2;
/// The number of a unit, and what nodes have in it.
pub(super) const NODE: u32 = 3;
/// Everything of a file but its units.
pub(super) const ASSEMBLY: u32 = 4;
/// The number of a unit, and the unit.
pub(super) const UNIT: u32 = 5;
/// What is known when all units of a part are coded.
pub(super) const TAIL: u32 = 6;

/// The numbers of a mesh and of a segment of its frames, and the keys that it has there.
pub(super) const KEYS: u32 = 7;

/// The number that stands before the bytes of a unit.
pub(super) fn numbered(number: u32, bytes: &[u8]) -> Vec<u8> {
    [&number.to_le_bytes(), bytes].concat()
}

/// Takes it off again.
pub(super) fn take_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number), rest))
}
