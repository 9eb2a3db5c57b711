//! Open files, and what is in them.

use crate::pointers::{check_number, fill_text, free, list, make, name_of_bytes, shared, text, write_out};
use crate::prefixed::{self, Prefixed};
use crate::source::{Callbacks, mr_source};
use crate::status::{guard, mr_status};
use crate::types::{mr_range, mr_transform, or_none};
use crate::vertex::channel_of;
use meshreel::raw::format;
use meshreel::raw::record::{MeshRecord, NodeRecord, Visibility};
use meshreel::{Error, Limits, Reel};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// An open file. Several threads can use it at once; what is made of it lives on without it.
pub struct mr_reel(pub(crate) Reel);

/// What a file may make the library allocate. `mr_limits_init` writes the defaults, which any sane asset
/// keeps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_limits {
    /// Bytes of this structure.
    pub size: usize,
    /// Bytes of one chunk, in the file and decompressed.
    pub max_chunk: u64,
    /// Frames of a file.
    pub max_frames: u64,
    /// Chunks of a file.
    pub max_chunks: u64,
    /// Vertices of all meshes together.
    pub max_vertices: u64,
    /// Nodes and meshes together.
    pub max_objects: u64,
    /// Bytes that an open file may take with its static data and one decoder.
    pub max_memory: u64,
    /// 0: animated normals, tangents, uvs and colours of meshes of fixed topology are neither decoded nor
    /// held.
    pub attributes: u32,
    /// 0: points that bones move are not put where they are, for those who do that on a graphics card:
    /// positions, normals and tangents of such meshes cannot be written.
    pub poses: u32,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_limits {}

impl mr_limits {
    pub(crate) fn new(of: &Limits) -> mr_limits {
        mr_limits {
            size: size_of::<mr_limits>(),
            max_chunk: of.format.max_chunk,
            max_frames: of.format.max_frames,
            max_chunks: of.format.max_chunks,
            max_vertices: of.max_vertices,
            max_objects: of.max_objects,
            max_memory: of.max_memory,
            attributes: u32::from(of.attributes),
            poses: u32::from(of.poses),
        }
    }

    /// The caller's limits; null: the defaults.
    ///
    /// # Safety
    /// Null, or limits that have the size that they say.
    pub(crate) unsafe fn read(limits: *const mr_limits) -> Result<Limits, Error> {
        let default = Limits::default();
        // SAFETY: the caller's promise.
        let own = unsafe { prefixed::read(limits, mr_limits::new(&default), "the limits") }?;
        let format = (default.format.clone())
            .with_max_chunk(own.max_chunk)
            .with_max_frames(own.max_frames)
            .with_max_chunks(own.max_chunks);
        Ok(default
            .with_format(format)
            .with_max_vertices(own.max_vertices)
            .with_max_objects(own.max_objects)
            .with_max_memory(own.max_memory)
            .with_attributes(own.attributes != 0)
            .with_poses(own.poses != 0))
    }
}

/// Writes the default limits.
///
/// # Safety
/// `out` has `size` bytes, which is its sizeof.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_limits_init(out: *mut mr_limits, size: usize) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { prefixed::init(out, size, mr_limits::new(&Limits::default()), "the limits") }
    })
}

/// Opens and checks a file. `limits` may be null.
///
/// # Safety
/// `path` is UTF-8 and ends with a zero; `limits` is null or has the size that it says; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_open(
    path: *const c_char,
    limits: *const mr_limits,
    out: *mut *mut mr_reel,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (path, limits) = unsafe { (text(path, "the path")?, mr_limits::read(limits)?) };
        // SAFETY: as above.
        unsafe { make(out, || Reel::open(path, &limits).map(mr_reel)) }
    })
}

/// Opens and checks the bytes of a file, of which it keeps a copy. Errors name them `name`; null: "(memory)".
/// `limits` may be null.
///
/// # Safety
/// `name` is null, or UTF-8 and ends with a zero; `data` has `bytes` bytes; `limits` is null or has the size
/// that it says; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_open_memory(
    name: *const c_char,
    data: *const c_void,
    bytes: usize,
    limits: *const mr_limits,
    out: *mut *mut mr_reel,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let data = unsafe { list(data.cast::<u8>(), bytes, "the bytes of the file") }?;
        // SAFETY: as above.
        let (name, limits) = unsafe { (name_of_bytes(name)?, mr_limits::read(limits)?) };
        let open = || Reel::from_named_source(Arc::new(data.to_vec()), name, &limits).map(mr_reel);
        // SAFETY: as above.
        unsafe { make(out, open) }
    })
}

/// Opens and checks what a source reads, which needs its function `read`. Frames, clips and rigs are read
/// through it later. Errors name it `name`; null: "(memory)". `limits` may be null.
///
/// # Safety
/// `name` is null, or UTF-8 and ends with a zero; `source` has the size that it says, and keeps what it
/// promises; `limits` is null or has the size that it says; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_open_source(
    name: *const c_char,
    source: *const mr_source,
    limits: *const mr_limits,
    out: *mut *mut mr_reel,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let source = unsafe { Callbacks::read(source) }?;
        if !source.has_read() {
            return Err(Error::misuse("the source of a reel needs its function `read`"));
        }
        // SAFETY: as above.
        let (name, limits) = unsafe { (name_of_bytes(name)?, mr_limits::read(limits)?) };
        // SAFETY: as above.
        unsafe { make(out, || Reel::from_named_source(Arc::new(source), name, &limits).map(mr_reel)) }
    })
}

/// Frees a reel. Null is nothing.
///
/// # Safety
/// `reel` is null, or was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_free(reel: *mut mr_reel) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(reel) })
}

/// # Safety
/// `reel` is null or a reel.
unsafe fn reel_of<'a>(reel: *const mr_reel) -> Result<&'a Reel, Error> {
    // SAFETY: the caller's promise.
    Ok(&unsafe { shared(reel, "the reel") }?.0)
}

/// A file as a whole.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_reel_info {
    /// Bytes of this structure.
    pub size: usize,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Compressed bytes of all frames.
    pub frame_bytes: u64,
    /// Bytes of memory that it takes with its static data and one decoder.
    pub memory: u64,
    /// Frames per second that the source names; 0: none.
    pub fps: f64,
    /// Period of a closed cycle in seconds; 0: it is none.
    pub period: f64,
    /// Time of the first frame in seconds.
    pub start: f64,
    /// Time of the last frame in seconds.
    pub end: f64,
    /// Number of frames; can be 0.
    pub frames: u32,
    /// Number of nodes; parents stand before children.
    pub nodes: u32,
    /// Number of meshes.
    pub meshes: u32,
    /// Named ranges of frames.
    pub ranges: u32,
    /// Unit of lengths: 0 unknown, 1 m, 2 cm, 3 mm, 4 inch.
    pub unit: u32,
    /// 1: frames lie in layers, so that every second one can be left out (`MR_COMMAND_KIND_HALF_RATE`).
    pub layered: u32,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_reel_info {}

/// What is in a file.
///
/// # Safety
/// `reel` is a reel; `out` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_get(reel: *const mr_reel, out: *mut mr_reel_info) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let reel = unsafe { reel_of(reel) }?;
        let description = reel.description();
        let time = |frame: Option<&format::FrameEntry>| frame.map_or(0.0, |frame| frame.time);
        let info = mr_reel_info {
            size: 0,
            file_bytes: reel.file_bytes(),
            frame_bytes: reel.frame_bytes(),
            memory: reel.memory(),
            fps: description.fps,
            period: description.period,
            start: time(reel.frames().first()),
            end: time(reel.frames().last()),
            frames: reel.frame_count() as u32,
            nodes: description.nodes.len() as u32,
            meshes: description.meshes.len() as u32,
            ranges: reel.ranges().len() as u32,
            unit: u32::from(description.unit),
            layered: u32::from(reel.is_layered()),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// The options that a file was compiled with, one `key = value` per line.
///
/// # Safety
/// `reel` is a reel; `out` is null or has room for `capacity` bytes; `length` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_options(
    reel: *const mr_reel,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill_text(&reel_of(reel)?.description().options, out, capacity, length) })
}

/// Seconds of a frame.
///
/// # Safety
/// `reel` is a reel; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_time(reel: *const mr_reel, frame: u32, out: *mut f64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let reel = unsafe { reel_of(reel) }?;
        check_number(frame as usize, reel.frame_count(), "frame")?;
        // SAFETY: as above.
        unsafe { write_out(out, reel.time(frame as usize), "the place for the time") }
    })
}

/// World bounds of what is shown in a frame: min xyz, max xyz, six numbers.
///
/// # Safety
/// `reel` is a reel; `out` has room for six numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_bounds(reel: *const mr_reel, frame: u32, out: *mut f32) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let reel = unsafe { reel_of(reel) }?;
        check_number(frame as usize, reel.frame_count(), "frame")?;
        // SAFETY: as above.
        unsafe { write_out(out.cast::<[f32; 6]>(), reel.frame_bounds(frame as usize), "the bounds") }
    })
}

/// A named range of frames, and its name.
///
/// # Safety
/// `reel` is a reel; `out` is null or a place; `name` is null or has room for `capacity` bytes; `length` is
/// null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_range(
    reel: *const mr_reel,
    range: u32,
    out: *mut mr_range,
    name: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let ranges = unsafe { reel_of(reel) }?.ranges();
        check_number(range as usize, ranges.len(), "range")?;
        let found = &ranges[range as usize];
        if !out.is_null() {
            let own = mr_range { first: found.first, count: found.frames };
            // SAFETY: as above.
            unsafe { write_out(out, own, "the range") }?;
        }
        if name.is_null() && length.is_null() {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { fill_text(&found.name, name, capacity, length) }
    })
}

/// When the mesh of a node is shown.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum mr_visibility {
    Always = 0,
    Never = 1,
    Animated = 2,
}

/// A node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_node_info {
    /// Bytes of this structure.
    pub size: usize,
    /// Promised: the largest distance of any vertex from the source's, in world units.
    pub tolerance: f64,
    /// Its transform where it does not move, else that of the first frame.
    pub rest: mr_transform,
    /// Number of its parent, which is smaller than its own, or `MR_NONE`.
    pub parent: u32,
    /// Number of its mesh, or `MR_NONE`.
    pub mesh: u32,
    /// When its mesh is shown.
    pub visibility: mr_visibility,
    /// 1: it has a transform of its own in each frame.
    pub animated: u32,
    /// 1: the vertices of its mesh are in world space, and its transform is the identity.
    pub baked: u32,
    /// Above 0: a locator, which shows no mesh and is there for its own sake.
    pub reach: f32,
}

// SAFETY: `repr(C)`, a size first, numbers only; it is never read.
unsafe impl Prefixed for mr_node_info {}

fn node_of(reel: &Reel, node: u32) -> Result<&NodeRecord, Error> {
    let nodes = &reel.description().nodes;
    check_number(node as usize, nodes.len(), "node")?;
    Ok(&nodes[node as usize])
}

/// A node of a file.
///
/// # Safety
/// `reel` is a reel; `out` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_node(reel: *const mr_reel, node: u32, out: *mut mr_node_info) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let record = node_of(unsafe { reel_of(reel) }?, node)?;
        let info = mr_node_info {
            size: 0,
            tolerance: record.tolerance,
            rest: record.rest.into(),
            parent: or_none(record.parent),
            mesh: or_none(record.mesh),
            visibility: match record.visibility {
                Visibility::Always => mr_visibility::Always,
                Visibility::Never => mr_visibility::Never,
                Visibility::Animated => mr_visibility::Animated,
            },
            animated: u32::from(record.animated),
            baked: u32::from(record.baked),
            reach: record.reach,
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// The path of a node in the source.
///
/// # Safety
/// As of `mr_reel_options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_node_path(
    reel: *const mr_reel,
    node: u32,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill_text(&node_of(reel_of(reel)?, node)?.path, out, capacity, length) })
}

/// How the positions of a mesh are predicted.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_method {
    /// They do not change.
    Static = 0,
    /// Any motion of fixed triangles.
    Soft = 1,
    /// Parts move as they are.
    Rigid = 2,
    /// Points follow bones.
    Skinned = 3,
    /// Triangles change from frame to frame.
    Fluid = 4,
    /// No triangles: particles, or the points of curves.
    Particles = 5,
}

/// How curves run between their points.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_curve_basis {
    /// There are no curves.
    None = 0,
    /// By lines.
    Linear = 1,
    /// Cubic, Bézier.
    Bezier = 2,
    /// Cubic, B-splines.
    BSpline = 3,
    /// Cubic, Catmull-Rom.
    CatmullRom = 4,
}

/// How curves end.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_curve_ends {
    /// Where their basis has them end.
    Open = 0,
    /// The last point is next to the first.
    Closed = 1,
    /// At their first and last point.
    Pinned = 2,
}

/// A mesh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_mesh_info {
    /// Bytes of this structure.
    pub size: usize,
    /// How its positions are predicted.
    pub method: mr_method,
    /// Vertices; the most of any frame where triangles change.
    pub vertices: u32,
    /// Indices, three per triangle; the most of any frame where triangles change.
    pub indices: u32,
    /// Points of the source mesh.
    pub source_points: u32,
    /// Materials, each a range of the indices.
    pub materials: u32,
    /// Streams of values: positions, normals, uvs and so on.
    pub streams: u32,
    /// Levels of detail, the mesh itself being one.
    pub lods: u32,
    /// Object bounds over all frames: min xyz, max xyz.
    pub bounds: [f32; 6],
    /// Up to the first of these frames it stands still, as it does from the second on.
    pub moves: [u32; 2],
    /// 1: particles that are known by ids (`mr_frame_ids`).
    pub ids: u32,
    /// How curves run.
    pub curve_basis: mr_curve_basis,
    /// How curves end.
    pub curve_ends: mr_curve_ends,
    /// The most curves of any frame (`mr_frame_curves`).
    pub curves: u32,
}

// SAFETY: `repr(C)`, a size first; it is never read.
unsafe impl Prefixed for mr_mesh_info {}

fn mesh_of(reel: &Reel, mesh: u32) -> Result<&MeshRecord, Error> {
    let meshes = &reel.description().meshes;
    check_number(mesh as usize, meshes.len(), "mesh")?;
    Ok(&meshes[mesh as usize])
}

/// A mesh of a file. The first time it is asked for, the static data of all meshes is read.
///
/// # Safety
/// `reel` is a reel; `out` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_mesh(reel: *const mr_reel, mesh: u32, out: *mut mr_mesh_info) -> mr_status {
    use meshreel::raw::record::{CurveBasis, CurveEnds, Method};
    guard(|| {
        // SAFETY: the caller's promise.
        let reel = unsafe { reel_of(reel) }?;
        let record = mesh_of(reel, mesh)?;
        let curves = record.particles.and_then(|particles| particles.curves);
        let info = mr_mesh_info {
            size: 0,
            method: match record.method {
                Method::Static => mr_method::Static,
                Method::Soft => mr_method::Soft,
                Method::Rigid => mr_method::Rigid,
                Method::Skinned => mr_method::Skinned,
                Method::Fluid => mr_method::Fluid,
                Method::Particles => mr_method::Particles,
            },
            vertices: record.vertices,
            indices: record.indices,
            source_points: record.source_points,
            materials: record.materials.len() as u32,
            streams: record.streams.len() as u32,
            lods: reel.lod_count(mesh as usize)? as u32,
            bounds: record.bounds,
            moves: reel.motion_frames(mesh as usize),
            ids: u32::from(record.particles.is_some_and(|particles| particles.ids)),
            curve_basis: match curves.map(|curves| curves.basis) {
                None => mr_curve_basis::None,
                Some(CurveBasis::Linear) => mr_curve_basis::Linear,
                Some(CurveBasis::Bezier) => mr_curve_basis::Bezier,
                Some(CurveBasis::BSpline) => mr_curve_basis::BSpline,
                Some(CurveBasis::CatmullRom) => mr_curve_basis::CatmullRom,
            },
            curve_ends: match curves.map(|curves| curves.curve_ends) {
                None | Some(CurveEnds::Open) => mr_curve_ends::Open,
                Some(CurveEnds::Closed) => mr_curve_ends::Closed,
                Some(CurveEnds::Pinned) => mr_curve_ends::Pinned,
            },
            curves: curves.map_or(0, |curves| curves.max_curves),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// The path of a mesh in the source.
///
/// # Safety
/// As of `mr_reel_options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_mesh_path(
    reel: *const mr_reel,
    mesh: u32,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill_text(&mesh_of(reel_of(reel)?, mesh)?.path, out, capacity, length) })
}

/// A material of a mesh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_material_info {
    /// Bytes of this structure.
    pub size: usize,
    /// The first number in its name, else its order.
    pub id: u32,
    /// Its indices; of a mesh whose triangles change `mr_frame_materials` has them.
    pub range: mr_range,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_material_info {}

/// A material of a mesh, and its name. `name` and `length` may both be null.
///
/// # Safety
/// `reel` is a reel; `out` has the size that it says; `name` is null or has room for `capacity` bytes;
/// `length` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_material(
    reel: *const mr_reel,
    mesh: u32,
    material: u32,
    out: *mut mr_material_info,
    name: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let materials = &mesh_of(unsafe { reel_of(reel) }?, mesh)?.materials;
        check_number(material as usize, materials.len(), "material")?;
        let found = &materials[material as usize];
        let range = mr_range { first: found.first, count: found.count };
        // SAFETY: as above.
        unsafe {
            prefixed::write(out, mr_material_info { size: 0, id: found.id, range }, "the information")
        }?;
        if name.is_null() && length.is_null() {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { fill_text(&found.name, name, capacity, length) }
    })
}

/// A stream of values of a mesh's vertices.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_stream_info {
    /// Bytes of this structure.
    pub size: usize,
    /// Promised error: positions in object units, directions in degrees, uvs and colours in their own.
    pub tolerance: f64,
    /// An `mr_channel`; normals and tangents together are `MR_CHANNEL_TANGENT_FRAME`.
    pub channel: u32,
    /// Number of the set of uvs or colours.
    pub set: u32,
    /// 1: it changes from frame to frame.
    pub animated: u32,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_stream_info {}

/// A stream of a mesh.
///
/// # Safety
/// `reel` is a reel; `out` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_stream(
    reel: *const mr_reel,
    mesh: u32,
    stream: u32,
    out: *mut mr_stream_info,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let streams = &mesh_of(unsafe { reel_of(reel) }?, mesh)?.streams;
        check_number(stream as usize, streams.len(), "stream")?;
        let found = &streams[stream as usize];
        let info = mr_stream_info {
            size: 0,
            tolerance: found.tolerance,
            channel: channel_of(found.semantic) as u32,
            set: u32::from(found.set),
            animated: u32::from(found.animated),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// The checksum that `.reel` files have: XXH3 of 64 bits with seed 0, to compare what is shown with what
/// another build shows.
///
/// # Safety
/// `data` has `bytes` bytes; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_checksum(data: *const c_void, bytes: usize, out: *mut u64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let data = unsafe { list(data.cast::<u8>(), bytes, "the bytes") }?;
        // SAFETY: as above.
        unsafe { write_out(out, format::checksum(data), "the place for the checksum") }
    })
}
