//! One stream (positions, uvs …) of one mesh in one frame: predictor + residuals.

use crate::{Corrupt, parallelogram::Table, word::Word};

/// Frames that a frame may be predicted from, all component-major with the stream's shape.
#[derive(Clone, Copy)]
pub struct References<'a, W> {
    /// The stream's base: the values of its first frame, kept in the static data, always there for index frames.
    pub base: Option<&'a [W]>,
    /// The frame before (an index frame or a between frame).
    pub previous: Option<&'a [W]>,
    /// The frame before that, if it belongs to the same group (not before the group's first index frame).
    pub before_previous: Option<&'a [W]>,
    /// Index frame at the start of the group.
    pub index_before: Option<&'a [W]>,
    /// Index frame at the end of the group.
    pub index_after: Option<&'a [W]>,
    /// Adjacent-triangle table (empty = every vertex from the previous one).
    pub table: &'a Table,
}

/// How a stream is predicted inside a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spatial {
    /// P = C + B − A: positions, uvs.
    Parallelogram,
    /// P = (B + C) / 2: colours, QTangents, normals.
    Average,
}

/// Encodes `values` (component-major, `components × count`) without reference to other frames but `base`; appends to `out`. Picks the
/// smaller of: spatial prediction of the values, spatial prediction of the difference to `base`.
pub fn encode_index<W: Word>(
    _values: &[W],
    _components: usize,
    _spatial: Spatial,
    _refs: References<'_, W>,
    _out: &mut Vec<u8>,
) {
    todo!()
}
/// Encodes a between frame: searches a, b, c (`effort` 1…9 bounds the work) and appends predictor and residuals to `out`.
pub fn encode_between<W: Word>(
    _values: &[W],
    _components: usize,
    _refs: References<'_, W>,
    _effort: u32,
    _out: &mut Vec<u8>,
) {
    todo!()
}
/// Decodes what either encoder wrote at the start of `bytes`; `out.len() == components × count`. Returns the bytes used.
pub fn decode<W: Word>(
    _bytes: &[u8],
    _components: usize,
    _spatial: Spatial,
    _refs: References<'_, W>,
    _out: &mut [W],
) -> Result<usize, Corrupt> {
    todo!()
}
