//! A mesh whose topology changes: each frame brings its own indices and vertices and refers to no other.

use crate::decode::take;
use crate::mesh::{MeshView, Range};
use crate::statics::spatial;
use crate::words::{Held, Words};
use meshreel_codec::parallelogram::{self, Table};
use meshreel_codec::record::{MeshRecord, StreamRecord};
use meshreel_codec::stream::{self, References};
use meshreel_codec::{Corrupt, index};

/// Buffers for the largest frame, and how much of them the last one used.
pub(crate) struct Fluid {
    vertices: u32,
    index_count: u32,
    source_points: u32,
    indices: Vec<u32>,
    materials: Vec<Range>,
    table: Table,
    streams: Vec<Words>,
}

impl Fluid {
    pub fn new(record: &MeshRecord) -> Fluid {
        let vertices = record.vertices as usize;
        let words = |s: &StreamRecord| Words::zeroed(s.word, s.semantic.components() * vertices);
        Fluid {
            vertices: 0,
            index_count: 0,
            source_points: 0,
            indices: vec![0; record.indices as usize],
            materials: vec![Range::default(); record.materials.len()],
            table: Table::new(),
            streams: record.streams.iter().map(words).collect(),
        }
    }

    /// The last frame, or nothing where `shown` is false.
    pub fn view<'a>(&'a self, record: &'a MeshRecord, shown: bool) -> MeshView<'a> {
        let (vertices, indices, points) = if shown {
            (self.vertices, self.index_count, self.source_points)
        } else {
            (0, 0, 0)
        };
        MeshView {
            record,
            vertices,
            source_points: points,
            indices: &self.indices[..indices as usize],
            materials: if shown { &self.materials } else { &[] },
            streams: &self.streams,
            animated: None,
        }
    }

    /// Reads a frame from the start of `bytes`; returns the bytes used.
    pub fn read(&mut self, record: &MeshRecord, bytes: &[u8]) -> Result<usize, Corrupt> {
        (self.vertices, self.index_count, self.source_points) = (0, 0, 0);
        self.materials.fill(Range::default());
        let mut rest = bytes;
        match take(&mut rest, 1)? {
            [0] => return Ok(1),
            [1] => {}
            _ => return Err(Corrupt("neither shown nor hidden")),
        }
        let vertices = read_u32(&mut rest)?;
        let index_count = read_u32(&mut rest)?;
        let source_points = read_u32(&mut rest)?;
        if vertices > record.vertices
            || index_count > record.indices
            || source_points > record.source_points
        {
            return Err(Corrupt("larger than the description says"));
        }
        if !index_count.is_multiple_of(3) {
            return Err(Corrupt("the indices make no whole triangles"));
        }
        for range in &mut self.materials {
            range.first = read_u32(&mut rest)?;
            range.count = read_u32(&mut rest)?;
            let end = range.first.checked_add(range.count);
            let whole = range.first.is_multiple_of(3) && range.count.is_multiple_of(3);
            if end.is_none_or(|end| end > index_count) || !whole {
                return Err(Corrupt("a material's range beyond the indices"));
            }
        }
        let indices = &mut self.indices[..index_count as usize];
        let used = index::decode(rest, vertices, indices)?;
        take(&mut rest, used)?;
        // The one thing in a frame that allocates: lists of neighbours, as large as this frame needs.
        self.table = parallelogram::derive_table(indices, vertices as usize);
        for (stream, words) in record.streams.iter().zip(&mut self.streams) {
            let used = match words {
                Words::U8(_) => read_stream::<u8>(stream, rest, vertices, &self.table, words)?,
                Words::U16(_) => read_stream::<u16>(stream, rest, vertices, &self.table, words)?,
                Words::U32(_) => read_stream::<u32>(stream, rest, vertices, &self.table, words)?,
            };
            take(&mut rest, used)?;
        }
        (self.vertices, self.index_count, self.source_points) =
            (vertices, index_count, source_points);
        Ok(bytes.len() - rest.len())
    }
}

fn read_stream<W: Held>(
    record: &StreamRecord,
    bytes: &[u8],
    vertices: u32,
    table: &Table,
    words: &mut Words,
) -> Result<usize, Corrupt> {
    let components = record.semantic.components();
    let refs = References {
        base: None,
        previous: None,
        before_previous: None,
        index_before: None,
        index_after: None,
        table,
    };
    let out = &mut W::of_mut(words)[..components * vertices as usize];
    stream::decode(bytes, components, spatial(record.semantic), refs, out)
}

fn read_u32(bytes: &mut &[u8]) -> Result<u32, Corrupt> {
    let mut word = [0; 4];
    word.copy_from_slice(take(bytes, 4)?);
    Ok(u32::from_le_bytes(word))
}
