//! Section kinds of plans and parts, and the names that neither may be written to.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// Refuses a target that is an input or has the extension of another kind of file.
pub(super) fn check_target_name(target: &Path, inputs: &[PathBuf], what: &str) -> Result<(), Failure> {
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

/// The head of the file.
pub(super) const HEAD: u32 = 1;
/// The decisions of the compiler, for parts.
pub(super) const DECISIONS: u32 = 2;
/// The number of a unit, and the data of nodes in it.
pub(super) const NODE: u32 = 3;
/// The whole file except its units.
pub(super) const ASSEMBLY: u32 = 4;
/// The number of a unit, and the unit.
pub(super) const UNIT: u32 = 5;
/// The section with data that are known only when all units of a part are coded.
pub(super) const TAIL: u32 = 6;

/// The numbers of a mesh and of a segment of its frames, and the keys of the mesh there.
pub(super) const KEYS: u32 = 7;

/// Puts the number of a unit before its bytes.
pub(super) fn prefix_number(number: u32, bytes: &[u8]) -> Vec<u8> {
    [&number.to_le_bytes(), bytes].concat()
}

/// Splits the number of a unit from its bytes.
pub(super) fn split_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number), rest))
}
