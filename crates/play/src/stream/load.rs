//! Opens a file for playing, on a thread that may wait and allocate: header, tables, description, static
//! data, and the order of its units on the disk.

use crate::Error;
use crate::reel::limits::Limits;
use crate::reel::open_file::Reel;
use crate::stream::byte_ranges::ByteRanges;
use crate::stream::crew::Crew;
use crate::stream::io::{Positioned, Positioning, Source, Waiting};
use crate::stream::loaded::Loaded;
use crate::stream::sharing::Library;
use crate::stream::trace::span;
use meshreel_format::{FileSource, ReadAt, Reader};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An opened file and the source of its bytes, or the error.
pub(crate) type Opened = Result<(Arc<Loaded>, Arc<dyn Source>), Error>;

/// Opened files by number and generation, until the next tick takes them.
pub(crate) type Inbox = Arc<Mutex<Vec<((u32, u32), Opened)>>>;

/// A file to be opened.
pub(crate) struct Load {
    pub file: u32,
    pub generation: u32,
    pub path: PathBuf,
    /// The source, or the threads that read the file at `path`.
    pub source: Result<Arc<dyn Source>, Arc<Crew<Positioning>>>,
    /// A reel that is open already, of which only the static data must be read.
    pub reel: Option<Reel>,
    pub limits: Limits,
    pub closing: Arc<AtomicBool>,
    pub library: Arc<Library>,
    pub inbox: Inbox,
    pub again: Again,
    pub mode: Mode,
}

/// The manner in which a file is opened.
pub(crate) enum Mode {
    /// On a thread, which waits for reads.
    Waits,
    /// In ticks: missing bytes are requested, and the file is put back until they are there.
    AsksAgain(Option<Arc<ByteRanges>>),
}

/// Files that wait for reads in flight, or for bytes that the host provides.
pub(crate) type Again = Arc<Mutex<Vec<Load>>>;

/// Opens, within a tick, the waiting files whose reads have ended, if they are still wanted.
pub(crate) fn open_here(loads: &Crew<Load>, again: &Again, is_wanted: impl Fn(u32, u32) -> bool) {
    let mut waiting = std::mem::take(&mut *again.lock().unwrap_or_else(PoisonError::into_inner));
    waiting.retain(|load| is_wanted(load.file, load.generation));
    for load in waiting.extract_if(.., |load| !load.is_waiting()) {
        loads.push(0, load);
    }
    loads.run_all();
    again.lock().unwrap_or_else(PoisonError::into_inner).append(&mut waiting);
}

/// Drops the files that wait, as no tick will ask again.
pub(crate) fn forget(again: &Again) {
    let waiting = std::mem::take(&mut *again.lock().unwrap_or_else(PoisonError::into_inner));
    drop(waiting);
}

impl Load {
    /// Opens the file; called by the crew.
    pub fn run(mut self) {
        span!("open", file = %self.path.display());
        if self.closing.load(Ordering::Relaxed) {
            return;
        }
        // A source of the caller's may panic.
        let opened = catch_unwind(AssertUnwindSafe(|| self.open())).unwrap_or_else(|_| {
            Err(Error::Io {
                path: self.path.clone(),
                what: "could not be opened".into(),
                source: std::io::Error::other("its source failed"),
            })
        });
        // The host provides missing bytes by itself.
        let lacks = |error: &Error| matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::WouldBlock);
        let lacks = self.reel.is_some() && opened.as_ref().is_err_and(lacks);
        if lacks || self.is_waiting() {
            let again = self.again.clone();
            again.lock().unwrap_or_else(PoisonError::into_inner).push(self);
            return;
        }
        if let Mode::AsksAgain(Some(ranges)) = &self.mode {
            ranges.opened();
        }
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.push(((self.file, self.generation), opened));
    }

    fn open(&mut self) -> Opened {
        let source = match &self.source {
            Ok(source) => source.clone(),
            Err(crew) => from_path(&self.path, crew.clone())?,
        };
        self.source = Ok(source.clone());
        if let Some(reel) = &self.reel {
            check(reel, &*source, &self.limits)?;
            return Ok((Arc::new(Loaded::new(reel.clone(), &self.library)?), source));
        }
        let bytes: Arc<dyn ReadAt> = match &mut self.mode {
            Mode::Waits => Arc::new(Waiting { source: source.clone(), closing: self.closing.clone() }),
            Mode::AsksAgain(ranges) => {
                ranges.get_or_insert_with(|| Arc::new(ByteRanges::new(source.clone()))).clone()
            }
        };
        let reader = Reader::open_named(bytes, &self.path, &self.limits.format)?;
        let reel = Reel::check(reader, &self.limits)?;
        Ok((Arc::new(Loaded::new(reel, &self.library)?), source))
    }

    /// `true` if bytes that it needs are being read.
    fn is_waiting(&self) -> bool {
        match &self.mode {
            Mode::AsksAgain(Some(ranges)) => ranges.is_waiting(),
            _ => false,
        }
    }
}

/// Checks that a reel that was opened elsewhere belongs to this source, and is within the limits of this
/// player.
fn check(reel: &Reel, source: &dyn Source, limits: &Limits) -> Result<(), Error> {
    let (has, wants) = (source.size(), reel.file_bytes());
    if has != wants {
        return Err(Error::misuse(format!(
            "{}: the source has {has} bytes, the reel {wants}: both must be of one file",
            reel.path().display()
        )));
    }
    let memory = reel.memory();
    if memory > limits.max_memory {
        let what = "bytes of memory to play it (Options::file_memory)";
        return Err(Error::limit(reel.path(), what, memory, limits.max_memory));
    }
    Ok(())
}

fn from_path(path: &Path, crew: Arc<Crew<Positioning>>) -> Result<Arc<dyn Source>, Error> {
    let source = FileSource::open(path).map_err(|source| Error::Io {
        path: path.into(),
        what: "could not be opened".into(),
        source,
    })?;
    Ok(Arc::new(Positioned { source: Arc::new(source), crew }))
}
