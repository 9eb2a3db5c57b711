//! The options of a player: sizes, threads, how far ahead it works, and limits for files.

use crate::Error;
use crate::debug::impl_debug;
use crate::reel::limits::Limits;
use crate::reel::open_file::Reel;
use crate::setters::setters;
use crate::stream::heap::{Allocator, Heap};
use crate::stream::jobs::Pool;
use crate::stream::loaded::HeapNeeds;
use crate::stream::worker_threads::MAX_THREADS;
use std::sync::Arc;

/// No heap is larger.
const MAX_HEAP_BYTES: u64 = 1 << 40;
/// The approximate bytes of a frame, a chunk or an object.
const BYTES_PER_ENTRY: u64 = 256;

/// The options of a player, fixed when it is created.
///
/// ```
/// use meshreel::{Limits, Options};
///
/// let limits = Limits::default().with_max_memory(256 << 20);
/// let options = Options::default().with_heap(64 << 20).with_threads(2).with_limits(limits);
/// assert_eq!((options.heap, options.read_size), (64 << 20, 1 << 20));
/// ```
#[derive(Clone)]
#[non_exhaustive]
#[must_use]
pub struct Options {
    /// Bytes of the heap, which holds all large data that is read and decoded. Default 128 MiB.
    pub heap: usize,
    /// The source of the heap's memory; the program's global allocator if `None`.
    pub allocator: Option<Arc<dyn Allocator>>,
    /// Files whose decoded frames take at most this many bytes are decoded once and kept. Default 16 MiB; 0
    /// for none.
    pub resident: u64,
    /// Bytes of one read, if that much is wanted. Default 1 MiB.
    pub read_size: u64,
    /// Number of threads that decode. With 0 the tick decodes and also opens files, each tick as far as the
    /// necessary bytes have been read. Default: the number of cores less one; in WebAssembly 0.
    pub threads: usize,
    /// Number of threads that read files; with 0 the tick reads. Default 2; in WebAssembly 0.
    pub read_threads: usize,
    /// A pool that decodes instead of those threads. With `threads` 0 files are still opened within the tick.
    pub pool: Option<Arc<dyn Pool>>,
    /// Seconds that frames are decoded before they are shown. Default 0.4.
    pub decode_ahead: f32,
    /// A read is issued as soon as something is missing within this many seconds ahead. Default 1.
    pub least_read_ahead: f32,
    /// The most seconds ahead for which a read fetches data, once it is issued. Default 4.
    pub most_read_ahead: f32,
    /// Seconds without a visible instance after which a file's static data is released as well. Default 5.
    pub unload_after: f32,
    /// Watches the files that are opened by their path, for tools and for games in development: one that is
    /// replaced on the disk is opened and takes the place of the older one, see
    /// [`Event::Replaced`](crate::Event::Replaced), and one that could not be opened is opened when it can
    /// be. Each is looked at every quarter of a second, one per tick, which allocates. Default `false`.
    pub watch: bool,
    /// Bytes besides the heap that a file may take to be opened and to keep its static data; a file that
    /// needs more is refused. 0, the default, means four times the size of the heap plus 16 MiB.
    pub file_memory: u64,
    /// Limits of the files that are opened, and whether animated vertex attributes are left out. Limits above
    /// `file_memory` are cut to it, see [`Options::file_limits`].
    pub limits: Limits,
}

impl_debug!("Options", Options, |options| {
    heap: options.heap,
    allocator: options.allocator.is_some(),
    resident: options.resident,
    read_size: options.read_size,
    threads: options.threads,
    read_threads: options.read_threads,
    pool: options.pool.is_some(),
    decode_ahead: options.decode_ahead,
    least_read_ahead: options.least_read_ahead,
    most_read_ahead: options.most_read_ahead,
    unload_after: options.unload_after,
    watch: options.watch,
    file_memory: options.file_memory,
    limits: options.limits,
});

impl Options {
    setters! {
        with_heap(heap: usize);
        with_resident(resident: u64);
        with_read_size(read_size: u64);
        with_threads(threads: usize);
        with_read_threads(read_threads: usize);
        with_decode_ahead(decode_ahead: f32);
        with_least_read_ahead(least_read_ahead: f32);
        with_most_read_ahead(most_read_ahead: f32);
        with_unload_after(unload_after: f32);
        with_watch(watch: bool);
        with_file_memory(file_memory: u64);
        with_limits(limits: Limits);
    }

    /// Sets [`Options::allocator`].
    pub fn with_allocator(self, allocator: Arc<dyn Allocator>) -> Options {
        Options { allocator: Some(allocator), ..self }
    }

    /// Sets [`Options::pool`].
    pub fn with_pool(self, pool: Arc<dyn Pool>) -> Options {
        Options { pool: Some(pool), ..self }
    }

    /// Returns the limits with which each file is opened: `limits`, cut to `file_memory`.
    pub fn file_limits(&self) -> Limits {
        let memory = match self.file_memory {
            0 => (self.heap as u64).saturating_mul(4).saturating_add(16 << 20),
            memory => memory,
        };
        let mut limits = self.limits.clone();
        let cut = |limit: &mut u64, each: u64| *limit = (*limit).min(memory / each);
        cut(&mut limits.max_memory, 1);
        cut(&mut limits.max_objects, BYTES_PER_ENTRY);
        cut(&mut limits.format.max_chunk, 1);
        cut(&mut limits.format.max_frames, BYTES_PER_ENTRY);
        cut(&mut limits.format.max_chunks, BYTES_PER_ENTRY);
        limits
    }

    /// Returns the smallest heap, in bytes, with which a player with these options shows so many instances of
    /// a file, wherever each of them is, if nothing else plays.
    #[must_use]
    pub fn least_heap(&self, reel: &Reel, instances: u32) -> u64 {
        let threads = self.pool.as_ref().map_or(self.threads, |pool| pool.threads());
        let needs = HeapNeeds::new(reel);
        let workspaces = threads.clamp(1, MAX_THREADS);
        let mut block = 0;
        loop {
            let heap = needs.min_heap(instances, block, workspaces);
            // A block counts as a share of the heap at least.
            let share = heap / Heap::slots(usize::try_from(heap).unwrap_or(usize::MAX)) as u64;
            if share <= block || heap > MAX_HEAP_BYTES {
                return heap;
            }
            block = share;
        }
    }

    /// Checks that a player can be made with these options.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (name, threads) in [("threads", self.threads), ("read_threads", self.read_threads)] {
            if threads > MAX_THREADS {
                let what = format!("{threads} {name} are too many: at most {MAX_THREADS}");
                return Err(Error::misuse(what));
            }
        }
        for (name, seconds) in [
            ("decode_ahead", self.decode_ahead),
            ("least_read_ahead", self.least_read_ahead),
            ("most_read_ahead", self.most_read_ahead),
            ("unload_after", self.unload_after),
        ] {
            // Negative values count as 0.
            if seconds.is_nan() {
                let what = format!("{name} is no number: it must be seconds");
                return Err(Error::misuse(what));
            }
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Options {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        // In WebAssembly the tick does all work.
        let threads = |n| if cfg!(target_family = "wasm") { 0 } else { n };
        Options {
            heap: 128 << 20,
            allocator: None,
            resident: 16 << 20,
            read_size: 1 << 20,
            threads: threads((cores - 1).max(1)),
            read_threads: threads(2),
            pool: None,
            decode_ahead: 0.4,
            least_read_ahead: 1.0,
            most_read_ahead: 4.0,
            unload_after: 5.0,
            watch: false,
            file_memory: 0,
            limits: Limits::default(),
        }
    }
}
