//! Bytes that the caller reads: callbacks that fill a buffer before they return, or that start a read and
//! complete it later.

use crate::pointers::{free, shared, unique, write_out};
use crate::prefixed::{self, Prefixed};
use crate::status::{guard, mr_status};
use meshreel::Error;
use meshreel::raw::format::ReadAt;
use meshreel::stream::{AsyncSource, ReadRequest, ReadToken};
use std::ffi::c_void;
use std::io;

/// A file that the caller reads, for instance from a pack file, a network, or an engine's file system.
///
/// The functions are called from threads of the library, several at once, until `release` has been called.
/// They must not throw, and must not call functions of the object that they read for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_source {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The first argument of the functions.
    pub user: *mut c_void,
    /// The length of the file in bytes. It must not change.
    pub bytes: u64,
    /// Fills `out` with `count` bytes from `offset` on, and returns 0. Any other result is an error of class
    /// `MR_STATUS_IO`; its number appears in the message. May block. Required for a reel; a player accepts
    /// `start` instead.
    pub read:
        Option<unsafe extern "C" fn(user: *mut c_void, offset: u64, out: *mut c_void, count: usize) -> i32>,
    /// Starts a read and returns without waiting; for players only. `mr_read_get` describes the read,
    /// `mr_read_complete` ends it, on any thread, also within this call. Called from the tick. Every read
    /// must be completed exactly once.
    pub start: Option<unsafe extern "C" fn(user: *mut c_void, read: *mut mr_read)>,
    /// Says that the result of a started read is no longer needed. The read must still be completed, with any
    /// result. May be null.
    pub cancel: Option<unsafe extern "C" fn(user: *mut c_void, token: u64)>,
    /// Called once, after the last call of the other functions: when the last object that reads from the
    /// source is gone, or, if the function that was given the source fails, before it returns (but not if it
    /// could not read this structure). May be null.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

// SAFETY: `repr(C)`, begins with its size; null pointers and null functions are valid values, and so is
// everything that a caller in C can set.
unsafe impl Prefixed for mr_source {}

impl mr_source {
    const EMPTY: mr_source = mr_source {
        size: size_of::<mr_source>(),
        user: std::ptr::null_mut(),
        bytes: 0,
        read: None,
        start: None,
        cancel: None,
        release: None,
    };
}

/// A source with callable functions.
pub(crate) struct Callbacks(mr_source);

// SAFETY: the caller guarantees that its functions can be called from any thread, several at once.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

impl Callbacks {
    /// # Safety
    /// Null, or a source that fulfils the contract of `mr_source` until it is released.
    pub unsafe fn read(source: *const mr_source) -> Result<Callbacks, Error> {
        // SAFETY: the caller's promise.
        unsafe { shared(source.cast::<usize>(), "the source") }?;
        // SAFETY: as above.
        let source = unsafe { prefixed::read(source, mr_source::EMPTY, "the source") }?;
        Ok(Callbacks(source))
    }

    pub fn has_read(&self) -> bool {
        self.0.read.is_some()
    }

    pub fn has_start(&self) -> bool {
        self.0.start.is_some()
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: the caller's own function and argument; called once, as this is dropped once.
            unsafe { release(self.0.user) }
        }
    }
}

impl ReadAt for Callbacks {
    fn len(&self) -> u64 {
        self.0.bytes
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.0.bytes) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some(read) = self.0.read else {
            return Err(io::Error::other("the source has no function `read`"));
        };
        // SAFETY: the caller's own function and argument; the buffer has `out.len()` bytes.
        match unsafe { read(self.0.user, offset, out.as_mut_ptr().cast(), out.len()) } {
            0 => Ok(()),
            code => Err(io::Error::other(format!("the source's function `read` gave {code}"))),
        }
    }
}

impl AsyncSource for Callbacks {
    fn size(&self) -> u64 {
        self.0.bytes
    }

    fn start(&self, read: ReadRequest) {
        // Without the function the read is dropped, which completes it as interrupted.
        if let Some(start) = self.0.start {
            let read = Box::into_raw(Box::new(mr_read(read)));
            // SAFETY: the caller's own function and argument; the caller owns the read from now on.
            unsafe { start(self.0.user, read) }
        }
    }

    fn cancel(&self, token: ReadToken) {
        if let Some(cancel) = self.0.cancel {
            // SAFETY: as above.
            unsafe { cancel(self.0.user, token.to_bits()) }
        }
    }
}

/// A read that a source has started for a player, to be completed once.
pub struct mr_read(ReadRequest);

/// The request of a read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_read_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The token that `cancel` names the read by.
    pub token: u64,
    /// The offset of the first byte in the file.
    pub offset: u64,
    /// The number of bytes to read.
    pub count: u64,
    /// When the data are needed, in microseconds of the player's ticks: smaller is more urgent. 0 for reads
    /// that open a file.
    pub due: u64,
    /// The buffer to fill, valid until the read is completed.
    pub buffer: *mut c_void,
    /// 1 if the read was cancelled.
    pub cancelled: u32,
    /// 1 if the read belongs to the opening of a file.
    pub opening: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains numbers and a pointer that is only written.
unsafe impl Prefixed for mr_read_info {}

/// Writes the request of a read.
///
/// # Safety
/// `read` has not been completed; `out` is as large as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_read_get(read: *mut mr_read, out: *mut mr_read_info) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_read(read) = unsafe { unique(read, "the read") }?;
        let info = mr_read_info {
            size: 0,
            token: read.token().to_bits(),
            offset: read.offset(),
            due: read.due(),
            cancelled: u32::from(read.is_cancelled()),
            opening: u32::from(read.is_opening()),
            count: read.buffer().len() as u64,
            buffer: read.buffer().as_mut_ptr().cast(),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// Completes a read. If it succeeded, `filled` bytes at the start of its buffer are valid, and `error` is 0;
/// otherwise `error` is a number for the message. The read and its buffer belong to the library again.
///
/// # Safety
/// `read` has not been completed, and nothing writes to its buffer any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_read_complete(read: *mut mr_read, filled: u64, error: i32) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { unique(read, "the read") }?;
        // SAFETY: as above; it was boxed in `start`.
        let mr_read(read) = *unsafe { Box::from_raw(read) };
        read.complete(match error {
            0 => Ok(usize::try_from(filled).unwrap_or(usize::MAX)),
            error => Err(io::Error::other(format!("the source completed it with {error}"))),
        });
        Ok(())
    })
}

/// A job of a player, to be run once on one of the caller's threads.
pub struct mr_job(pub(crate) meshreel::stream::Job);

/// Writes when the result of a job is needed, in microseconds of the player's ticks: smaller is more urgent.
///
/// # Safety
/// `job` has neither been run nor dropped; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_job_due(job: *const mr_job, out: *mut u64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_job(job) = unsafe { shared(job, "the job") }?;
        // SAFETY: as above.
        unsafe { write_out(out, job.due(), "the place for the time") }
    })
}

/// Runs a job on the calling thread, and frees it.
///
/// # Safety
/// `job` has neither been run nor dropped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_job_run(job: *mut mr_job) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { unique(job, "the job") }?;
        // SAFETY: as above; it was boxed for the caller.
        let mr_job(job) = *unsafe { Box::from_raw(job) };
        job.run();
        Ok(())
    })
}

/// Frees a job without running it; its work is cancelled. Null is allowed.
///
/// # Safety
/// `job` is null, or has neither been run nor dropped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_job_drop(job: *mut mr_job) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(job) })
}
