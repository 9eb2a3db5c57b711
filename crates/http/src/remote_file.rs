//! A file on a server: the first request, which learns its size and version, and reads through the cache,
//! with retries.

use crate::address::Address;
use crate::answer::{Answer, FileFacts};
use crate::cache::{BlockBytes, BlockCache, BlockRequest, LoadTicket, Lookup};
use crate::delay::back_off;
use crate::failure::{Failure, FailureClass};
use crate::requester::{BodyStream, Requester};
use crate::statistics::count;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest number of blocks that are received although nobody wants them any more, so that the connection
/// can be used again.
const MAX_UNWANTED_BLOCKS: u64 = 4;
/// Bytes by which the memory for a whole file of unknown length grows.
const WHOLE_STEP_BYTES: usize = 64 << 10;

/// What the files of a client have in common.
pub(crate) struct Network {
    pub requester: Requester,
    pub cache: BlockCache,
    pub whole_bytes: AtomicU64,
}

/// A file on a server.
pub(crate) struct RemoteFile {
    network: Arc<Network>,
    number: u32,
    address: Address,
    connection: Mutex<Connection>,
}

/// What is known about the file. Once it is connected, it stays so.
enum Connection {
    New,
    /// The first request failed. The next read reports that, and the one after it tries again.
    Failed(Failure),
    Ranges(Arc<FileFacts>),
    Whole(Arc<WholeFile>),
}

/// A file whose server does not serve ranges.
struct WholeFile {
    bytes: Vec<u8>,
    /// Gives the memory back when the file is dropped.
    _memory: WholeMemory,
}

/// Memory that counts against `HttpOptions::whole_bytes`.
struct WholeMemory {
    network: Arc<Network>,
    bytes: u64,
}

/// Takes bytes of a read, and their place in it. They come in order, without gaps.
pub(crate) type ByteSink<'a> = dyn FnMut(usize, &[u8]) + 'a;

impl WholeMemory {
    /// Counts more bytes of a file that has `asked` bytes, if there is room for them.
    fn grow(&mut self, bytes: u64, asked: u64) -> Result<(), Failure> {
        let limit = self.network.requester.options.whole_bytes;
        let used = &self.network.whole_bytes;
        let add = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        let added = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        if let Err(used) = added {
            let what = "the server does not serve ranges, and the whole file takes more bytes of memory than \
                        HttpOptions::whole_bytes leaves";
            let allowed = (limit - used).saturating_add(self.bytes);
            return Err(Failure::new(FailureClass::Limit { asked, allowed }, what));
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for WholeMemory {
    fn drop(&mut self) {
        self.network.whole_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl RemoteFile {
    /// Describes a file; nothing is requested yet. `number` is its own among those of the client.
    pub fn new(network: Arc<Network>, number: u32, address: Address) -> RemoteFile {
        RemoteFile { network, number, address, connection: Mutex::new(Connection::New) }
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the size in bytes; makes the first request if it was not made yet. A failure is reported once
    /// more, to the next read.
    pub fn size(&self) -> Result<u64, Failure> {
        let mut connection = self.lock();
        if matches!(*connection, Connection::New) {
            *connection = self.connect().unwrap_or_else(Connection::Failed);
        }
        match &*connection {
            Connection::Ranges(facts) => Ok(facts.size),
            Connection::Whole(file) => Ok(file.bytes.len() as u64),
            Connection::Failed(failure) => Err(failure.clone()),
            Connection::New => Err(Failure::cancelled()),
        }
    }

    /// Returns the size like [`RemoteFile::size`]; a failure is forgotten.
    pub fn size_or_retry(&self) -> Result<u64, Failure> {
        let size = self.size();
        self.take_failure();
        size
    }

    fn take_failure(&self) -> Option<Failure> {
        let mut connection = self.lock();
        match &*connection {
            Connection::Failed(failure) => {
                let failure = failure.clone();
                *connection = Connection::New;
                Some(failure)
            }
            _ => None,
        }
    }

    /// Returns whether the server serves ranges; `None` if it was not asked yet, or is being asked.
    pub fn serves_ranges(&self) -> Option<bool> {
        match &*self.connection.try_lock().ok()? {
            Connection::Ranges(_) => Some(true),
            Connection::Whole(_) => Some(false),
            Connection::New | Connection::Failed(_) => None,
        }
    }

    /// Reads a range of the file. What is not in the cache is requested; that is retried as long as the read
    /// is wanted. Bytes that were delivered before a failure are in the cache, if it has room for them.
    pub fn read(
        &self,
        range: Range<u64>,
        is_wanted: &dyn Fn() -> bool,
        sink: &mut ByteSink<'_>,
    ) -> Result<(), Failure> {
        if let Some(failure) = self.take_failure() {
            return Err(failure);
        }
        if range.end > self.size_or_retry()? {
            let what = "the read reaches beyond the end of the file";
            return Err(Failure::permanent(std::io::ErrorKind::UnexpectedEof, what));
        }
        let connection = self.lock();
        match &*connection {
            Connection::Ranges(facts) => {
                let facts = facts.clone();
                drop(connection);
                self.read_blocks(&facts, range, is_wanted, sink)
            }
            Connection::Whole(file) => {
                let file = file.clone();
                drop(connection);
                sink(0, file.bytes.get(range.start as usize..range.end as usize).unwrap_or_default());
                Ok(())
            }
            Connection::New | Connection::Failed(_) => Err(Failure::cancelled()),
        }
    }

    fn read_blocks(
        &self,
        facts: &FileFacts,
        range: Range<u64>,
        is_wanted: &dyn Fn() -> bool,
        sink: &mut ByteSink<'_>,
    ) -> Result<(), Failure> {
        let counters = &self.network.requester.counters;
        let is_wanted = &|| is_wanted() && !self.network.requester.is_closed();
        let mut next = range.start;
        while next < range.end {
            let request = self.block_request(facts, next..range.end);
            let mut deliver = |block: u64, bytes: &BlockBytes| {
                let (start, end) = (request.bytes(block).start, request.bytes(block).end.min(range.end));
                let own = bytes.get((next - start) as usize..(end - start) as usize).unwrap_or_default();
                sink((next - range.start) as usize, own);
                next = end;
            };
            match self.network.cache.look_up(request, is_wanted, &|| count(&counters.block_waits, 1))? {
                Lookup::Cached(bytes) => {
                    count(&counters.block_hits, 1);
                    deliver(request.first, &bytes);
                }
                Lookup::Load(mut ticket) => {
                    if let Err(failure) = self.load(facts, &mut ticket, &mut deliver, is_wanted) {
                        ticket.fail(&failure);
                        return Err(failure);
                    }
                }
                Lookup::Failed(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    fn block_request(&self, facts: &FileFacts, range: Range<u64>) -> BlockRequest {
        let options = &self.network.requester.options;
        let block_bytes = options.block_bytes;
        BlockRequest {
            file: self.number,
            first: range.start / block_bytes,
            last: range.end.saturating_sub(1) / block_bytes,
            max_count: options.max_request_bytes / block_bytes,
            block_bytes,
            file_size: facts.size,
        }
    }

    /// Loads the blocks of a ticket, with retries. Each block is delivered as soon as it is there; a retry
    /// goes on after it.
    fn load(
        &self,
        facts: &FileFacts,
        ticket: &mut LoadTicket<'_>,
        deliver: &mut dyn FnMut(u64, &BlockBytes),
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let mut failures = 0;
        loop {
            let before = ticket.missing().start;
            let Err(failure) = self.load_once(facts, ticket, deliver, is_wanted) else {
                return Ok(());
            };
            if ticket.missing().start > before {
                failures = 0;
            }
            failures += 1;
            self.await_retry(failure, failures, is_wanted)?;
        }
    }

    fn load_once(
        &self,
        facts: &FileFacts,
        ticket: &mut LoadTicket<'_>,
        deliver: &mut dyn FnMut(u64, &BlockBytes),
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let range = ticket.missing_bytes();
        let checked = self.network.requester.request(&self.address, &range, Some(facts))?;
        let mut body = checked.body;
        let block_bytes = self.network.requester.options.block_bytes;
        let mut start = range.start;
        for block in ticket.missing() {
            let end = start.saturating_add(block_bytes).min(range.end);
            let mut bytes = vec![0; (end - start) as usize];
            body.read_exact(&mut bytes)?;
            if end == range.end {
                body.check_end()?;
            }
            let bytes = Arc::new(bytes);
            count(&self.network.requester.counters.blocks_loaded, 1);
            ticket.insert(bytes.clone());
            deliver(block, &bytes);
            start = end;
            let missing = ticket.missing();
            if missing.end - missing.start > MAX_UNWANTED_BLOCKS && !is_wanted() {
                return Err(Failure::cancelled());
            }
        }
        Ok(())
    }

    /// Waits before the next attempt; fails if there is none.
    fn await_retry(
        &self,
        failure: Failure,
        failures: u32,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let requester = &self.network.requester;
        let options = &requester.options;
        if !failure.is_temporary() {
            return Err(failure);
        }
        if failures > options.retries {
            let what = format!("{} ({failures} attempts)", failure.what);
            return Err(Failure { what, ..failure });
        }
        let asked = failure.retry_after.unwrap_or_default().min(options.max_retry_after);
        let delay = back_off(options.first_delay, options.max_delay, failures).max(asked);
        if !requester.pause(delay, is_wanted) {
            return Err(Failure::cancelled());
        }
        count(&requester.counters.retries, 1);
        Ok(())
    }

    /// Makes the first request, with retries: for the first block, which tells all else.
    fn connect(&self) -> Result<Connection, Failure> {
        let options = &self.network.requester.options;
        let block_bytes = options.block_bytes;
        let request = BlockRequest {
            file: self.number,
            first: 0,
            last: 0,
            max_count: 1,
            block_bytes,
            // It may be smaller; the cache counts what comes.
            file_size: block_bytes,
        };
        let is_open = || !self.network.requester.is_closed();
        let mut ticket = match self.network.cache.look_up(request, &is_open, &|| ())? {
            Lookup::Load(ticket) => ticket,
            // Nobody else loads blocks of a file that is not connected.
            Lookup::Cached(_) | Lookup::Failed(_) => return Err(Failure::cancelled()),
        };
        let mut failures = 0;
        loop {
            match self.connect_once(&mut ticket) {
                Ok(connection) => return Ok(connection),
                Err(failure) => {
                    failures += 1;
                    self.await_retry(failure, failures, &is_open)?;
                }
            }
        }
    }

    fn connect_once(&self, ticket: &mut LoadTicket<'_>) -> Result<Connection, Failure> {
        let range = ticket.missing_bytes();
        let checked = self.network.requester.request(&self.address, &range, None)?;
        let mut body = checked.body;
        match checked.answer {
            Answer::Range(facts) => {
                let mut bytes = vec![0; facts.size.min(range.end) as usize];
                body.read_exact(&mut bytes)?;
                body.check_end()?;
                count(&self.network.requester.counters.blocks_loaded, 1);
                ticket.insert(Arc::new(bytes));
                Ok(Connection::Ranges(Arc::new(facts)))
            }
            Answer::Whole(size) => Ok(Connection::Whole(Arc::new(self.read_whole(size, &mut body)?))),
            Answer::Empty => {
                let facts = FileFacts { size: 0, validator: Default::default() };
                Ok(Connection::Ranges(Arc::new(facts)))
            }
        }
    }

    /// Reads a whole file, within the memory for such files.
    fn read_whole(&self, size: Option<u64>, body: &mut BodyStream<'_>) -> Result<WholeFile, Failure> {
        let mut memory = WholeMemory { network: self.network.clone(), bytes: 0 };
        if let Some(size) = size {
            memory.grow(size, size)?;
        }
        let mut bytes = Vec::new();
        let mut step = vec![0; WHOLE_STEP_BYTES];
        loop {
            let filled = body.read_some(&mut step)?;
            if filled == 0 {
                break;
            }
            let sum = (bytes.len() + filled) as u64;
            if sum > memory.bytes {
                if size.is_some() {
                    return Err(Failure::wrong_answer("the server sent more bytes than it promised"));
                }
                memory.grow(sum - memory.bytes, sum)?;
            }
            bytes.extend_from_slice(&step[..filled]);
        }
        if size.is_some_and(|size| size != bytes.len() as u64) {
            let what = "the server's answer ended before its promised length";
            return Err(Failure::temporary(std::io::ErrorKind::UnexpectedEof, what));
        }
        Ok(WholeFile { bytes, _memory: memory })
    }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        self.network.cache.remove_file(self.number);
    }
}
