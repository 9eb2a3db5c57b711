//! What one mesh has in one unit.

use crate::method::coder::FrameMeasures;
use serde::{Deserialize, Serialize};

/// The bytes of one mesh in one unit, and what is measured of them.
#[derive(Default, Serialize, Deserialize)]
pub struct Payload {
    pub bytes: Vec<u8>,
    /// Animated attributes, where they are apart.
    pub attributes: Vec<u8>,
    /// Bytes of these that positions take.
    pub position_bytes: usize,
    /// By frame of the unit: decoded bounds and largest error.
    pub seen: FrameMeasures,
    /// Vertices and indices, where they change per frame.
    pub vertices: usize,
    pub indices: usize,
}

/// One frame of one mesh.
#[derive(Default)]
pub struct Part {
    /// The payload.
    pub bytes: Vec<u8>,
    /// Bytes of the payload that positions take.
    pub position_bytes: usize,
    /// Decoded bounds in the mesh's space, inverted where there is nothing.
    pub bounds: [f32; 6],
    /// Largest distance of a decoded point.
    pub error: f64,
    /// Vertices and indices, where they change per frame.
    pub vertices: usize,
    #[allow(missing_docs)]
    pub indices: usize,
}
