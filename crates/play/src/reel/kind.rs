//! Kinds of chunks. Part of the format.

/// The description: one per file.
pub const DESCRIPTION: u16 = 1;
/// Indices.
pub const CONNECTIVITY: u16 = 2;
/// Static streams, bases of animated ones, predictor tables.
pub const VALUES: u16 = 3;
/// From vertices back to the source; may be stripped.
pub const SOURCE_MAP: u16 = 4;
/// Frames that need no others.
pub const INDEX: u16 = 5;
/// Frames that need others.
pub const BETWEEN: u16 = 6;
/// A skeleton.
pub const SKELETON: u16 = 7;
/// A clip of a skeleton.
pub const CLIP: u16 = 8;
/// The layers of a clip, and where what can be streamed of it lies.
pub const LAYERS: u16 = 9;
/// Tiers of layers of clips.
pub const PIECES: u16 = 10;
/// Scalar tracks and markers of a clip.
pub const EXTRAS: u16 = 11;
/// What meshes show that stand still before or after they move.
pub const ENDS: u16 = 12;
/// Levels of detail of meshes.
pub const DETAIL: u16 = 13;
/// Which triangles of meshes are drawn when.
pub const DRAWN: u16 = 14;
/// Animated attributes of the unit before.
pub const ATTRIBUTES: u16 = 15;
/// Numbers that ride along with parts.
pub const NUMBERS: u16 = 16;
/// Named ranges of frames.
pub const RANGES: u16 = 17;
/// Rigs of meshes.
pub const RIGS: u16 = 18;
