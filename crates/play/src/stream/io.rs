//! Asynchronous reads. [`AsyncSource`] is the trait: begin to fill a buffer, report when it is done, and
//! perhaps cancel. Files and anything else with positioned reads ([`ReadAt`]) are read by threads of the
//! player ([`PositionedSource`]); a pack file or an object store implements the trait itself and blocks no
//! thread.
//!
//! Errors, short reads, completions that come late or in another order are normal, as is a completion after
//! the cancel.

use crate::debug::impl_debug;
use crate::stream::heap::WriteGuard;
use crate::stream::jobs::JobContext;
use crate::stream::worker_threads::WorkerThreads;
use meshreel_format::ReadAt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The bytes that are read between two checks for cancellation.
const CANCEL_CHECK_BYTES: usize = 256 << 10;

/// A source that several files may read.
pub(crate) type SharedSource = Arc<dyn AsyncSource>;

/// Reads the bytes of a file asynchronously.
pub trait AsyncSource: Send + Sync {
    /// Returns the length in bytes, which does not change while it is open.
    fn size(&self) -> u64;
    /// Begins to read and returns at once. The holder of the [`ReadRequest`] fills its buffer and calls
    /// [`ReadRequest::complete`], on any thread and in any order; also within this call, if that takes no
    /// time. Called from the tick.
    fn start(&self, read: ReadRequest);
    /// Notes that the result of this read is no longer wanted. Completing it early, in any way, frees its
    /// buffer for another read.
    fn cancel(&self, token: ReadToken) {
        let _ = token;
    }
}

/// The id of a read between its start and its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReadToken(pub(crate) u64);

impl ReadToken {
    /// Returns the id as a plain number.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }
    /// Returns the id for a number from [`ReadToken::to_bits`].
    #[must_use]
    pub const fn from_bits(bits: u64) -> ReadToken {
        ReadToken(bits)
    }
}

/// A request for bytes at a position, with the buffer for them. Dropping it completes it as interrupted.
#[must_use = "a request that is dropped has failed"]
pub struct ReadRequest {
    token: ReadToken,
    offset: u64,
    size: usize,
    due: u64,
    buffer: Option<ReadBuffer>,
    done: Completion,
}

impl_debug!("ReadRequest", ReadRequest, |request| {
    token: request.token,
    offset: request.offset,
    size: request.size,
    due: request.due,
});

enum ReadBuffer {
    Heap(WriteGuard),
    /// Memory for opening a file, or a database's slot.
    Owned(Vec<u64>),
}

enum Completion {
    Node(Arc<JobContext>, u32),
    Waiter(Arc<Waiter>),
    Slot(Arc<FinishedReads>, u32),
}

/// Collects the finished reads of a database, by slot.
pub(crate) struct FinishedReads(Vec<FinishedRead>);

#[derive(Default)]
struct FinishedRead {
    cancelled: AtomicBool,
    token: AtomicU64,
    ended: Mutex<Option<(io::Result<usize>, Vec<u64>)>>,
}

impl FinishedReads {
    pub fn new(slots: usize) -> FinishedReads {
        FinishedReads((0..slots).map(|_| FinishedRead::default()).collect())
    }

    /// Prepares a slot for a new read.
    pub fn begin(&self, slot: u32, token: ReadToken) {
        if let Some(post) = self.0.get(slot as usize) {
            post.token.store(token.0, Ordering::Relaxed);
            post.cancelled.store(false, Ordering::Relaxed);
        }
    }

    /// Notes that a slot's result is no longer wanted; returns the read's token.
    pub fn cancel(&self, slot: u32) -> Option<ReadToken> {
        let post = self.0.get(slot as usize)?;
        post.cancelled.store(true, Ordering::Relaxed);
        Some(ReadToken(post.token.load(Ordering::Relaxed)))
    }

    /// Takes the result of a slot's read, if it has ended.
    pub fn take(&self, slot: u32) -> Option<(io::Result<usize>, Vec<u64>)> {
        let post = self.0.get(slot as usize)?;
        let mut ended = post.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.take()
    }

    fn store(&self, slot: u32, result: io::Result<usize>, words: Vec<u64>) {
        if let Some(post) = self.0.get(slot as usize) {
            let mut ended = post.ended.lock().unwrap_or_else(PoisonError::into_inner);
            *ended = Some((result, words));
        }
    }

    fn is_cancelled(&self, slot: u32) -> bool {
        let post = self.0.get(slot as usize);
        post.is_some_and(|post| post.cancelled.load(Ordering::Relaxed))
    }
}

/// The result of a read that a thread waits for while it opens a file, or that ticks poll.
#[derive(Default)]
pub(crate) struct Waiter {
    result: Mutex<Option<(io::Result<usize>, Vec<u64>)>>,
    ended: Condvar,
}

impl Waiter {
    /// Takes the result, if the read has ended.
    pub fn take(&self) -> Option<(io::Result<usize>, Vec<u64>)> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// `true` if the read has ended.
    pub fn has_ended(&self) -> bool {
        self.result.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl ReadRequest {
    /// Returns a read into the heap, for node `node`.
    pub(crate) fn new(
        work: Arc<JobContext>,
        node: u32,
        token: ReadToken,
        offset: u64,
        size: usize,
        due: u64,
        guard: WriteGuard,
    ) -> ReadRequest {
        ReadRequest {
            token,
            offset,
            size,
            due,
            buffer: Some(ReadBuffer::Heap(guard)),
            done: Completion::Node(work, node),
        }
    }

    /// Returns a read for opening a file, and its waiter.
    pub(crate) fn with_waiter(offset: u64, size: usize) -> (ReadRequest, Arc<Waiter>) {
        let waiter = Arc::new(Waiter::default());
        let buffer = Some(ReadBuffer::Owned(vec![0; size.div_ceil(8)]));
        let done = Completion::Waiter(waiter.clone());
        (ReadRequest { token: ReadToken(u64::MAX), offset, size, due: 0, buffer, done }, waiter)
    }

    /// Returns a read into a slot's memory, which the mailbox returns.
    pub(crate) fn for_slot(
        mailbox: Arc<FinishedReads>,
        slot: u32,
        token: ReadToken,
        offset: u64,
        size: usize,
        words: Vec<u64>,
    ) -> ReadRequest {
        ReadRequest {
            token,
            offset,
            size,
            due: 0,
            buffer: Some(ReadBuffer::Owned(words)),
            done: Completion::Slot(mailbox, slot),
        }
    }

    /// Returns its token.
    #[must_use]
    pub fn token(&self) -> ReadToken {
        self.token
    }
    /// Returns the offset of the first byte to read, from the start of the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }
    /// Returns the time at which it is wanted, in microseconds of the player's ticks: smaller is more urgent.
    /// 0 for reads that open a file.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }
    /// `true` if it belongs to the opening of a file, for which a thread is waiting (or ticks, without
    /// threads).
    #[must_use]
    pub fn is_opening(&self) -> bool {
        matches!(self.done, Completion::Waiter(_))
    }
    /// `true` if the result is no longer wanted.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match &self.done {
            Completion::Node(work, node) => !work.graph.is_wanted(*node),
            Completion::Waiter(_) => false,
            Completion::Slot(mailbox, slot) => mailbox.is_cancelled(*slot),
        }
    }
    /// Returns the buffer to fill.
    pub fn buffer(&mut self) -> &mut [u8] {
        let words: &mut [u64] = match &mut self.buffer {
            Some(ReadBuffer::Heap(guard)) => guard,
            Some(ReadBuffer::Owned(words)) => words,
            None => &mut [],
        };
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
        let size = self.size.min(bytes.len());
        &mut bytes[..size]
    }
    /// Completes the read with the number of bytes at the start of the buffer that are valid, or with an
    /// error.
    pub fn complete(mut self, result: io::Result<usize>) {
        self.finish(result);
    }

    fn finish(&mut self, result: io::Result<usize>) {
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        let result = result.map(|filled| filled.min(self.size));
        match (buffer, &self.done) {
            (ReadBuffer::Heap(guard), Completion::Node(work, node)) => {
                drop(guard);
                work.finish_read(*node, self.size, result);
            }
            (ReadBuffer::Owned(words), Completion::Waiter(waiter)) => {
                let mut place = waiter.result.lock().unwrap_or_else(PoisonError::into_inner);
                *place = Some((result, words));
                drop(place);
                waiter.ended.notify_all();
            }
            (ReadBuffer::Owned(words), Completion::Slot(mailbox, slot)) => {
                mailbox.store(*slot, result, words)
            }
            _ => {}
        }
    }
}

impl Drop for ReadRequest {
    fn drop(&mut self) {
        self.finish(Err(io::ErrorKind::Interrupted.into()));
    }
}

/// Adapts a source to blocking reads, to open a file on a thread that may wait.
pub(crate) struct BlockingSource {
    pub source: Arc<dyn AsyncSource>,
    /// Set when the player is dropped; then nothing is waited for any more.
    pub closing: Arc<AtomicBool>,
}

impl ReadAt for BlockingSource {
    fn len(&self) -> u64 {
        self.source.size()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.source.size()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut from = 0;
        while from < out.len() {
            let filled = self.read_some(offset + from as u64, &mut out[from..])?;
            if filled == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            from += filled;
        }
        Ok(())
    }
}

impl BlockingSource {
    fn read_some(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let (read, waiter) = ReadRequest::with_waiter(offset, out.len());
        self.source.start(read);
        let mut place = waiter.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some((result, words)) = place.take() {
                let filled = result?;
                let bytes: &[u8] = bytemuck::cast_slice(&words);
                out[..filled].copy_from_slice(&bytes[..filled]);
                return Ok(filled);
            }
            if self.closing.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if cfg!(target_family = "wasm") {
                // No other thread runs while this one waits.
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let wait = (waiter.ended).wait_timeout(place, std::time::Duration::from_millis(50));
            place = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A file or memory that the player's threads read.
pub(crate) struct PositionedSource {
    pub source: Arc<dyn ReadAt>,
    pub crew: Arc<WorkerThreads<QueuedRead>>,
}

/// A read that waits for a thread.
pub(crate) struct QueuedRead(Arc<dyn ReadAt>, ReadRequest);

impl QueuedRead {
    /// Executes the read; called by the worker threads.
    pub fn run(self) {
        let QueuedRead(source, mut read) = self;
        let offset = read.offset;
        let mut result = Ok(read.size);
        let mut at = 0;
        while at < read.size {
            if read.is_cancelled() {
                result = Err(io::ErrorKind::Interrupted.into());
                break;
            }
            let end = (at + CANCEL_CHECK_BYTES).min(read.size);
            if let Err(error) = source.read_at(offset + at as u64, &mut read.buffer()[at..end]) {
                // The bytes that were read before are valid.
                result = if at > 0 { Ok(at) } else { Err(error) };
                break;
            }
            at = end;
        }
        read.complete(result);
    }
}

impl AsyncSource for PositionedSource {
    fn size(&self) -> u64 {
        self.source.len()
    }
    fn start(&self, read: ReadRequest) {
        if read.is_opening() {
            // It is called on a thread that may wait.
            return QueuedRead(self.source.clone(), read).run();
        }
        self.crew.push(read.due, QueuedRead(self.source.clone(), read));
    }
}
