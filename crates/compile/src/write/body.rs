//! The part of a file that does not depend on how its frames are coded: units, one after the other, data that
//! is known when all of them are there, and the tables.

use crate::Error;
use crate::mesh::streams::EMPTY_BOUNDS;
use crate::write::job::{MeshSizes, MeshTotals};
use crate::write::output::{Batches, ChunkOutput, check_size};
use crate::write::units::{AttributesOutput, UnitOutput};
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::record::source_map::SourceMap;
use meshreel_codec::record::{self, Description, source_map};
use meshreel_format::{BOX_SIZE, CHUNK_ENTRY_SIZE, CompleteFile, Summary, kind};
use std::path::Path;

/// Frames of a file, with their sizes by mesh.
pub struct Body {
    pub output: ChunkOutput,
    pub compressor: Compressor,
    /// Source maps.
    pub maps: Batches,
    /// End states of meshes: before the lead-in ends and after the lead-out begins.
    pub end_states: Batches,
    /// Total sizes of all frames, by mesh.
    pub totals: Vec<MeshTotals>,
    /// Bytes of node transforms in all frames.
    pub node_bytes: f64,
    /// Size of the description, uncompressed and in the file.
    pub description_bytes: [usize; 2],
    /// World-space bounds of each frame.
    pub boxes: Vec<[f32; 6]>,
    pub summary: Summary,
}

impl Body {
    /// Starts the body of a file of `meshes` meshes and `frames` frames.
    pub fn new(
        output: ChunkOutput,
        compressor: Compressor,
        meshes: usize,
        frames: usize,
        raw_bytes: u64,
    ) -> Body {
        Body {
            output,
            compressor,
            maps: Batches::new(kind::SOURCE_MAP, meshes),
            end_states: Batches::new(kind::END_STATES, meshes),
            totals: vec![MeshTotals::default(); meshes],
            node_bytes: 0.0,
            description_bytes: [0; 2],
            boxes: vec![EMPTY_BOUNDS; frames],
            summary: Summary { bounds: EMPTY_BOUNDS, raw_bytes, flags: 0 },
        }
    }

    /// Writes the next unit, whose frames must be the file's.
    pub fn write_unit(&mut self, unit: UnitOutput) -> Result<(), Error> {
        self.node_bytes += unit.nodes as f64 * unit.bytes.len() as f64 / unit.raw.max(1) as f64;
        let kind = if unit.alone { kind::INDEPENDENT_UNIT } else { kind::DEPENDENT_UNIT };
        self.output.write_chunk(kind, unit.raw as u32, &unit.bytes)?;
        let cost = CHUNK_ENTRY_SIZE + BOX_SIZE * unit.bounds.len();
        self.count_sizes(unit.raw, unit.bytes.len() + cost, unit.parts);
        if let Some(AttributesOutput { bytes, raw, parts }) = unit.attributes {
            self.output.write_chunk(kind::VERTEX_ATTRIBUTES, raw as u32, &bytes)?;
            self.count_sizes(raw, bytes.len() + CHUNK_ENTRY_SIZE, parts);
        }
        for (frame, bounds) in unit.bounds {
            self.boxes[frame as usize] = bounds;
        }
        Ok(())
    }

    /// Counts the sizes of meshes in data of `raw` bytes that takes `size` bytes in the file.
    pub fn count_sizes(&mut self, raw: usize, size: usize, parts: Vec<MeshSizes>) {
        let stored = size as f64 / raw.max(1) as f64;
        for (total, part) in self.totals.iter_mut().zip(parts) {
            total.bytes += part.bytes as f64 * stored;
            total.position_bytes += part.position_bytes as f64 * stored;
            total.error = total.error.max(part.error);
            total.vertices = total.vertices.max(part.vertices);
            total.indices = total.indices.max(part.indices);
        }
    }

    /// Writes the end states of a mesh, if it has any.
    pub fn add_end_states(&mut self, mesh: usize, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let fill = |out: &mut Vec<u8>| out.extend_from_slice(bytes);
        self.end_states.add(mesh, fill, &mut self.compressor, &mut self.output)
    }

    /// Writes the end states that are still pending.
    pub fn flush_end_states(&mut self) -> Result<(), Error> {
        self.end_states.flush(&mut self.compressor, &mut self.output)
    }

    /// Writes the source map of a mesh.
    pub fn add_source_map(&mut self, mesh: usize, map: &SourceMap) -> Result<(), Error> {
        let fill = |out: &mut Vec<u8>| source_map::encode(map, out);
        self.maps.add(mesh, fill, &mut self.compressor, &mut self.output)
    }

    /// Writes the source maps that are still pending.
    pub fn flush_source_maps(&mut self) -> Result<(), Error> {
        self.maps.flush(&mut self.compressor, &mut self.output)
    }

    /// Writes the times and bounds of frames.
    pub fn frame_table(&mut self, times: &[f64]) -> Result<(), Error> {
        for (&time, &bounds) in times.iter().zip(&self.boxes) {
            let all = &mut self.summary.bounds;
            for k in 0..3 {
                all[k] = all[k].min(bounds[k]);
                all[k + 3] = all[k + 3].max(bounds[k + 3]);
            }
            if let ChunkOutput::File(writer) = &mut self.output {
                writer.add_frame(time, bounds)?;
            }
        }
        Ok(())
    }

    /// Writes the description, and checks that it reads back.
    pub fn write_description(&mut self, description: &Description, target: &Path) -> Result<(), Error> {
        let mut bytes = Vec::new();
        record::encode(description, &mut bytes);
        if record::decode(&bytes).as_ref() != Ok(description) {
            return Err(Error::Promise {
                what: "the description does not read back".into(),
                target: target.into(),
            });
        }
        check_size("the description of all nodes and meshes", bytes.len())?;
        let mut packed = Vec::new();
        self.compressor.compress_bounded(&bytes, &mut packed);
        self.output.write_chunk(kind::DESCRIPTION, bytes.len() as u32, &packed)?;
        self.description_bytes = [bytes.len(), packed.len()];
        Ok(())
    }

    /// Completes the file, which has no name yet. Returns its size, and no file on a dry run.
    pub fn complete(&mut self) -> Result<(u64, Option<CompleteFile>), Error> {
        match std::mem::replace(&mut self.output, ChunkOutput::Memory(Vec::new())) {
            ChunkOutput::File(writer) => {
                let file = writer.complete(self.summary)?;
                Ok((file.size(), Some(file)))
            }
            ChunkOutput::Count { bytes, .. } => Ok((bytes, None)),
            ChunkOutput::Memory(_) => Ok((0, None)),
        }
    }
}
