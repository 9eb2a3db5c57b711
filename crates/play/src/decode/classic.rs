//! Streams of the preset `classic`: component by component, each value predicted from its neighbours in the
//! frame, from other frames, or from both, see [`meshreel_codec::classic::stream`]. Covers static values,
//! frames of meshes with fixed topology, and meshes whose topology changes, which are complete in each frame.

use crate::reel::chunk_content::take_bytes;
use crate::reel::frame::array_mut;
use crate::reel::layout::{ArrayLayout, IndexRange, MeshLayout};
use crate::reel::quantized::{QuantizedBuffer, QuantizedInteger};
use bytemuck::Pod;
use meshreel_codec::Corrupt;
use meshreel_codec::classic::stream;
use meshreel_codec::classic::stream::{References, SpatialPrediction};
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::{MeshRecord, Semantic, StreamRecord};
use meshreel_codec::topology::index;
use meshreel_codec::values::parallelogram::{PredictorTable, TableDeriver};

/// Returns the prediction of values of a kind within a frame. Part of the format.
pub(crate) fn spatial_prediction(semantic: Semantic) -> SpatialPrediction {
    match semantic {
        Semantic::Position | Semantic::Uv => SpatialPrediction::Parallelogram,
        _ => SpatialPrediction::Average,
    }
}

/// Reads static values: those of static streams, or of the first frame.
pub(crate) fn read_static<W: QuantizedInteger>(
    record: &StreamRecord,
    bytes: &[u8],
    table: &PredictorTable,
    out: &mut QuantizedBuffer,
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
    stream::decode(bytes, components, spatial_prediction(record.semantic), refs, W::slice_mut(out))
}

/// Derives the predictor table of a frame. Its memory is sized for the largest frame of the largest mesh so
/// far.
#[derive(Default)]
pub(crate) struct FrameTableDeriver {
    table: PredictorTable,
    deriver: TableDeriver,
    /// The numbers of vertices and indices that there is room for.
    capacity: (usize, usize),
}

impl FrameTableDeriver {
    fn derive(&mut self, record: &MeshRecord, indices: &[u32], vertices: usize) {
        let most = (record.vertices as usize, record.indices as usize);
        if most.0 > self.capacity.0 || most.1 > self.capacity.1 {
            self.capacity = (most.0.max(self.capacity.0), most.1.max(self.capacity.1));
            self.deriver = TableDeriver::with_capacity(self.capacity.0, self.capacity.1);
            self.table = PredictorTable::with_capacity(self.capacity.0);
        }
        self.deriver.derive(indices, vertices, &mut self.table);
    }
}

/// Reads a mesh from the start of `bytes` into its parts of a frame; returns the bytes used. `scratch` keeps
/// its memory from frame to frame.
pub(crate) fn read_mesh(
    record: &MeshRecord,
    layout: &MeshLayout,
    bytes: &[u8],
    out: &mut [u64],
    scratch: &mut FrameTableDeriver,
) -> Result<usize, Corrupt> {
    const NOT_ANIMATED: Corrupt = Corrupt("frames of a mesh that the description does not animate");
    let places = layout.fluid.as_ref().ok_or(NOT_ANIMATED)?;
    array_mut::<u32>(out, places.counts).fill(0);
    let ranges: &mut [IndexRange] = array_mut(out, places.materials);
    ranges.fill(IndexRange::default());
    let mut rest = bytes;
    match take_bytes(&mut rest, 1)? {
        [0] => return Ok(1),
        [1] => {}
        _ => return Err(Corrupt("a visibility that is neither 0 nor 1")),
    }
    let counts = [read_u32(&mut rest)?, read_u32(&mut rest)?, read_u32(&mut rest)?];
    let [vertices, index_count, source_points] = counts;
    if vertices > record.vertices || index_count > record.indices || source_points > record.source_points {
        return Err(Corrupt("larger than the description says"));
    }
    if !index_count.is_multiple_of(3) {
        return Err(Corrupt("the indices make no whole triangles"));
    }
    for range in ranges {
        range.first = read_u32(&mut rest)?;
        range.count = read_u32(&mut rest)?;
        let end = range.first.checked_add(range.count);
        let whole = range.first.is_multiple_of(3) && range.count.is_multiple_of(3);
        if end.is_none_or(|end| end > index_count) || !whole {
            return Err(Corrupt("a material's range beyond the indices"));
        }
    }
    let indices = &mut array_mut::<u32>(out, places.indices)[..index_count as usize];
    let used = index::decode(rest, vertices, indices)?;
    take_bytes(&mut rest, used)?;
    scratch.derive(record, indices, vertices as usize);
    let table = &scratch.table;
    for (stream, place) in record.streams.iter().zip(&layout.streams) {
        let place = place.ok_or(NOT_ANIMATED)?;
        let used = match place.value_bytes {
            1 => read_index_stream::<u8>(stream.semantic, rest, vertices, table, place, out)?,
            2 => read_index_stream::<u16>(stream.semantic, rest, vertices, table, place, out)?,
            _ => read_index_stream::<u32>(stream.semantic, rest, vertices, table, place, out)?,
        };
        take_bytes(&mut rest, used)?;
    }
    let counts = [vertices, index_count, source_points, vertices, 0];
    array_mut::<u32>(out, places.counts).copy_from_slice(&counts);
    Ok(bytes.len() - rest.len())
}

/// Reads a stream of a frame that is not predicted from other frames.
fn read_index_stream<W: Code + Pod>(
    semantic: Semantic,
    bytes: &[u8],
    vertices: u32,
    table: &PredictorTable,
    place: ArrayLayout,
    out: &mut [u64],
) -> Result<usize, Corrupt> {
    let components = semantic.components();
    let out = &mut array_mut::<W>(out, place)[..components * vertices as usize];
    let refs = References::of_index_frame(None, table);
    stream::decode(bytes, components, spatial_prediction(semantic), refs, out)
}

fn read_u32(bytes: &mut &[u8]) -> Result<u32, Corrupt> {
    let mut word = [0; 4];
    word.copy_from_slice(take_bytes(bytes, 4)?);
    Ok(u32::from_le_bytes(word))
}
