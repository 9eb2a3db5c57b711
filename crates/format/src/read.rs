//! Opens a file: header and tables are read and checked once, then any chunk or frame can be read by itself, from any thread.
//!
//! Every byte is hostile: each count and offset is held against the length of the file and the limits before anything is allocated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::chunk::{CHUNK_ENTRY_SIZE, ChunkEntry};
use crate::error::Error;
use crate::frames::{FRAME_ENTRY_SIZE, FrameEntry, FrameKind, is_after};
use crate::header::{HEADER_SIZE, Header, Refused, check_magic, checksum};
use crate::source::{FileSource, ReadAt};

/// What a reader is willing to allocate. The defaults suit a workstation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one chunk or frame, both in the file and decompressed.
    pub max_chunk: u64,
    /// Frames in a file; each costs 64 bytes.
    pub max_frames: u64,
    /// Chunks in a file; each costs 32 bytes.
    pub max_chunks: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_chunk: 1 << 30,
            max_frames: 1 << 24,
            max_chunks: 1 << 24,
        }
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
        let source =
            FileSource::open(path).map_err(|e| Error::io(path, "could not be opened", e))?;
        Reader::open_named(Arc::new(source), path, limits)
    }

    /// Opens bytes from anywhere; errors call them "(memory)".
    pub fn open(source: Arc<dyn ReadAt>, limits: &Limits) -> Result<Reader, Error> {
        Reader::open_named(source, Path::new("(memory)"), limits)
    }

    /// Opens bytes from anywhere; errors call them `path`.
    pub fn open_named(
        source: Arc<dyn ReadAt>,
        path: &Path,
        limits: &Limits,
    ) -> Result<Reader, Error> {
        let header = read_header(&*source, path)?;
        let mut budget = Budget {
            path,
            file_size: header.file_size,
            left: header.file_size,
            max_chunk: limits.max_chunk,
        };
        let frames = read_frames(&*source, &header, limits, &mut budget)?;
        let chunks = read_chunks(&*source, &header, limits, &mut budget)?;
        Ok(Reader {
            source,
            path: path.into(),
            header,
            frames,
            chunks,
        })
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }
    /// All frames, in the order of time.
    pub fn frames(&self) -> &[FrameEntry] {
        &self.frames
    }
    /// All chunks, by index.
    pub fn chunks(&self) -> &[ChunkEntry] {
        &self.chunks
    }
    /// The file's name as errors show it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads frame `i` as it lies in the file, and checks its checksum. `out` is replaced; its memory is reused.
    pub fn read_frame(&self, i: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        out.clear();
        out.resize(self.frame(i)?.size as usize, 0);
        self.read_frame_into(i, out)
    }

    /// The same into a buffer of exactly the frame's size.
    pub fn read_frame_into(&self, i: usize, out: &mut [u8]) -> Result<(), Error> {
        let entry = self.frame(i)?;
        self.read_part("frame", i, entry.offset, entry.size, entry.checksum, out)
    }

    /// Reads chunk `i` as it lies in the file, and checks its checksum. `out` is replaced; its memory is reused.
    pub fn read_chunk(&self, i: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        out.clear();
        out.resize(self.chunk(i)?.size as usize, 0);
        self.read_chunk_into(i, out)
    }

    /// The same into a buffer of exactly the chunk's size.
    pub fn read_chunk_into(&self, i: usize, out: &mut [u8]) -> Result<(), Error> {
        let entry = self.chunk(i)?;
        self.read_part("chunk", i, entry.offset, entry.size, entry.checksum, out)
    }

    fn frame(&self, i: usize) -> Result<&FrameEntry, Error> {
        self.frames.get(i).ok_or_else(|| {
            Error::misuse(format!(
                "frame {i} asked, but {} has {} frames",
                self.path.display(),
                self.frames.len()
            ))
        })
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

    fn read_part(
        &self,
        noun: &str,
        i: usize,
        offset: u64,
        size: u32,
        sum: u64,
        out: &mut [u8],
    ) -> Result<(), Error> {
        if out.len() != size as usize {
            return Err(Error::misuse(format!(
                "{noun} {i} is {size} bytes, but the buffer has {}",
                out.len()
            )));
        }
        read_exact(&*self.source, &self.path, offset, out)?;
        if checksum(out) != sum {
            return Err(Error::malformed(
                &self.path,
                format!("the checksum of {noun} {i} does not match"),
                format!("byte {offset}"),
            ));
        }
        Ok(())
    }
}

/// Holds each part against the file's size and the limits. All parts together may not be larger than the file, so reading
/// them all costs no more than the file's length, whatever the tables say.
struct Budget<'a> {
    path: &'a Path,
    file_size: u64,
    left: u64,
    max_chunk: u64,
}

impl Budget<'_> {
    fn take(&mut self, at: &str, offset: u64, size: u32, raw_size: u32) -> Result<(), Error> {
        let inside = offset >= HEADER_SIZE as u64
            && offset
                .checked_add(size.into())
                .is_some_and(|end| end <= self.file_size);
        if !inside {
            return Err(Error::malformed(self.path, "a part outside the file", at));
        }
        let larger = u64::from(size.max(raw_size));
        if larger > self.max_chunk {
            return Err(Error::limit(
                self.path,
                format!("bytes of {at}"),
                larger,
                self.max_chunk,
            ));
        }
        self.left = self
            .left
            .checked_sub(size.into())
            .ok_or_else(|| Error::malformed(self.path, "parts that share bytes", at))?;
        Ok(())
    }
}

fn read_exact(source: &dyn ReadAt, path: &Path, offset: u64, out: &mut [u8]) -> Result<(), Error> {
    source
        .read_at(offset, out)
        .map_err(|e| Error::io(path, "could not be read", e))
}

fn read_header(source: &dyn ReadAt, path: &Path) -> Result<Header, Error> {
    let len = source.len();
    let mut bytes = [0; HEADER_SIZE];
    if len < HEADER_SIZE as u64 {
        let some = &mut bytes[..len as usize];
        read_exact(source, path, 0, some)?;
        let what = check_magic(some)
            .err()
            .unwrap_or("it is shorter than its header");
        return Err(Error::malformed(path, what, "byte 0"));
    }
    read_exact(source, path, 0, &mut bytes)?;
    let header = Header::decode(&bytes).map_err(|refused| match refused {
        Refused::Malformed(what) => Error::malformed(path, what, "byte 0"),
        Refused::Unsupported(what) => Error::Unsupported {
            path: path.into(),
            what,
        },
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

/// The bytes of one table, after checking that it lies in the file.
fn read_table(
    source: &dyn ReadAt,
    budget: &Budget,
    noun: &str,
    offset: u64,
    count: u64,
    entry_size: usize,
    sum: u64,
) -> Result<Vec<u8>, Error> {
    let at = || format!("the table of {noun}");
    let size = count
        .checked_mul(entry_size as u64)
        .filter(|&size| {
            offset >= HEADER_SIZE as u64
                && offset
                    .checked_add(size)
                    .is_some_and(|end| end <= budget.file_size)
        })
        .and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| Error::malformed(budget.path, "a table outside the file", at()))?;
    let mut bytes = vec![0; size];
    read_exact(source, budget.path, offset, &mut bytes)?;
    if checksum(&bytes) != sum {
        return Err(Error::malformed(
            budget.path,
            "the checksum of a table does not match",
            at(),
        ));
    }
    Ok(bytes)
}

fn read_frames(
    source: &dyn ReadAt,
    header: &Header,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<FrameEntry>, Error> {
    let count = header.frame_count;
    if count > limits.max_frames {
        return Err(Error::limit(
            budget.path,
            "frames",
            count,
            limits.max_frames,
        ));
    }
    let bytes = read_table(
        source,
        budget,
        "frames",
        header.frame_table,
        count,
        FRAME_ENTRY_SIZE,
        header.frame_table_checksum,
    )?;
    let mut frames: Vec<FrameEntry> = Vec::with_capacity(bytes.len() / FRAME_ENTRY_SIZE);
    for (i, bytes) in bytes.as_chunks::<FRAME_ENTRY_SIZE>().0.iter().enumerate() {
        let at = format!("frame {i}");
        let entry =
            FrameEntry::decode(bytes).map_err(|what| Error::malformed(budget.path, what, &at))?;
        if !is_after(entry.time, frames.last().map(|f| f.time)) {
            return Err(Error::malformed(
                budget.path,
                "a time that is not after the one before",
                at,
            ));
        }
        budget.take(&at, entry.offset, entry.size, entry.raw_size)?;
        frames.push(entry);
    }
    let ends = [frames.first(), frames.last()];
    if ends.iter().flatten().any(|f| f.kind != FrameKind::Index) {
        return Err(Error::malformed(
            budget.path,
            "the first or the last frame is not an index frame",
            "the table of frames",
        ));
    }
    Ok(frames)
}

fn read_chunks(
    source: &dyn ReadAt,
    header: &Header,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<ChunkEntry>, Error> {
    let count = header.chunk_count;
    if count > limits.max_chunks {
        return Err(Error::limit(
            budget.path,
            "chunks",
            count,
            limits.max_chunks,
        ));
    }
    let bytes = read_table(
        source,
        budget,
        "chunks",
        header.chunk_table,
        count,
        CHUNK_ENTRY_SIZE,
        header.chunk_table_checksum,
    )?;
    let mut chunks = Vec::with_capacity(bytes.len() / CHUNK_ENTRY_SIZE);
    for (i, bytes) in bytes.as_chunks::<CHUNK_ENTRY_SIZE>().0.iter().enumerate() {
        let at = format!("chunk {i}");
        let entry =
            ChunkEntry::decode(bytes).map_err(|what| Error::malformed(budget.path, what, &at))?;
        budget.take(&at, entry.offset, entry.size, entry.raw_size)?;
        chunks.push(entry);
    }
    Ok(chunks)
}
