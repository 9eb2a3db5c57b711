//! A file read at positions, bounds-checked.
//!
//! Positioned reads rather than a memory map: a mapped file that is cut short by its writer, or whose network
//! share goes away, ends the process with a signal, while a read returns an error. They cost about a
//! microsecond each, so readers fetch a small record with what precedes it in one go. No shared file
//! position: any thread may read.

use crate::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

/// An open file of known length.
pub struct PositionedFile {
    file: File,
    length: u64,
    path: PathBuf,
}

impl PositionedFile {
    /// Opens `path`; what is no ordinary file is refused.
    pub fn open(path: &Path) -> Result<PositionedFile, Error> {
        let file = meshreel_files::open(path).map_err(|source| Error::io(path, source))?;
        let metadata = file.metadata().map_err(|source| Error::io(path, source))?;
        Ok(PositionedFile { file, length: metadata.len(), path: path.into() })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes in the file when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Fills `out` with the bytes from `offset` on. Beyond the end is an I/O error; callers check against
    /// [`PositionedFile::length`] before, so that it only comes up where the file shrank meanwhile.
    pub fn read_exact(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        read_exact_at(&self.file, offset, out).map_err(|source| Error::io(&self.path, source))
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut out: &mut [u8]) -> std::io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, offset) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                out = &mut out[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
