//! The command line as its users see it: the binary is run, and its exit code, its streams and its files are
//! looked at.

pub mod common;
mod demo;
#[cfg(feature = "fbx")]
mod fbx;
mod files;
mod hidden;
mod info;
mod play;
mod ranges;
mod sequences;
mod shards;
mod targets;
mod usage;
mod usd;
mod verified;
