//! Opens and checks a file: everything that the description and the tables say is compared here, once, with
//! each other and with [`Limits`], before anything is allocated. Frames and values are checked as they are
//! read.

use crate::reel::chunk_content::read_chunk;
use crate::reel::end_states::{MotionWindow, WindowOrders};
use crate::reel::layout::{FrameContents, FrameLayout};
use crate::reel::limits::Limits;
use crate::reel::open_file::{Reel, ReelData};
use crate::reel::order::DecodeOrder;
use crate::reel::{chunk_limits, memory};
use crate::{Error, error};
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::record;
use meshreel_codec::record::ranges::FrameRange;
use meshreel_codec::record::{
    Coding, Description, DescriptionError, MeshRecord, Method, Semantic, StreamRecord, ranges,
};
use meshreel_format::{ChunkEntry, ReadAt, Reader, kind};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

impl Reel {
    /// Opens and checks the file at a path.
    pub fn open(path: impl AsRef<Path>, limits: &Limits) -> Result<Reel, Error> {
        let reader = Reader::open_path(path.as_ref(), &limits.format)?;
        Reel::from_reader(reader, limits)
    }

    /// Opens and checks bytes from another source.
    pub fn from_source(source: Arc<dyn ReadAt>, limits: &Limits) -> Result<Reel, Error> {
        let reader = Reader::open(source, &limits.format)?;
        Reel::from_reader(reader, limits)
    }

    /// Opens and checks bytes from another source; errors call it `name`.
    pub fn from_named_source(
        source: Arc<dyn ReadAt>,
        name: impl AsRef<Path>,
        limits: &Limits,
    ) -> Result<Reel, Error> {
        let reader = Reader::open_named(source, name.as_ref(), &limits.format)?;
        Reel::from_reader(reader, limits)
    }

    pub(crate) fn from_reader(reader: Reader, limits: &Limits) -> Result<Reel, Error> {
        let description = read_description(&reader, limits)?;
        check_counts(&description, reader.path(), limits)?;
        let (units, order) = find_units(&reader, description.restart, has_chains(&description))?;
        let apart = description.meshes.iter().any(|m| m.separate_attributes);
        if limits.attributes {
            check_attributes(&reader, &units, apart)?;
        }
        for mesh in &description.meshes {
            check_mesh(reader.path(), mesh, reader.chunks(), description.restart > 0)?;
        }
        chunk_limits::check_sizes(&description, &reader, &units, &order)?;
        let too_much = |asked| {
            let what = "bytes of memory to decode it";
            Error::limit(reader.path(), what, asked, limits.max_memory)
        };
        let range_bytes = memory::range_bytes(&reader);
        let own_bytes = memory::window_bytes(&description, units.len()).saturating_add(range_bytes);
        let held = memory::description_bytes(&description).saturating_add(own_bytes);
        if held > limits.max_memory {
            return Err(too_much(held));
        }
        let ranges = read_ranges(&reader)?;
        let mut own = Vec::with_capacity(description.meshes.len());
        let mut windows = HashMap::new();
        for mesh in &description.meshes {
            let chunks = reader.chunks();
            own.push(motion_window(reader.path(), mesh, &order, &mut windows, chunks)?);
        }
        let asked = FrameContents {
            attributes: limits.attributes,
            poses: limits.poses,
            points: limits.points,
            max_coded_bytes: max_coded_bytes(&reader, &units, &order),
            max_link_bytes: max_link_bytes(&reader, &units, &order),
        };
        let layout = FrameLayout::new(&description, asked)
            .map_err(|c| error::corrupt(reader.path(), c, "the description"))?;
        let has = |kind: u16| reader.chunks().iter().any(|c| c.kind == kind);
        let memory = memory::MemoryInputs {
            description: &description,
            reader: &reader,
            layout: &layout,
            order: &order,
            motion_windows: &own,
            window_and_range_bytes: own_bytes,
            limits,
            has_lods: has(kind::LOD),
            has_triangle_visibility: has(kind::VISIBILITY),
        };
        let (memory, expected) = (memory.bytes(), memory.expected_list_bytes());
        let asked = memory.saturating_add(expected);
        if asked > limits.max_memory {
            return Err(too_much(asked));
        }
        static OPENED: AtomicU64 = AtomicU64::new(0);
        Ok(Reel::new(ReelData {
            number: OPENED.fetch_add(1, Ordering::Relaxed),
            reader,
            layout,
            description,
            unit_chunks: units,
            order,
            motion_windows: own,
            ranges,
            memory,
            max_memory: limits.max_memory,
            counted_bytes: AtomicU64::new(expected),
            attributes: limits.attributes,
            poses: limits.poses,
            attributes_apart: apart,
            statics: Mutex::new(None),
            source_map_chunk: Mutex::new(None),
            grids: OnceLock::new(),
        }))
    }
}

/// Upper limit for the bytes per frame of any unit, on average over the unit's frames.
fn max_coded_bytes(reader: &Reader, units: &[u32], order: &DecodeOrder) -> usize {
    let size = |unit: usize| reader.chunks()[units[unit] as usize].raw_size as usize;
    let of_frame = (0..units.len()).map(|unit| size(unit).div_ceil(order.frames(unit).len().max(1)));
    of_frame.max().unwrap_or(0)
}

/// Returns the most bytes of any unit that can have links of a chain, which are kept with a frame.
fn max_link_bytes(reader: &Reader, units: &[u32], order: &DecodeOrder) -> usize {
    let size = |unit: usize| reader.chunks()[units[unit] as usize].raw_size as usize;
    let chained = (0..units.len()).filter(|&unit| order.has_links(unit));
    chained.map(size).max().unwrap_or(0)
}

fn has_chains(description: &Description) -> bool {
    description.meshes.iter().any(|mesh| mesh.chain_coding().is_some())
}

fn read_description(reader: &Reader, limits: &Limits) -> Result<Description, Error> {
    let path = reader.path();
    let mut found = (reader.chunks().iter().enumerate()).filter(|c| c.1.kind == kind::DESCRIPTION);
    let (Some((chunk, entry)), None) = (found.next(), found.next()) else {
        return Err(Error::malformed(path, "not exactly one description", "the chunk table"));
    };
    chunk_limits::check_ratio(path, chunk, entry)?;
    // In memory its values take several times its bytes, so it may fill only a part of the limit.
    let (asked, allowed) = (u64::from(entry.raw_size), limits.max_memory / 8);
    if asked > allowed {
        return Err(Error::limit(path, "bytes of the description", asked, allowed));
    }
    let bytes = read_chunk(reader, chunk, &mut Decompressor::new())?;
    record::decode(&bytes).map_err(|refused| match refused {
        DescriptionError::Corrupt(corrupt) => error::corrupt(path, corrupt, "the description"),
        DescriptionError::Unknown { what, id } => {
            Error::unsupported(path, format!("meshes of {what} {id} (use a newer meshreel)"))
        }
    })
}

/// Reads the named ranges, if there are any.
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
    ranges::decode(&bytes, frames).map_err(|c| error::corrupt(reader.path(), c, "the ranges of frames"))
}

/// Returns the chunks that are units, and the order in which these are decoded.
fn find_units(reader: &Reader, restart: u32, chains: bool) -> Result<(Vec<u32>, DecodeOrder), Error> {
    let is_unit = |c: &ChunkEntry| matches!(c.kind, kind::INDEPENDENT_UNIT | kind::DEPENDENT_UNIT);
    let chunks = (0..).zip(reader.chunks());
    let units: Vec<u32> = chunks.filter(|(_, c)| is_unit(c)).map(|(i, _)| i).collect();
    let index = |unit: usize| reader.chunks()[units[unit] as usize].kind == kind::INDEPENDENT_UNIT;
    let order = DecodeOrder::new(reader.frames().len(), units.len(), restart, index);
    order
        .map(|order| (units, order.with_chains(chains)))
        .map_err(|what| Error::malformed(reader.path(), what, "the tables"))
}

/// Checks that every unit has a chunk of vertex attributes behind it if some mesh stores its vertex
/// attributes apart, and that there are no other such chunks.
fn check_attributes(reader: &Reader, units: &[u32], apart: bool) -> Result<(), Error> {
    let is = |chunk: &ChunkEntry| chunk.kind == kind::VERTEX_ATTRIBUTES;
    let count = reader.chunks().iter().filter(|c| is(c)).count();
    let behind = |unit: &u32| reader.chunks().get(*unit as usize + 1).is_some_and(is);
    if count == if apart { units.len() } else { 0 } && (!apart || units.iter().all(behind)) {
        return Ok(());
    }
    let what = "attributes are not behind their units (without attributes it can be played)";
    Err(Error::malformed(reader.path(), what, "the chunk table"))
}

/// Checks a mesh's record against the chunk table and against itself.
fn check_mesh(path: &Path, mesh: &MeshRecord, chunks: &[ChunkEntry], layered: bool) -> Result<(), Error> {
    let wrong = |what: &str| Err(Error::malformed(path, what, format!("mesh {}", mesh.path)));
    if !mesh.indices.is_multiple_of(3) {
        return wrong("the indices make no whole triangles");
    }
    if mesh.streams.first().map(|s| s.semantic) != Some(Semantic::Position) {
        return wrong("positions are not its first stream");
    }
    if mesh.separate_attributes && !layered {
        return wrong("vertex attributes apart in a file without temporal layers");
    }
    let mut seen = [[false; 256]; Semantic::ALL.len()];
    for stream in &mesh.streams {
        let components = stream.semantic.components();
        let fixed_point = stream.coding.has_fixed_point();
        if stream.coding == Coding::Predicted {
            let still = |s: &StreamRecord| s.semantic == Semantic::Uv && s.set == 0 && !s.animated;
            let fixed_point = mesh.streams[0].coding.has_fixed_point();
            let uvs = stream.semantic == Semantic::Normal || mesh.streams.iter().any(still);
            let states = u64::from(stream.states) <= 3 * u64::from(mesh.vertices);
            let places = mesh.method.deforms() && layered && stream.word == 2;
            if !(fixed_point && uvs && states && places) {
                return wrong("normals that cannot be predicted");
            }
        }
        if fixed_point && !(mesh.method.deforms() && layered) {
            return wrong("fixed-point positions where there can be none");
        }
        let lattice = stream.semantic.has_axes() && !fixed_point;
        if !matches!(stream.word, 1 | 2 | 4) {
            return wrong("the numbers of a stream are not of 1, 2 or 4 bytes");
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
        if !stream.semantic.has_sets() && stream.set != 0 {
            return wrong("a stream that can have no sets has a set number");
        }
        let seen = &mut seen[stream.semantic as usize][usize::from(stream.set)];
        if std::mem::replace(seen, true) {
            return wrong("two streams have the same semantic and set");
        }
        if stream.animated && mesh.method == Method::Static {
            return wrong("a static mesh with an animated stream");
        }
        if stream.semantic.is_changing() && !mesh.method.changes() && mesh.particles.is_none() {
            return wrong("a stream that only meshes whose vertices come with each frame have");
        }
    }
    if let Some(particles) = mesh.particles {
        if has_surface(mesh) {
            return wrong("particles with triangles, or normals of some");
        }
        let listed = particles.ids || particles.curves.is_some();
        if listed && !mesh.method.changes() && mesh.vertices > 0 && mesh.connectivity.size == 0 {
            return wrong("particles without their ids or curves");
        }
    }
    if mesh.chain_coding().is_some() && !(mesh.method == Method::Particles && layered) {
        return wrong("a chain in a file without temporal layers");
    }
    if mesh.method.changes() {
        return Ok(());
    }
    check_locations(mesh, chunks).or_else(wrong)
}

/// Checks that the locations of static data are within chunks of the right kind.
fn check_locations(mesh: &MeshRecord, chunks: &[ChunkEntry]) -> Result<(), &'static str> {
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
            _ => return Err("a location beyond its chunk"),
        }
    }
    Ok(())
}

/// `true` if a mesh has a property that only triangles have.
fn has_surface(mesh: &MeshRecord) -> bool {
    let shaded = |s: &StreamRecord| matches!(s.semantic, Semantic::Normal | Semantic::QTangent);
    let points = mesh.points > 0 && mesh.method.changes();
    mesh.indices > 0 || points || mesh.streams.iter().any(shaded)
}

/// Returns the frames in which a mesh moves; `None` if it is decoded in all of them.
fn motion_window(
    path: &Path,
    mesh: &MeshRecord,
    order: &DecodeOrder,
    windows: &mut WindowOrders,
    chunks: &[ChunkEntry],
) -> Result<Option<MotionWindow>, Error> {
    let wrong = |what: &str| Err(Error::malformed(path, what, format!("mesh {}", mesh.path)));
    let Some([_, last]) = mesh.moving_frames else {
        return Ok(None);
    };
    let DecodeOrder::Layered { schedule, .. } = order else {
        return wrong("it has end states in a file without temporal layers");
    };
    if last >= schedule.frames() || !mesh.method.deforms() {
        return wrong("it has end states in frames that the file has not");
    }
    let own = MotionWindow::new(mesh, order, windows);
    let end = u64::from(mesh.end_states.offset) + u64::from(mesh.end_states.size);
    let inside = match chunks.get(mesh.end_states.chunk as usize) {
        Some(chunk) => chunk.kind == kind::END_STATES && end <= u64::from(chunk.raw_size),
        None => false,
    };
    if own.is_some() != (mesh.end_states.size > 0) || own.is_some() && !inside {
        return wrong("the ends of its motion are not where they should be");
    }
    Ok(own)
}

/// Checks the numbers of objects and vertices against the limits.
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
