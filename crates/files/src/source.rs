//! Files that are read at offsets, on disk or in a store.

use crate::read_at::ReadAt;
use crate::{ordinary, store};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A file, on disk or in a store ([`crate::store`]). Its length is determined once, when it is opened.
pub struct FileSource(Location);

/// The error for a file that has become shorter since it was opened.
const SHORTER: &str = "it has changed while it was read: it is shorter than it was";

enum Location {
    #[cfg(any(unix, windows))]
    Disk(File, u64),
    #[cfg(not(any(unix, windows)))]
    Disk(std::sync::Mutex<File>, u64),
    Store(Arc<dyn ReadAt>),
}

impl FileSource {
    /// Opens `path` for reading. Fails for anything but an ordinary file.
    pub fn open(path: &Path) -> io::Result<FileSource> {
        if let Some(url) = store::url(path) {
            return Ok(FileSource(Location::Store(store::open(url)?)));
        }
        let file = ordinary::open(path)?;
        let len = file.metadata()?.len();
        #[cfg(not(any(unix, windows)))]
        let file = std::sync::Mutex::new(file);
        Ok(FileSource(Location::Disk(file, len)))
    }
}

impl ReadAt for FileSource {
    fn len(&self) -> u64 {
        match &self.0 {
            Location::Disk(_, len) => *len,
            Location::Store(bytes) => bytes.len(),
        }
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match &self.0 {
            Location::Disk(file, len) => read_file(file, offset, out).map_err(|error| {
                let inside = offset.checked_add(out.len() as u64).is_some_and(|end| end <= *len);
                match error.kind() {
                    io::ErrorKind::UnexpectedEof if inside => io::Error::new(error.kind(), SHORTER),
                    _ => error,
                }
            }),
            Location::Store(bytes) => bytes.read_at(offset, out),
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
        std::fs::write(&path, &bytes[..50]).unwrap();
        let error = file.read_at(40, &mut [0; 20]).unwrap_err();
        assert!(error.to_string().contains("changed while it was read"), "{error}");
    }
}
