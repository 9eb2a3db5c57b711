//! A file read at positions, bounds-checked.
//!
//! Positioned reads rather than a memory map: a mapped file that is cut short by its writer, or whose network
//! share goes away, ends the process with a signal, while a read returns an error. They cost about a
//! microsecond each, so readers fetch a small record with what precedes it in one go. No shared file
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
    /// Opens `path`; what is no ordinary file is refused.
    pub fn open(path: &Path) -> Result<PositionedFile, Error> {
        let file = FileSource::open(path).map_err(|source| Error::io(path, source))?;
        Ok(PositionedFile { file, path: path.into() })
    }

    /// Opens a file that another one names, in the folder of that one.
    pub fn named(folder: &Folder, name: &str) -> Result<PositionedFile, Error> {
        let path = folder.path(name).unwrap_or_else(|_| name.into());
        let file = folder.open(name).map_err(|source| Error::io(&path, source))?;
        Ok(PositionedFile { file, path })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes in the file when it was opened.
    pub fn length(&self) -> u64 {
        self.file.len()
    }

    /// Fills `out` with the bytes from `offset` on. Beyond the end is an I/O error; callers check against
    /// [`PositionedFile::length`] before, so that it only comes up where the file shrank meanwhile.
    pub fn read_exact(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        self.file.read_at(offset, out).map_err(|source| Error::io(&self.path, source))
    }
}
