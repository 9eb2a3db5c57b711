//! What takes long to find and is found once, in numbers that another process can go on from: the decisions
//! behind the frames of a file. Whoever has them gets the same bytes as who made them.

use crate::mesh::found::FoundMesh;
use serde::{Deserialize, Serialize};

/// Decisions on a whole scene.
#[derive(Serialize, Deserialize)]
pub struct Decided {
    /// Times of all frames, in seconds.
    pub times: Vec<f64>,
    /// Nodes of the file.
    pub nodes: u32,
    /// Faces that change were replaced by fixed ones.
    pub remeshed: bool,
    /// By mesh of the file.
    pub meshes: Vec<DecidedMesh>,
}

/// Decisions on a mesh.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct DecidedMesh {
    /// What the first pass over it found.
    pub found: FoundMesh,
    /// The error bound of its positions, in its own space.
    pub radius: f64,
    /// Normals are kept by themselves where they could be predicted from positions.
    pub normals_stored: bool,
    /// The effort whose settings take the fewest bytes.
    pub effort: u32,
    /// Checksum of the static data that frames are coded against.
    pub statics: u64,
    /// By stream how its fixed-point values are coded; nothing of those that are kept otherwise.
    pub streams: Vec<DecidedStream>,
    /// Bones that move its positions.
    pub skin: Option<DecidedSkin>,
    /// By stream the static part of normals that are predicted.
    pub normals: Vec<Option<Vec<u8>>>,
    /// Its particles are in chains.
    pub chains: bool,
}

/// How a stream of fixed-point values is coded.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct DecidedStream {
    /// Values are 32 bits wide, not 16.
    pub wide: bool,
    /// Each of its parts.
    pub parts: Vec<DecidedPart>,
}

/// How a part of a stream is coded.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct DecidedPart {
    /// What its encoder found (`meshreel_codec::mesh::encode::Encoder::settled`).
    pub settled: Vec<u8>,
    /// The coordinate that moves, of a height field.
    pub axis: Option<u8>,
}

/// Bones, as they are coded in all frames, and what their residual takes.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct DecidedSkin {
    /// Rigid bones, affine bones, numbers of a frame of rigid ones, points that have a residual.
    pub bones: [u32; 4],
    /// Handles of affine bones are 32 bits wide.
    pub wide_handles: bool,
    /// Fixed-point positions are 32 bits wide.
    pub wide: bool,
    /// Some point hangs on several bones.
    pub blends: bool,
    /// The static part.
    pub static_bytes: Vec<u8>,
    /// By number of a unit what it has of rigid bones.
    pub rigid_units: Vec<(u32, Vec<u8>)>,
    /// By frame, then rigid bone: rotation, translation and scale as decoded.
    pub transforms: Vec<[f32; 10]>,
    /// By number of a unit what it has of affine bones.
    pub affine_units: Vec<(u32, Vec<u8>)>,
    /// By frame, then affine bone: its four points as decoded.
    pub handles: Vec<[i32; 4]>,
    /// What the encoder of the residual found, if there is one.
    pub settled: Option<Vec<u8>>,
}

/// What a coder of a stream goes on from.
pub enum DecidedCoder {
    /// Fixed-point values alone.
    Part(DecidedPart),
    /// Bones, and a residual.
    Skin(Box<DecidedSkin>),
}
