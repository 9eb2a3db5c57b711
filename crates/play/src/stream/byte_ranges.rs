//! A source as something that can be read by whoever must not wait: what is not there yet is begun, and the read fails
//! as one that would block; when it is there, the whole is tried again, and finds it.

use crate::stream::io::{Read, Source, Waiter};
use meshreel_format::ReadAt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reads that were begun, until nobody comes back for them.
pub(crate) struct ByteRanges {
    source: Arc<dyn Source>,
    list: Mutex<Vec<ByteRange>>,
    /// What is read from now on is read once.
    opened: AtomicBool,
}

struct ByteRange {
    offset: u64,
    bytes: Vec<u8>,
    /// How many are there.
    filled: usize,
    waiter: Option<Arc<Waiter>>,
}

impl ByteRanges {
    pub fn new(source: Arc<dyn Source>) -> ByteRanges {
        ByteRanges { source, list: Mutex::default(), opened: AtomicBool::new(false) }
    }

    /// Whether a read has not ended.
    pub fn is_waiting(&self) -> bool {
        let ended = |range: &ByteRange| range.waiter.as_ref().is_none_or(|waiter| waiter.has_ended());
        !self.lock().iter().all(ended)
    }

    /// Nothing is tried again from the start: what was read can go.
    pub fn opened(&self) {
        self.opened.store(true, Ordering::Relaxed);
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ByteRange>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ByteRange {
    /// Takes in what has been read, and begins to read the rest. Ends with an error where that takes time.
    fn go_on(&mut self, source: &dyn Source) -> io::Result<()> {
        while self.filled < self.bytes.len() {
            let waiter = match self.waiter.take() {
                Some(waiter) => waiter,
                None => {
                    let rest = self.bytes.len() - self.filled;
                    let (read, waiter) = Read::waited(self.offset + self.filled as u64, rest);
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
        let result = list[at].go_on(&*self.source);
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
