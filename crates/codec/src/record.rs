//! The description of a file: nodes, meshes, streams, options. Read once at open, so its decoder returns owned values,
//! never larger than the bytes justify.

use crate::{Corrupt, quantize::Axis, transform::Transform};

/// What the description chunk says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    /// Program and version that wrote the file.
    pub generator: String,
    /// Every option that changes content, one `key = value` per line, keys as on the command line.
    pub options: String,
    /// Length unit: 0 unknown, 1 m, 2 cm, 3 mm, 4 inch.
    pub unit: u8,
    /// Frames per second the source names, 0 = none.
    pub fps: f64,
    /// Period of a closed cycle in seconds, 0 = none.
    pub period: f64,
    /// Nodes; parents before children.
    pub nodes: Vec<NodeRecord>,
    /// Unique meshes.
    pub meshes: Vec<MeshRecord>,
}

/// A node after flattening.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeRecord {
    /// Path of the source object it stands for (for merged chains the deepest one).
    pub path: String,
    /// Parent node.
    pub parent: Option<u32>,
    /// Mesh shown here.
    pub mesh: Option<u32>,
    /// True: a transform per frame in the frame chunks. False: `rest` always.
    pub animated: bool,
    /// When its mesh is shown.
    pub visibility: Visibility,
    /// Transform, for animated nodes that of the first frame.
    pub rest: Transform,
    /// Resolved tolerance of this placement in world units (HOUSE §8.1), 0 without mesh.
    pub tolerance: f64,
    /// Mesh vertices are in world space (transforms could not be kept within the tolerance).
    pub baked: bool,
}

/// When a node's mesh is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Visibility {
    Always = 0,
    Never = 1,
    Animated = 2,
}

/// How a mesh is kept. The numbers are part of the format; 2 rigid, 3 skinned are reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Method {
    Static = 0,
    Soft = 1,
    Fluid = 4,
}

/// Codec of the frame payloads. 1 and 2 are reserved for `small` and `fast`.
pub const CODEC_CLASSIC: u8 = 0;

/// A place inside a chunk's decompressed content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Location {
    pub chunk: u32,
    pub offset: u32,
    pub size: u32,
}

/// A unique mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshRecord {
    /// Path of the (first) source mesh.
    pub path: String,
    /// How it is kept.
    pub method: Method,
    /// Codec of its frame payloads.
    pub codec: u8,
    /// Vertices; for fluid the largest count of any frame.
    pub vertices: u32,
    /// Triangle indices (3 per triangle); for fluid the largest count.
    pub indices: u32,
    /// Points of the source mesh; for fluid the largest count.
    pub source_points: u32,
    /// Object-space bounds over all frames: min xyz, max xyz.
    pub bounds: [f32; 6],
    /// `index::encode` bytes. Unused for fluid.
    pub connectivity: Location,
    /// The adjacent-triangle table if `has_table`, then for each stream in order: its values (static) or base (animated), as
    /// `stream::encode_index` bytes without base. Unused for fluid.
    pub values: Location,
    /// `source_map::encode` bytes; size 0 = stripped. Unused for fluid.
    pub source_map: Location,
    /// Whether `values` begins with a table.
    pub has_table: bool,
    /// Streams, positions first.
    pub streams: Vec<StreamRecord>,
    /// Index ranges by material, in order. For fluid the ranges come per frame, in this order.
    pub materials: Vec<Material>,
}

/// What a stream means. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Semantic {
    /// 3 components, axes.
    Position = 0,
    /// 2 components, octahedral, `bits`.
    Normal = 1,
    /// 4 components, QTangent, `bits`.
    QTangent = 2,
    /// 2 components, axes.
    Uv = 3,
    /// 4 components, axes.
    Colour = 4,
}

/// One vertex channel.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamRecord {
    /// What it means.
    pub semantic: Semantic,
    /// Number of the uv or colour set.
    pub set: u8,
    /// Name of the set in the source.
    pub name: String,
    /// Per frame, or once.
    pub animated: bool,
    /// Bytes of a word: 1, 2 or 4.
    pub word: u8,
    /// Bits per component (normals, QTangents); for lattices the most bits of any axis.
    pub bits: u8,
    /// Lattice per component (positions, uvs, colours).
    pub axes: Vec<Axis>,
    /// Promised error of this stream: positions in object units, normals in degrees, uvs in uv units, colours in value.
    pub tolerance: f64,
}

impl Semantic {
    /// Components of a value.
    pub fn components(self) -> usize {
        match self {
            Semantic::Position => 3,
            Semantic::Normal | Semantic::Uv => 2,
            Semantic::QTangent | Semantic::Colour => 4,
        }
    }
}

/// A range of the index buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Material {
    /// First number in the face set's name, else its order (A10).
    pub id: u32,
    /// The face set's name; empty for faces that are in none.
    pub name: String,
    /// First index.
    pub first: u32,
    /// Number of indices.
    pub count: u32,
}

/// Appends the description to `out`.
pub fn encode(_description: &Description, _out: &mut Vec<u8>) {
    todo!()
}
/// Reads a description. Checks everything that can be checked here: parents before children, mesh numbers, word sizes, components, levels,
/// material ranges within the indices, UTF-8.
pub fn decode(_bytes: &[u8]) -> Result<Description, Corrupt> {
    todo!()
}

/// Per-frame payload of a fluid mesh begins with these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct FluidHeader {
    pub vertices: u32,
    pub indices: u32,
}
