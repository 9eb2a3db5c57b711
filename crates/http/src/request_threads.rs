//! The threads that send requests for players. A player's own threads would wait for the network while files
//! on the disk wait for them; these wait for nobody else. The most urgent read comes first.
//!
//! A read that is cancelled is completed at once, so that its buffer is free for another, also while a thread
//! loads its blocks; these then go to the cache.

use crate::failure::Failure;
use crate::remote_file::RemoteFile;
use meshreel::Error;
use meshreel::stream::ReadRequest;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Reads for which the queue has room without an allocation.
const QUEUE_CAPACITY: usize = 1024;

/// Threads and their queue.
pub(crate) struct RequestThreads {
    queue: Arc<ReadQueue>,
}

struct ReadQueue {
    state: Mutex<QueueState>,
    filled: Condvar,
    /// The read of each thread, until it is completed.
    running: Vec<Mutex<Option<ReadRequest>>>,
}

struct QueueState {
    waiting: Vec<QueuedRead>,
    count: u64,
    closed: bool,
}

struct QueuedRead {
    file: Arc<RemoteFile>,
    read: ReadRequest,
    number: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RequestThreads {
    /// Starts the threads. If the system provides fewer, these do the work; if it provides none, that is an
    /// error.
    pub fn new(count: usize) -> Result<RequestThreads, Error> {
        let queue = Arc::new(ReadQueue {
            state: Mutex::new(QueueState {
                waiting: Vec::with_capacity(QUEUE_CAPACITY),
                count: 0,
                closed: false,
            }),
            filled: Condvar::new(),
            running: (0..count).map(|_| Mutex::default()).collect(),
        });
        // Dropped on an error, which ends the threads.
        let threads = RequestThreads { queue };
        for number in 0..count {
            let queue = threads.queue.clone();
            let thread = std::thread::Builder::new().name(format!("meshreel http {number}"));
            match thread.spawn(move || queue.run_worker(number)) {
                Ok(_) => {}
                Err(source) if number == 0 => {
                    let what = "the system gives no thread for it".into();
                    return Err(Error::Io { path: "meshreel http".into(), what, source });
                }
                Err(_) => break,
            }
        }
        Ok(threads)
    }

    /// Queues a read of a file. After [`RequestThreads::close`] it is completed as interrupted.
    pub fn start(&self, file: Arc<RemoteFile>, read: ReadRequest) {
        let mut state = lock(&self.queue.state);
        if state.closed {
            drop(state);
            drop(read);
            return;
        }
        state.count += 1;
        let number = state.count;
        state.waiting.push(QueuedRead { file, read, number });
        drop(state);
        self.queue.filled.notify_one();
    }

    /// Completes the reads that were cancelled.
    pub fn drop_cancelled(&self) {
        self.queue.complete_early(ReadRequest::is_cancelled);
    }

    /// Completes all reads, and ends the threads after what they are doing.
    pub fn close(&self) {
        lock(&self.queue.state).closed = true;
        self.queue.filled.notify_all();
        self.queue.complete_early(|_| true);
    }
}

impl Drop for RequestThreads {
    fn drop(&mut self) {
        self.close();
    }
}

impl ReadQueue {
    /// Completes, as interrupted, the reads for which `is_over` holds. Nothing is locked meanwhile, as the
    /// completion of a read may start others.
    fn complete_early(&self, is_over: impl Fn(&ReadRequest) -> bool) {
        loop {
            let mut state = lock(&self.state);
            let Some(index) = state.waiting.iter().position(|queued| is_over(&queued.read)) else {
                break;
            };
            let queued = state.waiting.swap_remove(index);
            drop(state);
            drop(queued);
        }
        for running in &self.running {
            // A thread that holds it is copying, and about to complete it.
            let Ok(mut slot) = running.try_lock() else {
                continue;
            };
            let read = slot.take_if(|read| is_over(read));
            drop(slot);
            drop(read);
        }
    }

    /// Takes the most urgent read, or waits for one; `None` when the queue is closed.
    fn next(&self) -> Option<QueuedRead> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return None;
            }
            let urgency = |index: &usize| (state.waiting[*index].read.due(), state.waiting[*index].number);
            if let Some(index) = (0..state.waiting.len()).min_by_key(urgency) {
                return Some(state.waiting.swap_remove(index));
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run_worker(&self, thread: usize) {
        while let Some(QueuedRead { file, mut read, .. }) = self.next() {
            let size = read.buffer().len() as u64;
            let range = read.offset()..read.offset().saturating_add(size);
            let slot = &self.running[thread];
            *lock(slot) = Some(read);
            let is_wanted = || lock(slot).as_ref().is_some_and(|read| !read.is_cancelled());
            let mut copy = |start: usize, bytes: &[u8]| {
                if let Some(read) = lock(slot).as_mut()
                    && let Some(room) = read.buffer().get_mut(start..start + bytes.len())
                {
                    room.copy_from_slice(bytes);
                }
            };
            // A panic would leave the read in its place, and its player would wait for it forever.
            let result = catch_unwind(AssertUnwindSafe(|| file.read(range, &is_wanted, &mut copy)));
            let result = result
                .unwrap_or_else(|_| Err(Failure::permanent(io::ErrorKind::Other, "the request failed")));
            let read = lock(slot).take();
            if let Some(read) = read {
                // A player that is told of some bytes alone does not learn the reason; it reads again unit by
                // unit, and finds what arrived in the cache.
                read.complete(result.map(|()| size as usize).map_err(|failure| failure.to_io()));
            }
        }
    }
}
