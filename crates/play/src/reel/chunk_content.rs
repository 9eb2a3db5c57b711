//! The content of chunks: reads and decompresses it, and finds the parts that the description names.

use crate::{Error, error};
use meshreel_codec::Corrupt;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::record::ChunkLocation;
use meshreel_format::Reader;
use std::path::Path;

/// Returns the part of a chunk's content that a location names.
pub(crate) fn slice<'a>(
    path: &Path,
    content: &'a [u8],
    location: ChunkLocation,
    at: impl Fn() -> String,
) -> Result<&'a [u8], Error> {
    if location.size == 0 {
        return Ok(&[]);
    }
    let start = location.offset as usize;
    start
        .checked_add(location.size as usize)
        .and_then(|end| content.get(start..end))
        .ok_or_else(|| Error::malformed(path, "a location beyond its chunk", at()))
}

/// Reads and decompresses a chunk.
pub(crate) fn read_chunk(
    reader: &Reader,
    chunk: usize,
    decompressor: &mut Decompressor,
) -> Result<Vec<u8>, Error> {
    let path = reader.path();
    let at = || format!("chunk {chunk}");
    let entry = reader.chunks().get(chunk).ok_or_else(|| Error::malformed(path, "no such chunk", at()))?;
    let mut bytes = Vec::new();
    reader.read_chunk(chunk, &mut bytes)?;
    let raw_size = Decompressor::raw_size(&bytes).map_err(|c| error::corrupt(path, c, at()))?;
    if raw_size != entry.raw_size as usize {
        return Err(Error::malformed(path, "block and chunk table disagree on the size", at()));
    }
    let mut raw = vec![0; raw_size];
    decompressor.decompress(&bytes, &mut raw).map_err(|c| error::corrupt(path, c, at()))?;
    Ok(raw)
}

/// Takes the next `count` bytes.
pub(crate) fn take_bytes<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], Corrupt> {
    let (head, rest) = bytes.split_at_checked(count).ok_or(Corrupt("the bytes end early"))?;
    *bytes = rest;
    Ok(head)
}
