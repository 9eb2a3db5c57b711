//! The description of a file: nodes, meshes, streams, options. Lossless. It is decoded once when a file is
//! opened, so the decoder returns owned values, never larger than the bytes justify (about ten bytes of
//! memory per byte of input at worst).
//!
//! *text* is a varint length and that many bytes of UTF-8; *list* is a varint count and that many items;
//! *transform* is rotation xyzw, translation xyz, scale xyz as 10 × f32; all floats are finite.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `layout` | 0 |
//! | 1 | text | `generator` | program and version |
//! | … | text | `options` | one `key = value` per line; a usual line is its number, one byte |
//! | … | 1 | `unit` | 0 unknown · 1 m · 2 cm · 3 mm · 4 inch |
//! | … | 8 | `fps` | f64, 0 = none |
//! | … | 8 | `period` | f64, seconds, 0 = none |
//! | … | 1 … 5 | `restart` | varint, at most 64. 0: frames are stored one by one · else: in temporal layers, and every `restart`-th key needs only the first key |
//! | … | 1 … or 0 | `node_setup` | only if `restart` > 0: varint size and that many bytes, the setup of [moving nodes](#moving-nodes); size 0: transforms are stored as in classic files |
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
//! | … | 1 | `flags` | bit 0 animated · bit 1 baked · bits 2–3 visibility (0 always, 1 never, 2 animated) · bit 4 `rest` is the identity and omitted · bit 5 `reach` is present |
//! | … | 40 or 0 | `rest` | transform |
//! | … | 8 | `tolerance` | f64, world units |
//! | … | 4 or 0 | `reach` | f32, above 0, finite; only of nodes without a mesh |
//!
//! Meshes are those of [`crate::record::mesh`].

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};
use crate::record::fields::{DescriptionError, finite, items, list, non_negative_f64, text};
#[cfg(feature = "encode")]
use crate::record::fields::{put_count, put_f64, put_floats, put_text};
#[cfg(feature = "encode")]
use crate::record::mesh::encode_mesh;
use crate::record::mesh::{MIN_MESH, MeshRecord, decode_mesh};
use crate::transform::Transform;

/// Everything in the description chunk: nodes, meshes, and the places of their chunks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    /// The program and version that wrote the file.
    pub generator: String,
    /// Every option that changes content, one `key = value` per line, with keys as on the command line.
    pub options: String,
    /// The length unit: 0 unknown, 1 m, 2 cm, 3 mm, 4 inch.
    pub unit: u8,
    /// The frames per second that the source states, 0 = none.
    pub fps: f64,
    /// The period of a closed cycle in seconds, 0 = none.
    pub period: f64,
    /// 0: each frame is an access unit. Else access units are those of [`crate::schedule`], and every
    /// `restart`-th key frame needs only the first.
    pub restart: u32,
    /// The setup of the moving nodes, see [`crate::clip::nodes`]; empty if their transforms are stored
    /// uncompressed, and if `restart` is 0.
    pub node_setup: Vec<u8>,
    /// The nodes; parents before children.
    pub nodes: Vec<NodeRecord>,
    /// The unique meshes.
    pub meshes: Vec<MeshRecord>,
}

/// A node after flattening.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeRecord {
    /// The path of its source object (the deepest one of a merged chain).
    pub path: String,
    /// The parent node.
    pub parent: Option<u32>,
    /// The mesh shown at this node.
    pub mesh: Option<u32>,
    /// `true`: a transform per frame in the frame chunks. `false`: always `rest`.
    pub animated: bool,
    /// The visibility of its mesh.
    pub visibility: Visibility,
    /// The transform; of an animated node that of the first frame.
    pub rest: Transform,
    /// The resolved tolerance of this placement in world units (PROMISE.md §1), 0 for a node that neither
    /// shows anything nor is a locator.
    pub tolerance: f64,
    /// `true` if the mesh vertices are in world space (transforms could not be kept within the tolerance).
    pub baked: bool,
    /// Above 0: the node is a locator, which shows no mesh and is kept by itself. Its tolerance holds for all
    /// points of a cube around its origin that extends this far along each of its axes, in its own space.
    pub reach: f32,
}

/// The visibility of a node's mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Visibility {
    Always = 0,
    Never = 1,
    Animated = 2,
}

/// The largest value of `restart`. Part of the format.
pub const MAX_RESTART: u32 = 64;

/// The layout number of the description. Part of the format.
const LAYOUT: u8 = 0;

/// Lines of options that most files have, by number; 0 and 10 are none. Part of the format.
const USUAL_LINES: [&str; 12] = [
    "",
    "tolerance = 0.0001*diagonal",
    "normal-tolerance = 1",
    "uv-tolerance = 0.000244140625",
    "colour-bits = 8",
    "channels = positions,normals,uvs,colours,attributes",
    "method = auto",
    "preset = small",
    "index-every = 64",
    "effort = 5",
    "",
    "preset = fast",
];

/// Returns options as the file has them: usual lines by their numbers.
#[cfg(feature = "encode")]
fn shortened(options: &str) -> String {
    let number = |line: &str| {
        let line = line.strip_suffix('\n').filter(|line| !line.is_empty())?;
        USUAL_LINES.iter().position(|usual| *usual == line)
    };
    let lines = options.split_inclusive('\n').map(|line| match number(line) {
        Some(number) => char::from(number as u8).to_string(),
        None => line.to_string(),
    });
    lines.collect()
}

/// Inverse of [`shortened`].
fn lengthened(mut options: &str) -> String {
    let mut out = String::new();
    while let Some(first) = options.chars().next() {
        let usual = USUAL_LINES.get(first as usize).filter(|line| !line.is_empty());
        let length = match usual {
            Some(_) => 1,
            None => options.find('\n').map_or(options.len(), |end| end + 1),
        };
        let (line, rest) = options.split_at(length);
        match usual {
            Some(usual) => out.extend([usual, "\n"]),
            None => out.push_str(line),
        }
        options = rest;
    }
    out
}

/// Appends the description to `out`.
#[cfg(feature = "encode")]
pub fn encode(description: &Description, out: &mut Vec<u8>) {
    let d = description;
    out.push(LAYOUT);
    put_text(&d.generator, out);
    put_text(&shortened(&d.options), out);
    out.push(d.unit);
    put_f64(d.fps, out);
    put_f64(d.period, out);
    put_varint(d.restart, out);
    if d.restart > 0 {
        put_length_prefixed(&d.node_setup, out);
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
    // Compared by bits, so that −0 is preserved.
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
fn components(t: &Transform) -> [f32; 10] {
    let ([x, y, z, w], [a, b, c], [d, e, f]) = (t.rotation, t.translation, t.scale);
    [x, y, z, w, a, b, c, d, e, f]
}

#[cfg(feature = "encode")]
fn bits(t: &Transform) -> [u32; 10] {
    components(t).map(f32::to_bits)
}

/// Decodes a description. Checks everything that can be checked here: parents before children, mesh numbers,
/// word sizes, components, numbers of codes, material ranges within the indices, finite numbers, UTF-8, no
/// unused bytes.
pub fn decode(bytes: &[u8]) -> Result<Description, DescriptionError> {
    let mut c = Cursor::new(bytes);
    if c.u8()? != LAYOUT {
        return Err(Corrupt("description: unknown layout").into());
    }
    let (generator, options) = (text(&mut c)?, lengthened(&text(&mut c)?));
    let unit = c.u8()?;
    if unit > 4 {
        return Err(Corrupt("description: unknown unit").into());
    }
    let (fps, period) = (non_negative_f64(&mut c)?, non_negative_f64(&mut c)?);
    let restart = c.varint()?;
    if restart > MAX_RESTART {
        return Err(Corrupt("description: keys restart too seldom").into());
    }
    let tracks = match restart {
        0 => Vec::new(),
        _ => {
            let size = c.varint()? as usize;
            c.bytes(size)?.to_vec()
        }
    };
    let mesh_count = c.varint()?;
    let nodes = list(&mut c, MIN_NODE, |c, at| decode_node(c, at, mesh_count))?;
    let meshes = items(&mut c, mesh_count, MIN_MESH, |c, _| decode_mesh(c))?;
    if c.left() != 0 {
        return Err(Corrupt("description: bytes left over").into());
    }
    Ok(Description { generator, options, unit, fps, period, restart, node_setup: tracks, nodes, meshes })
}

/// The smallest size of a node in bytes.
const MIN_NODE: usize = 12;

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
    let tolerance = non_negative_f64(c)?;
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

fn transform(c: &mut Cursor<'_>) -> Result<Transform, Corrupt> {
    let mut v = [0.0; 10];
    for value in &mut v {
        *value = finite(c)?;
    }
    let [x, y, z, w, a, b, d, e, f, g] = v;
    Ok(Transform { rotation: [x, y, z, w], translation: [a, b, d], scale: [e, f, g] })
}

#[cfg(test)]
mod tests;
