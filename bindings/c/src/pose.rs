//! Arithmetic on poses: blending, additive poses, object space. Nothing is allocated, no object is needed.

use crate::pointers::{buffer, check_disjoint, list};
use crate::status::{guard, mr_status};
use crate::types::{MR_NONE, mr_transform, transforms, transforms_mut};
use meshreel::Error;
use meshreel::clip::{self, Additive};

/// The way in which an additive pose is applied to a base.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_additive {
    /// In the base's space: base · additive.
    Relative = 0,
    /// Rotations multiplied, translations added, scales multiplied.
    Additive0 = 1,
    /// Rotations multiplied, translations added, scales multiplied by 1 + the additive scale.
    Additive1 = 2,
}

fn additive_of(kind: u32) -> Result<Additive, Error> {
    [Additive::Relative, Additive::Additive0, Additive::Additive1]
        .get(kind as usize)
        .copied()
        .ok_or_else(|| Error::misuse(format!("additive {kind} does not exist: it must be an mr_additive")))
}

/// Blends from `a` to `b`, joint by joint; `part` is the weight of `b`. Rotations take the shorter way. `out`
/// must not overlap `a` or `b`.
///
/// # Safety
/// `a` and `b` have `joints` transforms, `out` has room for as many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_pose_blend(
    a: *const mr_transform,
    b: *const mr_transform,
    part: f32,
    out: *mut mr_transform,
    joints: usize,
) -> mr_status {
    guard(|| {
        check_disjoint((a, joints), (out, joints))?;
        check_disjoint((b, joints), (out, joints))?;
        // SAFETY: the caller's promise.
        let (a, b) = unsafe { (list(a, joints, "the first pose")?, list(b, joints, "the second pose")?) };
        // SAFETY: as above, and it does not overlap them.
        let out = unsafe { buffer(out, joints, "the pose to write") }?;
        clip::blend(transforms(a), transforms(b), part, transforms_mut(out));
        Ok(())
    })
}

/// Adds `weight` times `additive` to `base`, joint by joint; `kind` is an `mr_additive`. `out` must not
/// overlap `base` or `additive`.
///
/// # Safety
/// `base` and `additive` have `joints` transforms, `out` has room for as many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_pose_add(
    kind: u32,
    base: *const mr_transform,
    additive: *const mr_transform,
    weight: f32,
    out: *mut mr_transform,
    joints: usize,
) -> mr_status {
    guard(|| {
        let kind = additive_of(kind)?;
        check_disjoint((base, joints), (out, joints))?;
        check_disjoint((additive, joints), (out, joints))?;
        // SAFETY: the caller's promise.
        let base = unsafe { list(base, joints, "the base") }?;
        // SAFETY: as above.
        let additive = unsafe { list(additive, joints, "the additive pose") }?;
        // SAFETY: as above, and it does not overlap them.
        let out = unsafe { buffer(out, joints, "the pose to write") }?;
        kind.apply(transforms(base), transforms(additive), weight, transforms_mut(out));
        Ok(())
    })
}

/// Computes the additive pose that turns `base` into `pose`, joint by joint; `kind` is an `mr_additive`.
/// `out` must not overlap `base` or `pose`.
///
/// # Safety
/// `base` and `pose` have `joints` transforms, `out` has room for as many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_pose_difference(
    kind: u32,
    base: *const mr_transform,
    pose: *const mr_transform,
    out: *mut mr_transform,
    joints: usize,
) -> mr_status {
    guard(|| {
        let kind = additive_of(kind)?;
        check_disjoint((base, joints), (out, joints))?;
        check_disjoint((pose, joints), (out, joints))?;
        // SAFETY: the caller's promise.
        let (base, pose) = unsafe { (list(base, joints, "the base")?, list(pose, joints, "the pose")?) };
        // SAFETY: as above, and it does not overlap them.
        let out = unsafe { buffer(out, joints, "the pose to write") }?;
        kind.difference(transforms(base), transforms(pose), transforms_mut(out));
        Ok(())
    })
}

/// Computes the object-space matrices of all joints from their local transforms: twelve numbers per joint,
/// three rows of four. `parents` as written by `mr_clips_parents`.
///
/// # Safety
/// `parents` has `joints` numbers, `local` has `joints` transforms, and `out` has room for twelve numbers per
/// joint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_pose_object_space(
    parents: *const u32,
    local: *const mr_transform,
    out: *mut f32,
    joints: usize,
) -> mr_status {
    guard(|| {
        let out = out.cast::<[[f32; 4]; 3]>();
        check_disjoint((parents, joints), (out, joints))?;
        check_disjoint((local, joints), (out, joints))?;
        // SAFETY: the caller's promise.
        let (parents, local) =
            unsafe { (list(parents, joints, "the parents")?, list(local, joints, "the pose")?) };
        if parents.iter().zip(0..).any(|(parent, joint)| *parent != MR_NONE && *parent >= joint) {
            return Err(Error::misuse("parents must stand before their children"));
        }
        // SAFETY: as above, and it does not overlap them.
        let out = unsafe { buffer(out, joints, "the matrices") }?;
        clip::object_space(parents, transforms(local), out);
        Ok(())
    })
}
