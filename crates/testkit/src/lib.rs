//! What tests of several crates share: scenes, files and the way from one to the other. Whatever fails here
//! fails the test that asked for it.

mod bvh;
mod compiled;
mod places;

pub use bvh::bvh;
pub use compiled::{compiled, opened, verified};
pub use places::{bundled, corpus, corpus_if_thorough, is_thorough, python, skipped};
