//! The decisions behind the frames of a file: results of long searches, stored as numbers so that another
//! process can continue from them and write the same bytes.

use crate::mesh::analysis::MeshAnalysis;
use serde::{Deserialize, Serialize};

/// Decisions on a whole scene.
#[derive(Serialize, Deserialize)]
pub struct Decisions {
    /// Times of all frames, in seconds.
    pub times: Vec<f64>,
    /// Nodes of the file.
    pub nodes: u32,
    /// `true` if changing faces were replaced by fixed ones.
    pub remeshed: bool,
    /// The decisions on each mesh of the file.
    pub meshes: Vec<MeshDecisions>,
}

/// Decisions on a mesh.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct MeshDecisions {
    /// Results of the first pass over it.
    pub analysis: MeshAnalysis,
    /// The error bound of its positions, in its own space.
    pub error_bound: f64,
    /// `true` if normals are stored although they could be predicted from positions.
    pub explicit_normals: bool,
    /// The effort whose settings give the fewest bytes.
    pub effort: u32,
    /// `true` if its units are packed as with the preset fast.
    pub packed: bool,
    /// Checksum of the static data that frames are coded against.
    pub static_checksum: u64,
    /// By stream, how its fixed-point values are coded; empty for streams in other codecs.
    pub streams: Vec<StreamDecisions>,
    /// The bones that move its positions.
    pub skin: Option<SkinDecisions>,
    /// By stream, the static part of predicted normals.
    pub normals: Vec<Option<Vec<u8>>>,
    /// `true` if its particles are stored as chains.
    pub chains: bool,
}

/// The settings with which a stream of fixed-point values is coded.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct StreamDecisions {
    /// `true` if values are 32 bits wide, not 16.
    pub wide: bool,
    /// Decisions on each of its parts.
    pub parts: Vec<PartDecisions>,
}

/// The settings with which a part of a stream is coded.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct PartDecisions {
    /// Settings that its encoder found (`meshreel_codec::mesh::encode::Encoder::search_result`).
    pub encoder_settings: Vec<u8>,
    /// The coordinate that moves, for a height field.
    pub axis: Option<u8>,
}

/// Bones as they are coded in all frames, and the settings of their residual.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct SkinDecisions {
    /// Rigid bones, affine bones, numbers per frame of the rigid ones, points that have a residual.
    pub bones: [u32; 4],
    /// `true` if handles of affine bones are 32 bits wide.
    pub wide_handles: bool,
    /// `true` if fixed-point positions are 32 bits wide.
    pub wide: bool,
    /// `true` if some point follows several bones.
    pub blends: bool,
    /// The static part.
    pub static_bytes: Vec<u8>,
    /// Bytes of the rigid bones in each unit, with the unit's number.
    pub rigid_units: Vec<(u32, Vec<u8>)>,
    /// Decoded rotation, translation and scale, by frame, then by rigid bone.
    pub transforms: Vec<[f32; 10]>,
    /// Bytes of the affine bones in each unit, with the unit's number.
    pub affine_units: Vec<(u32, Vec<u8>)>,
    /// Decoded affine handles (four points), by frame, then by affine bone.
    pub handles: Vec<[i32; 4]>,
    /// Settings that the encoder of the residual found, if there is a residual.
    pub residual_settings: Option<Vec<u8>>,
}

/// Decisions that the coder of a stream continues from.
pub enum CoderDecisions {
    /// A stream of fixed-point values.
    Part(PartDecisions),
    /// A stream predicted by bones, with a residual.
    Skin(Box<SkinDecisions>),
}
