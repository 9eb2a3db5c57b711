//! Bounds-checked reads at given positions of a file.
//!
//! Positioned reads rather than a memory map: if a mapped file is cut short by its writer or its network
//! share goes away, the process ends with a signal, while a read returns an error. A read costs about a
//! microsecond, so readers fetch a small record together with the data before it. There is no shared file
//! position: any thread may read.

use crate::{FileSource, Folder, ReadAt};
use std::io;
use std::path::{Path, PathBuf};

/// The path of a file that could not be opened or read, and the system's reason.
pub type Unreadable = (PathBuf, io::Error);

/// An open file of known length; its errors name it.
pub struct PositionedFile {
    file: FileSource,
    path: PathBuf,
}

impl PositionedFile {
    /// Opens `path`; anything but an ordinary file is refused.
    pub fn open(path: &Path) -> Result<PositionedFile, Unreadable> {
        let file = FileSource::open(path).map_err(|reason| (path.into(), reason))?;
        Ok(PositionedFile { file, path: path.into() })
    }

    /// Opens the file `name` in `folder`, the folder of the file that refers to it.
    pub fn named(folder: &Folder, name: &str) -> Result<PositionedFile, Unreadable> {
        let path = folder.path(name).unwrap_or_else(|_| name.into());
        match folder.open(name) {
            Ok(file) => Ok(PositionedFile { file, path }),
            Err(reason) => Err((path, reason)),
        }
    }

    /// The path the file was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size of the file in bytes when it was opened.
    pub fn length(&self) -> u64 {
        self.file.len()
    }

    /// Fills `out` with the bytes from `offset` on. Reading beyond the end is an I/O error; callers check
    /// against [`PositionedFile::length`] first, so it occurs only if the file has shrunk since.
    pub fn read_exact(&self, offset: u64, out: &mut [u8]) -> Result<(), Unreadable> {
        self.file.read_at(offset, out).map_err(|reason| (self.path.clone(), reason))
    }
}
