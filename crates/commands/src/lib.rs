//! The commands that the command line and Python share: everything between parsing arguments and printing or
//! returning results. Unites the errors of all libraries, compiles inputs into a verified file, verifies a
//! file against its source, and extracts a file to other formats.

mod cancellable;
pub mod compile;
mod compressed;
pub mod extract;
pub mod failure;
pub mod farm;
pub mod fingerprint;
pub mod info;
pub mod input_changes;
mod inspection;
pub mod provenance;
pub mod reels;
pub mod shard;
pub mod text;
pub mod verify;

/// Receives the name of a phase, the amount done, and the total (0 if unknown).
pub type Progress<'a> = &'a (dyn Fn(&str, u64, u64) + Sync);
