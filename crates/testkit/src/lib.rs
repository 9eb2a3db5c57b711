//! Helpers that tests of several crates share: scenes, files, and compiling one into the other. A failure in
//! here fails the test that called it.

mod bvh;
mod compiled;
mod places;

pub use bvh::bvh;
pub use compiled::{compiled, opened, verified};
pub use places::{bundled, corpus, corpus_if_thorough, is_thorough, python, skipped};
