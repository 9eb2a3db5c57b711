//! The source of a file's bytes: positioned reads, so that any number of threads can read at once.

use std::io;
use std::sync::Arc;

/// A source of bytes of known length (a file, a memory map, a slice) that any thread can read at any offset.
pub trait ReadAt: Send + Sync {
    /// The length in bytes; constant while the source is open.
    fn len(&self) -> u64;
    /// Fills `out` with the bytes from `offset` on, or fails.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    /// `true` if the source has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
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
