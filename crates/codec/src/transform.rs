//! Node transforms: quaternion, translation, non-uniform scale, 10 f32 (A18), bit-exact.

use crate::Corrupt;

/// Rotation (x, y, z, w; unit), translation, scale: `point ↦ rotation·(scale∘point) + translation`, column vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Transform {
    pub rotation: [f32; 4],
    pub translation: [f32; 3],
    pub scale: [f32; 3],
}

impl Transform {
    /// Changes nothing.
    pub const IDENTITY: Transform = Transform {
        rotation: [0.0, 0.0, 0.0, 1.0],
        translation: [0.0; 3],
        scale: [1.0; 3],
    };
    /// Row-major 3×4 matrix in f64; the quaternion is normalised first, so that its f32 rounding costs no scale.
    pub fn matrix(&self) -> [[f64; 4]; 3] {
        todo!()
    }
}

/// Encodes transforms, relative to `previous` (same length) where given; appends to `out`.
pub fn encode(_values: &[Transform], _previous: Option<&[Transform]>, _out: &mut Vec<u8>) {
    todo!()
}
/// Decodes `out.len()` transforms from the start of `bytes`; returns the bytes used.
pub fn decode(
    _bytes: &[u8],
    _previous: Option<&[Transform]>,
    _out: &mut [Transform],
) -> Result<usize, Corrupt> {
    todo!()
}
