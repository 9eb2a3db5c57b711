//! The data that the tick shares with the threads: memory, the graph, and a task for each of its nodes. The
//! tick fills in a task before it arms the node, some thread executes it, and the tick empties it afterwards;
//! nobody waits for it.

use crate::Error;
use crate::debug::impl_debug;
use crate::decode::unit;
use crate::reel::order::FrameList;
use crate::stream::graph::JobGraph;
use crate::stream::heap::{Block, Memory, ReadGuard, WriteGuard};
use crate::stream::loaded::LoadedFile;
use crate::stream::stopwatch::Stopwatch;
use crate::stream::trace::span;
use crate::stream::worker_threads::{MAX_THREADS, WorkerThreads};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Runs the player's jobs. Each takes from some microseconds to a few milliseconds and never waits for
/// another.
///
/// The player has its own threads; this trait is for games that run the jobs on theirs.
pub trait Pool: Send + Sync {
    /// Runs `job` soon, on any thread, but not within this call if the frame must not wait for it. Called
    /// from the tick and from running jobs; must not block. A job that is dropped counts as cancelled.
    fn start(&self, job: Job);
    /// Returns the most jobs that run at the same time. Called once.
    fn threads(&self) -> usize;
}

/// A unit to be decoded.
#[must_use = "a job that is dropped is cancelled"]
pub struct Job {
    work: Arc<JobContext>,
    node: u32,
    due: u64,
    done: bool,
}

impl_debug!("Job", Job, |job| { node: job.node, due: job.due });

impl Job {
    pub(crate) fn new(work: Arc<JobContext>, node: u32, due: u64) -> Job {
        Job { work, node, due, done: false }
    }

    /// Returns the time at which its result is wanted, in microseconds of the player's ticks: smaller is more
    /// urgent.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Executes the job.
    pub fn run(mut self) {
        self.done = true;
        self.work.run_decode(self.node);
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.done {
            self.work.graph.cancel(self.node);
            self.work.run_decode(self.node);
        }
    }
}

/// The data that the jobs of a player share: graph, tasks and memory.
pub(crate) struct JobContext {
    pub memory: Memory,
    pub graph: JobGraph,
    tasks: Box<[Mutex<Task>]>,
    /// The due time of each node.
    due: Box<[AtomicU64]>,
    /// The number of bytes that each read node has received.
    filled: Box<[AtomicU64]>,
    /// Nodes that are done and not yet collected.
    finished: Mutex<Vec<u32>>,
    pool: OnceLock<Arc<dyn Pool>>,
    weak_self: Weak<JobContext>,
    /// The memory of jobs, one workspace for each thread, lent to running jobs.
    workspaces: Mutex<Vec<Workspace>>,
    workspace_free: Condvar,
    /// The scratch of each workspace; replaced by larger ones as files need it.
    scratch: Mutex<Vec<Option<Block>>>,
    /// The nanoseconds that jobs took in total.
    pub busy_nanoseconds: AtomicU64,
}

struct Workspace {
    number: usize,
    context: unit::DecodeContext,
}

/// A workspace that is returned when this is dropped.
struct WorkspaceGuard<'a> {
    work: &'a JobContext,
    workspace: Option<Workspace>,
}

impl Drop for WorkspaceGuard<'_> {
    fn drop(&mut self) {
        lock(&self.work.workspaces).extend(self.workspace.take());
        self.work.workspace_free.notify_one();
    }
}

/// The job of a node, and its outcome.
#[derive(Default)]
pub(crate) struct Task {
    pub file: Option<Arc<LoadedFile>>,
    pub unit: u32,
    /// The block with the bytes that were read, and the unit's offset in it.
    pub compressed: Option<(Block, usize)>,
    pub needs: FrameBlocks,
    pub out: FrameBlocks,
    pub outcome: Outcome,
    /// The nanoseconds that decoding took.
    pub nanoseconds: u64,
}

/// A list of frames and their blocks.
#[derive(Clone, Copy)]
pub(crate) struct FrameBlocks {
    items: [Option<(u32, Block)>; FrameList::MAX_LEN],
    count: usize,
}

impl Default for FrameBlocks {
    fn default() -> FrameBlocks {
        FrameBlocks { items: [None; FrameList::MAX_LEN], count: 0 }
    }
}

impl FrameBlocks {
    /// Adds a frame. A unit never has more than fit.
    pub fn push(&mut self, frame: u32, block: Block) {
        if let Some(item) = self.items.get_mut(self.count) {
            *item = Some((frame, block));
            self.count += 1;
        }
    }
    pub fn iter(&self) -> impl Iterator<Item = (u32, Block)> + '_ {
        self.items[..self.count].iter().flatten().copied()
    }
}

/// The outcome of a node.
#[derive(Default)]
pub(crate) enum Outcome {
    #[default]
    Success,
    /// It was cancelled, or something that it needs failed.
    Skipped,
    /// The unit's bytes are damaged.
    Damaged(Error),
    /// The read failed.
    Io(io::Error),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl JobContext {
    pub fn new(memory: Memory, nodes: usize) -> Arc<JobContext> {
        Arc::new_cyclic(|own| JobContext {
            memory,
            graph: JobGraph::new(nodes),
            tasks: (0..nodes).map(|_| Mutex::default()).collect(),
            due: (0..nodes).map(|_| AtomicU64::new(0)).collect(),
            filled: (0..nodes).map(|_| AtomicU64::new(0)).collect(),
            finished: Mutex::new(Vec::with_capacity(nodes)),
            pool: OnceLock::new(),
            weak_self: own.clone(),
            workspaces: Mutex::default(),
            workspace_free: Condvar::new(),
            scratch: Mutex::default(),
            busy_nanoseconds: AtomicU64::new(0),
        })
    }

    /// Sets the pool. Called once, before anything is started.
    pub fn set_pool(&self, pool: Arc<dyn Pool>) {
        let benches = pool.threads().clamp(1, MAX_THREADS);
        let bench = |number| Workspace { number, context: unit::DecodeContext::default() };
        *lock(&self.workspaces) = (0..benches).map(bench).collect();
        *lock(&self.scratch) = vec![None; benches];
        let _ = self.pool.set(pool);
    }

    // For the tick.

    pub fn task(&self, node: u32) -> MutexGuard<'_, Task> {
        lock(&self.tasks[node as usize])
    }

    pub fn set_due(&self, node: u32, due: u64) {
        self.due[node as usize].store(due, Ordering::Relaxed);
    }

    /// Resets the number of bytes read.
    pub fn reset_filled(&self, node: u32) {
        self.filled[node as usize].store(0, Ordering::Relaxed);
    }

    pub fn filled(&self, node: u32) -> u64 {
        self.filled[node as usize].load(Ordering::Relaxed)
    }

    /// Moves the nodes that are done to `out`, which has room.
    pub fn collect(&self, out: &mut Vec<u32>) {
        out.append(&mut lock(&self.finished));
    }

    /// Returns the number of workspaces that have scratch, or should.
    pub fn workspace_count(&self) -> usize {
        lock(&self.scratch).len()
    }

    /// Sets the new scratch of a workspace; returns the old one, to be discarded.
    pub fn replace_scratch(&self, bench: usize, block: Block) -> Option<Block> {
        lock(&self.scratch)[bench].replace(block)
    }

    /// Hands a node that waits for nothing more to the pool.
    pub fn start(&self, node: u32) {
        let due = self.due[node as usize].load(Ordering::Relaxed);
        // The player keeps the work alive while nodes are in flight.
        if let (Some(work), Some(pool)) = (self.weak_self.upgrade(), self.pool.get()) {
            pool.start(Job::new(work, node, due));
        }
    }

    // On any thread.

    /// Records that a read of `size` bytes has ended. If bytes are missing, nothing that waits for it is
    /// started; the next tick starts units whose bytes have arrived.
    pub fn finish_read(&self, node: u32, size: usize, result: io::Result<usize>) {
        let well = matches!(result, Ok(filled) if filled == size);
        self.filled[node as usize].store(*result.as_ref().unwrap_or(&0) as u64, Ordering::Relaxed);
        self.task(node).outcome = match result {
            Ok(0) => Outcome::Io(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Outcome::Success,
            Err(error) => Outcome::Io(error),
        };
        self.finish_node(node, well);
    }

    /// Decodes the unit of a node.
    pub fn run_decode(&self, node: u32) {
        let began = Stopwatch::start();
        let ended = if self.graph.is_wanted(node) {
            // Decoders do not panic. If one did, its node must still end, or its file would wait forever.
            let decoded = catch_unwind(AssertUnwindSafe(|| self.decode(node)));
            decoded.unwrap_or_else(|_| self.panicked(node))
        } else {
            Outcome::Skipped
        };
        let well = matches!(ended, Outcome::Success);
        let took = began.elapsed();
        {
            let mut task = self.task(node);
            task.outcome = ended;
            task.nanoseconds = took;
        }
        self.busy_nanoseconds.fetch_add(took, Ordering::Relaxed);
        self.finish_node(node, well);
    }

    fn finish_node(&self, node: u32, well: bool) {
        self.graph.finish(node, well, |next| self.start(next));
        lock(&self.finished).push(node);
    }

    fn decode(&self, node: u32) -> Outcome {
        let mut lent = self.take_workspace();
        match &mut lent.workspace {
            Some(bench) => self.decode_with(node, bench, self.lock_scratch(bench.number)),
            None => Outcome::Skipped,
        }
    }

    fn panicked(&self, node: u32) -> Outcome {
        let task = self.task(node);
        let damaged = |file: &Arc<LoadedFile>| file.damaged(task.unit as usize, "its decoder failed");
        task.file.as_ref().map_or(Outcome::Skipped, |file| Outcome::Damaged(damaged(file)))
    }

    fn decode_with(&self, node: u32, bench: &mut Workspace, scratch: Option<WriteGuard>) -> Outcome {
        let task = self.task(node);
        let (Some(file), Some((block, at))) = (&task.file, task.compressed) else {
            return Outcome::Skipped;
        };
        let unit = task.unit as usize;
        span!("decode", unit, file = %file.reel.path().display());
        let size = file.reel.unit_size(unit);
        let Some(compressed) = self.memory.read(block) else {
            return Outcome::Skipped;
        };
        let compressed = &bytemuck::cast_slice::<u64, u8>(&compressed)[at..at + size];
        if !file.reel.is_intact(unit, compressed) {
            let what = "the checksum of its bytes does not match";
            return Outcome::Damaged(file.damaged(unit, what));
        }
        let mut needs: [Option<(u32, ReadGuard)>; FrameList::MAX_LEN] = Default::default();
        for (place, (frame, block)) in needs.iter_mut().zip(task.needs.iter()) {
            match self.memory.read(block) {
                Some(guard) => *place = Some((frame, guard)),
                None => return Outcome::Skipped,
            }
        }
        let words = file.reel.frame_words();
        let mut guards: [Option<WriteGuard>; FrameList::MAX_LEN] = Default::default();
        let mut count = 0;
        for (place, (_, block)) in guards.iter_mut().zip(task.out.iter()) {
            *place = self.memory.write(block);
            if place.is_none() {
                return Outcome::Skipped;
            }
            count += 1;
        }
        let mut scratch = scratch;
        let scratch = match &mut scratch {
            Some(guard) => &mut guard[..],
            None => &mut [],
        };
        let Some(scratch) = scratch.get_mut(..file.reel.scratch_words(unit)) else {
            return Outcome::Skipped;
        };
        let mut out: [&mut [u64]; FrameList::MAX_LEN] = Default::default();
        for (place, guard) in out.iter_mut().zip(&mut guards) {
            if let Some(guard) = guard {
                *place = &mut guard[..words];
            }
        }
        let decoded = |frame: usize| {
            let found = needs.iter().flatten().find(|need| need.0 as usize == frame);
            found.map(|(_, guard)| &guard[..words])
        };
        let source = unit::UnitSource { unit, compressed, decoded: &decoded };
        let result = unit::decode(
            &file.reel,
            &file.statics,
            source,
            &mut bench.context,
            scratch,
            &mut out[..count],
            &mut |_, _, _| (),
        );
        match result {
            Ok(()) => Outcome::Success,
            Err(error) => Outcome::Damaged(error),
        }
    }

    fn take_workspace(&self) -> WorkspaceGuard<'_> {
        let mut benches = lock(&self.workspaces);
        loop {
            // Only a pool that runs more jobs than it announced waits here.
            match benches.pop() {
                Some(bench) => {
                    return WorkspaceGuard { work: self, workspace: Some(bench) };
                }
                None => {
                    let wait = self.workspace_free.wait(benches);
                    benches = wait.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn lock_scratch(&self, bench: usize) -> Option<WriteGuard> {
        loop {
            let block = lock(&self.scratch)[bench]?;
            // `None` if it was just replaced by a larger one.
            if let Some(guard) = self.memory.write(block) {
                return Some(guard);
            }
            std::thread::yield_now();
        }
    }
}

/// The player's own pool.
pub(crate) struct BuiltInPool(pub WorkerThreads<Job>);

impl Pool for BuiltInPool {
    fn start(&self, job: Job) {
        self.0.push(job.due(), job);
    }
    fn threads(&self) -> usize {
        self.0.threads().max(1)
    }
}
