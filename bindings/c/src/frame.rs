//! The nodes and meshes of a frame, or between two frames, written to the caller's memory.

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

/// A moment of a file as it is shown: one frame, or two with a blend weight. A frame from a player belongs to
/// the caller: it can be kept over ticks and used by several threads at once, and holds its memory until
/// `mr_frame_free`. A frame from a decoder belongs to the decoder.
pub struct mr_frame(pub(crate) FrameContent);

pub(crate) enum FrameContent {
    Shown(ShownFrames),
    Decoder(NonNull<FrameDecoder>),
}

impl mr_frame {
    pub(crate) fn reel(&self) -> &Reel {
        match &self.0 {
            FrameContent::Shown(shown) => shown.reel(),
            // SAFETY: the decoder lives as long as its frame, and does not decode while the frame is used.
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

    /// Returns a mesh in the first or the second of the frames. Panics if there is no such mesh.
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
/// `frame` is null or a valid frame.
pub(crate) unsafe fn frame_of<'a>(frame: *const mr_frame) -> Result<&'a mr_frame, Error> {
    // SAFETY: the caller's promise.
    unsafe { shared(frame, "the frame") }
}

/// # Safety
/// As for [`frame_of`].
unsafe fn mesh_of<'a>(frame: *const mr_frame, node: u32) -> Result<MeshFrame<'a>, Error> {
    // SAFETY: the caller's promise.
    unsafe { frame_of(frame) }?.mesh(node)
}

/// Frees a frame of a player. Null is allowed; a frame of a decoder is refused as misuse.
///
/// # Safety
/// `frame` is null, or has not been freed.
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

/// Properties of a frame.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_frame_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The file that a player's frame belongs to: together with a frame number, a key for data that the
    /// caller derives from it. 0 for a decoder's frame.
    pub file: u64,
    /// The frame at blend 0.
    pub first: u32,
    /// The frame at blend 1.
    pub second: u32,
    /// The weight of the second frame, 0 to below 1.
    pub blend: f32,
    /// 1 if the frame that should be shown is not in memory yet, so that this is the last one that was shown.
    pub late: u32,
    /// The number of nodes.
    pub nodes: u32,
    /// World bounds of everything shown: min xyz, max xyz; min is larger than max if nothing is shown.
    pub bounds: [f32; 6],
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_frame_info {}

/// Writes the properties of a frame.
///
/// # Safety
/// `frame` is a valid frame; `out` is as large as its `size` says.
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

/// Writes the object-to-world matrices of all nodes: twelve numbers per node, three rows of four. `nodes`
/// must be the number of nodes.
///
/// # Safety
/// `frame` is a valid frame; `out` has room for twelve numbers for each node.
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

/// Writes the object-to-world matrix of a node: twelve numbers, three rows of four.
///
/// # Safety
/// `frame` is a valid frame; `out` has room for twelve numbers.
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

/// Writes the change per second of the object-to-world matrix of a node: twelve numbers, three rows of four.
/// The last column is the velocity of the node's origin.
///
/// # Safety
/// As for `mr_frame_world`.
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

/// Writes the transforms of all nodes relative to their parents.
///
/// # Safety
/// `frame` is a valid frame; `out` is null or has room for `capacity` transforms; `count` is null or valid
/// for one write.
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

/// Writes a byte for each node: 1 if it is visible, so that its mesh, if it has one, is shown; otherwise 0.
///
/// # Safety
/// `frame` is a valid frame; `out` is null or has room for `capacity` bytes; `count` is null or valid for one
/// write.
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

/// Properties of the mesh of a node in a frame.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_mesh_state {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The number of the mesh in the file.
    pub mesh: u32,
    /// The number of vertices in this frame.
    pub vertices: u32,
    /// The number of indices in this frame, three per triangle.
    pub indices: u32,
    /// The number of materials; each is a range of the indices.
    pub materials: u32,
    /// The number of LOD levels, including the mesh itself.
    pub lods: u32,
    /// 1 if triangles and the number of vertices change from frame to frame.
    pub fluid: u32,
    /// The two frames that the mesh is blended from; the first one twice if only that one is shown.
    pub frames: [u32; 2],
    /// The weight of the second frame.
    pub blend: f32,
    /// 0: the mesh has no normals; 1: normals that change; 2: normals that do not. `tangents`, `uvs` and
    /// `colours` (both of set 0) have the same values.
    pub normals: u32,
    /// As `normals`.
    pub tangents: u32,
    /// As `normals`.
    pub uvs: u32,
    /// As `normals`.
    pub colours: u32,
    /// 1 if positions change.
    pub moves: u32,
    /// Object bounds over all frames, min xyz and max xyz: the range of positions in `MR_FORMAT_U16X4`.
    pub bounds: [f32; 6],
    /// The smallest u and v of set 0, and the sizes of their ranges: the range of uvs in `MR_FORMAT_U16X2`.
    /// Zeros if there is no such range.
    pub uv_range: [f32; 4],
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_mesh_state {}

/// Writes the properties of the mesh of a node. A node without a mesh is misuse.
///
/// # Safety
/// `frame` is a valid frame; `out` is as large as its `size` says.
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

/// Writes a range of the vertices of a node's mesh in the caller's layout, beginning at `out`. `bytes` must
/// be `count` times the stride. Bytes that no attribute covers are not changed.
///
/// # Safety
/// `frame` is a valid frame; `layout` and its attributes are valid; `out` has room for `bytes` bytes.
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

/// Writes one attribute of all vertices of a node's mesh as floats: three per vertex for positions, normals
/// and velocities, four for tangents and colours, two for uvs, one for widths, 1 to 4 for custom values.
/// `count` must be the number of vertices times that. This is the fastest way to get a whole attribute.
/// `channel` is an `mr_channel`, `set` the number of the set of uvs, colours or custom values, otherwise 0.
///
/// # Safety
/// `frame` is a valid frame; `out` has room for `count` numbers.
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

/// Writes the normals (three floats each) and tangents (four floats each) of all vertices in one pass: if
/// both are predicted from the positions, that takes little more time than one of them.
///
/// # Safety
/// `frame` is a valid frame; `normals` has room for 3 · `vertices` numbers, `tangents` for 4 · `vertices`;
/// they do not overlap.
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

/// Writes the triangles of a node's mesh: three indices each, counter-clockwise seen from outside.
///
/// # Safety
/// `frame` is a valid frame; `out` is null or has room for `capacity` indices; `count` is null or valid for
/// one write.
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

/// As `mr_frame_indices`, with 16-bit indices, for meshes of at most 65,536 vertices.
///
/// # Safety
/// As for `mr_frame_indices`.
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

/// Writes the ids of the particles of a node, ascending, one per vertex; an empty list if they have no ids.
/// Between two frames the particles are those of the first: those that both frames have are blended, the
/// others stay.
///
/// # Safety
/// `frame` is a valid frame; `out` is null or has room for `capacity` numbers; `count` is null or valid for
/// one write.
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

/// Writes the number of vertices of each curve of a node; an empty list if it has no curves.
///
/// # Safety
/// `frame` is a valid frame; `out` is null or has room for `capacity` numbers; `count` is null or valid for
/// one write.
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

/// Writes the index range of each material of a node's mesh.
///
/// # Safety
/// `frame` is a valid frame; `out` is null or has room for `capacity` ranges; `count` is null or valid for
/// one write.
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

/// Writes the triangles in the order that `mr_frame_visible_ranges` refers to: the same in all frames of a
/// mesh that is not fluid.
///
/// # Safety
/// As for `mr_frame_indices`.
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

/// Writes the ranges of `mr_frame_indices_by_visibility` that are visible in this frame, of one material or,
/// with `MR_NONE`, of all. Triangles outside these ranges cannot be seen from outside the mesh.
///
/// # Safety
/// As for `mr_frame_materials`.
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

/// Properties of an LOD level.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_lod_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The number of indices, three per triangle.
    pub indices: u32,
    /// The largest distance between the level and the mesh in any frame, in object units; 0 for level 0.
    pub error: f32,
    /// The number of vertices that `mr_frame_lod_becomes` writes: all vertices, or 0 for level 0.
    pub becomes: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_lod_info {}

/// # Safety
/// As for [`frame_of`].
unsafe fn lod_of<'a>(frame: *const mr_frame, node: u32, level: u32) -> Result<Lod<'a>, Error> {
    // SAFETY: the caller's promise.
    let mesh = unsafe { mesh_of(frame, node) }?;
    check_number(level as usize, mesh.lod_count(), "level of detail")?;
    Ok(mesh.lod(level as usize))
}

/// Writes the properties of an LOD level of a node's mesh: fewer triangles between the same vertices. Level 0
/// is the mesh itself.
///
/// # Safety
/// `frame` is a valid frame; `out` is as large as its `size` says.
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

/// Writes the triangles of an LOD level: three indices each.
///
/// # Safety
/// As for `mr_frame_indices`.
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

/// Writes the range of each material in the indices of an LOD level.
///
/// # Safety
/// As for `mr_frame_materials`.
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

/// Writes, for each vertex of the mesh, the vertex that replaces it in an LOD level, to blend levels; an
/// empty list for level 0.
///
/// # Safety
/// As for `mr_frame_indices`.
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

/// Writes the triangles of a node's mesh in world space, for physics: three floats per vertex, three indices
/// per triangle. `mr_mesh_state` has the numbers of vertices and indices.
///
/// # Safety
/// `frame` is a valid frame; `positions` has room for 3 · `vertices` numbers, `indices` for `index_count`
/// indices; they do not overlap.
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

/// Writes the number of the first node that has a mesh, or `MR_NONE`: to find a mesh by its own number.
///
/// # Safety
/// `frame` is a valid frame; `out` is valid for one write.
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
