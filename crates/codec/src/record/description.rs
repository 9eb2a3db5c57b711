//! The description of a file: nodes, meshes, streams, options. Lossless. Read once at open, so its decoder
//! returns owned values, never larger than the bytes justify (about ten bytes of memory per byte of input at
//! worst).
//!
//! *text* is a varint length and that many bytes of UTF-8; *list* is a varint count and that many items;
//! *transform* is rotation xyzw, translation xyz, scale xyz as 10 × f32; all floats are finite.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `layout` | 0 |
//! | 1 | text | `generator` | program and version |
//! | … | text | `options` | one `key = value` per line |
//! | … | 1 | `unit` | 0 unknown · 1 m · 2 cm · 3 mm · 4 inch |
//! | … | 8 | `fps` | f64, 0 = none |
//! | … | 8 | `period` | f64, seconds, 0 = none |
//! | … | 1 … 5 | `restart` | varint, at most 64; 0: frames are stored one by one · else: in temporal layers, a key that needs only the first every so many keys |
//! | … | 1 … or 0 | `tracks` | only where `restart` > 0: varint size and so many bytes, what is said of [moving nodes](#moving-nodes); size 0: their transforms are kept as they are |
//! | … | 1 … 5 | `mesh_count` | varint; the meshes follow the nodes |
//! | … | list | `nodes` | parents before children |
//! | … | meshes | `meshes` | `mesh_count` of them |
//!
//! A node:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `path` | path of the source object |
//! | … | 1 … 5 | `parent` | varint, 0 = none, else node + 1 |
//! | … | 1 … 5 | `mesh` | varint, 0 = none, else mesh + 1 |
//! | … | 1 | `flags` | bit 0 animated · bit 1 baked · bits 2–3 visibility (0 always, 1 never, 2 animated) · bit 4 `rest` is the identity and left out · bit 5 `reach` is there |
//! | … | 40 or 0 | `rest` | transform |
//! | … | 8 | `tolerance` | f64, world units |
//! | … | 4 or 0 | `reach` | f32, above 0, finite; only of nodes without a mesh |
//!
//! A mesh:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `path` | path of the source mesh |
//! | … | 1 | `method` | 0 static · 1 soft · 2 rigid · 3 skinned · 4 fluid |
//! | … | 1 | `codec` | 0 classic · 1 small · 2 fast |
//! | … | 1 | `flags` | bit 0 `has_table` · bit 1 `moves` and `ends` are there · bit 2 `remeshed`: its faces are not the source's · bit 3 `apart`: its animated attributes lie in chunks of their own |
//! | … | 1 … 5 or 0 | `blended` | only where `remeshed`: varint, so many frames at the end lead into the start |
//! | … | 1 … 5 each | `vertices`, `indices`, `source_points`, `points` | varints |
//! | … | 24 | `bounds` | 6 × f32, min xyz, max xyz |
//! | … | 3 … 15 each | `connectivity`, `values`, `source_map` | three varints each: chunk, offset, size |
//! | … | 2 … 10 or 0 | `moves` | two varints: it stands still up to the first frame, and from the second on |
//! | … | 3 … 15 or 0 | `ends` | three varints, as above |
//! | … | list | `streams` | positions first |
//! | … | list | `materials` | ranges of the index buffer |
//!
//! A stream, and a material:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `semantic` | 0 position · 1 normal · 2 QTangent · 3 uv · 4 colour |
//! | 1 | 1 | `set` | number of the uv or colour set |
//! | 2 | 1 | `flags` | bit 0 animated · bits 1–3 coding: 0 quantized values, 1 fixed-point values, 2 predicted, 3 fixed-point values that bones predict, 4 heights |
//! | 3 | 1 | `word` | bytes of a word: 1, 2 or 4 |
//! | 4 | 1 | `bits` | bits per component; for lattices the most bits of any axis |
//! | 5 | text | `name` | name of the set |
//! | … | 12 per component | `axes` | positions, uvs, colours kept as quantized values: see [`crate::quantize`]; others: nothing |
//! | … | 1 … 5 or 0 | `states` | only predicted streams: varint, numbers per frame |
//! | … | 4 … 20 or 0 | `bones` | only streams moved by bones: `rigid`, 2 · `affine` + 1 where handles are i32, `words`, `coded`, four varints |
//! | … | 8 | `tolerance` | f64 |
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 … 5 | `id` | varint |
//! | … | text | `name` | name of the face set |
//! | … | 1 … 5 each | `first`, `count` | varints, both multiples of 3, within `indices` |

use crate::Corrupt;
use crate::bytes::{Cursor, put_sized, put_varint};
use crate::quantize::scalar::{Axis, MAX_LEVELS};
use crate::transform::Transform;

pub use crate::mesh::skin::Bones;
pub use crate::values::Semantic;

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
    /// 0: each frame is a unit. Else units are those of [`crate::schedule`], and every `restart`-th key
    /// needs only the first.
    pub restart: u32,
    /// Setup of the moving nodes, see [`crate::clip::nodes`]; empty where their transforms are kept as they
    /// are, and with `restart` 0.
    pub tracks: Vec<u8>,
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
    /// Resolved tolerance of this placement in world units (PROMISE.md §1), 0 of a node that shows nothing
    /// and is no locator.
    pub tolerance: f64,
    /// Mesh vertices are in world space (transforms could not be kept within the tolerance).
    pub baked: bool,
    /// Above 0: a locator. It shows no mesh, and is there for its own sake. Its tolerance is that of all
    /// points of a cube around its origin that reaches so far along each of its axes, in its own space.
    pub reach: f32,
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

/// How a mesh is kept. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Method {
    Static = 0,
    Soft = 1,
    /// Soft, in front of which parts of the mesh move as they are.
    Rigid = 2,
    /// The same with several bones per point.
    Skinned = 3,
    Fluid = 4,
}

impl Method {
    /// Frames of one topology: all but still and fluid meshes.
    pub fn deforms(self) -> bool {
        matches!(self, Method::Soft | Method::Rigid | Method::Skinned)
    }
}

/// Codec of the frame payloads: the source system's predictors.
pub const CODEC_CLASSIC: u8 = 0;
/// The soft codec with entropy coding.
pub const CODEC_SMALL: u8 = 1;
/// The soft codec with packed bits.
pub const CODEC_FAST: u8 = 2;

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
    /// Points of the soft codec: vertices that always coincide are one. 0 where no stream is kept as
    /// [`Coding::FixedPoint`].
    pub points: u32,
    /// Object-space bounds over all frames: min xyz, max xyz.
    pub bounds: [f32; 6],
    /// `index::encode` bytes. Unused for fluid.
    pub connectivity: Location,
    /// The adjacent-triangle table if `has_table`, then for each stream in order: its values (static) or base
    /// (animated), as `stream::encode_index` bytes without base. Unused for fluid.
    pub values: Location,
    /// `source_map::encode` bytes; size 0 = stripped. Unused for fluid.
    pub source_map: Location,
    /// Whether `values` begins with a table.
    pub has_table: bool,
    /// Up to the first of these frames it stands still, and from the second on; none where it moves from
    /// first to last, or never.
    pub moves: Option<[u32; 2]>,
    /// What it has in the first and the last frame of its [`crate::schedule::Window`], where frames lie
    /// outside of that: each a varint size and so many bytes.
    pub ends: Location,
    /// Its faces are not those of the source, which changed: its surface is near the source's, its vertices
    /// are others. So many frames at the end of the animation lead into the start, and are not near it.
    pub remeshed: Option<u32>,
    /// Units have its animated attributes in chunks of their own.
    pub apart: bool,
    /// Streams, positions first.
    pub streams: Vec<StreamRecord>,
    /// Index ranges by material, in order. For fluid the ranges come per frame, in this order.
    pub materials: Vec<Material>,
}

impl MeshRecord {
    /// Whether a stream is an animated attribute of fixed topology: what units can have apart, and what
    /// players can leave out.
    pub fn is_attribute(&self, stream: usize) -> bool {
        let animated = self.streams.get(stream).is_some_and(|s| s.animated);
        animated && stream > 0 && self.method.deforms()
    }

    /// Whether it has such attributes.
    pub fn has_attributes(&self) -> bool {
        (0..self.streams.len()).any(|s| self.is_attribute(s))
    }
}

/// How the frames of a stream are kept. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Coding {
    /// Levels of a lattice, [`crate::classic::stream`].
    #[default]
    Levels = 0,
    /// Cells of the soft codec, [`crate::mesh`]; `word` is 2 or 4 bytes per component.
    Cells = 1,
    /// Normals or tangent frames predicted from the decoded positions.
    Predicted = 2,
    /// Cells that bones predict, [`crate::mesh::skin`].
    Bones = 3,
    /// Cells of a grid of which only heights are coded, [`crate::mesh::height`].
    Heights = 4,
}

impl Coding {
    /// Frames hold cells.
    pub fn has_fixed_point(self) -> bool {
        matches!(self, Coding::FixedPoint | Coding::Bones | Coding::Heights)
    }
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
    /// How frames are kept.
    pub coding: Coding,
    /// Bytes of a word: 1, 2 or 4.
    pub word: u8,
    /// Bits per component (normals, QTangents); for lattices the most bits of any axis.
    pub bits: u8,
    /// Lattice per component (positions, uvs, colours).
    pub axes: Vec<Axis>,
    /// Numbers that a frame keeps for what is predicted from it, see [`crate::mesh::normals`]; 0 for other
    /// codings.
    pub states: u32,
    /// What moves it; nothing for other codings.
    pub bones: Bones,
    /// Promised error of this stream: positions in object units, normals in degrees, uvs in uv units, colours
    /// in value.
    pub tolerance: f64,
}

/// A range of the index buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Material {
    /// First number in the face set's name, else its order.
    pub id: u32,
    /// The face set's name; empty for faces that are in none.
    pub name: String,
    /// First index.
    pub first: u32,
    /// Number of indices.
    pub count: u32,
}

/// Keys restart at least so often. Part of the format.
pub const MAX_RESTART: u32 = 64;

/// Layout of the description. Part of the format.
const LAYOUT: u8 = 0;

/// Appends the description to `out`.
#[cfg(feature = "encode")]
pub fn encode(description: &Description, out: &mut Vec<u8>) {
    let d = description;
    out.push(LAYOUT);
    put_text(&d.generator, out);
    put_text(&d.options, out);
    out.push(d.unit);
    put_f64(d.fps, out);
    put_f64(d.period, out);
    put_varint(d.restart, out);
    if d.restart > 0 {
        put_sized(&d.tracks, out);
    }
    put_count(d.meshes.len(), out);
    put_count(d.nodes.len(), out);
    for node in &d.nodes {
        encode_node(node, out);
    }
    for mesh in &d.meshes {
        encode_mesh(mesh, out);
    }
}

#[cfg(feature = "encode")]
fn encode_node(node: &NodeRecord, out: &mut Vec<u8>) {
    let link =
        |to: Option<u32>| to.map_or(0, |n| n.checked_add(1).expect("fewer than 2^32 − 1 nodes and meshes"));
    // By bits: a −0 is kept.
    let identity = bits(&node.rest) == bits(&Transform::IDENTITY);
    put_text(&node.path, out);
    put_varint(link(node.parent), out);
    put_varint(link(node.mesh), out);
    let locator = node.reach > 0.0;
    let flags = [(node.animated, 1), (node.baked, 2), (identity, 16), (locator, 32)];
    let flags = flags.iter().fold(0, |all, &(on, bit)| all | if on { bit } else { 0 });
    out.push(flags | (node.visibility as u8) << 2);
    if !identity {
        put_floats(&components(&node.rest), out);
    }
    put_f64(node.tolerance, out);
    if locator {
        put_floats(&[node.reach], out);
    }
}

#[cfg(feature = "encode")]
fn encode_mesh(mesh: &MeshRecord, out: &mut Vec<u8>) {
    put_text(&mesh.path, out);
    let flags = [mesh.has_table, mesh.moves.is_some(), mesh.remeshed.is_some(), mesh.apart];
    let flags = (0..).zip(flags).fold(0, |all, (bit, on)| all | u8::from(on) << bit);
    out.extend([mesh.method as u8, mesh.codec, flags]);
    if let Some(blended) = mesh.remeshed {
        put_varint(blended, out);
    }
    for count in [mesh.vertices, mesh.indices, mesh.source_points, mesh.points] {
        put_varint(count, out);
    }
    put_floats(&mesh.bounds, out);
    for place in [mesh.connectivity, mesh.values, mesh.source_map] {
        for number in [place.chunk, place.offset, place.size] {
            put_varint(number, out);
        }
    }
    if let Some([first, last]) = mesh.moves {
        let ends = mesh.ends;
        for number in [first, last, ends.chunk, ends.offset, ends.size] {
            put_varint(number, out);
        }
    }
    put_count(mesh.streams.len(), out);
    for stream in &mesh.streams {
        out.extend([
            stream.semantic as u8,
            stream.set,
            u8::from(stream.animated) | (stream.coding as u8) << 1,
            stream.word,
            stream.bits,
        ]);
        put_text(&stream.name, out);
        for axis in &stream.axes {
            put_floats(&[axis.min, axis.step], out);
            out.extend_from_slice(&axis.levels.to_le_bytes());
        }
        if stream.coding == Coding::Predicted {
            put_varint(stream.states, out);
        }
        if stream.coding == Coding::Bones {
            let b = stream.bones;
            let affine = b.affine << 1 | u32::from(b.wide);
            [b.rigid, affine, b.words, b.coded].into_iter().for_each(|v| put_varint(v, out));
        }
        put_f64(stream.tolerance, out);
    }
    put_count(mesh.materials.len(), out);
    for material in &mesh.materials {
        put_varint(material.id, out);
        put_text(&material.name, out);
        put_varint(material.first, out);
        put_varint(material.count, out);
    }
}

#[cfg(feature = "encode")]
fn components(t: &Transform) -> [f32; 10] {
    let ([x, y, z, w], [a, b, c], [d, e, f]) = (t.rotation, t.translation, t.scale);
    [x, y, z, w, a, b, c, d, e, f]
}

#[cfg(feature = "encode")]
fn bits(t: &Transform) -> [u32; 10] {
    components(t).map(f32::to_bits)
}

#[cfg(feature = "encode")]
fn put_count(count: usize, out: &mut Vec<u8>) {
    put_varint(u32::try_from(count).expect("fewer than 2^32 items"), out);
}

#[cfg(feature = "encode")]
fn put_text(text: &str, out: &mut Vec<u8>) {
    put_count(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(feature = "encode")]
fn put_floats(values: &[f32], out: &mut Vec<u8>) {
    out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
}

#[cfg(feature = "encode")]
fn put_f64(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Why a description was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The bytes are not what [`encode`] writes.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// A mesh is kept in a way that this version does not know.
    #[error("description: unknown {what} {id}")]
    Unknown {
        /// "method" or "codec".
        what: &'static str,
        /// Its number.
        id: u8,
    },
}

/// Reads a description. Checks everything that can be checked here: parents before children, mesh numbers,
/// word sizes, components, levels, material ranges within the indices, finite numbers, UTF-8, nothing left
/// over.
pub fn decode(bytes: &[u8]) -> Result<Description, Refused> {
    let mut c = Cursor::new(bytes);
    if c.u8()? != LAYOUT {
        return Err(Corrupt("description: unknown layout").into());
    }
    let (generator, options) = (text(&mut c)?, text(&mut c)?);
    let unit = c.u8()?;
    if unit > 4 {
        return Err(Corrupt("description: unknown unit").into());
    }
    let (fps, period) = (amount(&mut c)?, amount(&mut c)?);
    let restart = c.varint()?;
    if restart > MAX_RESTART {
        return Err(Corrupt("description: keys restart too seldom").into());
    }
    let tracks = match restart {
        0 => Vec::new(),
        _ => {
            let size = c.varint()? as usize;
            c.take(size)?.to_vec()
        }
    };
    let mesh_count = c.varint()?;
    let nodes = list(&mut c, MIN_NODE, |c, at| decode_node(c, at, mesh_count))?;
    let meshes = items(&mut c, mesh_count, MIN_MESH, |c, _| decode_mesh(c))?;
    if c.left() != 0 {
        return Err(Corrupt("description: bytes left over").into());
    }
    Ok(Description { generator, options, unit, fps, period, restart, tracks, nodes, meshes })
}

// Fewest bytes of an item: a count is believed only as far as the input could hold that many.
const MIN_NODE: usize = 12;
const MIN_MESH: usize = 43;
const MIN_STREAM: usize = 14;
const MIN_MATERIAL: usize = 4;

fn decode_node(c: &mut Cursor<'_>, at: u32, mesh_count: u32) -> Result<NodeRecord, Corrupt> {
    let path = text(c)?;
    let (parent, mesh) = (c.varint()?.checked_sub(1), c.varint()?.checked_sub(1));
    if parent.is_some_and(|p| p >= at) {
        return Err(Corrupt("description: a node comes before its parent"));
    }
    if mesh.is_some_and(|m| m >= mesh_count) {
        return Err(Corrupt("description: mesh number out of range"));
    }
    let flags = c.u8()?;
    if flags & !0x3F != 0 {
        return Err(Corrupt("description: unknown node flag"));
    }
    let visibility = match flags >> 2 & 3 {
        0 => Visibility::Always,
        1 => Visibility::Never,
        2 => Visibility::Animated,
        _ => return Err(Corrupt("description: unknown visibility")),
    };
    let rest = if flags & 16 != 0 { Transform::IDENTITY } else { transform(c)? };
    let tolerance = amount(c)?;
    let reach = match flags & 32 != 0 {
        true => c.f32()?,
        false => 0.0,
    };
    if flags & 32 != 0 && (mesh.is_some() || !(reach.is_finite() && reach > 0.0)) {
        return Err(Corrupt("description: a locator shows a mesh, or reaches nowhere"));
    }
    Ok(NodeRecord {
        path,
        parent,
        mesh,
        animated: flags & 1 != 0,
        baked: flags & 2 != 0,
        visibility,
        rest,
        tolerance,
        reach,
    })
}

fn decode_mesh(c: &mut Cursor<'_>) -> Result<MeshRecord, Refused> {
    let path = text(c)?;
    let method = match c.u8()? {
        0 => Method::Static,
        1 => Method::Soft,
        2 => Method::Rigid,
        3 => Method::Skinned,
        4 => Method::Fluid,
        id => return Err(Refused::Unknown { what: "method", id }),
    };
    let codec = c.u8()?;
    if codec > CODEC_FAST {
        return Err(Refused::Unknown { what: "codec", id: codec });
    }
    let flags = c.u8()?;
    if flags > 15 {
        return Err(Corrupt("description: unknown flag").into());
    }
    let has_table = flags & 1 != 0;
    let remeshed = match flags & 4 {
        0 => None,
        _ => Some(c.varint()?),
    };
    let (vertices, indices, source_points) = (c.varint()?, c.varint()?, c.varint()?);
    let points = c.varint()?;
    if points > vertices {
        return Err(Corrupt("description: more points than vertices").into());
    }
    if indices % 3 != 0 {
        return Err(Corrupt("description: indices are not three per triangle").into());
    }
    let mut bounds = [0.0; 6];
    for value in &mut bounds {
        *value = finite(c)?;
    }
    let (connectivity, values, source_map) = (location(c)?, location(c)?, location(c)?);
    let (mut moves, mut ends) = (None, Location::default());
    if flags & 2 != 0 {
        let [first, last] = [c.varint()?, c.varint()?];
        if first >= last {
            return Err(Corrupt("description: a mesh stops before it moves").into());
        }
        (moves, ends) = (Some([first, last]), location(c)?);
    }
    let streams = list(c, MIN_STREAM, |c, _| decode_stream(c))?;
    if streams.first().is_some_and(|s| s.semantic != Semantic::Position)
        || streams.iter().skip(1).any(|s| s.semantic == Semantic::Position)
    {
        return Err(Corrupt("description: positions are the first stream").into());
    }
    let materials = list(c, MIN_MATERIAL, |c, _| {
        let (id, name, first, count) = (c.varint()?, text(c)?, c.varint()?, c.varint()?);
        let inside = first.checked_add(count).is_some_and(|end| end <= indices);
        // A fluid mesh has its ranges per frame.
        if first % 3 != 0 || count % 3 != 0 || !inside && method != Method::Fluid {
            return Err(Corrupt("description: material outside the indices"));
        }
        Ok(Material { id, name, first, count })
    })?;
    let mesh = MeshRecord {
        path,
        method,
        codec,
        vertices,
        indices,
        source_points,
        points,
        bounds,
        connectivity,
        values,
        source_map,
        has_table,
        moves,
        ends,
        remeshed,
        apart: flags & 8 != 0,
        streams,
        materials,
    };
    if mesh.apart && !mesh.has_attributes() {
        return Err(Corrupt("description: nothing to be apart").into());
    }
    Ok(mesh)
}

fn decode_stream(c: &mut Cursor<'_>) -> Result<StreamRecord, Corrupt> {
    let semantic = match c.u8()? {
        0 => Semantic::Position,
        1 => Semantic::Normal,
        2 => Semantic::QTangent,
        3 => Semantic::Uv,
        4 => Semantic::Colour,
        _ => return Err(Corrupt("description: unknown stream")),
    };
    let (set, flags, word, most) = (c.u8()?, c.u8()?, c.u8()?, c.u8()?);
    let coding = match flags >> 1 {
        0 => Coding::Quantized,
        1 => Coding::FixedPoint,
        2 => Coding::Predicted,
        3 => Coding::Bones,
        4 => Coding::Heights,
        _ => return Err(Corrupt("description: unknown stream flag")),
    };
    let animated = flags & 1 != 0;
    if coding != Coding::Quantized && !animated {
        return Err(Corrupt("description: a still stream is kept as levels"));
    }
    let fits = match (coding, semantic) {
        (Coding::Quantized, _) => true,
        (Coding::FixedPoint, _) => semantic.has_axes() && word > 1,
        (Coding::Bones | Coding::Heights, _) => semantic == Semantic::Position && word > 1,
        (Coding::Predicted, _) => matches!(semantic, Semantic::Normal | Semantic::QTangent),
    };
    if !fits {
        return Err(Corrupt("description: a stream cannot be kept so"));
    }
    if !matches!(word, 1 | 2 | 4) || u32::from(most) > 8 * u32::from(word) {
        return Err(Corrupt("description: bits do not fit their word"));
    }
    let allowed = match semantic {
        Semantic::Normal => crate::quantize::octahedral::BITS,
        Semantic::QTangent => crate::quantize::qtangent::BITS,
        _ if coding.has_fixed_point() => 0..=0,
        _ => 0..=24,
    };
    if !allowed.contains(&u32::from(most)) {
        return Err(Corrupt("description: bits out of range"));
    }
    let name = text(c)?;
    let mut axes = Vec::new();
    if semantic.has_axes() && coding == Coding::Quantized {
        for _ in 0..semantic.components() {
            let axis = Axis { min: finite(c)?, step: finite(c)?, levels: u32::from_le_bytes(c.array()?) };
            let usable = (1..=MAX_LEVELS).contains(&axis.levels) && axis.step >= 0.0;
            if !usable || axis.bits() > u32::from(most) || !axis.value(axis.levels - 1).is_finite() {
                return Err(Corrupt("description: impossible axis"));
            }
            axes.push(axis);
        }
    }
    let states = match coding {
        Coding::Predicted => c.varint()?,
        _ => 0,
    };
    let mut bones = Bones::default();
    if coding == Coding::Bones {
        bones.rigid = c.varint()?;
        let affine = c.varint()?;
        (bones.affine, bones.wide) = (affine >> 1, affine & 1 != 0);
        (bones.words, bones.coded) = (c.varint()?, c.varint()?);
    }
    Ok(StreamRecord {
        semantic,
        set,
        name,
        animated,
        coding,
        word,
        bits: most,
        axes,
        states,
        bones,
        tolerance: amount(c)?,
    })
}

/// A counted list whose items take at least `least` bytes each.
fn list<'a, T>(
    c: &mut Cursor<'a>,
    least: usize,
    item: impl FnMut(&mut Cursor<'a>, u32) -> Result<T, Corrupt>,
) -> Result<Vec<T>, Corrupt> {
    let count = c.varint()?;
    items(c, count, least, item)
}

fn items<'a, T, E: From<Corrupt>>(
    c: &mut Cursor<'a>,
    count: u32,
    least: usize,
    mut item: impl FnMut(&mut Cursor<'a>, u32) -> Result<T, E>,
) -> Result<Vec<T>, E> {
    if count as usize > c.left() / least {
        return Err(Corrupt("description: more items than bytes").into());
    }
    let mut all = Vec::with_capacity(count as usize);
    for at in 0..count {
        all.push(item(c, at)?);
    }
    Ok(all)
}

fn text(c: &mut Cursor<'_>) -> Result<String, Corrupt> {
    let length = c.varint()? as usize;
    let bytes = c.take(length)?;
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Corrupt("description: text is not UTF-8"))
}

fn location(c: &mut Cursor<'_>) -> Result<Location, Corrupt> {
    let (chunk, offset, size) = (c.varint()?, c.varint()?, c.varint()?);
    if offset.checked_add(size).is_none() {
        return Err(Corrupt("description: place beyond 4 GiB"));
    }
    Ok(Location { chunk, offset, size })
}

fn finite(c: &mut Cursor<'_>) -> Result<f32, Corrupt> {
    let value = c.f32()?;
    if value.is_finite() { Ok(value) } else { Err(Corrupt("description: a number is not finite")) }
}

/// A number that is finite and not negative.
fn amount(c: &mut Cursor<'_>) -> Result<f64, Corrupt> {
    let value = c.f64()?;
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(Corrupt("description: an amount is not a finite one"))
    }
}

fn transform(c: &mut Cursor<'_>) -> Result<Transform, Corrupt> {
    let mut v = [0.0; 10];
    for value in &mut v {
        *value = finite(c)?;
    }
    let [x, y, z, w, a, b, d, e, f, g] = v;
    Ok(Transform { rotation: [x, y, z, w], translation: [a, b, d], scale: [e, f, g] })
}

/// Per-frame payload of a fluid mesh begins with these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct FluidHeader {
    pub vertices: u32,
    pub indices: u32,
}

#[cfg(test)]
mod tests;
