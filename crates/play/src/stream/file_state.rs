//! The files of a player: where each comes from, its state, and what was opened of it.

use crate::reel::open_file::Reel;
use crate::stream::io::SharedSource;
use crate::stream::load::OpenedFile;
use crate::stream::watch::Watch;
use crate::time::timeline::Timeline;
use meshreel_format::FileStamp;
use std::path::PathBuf;
use std::sync::Arc;

/// A file and its state.
pub(crate) struct FileEntry {
    pub generation: u32,
    pub path: PathBuf,
    pub source: Option<SharedSource>,
    /// The reel, if it was opened elsewhere.
    pub reel: Option<Reel>,
    pub state: FileState,
    pub timeline: Option<Timeline>,
    /// Time in microseconds at which one of its instances was last visible.
    pub last_visible: u64,
    /// Time at which opening is tried again, for a file that was open before and could not be opened again.
    pub reopen_at: Option<u64>,
    /// Identifies the file that was opened last at the path.
    pub stamp: Option<FileStamp>,
    /// The file's watch, if it is watched. A job that opens the file holds it, too.
    pub watch: Option<Arc<Watch>>,
    /// The opened file that takes its place as soon as nothing is in flight.
    pub replacement: Option<OpenedFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    Loading,
    Open,
    Failed,
    /// A newer file is open, and takes its place as soon as nothing is in flight.
    Replacing,
    /// Hidden for long; it is unloaded as soon as nothing is in flight.
    Unloading,
    Unloaded,
    Closing,
    Closed,
}

impl FileState {
    /// `true` if a file that has just been opened is wanted: for the first time, again, or as a newer one.
    pub fn takes_opened(self) -> bool {
        matches!(self, FileState::Loading | FileState::Open | FileState::Failed)
    }
}
