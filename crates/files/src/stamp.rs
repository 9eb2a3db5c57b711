//! Tells whether another file stands at a path.

use std::path::Path;
use std::time::SystemTime;

/// Identifies the content of a path: writing the file, or renaming another one to the path, changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// The number of the file on its device, where the system tells it.
    inode: u64,
}

impl FileStamp {
    /// Returns the stamp of the file at `path`; `None` if there is no ordinary file.
    pub fn read(path: &Path) -> Option<FileStamp> {
        let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let inode = 0;
        Some(FileStamp { bytes: found.len(), modified: found.modified().ok(), inode })
    }
}
