//! Octahedral normals: two levels per normal.

/// Bits per axis (2…16) so that every unit vector comes back within `degrees`.
pub fn bits_for(_degrees: f64) -> u32 {
    todo!()
}
/// The best of the neighbouring levels, by angle. Zero or non-finite input gives +z.
pub fn encode(_normal: [f32; 3], _bits: u32) -> [u16; 2] {
    todo!()
}
/// Unit vector.
pub fn decode(_levels: [u16; 2], _bits: u32) -> [f32; 3] {
    todo!()
}
