//! Keys that were coded where everything was decided, for those who code the frames between.

use crate::Error;
use crate::method::payload::Payload;
use serde::{Deserialize, Serialize};

/// A key of a mesh: what it has in its unit, and what frames refer to.
#[derive(Serialize, Deserialize)]
pub struct KnownKey {
    pub payload: Payload,
    /// By part of all streams of fixed-point values its decoded values.
    pub cells: Vec<Vec<u8>>,
    /// By stream the states of predicted normals.
    pub normals: Vec<Option<Vec<u8>>>,
}

/// Gives the keys of a segment of a mesh's own frames; none where these have to be coded.
pub type KnownKeys<'a> = Box<dyn Fn(u32) -> Result<Option<Vec<KnownKey>>, Error> + Send + Sync + 'a>;
