//! Keys that were coded by the plan of a farm, for the parts that code the frames between them.

use crate::Error;
use crate::method::payload::Payload;
use serde::{Deserialize, Serialize};

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
