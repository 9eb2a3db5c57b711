//! The header: the first bytes of a file. The magic number is written last, so a file that has one is
//! complete.
//!
//! Layout: `docs/FORMAT/container.md`, "Header".

use crate::field::Field;
use crate::frames::is_box;

// Part of the format. Changing any of these needs a new version.

/// Bytes of the header.
pub const HEADER_SIZE: usize = 128;
/// The first bytes of every complete file: a byte that does not occur in text, the name, and line ends that a
/// text-mode copy would change.
pub const MAGIC: [u8; 8] = *b"\x89REEL\r\n\x1a";
/// The version that this library writes. Version 0 is the one before the first release and may still change.
pub const VERSION: u32 = 0;
/// The flags that a reader must know in order to read the file correctly; a file with an unknown one is
/// refused. Unknown flags outside this mask are ignored.
pub const REQUIRED_FLAGS: u32 = 0xffff_0000;
/// The subset of [`REQUIRED_FLAGS`] that this version knows: none yet.
const KNOWN_FLAGS: u32 = 0;

const MAGIC_FIELD: Field = Field::new("magic", 0, 8);
const VERSION_FIELD: Field = Field::new("version", 8, 4);
const FLAGS: Field = Field::new("flags", 12, 4);
const FILE_SIZE: Field = Field::new("file_size", 16, 8);
const RAW_BYTES: Field = Field::new("raw_bytes", 24, 8);
const FRAME_COUNT: Field = Field::new("frame_count", 32, 8);
const FRAME_TABLE: Field = Field::new("frame_table", 40, 8);
const CHUNK_COUNT: Field = Field::new("chunk_count", 48, 8);
const CHUNK_TABLE: Field = Field::new("chunk_table", 56, 8);
const BOUNDS: Field = Field::new("bounds", 64, 24);
const FRAME_TABLE_CHECKSUM: Field = Field::new("frame_table_checksum", 88, 8);
const CHUNK_TABLE_CHECKSUM: Field = Field::new("chunk_table_checksum", 96, 8);
const RESERVED: Field = Field::new("reserved", 104, 16);
const CHECKSUM: Field = Field::new("checksum", 120, 8);

/// The fields of the header in order.
pub const HEADER_FIELDS: &[Field] = &[
    MAGIC_FIELD,
    VERSION_FIELD,
    FLAGS,
    FILE_SIZE,
    RAW_BYTES,
    FRAME_COUNT,
    FRAME_TABLE,
    CHUNK_COUNT,
    CHUNK_TABLE,
    BOUNDS,
    FRAME_TABLE_CHECKSUM,
    CHUNK_TABLE_CHECKSUM,
    RESERVED,
    CHECKSUM,
];

/// Returns the checksum used by the format: XXH3, 64 bits, seed 0.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// Facts about the whole animation, given to the writer at the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// World-space bounds of everything shown in any frame; or [`crate::EMPTY_BOUNDS`].
    pub bounds: [f32; 6],
    /// Size of the animation before compression in bytes: 12 per source point and frame plus 40 per transform
    /// and sample.
    pub raw_bytes: u64,
    /// Flags; see [`REQUIRED_FLAGS`].
    pub flags: u32,
}

/// The header of a file, checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// Version of the format.
    pub version: u32,
    /// Flags; see [`REQUIRED_FLAGS`].
    pub flags: u32,
    /// Length of the whole file in bytes; it shows whether a file is truncated.
    pub file_size: u64,
    /// Size of the animation before compression, in bytes.
    pub raw_bytes: u64,
    /// Number of entries in the frame table.
    pub frame_count: u64,
    /// Offset of the frame table, in bytes from the start of the file.
    pub frame_table: u64,
    /// Number of entries in the chunk table.
    pub chunk_count: u64,
    /// Offset of the chunk table, in bytes from the start of the file.
    pub chunk_table: u64,
    /// World-space bounds of everything shown in any frame.
    pub bounds: [f32; 6],
    /// Checksum of the frame table.
    pub frame_table_checksum: u64,
    /// Checksum of the chunk table.
    pub chunk_table_checksum: u64,
}

/// The reason why a header was refused.
pub(crate) enum HeaderError {
    Malformed(&'static str),
    Unsupported(String),
}

impl Header {
    /// Encodes the header, magic and checksum included.
    pub(crate) fn encode(&self) -> [u8; HEADER_SIZE] {
        let mut out = [0; HEADER_SIZE];
        MAGIC_FIELD.write(&mut out, &MAGIC);
        VERSION_FIELD.write(&mut out, &self.version.to_le_bytes());
        FLAGS.write(&mut out, &self.flags.to_le_bytes());
        FILE_SIZE.write(&mut out, &self.file_size.to_le_bytes());
        RAW_BYTES.write(&mut out, &self.raw_bytes.to_le_bytes());
        FRAME_COUNT.write(&mut out, &self.frame_count.to_le_bytes());
        FRAME_TABLE.write(&mut out, &self.frame_table.to_le_bytes());
        CHUNK_COUNT.write(&mut out, &self.chunk_count.to_le_bytes());
        CHUNK_TABLE.write(&mut out, &self.chunk_table.to_le_bytes());
        BOUNDS.put_bounds(&mut out, &self.bounds);
        FRAME_TABLE_CHECKSUM.write(&mut out, &self.frame_table_checksum.to_le_bytes());
        CHUNK_TABLE_CHECKSUM.write(&mut out, &self.chunk_table_checksum.to_le_bytes());
        let sum = checksum(&out[..CHECKSUM.offset]);
        CHECKSUM.write(&mut out, &sum.to_le_bytes());
        out
    }

    /// Decodes the header and checks everything that its own bytes can show. The version is checked before
    /// the checksum, because a later version may have another layout.
    pub(crate) fn decode(bytes: &[u8; HEADER_SIZE]) -> Result<Header, HeaderError> {
        check_magic(bytes).map_err(HeaderError::Malformed)?;
        let version = VERSION_FIELD.u32(bytes);
        if version != VERSION {
            return Err(HeaderError::Unsupported(format!(
                "version {version} of the .reel format; this program reads version {VERSION} (use a newer meshreel, or compile again)"
            )));
        }
        if CHECKSUM.u64(bytes) != checksum(&bytes[..CHECKSUM.offset]) {
            return Err(HeaderError::Malformed("the checksum of the header does not match"));
        }
        let flags = FLAGS.u32(bytes);
        let unknown = flags & REQUIRED_FLAGS & !KNOWN_FLAGS;
        if unknown != 0 {
            return Err(HeaderError::Unsupported(format!(
                "flags {unknown:#010x}, which this program does not know (use a newer meshreel)"
            )));
        }
        if !RESERVED.is_zero(bytes) {
            return Err(HeaderError::Malformed("a reserved byte is not zero"));
        }
        let bounds = BOUNDS.bounds(bytes);
        if !is_box(&bounds) {
            return Err(HeaderError::Malformed("a box that is neither empty nor ordered"));
        }
        Ok(Header {
            version,
            flags,
            file_size: FILE_SIZE.u64(bytes),
            raw_bytes: RAW_BYTES.u64(bytes),
            frame_count: FRAME_COUNT.u64(bytes),
            frame_table: FRAME_TABLE.u64(bytes),
            chunk_count: CHUNK_COUNT.u64(bytes),
            chunk_table: CHUNK_TABLE.u64(bytes),
            bounds,
            frame_table_checksum: FRAME_TABLE_CHECKSUM.u64(bytes),
            chunk_table_checksum: CHUNK_TABLE_CHECKSUM.u64(bytes),
        })
    }
}

/// Distinguishes a file of another kind from one whose writer was stopped. `bytes` may be shorter than a
/// header.
pub(crate) fn check_magic(bytes: &[u8]) -> Result<(), &'static str> {
    match bytes.get(..MAGIC.len()) {
        Some(magic) if magic == MAGIC => Ok(()),
        Some([0, 0, 0, 0, 0, 0, 0, 0]) => {
            Err("it was never finished (its writer was stopped; compile again)")
        }
        _ => Err("it does not begin with the magic number"),
    }
}
