//! The `.reel` container: reads and writes files of chunks.
//!
//! A file is a header, then chunks in the order in which they were written, then a frame table and a chunk
//! table. This crate does not know what the bytes of a chunk mean, only kinds, sizes, times, bounds and
//! checksums. Any chunk is found without reading another one. The layout is normative in
//! `docs/FORMAT/container.md`, which a test compares with this code.
//!
//! ```
//! use meshreel_format::{Limits, Reader, Summary, Writer};
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("a.reel");
//! let mut writer = Writer::create(&path)?;
//! let hello = writer.add_chunk(1, 5, b"hello")?;
//! writer.add_frame(0.0, [0.0; 6])?;
//! writer.finish(Summary { bounds: [0.0; 6], raw_bytes: 10, flags: 0 })?;
//!
//! let reader = Reader::open_path(&path, &Limits::default())?;
//! let mut bytes = Vec::new();
//! reader.read_chunk(hello as usize, &mut bytes)?;
//! assert_eq!(bytes, b"hello");
//! # Ok::<(), meshreel_format::Error>(())
//! ```

mod chunk;
mod error;
mod field;
mod frames;
mod header;
pub mod kind;
mod read;
mod write;

pub use chunk::{CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_SIZE, ChunkEntry};
pub use error::Error;
pub use field::Field;
pub use frames::{BOX_SIZE, EMPTY_BOUNDS, FrameEntry, frame_table_size};
pub use header::{HEADER_FIELDS, HEADER_SIZE, Header, MAGIC, REQUIRED_FLAGS, Summary, VERSION, checksum};
pub use meshreel_files::{FileSource, FileStamp, ReadAt};
pub use read::{Limits, Reader};
pub use write::{CompleteFile, PublishedFile, Writer};
