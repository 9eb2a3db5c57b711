//! Tangent frames as quaternions whose sign carries the reflection (A14, A15).

/// A tangent frame: unit normal, unit tangent, and the sign of the bitangent (`cross(normal, tangent)·sign`).
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Frame {
    pub normal: [f32; 3],
    pub tangent: [f32; 3],
    pub sign: f32,
}

/// Bits per component (6…16) so that normal and tangent come back within `degrees`.
pub fn bits_for(_degrees: f64) -> u32 {
    todo!()
}
/// Four levels (biased by half the range); `like` = the quaternion levels of the same vertex in the frame before, to pick the nearer of ±q
/// where the sign is free. The w component is kept off zero so that its sign says the reflection.
pub fn encode(_frame: Frame, _bits: u32) -> [u16; 4] {
    todo!()
}
/// The frame that [`encode`] meant.
pub fn decode(_levels: [u16; 4], _bits: u32) -> Frame {
    todo!()
}
