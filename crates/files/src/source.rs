//! Where the bytes of a file come from: positioned reads, so that any number of threads can read at once.

use crate::store;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A file, a memory map, a slice: something of known length that can be read at any place from any thread.
pub trait ReadAt: Send + Sync {
    /// Length in bytes; constant while it is open.
    fn len(&self) -> u64;
    /// Fills `out` with the bytes from `offset` on, or fails.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    /// No bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A file, on disk or in a store ([`crate::store`]). Its length is taken once, when it is opened.
pub struct FileSource(Place);

enum Place {
    #[cfg(any(unix, windows))]
    Disk(File, u64),
    #[cfg(not(any(unix, windows)))]
    Disk(std::sync::Mutex<File>, u64),
    Store(Arc<dyn ReadAt>),
}

impl FileSource {
    /// Opens `path` for reading. What is no ordinary file is an error.
    pub fn open(path: &Path) -> io::Result<FileSource> {
        if let Some(url) = store::url(path) {
            return Ok(FileSource(Place::Store(store::open(url)?)));
        }
        let file = crate::open(path)?;
        let len = file.metadata()?.len();
        #[cfg(not(any(unix, windows)))]
        let file = std::sync::Mutex::new(file);
        Ok(FileSource(Place::Disk(file, len)))
    }
}

impl ReadAt for FileSource {
    fn len(&self) -> u64 {
        match &self.0 {
            Place::Disk(_, len) => *len,
            Place::Store(bytes) => bytes.len(),
        }
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match &self.0 {
            Place::Disk(file, _) => read_file(file, offset, out),
            Place::Store(bytes) => bytes.read_at(offset, out),
        }
    }
}

#[cfg(unix)]
fn read_file(file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(windows)]
fn read_file(file: &File, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                out = &mut out[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
fn read_file(file: &std::sync::Mutex<File>, offset: u64, out: &mut [u8]) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(out)
}

fn read_slice(from: &[u8], offset: u64, out: &mut [u8]) -> io::Result<()> {
    let bytes = usize::try_from(offset)
        .ok()
        .and_then(|start| from.get(start..start.checked_add(out.len())?))
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    out.copy_from_slice(bytes);
    Ok(())
}

impl ReadAt for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_slice(self, offset, out)
    }
}

impl ReadAt for Arc<[u8]> {
    fn len(&self) -> u64 {
        (**self).len() as u64
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_slice(self, offset, out)
    }
}

impl ReadAt for &'static [u8] {
    fn len(&self) -> u64 {
        (**self).len() as u64
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_slice(self, offset, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_and_files_agree_at_every_edge() {
        let bytes: Vec<u8> = (0..=99).collect();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bytes");
        std::fs::write(&path, &bytes).unwrap();
        let file = FileSource::open(&path).unwrap();
        assert_eq!(ReadAt::len(&file), ReadAt::len(&bytes));
        for (offset, n) in [(0, 0), (0, 100), (100, 0), (99, 1), (37, 5)] {
            let mut a = vec![0; n];
            let mut b = vec![0; n];
            file.read_at(offset, &mut a).unwrap();
            bytes.read_at(offset, &mut b).unwrap();
            assert_eq!(a, b);
        }
        for (offset, n) in [(0, 101), (100, 1), (u64::MAX, 1), (u64::MAX, 2), (99, 2)] {
            assert!(file.read_at(offset, &mut vec![0; n]).is_err());
            assert!(bytes.read_at(offset, &mut vec![0; n]).is_err());
        }
        assert!(FileSource::open(dir.path()).is_err());
    }
}
