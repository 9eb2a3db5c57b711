//! Watches files on the disk: notes when another one stands at a path.

use crate::stream::stopwatch::Stopwatch;
use meshreel_format::FileStamp;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Nanoseconds between two looks at a path.
const LOOK_NANOSECONDS: u64 = 250_000_000;

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

    /// Looks at the path, and returns the stamp of a file that is to be opened in place of the last one: it
    /// is another one and, as it may just be written, the same as at the last look.
    pub fn find_replacement(&self, path: &Path) -> Option<FileStamp> {
        let mut sighting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = FileStamp::read(path);
        let before = sighting.last.replace((stamp, Stopwatch::start()));
        let found = stamp.filter(|_| before.is_some_and(|(before, _)| before == stamp))?;
        (sighting.opened != Some(found)).then_some(found)
    }

    /// Notes the file that is opened.
    pub fn set_opened(&self, stamp: Option<FileStamp>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).opened = stamp;
    }
}
