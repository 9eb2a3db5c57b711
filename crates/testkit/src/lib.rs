//! Helpers that tests of several crates share: scenes, files, and compiling one into the other. A failure in
//! here fails the test that called it.

mod bvh;
mod compiled;
mod test_files;

pub use bvh::bvh;
pub use compiled::{compiled, opened, verified};
pub use test_files::{bundled, corpus, corpus_if_thorough, is_thorough, python, report_skipped};
