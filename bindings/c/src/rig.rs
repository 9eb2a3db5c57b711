//! Meshes with the rig of the source: any pose of the skeleton moves them.

use crate::clip::{clips_of, mr_clips};
use crate::pointers::{buffer, check_disjoint, check_number, fill, list};
use crate::prefixed::{self, Prefixed};
use crate::status::{guard, mr_status};
use meshreel::{Error, MeshRig};

/// Properties of a rig.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_rig_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The tolerance: the largest distance of any vertex from its position under the source's rig.
    pub tolerance: f64,
    /// The largest such distance that was measured.
    pub error: f64,
    /// The number of the mesh in the file.
    pub mesh: u32,
    /// The number of the skeleton; all its clips can move the mesh.
    pub skeleton: u32,
    /// The number of joints that move the mesh.
    pub joints: u32,
    /// The number of vertices of the mesh.
    pub vertices: u32,
    /// 1 if dual quaternions blend the joints' transforms, completely or in part (`mr_rig_dual_parts`); 0 if
    /// the blend is linear.
    pub dual: u32,
    /// Reserved: 0.
    pub reserved: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_rig_info {}

/// # Safety
/// As for [`clips_of`].
unsafe fn rig_of<'a>(clips: *const mr_clips, rig: u32) -> Result<&'a MeshRig, Error> {
    // SAFETY: the caller's promise.
    let rigs = &unsafe { clips_of(clips) }?.rigs;
    check_number(rig as usize, rigs.len(), "rig")?;
    Ok(&rigs[rig as usize])
}

/// Writes the properties of a rig.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is as large as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_rig(clips: *const mr_clips, rig: u32, out: *mut mr_rig_info) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let rig = unsafe { rig_of(clips, rig) }?;
        let info = mr_rig_info {
            size: 0,
            tolerance: rig.tolerance(),
            error: rig.error(),
            mesh: rig.mesh() as u32,
            skeleton: rig.skeleton() as u32,
            joints: rig.joints().len() as u32,
            vertices: rig.vertex_count() as u32,
            dual: u32::from(rig.uses_dual_quaternions()),
            reserved: 0,
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// Writes the joints of a rig, as their numbers in the skeleton.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` numbers; `count` is null or valid
/// for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_rig_joints(
    clips: *const mr_clips,
    rig: u32,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill(rig_of(clips, rig)?.joints(), out, capacity, count) })
}

/// An influence of a joint on a vertex.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct mr_influence {
    /// The number of the vertex.
    pub vertex: u32,
    /// The number of the joint in the rig.
    pub joint: u32,
    /// The weight; the weights of a vertex add up to 1.
    pub weight: f32,
}

/// Writes the influences of joints on vertices, in the order of the vertices.
///
/// # Safety
/// As for `mr_rig_joints`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_rig_influences(
    clips: *const mr_clips,
    rig: u32,
    out: *mut mr_influence,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let rig = unsafe { rig_of(clips, rig) }?;
        let of = |vertex: usize| {
            let influence =
                move |(joint, weight)| mr_influence { vertex: vertex as u32, joint: joint as u32, weight };
            rig.influences(vertex).map(influence)
        };
        let all: Vec<mr_influence> = (0..rig.vertex_count()).flat_map(of).collect();
        // SAFETY: as above.
        unsafe { fill(&all, out, capacity, count) }
    })
}

/// Writes a number for each vertex, 0 to 1: the share of dual-quaternion blending. The rest is linear.
///
/// # Safety
/// As for `mr_rig_joints`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_rig_dual_parts(
    clips: *const mr_clips,
    rig: u32,
    out: *mut f32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let rig = unsafe { rig_of(clips, rig) }?;
        let all: Vec<f32> =
            (0..rig.vertex_count()).map(|vertex| rig.dual_quaternion_weight(vertex)).collect();
        // SAFETY: as above.
        unsafe { fill(&all, out, capacity, count) }
    })
}

/// Computes the matrices that take the bind pose to a pose: one for each joint of the rig, twelve numbers in
/// three rows of four. `object` has the object-space matrices of all joints of the skeleton
/// (`mr_pose_object_space`).
///
/// # Safety
/// `clips` is from `mr_clips_new`; `object` has twelve numbers for each of `object_joints`; `out` has room
/// for twelve numbers for each of `joints`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_rig_matrices(
    clips: *const mr_clips,
    rig: u32,
    object: *const f32,
    object_joints: usize,
    out: *mut f32,
    joints: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let rig = unsafe { rig_of(clips, rig) }?;
        let (object, out) = (object.cast::<[[f32; 4]; 3]>(), out.cast::<[[f32; 4]; 3]>());
        check_count(joints, rig.joints().len(), "joints")?;
        check_disjoint((object, object_joints), (out, joints))?;
        // SAFETY: as above.
        let object = unsafe { list(object, object_joints, "the matrices of the skeleton") }?;
        // SAFETY: as above, and the memory does not overlap.
        let out = unsafe { buffer(out, joints, "the matrices") }?;
        rig.matrices(object, out);
        Ok(())
    })
}

/// Computes the positions of all vertices from the matrices of the joints: three numbers per vertex.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `matrices` has twelve numbers for each of `joints`; `out` has room for
/// three numbers for each of `vertices`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_rig_positions(
    clips: *const mr_clips,
    rig: u32,
    matrices: *const f32,
    joints: usize,
    out: *mut f32,
    vertices: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let rig = unsafe { rig_of(clips, rig) }?;
        let (matrices, out) = (matrices.cast::<[[f32; 4]; 3]>(), out.cast::<[f32; 3]>());
        check_count(joints, rig.joints().len(), "joints")?;
        check_count(vertices, rig.vertex_count(), "vertices")?;
        check_disjoint((matrices, joints), (out, vertices))?;
        // SAFETY: as above.
        let matrices = unsafe { list(matrices, joints, "the matrices") }?;
        // SAFETY: as above, and the memory does not overlap.
        let out = unsafe { buffer(out, vertices, "the buffer for positions") }?;
        rig.positions(matrices, out);
        Ok(())
    })
}

/// Refuses buffers of a wrong length.
fn check_count(given: usize, there: usize, what: &str) -> Result<(), Error> {
    match given == there {
        true => Ok(()),
        false => Err(Error::misuse(format!("the rig has {there} {what}, not {given}"))),
    }
}
