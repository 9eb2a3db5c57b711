//! The work of a graphics card for a file, as data: shaders as text, words for buffers, and dispatches, for
//! any library with WebGPU's model. `docs/GPU.md` describes the buffers.

use crate::frame::{frame_of, mr_frame};
use crate::pointers::{
    buffer, check_number, fill, fill_text, fill_with, free, make, shared, unique, write_out,
};
use crate::prefixed::{self, Prefixed};
use crate::status::{guard, mr_status};
use crate::types::mr_range;
use crate::vertex::{Attributes, mr_vertex_layout};
use meshreel::Error;
use meshreel_gpu::params::{PARAMS_BYTES, Params};
use meshreel_gpu::{
    Batches, MeshBlend, Pass, ReelPlan, SlotScratch, VertexLayout, WorkList, shaders, workgroups,
};
use std::ffi::{c_char, c_void};

/// A plan: the buffers, shaders and dispatches of a file on a graphics card. One thread at a time uses it.
pub struct mr_gpu_plan {
    plan: ReelPlan,
    layout: VertexLayout,
    batches: Batches,
    group: u32,
    room: SlotScratch,
    /// Parameters of each mesh that is shown at this time.
    params: Vec<Option<Params>>,
    list: WorkList,
    /// `true` if `list` belongs to the current parameters.
    listed: bool,
}

/// Options of a plan. With all 0: the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_gpu_options {
    /// The size of this structure in bytes.
    pub size: usize,
    /// Bytes of the largest buffer that can be bound. 0: 128 MiB, WebGPU's default limit.
    pub most: u64,
    /// The number of moments whose vertices are kept: 1, or 2 for motion vectors. 0: 1.
    pub moments: u32,
    /// Invocations per workgroup, a power of two of at most 1024. 0: 256.
    pub group: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_gpu_options {}

/// Creates the plan of a file; `frame` may be any of its frames. `layout` is the layout of vertices, with
/// each attribute at a multiple of 4 bytes, in the formats that `docs/GPU.md` lists; null: positions of
/// `MR_FORMAT_F32X3`, normals of `MR_FORMAT_I16X2`, uvs of `MR_FORMAT_F16X2`. `options` may be null.
///
/// # Safety
/// `frame` is a valid frame; `layout` is null, or it and its attributes are valid; `options` is null or as
/// large as its `size` says; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_new(
    frame: *const mr_frame,
    layout: *const mr_vertex_layout,
    options: *const mr_gpu_options,
    out: *mut *mut mr_gpu_plan,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let frame = unsafe { frame_of(frame) }?;
        let none = mr_gpu_options { size: size_of::<mr_gpu_options>(), most: 0, moments: 0, group: 0 };
        // SAFETY: as above.
        let options = unsafe { prefixed::read(options, none, "the options") }?;
        let layout = match layout.is_null() {
            true => VertexLayout::default(),
            false => {
                // SAFETY: as above.
                let given = unsafe { Attributes::read(layout) }?;
                VertexLayout { stride: given.stride, attributes: given.list().to_vec() }
            }
        };
        // SAFETY: as above.
        unsafe { make(out, || mr_gpu_plan::new(frame, layout, &options)) }
    })
}

impl mr_gpu_plan {
    fn new(frame: &mr_frame, layout: VertexLayout, options: &mr_gpu_options) -> Result<mr_gpu_plan, Error> {
        layout.check()?;
        let group = if options.group == 0 { workgroups::DEFAULT_WORKGROUP_SIZE } else { options.group };
        if !group.is_power_of_two() || group > 1024 {
            let what =
                format!("{group} invocations of a workgroup: a power of two of at most 1024 is needed");
            return Err(Error::misuse(what));
        }
        if options.moments > 2 {
            return Err(Error::misuse(format!("vertices of {} moments: 1 or 2", options.moments)));
        }
        let plan = ReelPlan::new(frame.reel(), |mesh| frame.mesh_view(false, mesh))?;
        let most = if options.most == 0 { 128 << 20 } else { options.most };
        let batches = Batches::new(&plan, &layout, options.moments.max(1) as usize, most);
        Ok(mr_gpu_plan {
            params: vec![None; plan.meshes.len()],
            plan,
            layout,
            batches,
            group,
            room: SlotScratch::default(),
            list: WorkList::default(),
            listed: false,
        })
    }

    /// Returns the work list of the moment.
    fn list(&mut self) -> &WorkList {
        if !self.listed {
            let params = &self.params;
            self.batches.write_work_list(
                &self.plan,
                &self.layout,
                self.group,
                |mesh| params[mesh].as_ref(),
                &mut self.list,
            );
            self.listed = true;
        }
        &self.list
    }
}

/// Frees a plan. Null is allowed.
///
/// # Safety
/// `plan` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_free(plan: *mut mr_gpu_plan) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(plan) })
}

/// # Safety
/// Null, or a plan that is not changed meanwhile.
unsafe fn plan_of<'a>(plan: *const mr_gpu_plan) -> Result<&'a mr_gpu_plan, Error> {
    // SAFETY: the caller's promise.
    unsafe { shared(plan, "the plan") }
}

/// # Safety
/// Null, or a plan that is not used otherwise meanwhile.
unsafe fn plan_mut<'a>(plan: *mut mr_gpu_plan) -> Result<&'a mut mr_gpu_plan, Error> {
    // SAFETY: the caller's promise.
    unsafe { unique(plan, "the plan") }
}

/// Properties of a plan. A word has four bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_gpu_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// Bytes on the card per file: fixed words, and scratch between passes.
    pub fixed_bytes: u64,
    /// Bytes of the vertices of all meshes at one moment.
    pub vertex_bytes: u64,
    /// Words of a slot of the ring, which holds one frame of all meshes.
    pub slot_words: u32,
    /// Words of the meshes without animation, which lie behind all slots of the ring.
    pub still_words: u32,
    /// The number of meshes.
    pub meshes: u32,
    /// The number of batches: groups of meshes that share buffers.
    pub batches: u32,
    /// Bytes of the parameters of a mesh.
    pub params_bytes: u32,
    /// Invocations per workgroup.
    pub group: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_gpu_info {}

/// Writes the properties of a plan.
///
/// # Safety
/// `plan` is a valid plan; `out` is as large as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_get(plan: *const mr_gpu_plan, out: *mut mr_gpu_info) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { plan_of(plan) }?;
        let needs = own.plan.card_memory(&own.layout);
        let info = mr_gpu_info {
            size: 0,
            fixed_bytes: needs.fixed,
            vertex_bytes: needs.vertices,
            slot_words: own.plan.slot_words as u32,
            still_words: own.plan.static_words as u32,
            meshes: own.plan.meshes.len() as u32,
            batches: own.batches.batches.len() as u32,
            params_bytes: PARAMS_BYTES as u32,
            group: own.group,
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// The passes of the shader, in the order in which they run.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_gpu_pass {
    /// Computes points that bones move.
    Points = 0,
    /// Computes the normals of groups.
    Normals = 1,
    /// Computes the tangents of classes.
    Tangents = 2,
    /// Writes vertices in the layout.
    Vertices = 3,
}

/// Returns the entry point of an `mr_gpu_pass`: a static text; null if there is no such pass.
#[unsafe(no_mangle)]
pub extern "C" fn mr_gpu_pass_entry(pass: u32) -> *const c_char {
    const NAMES: [&std::ffi::CStr; 4] = [c"points", c"normals", c"tangents", c"vertices"];
    NAMES.get(pass as usize).map_or(std::ptr::null(), |name| name.as_ptr())
}

fn number_of(pass: Pass) -> u32 {
    Pass::ALL.iter().position(|other| *other == pass).map_or(0, |number| number as u32)
}

/// The location of a mesh in the buffers. Offsets and sizes are in words.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_gpu_mesh {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The number of its batch.
    pub batch: u32,
    /// The offset of its vertices in the batch's buffer.
    pub vertices: u32,
    /// Its offset in a slot or, for a mesh without animation, in the words behind all slots.
    pub slot: u32,
    /// The number of words there.
    pub slot_words: u32,
    /// 1 if nothing of it is animated, so that it lies behind all slots.
    pub still: u32,
    /// The passes that it needs: one bit for each `mr_gpu_pass`.
    pub passes: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_gpu_mesh {}

/// Writes the location of a mesh.
///
/// # Safety
/// `plan` is a valid plan; `out` is as large as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_mesh(
    plan: *const mr_gpu_plan,
    mesh: u32,
    out: *mut mr_gpu_mesh,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { plan_of(plan) }?;
        check_number(mesh as usize, own.plan.meshes.len(), "mesh")?;
        let (planned, place) = (&own.plan.meshes[mesh as usize], own.batches.placements[mesh as usize]);
        let needs = Pass::ALL.iter().filter(|pass| planned.variant().has(**pass));
        let info = mr_gpu_mesh {
            size: 0,
            batch: place.batch as u32,
            vertices: place.vertices as u32,
            slot: planned.slot.0 as u32,
            slot_words: planned.slot.1 as u32,
            still: u32::from(planned.is_static),
            passes: needs.map(|pass| 1 << number_of(*pass)).sum(),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// Sizes of the buffers of a batch, in words.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_gpu_batch {
    /// The size of this structure in bytes.
    pub size: usize,
    /// Fixed words (`mr_gpu_plan_fixed`).
    pub fixed_words: u64,
    /// Scratch words between the passes.
    pub scratch_words: u64,
    /// Words of the vertices of one moment.
    pub vertex_words: u64,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_gpu_batch {}

/// Writes the sizes of the buffers of a batch.
///
/// # Safety
/// `plan` is a valid plan; `out` is as large as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_batch(
    plan: *const mr_gpu_plan,
    batch: u32,
    out: *mut mr_gpu_batch,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let all = &unsafe { plan_of(plan) }?.batches.batches;
        check_number(batch as usize, all.len(), "batch")?;
        let found = &all[batch as usize];
        let info = mr_gpu_batch {
            size: 0,
            fixed_words: found.fixed as u64,
            scratch_words: found.scratch as u64,
            vertex_words: found.vertices as u64,
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// Writes the fixed words of a batch, to be uploaded once.
///
/// # Safety
/// `plan` is a valid plan; `out` is null or has room for `capacity` words; `count` is null or valid for one
/// write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_fixed(
    plan: *const mr_gpu_plan,
    batch: u32,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { plan_of(plan) }?;
        check_number(batch as usize, own.batches.batches.len(), "batch")?;
        // SAFETY: as above.
        unsafe { fill(&own.batches.fixed_words(&own.plan, batch as usize), out, capacity, count) }
    })
}

/// A constant of a pipeline (an override of the shader).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_gpu_constant {
    /// The name, ending with a zero.
    pub name: [c_char; 24],
    /// The value.
    pub value: f64,
}

/// Writes the constants of a mesh's pipelines. Meshes with equal constants share pipelines.
///
/// # Safety
/// `plan` is a valid plan; `out` is null or has room for `capacity` constants; `count` is null or valid for
/// one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_constants(
    plan: *const mr_gpu_plan,
    mesh: u32,
    out: *mut mr_gpu_constant,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { plan_of(plan) }?;
        check_number(mesh as usize, own.plan.meshes.len(), "mesh")?;
        let all = shaders::constants(own.plan.meshes[mesh as usize].variant(), &own.layout, own.group);
        let constant = |i: usize| {
            let (name, value) = all[i];
            let mut out = mr_gpu_constant { name: [0; 24], value };
            for (to, from) in out.name[..23].iter_mut().zip(name.bytes()) {
                *to = from as c_char;
            }
            out
        };
        // SAFETY: as above.
        unsafe { fill_with(all.len(), out, capacity, count, constant) }
    })
}

/// Writes the text of the shader with all passes, in WGSL.
///
/// # Safety
/// `out` is null or has room for `capacity` bytes; `length` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_wgsl(out: *mut c_char, capacity: usize, length: *mut usize) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill_text(&shaders::wgsl(), out, capacity, length) })
}

/// Writes the WGSL text of a function `vertex_of(number) -> Vertex` for the caller's own vertex shader, which
/// fetches the results of the passes, with its bindings in group `group`. For plans whose layout has stride
/// 0.
///
/// # Safety
/// As for `mr_gpu_wgsl`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_wgsl_pull(
    group: u32,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill_text(&shaders::pull_wgsl(group), out, capacity, length) })
}

/// Writes the words of meshes without animation, which lie behind all slots of the ring, to be uploaded once
/// per file.
///
/// # Safety
/// `plan` is a valid plan and `frame` a valid frame of its file; `out` has room for `words` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_still(
    plan: *mut mr_gpu_plan,
    frame: *const mr_frame,
    out: *mut u32,
    words: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (own, frame) = unsafe { (plan_mut(plan)?, frame_of(frame)?) };
        check_same_file(own, frame)?;
        // SAFETY: as above.
        let out = unsafe { buffer(out, words, "the buffer for words") }?;
        own.plan.write_static(|mesh| frame.mesh_view(false, mesh), &mut own.room, out)
    })
}

/// Writes the words of a frame, for a slot of the ring: of the first of the two frames that `frame` is
/// blended from or, if `second` is not 0, of the second. Only the ranges that `mr_gpu_plan_used` returns need
/// to be uploaded.
///
/// # Safety
/// As for `mr_gpu_plan_still`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_slot(
    plan: *mut mr_gpu_plan,
    frame: *const mr_frame,
    second: u32,
    out: *mut u32,
    words: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (own, frame) = unsafe { (plan_mut(plan)?, frame_of(frame)?) };
        check_same_file(own, frame)?;
        // SAFETY: as above.
        let out = unsafe { buffer(out, words, "the buffer for words") }?;
        own.plan.write_frame(|mesh| frame.mesh_view(second != 0, mesh), &mut own.room, out)
    })
}

/// Refuses a frame of a file with other meshes.
fn check_same_file(own: &mr_gpu_plan, frame: &mr_frame) -> Result<(), Error> {
    let meshes = &frame.reel().description().meshes;
    let vertices = |(plan, mesh): (&meshreel_gpu::MeshPlan, &meshreel::raw::record::MeshRecord)| {
        plan.fixed.vertices == mesh.vertices as usize
    };
    match meshes.len() == own.plan.meshes.len() && own.plan.meshes.iter().zip(meshes).all(vertices) {
        true => Ok(()),
        false => Err(Error::misuse("the plan is of another file than the frame")),
    }
}

/// Writes the ranges of words that have content in the last slot that was written.
///
/// # Safety
/// `plan` is a valid plan; `out` is null or has room for `capacity` ranges; `count` is null or valid for one
/// write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_used(
    plan: *const mr_gpu_plan,
    out: *mut mr_range,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let used = &unsafe { plan_of(plan) }?.room.used;
        let range = |i: usize| mr_range { first: used[i].start as u32, count: used[i].len() as u32 };
        // SAFETY: as above.
        unsafe { fill_with(used.len(), out, capacity, count, range) }
    })
}

/// Begins a new moment, in which nothing is shown yet.
///
/// # Safety
/// `plan` is a valid plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_begin(plan: *mut mr_gpu_plan) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { plan_mut(plan) }?;
        own.params.fill(None);
        own.listed = false;
        Ok(())
    })
}

/// The location of a moment's frames in the ring, and of its vertices.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_gpu_moment {
    /// The slot of the first frame.
    pub first: u32,
    /// The slot of the second frame.
    pub second: u32,
    /// The number of slots of the ring.
    pub slots: u32,
    /// The offset in words of this moment's vertices in the buffers of batches.
    pub vertices: u32,
}

/// Shows the mesh of a node, and writes the mesh's parameters. `bytes` must be `mr_gpu_info.params_bytes`;
/// upload them at the mesh's number times `bytes`.
///
/// # Safety
/// `plan` is a valid plan and `frame` a valid frame of its file; `moment` is valid for one read; `out` has
/// room for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_show(
    plan: *mut mr_gpu_plan,
    frame: *const mr_frame,
    node: u32,
    moment: *const mr_gpu_moment,
    out: *mut c_void,
    bytes: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (own, frame) = unsafe { (plan_mut(plan)?, frame_of(frame)?) };
        check_same_file(own, frame)?;
        // SAFETY: as above.
        let at = unsafe { shared(moment, "the moment") }?;
        if at.first >= at.slots || at.second >= at.slots {
            return Err(Error::misuse(format!("slots {} and {} of {}", at.first, at.second, at.slots)));
        }
        if bytes != PARAMS_BYTES {
            return Err(Error::misuse(format!("parameters have {PARAMS_BYTES} bytes, not {bytes}")));
        }
        let view = frame.view()?;
        check_number(node as usize, frame.reel().description().nodes.len(), "node")?;
        let Some(mesh) = view.mesh(node as usize) else {
            return Err(Error::misuse(format!("node {node} has no mesh")));
        };
        let words = own.plan.slot_words;
        let first = view.pair().first;
        let slot =
            |frame| if frame == first { at.first as usize * words } else { at.second as usize * words };
        let still = at.slots as usize * words;
        let planned = &own.plan.meshes[mesh.number()];
        let moment = MeshBlend::new(planned, &mesh, slot, still, at.vertices as usize);
        let params = own.batches.params(&own.plan, mesh.number(), &moment);
        own.params[mesh.number()] = Some(params);
        own.listed = false;
        // SAFETY: as above.
        let out = unsafe { buffer(out.cast::<u8>(), bytes, "the parameters") }?;
        out.copy_from_slice(bytemuck::bytes_of(&params));
        Ok(())
    })
}

/// Writes the work of each workgroup at this moment, two words: the number of a mesh, and its first item.
/// `capacity` and `count` are numbers of workgroups.
///
/// # Safety
/// `plan` is a valid plan; `out` is null or has room for two words for each of `capacity` workgroups; `count`
/// is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_work(
    plan: *mut mr_gpu_plan,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill(&plan_mut(plan)?.list().work, out.cast::<[u32; 2]>(), capacity, count) })
}

/// A dispatch over meshes of one batch that have the same pipelines.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct mr_gpu_dispatch {
    /// An `mr_gpu_pass`.
    pub pass: u32,
    /// The number of the batch.
    pub batch: u32,
    /// One of the meshes, which tells the pipeline.
    pub mesh: u32,
    /// The first of its workgroups in `mr_gpu_plan_work`; bind that list from there on.
    pub first: u32,
    /// The number of workgroups in x and y.
    pub groups: [u32; 2],
}

/// Writes the dispatches of this moment, in order. Dispatches of later passes read the results of earlier
/// ones.
///
/// # Safety
/// `plan` is a valid plan; `out` is null or has room for `capacity` dispatches; `count` is null or valid for
/// one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_plan_dispatches(
    plan: *mut mr_gpu_plan,
    out: *mut mr_gpu_dispatch,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let all = &unsafe { plan_mut(plan) }?.list().dispatches;
        let dispatch = |i: usize| mr_gpu_dispatch {
            pass: number_of(all[i].pass),
            batch: all[i].batch as u32,
            mesh: all[i].mesh as u32,
            first: all[i].first as u32,
            groups: all[i].groups,
        };
        // SAFETY: as above.
        unsafe { fill_with(all.len(), out, capacity, count, dispatch) }
    })
}

/// The slot of a frame in a ring.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct mr_gpu_place {
    /// The number of the slot, or `MR_NONE` if all slots hold frames of the current moment.
    pub slot: u32,
    /// 1 if the frame must be written to the slot, whose former content is gone.
    pub is_new: u32,
}

/// A ring of slots: the assignment of frames to slots.
pub struct mr_gpu_ring(meshreel_gpu::Ring);

/// Creates a ring of `slots` slots; one moment needs two.
///
/// # Safety
/// `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_ring_new(slots: u32, out: *mut *mut mr_gpu_ring) -> mr_status {
    guard(|| {
        if !(2..=1 << 20).contains(&slots) {
            return Err(Error::misuse(format!("a ring of {slots} slots: at least 2 are needed")));
        }
        // SAFETY: the caller's promise.
        unsafe { make(out, || Ok(mr_gpu_ring(meshreel_gpu::Ring::new(slots as usize)))) }
    })
}

/// Frees a ring. Null is allowed.
///
/// # Safety
/// `ring` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_ring_free(ring: *mut mr_gpu_ring) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(ring) })
}

/// Begins a new moment: frames that are requested from now on stay until the next one.
///
/// # Safety
/// `ring` is a valid ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_ring_begin(ring: *mut mr_gpu_ring) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { unique(ring, "the ring") }?.0.begin();
        Ok(())
    })
}

/// Finds the slot of a frame, or assigns one to it.
///
/// # Safety
/// `ring` is a valid ring; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_gpu_ring_ask(
    ring: *mut mr_gpu_ring,
    frame: u32,
    out: *mut mr_gpu_place,
) -> mr_status {
    use meshreel_gpu::ring::SlotRequest;
    guard(|| {
        // SAFETY: the caller's promise.
        let ring = &mut unsafe { unique(ring, "the ring") }?.0;
        let place = match ring.request(frame as usize) {
            SlotRequest::Present(slot) => mr_gpu_place { slot: slot as u32, is_new: 0 },
            SlotRequest::New(slot) => mr_gpu_place { slot: slot as u32, is_new: 1 },
            SlotRequest::Full => mr_gpu_place { slot: crate::types::MR_NONE, is_new: 0 },
        };
        // SAFETY: as above.
        unsafe { write_out(out, place, "the place") }
    })
}

#[cfg(test)]
mod tests;
