//! What a player is made of: sizes, threads, how far ahead it looks, and what files may ask for.

use crate::Error;
use crate::reel::limits::Limits;
use crate::stream::crew::MOST_THREADS;
use crate::stream::heap::Allocator;
use crate::stream::work::Pool;
use std::sync::Arc;

/// Bytes that a frame, a chunk or an object takes about.
const BYTES_EACH: u64 = 256;

/// Settings of a player, fixed when it is made.
#[derive(Clone)]
pub struct Options {
    /// Bytes of the heap: everything of size that is read and decoded lives here. Default 128 MiB.
    pub heap: usize,
    /// Where the memory of the heap comes from; the program's global allocator where there is none.
    pub allocator: Option<Arc<dyn Allocator>>,
    /// Files whose frames, decoded, take no more than this are decoded once and kept. Default 16 MiB; 0 for
    /// none.
    pub resident: u64,
    /// Bytes that one read has, if as much is wanted. Default 1 MiB.
    pub read_size: u64,
    /// Threads that decode; 0: the tick does it, and opens files, each tick as far as what that needs has been
    /// read. Default: as many as there are cores, less one; in WebAssembly 0.
    pub threads: usize,
    /// Threads that read files; 0: the tick does it. Default 2; in WebAssembly 0.
    pub read_threads: usize,
    /// Decodes instead of those threads. With `threads` 0 files are opened within the tick all the same.
    pub pool: Option<Arc<dyn Pool>>,
    /// Seconds before they are shown that frames are decoded. Default 0.4.
    pub decode_ahead: f32,
    /// A read is issued as soon as something is missing so many seconds ahead. Default 1.
    pub least_read_ahead: f32,
    /// Seconds ahead for which reads are made at most, then for all that is wanted in them. Default 4.
    pub most_read_ahead: f32,
    /// Seconds without a visible instance after which a file's static data is given up too. Default 5.
    pub unload_after: f32,
    /// Bytes beside the heap that a file may take to be opened and to keep its static data; a file that asks
    /// for more is refused. 0, the default: what goes with the heap, four times as much and 16 MiB.
    pub file_memory: u64,
    /// Limits of the files that are opened, and whether animated vertex attributes are left out. What is
    /// beyond `file_memory` is cut to it, see [`Options::file_limits`].
    pub limits: Limits,
}

impl Options {
    /// The limits with which each file is opened: `limits`, as far as `file_memory` allows it.
    pub fn file_limits(&self) -> Limits {
        let memory = match self.file_memory {
            0 => (self.heap as u64).saturating_mul(4).saturating_add(16 << 20),
            memory => memory,
        };
        let mut limits = self.limits.clone();
        let cut = |limit: &mut u64, each: u64| *limit = (*limit).min(memory / each);
        cut(&mut limits.max_memory, 1);
        cut(&mut limits.max_objects, BYTES_EACH);
        cut(&mut limits.format.max_chunk, 1);
        cut(&mut limits.format.max_frames, BYTES_EACH);
        cut(&mut limits.format.max_chunks, BYTES_EACH);
        limits
    }

    /// Refuses options that no player can be made of.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (name, threads) in [("threads", self.threads), ("read_threads", self.read_threads)] {
            if threads > MOST_THREADS {
                let what = format!("{threads} {name} are too many: at most {MOST_THREADS}");
                return Err(Error::misuse(what));
            }
        }
        for (name, seconds) in [
            ("decode_ahead", self.decode_ahead),
            ("least_read_ahead", self.least_read_ahead),
            ("most_read_ahead", self.most_read_ahead),
            ("unload_after", self.unload_after),
        ] {
            // Less than nothing counts as nothing.
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
        // There the tick does it all.
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
            file_memory: 0,
            limits: Limits::default(),
        }
    }
}
