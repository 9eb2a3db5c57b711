//! What is shown at a moment: nodes and meshes of a frame, or between two, written where the caller wants
//! them.

use crate::pointers::{buffer, check_disjoint, check_number, fill, fill_with, free, shared, write_out};
use crate::prefixed::{self, Prefixed};
use crate::status::{guard, mr_status};
use crate::types::{MR_NONE, mr_range, mr_transform, or_none};
use crate::vertex::{Attributes, channel, floats, mr_vertex_layout};
use meshreel::raw::record::Semantic;
use meshreel::view::Lod;
use meshreel::{Error, FrameDecoder, FrameView, MeshFrame, MeshView, Pace, Reel, ShownFrames};
use std::ffi::c_void;
use std::ptr::NonNull;

/// What is shown at a moment. One of a player is the caller's own, can be kept over ticks, sent to other
/// threads and used by several at once, and holds its memory until `mr_frame_free`; one of a decoder is lent
/// by it.
pub struct mr_frame(pub(crate) FrameContent);

pub(crate) enum FrameContent {
    Shown(ShownFrames),
    Decoder(NonNull<FrameDecoder>),
}

impl mr_frame {
    pub(crate) fn reel(&self) -> &Reel {
        match &self.0 {
            FrameContent::Shown(shown) => shown.reel(),
            // SAFETY: the decoder lives as long as its frame, and does not decode while it is looked at.
            FrameContent::Decoder(decoder) => unsafe { decoder.as_ref() }.reel(),
        }
    }

    pub(crate) fn view(&self) -> Result<FrameView<'_>, Error> {
        match &self.0 {
            FrameContent::Shown(shown) => Ok(shown.view()),
            FrameContent::Decoder(decoder) => {
                // SAFETY: as above.
                let decoder = unsafe { decoder.as_ref() };
                if decoder.frame().is_none() {
                    return Err(Error::misuse("the decoder shows nothing: decode a frame first"));
                }
                FrameView::between(decoder, decoder, 0.0, Pace::default())
            }
        }
    }

    /// A mesh in the first or the second of the frames. Panics where there is no such mesh.
    pub(crate) fn mesh_view(&self, second: bool, mesh: usize) -> MeshView<'_> {
        match &self.0 {
            FrameContent::Shown(shown) if second => shown.second().mesh(mesh),
            FrameContent::Shown(shown) => shown.first().mesh(mesh),
            // SAFETY: as above.
            FrameContent::Decoder(decoder) => unsafe { decoder.as_ref() }.mesh(mesh),
        }
    }

    fn mesh(&self, node: u32) -> Result<MeshFrame<'_>, Error> {
        let view = self.view()?;
        check_number(node as usize, self.reel().description().nodes.len(), "node")?;
        view.mesh(node as usize).ok_or_else(|| Error::misuse(format!("node {node} has no mesh")))
    }
}

/// # Safety
/// `frame` is null or a frame.
pub(crate) unsafe fn frame_of<'a>(frame: *const mr_frame) -> Result<&'a mr_frame, Error> {
    // SAFETY: the caller's promise.
    unsafe { shared(frame, "the frame") }
}

/// # Safety
/// As of [`frame_of`].
unsafe fn mesh_of<'a>(frame: *const mr_frame, node: u32) -> Result<MeshFrame<'a>, Error> {
    // SAFETY: the caller's promise.
    unsafe { frame_of(frame) }?.mesh(node)
}

/// Frees a frame of a player. Null is nothing; one of a decoder is misuse.
///
/// # Safety
/// `frame` is null, or was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_free(frame: *mut mr_frame) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let lent = !frame.is_null() && matches!(unsafe { frame_of(frame) }?.0, FrameContent::Decoder(_));
        if lent {
            return Err(Error::misuse("the frame of a decoder goes with its decoder"));
        }
        // SAFETY: as above.
        unsafe { free(frame) }
    })
}

/// A moment of a file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_frame_info {
    /// Bytes of this structure.
    pub size: usize,
    /// The file, of a player's frame: with the number of a frame the key of what was made of it. Else 0.
    pub file: u64,
    /// Frame at blend 0.
    pub first: u32,
    /// Frame at blend 1.
    pub second: u32,
    /// How far from the first to the second, 0 to below 1.
    pub blend: f32,
    /// 1: this is not what should be shown, which is not there yet, but what was shown last.
    pub late: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// World bounds of all that is shown: min xyz, max xyz; min above max where that is nothing.
    pub bounds: [f32; 6],
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_frame_info {}

/// Which moment a frame is.
///
/// # Safety
/// `frame` is a frame; `out` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_get(frame: *const mr_frame, out: *mut mr_frame_info) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let frame = unsafe { frame_of(frame) }?;
        let view = frame.view()?;
        let (file, late) = match &frame.0 {
            FrameContent::Shown(shown) => (shown.file().to_bits(), shown.is_late()),
            FrameContent::Decoder(_) => (0, false),
        };
        let pair = view.pair();
        let info = mr_frame_info {
            size: 0,
            file,
            first: pair.first,
            second: pair.second,
            blend: pair.blend,
            late: u32::from(late),
            nodes: frame.reel().description().nodes.len() as u32,
            bounds: view.bounds(),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// Object to world of all nodes: twelve numbers each, three rows of four. `nodes` must be their number.
///
/// # Safety
/// `frame` is a frame; `out` has room for twelve numbers for each node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_worlds(frame: *const mr_frame, out: *mut f64, nodes: usize) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let frame = unsafe { frame_of(frame) }?;
        let (view, own) = (frame.view()?, frame.reel().description().nodes.len());
        if nodes != own {
            return Err(Error::misuse(format!("the file has {own} nodes, the buffer is for {nodes}")));
        }
        // SAFETY: as above.
        let out = unsafe { buffer(out.cast::<[[f64; 4]; 3]>(), nodes, "the buffer for matrices") }?;
        view.worlds_into(out)
    })
}

/// Object to world of a node: twelve numbers, three rows of four.
///
/// # Safety
/// `frame` is a frame; `out` has room for twelve numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_world(frame: *const mr_frame, node: u32, out: *mut f64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let frame = unsafe { frame_of(frame) }?;
        check_number(node as usize, frame.reel().description().nodes.len(), "node")?;
        let world = frame.view()?.world(node as usize);
        // SAFETY: as above.
        unsafe { write_out(out.cast::<[[f64; 4]; 3]>(), world, "the matrix") }
    })
}

/// What the world of a node changes by in a second: twelve numbers, three rows of four; the last column is
/// the velocity of its origin.
///
/// # Safety
/// As of `mr_frame_world`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_world_velocity(
    frame: *const mr_frame,
    node: u32,
    out: *mut f64,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let frame = unsafe { frame_of(frame) }?;
        check_number(node as usize, frame.reel().description().nodes.len(), "node")?;
        let velocity = frame.view()?.world_velocity(node as usize);
        // SAFETY: as above.
        unsafe { write_out(out.cast::<[[f64; 4]; 3]>(), velocity, "the matrix") }
    })
}

/// Transforms of all nodes relative to their parents.
///
/// # Safety
/// `frame` is a frame; `out` is null or has room for `capacity` transforms; `count` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_transforms(
    frame: *const mr_frame,
    out: *mut mr_transform,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let frame = unsafe { frame_of(frame) }?;
        let (view, nodes) = (frame.view()?, frame.reel().description().nodes.len());
        // SAFETY: as above.
        unsafe { fill_with(nodes, out, capacity, count, |node| view.local(node).into()) }
    })
}

/// Of each node 1 where its own mesh is shown, else 0.
///
/// # Safety
/// `frame` is a frame; `out` is null or has room for `capacity` bytes; `count` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_visible(
    frame: *const mr_frame,
    out: *mut u8,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let frame = unsafe { frame_of(frame) }?;
        let (view, nodes) = (frame.view()?, frame.reel().description().nodes.len());
        // SAFETY: as above.
        unsafe { fill_with(nodes, out, capacity, count, |node| u8::from(view.visible(node))) }
    })
}

/// The mesh of a node at a moment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_mesh_state {
    /// Bytes of this structure.
    pub size: usize,
    /// Its number in the file.
    pub mesh: u32,
    /// Vertices at this moment.
    pub vertices: u32,
    /// Indices at this moment, three per triangle.
    pub indices: u32,
    /// Materials, each a range of the indices.
    pub materials: u32,
    /// Levels of detail, the mesh itself being one.
    pub lods: u32,
    /// 1: triangles and number of vertices change with the frames.
    pub fluid: u32,
    /// The frames that it is between; the first twice where that is all that is shown.
    pub frames: [u32; 2],
    /// How far from the first to the second.
    pub blend: f32,
    /// 1: it has normals that change; 2: normals that do not; 0: none. The same of tangents, uvs and colours
    /// of set 0.
    pub normals: u32,
    /// As of normals.
    pub tangents: u32,
    /// As of normals.
    pub uvs: u32,
    /// As of normals.
    pub colours: u32,
    /// 1: positions change.
    pub moves: u32,
    /// Object bounds over all frames, in which positions of `MR_FORMAT_U16X4` are measured: min xyz, max xyz.
    pub bounds: [f32; 6],
    /// Smallest u and v of set 0 and the sizes of their ranges, in which uvs of `MR_FORMAT_U16X2` are
    /// measured; zeros where there is none.
    pub uv_range: [f32; 4],
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_mesh_state {}

/// What the mesh of a node is at a moment. Misuse of a node without a mesh.
///
/// # Safety
/// `frame` is a frame; `out` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_mesh(
    frame: *const mr_frame,
    node: u32,
    out: *mut mr_mesh_state,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mesh = unsafe { mesh_of(frame, node) }?;
        // SAFETY: as above.
        let first = unsafe { frame_of(frame) }?.mesh_view(false, mesh.number());
        let kind = |semantic: Semantic| match first.find_stream(semantic, 0) {
            None => 0,
            Some(_) if mesh.is_animated(semantic, 0) => 1,
            Some(_) => 2,
        };
        let tangents = kind(Semantic::QTangent);
        let info = mr_mesh_state {
            size: 0,
            mesh: mesh.number() as u32,
            vertices: mesh.vertex_count() as u32,
            indices: mesh.indices().len() as u32,
            materials: mesh.materials().len() as u32,
            lods: mesh.lod_count() as u32,
            fluid: u32::from(mesh.is_fluid()),
            frames: mesh.frames(),
            blend: mesh.blend(),
            normals: if tangents > 0 { tangents } else { kind(Semantic::Normal) },
            tangents,
            uvs: kind(Semantic::Uv),
            colours: kind(Semantic::Colour),
            moves: u32::from(mesh.is_animated(Semantic::Position, 0)),
            bounds: mesh.bounds(),
            uv_range: mesh.uv_range(0).unwrap_or_default(),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// Writes a range of the vertices of a node's mesh in the caller's layout, the first of the range at `out`.
/// `bytes` must be `count` times the stride. Bytes that no attribute covers stay what they are.
///
/// # Safety
/// `frame` is a frame; `layout` and its attributes are there; `out` has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_write(
    frame: *const mr_frame,
    node: u32,
    layout: *const mr_vertex_layout,
    first: u32,
    count: u32,
    out: *mut c_void,
    bytes: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mesh, layout) = unsafe { (mesh_of(frame, node)?, Attributes::read(layout)?) };
        let first = first as usize;
        let vertices = first..first.saturating_add(count as usize);
        // SAFETY: as above.
        let out = unsafe { buffer(out.cast::<u8>(), bytes, "the buffer for vertices") }?;
        mesh.write(layout.list(), layout.stride, vertices, out)
    })
}

/// Writes a value of all vertices of a node's mesh as floats: three of positions, normals and velocities,
/// four of tangents and colours, two of uvs, one of widths, 1 to 4 of attached numbers. `count` must be the
/// vertices times that. Where all of a value is wanted, this is the fastest way. `channel` is an
/// `mr_channel`, `set` the number of the set of uvs, colours or attached numbers, else 0.
///
/// # Safety
/// `frame` is a frame; `out` has room for `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_floats(
    frame: *const mr_frame,
    node: u32,
    channel: u32,
    set: u32,
    out: *mut f32,
    count: usize,
) -> mr_status {
    use meshreel::VertexChannel;
    guard(|| {
        // SAFETY: the caller's promise.
        let mesh = unsafe { mesh_of(frame, node) }?;
        let what = self::channel(channel, set)?;
        if floats(what).is_none() {
            return Err(Error::misuse("tangent frames are not written as floats: see mr_frame_write"));
        }
        // SAFETY: as above.
        let out = unsafe { buffer(out, count, "the buffer for numbers") }?;
        match what {
            VertexChannel::Position => mesh.positions_into(out),
            VertexChannel::Normal => mesh.normals_into(out),
            VertexChannel::Tangent | VertexChannel::TangentFrame => mesh.tangents_into(out),
            VertexChannel::Uv(set) => mesh.uvs_into(set, out),
            VertexChannel::Colour(set) => mesh.colours_into(set, out),
            VertexChannel::Velocity => mesh.velocities_into(out),
            VertexChannel::Width => mesh.widths_into(out),
            VertexChannel::Custom { components, set } => mesh.custom_into(components, set, out),
            _ => Err(Error::misuse(format!("channel {channel} is not written as floats"))),
        }
    })
}

/// Writes normals, three floats each, and tangents, four each, of all vertices in one go: where both are made
/// of the positions, that takes little more than one of them.
///
/// # Safety
/// `frame` is a frame; `normals` has room for 3 · `vertices` numbers, `tangents` for 4 · `vertices`, and they
/// are not the same memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_directions(
    frame: *const mr_frame,
    node: u32,
    normals: *mut f32,
    tangents: *mut f32,
    vertices: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mesh = unsafe { mesh_of(frame, node) }?;
        let (normals, tangents) = (normals.cast::<[f32; 3]>(), tangents.cast::<[f32; 4]>());
        check_disjoint((normals.cast_const(), vertices), (tangents, vertices))?;
        // SAFETY: as above.
        let normals = unsafe { buffer(normals, vertices, "the buffer for normals") }?;
        // SAFETY: as above.
        let tangents = unsafe { buffer(tangents, vertices, "the buffer for tangents") }?;
        mesh.directions_into(normals.as_flattened_mut(), tangents.as_flattened_mut())
    })
}

/// Triangles of a node's mesh: three indices each, counter-clockwise seen from outside.
///
/// # Safety
/// `frame` is a frame; `out` is null or has room for `capacity` indices; `count` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_indices(
    frame: *const mr_frame,
    node: u32,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill(mesh_of(frame, node)?.indices(), out, capacity, count) })
}

/// The same in 16 bits, for meshes of at most 65,536 vertices.
///
/// # Safety
/// As of `mr_frame_indices`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_indices_16(
    frame: *const mr_frame,
    node: u32,
    out: *mut u16,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mesh = unsafe { mesh_of(frame, node) }?;
        if mesh.vertex_count() > 1 << 16 {
            let vertices = mesh.vertex_count();
            return Err(Error::misuse(format!("{vertices} vertices are too many for indices of 16 bits")));
        }
        let indices = mesh.indices();
        // SAFETY: as above.
        unsafe { fill_with(indices.len(), out, capacity, count, |i| indices[i] as u16) }
    })
}

/// Ids of the particles of a node, ascending, one for each vertex; none where they have no ids. Between two
/// frames particles are those of the first: those that both frames have are blended, the others stay.
///
/// # Safety
/// `frame` is a frame; `out` is null or has room for `capacity` numbers; `count` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_ids(
    frame: *const mr_frame,
    node: u32,
    out: *mut u64,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let ids = unsafe { mesh_of(frame, node) }?.ids();
        // SAFETY: as above.
        unsafe { fill(ids, out, capacity, count) }
    })
}

/// Vertices of each curve of a node, one curve after the other; none where it has no curves.
///
/// # Safety
/// `frame` is a frame; `out` is null or has room for `capacity` numbers; `count` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_curves(
    frame: *const mr_frame,
    node: u32,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let curves = unsafe { mesh_of(frame, node) }?.curves();
        // SAFETY: as above.
        unsafe { fill(curves, out, capacity, count) }
    })
}

/// Ranges of the indices that the materials of a node's mesh have, in their order.
///
/// # Safety
/// `frame` is a frame; `out` is null or has room for `capacity` ranges; `count` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_materials(
    frame: *const mr_frame,
    node: u32,
    out: *mut mr_range,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let ranges = unsafe { mesh_of(frame, node) }?.materials();
        // SAFETY: as above.
        unsafe { fill_with(ranges.len(), out, capacity, count, |i| ranges[i].into()) }
    })
}

/// Triangles in the order of `mr_frame_visible_ranges`: the same in all frames of a mesh that is not fluid.
///
/// # Safety
/// As of `mr_frame_indices`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_indices_by_visibility(
    frame: *const mr_frame,
    node: u32,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill(mesh_of(frame, node)?.indices_by_visibility(), out, capacity, count) })
}

/// Ranges of `mr_frame_indices_by_visibility` that can be seen at this moment, of one material or, with
/// `MR_NONE`, of all. What is left out nobody can see from outside.
///
/// # Safety
/// As of `mr_frame_materials`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_visible_ranges(
    frame: *const mr_frame,
    node: u32,
    material: u32,
    out: *mut mr_range,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mesh = unsafe { mesh_of(frame, node) }?;
        let material = (material != MR_NONE).then_some(material as usize);
        if let Some(material) = material {
            check_number(material, mesh.materials().len(), "material")?;
        }
        let ranges = mesh.visible_ranges(material);
        let len = ranges.clone().count();
        let next = std::cell::RefCell::new(ranges);
        let range = |_| next.borrow_mut().next().map_or_else(mr_range::default, mr_range::from);
        // SAFETY: as above.
        unsafe { fill_with(len, out, capacity, count, range) }
    })
}

/// A level of detail.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_lod_info {
    /// Bytes of this structure.
    pub size: usize,
    /// Its indices, three per triangle.
    pub indices: u32,
    /// Largest distance between level and mesh in any frame, in object units; 0 of the mesh itself.
    pub error: f32,
    /// Vertices that `mr_frame_lod_becomes` has: all, or 0 of the mesh itself.
    pub becomes: u32,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_lod_info {}

/// # Safety
/// As of [`frame_of`].
unsafe fn lod_of<'a>(frame: *const mr_frame, node: u32, level: u32) -> Result<Lod<'a>, Error> {
    // SAFETY: the caller's promise.
    let mesh = unsafe { mesh_of(frame, node) }?;
    check_number(level as usize, mesh.lod_count(), "level of detail")?;
    Ok(mesh.lod(level as usize))
}

/// A level of detail of a node's mesh: fewer triangles between the same vertices. Level 0 is the mesh itself.
///
/// # Safety
/// `frame` is a frame; `out` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_lod(
    frame: *const mr_frame,
    node: u32,
    level: u32,
    out: *mut mr_lod_info,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let lod = unsafe { lod_of(frame, node, level) }?;
        let info = mr_lod_info {
            size: 0,
            indices: lod.indices.len() as u32,
            error: lod.error,
            becomes: lod.becomes.len() as u32,
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// Triangles of a level of detail.
///
/// # Safety
/// As of `mr_frame_indices`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_lod_indices(
    frame: *const mr_frame,
    node: u32,
    level: u32,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill(lod_of(frame, node, level)?.indices, out, capacity, count) })
}

/// Ranges of the indices of a level that the materials have, in their order.
///
/// # Safety
/// As of `mr_frame_materials`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_lod_materials(
    frame: *const mr_frame,
    node: u32,
    level: u32,
    out: *mut mr_range,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let ranges = unsafe { lod_of(frame, node, level) }?.materials;
        // SAFETY: as above.
        unsafe { fill_with(ranges.len(), out, capacity, count, |i| ranges[i].into()) }
    })
}

/// For each vertex of the mesh the one that stands for it in a level, to blend levels; nothing of level 0.
///
/// # Safety
/// As of `mr_frame_indices`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_lod_becomes(
    frame: *const mr_frame,
    node: u32,
    level: u32,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill(lod_of(frame, node, level)?.becomes, out, capacity, count) })
}

/// Triangles of a node's mesh in world space, for physics: three floats per vertex, three indices per
/// triangle. `mr_mesh_state` has both numbers.
///
/// # Safety
/// `frame` is a frame; `positions` has room for 3 · `vertices` numbers, `indices` for so many indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_collision(
    frame: *const mr_frame,
    node: u32,
    positions: *mut f32,
    vertices: usize,
    indices: *mut u32,
    index_count: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let frame = unsafe { frame_of(frame) }?;
        check_number(node as usize, frame.reel().description().nodes.len(), "node")?;
        let positions = positions.cast::<[f32; 3]>();
        check_disjoint((positions.cast_const(), vertices), (indices, index_count))?;
        // SAFETY: as above.
        let positions = unsafe { buffer(positions, vertices, "the buffer for positions") }?;
        // SAFETY: as above.
        let indices = unsafe { buffer(indices, index_count, "the buffer for indices") }?;
        frame.view()?.collision_into(node as usize, positions.as_flattened_mut(), indices)
    })
}

/// The node that has a mesh, the first one, or `MR_NONE`: where a mesh is wanted by its own number.
///
/// # Safety
/// `frame` is a frame; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_frame_node_of(frame: *const mr_frame, mesh: u32, out: *mut u32) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let description = unsafe { frame_of(frame) }?.reel().description();
        check_number(mesh as usize, description.meshes.len(), "mesh")?;
        let found = description.nodes.iter().position(|node| node.mesh == Some(mesh));
        // SAFETY: as above.
        unsafe { write_out(out, or_none(found.map(|node| node as u32)), "the place for the node") }
    })
}
