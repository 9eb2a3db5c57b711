//! Watches files on the disk: notes when another one stands at a path.

use crate::stream::stopwatch::Stopwatch;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Nanoseconds between two looks at a path.
const LOOK_NANOSECONDS: u64 = 250_000_000;

/// Identifies the content of a path. A file that is written or renamed to the path changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// The number of the file on its device, where the system tells it.
    inode: u64,
}

impl FileStamp {
    /// Returns the stamp of the file at `path`; `None` if there is none.
    pub fn of(path: &Path) -> Option<FileStamp> {
        let found = std::fs::metadata(path).ok().filter(|found| found.is_file())?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let inode = 0;
        Some(FileStamp { bytes: found.len(), modified: found.modified().ok(), inode })
    }
}

/// The watch of one file.
#[derive(Default)]
pub(crate) struct Watch(Mutex<Sighting>);

#[derive(Default)]
struct Sighting {
    /// The stamp at the last look, and the time since.
    last: Option<(Option<FileStamp>, Stopwatch)>,
    /// The stamp of the file that was opened last, or that could not be opened.
    opened: Option<FileStamp>,
}

impl Watch {
    /// `true` if it is time for the next look.
    pub fn is_due(&self) -> bool {
        let sighting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sighting.last.as_ref().is_none_or(|(_, since)| since.elapsed() >= LOOK_NANOSECONDS)
    }

    /// Looks at the path, and returns the stamp of a file that is to be opened in place of the last one: it is
    /// another one and, as it may just be written, the same as at the last look.
    pub fn find_replacement(&self, path: &Path) -> Option<FileStamp> {
        let mut sighting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = FileStamp::of(path);
        let before = sighting.last.replace((stamp, Stopwatch::start()));
        let found = stamp.filter(|_| before.is_some_and(|(before, _)| before == stamp))?;
        (sighting.opened != Some(found)).then_some(found)
    }

    /// Notes the file that is opened.
    pub fn set_opened(&self, stamp: Option<FileStamp>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).opened = stamp;
    }
}
