//! Counters of a client.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a client has done since it was made, for an overlay or a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpStatistics {
    /// The number of requests sent, retries and redirects included.
    pub requests: u64,
    /// The number of requests that repeat a failed one.
    pub retries: u64,
    /// The number of redirects followed.
    pub redirects: u64,
    /// The bytes of bodies received, without headers.
    pub bytes_received: u64,
    /// The number of blocks that a read found in the cache.
    pub block_hits: u64,
    /// The number of blocks that were loaded.
    pub blocks_loaded: u64,
    /// The number of times a read waited for a block that another one was loading already.
    pub block_waits: u64,
    /// The bytes of the blocks in the cache.
    pub cached_bytes: u64,
    /// The largest number of bytes that cached blocks and blocks being loaded have taken at one time; at most
    /// [`HttpOptions::cache_bytes`](crate::HttpOptions::cache_bytes).
    pub peak_cached_bytes: u64,
    /// The bytes of files that are held whole, because their servers do not serve ranges.
    pub whole_bytes: u64,
}

/// The counters, as threads count.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub requests: AtomicU64,
    pub retries: AtomicU64,
    pub redirects: AtomicU64,
    pub bytes_received: AtomicU64,
    pub block_hits: AtomicU64,
    pub blocks_loaded: AtomicU64,
    pub block_waits: AtomicU64,
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

impl Counters {
    /// Returns the counters; the sizes are left at 0.
    pub fn read(&self) -> HttpStatistics {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        HttpStatistics {
            requests: value(&self.requests),
            retries: value(&self.retries),
            redirects: value(&self.redirects),
            bytes_received: value(&self.bytes_received),
            block_hits: value(&self.block_hits),
            blocks_loaded: value(&self.blocks_loaded),
            block_waits: value(&self.block_waits),
            ..HttpStatistics::default()
        }
    }
}
