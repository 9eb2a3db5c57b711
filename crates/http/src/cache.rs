//! Blocks of files in memory of bounded size. Blocks that were used least recently make room for others; a
//! block that one thread is loading is loaded by no other, which waits for it instead.
//!
//! ```text
//! a thread looks up a block    cached            it copies it
//!                              being loaded      it waits, and looks again
//!                              neither           it gets a ticket for this block and those after it that are
//!                                                free as well, and inserts them one by one
//! ```
//!
//! The bytes of blocks being loaded count from the moment when their ticket is given out.

use crate::failure::Failure;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time between two checks of whether a block that is waited for is wanted.
const WANTED_CHECK: Duration = Duration::from_millis(50);

/// A block: the number of the file, and the number of the block in it.
type BlockKey = (u32, u64);

/// The bytes of a block; they may outlive its place in the cache while a thread copies them.
pub(crate) type BlockBytes = Arc<Vec<u8>>;

/// The blocks of all files of a client.
pub(crate) struct BlockCache {
    capacity: u64,
    state: Mutex<CacheState>,
    changed: Condvar,
}

#[derive(Default)]
struct CacheState {
    blocks: HashMap<BlockKey, CachedBlock>,
    /// The blocks in the order of their last use.
    by_use: BTreeMap<u64, BlockKey>,
    uses: u64,
    loading: HashMap<BlockKey, Arc<LoadResult>>,
    cached_bytes: u64,
    loading_bytes: u64,
    peak_bytes: u64,
}

struct CachedBlock {
    bytes: BlockBytes,
    last_use: u64,
}

/// The failure of a load, for those who wait for one of its blocks.
#[derive(Default)]
struct LoadResult(Mutex<Option<Failure>>);

/// The blocks that a thread looks up: the first one now, those after it soon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRequest {
    pub file: u32,
    pub first: u64,
    /// The last block that is needed.
    pub last: u64,
    /// The largest number of blocks of one load.
    pub max_count: u64,
    pub block_bytes: u64,
    pub file_size: u64,
}

/// The result of a lookup.
pub(crate) enum Lookup<'a> {
    Cached(BlockBytes),
    Load(LoadTicket<'a>),
    /// Another thread's load of the block failed.
    Failed(Failure),
}

/// The duty to load blocks in their order. Dropping it lets others load those that are missing.
pub(crate) struct LoadTicket<'a> {
    cache: &'a BlockCache,
    request: BlockRequest,
    /// The blocks that are not inserted yet.
    missing: Range<u64>,
    result: Arc<LoadResult>,
}

impl BlockRequest {
    /// Returns the range of bytes of a block.
    pub fn bytes(&self, block: u64) -> Range<u64> {
        let start = block.saturating_mul(self.block_bytes);
        start..start.saturating_add(self.block_bytes).min(self.file_size)
    }

    fn size(&self, block: u64) -> u64 {
        let range = self.bytes(block);
        range.end.saturating_sub(range.start)
    }
}

impl CacheState {
    fn touch(&mut self, key: BlockKey) -> Option<BlockBytes> {
        let block = self.blocks.get_mut(&key)?;
        self.uses += 1;
        self.by_use.remove(&block.last_use);
        self.by_use.insert(self.uses, key);
        block.last_use = self.uses;
        Some(block.bytes.clone())
    }

    fn remove(&mut self, key: BlockKey) {
        if let Some(block) = self.blocks.remove(&key) {
            self.by_use.remove(&block.last_use);
            self.cached_bytes -= block.bytes.len() as u64;
        }
    }

    /// Removes the blocks that were used least recently until `bytes` more have room.
    fn make_room(&mut self, bytes: u64, capacity: u64) {
        while self.cached_bytes + self.loading_bytes + bytes > capacity {
            let Some((_, &key)) = self.by_use.first_key_value() else {
                return;
            };
            self.remove(key);
        }
    }

    fn insert(&mut self, key: BlockKey, bytes: BlockBytes) {
        self.remove(key);
        self.uses += 1;
        self.cached_bytes += bytes.len() as u64;
        self.by_use.insert(self.uses, key);
        self.blocks.insert(key, CachedBlock { bytes, last_use: self.uses });
    }

    /// Marks the first block and those after it that are free as being loaded, as far as there is room.
    /// Returns the end of the marked blocks.
    fn mark(&mut self, request: &BlockRequest, capacity: u64, result: &Arc<LoadResult>) -> u64 {
        let mut end = request.first;
        let mut bytes = 0;
        let limit = request.last.saturating_add(1).min(request.first.saturating_add(request.max_count));
        while end < limit {
            let key = (request.file, end);
            let more = bytes + request.size(end);
            let is_free = !self.blocks.contains_key(&key) && !self.loading.contains_key(&key);
            if !is_free || self.loading_bytes + more > capacity {
                break;
            }
            bytes = more;
            end += 1;
        }
        self.make_room(bytes, capacity);
        for block in request.first..end {
            self.loading.insert((request.file, block), result.clone());
        }
        self.loading_bytes += bytes;
        self.peak_bytes = self.peak_bytes.max(self.cached_bytes + self.loading_bytes);
        end
    }
}

impl BlockCache {
    /// Creates a cache for `capacity` bytes, in which a block must have room.
    pub fn new(capacity: u64) -> BlockCache {
        BlockCache { capacity, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks up a block. Waits while another thread is loading it (calling `waits` first), or while blocks
    /// being loaded take all of the memory; fails when the block is no longer wanted.
    pub fn look_up(
        &self,
        request: BlockRequest,
        is_wanted: &dyn Fn() -> bool,
        waits: &dyn Fn(),
    ) -> Result<Lookup<'_>, Failure> {
        let key = (request.file, request.first);
        let mut awaited: Option<Arc<LoadResult>> = None;
        let mut state = self.lock();
        loop {
            if let Some(bytes) = state.touch(key) {
                return Ok(Lookup::Cached(bytes));
            }
            let loading = state.loading.get(&key).cloned();
            if let Some(result) = loading {
                if awaited.is_none() {
                    waits();
                }
                awaited = Some(result);
            } else if let Some(failure) = awaited.take().and_then(|result| result.failure()) {
                return Ok(Lookup::Failed(failure));
            } else {
                let result = Arc::new(LoadResult::default());
                let end = state.mark(&request, self.capacity, &result);
                if end > request.first {
                    let missing = request.first..end;
                    return Ok(Lookup::Load(LoadTicket { cache: self, request, missing, result }));
                }
            }
            if !is_wanted() {
                return Err(Failure::cancelled());
            }
            let wait = self.changed.wait_timeout(state, WANTED_CHECK);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Drops the blocks of a file.
    pub fn remove_file(&self, file: u32) {
        let mut state = self.lock();
        let keys: Vec<BlockKey> = state.blocks.keys().filter(|key| key.0 == file).copied().collect();
        for key in keys {
            state.remove(key);
        }
    }

    /// Returns the bytes of cached blocks, and the largest number of bytes so far with those being loaded.
    pub fn sizes(&self) -> (u64, u64) {
        let state = self.lock();
        (state.cached_bytes, state.peak_bytes)
    }
}

impl LoadResult {
    fn lock(&self) -> MutexGuard<'_, Option<Failure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the failure. One that was cancelled failed for its own thread only.
    fn failure(&self) -> Option<Failure> {
        self.lock().clone().filter(|failure| !failure.is_cancelled())
    }
}

impl LoadTicket<'_> {
    /// Returns the blocks that are not inserted yet.
    pub fn missing(&self) -> Range<u64> {
        self.missing.clone()
    }

    /// Returns the bytes of the blocks that are not inserted yet, as a range of the file.
    pub fn missing_bytes(&self) -> Range<u64> {
        let last = self.missing.end.saturating_sub(1);
        self.request.bytes(self.missing.start).start..self.request.bytes(last).end
    }

    /// Inserts the first missing block, whose bytes are at most as many as those that were requested.
    pub fn insert(&mut self, bytes: BlockBytes) {
        let Some(block) = self.missing.next() else {
            return;
        };
        let key = (self.request.file, block);
        let mut state = self.cache.lock();
        state.loading_bytes -= self.request.size(block);
        state.loading.remove(&key);
        state.insert(key, bytes);
        drop(state);
        self.cache.changed.notify_all();
    }

    /// Tells those who wait for a missing block why it does not come.
    pub fn fail(self, failure: &Failure) {
        *self.result.lock() = Some(failure.clone());
    }
}

impl Drop for LoadTicket<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.lock();
        for block in self.missing.clone() {
            state.loading_bytes -= self.request.size(block);
            state.loading.remove(&(self.request.file, block));
        }
        drop(state);
        self.cache.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    fn request(first: u64, last: u64) -> BlockRequest {
        BlockRequest { file: 0, first, last, max_count: 4, block_bytes: 10, file_size: 95 }
    }

    fn ticket(cache: &BlockCache, first: u64, last: u64) -> LoadTicket<'_> {
        match cache.look_up(request(first, last), &|| true, &|| ()) {
            Ok(Lookup::Load(ticket)) => ticket,
            _ => panic!("blocks {first} to {last} are not free"),
        }
    }

    fn is_cached(cache: &BlockCache, block: u64) -> bool {
        cache.lock().blocks.contains_key(&(0, block))
    }

    fn load(cache: &BlockCache, first: u64, last: u64) {
        let mut ticket = ticket(cache, first, last);
        for block in ticket.missing() {
            ticket.insert(Arc::new(vec![block as u8; request(0, 0).size(block) as usize]));
        }
    }

    #[test]
    fn blocks_that_were_used_least_recently_make_room() {
        let cache = BlockCache::new(30);
        load(&cache, 0, 2);
        assert!(matches!(cache.look_up(request(0, 0), &|| true, &|| ()), Ok(Lookup::Cached(_))));
        load(&cache, 5, 5);
        assert!(is_cached(&cache, 5) && is_cached(&cache, 2) && is_cached(&cache, 0));
        assert!(!is_cached(&cache, 1));
        assert_eq!(cache.sizes(), (30, 30));
        cache.remove_file(1);
        assert_eq!(cache.sizes().0, 30);
        cache.remove_file(0);
        assert_eq!(cache.sizes(), (0, 30));
    }

    #[test]
    fn a_load_reaches_to_the_next_block_that_is_there_or_the_end_of_the_memory() {
        let cache = BlockCache::new(1000);
        load(&cache, 2, 2);
        assert_eq!(ticket(&cache, 0, 9).missing(), 0..2);
        assert_eq!(ticket(&cache, 3, 9).missing(), 3..7);
        assert_eq!(ticket(&cache, 8, 9).missing_bytes(), 80..95);
        let held = ticket(&cache, 5, 5);
        assert_eq!(ticket(&cache, 3, 9).missing(), 3..5);
        drop(held);
        let small = BlockCache::new(25);
        let held = ticket(&small, 0, 9);
        assert_eq!(held.missing(), 0..2);
        // No room for another block until one of these is there.
        assert!(small.look_up(request(7, 7), &|| false, &|| ()).is_err_and(|failure| failure.is_cancelled()));
        drop(held);
        assert_eq!(ticket(&small, 7, 7).missing(), 7..8);
        assert_eq!(small.sizes(), (0, 20));
    }

    #[test]
    fn those_who_wait_learn_of_the_failure_and_others_try_again() {
        let cache = BlockCache::new(100);
        let waiting = AtomicU32::new(0);
        let own = ticket(&cache, 0, 3);
        std::thread::scope(|scope| {
            let look_up = || {
                let waits = || {
                    waiting.fetch_add(1, Ordering::SeqCst);
                };
                match cache.look_up(request(1, 1), &|| true, &waits) {
                    Ok(Lookup::Failed(failure)) => failure.what,
                    _ => "no failure".to_owned(),
                }
            };
            let others = [scope.spawn(look_up), scope.spawn(look_up)];
            while waiting.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
            own.fail(&Failure::permanent(ErrorKind::NotFound, "gone"));
            assert_eq!(others.map(|other| other.join().unwrap()), ["gone", "gone"]);
        });
        load(&cache, 1, 1);
        assert!(is_cached(&cache, 1));
    }

    #[test]
    fn a_waiting_thread_takes_over_a_load_that_was_cancelled() {
        let cache = BlockCache::new(100);
        let waits = AtomicBool::new(false);
        let own = ticket(&cache, 0, 3);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let found = cache.look_up(request(0, 0), &|| true, &|| waits.store(true, Ordering::SeqCst));
                matches!(found, Ok(Lookup::Load(_)))
            });
            while !waits.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            own.fail(&Failure::cancelled());
            assert!(other.join().unwrap());
        });
    }
}
