//! Bytes that come from the caller: callbacks that fill a buffer at once, or that begin to and say later when
//! they have.

use crate::pointers::{free, shared, unique, write_out};
use crate::prefixed::{self, Prefixed};
use crate::status::{guard, mr_status};
use meshreel::Error;
use meshreel::raw::format::ReadAt;
use meshreel::stream::{AsyncSource, ReadRequest, ReadToken};
use std::ffi::c_void;
use std::io;

/// Bytes of a file that the caller reads, from a pack file, a network, an engine's file system.
///
/// The functions are called from threads of the library, several at once, until `release` has been called.
/// They must not throw, and must not call functions of the object that they read for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_source {
    /// Bytes of this structure.
    pub size: usize,
    /// The first argument of the functions.
    pub user: *mut c_void,
    /// Length of the file in bytes. It does not change.
    pub bytes: u64,
    /// Fills `count` bytes from `offset` on and gives 0; anything else is a number for the message of the
    /// error, which is of class `MR_STATUS_IO`. May wait. A reel needs it; a player can have `start` instead.
    pub read:
        Option<unsafe extern "C" fn(user: *mut c_void, offset: u64, out: *mut c_void, count: usize) -> i32>,
    /// Begins to read and gives back at once, for players only: `mr_read_get` says what, `mr_read_complete`
    /// ends it, on any thread, within this call as well. Called from the tick. Every read must be completed
    /// once.
    pub start: Option<unsafe extern "C" fn(user: *mut c_void, read: *mut mr_read)>,
    /// The result of a read that was begun is no longer wanted; it must be completed all the same, in any
    /// way. May be null.
    pub cancel: Option<unsafe extern "C" fn(user: *mut c_void, token: u64)>,
    /// Called once, when nothing is going to call the others: with the last object that reads from it, or
    /// before the function that was given the source returns, where that fails (not where it could not read
    /// this structure). May be null.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

// SAFETY: `repr(C)`, a size first; null pointers and null functions are values, as are all that a caller of C
// sets.
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

/// A source whose functions may be called.
pub(crate) struct Callbacks(mr_source);

// SAFETY: the caller promises that its functions can be called from any thread, several at once.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

impl Callbacks {
    /// # Safety
    /// Null, or a source that keeps what it promises until it is released.
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
            // SAFETY: the caller's own function and argument; once, as this is dropped once.
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
        // SAFETY: the caller's own function and argument; the buffer has so many bytes.
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
        // Without one the read is dropped, and so ends as interrupted.
        if let Some(start) = self.0.start {
            let read = Box::into_raw(Box::new(mr_read(read)));
            // SAFETY: the caller's own function and argument; the read is the caller's from now on.
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

/// A read of a player that a source has begun, to be completed once.
pub struct mr_read(ReadRequest);

/// What a read wants.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_read_info {
    /// Bytes of this structure.
    pub size: usize,
    /// Its name, for `cancel`.
    pub token: u64,
    /// The first byte, from the start of the file.
    pub offset: u64,
    /// Bytes to fill.
    pub count: u64,
    /// When it is wanted, in microseconds of the player's ticks: smaller is more urgent. 0 for what opens a
    /// file.
    pub due: u64,
    /// The memory for it, until it is completed.
    pub buffer: *mut c_void,
    /// 1: nobody wants it any more.
    pub cancelled: u32,
    /// 1: it belongs to the opening of a file.
    pub opening: u32,
}

// SAFETY: `repr(C)`, a size first, numbers and a pointer that is only written.
unsafe impl Prefixed for mr_read_info {}

/// What a read wants.
///
/// # Safety
/// `read` is not completed yet; `out` has the size that it says.
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

/// Ends a read: so many bytes from the start of its buffer are there, and `error` is 0; or it failed, and
/// that is a number for the message. The read and its buffer are the library's again.
///
/// # Safety
/// `read` is not completed yet, and its buffer is no longer written.
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

/// A job of a player, to be run once by the caller's threads.
pub struct mr_job(pub(crate) meshreel::stream::Job);

/// When the result of a job is wanted, in microseconds of the player's ticks: smaller is more urgent.
///
/// # Safety
/// `job` is neither run nor dropped yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_job_due(job: *const mr_job, out: *mut u64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_job(job) = unsafe { shared(job, "the job") }?;
        // SAFETY: as above.
        unsafe { write_out(out, job.due(), "the place for the time") }
    })
}

/// Does a job, on any thread, and frees it.
///
/// # Safety
/// `job` is neither run nor dropped yet.
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

/// Frees a job that is not going to be run: what it was for is cancelled.
///
/// # Safety
/// `job` is null, or neither run nor dropped yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_job_drop(job: *mut mr_job) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(job) })
}
