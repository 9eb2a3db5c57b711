//! The chunk table: one entry per chunk, at the offset that the header names.
//!
//! Layout of an entry: `docs/FORMAT/container.md`, "Chunk entry".

use crate::field::Field;

// Part of the format. Changing any of these needs a new version.

/// Bytes of one entry.
pub const CHUNK_ENTRY_SIZE: usize = 20;
const CHECKSUM: Field = Field::new("checksum", 0, 8);
const SIZE: Field = Field::new("size", 8, 4);
const RAW_SIZE: Field = Field::new("raw_size", 12, 4);
const KIND: Field = Field::new("kind", 16, 2);
const RESERVED: Field = Field::new("reserved", 18, 2);

/// The fields of an entry in order.
pub const CHUNK_ENTRY_FIELDS: &[Field] = &[CHECKSUM, SIZE, RAW_SIZE, KIND, RESERVED];

/// The kind, offset, size and checksum of one chunk. The chunk's index is its position in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkEntry {
    /// The chunk kind; opaque to this crate.
    pub kind: u16,
    /// Offset in bytes from the start of the file.
    pub offset: u64,
    /// Size in the file, in bytes.
    pub size: u32,
    /// Size after decompression, in bytes.
    pub raw_size: u32,
    /// XXH3-64 of the bytes as they are in the file.
    pub checksum: u64,
}

impl ChunkEntry {
    pub(crate) fn encode(&self) -> [u8; CHUNK_ENTRY_SIZE] {
        let mut out = [0; CHUNK_ENTRY_SIZE];
        CHECKSUM.write(&mut out, &self.checksum.to_le_bytes());
        SIZE.write(&mut out, &self.size.to_le_bytes());
        RAW_SIZE.write(&mut out, &self.raw_size.to_le_bytes());
        KIND.write(&mut out, &self.kind.to_le_bytes());
        out
    }

    /// Decodes an entry, or says what is wrong with it. Chunks are contiguous, so the caller knows `offset`
    /// from the entries before; the reader checks that the chunk ends inside the file.
    pub(crate) fn decode(bytes: &[u8; CHUNK_ENTRY_SIZE], offset: u64) -> Result<ChunkEntry, &'static str> {
        if !RESERVED.is_zero(bytes) {
            return Err("a reserved byte is not zero");
        }
        Ok(ChunkEntry {
            kind: KIND.u16(bytes),
            offset,
            size: SIZE.u32(bytes),
            raw_size: RAW_SIZE.u32(bytes),
            checksum: CHECKSUM.u64(bytes),
        })
    }
}
