//! Services of the host: threads for a player's jobs, the memory of its heap, and a profiler.

use crate::pointers::shared;
use crate::prefixed::{self, Prefixed};
use crate::source::mr_job;
use crate::status::{guard, mr_status};
use meshreel::Error;
use meshreel::stream::{Allocator, Job, Pool, Profiler, set_profiler};
use std::alloc::Layout;
use std::ffi::{CStr, c_char, c_void};

/// The caller's threads, which decode instead of the player's own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_jobs {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The first argument of the functions.
    pub user: *mut c_void,
    /// Has `mr_job_run(job)` called soon, on any thread. Called from the tick and from running jobs; must
    /// neither block nor throw. Each job must be run or dropped exactly once.
    pub start: Option<unsafe extern "C" fn(user: *mut c_void, job: *mut mr_job)>,
    /// Called once, after the last call of `start`; may be null. Jobs that were started before may still
    /// exist.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// The largest number of jobs that run at the same time, 1 to 1024.
    pub threads: u32,
}

// SAFETY: `repr(C)`, begins with its size; null pointers and null functions are valid values, and so is
// everything that a caller in C can set.
unsafe impl Prefixed for mr_jobs {}

pub(crate) struct Jobs(mr_jobs);

// SAFETY: the caller guarantees that its functions can be called from any thread, several at once.
unsafe impl Send for Jobs {}
// SAFETY: as above.
unsafe impl Sync for Jobs {}

impl Jobs {
    /// # Safety
    /// Null, or jobs that fulfil the contract of `mr_jobs` until they are released.
    pub unsafe fn read(jobs: *const mr_jobs) -> Result<Jobs, Error> {
        let none = mr_jobs {
            size: size_of::<mr_jobs>(),
            user: std::ptr::null_mut(),
            start: None,
            release: None,
            threads: 1,
        };
        // SAFETY: the caller's promise.
        let jobs = Jobs(unsafe { prefixed::read(jobs, none, "the jobs") }?);
        match jobs.0.start {
            Some(_) => Ok(jobs),
            None => Err(Error::misuse("the jobs have no function `start`")),
        }
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: the caller's own function and argument; called once, as this is dropped once.
            unsafe { release(self.0.user) }
        }
    }
}

impl Pool for Jobs {
    fn start(&self, job: Job) {
        if let Some(start) = self.0.start {
            let job = Box::into_raw(Box::new(mr_job(job)));
            // SAFETY: the caller's own function and argument; the caller owns the job from now on.
            unsafe { start(self.0.user, job) }
        }
    }

    fn threads(&self) -> usize {
        self.0.threads as usize
    }
}

/// The source of the memory for a player's heap. `allocate` is called once, when the player is created;
/// `release` when the player and all frames that it returned are gone, on any thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_allocator {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The first argument of the functions.
    pub user: *mut c_void,
    /// Allocates `bytes` bytes aligned to `alignment`, a power of two, with any content. Returns null if
    /// there is no memory.
    pub allocate:
        Option<unsafe extern "C" fn(user: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void>,
    /// Frees that memory; `bytes` is its size.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void, bytes: usize)>,
}

// SAFETY: as for `mr_jobs`.
unsafe impl Prefixed for mr_allocator {}

pub(crate) struct HostMemory(mr_allocator);

// SAFETY: the caller guarantees that its functions can be called from any thread.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// # Safety
    /// Null, or an allocator that fulfils the contract of `mr_allocator`.
    pub unsafe fn read(allocator: *const mr_allocator) -> Result<HostMemory, Error> {
        // SAFETY: the caller's promise.
        unsafe { shared(allocator.cast::<usize>(), "the allocator") }?;
        let none = mr_allocator {
            size: size_of::<mr_allocator>(),
            user: std::ptr::null_mut(),
            allocate: None,
            release: None,
        };
        // SAFETY: as above.
        let allocator = unsafe { prefixed::read(allocator, none, "the allocator") }?;
        match (allocator.allocate, allocator.release) {
            (Some(_), Some(_)) => Ok(HostMemory(allocator)),
            _ => Err(Error::misuse("the allocator lacks `allocate` or `release`")),
        }
    }
}

// SAFETY: memory from the caller's function is refused if it is not aligned; its size is the caller's
// promise.
unsafe impl Allocator for HostMemory {
    fn allocate(&self, layout: Layout) -> *mut u8 {
        let Some(allocate) = self.0.allocate else {
            return std::ptr::null_mut();
        };
        // SAFETY: the caller's own function and argument.
        let memory: *mut u8 = unsafe { allocate(self.0.user, layout.size(), layout.align()) }.cast();
        if memory.is_null() || memory.addr().is_multiple_of(layout.align()) {
            return memory;
        }
        // SAFETY: it was just allocated, and is not used.
        unsafe { self.deallocate(memory, layout) };
        std::ptr::null_mut()
    }

    unsafe fn deallocate(&self, memory: *mut u8, layout: Layout) {
        if let Some(release) = self.0.release {
            // SAFETY: the caller's own function and argument; the memory is its own.
            unsafe { release(self.0.user, memory.cast(), layout.size()) }
        }
    }
}

/// A profiler of the host, such as Tracy or Unreal Insights: `begin` and `end` of spans whose names begin
/// with `meshreel`: ticks and their parts, decoding, opening of files. Both are called on any thread, often;
/// spans of a thread are nested. Neither may block or throw.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_profiler {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The first argument of the functions.
    pub user: *mut c_void,
    /// A span begins on this thread; the name is a static text.
    pub begin: Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char)>,
    /// The span that began last on this thread ends.
    pub end: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

// SAFETY: as for `mr_jobs`.
unsafe impl Prefixed for mr_profiler {}

struct HostProfiler(mr_profiler);

// SAFETY: the caller guarantees that its functions can be called from any thread, several at once.
unsafe impl Send for HostProfiler {}
// SAFETY: as above.
unsafe impl Sync for HostProfiler {}

impl Profiler for HostProfiler {
    fn begin(&self, name: &'static CStr) {
        if let Some(begin) = self.0.begin {
            // SAFETY: the caller's own function and argument.
            unsafe { begin(self.0.user, name.as_ptr()) }
        }
    }

    fn end(&self) {
        if let Some(end) = self.0.end {
            // SAFETY: as above.
            unsafe { end(self.0.user) }
        }
    }
}

/// Sets the profiler of the process, which stays to its end. There can be only one.
///
/// # Safety
/// `profiler` is as large as its `size` says; its functions and `user` stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_set_profiler(profiler: *const mr_profiler) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { shared(profiler.cast::<usize>(), "the profiler") }?;
        let none = mr_profiler {
            size: size_of::<mr_profiler>(),
            user: std::ptr::null_mut(),
            begin: None,
            end: None,
        };
        // SAFETY: as above.
        let profiler = unsafe { prefixed::read(profiler, none, "the profiler") }?;
        if profiler.begin.is_none() || profiler.end.is_none() {
            return Err(Error::misuse("the profiler lacks `begin` or `end`"));
        }
        match set_profiler(Box::leak(Box::new(HostProfiler(profiler)))) {
            true => Ok(()),
            false => Err(Error::misuse("this process has a profiler already, which stays")),
        }
    })
}
