//! Opens a file: the header and the tables are read and checked once, then any chunk can be read by itself,
//! from any thread.
//!
//! No byte is trusted: each count and offset is checked against the length of the file and the limits before
//! anything is allocated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::chunk::{CHUNK_ENTRY_SIZE, ChunkEntry};
use crate::error::Error;
use crate::frames::{self, FrameEntry};
use crate::header::{HEADER_SIZE, Header, HeaderError, check_magic, checksum};
use meshreel_files::{FileSource, ReadAt};

/// Limits for what a reader may allocate. The defaults suit a workstation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Limits {
    /// Maximum size of one chunk in bytes, both in the file and decompressed. Default 1 GiB.
    pub max_chunk: u64,
    /// Maximum number of frames; each costs 32 bytes of memory. Default 2²⁴.
    pub max_frames: u64,
    /// Maximum number of chunks; each costs 32 bytes of memory. Default 2²⁴.
    pub max_chunks: u64,
}

impl Limits {
    /// Sets [`Limits::max_chunk`].
    pub fn with_max_chunk(self, max_chunk: u64) -> Limits {
        Limits { max_chunk, ..self }
    }

    /// Sets [`Limits::max_frames`].
    pub fn with_max_frames(self, max_frames: u64) -> Limits {
        Limits { max_frames, ..self }
    }

    /// Sets [`Limits::max_chunks`].
    pub fn with_max_chunks(self, max_chunks: u64) -> Limits {
        Limits { max_chunks, ..self }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_chunk: 1 << 30, max_frames: 1 << 24, max_chunks: 1 << 24 }
    }
}

/// An open file.
pub struct Reader {
    source: Arc<dyn ReadAt>,
    path: PathBuf,
    header: Header,
    frames: Vec<FrameEntry>,
    chunks: Vec<ChunkEntry>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("path", &self.path)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a file on disk.
    pub fn open_path(path: &Path, limits: &Limits) -> Result<Reader, Error> {
        let source = FileSource::open(path).map_err(|e| Error::io(path, "could not be opened", e))?;
        Reader::open_named(Arc::new(source), path, limits)
    }

    /// Opens bytes from any source; errors name them "(memory)".
    pub fn open(source: Arc<dyn ReadAt>, limits: &Limits) -> Result<Reader, Error> {
        Reader::open_named(source, Path::new("(memory)"), limits)
    }

    /// Opens bytes from any source; errors name them `path`.
    pub fn open_named(source: Arc<dyn ReadAt>, path: &Path, limits: &Limits) -> Result<Reader, Error> {
        let header = read_header(&*source, path)?;
        let frames = read_frames(&*source, path, &header, limits)?;
        let chunks = read_chunks(&*source, path, &header, limits)?;
        Ok(Reader { source, path: path.into(), header, frames, chunks })
    }

    /// Returns the file's header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }
    /// Returns all frames, in order of time.
    #[must_use]
    pub fn frames(&self) -> &[FrameEntry] {
        &self.frames
    }
    /// Returns all chunks, by index.
    #[must_use]
    pub fn chunks(&self) -> &[ChunkEntry] {
        &self.chunks
    }
    /// Returns the file's name as shown in errors.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads chunk `i` as it is in the file, and checks its checksum. The contents of `out` are replaced; its
    /// memory is reused.
    pub fn read_chunk(&self, i: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        out.clear();
        out.resize(self.chunk(i)?.size as usize, 0);
        self.read_chunk_into(i, out)
    }

    /// Reads a chunk like [`Reader::read_chunk`], into a buffer of exactly the chunk's size.
    pub fn read_chunk_into(&self, i: usize, out: &mut [u8]) -> Result<(), Error> {
        let entry = self.chunk(i)?;
        if out.len() != entry.size as usize {
            return Err(Error::misuse(format!(
                "chunk {i} is {} bytes, but the buffer has {}",
                entry.size,
                out.len()
            )));
        }
        read_exact(&*self.source, &self.path, entry.offset, out)?;
        self.check_chunk(i, out)
    }

    /// Checks that `bytes` have the checksum of chunk `i`, for callers that read the file by other means.
    pub fn check_chunk(&self, i: usize, bytes: &[u8]) -> Result<(), Error> {
        let entry = self.chunk(i)?;
        if checksum(bytes) == entry.checksum {
            return Ok(());
        }
        Err(Error::malformed(
            &self.path,
            format!("the checksum of chunk {i} does not match"),
            format!("byte {}", entry.offset),
        ))
    }

    /// Returns the source of the bytes.
    #[must_use]
    pub fn source(&self) -> &Arc<dyn ReadAt> {
        &self.source
    }

    fn chunk(&self, i: usize) -> Result<&ChunkEntry, Error> {
        self.chunks.get(i).ok_or_else(|| {
            Error::misuse(format!(
                "chunk {i} asked, but {} has {} chunks",
                self.path.display(),
                self.chunks.len()
            ))
        })
    }
}

fn read_exact(source: &dyn ReadAt, path: &Path, offset: u64, out: &mut [u8]) -> Result<(), Error> {
    source.read_at(offset, out).map_err(|e| Error::io(path, "could not be read", e))
}

fn read_header(source: &dyn ReadAt, path: &Path) -> Result<Header, Error> {
    let len = source.len();
    let mut bytes = [0; HEADER_SIZE];
    if len < HEADER_SIZE as u64 {
        let some = &mut bytes[..len as usize];
        read_exact(source, path, 0, some)?;
        let what = check_magic(some).err().unwrap_or("it is shorter than its header");
        return Err(Error::malformed(path, what, "byte 0"));
    }
    read_exact(source, path, 0, &mut bytes)?;
    let header = Header::decode(&bytes).map_err(|refused| match refused {
        HeaderError::Malformed(what) => Error::malformed(path, what, "byte 0"),
        HeaderError::Unsupported(what) => Error::Unsupported { path: path.into(), what },
    })?;
    if header.file_size != len {
        let what = format!(
            "it should be {} bytes long but is {len} (copied or downloaded only in part?)",
            header.file_size
        );
        return Err(Error::malformed(path, what, "its end"));
    }
    Ok(header)
}

/// Reads the bytes of one table, after checking that it lies in the file.
fn read_table(
    source: &dyn ReadAt,
    path: &Path,
    file_size: u64,
    noun: &str,
    offset: u64,
    size: Option<u64>,
    sum: u64,
) -> Result<Vec<u8>, Error> {
    let at = || format!("the table of {noun}");
    let inside = |&size: &u64| {
        let end = offset.checked_add(size);
        offset >= HEADER_SIZE as u64 && end.is_some_and(|end| end <= file_size)
    };
    let size = size.filter(inside).and_then(|s| usize::try_from(s).ok());
    let size = size.ok_or_else(|| Error::malformed(path, "a table outside the file", at()))?;
    let mut bytes = vec![0; size];
    read_exact(source, path, offset, &mut bytes)?;
    if checksum(&bytes) != sum {
        let what = "the checksum of a table does not match";
        return Err(Error::malformed(path, what, at()));
    }
    Ok(bytes)
}

fn read_frames(
    source: &dyn ReadAt,
    path: &Path,
    header: &Header,
    limits: &Limits,
) -> Result<Vec<FrameEntry>, Error> {
    let count = header.frame_count;
    if count > limits.max_frames {
        return Err(Error::limit(path, "frames", count, limits.max_frames));
    }
    let outside = "a table outside the file";
    let mut kind = [0];
    if header.frame_table < HEADER_SIZE as u64 || header.frame_table >= header.file_size {
        return Err(Error::malformed(path, outside, "the table of frames"));
    }
    read_exact(source, path, header.frame_table, &mut kind)?;
    let bytes = read_table(
        source,
        path,
        header.file_size,
        "frames",
        header.frame_table,
        frames::size(kind[0], count),
        header.frame_table_checksum,
    )?;
    // The cast is safe: the table has the length that the count implies.
    frames::decode(&bytes, count as usize, &header.bounds)
        .map_err(|what| Error::malformed(path, what, "the table of frames"))
}

/// Reads the chunk table. Chunks are contiguous from the header on, so no two share bytes, and reading all of
/// them costs no more than the file's length, whatever the table says.
fn read_chunks(
    source: &dyn ReadAt,
    path: &Path,
    header: &Header,
    limits: &Limits,
) -> Result<Vec<ChunkEntry>, Error> {
    let count = header.chunk_count;
    if count > limits.max_chunks {
        return Err(Error::limit(path, "chunks", count, limits.max_chunks));
    }
    let bytes = read_table(
        source,
        path,
        header.file_size,
        "chunks",
        header.chunk_table,
        count.checked_mul(CHUNK_ENTRY_SIZE as u64),
        header.chunk_table_checksum,
    )?;
    let mut chunks = Vec::with_capacity(bytes.len() / CHUNK_ENTRY_SIZE);
    let mut offset = HEADER_SIZE as u64;
    for (i, bytes) in bytes.as_chunks::<CHUNK_ENTRY_SIZE>().0.iter().enumerate() {
        let at = || format!("chunk {i}");
        let entry = ChunkEntry::decode(bytes, offset).map_err(|what| Error::malformed(path, what, at()))?;
        // The sum of fewer than 2^32 sizes of 32 bits cannot overflow.
        offset += u64::from(entry.size);
        if offset > header.file_size {
            return Err(Error::malformed(path, "a chunk outside the file", at()));
        }
        let larger = u64::from(entry.size.max(entry.raw_size));
        if larger > limits.max_chunk {
            let what = format!("bytes of {}", at());
            return Err(Error::limit(path, what, larger, limits.max_chunk));
        }
        chunks.push(entry);
    }
    Ok(chunks)
}
