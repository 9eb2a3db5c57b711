//! Parallelogram and averaging prediction inside one frame (B02–B05).

/// Per vertex the distances back to A, B, C of the triangle it is predicted from; 0xFFFF in the first = previous vertex.
pub type Table = Vec<[u16; 3]>;
/// Largest distance back. Part of the format.
pub const LOOK_BACK: u32 = 4096;
/// No triangle: the previous vertex predicts. Part of the format.
pub const NONE: u16 = 0xFFFF;

/// Chooses for each vertex the adjacent triangle with the least L1 residual summed over `frames` (component-major, `components` × vertices each).
pub fn build_table<W: crate::word::Word>(
    _indices: &[u32],
    _vertices: usize,
    _components: usize,
    _frames: &[&[W]],
) -> Table {
    todo!()
}
