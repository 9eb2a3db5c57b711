//! Opening a file for playing, on a thread that may wait and allocate: header, tables, description, static
//! data, and the order of its units on the disk.

use crate::Error;
use crate::reel::limits::Limits;
use crate::reel::open_file::Reel;
use crate::stream::crew::Crew;
use crate::stream::io::{Positioned, Positioning, Source, Waiting};
use crate::stream::loaded::Loaded;
use crate::stream::sharing::Library;
use crate::stream::trace::span;
use meshreel_format::{FileSource, Reader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
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
}

impl Load {
    /// For the crew.
    pub fn run(self) {
        let Load { file, generation, path, source, limits, closing, library, inbox } = self;
        span!("open", file = %path.display());
        let opened = || -> Opened {
            let source = match source {
                Ok(source) => source,
                Err(crew) => from_path(&path, crew)?,
            };
            let waiting = Waiting { source: source.clone(), closing };
            let reader = Reader::open_named(Arc::new(waiting), &path, &limits.format)?;
            let reel = Reel::check(reader, &limits)?;
            Ok((Arc::new(Loaded::new(reel, &library)?), source))
        };
        // A source of the caller's may panic.
        let opened = catch_unwind(AssertUnwindSafe(opened)).unwrap_or_else(|_| {
            Err(Error::Io {
                path,
                what: "could not be opened".into(),
                source: std::io::Error::other("its source failed"),
            })
        });
        let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.push(((file, generation), opened));
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
