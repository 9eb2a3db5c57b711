//! Writes a file so that no reader ever sees it half done.
//!
//! Everything goes to a temporary file beside the target. At the end, in this order: tables and header (with
//! a magic number of zeros), sync, magic number, sync, rename over the target, sync of the folder. Before the
//! rename the caller may open the temporary file ([`Writer::complete`]). If the process is killed at any
//! moment, the target is either unchanged or complete; after a power loss too, as far as the disk keeps its
//! promises. The temporary file that a killed process leaves is named `.<name>.<process>-<number>.tmp`, is
//! never opened again, and is removed by the next writer of the same target.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use meshreel_files::Temporary;

use crate::chunk::ChunkEntry;
use crate::error::Error;
use crate::frames::{self, EMPTY_BOUNDS, FrameEntry, is_after, is_box};
use crate::header::{HEADER_SIZE, Header, MAGIC, REQUIRED_FLAGS, Summary, VERSION, checksum};

// Tuning. Free to change.

/// Bytes collected per system call; there are many small writes.
const BUFFER: usize = 256 * 1024;

/// Writes one file, from front to back.
#[derive(Debug)]
pub struct Writer {
    file: BufWriter<File>,
    temporary: Temporary,
    target: PathBuf,
    written: u64,
    frames: Vec<FrameEntry>,
    chunks: Vec<ChunkEntry>,
}

/// A complete file on the disk, beside its target. Dropping it removes the file, and the target stays
/// unchanged.
#[derive(Debug)]
pub struct CompleteFile(Writer);

impl CompleteFile {
    /// The path of the temporary file, until it is published.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.temporary.path()
    }

    /// The size of the file in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.0.written
    }

    /// Renames the file to its target.
    pub fn publish(self) -> Result<PublishedFile, Error> {
        let Writer { temporary, target, written, .. } = self.0;
        // The target may have changed since `create`.
        check_target(&target)?;
        let published = temporary.publish().map_err(|e| {
            let what = "the finished file could not be put in its place";
            Error::io(&target, what, e)
        })?;
        Ok(PublishedFile { size: written, unsynced: published.unsynced })
    }
}

/// A file that was renamed to its target.
#[derive(Debug)]
#[non_exhaustive]
pub struct PublishedFile {
    /// Its size in bytes.
    pub size: u64,
    /// The error of syncing the folder, if that failed: a power loss may then lose the new name. The file
    /// itself is complete.
    pub unsynced: Option<std::io::Error>,
}

impl Writer {
    /// Begins a file that will be at `path` when [`Writer::finish`] returns. Until then any old file at
    /// `path` stays.
    pub fn create(path: &Path) -> Result<Writer, Error> {
        check_target(path)?;
        let made = Temporary::create(path).and_then(|temporary| {
            let file = temporary.file().try_clone()?;
            Ok((file, temporary))
        });
        let (file, temporary) = made.map_err(|e| {
            let what = "cannot be written: no file can be made in its folder";
            Error::io(path, what, e)
        })?;
        let mut writer = Writer {
            file: BufWriter::with_capacity(BUFFER, file),
            target: temporary.target().to_path_buf(),
            temporary,
            written: 0,
            frames: Vec::new(),
            chunks: Vec::new(),
        };
        writer.append(&[0; HEADER_SIZE])?;
        Ok(writer)
    }

    /// Appends a chunk that has `raw_size` bytes after decompression. Returns its index.
    pub fn add_chunk(&mut self, kind: u16, raw_size: u32, bytes: &[u8]) -> Result<u32, Error> {
        let index = u32::try_from(self.chunks.len())
            .map_err(|_| Error::misuse("more than 2^32 chunks in one file"))?;
        let size = chunk_size(bytes)?;
        let offset = self.append(bytes)?;
        self.chunks.push(ChunkEntry { kind, offset, size, raw_size, checksum: checksum(bytes) });
        Ok(index)
    }

    /// Appends a frame to the frame table; `time` in seconds, `bounds` in world space (or
    /// [`crate::EMPTY_BOUNDS`]).
    pub fn add_frame(&mut self, time: f64, bounds: [f32; 6]) -> Result<(), Error> {
        let i = self.frames.len();
        if !is_after(time, self.frames.last().map(|f| f.time)) {
            return Err(Error::misuse(format!("frame {i}: its time, {time} s, is not after the one before")));
        }
        if !is_box(&bounds) {
            return Err(Error::misuse(format!(
                "frame {i}: a box that is neither empty nor ordered: {bounds:?}"
            )));
        }
        self.frames.push(FrameEntry { time, bounds });
        Ok(())
    }

    /// Returns the number of bytes written so far, including the header.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Writes the tables and the header, and renames the file to its target. Returns its size in bytes.
    pub fn finish(self, summary: Summary) -> Result<u64, Error> {
        Ok(self.complete(summary)?.publish()?.size)
    }

    /// Writes the tables and the header. The file can then be opened, but does not have its final name yet.
    pub fn complete(mut self, summary: Summary) -> Result<CompleteFile, Error> {
        if !is_box(&summary.bounds) {
            return Err(Error::misuse(format!(
                "a box that is neither empty nor ordered: {:?}",
                summary.bounds
            )));
        }
        if summary.flags & REQUIRED_FLAGS != 0 {
            return Err(Error::misuse("a required flag that this version does not define"));
        }
        if let Some(i) = (self.frames.iter()).position(|f| !holds(&summary.bounds, &f.bounds)) {
            return Err(Error::misuse(format!("frame {i}: its box is not within that of the file")));
        }
        let mut table = Vec::new();
        frames::encode(&self.frames, &summary.bounds, &mut table);
        let frame_table_checksum = checksum(&table);
        let frame_table = self.append(&table)?;
        let table: Vec<u8> = self.chunks.iter().flat_map(|c| c.encode()).collect();
        let chunk_table_checksum = checksum(&table);
        let chunk_table = self.append(&table)?;
        let header = Header {
            version: VERSION,
            flags: summary.flags,
            file_size: self.written,
            raw_bytes: summary.raw_bytes,
            frame_count: self.frames.len() as u64,
            frame_table,
            chunk_count: self.chunks.len() as u64,
            chunk_table,
            bounds: summary.bounds,
            frame_table_checksum,
            chunk_table_checksum,
        };
        let mut header = header.encode();
        header[..MAGIC.len()].fill(0);
        self.overwrite_start(&header)
            .and_then(|()| self.overwrite_start(&MAGIC))
            .map_err(|e| self.io_error(e))?;
        Ok(CompleteFile(self))
    }

    /// Appends `bytes` to the file and returns their offset.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Error> {
        let offset = self.written;
        self.file.write_all(bytes).map_err(|e| self.io_error(e))?;
        self.written += bytes.len() as u64;
        Ok(offset)
    }

    /// Overwrites the first bytes, and syncs everything written so far to the disk.
    fn overwrite_start(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(bytes)?;
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }

    fn io_error(&self, e: std::io::Error) -> Error {
        Error::io(&self.target, "could not be written, and what was there before is untouched", e)
    }
}

/// Returns `true` if `bounds` are empty or inside `all`.
fn holds(all: &[f32; 6], bounds: &[f32; 6]) -> bool {
    let inside = |k: usize| all[k] <= bounds[k] && bounds[k + 3] <= all[k + 3];
    *bounds == EMPTY_BOUNDS || (0..3).all(inside)
}

fn chunk_size(bytes: &[u8]) -> Result<u32, Error> {
    u32::try_from(bytes.len()).map_err(|_| Error::misuse("a chunk larger than 4 GiB; use smaller batches"))
}

/// Checks early whether the target can be written, for a precise error message.
fn check_target(path: &Path) -> Result<(), Error> {
    if path.file_name().is_none() {
        return Err(Error::misuse(format!("{}: not the name of a file", path.display())));
    }
    if meshreel_files::store::url(path).is_some() {
        return Ok(());
    }
    let folder = parent_folder(path);
    match fs::metadata(folder) {
        Ok(meta) if !meta.is_dir() => {
            return Err(Error::misuse(format!(
                "{}: cannot be written: {} is not a folder",
                path.display(),
                folder.display()
            )));
        }
        Ok(_) => {}
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Err(Error::Io {
                path: path.into(),
                what: format!("cannot be written: there is no folder {} (create it first)", folder.display()),
                source: e,
            });
        }
        Err(e) => return Err(Error::io(path, "cannot be written", e)),
    }
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Err(Error::misuse(format!(
            "{}: cannot be written: it is a folder (name a file in it)",
            path.display()
        ))),
        Ok(meta) if !meta.is_file() => {
            Err(Error::misuse(format!("{}: cannot be written: it is not an ordinary file", path.display())))
        }
        Ok(meta) if meta.permissions().readonly() => Err(Error::io(
            path,
            "cannot be written: the file there is read-only",
            ErrorKind::PermissionDenied.into(),
        )),
        _ => Ok(()),
    }
}

fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
