//! Asynchronous reads. [`Source`] is the trait: begin to fill a buffer, report when it is done, and perhaps
//! cancel. Files and anything else with positioned reads ([`ReadAt`]) are read by threads of the player
//! ([`Positioned`]); a pack file or an object store implements the trait itself and blocks no thread.
//!
//! Errors, short reads, completions that come late or in another order are normal, as is a completion after
//! the cancel.

use crate::stream::crew::Crew;
use crate::stream::heap::WriteGuard;
use crate::stream::work::Work;
use meshreel_format::ReadAt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The bytes that are read between two checks for cancellation.
const PIECE: usize = 256 << 10;

/// Reads the bytes of a file asynchronously.
pub trait Source: Send + Sync {
    /// Returns the length in bytes, which does not change while it is open.
    fn size(&self) -> u64;
    /// Begins to read and returns at once. The holder of the [`Read`] fills its buffer and calls
    /// [`Read::complete`], on any thread and in any order; also within this call, if that takes no time.
    /// Called from the tick.
    fn start(&self, read: Read);
    /// Notes that the result of this read is no longer wanted. Completing it early, in any way, frees its
    /// buffer for another read.
    fn cancel(&self, token: Token) {
        let _ = token;
    }
}

/// The id of a read between its start and its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub(crate) u64);

impl Token {
    /// Returns the id as a plain number.
    pub const fn to_bits(self) -> u64 {
        self.0
    }
    /// Returns the id for a number from [`Token::to_bits`].
    pub const fn from_bits(bits: u64) -> Token {
        Token(bits)
    }
}

/// A request for bytes at a position, with the buffer for them. Dropping it completes it as interrupted.
pub struct Read {
    token: Token,
    offset: u64,
    size: usize,
    due: u64,
    buffer: Option<Buffer>,
    done: Done,
}

enum Buffer {
    Heap(WriteGuard),
    /// Memory for opening a file, or a database's slot.
    Own(Vec<u64>),
}

enum Done {
    Node(Arc<Work>, u32),
    Waiter(Arc<Waiter>),
    Slot(Arc<Mailbox>, u32),
}

/// Collects the finished reads of a database, by slot.
pub(crate) struct Mailbox(Vec<Post>);

#[derive(Default)]
struct Post {
    cancelled: AtomicBool,
    token: AtomicU64,
    ended: Mutex<Option<(io::Result<usize>, Vec<u64>)>>,
}

impl Mailbox {
    pub fn new(slots: usize) -> Mailbox {
        Mailbox((0..slots).map(|_| Post::default()).collect())
    }

    /// Prepares a slot for a new read.
    pub fn began(&self, slot: u32, token: Token) {
        if let Some(post) = self.0.get(slot as usize) {
            post.token.store(token.0, Ordering::Relaxed);
            post.cancelled.store(false, Ordering::Relaxed);
        }
    }

    /// Notes that a slot's result is no longer wanted; returns the read's token.
    pub fn cancel(&self, slot: u32) -> Option<Token> {
        let post = self.0.get(slot as usize)?;
        post.cancelled.store(true, Ordering::Relaxed);
        Some(Token(post.token.load(Ordering::Relaxed)))
    }

    /// Takes the result of a slot's read, if it has ended.
    pub fn take(&self, slot: u32) -> Option<(io::Result<usize>, Vec<u64>)> {
        let post = self.0.get(slot as usize)?;
        let mut ended = post.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.take()
    }

    fn put(&self, slot: u32, result: io::Result<usize>, words: Vec<u64>) {
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
    there: Condvar,
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

impl Read {
    /// Returns a read into the heap, for node `node`.
    pub(crate) fn new(
        work: Arc<Work>,
        node: u32,
        token: Token,
        offset: u64,
        size: usize,
        due: u64,
        guard: WriteGuard,
    ) -> Read {
        Read { token, offset, size, due, buffer: Some(Buffer::Heap(guard)), done: Done::Node(work, node) }
    }

    /// Returns a read for opening a file, and its waiter.
    pub(crate) fn waited(offset: u64, size: usize) -> (Read, Arc<Waiter>) {
        let waiter = Arc::new(Waiter::default());
        let buffer = Some(Buffer::Own(vec![0; size.div_ceil(8)]));
        let done = Done::Waiter(waiter.clone());
        (Read { token: Token(u64::MAX), offset, size, due: 0, buffer, done }, waiter)
    }

    /// Returns a read into a slot's memory, which the mailbox returns.
    pub(crate) fn into_slot(
        mailbox: Arc<Mailbox>,
        slot: u32,
        token: Token,
        offset: u64,
        size: usize,
        words: Vec<u64>,
    ) -> Read {
        Read {
            token,
            offset,
            size,
            due: 0,
            buffer: Some(Buffer::Own(words)),
            done: Done::Slot(mailbox, slot),
        }
    }

    /// Returns its token.
    pub fn token(&self) -> Token {
        self.token
    }
    /// Returns the offset of the first byte to read, from the start of the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }
    /// Returns the time at which it is wanted, in microseconds of the player's ticks: smaller is more urgent.
    /// 0 for reads that open a file.
    pub fn due(&self) -> u64 {
        self.due
    }
    /// `true` if it belongs to the opening of a file, for which a thread is waiting (or ticks, without
    /// threads).
    pub fn is_opening(&self) -> bool {
        matches!(self.done, Done::Waiter(_))
    }
    /// `true` if the result is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        match &self.done {
            Done::Node(work, node) => !work.graph.is_wanted(*node),
            Done::Waiter(_) => false,
            Done::Slot(mailbox, slot) => mailbox.is_cancelled(*slot),
        }
    }
    /// Returns the buffer to fill.
    pub fn buffer(&mut self) -> &mut [u8] {
        let words: &mut [u64] = match &mut self.buffer {
            Some(Buffer::Heap(guard)) => guard,
            Some(Buffer::Own(words)) => words,
            None => &mut [],
        };
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
        let size = self.size.min(bytes.len());
        &mut bytes[..size]
    }
    /// Completes the read with the number of bytes at the start of the buffer that are valid, or with an
    /// error.
    pub fn complete(mut self, result: io::Result<usize>) {
        self.end(result);
    }

    fn end(&mut self, result: io::Result<usize>) {
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        let result = result.map(|filled| filled.min(self.size));
        match (buffer, &self.done) {
            (Buffer::Heap(guard), Done::Node(work, node)) => {
                drop(guard);
                work.read_ended(*node, self.size, result);
            }
            (Buffer::Own(words), Done::Waiter(waiter)) => {
                let mut place = waiter.result.lock().unwrap_or_else(PoisonError::into_inner);
                *place = Some((result, words));
                drop(place);
                waiter.there.notify_all();
            }
            (Buffer::Own(words), Done::Slot(mailbox, slot)) => mailbox.put(*slot, result, words),
            _ => {}
        }
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        self.end(Err(io::ErrorKind::Interrupted.into()));
    }
}

/// Adapts a source to blocking reads, to open a file on a thread that may wait.
pub(crate) struct Waiting {
    pub source: Arc<dyn Source>,
    /// Set when the player is dropped; then nothing is waited for any more.
    pub closing: Arc<AtomicBool>,
}

impl ReadAt for Waiting {
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

impl Waiting {
    fn read_some(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let (read, waiter) = Read::waited(offset, out.len());
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
            let wait = (waiter.there).wait_timeout(place, std::time::Duration::from_millis(50));
            place = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A file or memory that the player's threads read.
pub(crate) struct Positioned {
    pub source: Arc<dyn ReadAt>,
    pub crew: Arc<Crew<Positioning>>,
}

/// A read that waits for a thread.
pub(crate) struct Positioning(Arc<dyn ReadAt>, Read);

impl Positioning {
    /// Executes the read; called by the crew.
    pub fn run(self) {
        let Positioning(source, mut read) = self;
        let offset = read.offset;
        let mut result = Ok(read.size);
        let mut at = 0;
        while at < read.size {
            if read.is_cancelled() {
                result = Err(io::ErrorKind::Interrupted.into());
                break;
            }
            let end = (at + PIECE).min(read.size);
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

impl Source for Positioned {
    fn size(&self) -> u64 {
        self.source.len()
    }
    fn start(&self, read: Read) {
        if read.is_opening() {
            // It is called on a thread that may wait.
            return Positioning(self.source.clone(), read).run();
        }
        self.crew.push(read.due, Positioning(self.source.clone(), read));
    }
}
