//! Open files and their contents.

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

/// An open file. Several threads can use it at once. Objects created from it remain valid after it is freed.
pub struct mr_reel(pub(crate) Reel);

/// Limits on the memory that a file may make the library allocate. `mr_limits_init` writes the defaults,
/// which fit every reasonable asset.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_limits {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The largest chunk in bytes, in the file and decompressed.
    pub max_chunk: u64,
    /// The largest number of frames of a file.
    pub max_frames: u64,
    /// The largest number of chunks of a file.
    pub max_chunks: u64,
    /// The largest number of vertices of all meshes together.
    pub max_vertices: u64,
    /// The largest number of nodes and meshes together.
    pub max_objects: u64,
    /// The most bytes that an open file may take, with its static data and one decoder.
    pub max_memory: u64,
    /// 0: animated normals, tangents, uvs and colours of meshes of fixed topology are neither decoded nor
    /// kept in memory.
    pub attributes: u32,
    /// 0: points moved by bones are not computed, for callers that do so on a graphics card. Positions,
    /// normals and tangents of such meshes then cannot be written.
    pub poses: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
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

    /// Reads the caller's limits; null stands for the defaults.
    ///
    /// # Safety
    /// Null, or limits that are as large as their `size` says.
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
/// `out` has room for `size` bytes; `size` is `sizeof(mr_limits)`.
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
/// `path` is UTF-8 and ends with a zero; `limits` is null or as large as its `size` says; `out` is valid for
/// one write.
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

/// Opens and checks the bytes of a file; the reel keeps a copy of them. Errors name the file `name`; if that
/// is null, "(memory)". `limits` may be null.
///
/// # Safety
/// `name` is null, or UTF-8 and ends with a zero; `data` has `bytes` bytes; `limits` is null or as large as
/// its `size` says; `out` is valid for one write.
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

/// Opens and checks a file that a source reads; the source needs the function `read`. Frames, clips and rigs
/// are read through it later. Errors name the file `name`; if that is null, "(memory)". `limits` may be null.
///
/// # Safety
/// `name` is null, or UTF-8 and ends with a zero; `source` is as large as its `size` says, and fulfils the
/// contract of `mr_source`; `limits` is null or as large as its `size` says; `out` is valid for one write.
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

/// Frees a reel. Null is allowed.
///
/// # Safety
/// `reel` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_reel_free(reel: *mut mr_reel) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(reel) })
}

/// # Safety
/// `reel` is null or a valid reel.
unsafe fn reel_of<'a>(reel: *const mr_reel) -> Result<&'a Reel, Error> {
    // SAFETY: the caller's promise.
    Ok(&unsafe { shared(reel, "the reel") }?.0)
}

/// Properties of a file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_reel_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The size of the file in bytes.
    pub file_bytes: u64,
    /// The compressed size of all frames in bytes.
    pub frame_bytes: u64,
    /// The memory in bytes that the file takes, with its static data and one decoder.
    pub memory: u64,
    /// Frames per second as the source states them; 0 if it states none.
    pub fps: f64,
    /// The period of a closed cycle in seconds; 0 if the file is not a cycle.
    pub period: f64,
    /// The time of the first frame in seconds.
    pub start: f64,
    /// The time of the last frame in seconds.
    pub end: f64,
    /// The number of frames; may be 0.
    pub frames: u32,
    /// The number of nodes; parents stand before their children.
    pub nodes: u32,
    /// The number of meshes.
    pub meshes: u32,
    /// The number of named ranges of frames.
    pub ranges: u32,
    /// The unit of length: 0 unknown, 1 m, 2 cm, 3 mm, 4 inch.
    pub unit: u32,
    /// 1 if frames are in temporal layers, so that every second one can be left out
    /// (`MR_COMMAND_KIND_FRAME_STEP`).
    pub layered: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_reel_info {}

/// Writes the properties of a file.
///
/// # Safety
/// `reel` is a valid reel; `out` is as large as its `size` says.
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

/// Writes the options that a file was compiled with, one `key = value` per line.
///
/// # Safety
/// `reel` is a valid reel; `out` is null or has room for `capacity` bytes; `length` is null or valid for one
/// write.
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

/// Writes the time of a frame in seconds.
///
/// # Safety
/// `reel` is a valid reel; `out` is valid for one write.
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

/// Writes the world bounds of everything shown in a frame: min xyz, max xyz, six numbers.
///
/// # Safety
/// `reel` is a valid reel; `out` has room for six numbers.
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

/// Writes a named range of frames, and its name.
///
/// # Safety
/// `reel` is a valid reel; `out` is null or valid for one write; `name` is null or has room for `capacity`
/// bytes; `length` is null or valid for one write.
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

/// The frames in which the mesh of a node is shown.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum mr_visibility {
    Always = 0,
    Never = 1,
    Animated = 2,
}

/// Properties of a node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_node_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The tolerance: the largest distance of any vertex from that of the source, in world units.
    pub tolerance: f64,
    /// The transform relative to the parent; if it is animated, that of the first frame.
    pub rest: mr_transform,
    /// The number of the parent, which is smaller than the node's own, or `MR_NONE`.
    pub parent: u32,
    /// The number of the mesh, or `MR_NONE`.
    pub mesh: u32,
    /// The frames in which the mesh is shown.
    pub visibility: mr_visibility,
    /// 1 if the transform is animated.
    pub animated: u32,
    /// 1 if the vertices of the mesh are in world space; the transform is then the identity.
    pub baked: u32,
    /// Above 0 for a locator, a node without a mesh that is kept for its transform. The tolerance then holds
    /// for all points of a cube around its origin that extends this far along each axis, in the node's space.
    pub reach: f32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers; it is never read.
unsafe impl Prefixed for mr_node_info {}

fn node_of(reel: &Reel, node: u32) -> Result<&NodeRecord, Error> {
    let nodes = &reel.description().nodes;
    check_number(node as usize, nodes.len(), "node")?;
    Ok(&nodes[node as usize])
}

/// Writes the properties of a node.
///
/// # Safety
/// `reel` is a valid reel; `out` is as large as its `size` says.
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

/// Writes the path of a node in the source.
///
/// # Safety
/// As for `mr_reel_options`.
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

/// The prediction of the positions of a mesh.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_method {
    /// Positions do not change.
    Static = 0,
    /// Any motion of fixed triangles.
    Soft = 1,
    /// Parts move rigidly.
    Rigid = 2,
    /// Points follow bones.
    Skinned = 3,
    /// Triangles change from frame to frame.
    Fluid = 4,
    /// No triangles, and each frame with its own points: particles, or the points of curves.
    Particles = 5,
}

/// The interpolation of curves between their points.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_curve_basis {
    /// There are no curves.
    None = 0,
    /// Linear.
    Linear = 1,
    /// Cubic, Bézier.
    Bezier = 2,
    /// Cubic, B-spline.
    BSpline = 3,
    /// Cubic, Catmull-Rom.
    CatmullRom = 4,
}

/// The ends of curves.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_curve_ends {
    /// Where the basis ends them.
    Open = 0,
    /// The last point is joined to the first.
    Closed = 1,
    /// At the first and last point.
    Pinned = 2,
}

/// Properties of a mesh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_mesh_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The prediction of the positions.
    pub method: mr_method,
    /// The number of vertices; if triangles change, the largest of all frames.
    pub vertices: u32,
    /// The number of indices, three per triangle; if triangles change, the largest of all frames.
    pub indices: u32,
    /// The number of points of the source mesh.
    pub source_points: u32,
    /// The number of materials; each is a range of the indices.
    pub materials: u32,
    /// The number of streams of values: positions, normals, uvs and so on.
    pub streams: u32,
    /// The number of LOD levels, including the mesh itself.
    pub lods: u32,
    /// Object bounds over all frames: min xyz, max xyz.
    pub bounds: [f32; 6],
    /// The mesh stands still up to the first of these frames, and from the second on.
    pub moves: [u32; 2],
    /// 1 if the mesh consists of particles with ids (`mr_frame_ids`).
    pub ids: u32,
    /// The interpolation of curves.
    pub curve_basis: mr_curve_basis,
    /// The ends of curves.
    pub curve_ends: mr_curve_ends,
    /// The largest number of curves in any frame (`mr_frame_curves`).
    pub curves: u32,
    /// 1 if the mesh consists of particles or curves: points without triangles, whatever its method.
    pub particles: u32,
}

// SAFETY: `repr(C)`, begins with its size; it is never read.
unsafe impl Prefixed for mr_mesh_info {}

fn mesh_of(reel: &Reel, mesh: u32) -> Result<&MeshRecord, Error> {
    let meshes = &reel.description().meshes;
    check_number(mesh as usize, meshes.len(), "mesh")?;
    Ok(&meshes[mesh as usize])
}

/// Writes the properties of a mesh. The first call for a reel reads the static data of all meshes.
///
/// # Safety
/// `reel` is a valid reel; `out` is as large as its `size` says.
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
            particles: u32::from(record.particles.is_some()),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// Writes the path of a mesh in the source.
///
/// # Safety
/// As for `mr_reel_options`.
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

/// Properties of a material.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_material_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The first number in its name; without one, its position in the list.
    pub id: u32,
    /// Its range of the indices. If the triangles of the mesh change, use `mr_frame_materials` instead.
    pub range: mr_range,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_material_info {}

/// Writes the properties of a material of a mesh, and its name. `name` and `length` may both be null.
///
/// # Safety
/// `reel` is a valid reel; `out` is as large as its `size` says; `name` is null or has room for `capacity`
/// bytes; `length` is null or valid for one write.
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

/// Properties of a stream: one kind of values of a mesh's vertices.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_stream_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The promised largest error: of positions in object units, of directions in degrees, of uvs and colours
    /// in their own units.
    pub tolerance: f64,
    /// An `mr_channel`; normals and tangents together are `MR_CHANNEL_TANGENT_FRAME`.
    pub channel: u32,
    /// The number of the set of uvs or colours.
    pub set: u32,
    /// 1 if the values change from frame to frame.
    pub animated: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_stream_info {}

/// Writes the properties of a stream of a mesh.
///
/// # Safety
/// `reel` is a valid reel; `out` is as large as its `size` says.
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

/// Writes the 64-bit XXH3 checksum of the data with seed 0, as used in `.reel` files: to compare what two
/// builds show.
///
/// # Safety
/// `data` has `bytes` bytes; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_checksum(data: *const c_void, bytes: usize, out: *mut u64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let data = unsafe { list(data.cast::<u8>(), bytes, "the bytes") }?;
        // SAFETY: as above.
        unsafe { write_out(out, format::checksum(data), "the place for the checksum") }
    })
}
