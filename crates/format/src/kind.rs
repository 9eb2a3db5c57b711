//! Kinds of chunks, each named once. What the bytes of a chunk mean is not known here:
//! `docs/FORMAT/container.md`, "Chunk kinds".

// Part of the format. A number is never used again for something else.

/// Description of the file: options, nodes, meshes, streams, materials. One per file.
pub const DESCRIPTION: u16 = 1;
/// Triangles of meshes, by the indices of their vertices.
pub const CONNECTIVITY: u16 = 2;
/// Values of streams that are stored once: of static streams, bases of animated ones, predictor tables.
pub const VALUES: u16 = 3;
/// The way from vertices back to the source's points and corners; may be left out.
pub const SOURCE_MAP: u16 = 4;
/// A unit of frames that need no others but the first.
pub const INDEX: u16 = 5;
/// A unit of frames that need others.
pub const BETWEEN: u16 = 6;
/// A skeleton: names, parents and rest pose of its joints.
pub const SKELETON: u16 = 7;
/// A clip of a skeleton.
pub const CLIP: u16 = 8;
/// The layers of a clip, and where what can be streamed of it lies.
pub const LAYERS: u16 = 9;
/// Tiers of the layers of clips, to be streamed.
pub const TIERS: u16 = 10;
/// Scalar tracks and markers of a clip.
pub const SCALARS: u16 = 11;
/// The end states of meshes that stand still before or after they move.
pub const END_STATES: u16 = 12;
/// The LOD levels of meshes.
pub const LOD: u16 = 13;
/// Triangle visibility: which triangles of meshes are shown in which frames.
pub const VISIBILITY: u16 = 14;
/// The vertex attributes of the unit before, where they are kept apart from positions.
pub const VERTEX_ATTRIBUTES: u16 = 15;
/// Part attributes: values that all vertices of a part have in common, frame by frame.
pub const PART_ATTRIBUTES: u16 = 16;
/// Named ranges of frames.
pub const RANGES: u16 = 17;
/// Rigs of meshes: bind pose, joints and weights.
pub const RIGS: u16 = 18;
/// A camera: where it is, and what its lens says.
pub const CAMERAS: u16 = 19;
