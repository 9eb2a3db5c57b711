//! What one mesh has in one unit.

use crate::method::coder::FrameMeasures;

/// What one mesh has in one unit.
#[derive(Default)]
pub struct Payload {
    pub bytes: Vec<u8>,
    /// Animated attributes, where they are apart.
    pub attributes: Vec<u8>,
    /// How many of `bytes` positions take.
    pub position_bytes: usize,
    /// By frame of the unit: decoded bounds and largest error.
    pub seen: FrameMeasures,
    /// Vertices and indices, where they change per frame.
    pub vertices: usize,
    pub indices: usize,
}
