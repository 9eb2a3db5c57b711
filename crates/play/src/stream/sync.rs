//! The synchronization primitives, under one name, so that the model checker (`crates/play/model`) can
//! replace them by its own.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Marks accesses to memory. Costs nothing here; the model checker's version finds data races.
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
