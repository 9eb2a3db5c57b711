//! A file of a store, read in ranges.

use crate::bucket::{Bucket, Key};
use crate::error::to_io_error;
use meshreel_files::ReadAt;
use object_store::{GetOptions, GetRange, ObjectStoreExt};
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of a block. Readers ask for small things close to each other, and a request takes tens of
/// milliseconds.
const BLOCK_BYTES: u64 = 1 << 20;
/// The number of blocks kept in memory: those read last.
const MAX_CACHED_BLOCKS: usize = 64;
/// The largest request in bytes.
pub const MAX_REQUEST_BYTES: u64 = 8 << 20;
/// The number of attempts for a request whose answer breaks off.
const MAX_ATTEMPTS: u32 = 3;

/// A file of a store, with a cache of the blocks read last.
pub struct ObjectReader {
    bucket: Bucket,
    key: Key,
    length: u64,
    /// The ETag of the content when it was opened, so that a replaced file is not read in its place.
    e_tag: Option<String>,
    blocks: Mutex<VecDeque<(u64, Arc<[u8]>)>>,
}

impl ObjectReader {
    pub fn open(bucket: Bucket, key: Key) -> Result<ObjectReader> {
        let found = bucket.runtime.block_on(bucket.store.head(&key)).map_err(|error| to_io_error(&error))?;
        Ok(ObjectReader { bucket, key, length: found.size, e_tag: found.e_tag, blocks: Mutex::default() })
    }

    /// Requests a range of bytes.
    fn get(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut time = 1;
        loop {
            let options = GetOptions {
                range: Some(GetRange::Bounded(range.clone())),
                if_match: self.e_tag.clone(),
                ..GetOptions::default()
            };
            let answer = self.bucket.runtime.block_on(async {
                let answer = self.bucket.store.get_opts(&self.key, options).await?;
                answer.bytes().await
            });
            match answer {
                Ok(bytes) if bytes.len() as u64 == range.end - range.start => return Ok(bytes.into()),
                Ok(_) if time == MAX_ATTEMPTS => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if time == MAX_ATTEMPTS || is_final(&error) => return Err(to_io_error(&error)),
                _ => std::thread::sleep(Duration::from_millis(200 << time)),
            }
            time += 1;
        }
    }

    fn cached_block(&self, block: u64) -> Option<Arc<[u8]>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let at = blocks.iter().position(|(number, _)| *number == block)?;
        let found = blocks.remove(at)?;
        blocks.push_back(found.clone());
        Some(found.1)
    }

    fn cache_block(&self, block: u64, bytes: Arc<[u8]>) {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if blocks.iter().all(|(number, _)| *number != block) {
            blocks.push_back((block, bytes));
        }
        while blocks.len() > MAX_CACHED_BLOCKS {
            blocks.pop_front();
        }
    }

    /// Copies the overlap of a block with the range that starts at `offset` into `out`.
    fn copy(&self, block: u64, bytes: &[u8], offset: u64, out: &mut [u8]) {
        let start = block * BLOCK_BYTES;
        let (from, to) = (offset.max(start), (offset + out.len() as u64).min(start + bytes.len() as u64));
        out[(from - offset) as usize..(to - offset) as usize]
            .copy_from_slice(&bytes[(from - start) as usize..(to - start) as usize]);
    }
}

/// `true` if another attempt would fail in the same way.
fn is_final(error: &object_store::Error) -> bool {
    use object_store::Error as E;
    matches!(
        error,
        E::NotFound { .. }
            | E::Precondition { .. }
            | E::NotModified { .. }
            | E::NotSupported { .. }
            | E::PermissionDenied { .. }
            | E::Unauthenticated { .. }
            | E::InvalidPath { .. }
    )
}

impl ReadAt for ObjectReader {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(out.len() as u64).filter(|end| *end <= self.length);
        let end = end.ok_or(Error::from(ErrorKind::UnexpectedEof))?;
        if out.len() as u64 > MAX_REQUEST_BYTES / 2 {
            // Too large to be worth caching.
            for (piece, start) in
                out.chunks_mut(MAX_REQUEST_BYTES as usize).zip((offset..).step_by(MAX_REQUEST_BYTES as usize))
            {
                piece.copy_from_slice(&self.get(start..start + piece.len() as u64)?);
            }
            return Ok(());
        }
        let blocks = offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES);
        let mut missing: Option<Range<u64>> = None;
        for block in blocks {
            match self.cached_block(block) {
                Some(bytes) => self.copy(block, &bytes, offset, out),
                None => missing = Some(missing.map_or(block, |range| range.start)..block + 1),
            }
        }
        let Some(missing) = missing else { return Ok(()) };
        let bytes = self.get(missing.start * BLOCK_BYTES..(missing.end * BLOCK_BYTES).min(self.length))?;
        for (block, bytes) in missing.zip(bytes.chunks(BLOCK_BYTES as usize)) {
            self.copy(block, bytes, offset, out);
            self.cache_block(block, bytes.into());
        }
        Ok(())
    }
}
