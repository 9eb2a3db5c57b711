//! Adapts an asynchronous source to blocking readers that must not wait: a read of bytes that are not there
//! yet is started and fails as one that would block; when they are there, the whole operation is retried, and
//! finds them.

use crate::stream::io::{AsyncSource, ReadRequest, Waiter};
use meshreel_format::ReadAt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The reads that were started, until they are fetched.
pub(crate) struct ByteRanges {
    source: Arc<dyn AsyncSource>,
    list: Mutex<Vec<ByteRange>>,
    /// `true` once the file is open, so that what is read is read only once.
    opened: AtomicBool,
}

struct ByteRange {
    offset: u64,
    bytes: Vec<u8>,
    /// The number of bytes that are there.
    filled: usize,
    waiter: Option<Arc<Waiter>>,
}

impl ByteRanges {
    pub fn new(source: Arc<dyn AsyncSource>) -> ByteRanges {
        ByteRanges { source, list: Mutex::default(), opened: AtomicBool::new(false) }
    }

    /// `true` if a read has not ended.
    pub fn is_waiting(&self) -> bool {
        let ended = |range: &ByteRange| range.waiter.as_ref().is_none_or(|waiter| waiter.has_ended());
        !self.lock().iter().all(ended)
    }

    /// Notes that the operation will not be retried, so that what was read can be dropped.
    pub fn finish(&self) {
        self.opened.store(true, Ordering::Relaxed);
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ByteRange>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ByteRange {
    /// Takes in what has been read, and begins to read the rest. Returns an error if that takes time.
    fn advance(&mut self, source: &dyn AsyncSource) -> io::Result<()> {
        while self.filled < self.bytes.len() {
            let waiter = match self.waiter.take() {
                Some(waiter) => waiter,
                None => {
                    let rest = self.bytes.len() - self.filled;
                    let (read, waiter) = ReadRequest::with_waiter(self.offset + self.filled as u64, rest);
                    source.start(read);
                    waiter
                }
            };
            let Some((result, words)) = waiter.take() else {
                self.waiter = Some(waiter);
                return Err(io::ErrorKind::WouldBlock.into());
            };
            let filled = result?;
            if filled == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let bytes: &[u8] = bytemuck::cast_slice(&words);
            self.bytes[self.filled..][..filled].copy_from_slice(&bytes[..filled]);
            self.filled += filled;
        }
        Ok(())
    }
}

impl ReadAt for ByteRanges {
    fn len(&self) -> u64 {
        self.source.size()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.source.size()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut list = self.lock();
        let known = list.iter().position(|p| p.offset == offset && p.bytes.len() == out.len());
        let at = known.unwrap_or_else(|| {
            list.push(ByteRange { offset, bytes: vec![0; out.len()], filled: 0, waiter: None });
            list.len() - 1
        });
        let result = list[at].advance(&*self.source);
        if result.is_ok() {
            out.copy_from_slice(&list[at].bytes);
        }
        let blocks = matches!(&result, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        if !blocks && (result.is_err() || self.opened.load(Ordering::Relaxed)) {
            list.swap_remove(at);
        }
        result
    }
}
