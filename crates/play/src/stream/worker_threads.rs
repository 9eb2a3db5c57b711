//! Worker threads and their shared queue: bounded, ordered by deadline, allocated once. [`Pool`] is the trait
//! for hosts that have threads of their own.

use crate::Error;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The largest number of threads of one kind.
pub(crate) const MAX_THREADS: usize = 1024;

/// A job in the queue, and its position there.
struct QueuedJob<T> {
    due: u64,
    number: u64,
    job: T,
}

impl<T> PartialEq for QueuedJob<T> {
    fn eq(&self, other: &QueuedJob<T>) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for QueuedJob<T> {}

impl<T> PartialOrd for QueuedJob<T> {
    fn partial_cmp(&self, other: &QueuedJob<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for QueuedJob<T> {
    fn cmp(&self, other: &QueuedJob<T>) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

/// The jobs that wait for a thread.
struct JobQueue<T> {
    state: Mutex<QueueState<T>>,
    filled: Condvar,
    run: fn(T),
}

struct QueueState<T> {
    jobs: BinaryHeap<Reverse<QueuedJob<T>>>,
    number: u64,
    closed: bool,
}

impl<T> JobQueue<T> {
    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_worker(&self) {
        let mut turns = self.lock();
        loop {
            if let Some(Reverse(turn)) = turns.jobs.pop() {
                drop(turns);
                // A job that panics reports that when it is dropped; the thread goes on.
                let _ = catch_unwind(AssertUnwindSafe(|| (self.run)(turn.job)));
                turns = self.lock();
            } else if turns.closed {
                return;
            } else {
                turns = (self.filled.wait(turns)).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Threads with a queue. Without threads, jobs wait for [`WorkerThreads::run_all`].
pub(crate) struct WorkerThreads<T> {
    queue: Arc<JobQueue<T>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    count: usize,
}

impl<T: Send + 'static> WorkerThreads<T> {
    /// Starts the threads; `room` jobs can wait without an allocation. If the system provides fewer threads,
    /// these do the work; if it provides none although some were requested, that is an error.
    pub fn new(name: &str, threads: usize, room: usize, run: fn(T)) -> Result<WorkerThreads<T>, Error> {
        let queue = Arc::new(JobQueue {
            state: Mutex::new(QueueState { jobs: BinaryHeap::with_capacity(room), number: 0, closed: false }),
            filled: Condvar::new(),
            run,
        });
        let mut started = Vec::new();
        for i in 0..threads {
            let queue = queue.clone();
            let thread = std::thread::Builder::new().name(format!("{name} {i}"));
            match thread.spawn(move || queue.run_worker()) {
                Ok(thread) => started.push(thread),
                Err(error) if i == 0 => {
                    let what = "the system gives no thread for it";
                    return Err(Error::Io { path: name.into(), what: what.into(), source: error });
                }
                Err(_) => break,
            }
        }
        Ok(WorkerThreads { count: started.len(), threads: Mutex::new(started), queue })
    }

    pub fn threads(&self) -> usize {
        self.count
    }

    /// Adds a job. The smallest `due` is done first, equal ones in their order of arrival. After
    /// [`WorkerThreads::close`] the job is dropped.
    pub fn push(&self, due: u64, what: T) {
        let mut turns = self.queue.lock();
        if turns.closed {
            drop(turns);
            drop(what);
            return;
        }
        turns.number += 1;
        let number = turns.number;
        turns.jobs.push(Reverse(QueuedJob { due, number, job: what }));
        drop(turns);
        self.queue.filled.notify_one();
    }

    /// Runs all waiting jobs on this thread, if there are no worker threads. Returns whether there were any.
    pub fn run_all(&self) -> bool {
        let mut any = false;
        let next = || match self.count {
            0 => self.queue.lock().jobs.pop(),
            _ => None,
        };
        while let Some(Reverse(turn)) = next() {
            (self.queue.run)(turn.job);
            any = true;
        }
        any
    }

    /// Accepts no more jobs; waiting ones are still done. `join` waits for that.
    pub fn close(&self, join: bool) {
        self.queue.lock().closed = true;
        self.queue.filled.notify_all();
        self.run_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let own = std::thread::current().id();
        for thread in threads {
            if join && thread.thread().id() != own {
                // A panic was reported by the thread itself.
                let _ = thread.join();
            }
        }
    }
}

impl<T> Drop for WorkerThreads<T> {
    fn drop(&mut self) {
        // Threads that were not closed end, too.
        self.queue.lock().closed = true;
        self.queue.filled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn the_most_urgent_comes_first_and_equals_in_order() {
        let (send, receive) = mpsc::channel();
        let crew = WorkerThreads::new("test", 0, 8, |(n, send): (u32, mpsc::Sender<u32>)| {
            let _ = send.send(n);
        })
        .unwrap();
        for (due, n) in [(5, 0), (1, 1), (5, 2), (0, 3), (1, 4)] {
            crew.push(due, (n, send.clone()));
        }
        assert!(crew.run_all() && !crew.run_all());
        drop(send);
        crew.close(true);
        assert_eq!(receive.iter().collect::<Vec<_>>(), [3, 1, 4, 0, 2]);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn threads_do_all_of_it_before_they_end() {
        let (send, receive) = mpsc::channel();
        let crew = WorkerThreads::new("test", 3, 8, |(n, send): (u32, mpsc::Sender<u32>)| {
            let _ = send.send(n);
        })
        .unwrap();
        for n in 0..100 {
            crew.push(0, (n, send.clone()));
        }
        crew.close(true);
        crew.push(0, (100, send));
        let mut all: Vec<u32> = receive.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }
}
