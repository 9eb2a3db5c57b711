//! A mesh in the description: its method, counts, streams, materials. Lossless.
//!
//! A mesh:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `path` | path of the source mesh |
//! | … | 1 | `method` | 0 static · 1 soft · 2 rigid · 3 skinned · 4 fluid · 5 particles |
//! | … | 1 | `codec` | 0 classic · 1 small · 2 fast · 3 chains · 4 packed chains |
//! | … | 1 | `flags` | bit 0 `has_table` · bit 1 `moving_frames` and `end_states` are present · bit 2 `remeshed`: its faces are not the source's · bit 3 `separate_attributes`: its animated attributes are in chunks of their own · bit 4 `ids`: its points have ids · bit 5 `curves`: its points are those of curves · bit 6 `persistent`: particles or curves of another method, whose points are the same in all frames |
//! | … | 1 … 5 or 0 | `remeshed_blend_frames` | only with `remeshed`: varint, the number of frames at the end that blend into the start |
//! | … | 3 … 7 or 0 | `curves` | only with bit 5: `basis` (0 linear · 1 Bézier · 2 B-spline · 3 Catmull-Rom), `curve_ends` (0 open · 1 closed · 2 pinned), and a varint `max_curves`, the largest number of curves of any frame |
//! | … | 1 … 5 each | `vertices`, `indices`, `source_points`, `points` | varints |
//! | … | 24 | `bounds` | 6 × f32, min xyz, max xyz |
//! | … | 3 … 15 each | `connectivity`, `values`, `source_map` | locations: three varints each, chunk, offset, size |
//! | … | 2 … 10 or 0 | `moving_frames` | two varints: it stands still up to the first frame, and from the second on |
//! | … | 3 … 15 or 0 | `end_states` | location: three varints, as above |
//! | … | list | `streams` | positions first |
//! | … | list | `materials` | ranges of the index buffer |
//!
//! A stream, and a material:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `semantic` | 0 position · 1 normal · 2 QTangent · 3 uv · 4 colour · 5 velocity · 6 width · 7 … 10 custom, one to four components |
//! | 1 | 1 | `set` | number of the set, of uvs, colours and custom streams |
//! | 2 | 1 | `flags` | bit 0 animated · bits 1–3 coding: 0 quantized values, 1 fixed-point values, 2 predicted, 3 fixed-point values that bones predict, 4 heights |
//! | 3 | 1 | `word` | bytes of a quantized or fixed-point value: 1, 2 or 4 |
//! | 4 | 1 | `bits` | bits per component; with `axes` the largest number of bits of any axis |
//! | 5 | text | `name` | name of the set |
//! | … | 12 per component | `axes` | only for quantized values that are not normals or QTangents: see [`crate::quantize`] |
//! | … | 1 … 5 or 0 | `states` | only predicted streams: varint, numbers per frame |
//! | … | 4 … 20 or 0 | `bones` | only fixed-point values that bones predict, four varints: `rigid`, 2 · `affine` (+ 1 if handles are i32), `codes_per_frame`, `coded` |
//! | … | 8 | `tolerance` | f64 |
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 … 5 | `id` | varint |
//! | … | text | `name` | name of the face set |
//! | … | 1 … 5 each | `first`, `count` | varints, both multiples of 3, within `indices` |

use crate::Corrupt;
use crate::bytes::Cursor;
#[cfg(feature = "encode")]
use crate::bytes::put_varint;
use crate::quantize::scalar::{Axis, MAX_CODES};
use crate::record::fields::{DescriptionError, finite, list, non_negative_f64, text};
#[cfg(feature = "encode")]
use crate::record::fields::{put_count, put_f64, put_floats, put_text};
use crate::values::particles::chain::ChainCoding;

pub use crate::mesh::skin::BoneCounts;
pub use crate::values::Semantic;

/// The method of a mesh. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Method {
    Static = 0,
    Soft = 1,
    /// Soft, after rigid parts of the mesh were predicted by their transforms.
    Rigid = 2,
    /// Each point is moved by several bones.
    Skinned = 3,
    Fluid = 4,
    /// Points without faces, each frame with its own: particles, or the points of curves.
    Particles = 5,
}

impl Method {
    /// Returns `true` if each frame has its own vertices and their number changes.
    pub fn changes(self) -> bool {
        matches!(self, Method::Fluid | Method::Particles)
    }

    /// Returns `true` if the topology is fixed and vertices move: all but static and changing meshes.
    pub fn deforms(self) -> bool {
        matches!(self, Method::Soft | Method::Rigid | Method::Skinned)
    }
}

/// The codec of frames with the source system's predictors.
pub const CODEC_CLASSIC: u8 = 0;

/// The soft codec with entropy coding.
pub const CODEC_SMALL: u8 = 1;

/// The soft codec with packed bits.
pub const CODEC_FAST: u8 = 2;

/// Particles in chains, see [`crate::values::particles::chain`].
pub const CODEC_CHAIN: u8 = 3;

/// Particles in chains of packed bits.
pub const CODEC_PACKED_CHAIN: u8 = 4;

fn chain_coding(codec: u8) -> Option<ChainCoding> {
    match codec {
        CODEC_CHAIN => Some(ChainCoding::Adaptive),
        CODEC_PACKED_CHAIN => Some(ChainCoding::Packed),
        _ => None,
    }
}

/// A place inside a chunk's decompressed content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct ChunkLocation {
    pub chunk: u32,
    pub offset: u32,
    pub size: u32,
}

/// A unique mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshRecord {
    /// The path of the (first) source mesh.
    pub path: String,
    /// The method.
    pub method: Method,
    /// The codec of its frames.
    pub codec: u8,
    /// The number of vertices; for fluid the largest of any frame.
    pub vertices: u32,
    /// The number of triangle indices (3 per triangle); for fluid the largest of any frame.
    pub indices: u32,
    /// The number of points of the source mesh; for fluid the largest of any frame.
    pub source_points: u32,
    /// The number of points of the soft codec: vertices that always coincide are one point. 0 if no stream is
    /// stored as [`Coding::FixedPoint`].
    pub points: u32,
    /// Object-space bounds over all frames: min xyz, max xyz.
    pub bounds: [f32; 6],
    /// The place of the `index::encode` bytes. Unused for fluid.
    pub connectivity: ChunkLocation,
    /// The place of the table of adjacent triangles if `has_table`, then for each stream in order: its values
    /// (static) or base (animated), as `stream::encode_index` bytes without base. Unused for fluid.
    pub values: ChunkLocation,
    /// The place of the `source_map::encode` bytes; size 0 = stripped. Unused for fluid.
    pub source_map: ChunkLocation,
    /// `true` if `values` begins with a table.
    pub has_table: bool,
    /// The mesh stands still up to the first of these frames, and from the second on; `None` if it moves from
    /// the first frame to the last, or never.
    pub moving_frames: Option<[u32; 2]>,
    /// The place of its end states: the values of its streams in the first and the last frame of its
    /// [`crate::schedule::FrameWindow`], if there are frames outside of that. Each is a varint size and that
    /// many bytes.
    pub end_states: ChunkLocation,
    /// Set if its faces are not those of the source, which changed: its surface is near the source's, but its
    /// vertices differ. The value is the number of frames at the end of the animation that lead into its
    /// start, and are not near the source.
    pub remeshed_blend_frames: Option<u32>,
    /// `true` if access units have its animated vertex attributes in separate chunks.
    pub separate_attributes: bool,
    /// The kind of its points, if it has no faces: with the method [`Method::Particles`], and with others if
    /// its points are the same in all frames ([`crate::values::particles::point_set`]).
    pub particles: Option<ParticlesRecord>,
    /// The streams, positions first.
    pub streams: Vec<StreamRecord>,
    /// The index ranges by material, in order. For fluid the ranges are stored per frame, in this order.
    pub materials: Vec<MaterialRecord>,
}

impl MeshRecord {
    /// Returns `true` if a stream is an animated vertex attribute of fixed topology: access units can store
    /// these separately, and players can leave them out.
    pub fn is_attribute(&self, stream: usize) -> bool {
        let animated = self.streams.get(stream).is_some_and(|s| s.animated);
        animated && stream > 0 && self.method.deforms()
    }

    /// Returns the coding of its chains; `None` if its frames are not coded in chains.
    pub fn chain_coding(&self) -> Option<ChainCoding> {
        chain_coding(self.codec)
    }

    /// Returns `true` if it has such attributes.
    pub fn has_attributes(&self) -> bool {
        (0..self.streams.len()).any(|s| self.is_attribute(s))
    }
}

/// The kind of points without faces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParticlesRecord {
    /// `true` if the points have ids.
    pub ids: bool,
    /// The form of the curves, if they are the points of curves.
    pub curves: Option<CurvesRecord>,
}

/// The form of curves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurvesRecord {
    /// The interpolation between the points of a curve.
    pub basis: CurveBasis,
    /// The form of the ends.
    pub curve_ends: CurveEnds,
    /// The largest number of curves in any frame.
    pub max_curves: u32,
}

/// The interpolation between the points of a curve. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum CurveBasis {
    #[default]
    Linear = 0,
    Bezier = 1,
    BSpline = 2,
    CatmullRom = 3,
}

/// The form of the ends of a curve. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum CurveEnds {
    /// The curve ends as its basis implies.
    #[default]
    Open = 0,
    /// The last point is connected to the first.
    Closed = 1,
    /// The curve ends at its first and last point.
    Pinned = 2,
}

/// The coding of a stream's frames. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Coding {
    /// Quantized values, [`crate::classic::stream`].
    #[default]
    Quantized = 0,
    /// Fixed-point values of the soft codec, [`crate::mesh`]; `word` is 2 or 4 bytes per component.
    FixedPoint = 1,
    /// Normals or tangent frames predicted from the decoded positions.
    Predicted = 2,
    /// Fixed-point values predicted by bones, [`crate::mesh::skin`].
    Bones = 3,
    /// Fixed-point values of a grid of which only heights are coded, [`crate::mesh::height`].
    Heights = 4,
}

impl Coding {
    /// Returns `true` if frames hold fixed-point values.
    pub fn has_fixed_point(self) -> bool {
        matches!(self, Coding::FixedPoint | Coding::Bones | Coding::Heights)
    }
}

/// A vertex stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamRecord {
    /// The meaning of its values: position, normal, uv and so on.
    pub semantic: Semantic,
    /// The number of the uv or colour set.
    pub set: u8,
    /// The name of the set in the source.
    pub name: String,
    /// `true` if it has values per frame, `false` if it is stored once.
    pub animated: bool,
    /// The coding of its frames.
    pub coding: Coding,
    /// The bytes of a word: 1, 2 or 4.
    pub word: u8,
    /// The bits per component (normals, QTangents); for lattices the most bits of any axis.
    pub bits: u8,
    /// The axis of each component (positions, uvs, colours).
    pub axes: Vec<Axis>,
    /// The number of values that a frame keeps as the state for later predictions, see
    /// [`crate::mesh::normals`]; 0 for other codings.
    pub states: u32,
    /// The bones that move it; empty for other codings.
    pub bones: BoneCounts,
    /// The promised error of this stream: positions in object units, normals in degrees, uvs in uv units,
    /// colours in value.
    pub tolerance: f64,
}

/// A range of the index buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaterialRecord {
    /// The first number in the face set's name, else its order.
    pub id: u32,
    /// The face set's name; empty for faces in no set.
    pub name: String,
    /// The first index.
    pub first: u32,
    /// The number of indices.
    pub count: u32,
}

#[cfg(feature = "encode")]
pub(super) fn encode_mesh(mesh: &MeshRecord, out: &mut Vec<u8>) {
    put_text(&mesh.path, out);
    let particles = mesh.particles.unwrap_or_default();
    let flags = [
        mesh.has_table,
        mesh.moving_frames.is_some(),
        mesh.remeshed_blend_frames.is_some(),
        mesh.separate_attributes,
        particles.ids,
        particles.curves.is_some(),
        mesh.particles.is_some() && mesh.method != Method::Particles,
    ];
    let flags = (0..).zip(flags).fold(0, |all, (bit, on)| all | u8::from(on) << bit);
    out.extend([mesh.method as u8, mesh.codec, flags]);
    if let Some(blended) = mesh.remeshed_blend_frames {
        put_varint(blended, out);
    }
    if let Some(curves) = particles.curves {
        out.extend([curves.basis as u8, curves.curve_ends as u8]);
        put_varint(curves.max_curves, out);
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
    if let Some([first, last]) = mesh.moving_frames {
        let ends = mesh.end_states;
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
            out.extend_from_slice(&axis.codes.to_le_bytes());
        }
        if stream.coding == Coding::Predicted {
            put_varint(stream.states, out);
        }
        if stream.coding == Coding::Bones {
            let b = stream.bones;
            let affine = b.affine << 1 | u32::from(b.wide);
            [b.rigid, affine, b.codes_per_frame, b.coded].into_iter().for_each(|v| put_varint(v, out));
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

// Smallest sizes of items in bytes: a count is accepted only if the input could hold that many.
pub(super) const MIN_MESH: usize = 43;
const MIN_STREAM: usize = 14;
const MIN_MATERIAL: usize = 4;

pub(super) fn decode_mesh(c: &mut Cursor<'_>) -> Result<MeshRecord, DescriptionError> {
    let path = text(c)?;
    let method = decode_method(c)?;
    let codec = c.u8()?;
    if codec > CODEC_PACKED_CHAIN {
        return Err(DescriptionError::Unknown { what: "codec", id: codec });
    }
    if chain_coding(codec).is_some() && method != Method::Particles {
        return Err(Corrupt("description: a chain of what are no particles").into());
    }
    let flags = c.u8()?;
    if flags > 127 {
        return Err(Corrupt("description: unknown flag").into());
    }
    let has_table = flags & 1 != 0;
    let remeshed = match flags & 4 {
        0 => None,
        _ => Some(c.varint()?),
    };
    let particles = decode_particles(c, method, flags)?;
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
    let (moves, ends) = match flags & 2 {
        0 => (None, ChunkLocation::default()),
        _ => (Some(decode_moves(c)?), location(c)?),
    };
    let streams = decode_streams(c)?;
    let materials = list(c, MIN_MATERIAL, |c, _| decode_material(c, method, indices))?;
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
        moving_frames: moves,
        end_states: ends,
        remeshed_blend_frames: remeshed,
        separate_attributes: flags & 8 != 0,
        particles,
        streams,
        materials,
    };
    if mesh.separate_attributes && !mesh.has_attributes() {
        return Err(Corrupt("description: vertex attributes apart, but none that is animated").into());
    }
    Ok(mesh)
}

/// Decodes [`MeshRecord::particles`].
fn decode_particles(
    c: &mut Cursor<'_>,
    method: Method,
    flags: u8,
) -> Result<Option<ParticlesRecord>, Corrupt> {
    let [ids, curves, persistent] = [16, 32, 64].map(|bit| flags & bit != 0);
    match (persistent, method) {
        (false, Method::Particles) => {}
        (true, Method::Particles | Method::Fluid) => {
            return Err(Corrupt("description: persistent points of a method whose points change"));
        }
        (true, _) => {}
        (false, _) if ids || curves => {
            return Err(Corrupt("description: ids or curves of a mesh with faces"));
        }
        (false, _) => return Ok(None),
    }
    if ids && curves {
        return Err(Corrupt("description: curves with ids"));
    }
    if !curves {
        return Ok(Some(ParticlesRecord { ids, curves: None }));
    }
    let basis = match c.u8()? {
        0 => CurveBasis::Linear,
        1 => CurveBasis::Bezier,
        2 => CurveBasis::BSpline,
        3 => CurveBasis::CatmullRom,
        _ => return Err(Corrupt("description: unknown basis of curves")),
    };
    let ends = match c.u8()? {
        0 => CurveEnds::Open,
        1 => CurveEnds::Closed,
        2 => CurveEnds::Pinned,
        _ => return Err(Corrupt("description: unknown ends of curves")),
    };
    let most = c.varint()?;
    Ok(Some(ParticlesRecord {
        ids,
        curves: Some(CurvesRecord { basis, curve_ends: ends, max_curves: most }),
    }))
}

fn decode_method(c: &mut Cursor<'_>) -> Result<Method, DescriptionError> {
    Ok(match c.u8()? {
        0 => Method::Static,
        1 => Method::Soft,
        2 => Method::Rigid,
        3 => Method::Skinned,
        4 => Method::Fluid,
        5 => Method::Particles,
        id => return Err(DescriptionError::Unknown { what: "method", id }),
    })
}

/// Decodes [`MeshRecord::moving_frames`].
fn decode_moves(c: &mut Cursor<'_>) -> Result<[u32; 2], Corrupt> {
    let [first, last] = [c.varint()?, c.varint()?];
    match first < last {
        true => Ok([first, last]),
        false => Err(Corrupt("description: a mesh stops before it moves")),
    }
}

/// Decodes a material of a mesh that has `indices` indices.
fn decode_material(c: &mut Cursor<'_>, method: Method, indices: u32) -> Result<MaterialRecord, Corrupt> {
    let (id, name, first, count) = (c.varint()?, text(c)?, c.varint()?, c.varint()?);
    let inside = first.checked_add(count).is_some_and(|end| end <= indices);
    // A fluid mesh has its ranges per frame.
    if first % 3 != 0 || count % 3 != 0 || !inside && method != Method::Fluid {
        return Err(Corrupt("description: material outside the indices"));
    }
    Ok(MaterialRecord { id, name, first, count })
}

/// Decodes the streams of a mesh, of which the first must be the positions.
fn decode_streams(c: &mut Cursor<'_>) -> Result<Vec<StreamRecord>, Corrupt> {
    let streams = list(c, MIN_STREAM, |c, _| decode_stream(c))?;
    if streams.first().is_some_and(|s| s.semantic != Semantic::Position)
        || streams.iter().skip(1).any(|s| s.semantic == Semantic::Position)
    {
        return Err(Corrupt("description: positions are the first stream"));
    }
    Ok(streams)
}

fn decode_stream(c: &mut Cursor<'_>) -> Result<StreamRecord, Corrupt> {
    let semantic = Semantic::ALL.get(usize::from(c.u8()?)).copied();
    let semantic = semantic.ok_or(Corrupt("description: unknown stream"))?;
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
        return Err(Corrupt("description: a stream that does not change is not kept as quantized values"));
    }
    let fits = match (coding, semantic) {
        (Coding::Quantized, _) => true,
        (Coding::FixedPoint, _) => semantic.has_axes() && word > 1,
        (Coding::Bones | Coding::Heights, _) => semantic == Semantic::Position && word > 1,
        (Coding::Predicted, _) => matches!(semantic, Semantic::Normal | Semantic::QTangent),
    };
    if !fits {
        return Err(Corrupt("description: a coding that does not suit the stream"));
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
            let axis = Axis { min: finite(c)?, step: finite(c)?, codes: u32::from_le_bytes(c.array()?) };
            let usable = (1..=MAX_CODES).contains(&axis.codes) && axis.step >= 0.0;
            if !usable || axis.bits() > u32::from(most) || !axis.value(axis.codes - 1).is_finite() {
                return Err(Corrupt("description: impossible axis"));
            }
            axes.push(axis);
        }
    }
    let states = match coding {
        Coding::Predicted => c.varint()?,
        _ => 0,
    };
    let mut bones = BoneCounts::default();
    if coding == Coding::Bones {
        bones.rigid = c.varint()?;
        let affine = c.varint()?;
        (bones.affine, bones.wide) = (affine >> 1, affine & 1 != 0);
        (bones.codes_per_frame, bones.coded) = (c.varint()?, c.varint()?);
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
        tolerance: non_negative_f64(c)?,
    })
}

fn location(c: &mut Cursor<'_>) -> Result<ChunkLocation, Corrupt> {
    let (chunk, offset, size) = (c.varint()?, c.varint()?, c.varint()?);
    if offset.checked_add(size).is_none() {
        return Err(Corrupt("description: a location beyond 4 GiB"));
    }
    Ok(ChunkLocation { chunk, offset, size })
}
