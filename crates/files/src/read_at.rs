//! Where the bytes of a file come from: positioned reads, so that any number of threads can read at once.

use std::io;
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
