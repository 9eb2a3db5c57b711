//! What a file's meshes have that no frame changes: indices, predictor tables, static streams, bases of animated ones.

use crate::Error;
use crate::open::{Reel, slice};
use crate::words::{Held, Words};
use meshreel_codec::block::Decompressor;
use meshreel_codec::parallelogram::{self, Table};
use meshreel_codec::record::{Location, MeshRecord, Method, Semantic, StreamRecord};
use meshreel_codec::stream::{self, References, Spatial};
use meshreel_codec::{Corrupt, index};

/// Static data of all meshes, in their order.
pub(crate) struct Statics {
    pub meshes: Vec<StaticMesh>,
}

/// Static data of one mesh; empty for fluid ones.
#[derive(Default)]
pub(crate) struct StaticMesh {
    pub indices: Vec<u32>,
    pub table: Table,
    /// Per stream its values (static) or those of the first frame (animated).
    pub streams: Vec<Words>,
}

/// How values of a kind are predicted within a frame. Part of the format.
pub(crate) fn spatial(semantic: Semantic) -> Spatial {
    match semantic {
        Semantic::Position | Semantic::Uv => Spatial::Parallelogram,
        Semantic::Normal | Semantic::QTangent | Semantic::Colour => Spatial::Average,
    }
}

impl Statics {
    /// Reads every chunk that a mesh needs, each once.
    pub fn load(reel: &Reel) -> Result<Statics, Error> {
        let records = &reel.description().meshes;
        let mut meshes: Vec<StaticMesh> = Vec::new();
        meshes.resize_with(records.len(), StaticMesh::default);
        let fixed = || (0..records.len()).filter(|&m| records[m].method != Method::Fluid);
        each_chunk(
            reel,
            fixed()
                .map(|m| (chunk_of(records[m].connectivity), m))
                .collect(),
            |content, m| {
                let record = &records[m];
                let at = || format!("indices of mesh {}", record.path);
                let bytes = slice(reel.path(), content, record.connectivity, at)?;
                let indices = read_indices(record, bytes);
                meshes[m].indices = indices.map_err(|c| Error::corrupt(reel.path(), c, at()))?;
                Ok(())
            },
        )?;
        each_chunk(
            reel,
            fixed().map(|m| (chunk_of(records[m].values), m)).collect(),
            |content, m| {
                let record = &records[m];
                let at = || format!("static values of mesh {}", record.path);
                let bytes = slice(reel.path(), content, record.values, at)?;
                let values = read_values(record, &meshes[m].indices, bytes);
                let (table, streams) = values.map_err(|c| Error::corrupt(reel.path(), c, at()))?;
                (meshes[m].table, meshes[m].streams) = (table, streams);
                Ok(())
            },
        )?;
        Ok(Statics { meshes })
    }
}

/// The chunk to read for a location, none where it is empty.
fn chunk_of(location: Location) -> Option<u32> {
    (location.size > 0).then_some(location.chunk)
}

/// Calls `read(content, mesh)` for all `(chunk, mesh)`, chunk by chunk, so that hostile orders cost nothing.
fn each_chunk(
    reel: &Reel,
    mut wanted: Vec<(Option<u32>, usize)>,
    mut read: impl FnMut(&[u8], usize) -> Result<(), Error>,
) -> Result<(), Error> {
    wanted.sort_unstable();
    let mut decompressor = Decompressor::new();
    let mut held: Option<(u32, Vec<u8>)> = None;
    for (chunk, mesh) in wanted {
        if let Some(chunk) = chunk
            && held.as_ref().map(|h| h.0) != Some(chunk)
        {
            drop(held.take());
            held = Some((chunk, reel.chunk(chunk, &mut decompressor)?));
        }
        let content = held.as_ref().map_or(&[][..], |h| &h.1);
        read(content, mesh)?;
    }
    Ok(())
}

fn read_indices(record: &MeshRecord, bytes: &[u8]) -> Result<Vec<u32>, Corrupt> {
    let mut indices = vec![0; record.indices as usize];
    let used = index::decode(bytes, record.vertices, &mut indices)?;
    all_used(bytes, used)?;
    Ok(indices)
}

fn read_values(
    record: &MeshRecord,
    indices: &[u32],
    bytes: &[u8],
) -> Result<(Table, Vec<Words>), Corrupt> {
    let vertices = record.vertices as usize;
    let mut used = 0;
    let mut table = Table::new();
    if record.has_table {
        (table, used) = parallelogram::decode_table(bytes, indices, vertices)?;
    }
    let mut streams = Vec::with_capacity(record.streams.len());
    for stream in &record.streams {
        let mut words = Words::zeroed(stream.word, stream.semantic.components() * vertices);
        let rest = bytes.get(used..).unwrap_or(&[]);
        used += match words {
            Words::U8(_) => read_stream::<u8>(stream, rest, &table, &mut words)?,
            Words::U16(_) => read_stream::<u16>(stream, rest, &table, &mut words)?,
            Words::U32(_) => read_stream::<u32>(stream, rest, &table, &mut words)?,
        };
        streams.push(words);
    }
    all_used(bytes, used)?;
    Ok((table, streams))
}

fn read_stream<W: Held>(
    record: &StreamRecord,
    bytes: &[u8],
    table: &Table,
    out: &mut Words,
) -> Result<usize, Corrupt> {
    let refs = References {
        base: None,
        previous: None,
        before_previous: None,
        index_before: None,
        index_after: None,
        table,
    };
    let components = record.semantic.components();
    stream::decode(
        bytes,
        components,
        spatial(record.semantic),
        refs,
        W::of_mut(out),
    )
}

fn all_used(bytes: &[u8], used: usize) -> Result<(), Corrupt> {
    if used == bytes.len() {
        Ok(())
    } else {
        Err(Corrupt("bytes left over"))
    }
}
