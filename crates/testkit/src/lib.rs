//! What tests of several crates share: scenes, files and the way from one to the other. Whatever fails here
//! fails the test that asked for it.

mod bvh;
mod compiled;

pub use bvh::bvh;
pub use compiled::{compiled, opened, verified};
