//! The output file, or, on a dry run, only its size; chunks that many meshes share; and the naming of a
//! finished file.

use crate::Error;
use crate::report::Inspect;
use crate::write::job::Chunk;
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::record::ChunkLocation;
use meshreel_format::{CHUNK_ENTRY_SIZE, CompleteFile, Writer, kind};
use meshreel_scene::Remark;
use std::path::Path;

/// Size before compression, in bytes, to which shared chunks are filled.
const BATCH_BYTES: usize = 1 << 20;

/// The output file; on a dry run, only its size; or chunks that a join will write.
pub enum ChunkOutput {
    File(Writer),
    Count { chunks: u32, bytes: u64 },
    Memory(Vec<Chunk>),
}

impl ChunkOutput {
    pub fn write_chunk(&mut self, kind: u16, raw: u32, bytes: &[u8]) -> Result<u32, Error> {
        match self {
            ChunkOutput::File(writer) => Ok(writer.add_chunk(kind, raw, bytes)?),
            ChunkOutput::Count { chunks, bytes: total } => {
                *total += (bytes.len() + CHUNK_ENTRY_SIZE) as u64;
                *chunks += 1;
                Ok(*chunks - 1)
            }
            ChunkOutput::Memory(chunks) => {
                chunks.push((kind, raw, bytes.to_vec()));
                Ok(chunks.len() as u32 - 1)
            }
        }
    }
}

/// Collects the data of many meshes into chunks of one kind.
pub struct Batches {
    pub kind: u16,
    pub content: Vec<u8>,
    /// Data that is not written yet: mesh, raw size.
    pub pending: Vec<(usize, usize)>,
    /// Compressed bytes by mesh, in proportion to the raw size.
    pub compressed_bytes: Vec<f64>,
    pub locations: Vec<ChunkLocation>,
    pub total: u64,
}

impl Batches {
    pub fn new(kind: u16, meshes: usize) -> Batches {
        Batches {
            kind,
            content: Vec::new(),
            pending: Vec::new(),
            compressed_bytes: vec![0.0; meshes],
            locations: vec![ChunkLocation::default(); meshes],
            total: 0,
        }
    }

    pub fn add(
        &mut self,
        mesh: usize,
        fill: impl FnOnce(&mut Vec<u8>),
        compressor: &mut Compressor,
        output: &mut ChunkOutput,
    ) -> Result<(), Error> {
        let start = self.content.len();
        fill(&mut self.content);
        let size = self.content.len() - start;
        check_size("static data of one mesh", self.content.len())?;
        self.locations[mesh] = ChunkLocation { chunk: u32::MAX, offset: start as u32, size: size as u32 };
        self.pending.push((mesh, size));
        if self.content.len() >= BATCH_BYTES { self.flush(compressor, output) } else { Ok(()) }
    }

    pub fn flush(&mut self, compressor: &mut Compressor, output: &mut ChunkOutput) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut packed = Vec::new();
        match self.kind {
            // The size of their content is not known from elsewhere.
            kind::PART_ATTRIBUTES | kind::RIGS => compressor.compress_bounded(&self.content, &mut packed),
            _ => compressor.compress(&self.content, &mut packed),
        }
        let chunk = output.write_chunk(self.kind, self.content.len() as u32, &packed)?;
        let stored = (packed.len() + CHUNK_ENTRY_SIZE) as f64;
        self.total += stored as u64;
        for (mesh, size) in self.pending.drain(..) {
            self.locations[mesh].chunk = chunk;
            self.compressed_bytes[mesh] += stored * size as f64 / self.content.len().max(1) as f64;
        }
        self.content.clear();
        Ok(())
    }
}

/// Returns `raw` over `packed` bytes, 0 if nothing is packed.
pub fn ratio(raw: u64, packed: u64) -> f64 {
    match packed {
        0 => 0.0,
        packed => raw as f64 / packed as f64,
    }
}

/// The largest size of a block, which keeps a reader's limits.
const MAX_BLOCK_BYTES: usize = 1 << 30;

pub fn check_size(what: &str, size: usize) -> Result<(), Error> {
    match size <= MAX_BLOCK_BYTES {
        true => Ok(()),
        false => Err(Error::Limit { what: what.into(), asked: size as u64, allowed: MAX_BLOCK_BYTES as u64 }),
    }
}

/// Moves a file to its target if it opens and decodes. Returns its size in bytes.
pub fn publish(
    file: CompleteFile,
    target: &Path,
    inspect: Inspect<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<u64, Error> {
    inspect(file.path()).map_err(|source| Error::Refused { source, target: target.into() })?;
    let published = file.publish()?;
    if let Some(error) = published.unsynced {
        remarks.push(Remark::new(
            target.display().to_string(),
            format!("the file is complete and in its place, but its folder could not be synced ({error}): the older one may be back after a power cut in the next seconds"),
        ));
    }
    Ok(published.size)
}
