//! Floats to integers and back: uniform lattices, directions, tangent frames and rotations, and the integer
//! types that hold them.

pub mod blend;
pub mod code;
pub mod fixed_point;
pub mod lattice;
pub mod octahedral;
pub mod qtangent;
pub mod rotation;
pub mod scalar;
pub(crate) mod vertices;

pub use scalar::{Axis, MAX_CODES, blend, dequantize};
