//! Opens a file for playing, on a thread that may wait and allocate: header, tables, description, static
//! data, and the order of its units on the disk.

use crate::Error;
use crate::reel::limits::Limits;
use crate::reel::open_file::Reel;
use crate::stream::byte_ranges::ByteRanges;
use crate::stream::io::{AsyncSource, BlockingSource, PositionedSource, QueuedRead};
use crate::stream::loaded::LoadedFile;
use crate::stream::sharing::MeshLibrary;
use crate::stream::trace::span;
use crate::stream::watch::Watch;
use crate::stream::worker_threads::WorkerThreads;
use meshreel_format::{FileSource, FileStamp, ReadAt, Reader};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An opened file and the source of its bytes.
pub(crate) struct OpenedFile {
    pub loaded: Arc<LoadedFile>,
    pub source: Arc<dyn AsyncSource>,
    /// Identifies it, if it was opened by its path.
    pub stamp: Option<FileStamp>,
}

/// An opened file, or the error.
pub(crate) type OpenResult = Result<OpenedFile, Error>;

/// Opened files by number and generation, until the next tick takes them.
pub(crate) type OpenedFiles = Arc<Mutex<Vec<((u32, u32), OpenResult)>>>;

/// A file to be opened.
pub(crate) struct OpenJob {
    pub file: u32,
    pub generation: u32,
    pub path: PathBuf,
    /// The source, or the threads that read the file at `path`.
    pub source: Result<Arc<dyn AsyncSource>, Arc<WorkerThreads<QueuedRead>>>,
    /// A reel that is open already, of which only the static data must be read.
    pub reel: Option<Reel>,
    /// Identifies the file at `path`, taken before it was opened.
    pub stamp: Option<FileStamp>,
    /// The watch of the file at `path`.
    pub watch: Option<Arc<Watch>>,
    /// `true` if the watch decides first whether the file is to be opened: another one may stand there.
    pub if_replaced: bool,
    pub limits: Limits,
    pub closing: Arc<AtomicBool>,
    pub library: Arc<MeshLibrary>,
    pub inbox: OpenedFiles,
    pub waiting: WaitingOpens,
    pub mode: OpenMode,
}

/// The manner in which a file is opened.
pub(crate) enum OpenMode {
    /// On a thread, which waits for reads.
    Blocking,
    /// In ticks: missing bytes are requested, and the file is put back until they are there.
    Polling(Option<Arc<ByteRanges>>),
}

/// Files that wait for reads in flight, or for bytes that the host provides.
pub(crate) type WaitingOpens = Arc<Mutex<Vec<OpenJob>>>;

/// Opens, within a tick, the waiting files whose reads have ended, if they are still wanted.
pub(crate) fn open_ready(
    loads: &WorkerThreads<OpenJob>,
    again: &WaitingOpens,
    is_wanted: impl Fn(u32, u32) -> bool,
) {
    let mut waiting = std::mem::take(&mut *again.lock().unwrap_or_else(PoisonError::into_inner));
    waiting.retain(|load| is_wanted(load.file, load.generation));
    for load in waiting.extract_if(.., |load| !load.is_waiting()) {
        loads.push(0, load);
    }
    loads.run_all();
    again.lock().unwrap_or_else(PoisonError::into_inner).append(&mut waiting);
}

/// Drops the files that wait, as no tick will ask again.
pub(crate) fn drop_waiting(again: &WaitingOpens) {
    let waiting = std::mem::take(&mut *again.lock().unwrap_or_else(PoisonError::into_inner));
    drop(waiting);
}

impl OpenJob {
    /// Opens the file; called by the worker threads.
    pub fn run(mut self) {
        span!("open", file = %self.path.display());
        if self.closing.load(Ordering::Relaxed) {
            return;
        }
        if let Some(watch) = self.watch.as_ref().filter(|_| self.if_replaced && self.stamp.is_none()) {
            self.stamp = watch.find_replacement(&self.path);
            if self.stamp.is_none() {
                return;
            }
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
            let again = self.waiting.clone();
            again.lock().unwrap_or_else(PoisonError::into_inner).push(self);
            return;
        }
        if let OpenMode::Polling(Some(ranges)) = &self.mode {
            ranges.finish();
        }
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.push(((self.file, self.generation), opened));
    }

    fn open(&mut self) -> OpenResult {
        let source = match &self.source {
            Ok(source) => source.clone(),
            Err(crew) => {
                // If the file is replaced in between, the stamp is the older one's, and a watch looks again.
                if self.stamp.is_none() {
                    self.stamp = FileStamp::read(&self.path);
                }
                if let Some(watch) = &self.watch {
                    watch.set_opened(self.stamp);
                }
                open_path(&self.path, crew.clone())?
            }
        };
        self.source = Ok(source.clone());
        if let Some(reel) = &self.reel {
            check_reel(reel, &*source, &self.limits)?;
            let loaded = Arc::new(LoadedFile::new(reel.clone(), &self.library)?);
            return Ok(OpenedFile { loaded, source, stamp: None });
        }
        let bytes: Arc<dyn ReadAt> = match &mut self.mode {
            OpenMode::Blocking => {
                Arc::new(BlockingSource { source: source.clone(), closing: self.closing.clone() })
            }
            OpenMode::Polling(ranges) => {
                ranges.get_or_insert_with(|| Arc::new(ByteRanges::new(source.clone()))).clone()
            }
        };
        let reader = Reader::open_named(bytes, &self.path, &self.limits.format)?;
        let reel = Reel::from_reader(reader, &self.limits)?;
        let loaded = Arc::new(LoadedFile::new(reel, &self.library)?);
        Ok(OpenedFile { loaded, source, stamp: self.stamp })
    }

    /// `true` if bytes that it needs are being read.
    fn is_waiting(&self) -> bool {
        match &self.mode {
            OpenMode::Polling(Some(ranges)) => ranges.is_waiting(),
            _ => false,
        }
    }
}

/// Checks that a reel that was opened elsewhere belongs to this source, and is within the limits of this
/// player.
fn check_reel(reel: &Reel, source: &dyn AsyncSource, limits: &Limits) -> Result<(), Error> {
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

fn open_path(path: &Path, crew: Arc<WorkerThreads<QueuedRead>>) -> Result<Arc<dyn AsyncSource>, Error> {
    let source = FileSource::open(path).map_err(|source| Error::Io {
        path: path.into(),
        what: "could not be opened".into(),
        source,
    })?;
    Ok(Arc::new(PositionedSource { source: Arc::new(source), crew }))
}
