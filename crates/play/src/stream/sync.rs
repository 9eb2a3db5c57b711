//! What threads share, under one name, so that the model checker (`crates/play/model`) can put its own in
//! their place.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Marks where memory is touched. Costs nothing here; the model checker's own finds touches that race.
#[derive(Debug)]
pub(crate) struct Probe;

impl Probe {
    pub fn new() -> Probe {
        Probe
    }
    #[inline]
    pub fn read(&self) {}
    #[inline]
    pub fn write(&self) {}
}
