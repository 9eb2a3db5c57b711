//! A file, opened and checked: everything that the description and the tables say is compared here, once,
//! with each other and with [`Limits`], before anything is allocated. What comes after (frames, values) is
//! checked as it is read.

use crate::Error;
use crate::chunks;
use crate::detail::LodTriangles;
use crate::layout::Layout;
use crate::memory;
use crate::mesh::MeshView;
use crate::order::Order;
use crate::statics::Statics;
use crate::still::{Own, Windows};
use meshreel_codec::block::Decompressor;
use meshreel_codec::grid;
use meshreel_codec::ranges::{self, FrameRange};
use meshreel_codec::record::{
    self, Coding, Description, Location, MeshRecord, Method, Refused, Semantic, StreamRecord,
};
use meshreel_codec::source_map::{self, SourceMap};
use meshreel_format::{ChunkEntry, FrameEntry, ReadAt, Reader};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Kinds of chunks. Part of the format.
pub mod kind {
    pub use meshreel_format::kind::*;
    // Old names, which go when all is merged.
    pub use meshreel_format::kind::{
        END_STATES as ENDS, LOD as DETAIL, PART_ATTRIBUTES as NUMBERS, SCALARS as EXTRAS, TIERS as PIECES,
        VERTEX_ATTRIBUTES as ATTRIBUTES, VISIBILITY as DRAWN,
    };
}

/// How a frame is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// By itself.
    Index,
    /// With the help of frames around it.
    Between,
}

/// What a file may ask for. The defaults hold any sane asset; a server that opens strangers' files sets less.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Chunks and frames.
    pub format: meshreel_format::Limits,
    /// Sum of the vertices of all meshes.
    pub max_vertices: u64,
    /// Sum of nodes and meshes.
    pub max_objects: u64,
    /// Bytes that an open file may take with its static data and one decoder.
    pub max_memory: u64,
    /// Whether there may be animated normals, tangents, uvs and colours on meshes of fixed topology. Without,
    /// such meshes are as if they had none: these are neither decoded nor held and, in a file that has them
    /// apart (`--attributes-apart`), not even read.
    pub attributes: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            format: meshreel_format::Limits::default(),
            max_vertices: 1 << 28,
            max_objects: 1 << 24,
            max_memory: 4 << 30,
            attributes: true,
        }
    }
}

/// An open file. Clones share it; it can be used from several threads.
#[derive(Clone)]
pub struct Reel {
    shared: Arc<Shared>,
}

/// What is wrong with static data, and where.
struct Broken {
    what: String,
    at: String,
}

struct Shared {
    reader: Reader,
    description: Description,
    /// Chunk of each unit.
    units: Vec<u32>,
    order: Order,
    /// Per mesh its own frames, where it does not move in all.
    own: Vec<Option<Own>>,
    /// Named parts of the animation.
    ranges: Vec<FrameRange>,
    /// All but tables.
    memory: u64,
    /// [`Limits::max_memory`].
    max_memory: u64,
    /// Bytes of tables, once they have been read.
    tables: AtomicU64,
    /// [`Limits::attributes`].
    attributes: bool,
    /// Units have attributes behind them.
    apart: bool,
    layout: Layout,
    statics: Mutex<Option<Result<Arc<Statics>, Broken>>>,
    /// The last chunk of source maps that was asked for.
    maps: Mutex<Option<(u32, Arc<Vec<u8>>)>>,
}

impl Reel {
    /// Opens and checks a file.
    pub fn open(path: impl AsRef<Path>, limits: &Limits) -> Result<Reel, Error> {
        let reader = Reader::open_path(path.as_ref(), &limits.format)?;
        Reel::check(reader, limits)
    }

    /// Opens and checks bytes that lie elsewhere.
    pub fn from_source(source: Arc<dyn ReadAt>, limits: &Limits) -> Result<Reel, Error> {
        let reader = Reader::open(source, &limits.format)?;
        Reel::check(reader, limits)
    }

    pub(crate) fn check(reader: Reader, limits: &Limits) -> Result<Reel, Error> {
        let description = read_description(&reader, limits)?;
        check_counts(&description, reader.path(), limits)?;
        let (units, order) = find_units(&reader, description.restart)?;
        let apart = description.meshes.iter().any(|m| m.apart);
        if limits.attributes {
            check_attributes(&reader, &units, apart)?;
        }
        for mesh in &description.meshes {
            check_mesh(reader.path(), mesh, reader.chunks(), description.restart > 0)?;
        }
        chunks::check(&description, &reader, &units, &order)?;
        let too_much = |asked| {
            let what = "bytes of memory to decode it";
            Error::limit(reader.path(), what, asked, limits.max_memory)
        };
        let range_bytes = memory::of_ranges(&reader);
        let own_bytes = memory::of_windows(&description, units.len()).saturating_add(range_bytes);
        let held = memory::of_description(&description).saturating_add(own_bytes);
        if held > limits.max_memory {
            return Err(too_much(held));
        }
        let ranges = read_ranges(&reader)?;
        let mut own = Vec::with_capacity(description.meshes.len());
        let mut windows = HashMap::new();
        for mesh in &description.meshes {
            let chunks = reader.chunks();
            own.push(own_frames(reader.path(), mesh, &order, &mut windows, chunks)?);
        }
        let layout = Layout::new(&description, limits.attributes)
            .map_err(|c| Error::corrupt(reader.path(), c, "the description"))?;
        let has = |kind: u16| reader.chunks().iter().any(|c| c.kind == kind);
        let memory = memory::Parts {
            description: &description,
            reader: &reader,
            layout: &layout,
            order: &order,
            own: &own,
            own_bytes,
            limits,
            detailed: has(kind::DETAIL),
            culled: has(kind::DRAWN),
        };
        let memory = memory.bytes();
        if memory > limits.max_memory {
            return Err(too_much(memory));
        }
        Ok(Reel {
            shared: Arc::new(Shared {
                reader,
                layout,
                description,
                units,
                order,
                own,
                ranges,
                memory,
                max_memory: limits.max_memory,
                tables: AtomicU64::new(0),
                attributes: limits.attributes,
                apart,
                statics: Mutex::new(None),
                maps: Mutex::new(None),
            }),
        })
    }

    /// The file's path; "(memory)" where the bytes came from elsewhere.
    pub fn path(&self) -> &Path {
        self.shared.reader.path()
    }
    /// Nodes, meshes, options.
    pub fn description(&self) -> &Description {
        &self.shared.description
    }
    /// The container, for tools that print what is in it.
    pub fn reader(&self) -> &Reader {
        &self.shared.reader
    }
    /// Number of frames; can be 0.
    pub fn frame_count(&self) -> usize {
        self.shared.reader.frames().len()
    }
    /// Named parts of the animation, in the order of time: several animations of the source, one after the
    /// other. None where it is one. Nothing is blended from the end of one to the beginning of the next. To
    /// play one of them, hand its first and last frame to [`crate::Command::Range`].
    pub fn ranges(&self) -> &[FrameRange] {
        &self.shared.ranges
    }
    /// Whether frames lie in layers, so that every second one can be left out.
    pub fn is_layered(&self) -> bool {
        matches!(self.shared.order, Order::Layered { .. })
    }
    /// Frame table: times, world bounds.
    pub fn frames(&self) -> &[FrameEntry] {
        self.shared.reader.frames()
    }
    /// Chunk table.
    pub fn chunks(&self) -> &[ChunkEntry] {
        self.shared.reader.chunks()
    }
    /// Seconds of frame `frame`. Panics where there is none.
    pub fn time(&self, frame: usize) -> f64 {
        self.frames()[frame].time
    }
    /// Kind of frame `frame`. Panics where there is none.
    pub fn frame_kind(&self, frame: usize) -> FrameKind {
        match self.unit_chunk(self.unit_of(frame)).kind {
            kind::INDEX => FrameKind::Index,
            _ => FrameKind::Between,
        }
    }
    /// The chunk that brings frame `frame`, perhaps with others. Panics where there is none.
    pub fn frame_chunk(&self, frame: usize) -> &ChunkEntry {
        self.unit_chunk(self.unit_of(frame))
    }
    /// World bounds of what is shown in frame `frame`: min xyz, max xyz. Panics where there is none.
    pub fn frame_bounds(&self, frame: usize) -> [f32; 6] {
        self.frames()[frame].bounds
    }
    /// Bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        self.shared.reader.header().file_size
    }
    /// Compressed bytes of all frames.
    pub fn frame_bytes(&self) -> u64 {
        let kinds = [kind::INDEX, kind::BETWEEN, kind::ATTRIBUTES];
        kinds.iter().map(|&kind| self.chunk_bytes(kind)).sum()
    }
    /// Whether animated attributes are decoded ([`Limits::attributes`]).
    pub fn has_attributes(&self) -> bool {
        self.shared.attributes
    }
    /// Whether they lie in chunks of their own, and whether these are read.
    pub(crate) fn attributes_apart(&self) -> (bool, bool) {
        (self.shared.apart, self.shared.apart && self.shared.attributes)
    }
    /// Compressed bytes of all chunks of a kind (see [`kind`]).
    pub fn chunk_bytes(&self, kind: u16) -> u64 {
        let chunks = self.chunks().iter().filter(|c| c.kind == kind);
        chunks.map(|c| u64::from(c.size)).sum()
    }
    /// Bytes that the open file takes with its static data and one decoder. Tables of the soft codec, which
    /// meshes share, are among them once the static data has been read, as for the first decoder.
    pub fn memory(&self) -> u64 {
        self.shared.memory + self.shared.tables.load(Ordering::Relaxed)
    }

    /// Bytes that tables may take.
    pub(crate) fn memory_for_tables(&self) -> u64 {
        self.shared.max_memory - self.shared.memory
    }

    /// What they take.
    pub(crate) fn set_tables(&self, bytes: u64) {
        self.shared.tables.store(bytes, Ordering::Relaxed);
    }

    /// Static data needs tables that take more than is left.
    pub(crate) fn too_much_memory(&self, tables: u64) -> Error {
        let what = "bytes of memory to decode it";
        let asked = self.shared.memory.saturating_add(tables);
        Error::limit(self.path(), what, asked, self.shared.max_memory)
    }

    /// Triangle indices of a mesh with fixed topology (empty for fluid ones: theirs come with each frame).
    pub fn indices(&self, mesh: usize) -> Result<Vec<u32>, Error> {
        self.mesh_record(mesh)?;
        Ok(self.statics()?.meshes[mesh].indices.clone())
    }

    /// Where the vertices of a mesh come from; `None` where that was stripped or the mesh is fluid.
    pub fn source_map(&self, mesh: usize) -> Result<Option<SourceMap>, Error> {
        match self.mesh_record(mesh)?.method {
            Method::Fluid => Ok(None),
            _ => self.notes_of_source(mesh),
        }
    }

    /// Whether the source had no normals, so that those of a mesh were made; false where nothing says so
    /// (stripped).
    pub fn made_normals(&self, mesh: usize) -> Result<bool, Error> {
        let map = self.notes_of_source(mesh)?;
        Ok(map.is_some_and(|map| map.made_normals))
    }

    /// The map of any mesh, `None` where that was stripped; that of a fluid one says nothing of vertices but
    /// by frame ([`SourceMap::of_frame`]).
    pub fn notes_of_source(&self, mesh: usize) -> Result<Option<SourceMap>, Error> {
        let record = self.mesh_record(mesh)?;
        if record.source_map.size == 0 {
            return Ok(None);
        }
        let at = || format!("source map of {}", record.path);
        let chunk = self.map_chunk(record.source_map.chunk)?;
        let bytes = slice(self.path(), &chunk, record.source_map, at)?;
        let (map, used) = source_map::decode(bytes).map_err(|c| Error::corrupt(self.path(), c, at()))?;
        let [points, vertices, indices] = match record.method {
            Method::Fluid => [0; 3],
            _ => [record.source_points, record.vertices, record.indices],
        };
        let fits = used == bytes.len()
            && map.points == points
            && map.vertex_point.len() == vertices as usize
            && map.vertex_corner.len() == vertices as usize
            && map.triangle_face.len() == indices as usize / 3
            && map.vertex_point.iter().all(|&p| p < map.points)
            && (map.vertex_corner.iter()).all(|&c| c == u32::MAX || c < map.corners)
            && map.triangle_face.iter().all(|&f| f < map.faces);
        if !fits {
            return Err(Error::malformed(self.path(), "the map does not fit its mesh", at()));
        }
        Ok(Some(map))
    }

    /// The triangles of a level of detail, of a mesh with fixed topology that has so many levels; 0 is the
    /// mesh itself.
    pub fn lod(&self, mesh: usize, level: usize) -> Result<Option<LodTriangles>, Error> {
        let record = self.mesh_record(mesh)?;
        let statics = self.statics()?;
        let own = &statics.meshes[mesh];
        if record.method == Method::Fluid || level > own.details.len() {
            return Ok(None);
        }
        let view = MeshView::new(self, &statics, mesh, None);
        Ok(Some(LodTriangles::from(view.lod(level))))
    }

    /// Triangles of a mesh that are left out in the first frame, in the last, and in all; none where all are
    /// always drawn.
    pub fn hidden(&self, mesh: usize) -> Result<Option<[usize; 3]>, Error> {
        self.mesh_record(mesh)?;
        let statics = self.statics()?;
        let frames = self.frame_count() as u32;
        let culled = statics.meshes[mesh].culled.as_ref();
        Ok(culled.map(|culled| culled.hidden(frames)))
    }

    /// Levels of detail of a mesh, the mesh itself being one.
    pub fn lods(&self, mesh: usize) -> Result<usize, Error> {
        self.mesh_record(mesh)?;
        Ok(1 + self.statics()?.meshes[mesh].details.len())
    }

    /// Vertices of a row and rows of a mesh whose triangles are not stored, because they are those of a
    /// regular grid.
    pub fn grid(&self, mesh: usize) -> Result<Option<[u32; 2]>, Error> {
        let record = self.mesh_record(mesh)?;
        if record.method == Method::Fluid || record.connectivity.size == 0 {
            return Ok(None);
        }
        let statics = self.statics()?;
        let shape = grid::shape(&statics.meshes[mesh].made_of.connectivity);
        Ok(shape.map(|shape| [shape.width, shape.height]))
    }

    /// Chunks of its units, in order.
    pub(crate) fn units(&self) -> &[u32] {
        &self.shared.units
    }

    /// Where things are in a decoded frame.
    pub(crate) fn layout(&self) -> &Layout {
        &self.shared.layout
    }

    /// How its units hang together.
    pub(crate) fn order(&self) -> &Order {
        &self.shared.order
    }

    /// The frames of a mesh that does not move in all.
    pub(crate) fn own(&self, mesh: usize) -> Option<&Own> {
        self.shared.own[mesh].as_ref()
    }

    /// Static data of all meshes: read at the first call, shared afterwards.
    pub(crate) fn statics(&self) -> Result<Arc<Statics>, Error> {
        let mut held = (self.shared.statics.lock()).unwrap_or_else(PoisonError::into_inner);
        let loaded = match &*held {
            Some(Ok(statics)) => return Ok(statics.clone()),
            Some(Err(Broken { what, at })) => {
                return Err(Error::malformed(self.path(), what.as_str(), at.as_str()));
            }
            None => Statics::load(self),
        };
        match loaded {
            Ok(statics) => {
                let statics = Arc::new(statics);
                *held = Some(Ok(statics.clone()));
                Ok(statics)
            }
            Err(error) => {
                // Asked for mesh by mesh, all of it would be decoded as often again.
                if let Error::Malformed { what, at, .. } = &error {
                    let (what, at) = (what.clone(), at.clone());
                    *held = Some(Err(Broken { what, at }));
                }
                Err(error)
            }
        }
    }

    /// Static data that was read, and perhaps shared with other files, elsewhere.
    pub(crate) fn set_statics(&self, statics: &Arc<Statics>) {
        let mut held = (self.shared.statics.lock()).unwrap_or_else(PoisonError::into_inner);
        *held = Some(Ok(statics.clone()));
    }

    /// Content of a chunk of source maps: the last one is kept, as very many meshes share it.
    fn map_chunk(&self, chunk: u32) -> Result<Arc<Vec<u8>>, Error> {
        let mut held = (self.shared.maps.lock()).unwrap_or_else(PoisonError::into_inner);
        if let Some((_, content)) = held.as_ref().filter(|(number, _)| *number == chunk) {
            return Ok(content.clone());
        }
        *held = None;
        let content = Arc::new(self.chunk(chunk, &mut Decompressor::new())?);
        *held = Some((chunk, content.clone()));
        Ok(content)
    }

    /// Content of a chunk, decompressed.
    pub(crate) fn chunk(&self, chunk: u32, decompressor: &mut Decompressor) -> Result<Vec<u8>, Error> {
        read_chunk(&self.shared.reader, chunk as usize, decompressor)
    }

    fn mesh_record(&self, mesh: usize) -> Result<&MeshRecord, Error> {
        let meshes = &self.shared.description.meshes;
        meshes
            .get(mesh)
            .ok_or_else(|| Error::misuse(format!("mesh {mesh} of {} does not exist", meshes.len())))
    }
}

impl std::fmt::Debug for Reel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reel")
            .field("path", &self.path())
            .field("frames", &self.frame_count())
            .field("meshes", &self.shared.description.meshes.len())
            .finish_non_exhaustive()
    }
}

/// The part of a chunk's content that a location names.
pub(crate) fn slice<'a>(
    path: &Path,
    content: &'a [u8],
    location: Location,
    at: impl Fn() -> String,
) -> Result<&'a [u8], Error> {
    if location.size == 0 {
        return Ok(&[]);
    }
    let start = location.offset as usize;
    start
        .checked_add(location.size as usize)
        .and_then(|end| content.get(start..end))
        .ok_or_else(|| Error::malformed(path, "a location beyond its chunk", at()))
}

fn read_chunk(reader: &Reader, chunk: usize, decompressor: &mut Decompressor) -> Result<Vec<u8>, Error> {
    let path = reader.path();
    let at = || format!("chunk {chunk}");
    let entry = reader.chunks().get(chunk).ok_or_else(|| Error::malformed(path, "no such chunk", at()))?;
    let mut bytes = Vec::new();
    reader.read_chunk(chunk, &mut bytes)?;
    let raw_size = Decompressor::raw_size(&bytes).map_err(|c| Error::corrupt(path, c, at()))?;
    if raw_size != entry.raw_size as usize {
        return Err(Error::malformed(path, "block and directory disagree on the size", at()));
    }
    let mut raw = vec![0; raw_size];
    decompressor.decompress(&bytes, &mut raw).map_err(|c| Error::corrupt(path, c, at()))?;
    Ok(raw)
}

fn read_description(reader: &Reader, limits: &Limits) -> Result<Description, Error> {
    let path = reader.path();
    let mut found = (reader.chunks().iter().enumerate()).filter(|c| c.1.kind == kind::DESCRIPTION);
    let (Some((chunk, entry)), None) = (found.next(), found.next()) else {
        return Err(Error::malformed(path, "not exactly one description", "the chunk table"));
    };
    chunks::check_ratio(path, chunk, entry)?;
    // Its values in memory take several times its bytes (short records), so it may fill only a part.
    let (asked, allowed) = (u64::from(entry.raw_size), limits.max_memory / 8);
    if asked > allowed {
        return Err(Error::limit(path, "bytes of the description", asked, allowed));
    }
    let bytes = read_chunk(reader, chunk, &mut Decompressor::new())?;
    record::decode(&bytes).map_err(|refused| match refused {
        Refused::Corrupt(corrupt) => Error::corrupt(path, corrupt, "the description"),
        Refused::Unknown { what, id } => {
            Error::unsupported(path, format!("meshes of {what} {id} (use a newer meshreel)"))
        }
    })
}

/// The named ranges, which there need not be.
fn read_ranges(reader: &Reader) -> Result<Vec<FrameRange>, Error> {
    let chunks = reader.chunks().iter().enumerate();
    let mut found = chunks.filter(|c| c.1.kind == kind::RANGES);
    let (chunk, None) = (found.next(), found.next()) else {
        let what = "ranges of frames in more than one chunk";
        return Err(Error::malformed(reader.path(), what, "the chunk table"));
    };
    let Some((chunk, _)) = chunk else {
        return Ok(Vec::new());
    };
    let bytes = read_chunk(reader, chunk, &mut Decompressor::new())?;
    let frames = reader.frames().len().min(u32::MAX as usize) as u32;
    ranges::decode(&bytes, frames).map_err(|c| Error::corrupt(reader.path(), c, "the ranges of frames"))
}

/// The chunks that are units, and how they hang together.
fn find_units(reader: &Reader, restart: u32) -> Result<(Vec<u32>, Order), Error> {
    let is_unit = |c: &ChunkEntry| matches!(c.kind, kind::INDEX | kind::BETWEEN);
    let chunks = (0..).zip(reader.chunks());
    let units: Vec<u32> = chunks.filter(|(_, c)| is_unit(c)).map(|(i, _)| i).collect();
    let index = |unit: usize| reader.chunks()[units[unit] as usize].kind == kind::INDEX;
    let order = Order::new(reader.frames().len(), units.len(), restart, index);
    order.map(|order| (units, order)).map_err(|what| Error::malformed(reader.path(), what, "the tables"))
}

/// Where some mesh has its attributes apart, every unit has a chunk of them behind it, and there are no
/// others.
fn check_attributes(reader: &Reader, units: &[u32], apart: bool) -> Result<(), Error> {
    let is = |chunk: &ChunkEntry| chunk.kind == kind::ATTRIBUTES;
    let count = reader.chunks().iter().filter(|c| is(c)).count();
    let behind = |unit: &u32| reader.chunks().get(*unit as usize + 1).is_some_and(is);
    if count == if apart { units.len() } else { 0 } && (!apart || units.iter().all(behind)) {
        return Ok(());
    }
    let what = "attributes are not behind their units (without attributes it can be played)";
    Err(Error::malformed(reader.path(), what, "the chunk table"))
}

/// What a mesh says, against the chunk table and itself.
fn check_mesh(path: &Path, mesh: &MeshRecord, chunks: &[ChunkEntry], layered: bool) -> Result<(), Error> {
    let wrong = |what: &str| Err(Error::malformed(path, what, format!("mesh {}", mesh.path)));
    if !mesh.indices.is_multiple_of(3) {
        return wrong("the indices make no whole triangles");
    }
    if mesh.streams.first().map(|s| s.semantic) != Some(Semantic::Position) {
        return wrong("positions are not its first stream");
    }
    if mesh.apart && !layered {
        return wrong("attributes apart in a file without layers");
    }
    let mut seen = [[false; 256]; 5];
    for stream in &mesh.streams {
        let components = stream.semantic.components();
        let cells = stream.coding.has_cells();
        if stream.coding == Coding::Predicted {
            let still = |s: &StreamRecord| s.semantic == Semantic::Uv && s.set == 0 && !s.animated;
            let cells = mesh.streams[0].coding.has_cells();
            let uvs = stream.semantic == Semantic::Normal || mesh.streams.iter().any(still);
            let states = u64::from(stream.states) <= 3 * u64::from(mesh.vertices);
            let places = mesh.method.deforms() && layered && stream.word == 2;
            if !(cells && uvs && states && places) {
                return wrong("normals that cannot be predicted");
            }
        }
        if cells && !(mesh.method.deforms() && layered) {
            return wrong("cells where there can be none");
        }
        let lattice = stream.semantic.has_axes() && !cells;
        if !matches!(stream.word, 1 | 2 | 4) {
            return wrong("a word is not 1, 2 or 4 bytes");
        }
        if stream.axes.len() != if lattice { components } else { 0 } {
            return wrong("a lattice does not fit its stream");
        }
        let bits = match stream.semantic {
            Semantic::Normal => 2..=16,
            Semantic::QTangent => 6..=16,
            _ => 0..=24,
        };
        if !bits.contains(&stream.bits) || stream.bits > 8 * stream.word {
            return wrong("the bits of a stream do not fit");
        }
        let sets = matches!(stream.semantic, Semantic::Uv | Semantic::Colour);
        if !sets && stream.set != 0 {
            return wrong("a set of something that has no sets");
        }
        let seen = &mut seen[stream.semantic as usize][usize::from(stream.set)];
        if std::mem::replace(seen, true) {
            return wrong("two streams mean the same");
        }
        if stream.animated && mesh.method == Method::Static {
            return wrong("a static mesh with an animated stream");
        }
    }
    if mesh.method == Method::Fluid {
        return Ok(());
    }
    let locations = [
        (mesh.connectivity, kind::CONNECTIVITY),
        (mesh.values, kind::VALUES),
        (mesh.source_map, kind::SOURCE_MAP),
    ];
    for (location, kind) in locations {
        if location.size == 0 {
            continue;
        }
        let end = u64::from(location.offset) + u64::from(location.size);
        match chunks.get(location.chunk as usize) {
            Some(chunk) if chunk.kind == kind && end <= u64::from(chunk.raw_size) => {}
            _ => return wrong("a location beyond its chunk"),
        }
    }
    Ok(())
}

/// The frames of a mesh that does not move in all of them.
fn own_frames(
    path: &Path,
    mesh: &MeshRecord,
    order: &Order,
    windows: &mut Windows,
    chunks: &[ChunkEntry],
) -> Result<Option<Own>, Error> {
    let wrong = |what: &str| Err(Error::malformed(path, what, format!("mesh {}", mesh.path)));
    let Some([_, last]) = mesh.moves else {
        return Ok(None);
    };
    let Order::Layered { schedule, .. } = order else {
        return wrong("it stands still in a file without layers");
    };
    if last >= schedule.frames() || !mesh.method.deforms() {
        return wrong("it stands still in frames that there are not");
    }
    let own = Own::new(mesh, order, windows);
    let end = u64::from(mesh.ends.offset) + u64::from(mesh.ends.size);
    let inside = match chunks.get(mesh.ends.chunk as usize) {
        Some(chunk) => chunk.kind == kind::ENDS && end <= u64::from(chunk.raw_size),
        None => false,
    };
    if own.is_some() != (mesh.ends.size > 0) || own.is_some() && !inside {
        return wrong("the ends of its motion are not where they should be");
    }
    Ok(own)
}

/// Objects and vertices, refused where there are more than the limits allow.
fn check_counts(description: &Description, path: &Path, limits: &Limits) -> Result<(), Error> {
    let objects = description.nodes.len() as u64 + description.meshes.len() as u64;
    if objects > limits.max_objects {
        return Err(Error::limit(path, "nodes and meshes", objects, limits.max_objects));
    }
    let vertices: u64 = (description.meshes.iter()).map(|m| u64::from(m.vertices)).sum();
    if vertices > limits.max_vertices {
        return Err(Error::limit(path, "vertices of all meshes", vertices, limits.max_vertices));
    }
    Ok(())
}
