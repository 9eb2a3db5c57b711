//! The bytes of one mesh in one unit.

use crate::Error;
use crate::method::coder::FrameMeasures;
use serde::{Deserialize, Serialize};

/// The bytes of one mesh in one unit, and their measurements.
#[derive(Default, Serialize, Deserialize)]
pub struct Payload {
    pub bytes: Vec<u8>,
    /// Animated attributes, if they are kept apart.
    pub attributes: Vec<u8>,
    /// Bytes of positions among these.
    pub position_bytes: usize,
    /// Decoded bounds and largest error, by frame of the unit.
    pub measures: FrameMeasures,
    /// Number of vertices and indices, if they change per frame.
    pub vertices: usize,
    pub indices: usize,
}

/// The bytes of one mesh in one frame, and their measurements.
#[derive(Default)]
pub struct FramePayload {
    /// The payload.
    pub bytes: Vec<u8>,
    /// Bytes of positions in the payload.
    pub position_bytes: usize,
    /// Decoded bounds in the mesh's space; inverted if there is nothing.
    pub bounds: [f32; 6],
    /// Largest error of a decoded point.
    pub error: f64,
    /// Number of vertices and indices, if they change per frame.
    pub vertices: usize,
    #[allow(missing_docs)]
    pub indices: usize,
}

/// A key of a mesh: its bytes in the unit, and the state that frames refer to.
#[derive(Serialize, Deserialize)]
pub struct KnownKey {
    pub payload: Payload,
    /// By part of all streams of fixed-point values, its decoded values.
    pub fixed_point_states: Vec<Vec<u8>>,
    /// By stream, the states of predicted normals.
    pub normals: Vec<Option<Vec<u8>>>,
}

/// Returns the keys of a segment of a mesh's own frames; `None` if these must be coded.
pub type KnownKeys = Box<dyn Fn(u32) -> Result<Option<Vec<KnownKey>>, Error> + Send + Sync>;
