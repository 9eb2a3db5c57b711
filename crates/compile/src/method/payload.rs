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
