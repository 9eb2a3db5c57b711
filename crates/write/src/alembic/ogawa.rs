//! The container Ogawa, written front to back: blocks of data and groups that refer to them, children before
//! parents. Only its first 16 bytes are written last, so an incomplete file does not open.
//!
//! ```text
//! "Ogawa"  FF when complete  00 01  u64 position of the root group
//! data:    u64 size, bytes                     reference = position with the top bit set
//! group:   u64 count, u64 references           reference = position
//! ```

use crate::Temporary;
use meshreel_scene::Error;
use meshreel_scene::layout::alembic::murmur3;
use std::collections::HashMap;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

/// Reference from a group to a child: its file offset, with the top bit set for data blocks.
pub(super) type Reference = u64;
/// A data block without bytes.
pub(super) const NO_DATA: Reference = 1 << 63;
/// A group without children.
pub(super) const NO_CHILDREN: Reference = 0;

pub(super) struct Ogawa {
    /// Buffered writer; the temporary file itself is kept for its name.
    out: BufWriter<std::fs::File>,
    temporary: Temporary,
    position: u64,
    /// References to the keyed blocks in the file, by key and payload size.
    blocks: HashMap<(u128, u64), Reference>,
}

impl Ogawa {
    pub fn create(target: &Path) -> Result<Ogawa, Error> {
        let temporary = Temporary::create(target)?;
        let file = temporary.file().try_clone().map_err(|e| Error::io(target, e))?;
        let mut ogawa = Ogawa {
            out: BufWriter::with_capacity(1 << 20, file),
            temporary,
            position: 0,
            blocks: HashMap::new(),
        };
        ogawa.write_bytes(b"Ogawa\0\0\x01\0\0\0\0\0\0\0\0")?;
        Ok(ogawa)
    }

    /// Writes a data block as it is.
    pub fn data(&mut self, bytes: &[u8]) -> Result<Reference, Error> {
        if bytes.is_empty() {
            return Ok(NO_DATA);
        }
        let reference = self.position | NO_DATA;
        self.write_bytes(&(bytes.len() as u64).to_le_bytes())?;
        self.write_bytes(bytes)?;
        Ok(reference)
    }

    /// Writes a sample's payload behind its key; samples with the same bytes share one block.
    pub fn sample(&mut self, payload: &[u8]) -> Result<Reference, Error> {
        if payload.is_empty() {
            return Ok(NO_DATA);
        }
        let key = murmur3(payload);
        let size = payload.len() as u64;
        if let Some(&reference) = self.blocks.get(&(key, size)) {
            return Ok(reference);
        }
        let reference = self.position | NO_DATA;
        self.write_bytes(&(size + 16).to_le_bytes())?;
        self.write_bytes(&key.to_le_bytes())?;
        self.write_bytes(payload)?;
        self.blocks.insert((key, size), reference);
        Ok(reference)
    }

    pub fn group(&mut self, children: &[Reference]) -> Result<Reference, Error> {
        if children.is_empty() {
            return Ok(NO_CHILDREN);
        }
        let reference = self.position;
        self.write_bytes(&(children.len() as u64).to_le_bytes())?;
        for child in children {
            self.write_bytes(&child.to_le_bytes())?;
        }
        Ok(reference)
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self, root: Reference) -> Result<(), Error> {
        let last = (|| {
            self.out.seek(SeekFrom::Start(8))?;
            self.out.write_all(&root.to_le_bytes())?;
            self.out.flush()?;
            self.temporary.file().sync_data()?;
            self.out.seek(SeekFrom::Start(5))?;
            self.out.write_all(&[0xff])?;
            self.out.flush()
        })();
        last.map_err(|e| Error::io(self.temporary.target(), e))?;
        self.temporary.publish()
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let done = self.out.write_all(bytes);
        done.map_err(|e| Error::io(self.temporary.target(), e))?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}
