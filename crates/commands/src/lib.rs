//! What the doors of meshreel have in common, the command line and Python: what is between arguments and what is
//! printed or returned. Errors of all libraries as one, inputs into a file that is verified, a file against its source,
//! a file back into others.

pub mod compile;
mod compressed;
pub mod extract;
pub mod failure;
pub mod farm;
pub mod fingerprint;
pub mod info;
mod inspection;
pub mod provenance;
pub mod reels;
pub mod shard;
mod stopping;
pub mod text;
pub mod verify;
pub mod watched;

/// Receives the name of a phase, and how much of how much of it is done; of how much is 0 where that is not known.
pub type Progress<'a> = &'a (dyn Fn(&str, u64, u64) + Sync);
