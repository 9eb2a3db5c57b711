//! The chunk kinds. This crate does not know what the bytes of a chunk mean: see `docs/FORMAT/container.md`,
//! "Chunk kinds".

// Part of the format. A number is never reused for another kind.

/// Description of the file: options, nodes, meshes, streams, materials. One per file.
pub const DESCRIPTION: u16 = 1;
/// Triangles of meshes, by the indices of their vertices.
pub const CONNECTIVITY: u16 = 2;
/// Stream values that are stored once: static streams, bases of animated ones, predictor tables.
pub const VALUES: u16 = 3;
/// The map from vertices back to the source's points and corners. Optional.
pub const SOURCE_MAP: u16 = 4;
/// An access unit of frames that depend on no other frame but the first.
pub const INDEPENDENT_UNIT: u16 = 5;
/// An access unit of frames that depend on other frames.
pub const DEPENDENT_UNIT: u16 = 6;
/// A skeleton: names, parents and rest pose of its joints.
pub const SKELETON: u16 = 7;
/// A clip of a skeleton.
pub const CLIP: u16 = 8;
/// The layers of a clip, and the places of those that can be streamed.
pub const LAYERS: u16 = 9;
/// Tiers of clip layers, for streaming.
pub const TIERS: u16 = 10;
/// Scalar tracks and markers of a clip.
pub const SCALARS: u16 = 11;
/// The end states of meshes that stand still before or after they move.
pub const END_STATES: u16 = 12;
/// The LOD levels of meshes.
pub const LOD: u16 = 13;
/// Triangle visibility: which triangles of meshes are shown in which frames.
pub const VISIBILITY: u16 = 14;
/// The vertex attributes of the preceding access unit, where they are stored apart from the positions.
pub const VERTEX_ATTRIBUTES: u16 = 15;
/// Part attributes: values that all vertices of a part share, per frame.
pub const PART_ATTRIBUTES: u16 = 16;
/// Named ranges of frames.
pub const RANGES: u16 = 17;
/// Rigs of meshes: bind pose, joints and weights.
pub const RIGS: u16 = 18;
/// A camera: its node and its lens settings.
pub const CAMERAS: u16 = 19;
