//! The heap and the graph of the player, with loom's atomics in place of the standard library's. Each test
//! runs once for every order in which its threads can interleave. This finds a block that two threads access
//! at once, a lost wake-up, or a counter that is mistaken for another's.
#![cfg(test)]

mod sync {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// Loom fails if accesses race.
    #[derive(Debug)]
    pub(crate) struct Probe(loom::cell::UnsafeCell<()>);

    impl Probe {
        pub fn new() -> Probe {
            Probe(loom::cell::UnsafeCell::new(()))
        }
        pub fn read(&self) {
            self.0.with(|_| ());
        }
        pub fn write(&self) {
            self.0.with_mut(|_| ());
        }
    }
}

#[path = "../../src/stream/graph.rs"]
mod graph;
#[path = "../../src/stream/heap.rs"]
mod heap;
#[path = "../../src/stream/regions.rs"]
mod regions;
#[path = "../../src/stream/sizes.rs"]
mod sizes;

mod locks;
mod nodes;
