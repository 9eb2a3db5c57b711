//! Ogawa's container: a file of *groups* (lists of references) and *data* (bytes), both found by 64-bit
//! offsets.
//!
//! ```text
//! header   5 "Ogawa" · 1 frozen (FF = closed by its writer) · 2 version, big-endian · 8 root group's offset
//! group    8 count · count × 8 references          reference: top bit set = data, 63 bits offset, 0 = empty
//! data     8 size · size bytes
//! ```
//! Numbers are little-endian except for the version; nothing is aligned or compressed. Several references may
//! point to one data node.

use meshreel_files::PositionedFile;
use meshreel_scene::Error;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of the header in bytes; nodes start after it.
const HEADER_BYTES: u64 = 16;
const DATA_BIT: u64 = 1 << 63;
/// Limit on structure reads, as a multiple of the file size. Valid files have their structure (groups, header
/// blocks) read a few times at most; nodes of others may refer to each other in cycles or by the thousand.
const MAX_STRUCTURE_READS: u64 = 16;
const MIN_STRUCTURE_BUDGET: u64 = 4 << 20;
/// Size in bytes of one speculative read, which covers group tables and small samples.
const SPECULATIVE_READ_BYTES: usize = 256;

/// The offset and kind of a node of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference(u64);

impl Reference {
    /// Makes a reference to the group at `offset`.
    pub fn group(offset: u64) -> Reference {
        Reference(offset & !DATA_BIT)
    }
    pub fn is_data(self) -> bool {
        self.0 & DATA_BIT != 0
    }
    pub fn offset(self) -> u64 {
        self.0 & !DATA_BIT
    }
    /// `true` for an empty node, which is not stored in the file.
    pub fn is_empty(self) -> bool {
        self.offset() == 0
    }
}

/// The start of a data node.
pub struct DataHead<const N: usize> {
    /// The size of the node's content in bytes.
    pub size: u64,
    /// The first bytes of the content, zero beyond `size`.
    pub first: [u8; N],
}

/// An open Ogawa file.
pub struct Container {
    file: PositionedFile,
    /// The number of bytes of structure that may still be read.
    budget: AtomicU64,
    root: Reference,
}

impl Container {
    /// Opens a file that begins with `Ogawa` and checks its header.
    pub fn open(file: PositionedFile) -> Result<Container, Error> {
        let budget = budget(file.length());
        let mut container = Container { file, budget: AtomicU64::new(budget), root: Reference(0) };
        if container.file.length() < HEADER_BYTES {
            return Err(container.malformed("ends within its header", 0));
        }
        let mut header = [0; HEADER_BYTES as usize];
        container.file.read_exact(0, &mut header)?;
        let [magic @ .., _, _, _, _, _, _, _, _, _, _, _] = header;
        if &magic != b"Ogawa" {
            return Err(container.malformed("does not begin as an Ogawa archive does", 0));
        }
        if header[5] != 0xFF {
            let what = "was not closed by its writer (an interrupted export?); export it again";
            return Err(container.malformed(what, 5));
        }
        let version = u16::from_be_bytes([header[6], header[7]]);
        if version != 1 {
            let what = format!("Ogawa container version {version}; only 1 is known");
            return Err(Error::unsupported(container.path(), what));
        }
        let (_, root) = header.split_at(8);
        container.root = Reference(u64_at(root, 0));
        if container.root.is_data() || container.root.is_empty() {
            return Err(container.malformed("has no root group", 8));
        }
        Ok(container)
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn length(&self) -> u64 {
        self.file.length()
    }

    pub fn root(&self) -> Reference {
        self.root
    }

    pub fn malformed(&self, what: impl Into<String>, offset: u64) -> Error {
        Error::malformed(self.path(), what, format!("byte {offset}"))
    }

    /// Returns the references in a group; none for the empty group.
    pub fn group(&self, group: Reference) -> Result<Vec<Reference>, Error> {
        if group.is_data() {
            return Err(self.malformed("data stands where a group belongs", group.offset()));
        }
        if group.is_empty() {
            return Ok(Vec::new());
        }
        let offset = group.offset();
        let room = self.room(offset)?;
        let mut buffer = [0; SPECULATIVE_READ_BYTES];
        let fetched = self.fetch(offset, room, &mut buffer)?;
        let count = u64_at(&buffer, 0);
        if count > room / 8 {
            let what = format!("a group claims {count} children, more than the file can hold");
            return Err(self.malformed(what, offset));
        }
        let bytes = count * 8;
        self.charge(8 + bytes)?;
        let mut table = vec![0; bytes as usize];
        let first = table.len().min(fetched - 8);
        table[..first].copy_from_slice(&buffer[8..8 + first]);
        self.file.read_exact(offset + 8 + first as u64, &mut table[first..])?;
        let references = table.as_chunks::<8>().0.iter();
        Ok(references.map(|b| Reference(u64::from_le_bytes(*b))).collect())
    }

    /// Returns all bytes of a data node that describes structure; its size counts towards the limit.
    pub fn structure(&self, data: Reference) -> Result<Vec<u8>, Error> {
        let size = self.data_head::<0>(data)?.size;
        self.charge(size)?;
        let mut bytes = vec![0; size as usize];
        if size > 0 {
            self.file.read_exact(data.offset() + 8, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// Returns size and first `N` bytes of a data node.
    pub fn data_head<const N: usize>(&self, data: Reference) -> Result<DataHead<N>, Error> {
        let mut buffer = [0; SPECULATIVE_READ_BYTES];
        let wanted = (8 + N).min(SPECULATIVE_READ_BYTES);
        let (size, fetched) = self.head(data, &mut buffer[..wanted])?;
        let mut first = [0; N];
        let n = N.min(fetched);
        first[..n].copy_from_slice(&buffer[8..8 + n]);
        Ok(DataHead { size, first })
    }

    /// Replaces `out` by the bytes of a data node from `skip` on.
    pub fn read(&self, data: Reference, skip: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        out.clear();
        let mut buffer = [0; SPECULATIVE_READ_BYTES];
        let (size, fetched) = self.head(data, &mut buffer)?;
        let Some(wanted) = size.checked_sub(skip as u64).filter(|n| *n > 0) else {
            return Ok(());
        };
        let wanted =
            usize::try_from(wanted).map_err(|_| self.malformed("a sample is too large", data.offset()))?;
        if fetched >= skip && fetched - skip >= wanted {
            out.extend_from_slice(&buffer[8 + skip..8 + skip + wanted]);
            return Ok(());
        }
        out.resize(wanted, 0);
        Ok(self.file.read_exact(data.offset() + 8 + skip as u64, out)?)
    }

    /// Checks that `data` is a data node within the file; its size is not checked.
    pub fn check_data(&self, data: Reference) -> Result<(), Error> {
        if !data.is_data() {
            return Err(self.malformed("a group stands where data belong", data.offset()));
        }
        if !data.is_empty() {
            self.room(data.offset())?;
        }
        Ok(())
    }

    /// Reads the size and the start of a data node: in `buffer`, content follows the 8 bytes of the size.
    /// Returns the node's size and the number of bytes of content that were read.
    fn head(&self, data: Reference, buffer: &mut [u8]) -> Result<(u64, usize), Error> {
        self.check_data(data)?;
        if data.is_empty() {
            return Ok((0, 0));
        }
        let offset = data.offset();
        let room = self.room(offset)?;
        let fetched = self.fetch(offset, room, buffer)?;
        let size = u64_at(buffer, 0);
        if size > room {
            let what = format!("a data node claims {size} bytes, more than the file holds");
            return Err(self.malformed(what, offset));
        }
        Ok((size, (fetched - 8).min(size as usize)))
    }

    /// Returns the number of bytes after the 8-byte counter at `offset`.
    fn room(&self, offset: u64) -> Result<u64, Error> {
        let end = offset.checked_add(8).filter(|_| offset >= HEADER_BYTES);
        end.and_then(|end| self.length().checked_sub(end))
            .ok_or_else(|| self.malformed("a reference leads out of the file", offset))
    }

    /// Fills `buffer` from `offset` up to the end of the file (at least the 8 bytes that `room` has checked).
    fn fetch(&self, offset: u64, room: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let available = buffer.len().min(8 + usize::try_from(room).unwrap_or(usize::MAX - 8));
        self.file.read_exact(offset, &mut buffer[..available])?;
        Ok(available)
    }

    fn charge(&self, bytes: u64) -> Result<(), Error> {
        // Relaxed, since the counter orders no other memory access.
        let spent = self
            .budget
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes.max(8)));
        spent.map(drop).map_err(|_| {
            let allowed = budget(self.length());
            let what = "bytes of structure to read (nodes of the file refer to each other in circles)";
            Error::limit(self.path(), what, allowed.saturating_add(bytes), allowed)
        })
    }
}

/// Returns the limit on bytes of structure read from a file of `length` bytes.
fn budget(length: u64) -> u64 {
    length.saturating_mul(MAX_STRUCTURE_READS).max(MIN_STRUCTURE_BUDGET)
}

/// Reads a little-endian number at `at`; callers have checked the length.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}
