//! A disk with the faults of real disks, and a pool that runs jobs in any order: both act only in `step`.

use meshreel::stream::{AsyncSource, Job, Pool, ReadRequest, ReadToken};
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A small random generator, so that each run is the same.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = (self.0.wrapping_mul(6364136223846793005)).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n.max(1)
    }
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The number of reads in a hundred that go wrong, by kind.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    pub errors: usize,
    pub short: usize,
    pub corrupt: usize,
    /// Reads that stay pending when others are completed.
    pub late: usize,
    /// The offset from which bytes cannot be read.
    pub truncated: Option<u64>,
}

/// A disk whose reads wait until [`Disk::step`]. Reads that open a file are served at once and without
/// faults.
pub struct Disk {
    size: u64,
    bytes: Mutex<Arc<[u8]>>,
    pending: Mutex<Vec<ReadRequest>>,
    faults: Mutex<Faults>,
    pub started: AtomicU64,
}

impl Disk {
    pub fn new(bytes: &Arc<[u8]>) -> Arc<Disk> {
        Arc::new(Disk {
            size: bytes.len() as u64,
            bytes: Mutex::new(bytes.clone()),
            pending: Mutex::default(),
            faults: Mutex::default(),
            started: AtomicU64::new(0),
        })
    }
    pub fn set_faults(&self, faults: Faults) {
        *self.faults.lock().unwrap() = faults;
    }
    /// Replaces the bytes of the file.
    pub fn replace(&self, bytes: &Arc<[u8]>) {
        *self.bytes.lock().unwrap() = bytes.clone();
    }
    pub fn pending(&self) -> usize {
        self.pending.lock().unwrap().len()
    }
    /// Completes all reads in random order, except those that are late.
    pub fn step(&self, random: &mut Random) {
        let faults = *self.faults.lock().unwrap();
        let mut pending = std::mem::take(&mut *self.pending.lock().unwrap());
        while !pending.is_empty() {
            let read = pending.swap_remove(random.below(pending.len()));
            if random.below(100) < faults.late {
                self.pending.lock().unwrap().push(read);
            } else {
                self.complete(read, faults, random);
            }
        }
    }

    fn complete(&self, mut read: ReadRequest, faults: Faults, random: &mut Random) {
        if random.below(100) < faults.errors {
            // Dropping it is an error as well.
            if random.one_in(2) {
                read.complete(Err(Error::from(ErrorKind::TimedOut)));
            }
            return;
        }
        let bytes = self.bytes.lock().unwrap().clone();
        let start = read.offset() as usize;
        let end = faults.truncated.map_or(bytes.len(), |t| bytes.len().min(t as usize));
        let buffer = read.buffer();
        let mut count = buffer.len().min(end.saturating_sub(start));
        if random.below(100) < faults.short {
            count = random.below(count + 1);
        }
        if count > 0 {
            buffer[..count].copy_from_slice(&bytes[start..start + count]);
        }
        if random.below(100) < faults.corrupt && count > 0 {
            buffer[random.below(count)] ^= 1 << random.below(8);
        }
        read.complete(Ok(count));
    }
}

impl AsyncSource for Disk {
    fn size(&self) -> u64 {
        self.size
    }
    fn start(&self, read: ReadRequest) {
        self.started.fetch_add(1, Ordering::Relaxed);
        if read.is_opening() {
            return self.complete(read, Faults::default(), &mut Random(0));
        }
        self.pending.lock().unwrap().push(read);
    }
    fn cancel(&self, token: ReadToken) {
        // Some disks react to it, others do not.
        let mut pending = self.pending.lock().unwrap();
        let place = pending.iter().position(|read| read.token() == token);
        let read = place.filter(|p| p % 2 == 0).map(|p| pending.swap_remove(p));
        drop(pending);
        drop(read);
    }
}

/// A pool whose jobs wait until [`ManualPool::step`].
#[derive(Default)]
pub struct ManualPool(Mutex<Vec<Job>>);

impl ManualPool {
    /// Runs up to `most` jobs in random order, and drops one in `drops`. Returns whether there were any.
    pub fn step(&self, random: &mut Random, most: usize, drops: usize) -> bool {
        for i in 0..most {
            let job = {
                let mut jobs = self.0.lock().unwrap();
                if jobs.is_empty() {
                    return i > 0;
                }
                let at = random.below(jobs.len());
                jobs.swap_remove(at)
            };
            if drops == 0 || !random.one_in(drops) {
                job.run();
            }
        }
        true
    }
}

impl Pool for ManualPool {
    fn start(&self, job: Job) {
        self.0.lock().unwrap().push(job);
    }
    fn threads(&self) -> usize {
        2
    }
}
