//! Triangle indices, ordered for a vertex cache, to few bytes.

use crate::Corrupt;
/// Appends `indices` (3 per triangle; kept in order and rotation exactly) to `out`.
pub fn encode(_indices: &[u32], _out: &mut Vec<u8>) {
    todo!()
}
/// Decodes `out.len()` indices, each below `vertices`, from the start of `bytes`; returns the bytes used.
pub fn decode(_bytes: &[u8], _vertices: u32, _out: &mut [u32]) -> Result<usize, Corrupt> {
    todo!()
}
