//! Streaming in memory of fixed size: the heap, reads, jobs and their dependencies, and the residency of each
//! file.

pub(crate) mod admission;
pub(crate) mod byte_ranges;
pub(crate) mod event;
pub(crate) mod file_state;
pub(crate) mod graph;
#[cfg(test)]
mod graph_tests;
pub(crate) mod heap;
#[cfg(test)]
mod heap_tests;
pub(crate) mod ids;
pub(crate) mod io;
pub(crate) mod jobs;
pub(crate) mod load;
pub(crate) mod loaded;
pub(crate) mod options;
pub(crate) mod read_range;
pub(crate) mod regions;
pub(crate) mod residency;
pub(crate) mod scheduler;
pub(crate) mod sharing;
pub(crate) mod sizes;
pub(crate) mod statistics;
pub(crate) mod stopwatch;
pub(crate) mod sync;
pub(crate) mod trace;
pub(crate) mod watch;
pub(crate) mod worker_threads;

pub use heap::Allocator;
pub use io::{AsyncSource, ReadRequest, ReadToken};
pub use jobs::{Job, Pool};
pub use regions::{HeapCounters, Region, RegionState};
pub use residency::StreamCounters;
pub use statistics::{Statistics, StreamStatistics};
pub use trace::{Profiler, set_profiler};
