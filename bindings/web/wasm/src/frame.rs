//! The bytes of what an instance shows: the transforms of nodes, and the sections that have changed.
//! `src/frame.js` reads them.
//!
//! ```text
//! u32 first  u32 second  f32 blend  u32 flags  f64 position  6 × f32 bounds  u32 nodes  u32 sections
//! nodes      u32 visible  12 × f32 object to world, row by row  u32 0; exact: u32 visible  u32 0  12 × f64
//! sections   u32 kind  u32 mesh  u32 set  u32 count  u32 bytes  u32 0  bytes                          → multiple of 8
//! ```

use crate::writer::Writer;
use meshreel::raw::record::{MeshRecord, Semantic, StreamRecord};
use meshreel::time::Clock;
use meshreel::{Error, FrameView, MeshFrame, ShownFrames, VertexAttribute, VertexChannel, VertexFormat};

/// The frame that should be shown is missing; this is the last one that was shown.
const LATE: usize = 1;
/// Nothing has changed, except perhaps the position.
const SAME: usize = 2;
const PLAYING: usize = 4;
const ENDED: usize = 8;
/// Nodes are in f64.
const EXACT: usize = 16;

/// Kinds of sections.
#[derive(Clone, Copy)]
enum Section {
    /// 3 × f32 in the mesh's own space.
    Positions = 1,
    /// 4 × u16; 65,535 is the side of the mesh's cube, and the last number is 65,535.
    CubePositions = 2,
    /// 3 × f32.
    Normals = 3,
    /// 4 × i16, ±32,767 for ±1; the last is 0.
    ShortNormals = 4,
    /// 4 × f32; the last is the sign of the bitangent.
    Tangents = 5,
    /// As `Tangents`, in i16.
    ShortTangents = 6,
    /// 2 × f32.
    Uvs = 7,
    /// 4 × u8.
    ByteColours = 8,
    /// 4 × f32.
    Colours = 9,
    /// u32, of an LOD level; at level 0 in the order that the ranges of visible triangles refer to.
    Indices = 10,
    /// First index, count, material, u32 each, of an LOD level; at level 0 those that are visible now.
    Ranges = 11,
    /// The error of an LOD level, f32.
    LevelError = 12,
    /// 3 × f32, units per second, from the source.
    Velocities = 13,
    /// f32, diameters of particles or curves.
    Widths = 14,
    /// u64 for each particle, ascending.
    Ids = 15,
    /// u32 for each curve: its number of vertices.
    Curves = 16,
    /// f32, custom values of particles; the next three kinds are those with 2, 3 and 4 components.
    Custom = 17,
    Custom2 = 18,
    Custom3 = 19,
    Custom4 = 20,
}

/// A cube that contains a mesh in all frames; its smallest corner is that of the bounds.
#[derive(Clone, Copy)]
pub(crate) struct Cube {
    pub corner: [f32; 3],
    pub side: f32,
}

/// The number formats in which a mesh is output.
#[derive(Clone, Copy)]
pub(crate) struct Formats {
    /// The cube that positions in 16 bits refer to.
    pub cube: Option<Cube>,
    /// All values are floats, as decoded.
    pub exact: bool,
}

impl Formats {
    /// Returns 16-bit positions if half a step of them is at most half of the promised tolerance, otherwise
    /// floats.
    pub fn for_mesh(mesh: &MeshRecord, exact: bool) -> Formats {
        let [x, y, z, ..] = mesh.bounds;
        let side = (0..3).map(|k| mesh.bounds[k + 3] - mesh.bounds[k]).fold(0.0, f32::max);
        let tolerance = mesh.streams.first().map_or(0.0, |stream| stream.tolerance);
        let fits = side.is_finite() && side > 0.0 && f64::from(side) / 65535.0 <= tolerance;
        Formats { cube: (fits && !exact).then_some(Cube { corner: [x, y, z], side }), exact }
    }
}

/// The content and form of the output.
#[derive(Clone, Copy)]
pub(crate) struct FrameOptions {
    /// Values that never change are output as well.
    pub all: bool,
    /// All values are floats, as decoded.
    pub exact: bool,
    /// Vertex values and indices are output, as they are not on a card.
    pub vertices: bool,
    pub indices: bool,
}

/// The frames that were last output for an instance.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct WrittenPair {
    first: u32,
    second: u32,
    blend: f32,
}

/// Writes what an instance shows. If it is equal to `last`, only the head is written. Returns the value to
/// compare with the next time.
pub(crate) fn write_frame(
    shown: &ShownFrames,
    clock: Option<&Clock>,
    form: FrameOptions,
    last: Option<WrittenPair>,
    out: &mut Writer,
) -> Result<WrittenPair, Error> {
    let FrameOptions { all, exact, .. } = form;
    let view = shown.view();
    let pair = view.pair();
    let now = WrittenPair { first: pair.first, second: pair.second, blend: pair.blend };
    let same = !all && last == Some(now);
    let flag = |bit, is| if is { bit } else { 0 };
    out.u32(pair.first as usize);
    out.u32(pair.second as usize);
    out.f32(pair.blend);
    out.u32(
        flag(LATE, shown.is_late())
            | flag(SAME, same)
            | flag(PLAYING, clock.is_some_and(Clock::playing))
            | flag(ENDED, clock.is_some_and(Clock::ended))
            | flag(EXACT, exact),
    );
    out.f64(clock.map_or(0.0, Clock::position));
    out.floats(&view.bounds());
    write_nodes(&view, (same, exact), out)?;
    let mut sections = Sections { out, count: 0, floats: Vec::new() };
    if !same {
        let description = shown.reel().description();
        for (mesh, record) in description.meshes.iter().enumerate() {
            let shows = |node: &usize| description.nodes[*node].mesh == Some(mesh as u32);
            let mut nodes = (0..description.nodes.len()).filter(shows);
            let visible = nodes.clone().find(|node| view.visible(*node));
            let Some(frame) = visible.or(nodes.next().filter(|_| all)).and_then(|node| view.mesh(node))
            else {
                continue;
            };
            sections.write_mesh(&frame, Formats::for_mesh(record, exact), form)?;
        }
    }
    let count = sections.count as u32;
    out.0[NODES_OFFSET + 4..][..4].copy_from_slice(&count.to_le_bytes());
    Ok(now)
}

/// The offset of the number of nodes.
const NODES_OFFSET: usize = 48;

/// Writes the number of nodes, room for the number of sections, and the nodes.
fn write_nodes(view: &FrameView<'_>, (same, exact): (bool, bool), out: &mut Writer) -> Result<(), Error> {
    let nodes = view.reel().description().nodes.len();
    out.u32(if same { 0 } else { nodes });
    out.u32(0);
    if same {
        return Ok(());
    }
    let mut worlds = vec![[[0.0; 4]; 3]; nodes];
    view.worlds_into(&mut worlds)?;
    for (node, world) in worlds.iter().enumerate() {
        out.u32(usize::from(view.visible(node)));
        let world = world.as_flattened().iter();
        match exact {
            true => {
                out.u32(0);
                world.for_each(|number| out.f64(*number));
            }
            false => {
                world.for_each(|number| out.f32(*number as f32));
                out.u32(0);
            }
        }
    }
    Ok(())
}

struct Sections<'a> {
    out: &'a mut Writer,
    count: usize,
    floats: Vec<f32>,
}

impl Sections<'_> {
    /// Writes a section of `count` items in `size` bytes, which `fill` writes.
    fn write_section(
        &mut self,
        kind: Section,
        (mesh, set): (usize, usize),
        count: usize,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for number in [kind as usize, mesh, set, count, size, 0] {
            self.out.u32(number);
        }
        let start = self.out.0.len();
        self.out.0.resize(start + size, 0);
        fill(&mut self.out.0[start..])?;
        self.out.align();
        self.count += 1;
        Ok(())
    }

    fn write_words(
        &mut self,
        kind: Section,
        place: (usize, usize),
        each: usize,
        words: &[u32],
    ) -> Result<(), Error> {
        self.write_section(kind, place, words.len() / each, 4 * words.len(), |out| {
            for (out, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(words) {
                *out = word.to_le_bytes();
            }
            Ok(())
        })
    }

    fn write_mesh(
        &mut self,
        frame: &MeshFrame<'_>,
        formats: Formats,
        form: FrameOptions,
    ) -> Result<(), Error> {
        let FrameOptions { all, vertices, indices, .. } = form;
        let mesh = frame.number();
        if (all || frame.is_fluid()) && indices {
            self.write_words(Section::Indices, (mesh, 0), 1, frame.indices_by_visibility())?;
        }
        if all && !frame.is_fluid() {
            self.write_levels(frame, indices)?;
        }
        let particles = frame.record().particles.filter(|_| vertices && (all || frame.is_fluid()));
        if particles.is_some_and(|particles| particles.ids) {
            let ids = frame.ids();
            self.write_section(Section::Ids, (mesh, 0), ids.len(), 8 * ids.len(), |out| {
                for (out, id) in out.as_chunks_mut::<8>().0.iter_mut().zip(ids) {
                    *out = id.to_le_bytes();
                }
                Ok(())
            })?;
        }
        if particles.is_some_and(|particles| particles.curves.is_some()) {
            self.write_words(Section::Curves, (mesh, 0), 1, frame.curves())?;
        }
        let mut ranges = Vec::new();
        let materials = frame.materials().len().max(1);
        for material in 0..materials {
            let which = Some(material).filter(|_| !frame.materials().is_empty());
            for range in frame.visible_ranges(which) {
                ranges.extend([range.first, range.count, material as u32]);
            }
        }
        self.write_words(Section::Ranges, (mesh, 0), 3, &ranges)?;
        for stream in frame.record().streams.iter().filter(|_| vertices) {
            if all || frame.is_animated(stream.semantic, stream.set) {
                self.write_stream(frame, stream, formats)?;
            }
        }
        Ok(())
    }

    fn write_levels(&mut self, frame: &MeshFrame<'_>, indices: bool) -> Result<(), Error> {
        let mesh = frame.number();
        for level in 1..frame.lod_count() {
            let lod = frame.lod(level);
            let ranges: Vec<u32> =
                (0..).zip(lod.materials).flat_map(|(m, range)| [range.first, range.count, m]).collect();
            if indices {
                self.write_words(Section::Indices, (mesh, level), 1, lod.indices)?;
            }
            self.write_words(Section::Ranges, (mesh, level), 3, &ranges)?;
            self.write_words(Section::LevelError, (mesh, level), 1, &[lod.error.to_bits()])?;
        }
        Ok(())
    }

    fn write_stream(
        &mut self,
        frame: &MeshFrame<'_>,
        stream: &StreamRecord,
        formats: Formats,
    ) -> Result<(), Error> {
        let set = stream.set;
        match (stream.semantic, formats.cube) {
            (Semantic::Position, Some(cube)) => self.write_cube_positions(frame, cube),
            (Semantic::Position, None) => self.write_attribute(
                Section::Positions,
                frame,
                VertexChannel::Position,
                VertexFormat::F32x3,
                0,
            ),
            (Semantic::Normal, _) if formats.exact => {
                self.write_attribute(Section::Normals, frame, VertexChannel::Normal, VertexFormat::F32x3, 0)
            }
            (Semantic::Normal, _) => self.write_short_directions(frame, false),
            (Semantic::QTangent, _) if formats.exact => {
                self.write_attribute(Section::Normals, frame, VertexChannel::Normal, VertexFormat::F32x3, 0)?;
                self.write_attribute(Section::Tangents, frame, VertexChannel::Tangent, VertexFormat::F32x4, 0)
            }
            (Semantic::QTangent, _) => self.write_short_directions(frame, true),
            (Semantic::Uv, _) => {
                self.write_attribute(Section::Uvs, frame, VertexChannel::Uv(set), VertexFormat::F32x2, set)
            }
            (Semantic::Colour, _) if formats.exact => self.write_attribute(
                Section::Colours,
                frame,
                VertexChannel::Colour(set),
                VertexFormat::F32x4,
                set,
            ),
            (Semantic::Colour, _) => self.write_attribute(
                Section::ByteColours,
                frame,
                VertexChannel::Colour(set),
                VertexFormat::U8x4,
                set,
            ),
            (Semantic::Velocity, _) => self.write_attribute(
                Section::Velocities,
                frame,
                VertexChannel::Velocity,
                VertexFormat::F32x3,
                0,
            ),
            (Semantic::Width, _) => {
                self.write_attribute(Section::Widths, frame, VertexChannel::Width, VertexFormat::F32, 0)
            }
            (Semantic::Custom1, _) => self.write_custom(Section::Custom, frame, 1, set),
            (Semantic::Custom2, _) => self.write_custom(Section::Custom2, frame, 2, set),
            (Semantic::Custom3, _) => self.write_custom(Section::Custom3, frame, 3, set),
            (Semantic::Custom4, _) => self.write_custom(Section::Custom4, frame, 4, set),
        }
    }

    fn write_custom(
        &mut self,
        kind: Section,
        frame: &MeshFrame<'_>,
        components: u8,
        set: u8,
    ) -> Result<(), Error> {
        let what = VertexChannel::Custom { components, set };
        let format = what.formats().first().copied().unwrap_or(VertexFormat::F32);
        self.write_attribute(kind, frame, what, format, set)
    }

    fn write_attribute(
        &mut self,
        kind: Section,
        frame: &MeshFrame<'_>,
        what: VertexChannel,
        format: VertexFormat,
        set: u8,
    ) -> Result<(), Error> {
        let (vertices, stride) = (frame.vertex_count(), format.size());
        let attribute = VertexAttribute { channel: what, format, offset: 0 };
        self.write_section(kind, (frame.number(), usize::from(set)), vertices, stride * vertices, |out| {
            frame.write(&[attribute], stride, 0..vertices, out)
        })
    }

    /// Writes positions relative to the cube.
    fn write_cube_positions(&mut self, frame: &MeshFrame<'_>, cube: Cube) -> Result<(), Error> {
        let vertices = frame.vertex_count();
        let mut floats = std::mem::take(&mut self.floats);
        floats.resize(3 * vertices, 0.0);
        frame.positions_into(&mut floats)?;
        let scale = 65535.0 / cube.side;
        let [x, y, z] = cube.corner;
        // Conversions to integers saturate.
        let word = |value: f32, from: f32| ((value - from) * scale + 0.5) as u16;
        let place = (frame.number(), 0);
        self.write_section(Section::CubePositions, place, vertices, 8 * vertices, |out| {
            for (out, p) in out.as_chunks_mut::<8>().0.iter_mut().zip(floats.as_chunks::<3>().0) {
                *out = packed([word(p[0], x), word(p[1], y), word(p[2], z), u16::MAX]);
            }
            Ok(())
        })?;
        self.floats = floats;
        Ok(())
    }

    /// Writes normals and, if the mesh has any, tangents.
    fn write_short_directions(&mut self, frame: &MeshFrame<'_>, tangents: bool) -> Result<(), Error> {
        let (vertices, place) = (frame.vertex_count(), (frame.number(), 0));
        let mut floats = std::mem::take(&mut self.floats);
        floats.resize(if tangents { 7 } else { 3 } * vertices, 0.0);
        let (normals, rest) = floats.split_at_mut(3 * vertices);
        match tangents {
            true => frame.directions_into(normals, rest)?,
            false => frame.normals_into(normals)?,
        }
        let short = |value: f32| (value * 32767.0 + 0.5f32.copysign(value)) as i16 as u16;
        self.write_section(Section::ShortNormals, place, vertices, 8 * vertices, |out| {
            for (out, n) in out.as_chunks_mut::<8>().0.iter_mut().zip(normals.as_chunks::<3>().0) {
                *out = packed([short(n[0]), short(n[1]), short(n[2]), 0]);
            }
            Ok(())
        })?;
        if tangents {
            self.write_section(Section::ShortTangents, place, vertices, 8 * vertices, |out| {
                for (out, t) in out.as_chunks_mut::<8>().0.iter_mut().zip(rest.as_chunks::<4>().0) {
                    *out = packed(t.map(short));
                }
                Ok(())
            })?;
        }
        self.floats = floats;
        Ok(())
    }
}

/// Returns four words as bytes, little-endian.
fn packed(words: [u16; 4]) -> [u8; 8] {
    let all = words.iter().rev().fold(0, |all, word| all << 16 | u64::from(*word));
    all.to_le_bytes()
}
