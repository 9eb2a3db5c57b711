//! Reads of frames, which the page fetches: it asks for the list of reads, and completes them in any order.

use crate::blocks::Blocks;
use meshreel::stream::{AsyncSource, ReadRequest};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The next number of a read; unique over all files.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);

/// The pending reads of a file.
pub(crate) struct Reads {
    blocks: Arc<Blocks>,
    size: u64,
    pending: Mutex<Vec<PendingRead>>,
}

struct PendingRead {
    number: u32,
    read: ReadRequest,
    is_announced: bool,
}

/// A read that the page does not know yet: number, offset, size, and when it is due.
pub(crate) type NewRead = (u32, u64, usize, u64);

impl Reads {
    pub fn new(blocks: Arc<Blocks>, size: u64) -> Reads {
        Reads { blocks, size, pending: Mutex::default() }
    }

    fn lock_pending(&self) -> MutexGuard<'_, Vec<PendingRead>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns new reads, and the numbers of those known to the page that are no longer wanted.
    pub fn take_changes(&self) -> (Vec<NewRead>, Vec<u32>) {
        let (mut new, mut cancelled) = (Vec::new(), Vec::new());
        // Dropping a read completes it, which must not happen while the list is locked.
        let mut dropped = Vec::new();
        let mut begun = self.lock_pending();
        let mut kept = Vec::with_capacity(begun.len());
        for mut read in begun.drain(..) {
            if read.read.is_cancelled() {
                if read.is_announced {
                    cancelled.push(read.number);
                }
                dropped.push(read);
                continue;
            }
            if !std::mem::replace(&mut read.is_announced, true) {
                let (offset, due) = (read.read.offset(), read.read.due());
                new.push((read.number, offset, read.read.buffer().len(), due));
            }
            kept.push(read);
        }
        *begun = kept;
        drop(begun);
        drop(dropped);
        (new, cancelled)
    }

    /// Completes a read with bytes from its start on, or with an error; `false` if there is no such read.
    pub fn complete(&self, number: u32, bytes: io::Result<&[u8]>) -> bool {
        let mut begun = self.lock_pending();
        let Some(at) = begun.iter().position(|read| read.number == number) else {
            return false;
        };
        let mut read = begun.swap_remove(at).read;
        drop(begun);
        let result = bytes.map(|bytes| {
            let size = bytes.len().min(read.buffer().len());
            read.buffer()[..size].copy_from_slice(&bytes[..size]);
            size
        });
        read.complete(result);
        true
    }

    /// Drops all reads, which completes them.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.lock_pending());
        drop(all);
    }
}

impl AsyncSource for Reads {
    fn size(&self) -> u64 {
        self.size
    }

    fn start(&self, mut read: ReadRequest) {
        let offset = read.offset();
        if self.blocks.copy(offset, read.buffer(), false) {
            let size = read.buffer().len();
            return read.complete(Ok(size));
        }
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        self.lock_pending().push(PendingRead { number, read, is_announced: false });
    }
}
