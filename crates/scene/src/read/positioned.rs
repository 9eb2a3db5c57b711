//! Bounds-checked reads at given positions of a file.
//!
//! Positioned reads rather than a memory map: if a mapped file is cut short by its writer or its network
//! share goes away, the process ends with a signal, while a read returns an error. A read costs about a
//! microsecond, so readers fetch a small record together with the data before it. There is no shared file
//! position: any thread may read.

use crate::Error;
use meshreel_files::{FileSource, Folder, ReadAt};
use std::path::{Path, PathBuf};

/// An open file of known length.
pub struct PositionedFile {
    file: FileSource,
    path: PathBuf,
}

impl PositionedFile {
    /// Opens `path`; anything but an ordinary file is refused.
    pub fn open(path: &Path) -> Result<PositionedFile, Error> {
        let file = FileSource::open(path).map_err(|source| Error::io(path, source))?;
        Ok(PositionedFile { file, path: path.into() })
    }

    /// Opens the file `name` in `folder`, the folder of the file that refers to it.
    pub fn named(folder: &Folder, name: &str) -> Result<PositionedFile, Error> {
        let path = folder.path(name).unwrap_or_else(|_| name.into());
        let file = folder.open(name).map_err(|source| Error::io(&path, source))?;
        Ok(PositionedFile { file, path })
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
    pub fn read_exact(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        self.file.read_at(offset, out).map_err(|source| Error::io(&self.path, source))
    }
}
