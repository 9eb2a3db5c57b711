//! Tests of the command line as users see it: they run the binary, and check its exit code, its streams and
//! its files.

pub mod common;
mod demo;
#[cfg(feature = "fbx")]
mod fbx;
mod files;
mod hidden;
mod info;
mod manual;
mod play;
mod ranges;
mod sequences;
mod shards;
mod targets;
mod usage;
mod usd;
mod verified;
