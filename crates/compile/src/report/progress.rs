//! How far a compilation is: what whoever calls is told on the way.

use std::path::Path;

/// Phases that a progress display shows, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// First pass over all frames: bounds, topology, what is static, vertex splitting.
    Analyse,
    /// Methods, settings, parts and bones are sought: most of the work where bones are. Told in expected
    /// work, with that of the passes behind it.
    Search,
    /// Second pass: quantize, predict, compress, write.
    Encode,
    /// The finished file is opened and decoded.
    Inspect,
}

/// Receives progress; called from several threads.
pub trait Progress: Sync {
    /// `done` of `total` of a phase, in meshes, expected work, or frames.
    fn update(&self, phase: Phase, done: u64, total: u64);
    /// Names what is being tried, and for which mesh.
    fn trying(&self, _what: &str) {}
}

/// Opens a finished file as a player would and decodes all of it, before it gets its name: nothing that is
/// refused here replaces anything. This crate does not know the runtime, so whoever calls brings it along.
pub type Inspect<'a> = &'a (dyn Fn(&Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Sync);

/// Progress that is not shown.
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _: Phase, _: u64, _: u64) {}
}
