//! Opening a file for playing, on a thread that may wait and allocate: header, tables, description, static
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
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An opened file and the source of its bytes, or why it could not be opened.
pub(crate) type Opened = Result<(Arc<Loaded>, Arc<dyn Source>), Error>;

/// Opened files by number and generation, until the next tick takes them.
pub(crate) type Inbox = Arc<Mutex<Vec<((u32, u32), Opened)>>>;

/// A file to be opened.
pub(crate) struct Load {
    pub file: u32,
    pub generation: u32,
    pub path: PathBuf,
    /// Nothing: the file at `path`, read by these threads.
    pub source: Result<Arc<dyn Source>, Arc<Crew<Positioning>>>,
    pub limits: Limits,
    pub closing: Arc<AtomicBool>,
    pub library: Arc<Library>,
    pub inbox: Inbox,
    pub mode: Mode,
}

/// Who opens a file.
pub(crate) enum Mode {
    /// A thread, which waits.
    Waits,
    /// Ticks. What has to be read first is put back here.
    AsksAgain(Again, Option<Arc<ByteRanges>>),
}

/// Files that wait for what is being read.
pub(crate) type Again = Arc<Mutex<Vec<Load>>>;

/// Within a tick: opens what has been read.
pub(crate) fn open_here(loads: &Crew<Load>, again: &Again) {
    let mut waiting = std::mem::take(&mut *again.lock().unwrap_or_else(PoisonError::into_inner));
    for load in waiting.extract_if(.., |load| !load.is_waiting()) {
        loads.push(0, load);
    }
    loads.run_all();
    again.lock().unwrap_or_else(PoisonError::into_inner).append(&mut waiting);
}

/// Gives up the files that wait: nobody asks again.
pub(crate) fn forget(again: &Again) {
    let waiting = std::mem::take(&mut *again.lock().unwrap_or_else(PoisonError::into_inner));
    drop(waiting);
}

impl Load {
    /// For the crew.
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
        if let Mode::AsksAgain(again, ranges) = &self.mode {
            if self.is_waiting() {
                let again = again.clone();
                again.lock().unwrap_or_else(PoisonError::into_inner).push(self);
                return;
            }
            if let Some(ranges) = ranges {
                ranges.opened();
            }
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
        let bytes: Arc<dyn ReadAt> = match &mut self.mode {
            Mode::Waits => Arc::new(Waiting { source: source.clone(), closing: self.closing.clone() }),
            Mode::AsksAgain(_, ranges) => {
                ranges.get_or_insert_with(|| Arc::new(ByteRanges::new(source.clone()))).clone()
            }
        };
        let reader = Reader::open_named(bytes, &self.path, &self.limits.format)?;
        let reel = Reel::check(reader, &self.limits)?;
        Ok((Arc::new(Loaded::new(reel, &self.library)?), source))
    }

    /// Whether what it needs is being read.
    fn is_waiting(&self) -> bool {
        match &self.mode {
            Mode::AsksAgain(_, Some(ranges)) => ranges.is_waiting(),
            _ => false,
        }
    }
}

fn from_path(path: &Path, crew: Arc<Crew<Positioning>>) -> Result<Arc<dyn Source>, Error> {
    let source = FileSource::open(path).map_err(|source| Error::Io {
        path: path.into(),
        what: "could not be opened".into(),
        source,
    })?;
    Ok(Arc::new(Positioned { source: Arc::new(source), crew }))
}
