//! Part attributes: custom values of parts of a mesh, to drive shading and events.

use crate::pointers::{check_number, fill, fill_text, fill_with, free, make, shared};
use crate::prefixed::{self, Prefixed};
use crate::reel::mr_reel;
use crate::status::{guard, mr_status};
use crate::types::mr_pair;
use meshreel::Error;
use meshreel::view::PartAttribute;
use std::ffi::c_char;

/// The part attributes of a node's mesh. Several threads can use them at once.
pub struct mr_part_attributes(Vec<PartAttribute>);

/// Reads the part attributes of a node; there may be none.
///
/// # Safety
/// `reel` is a valid reel; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_part_attributes_new(
    reel: *const mr_reel,
    node: u32,
    out: *mut *mut mr_part_attributes,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_reel(reel) = unsafe { shared(reel, "the reel") }?;
        // SAFETY: as above.
        unsafe { make(out, || reel.attributes(node as usize).map(mr_part_attributes)) }
    })
}

/// Frees part attributes. Null is allowed.
///
/// # Safety
/// `attributes` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_part_attributes_free(attributes: *mut mr_part_attributes) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(attributes) })
}

/// Writes the number of part attributes.
///
/// # Safety
/// `attributes` is from `mr_part_attributes_new`; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_part_attributes_count(
    attributes: *const mr_part_attributes,
    out: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_part_attributes(all) = unsafe { shared(attributes, "the part attributes") }?;
        // SAFETY: as above.
        unsafe { crate::pointers::write_out(out, all.len(), "the place for the count") }
    })
}

/// # Safety
/// Null, or from [`mr_part_attributes_new`].
unsafe fn attribute_of<'a>(
    attributes: *const mr_part_attributes,
    number: u32,
) -> Result<&'a PartAttribute, Error> {
    // SAFETY: the caller's promise.
    let mr_part_attributes(all) = unsafe { shared(attributes, "the part attributes") }?;
    check_number(number as usize, all.len(), "part attribute")?;
    Ok(&all[number as usize])
}

/// The elements that the groups of a part attribute consist of.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_group_of {
    /// The whole mesh is group 0.
    Mesh = 0,
    /// Each part belongs to a group.
    Parts = 1,
    /// Each vertex belongs to a group.
    Vertices = 2,
}

/// Properties of a part attribute.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_part_attribute_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The number of values per group, 1 to 4.
    pub components: u32,
    /// The number of groups with values of their own.
    pub groups: u32,
    /// The elements that belong to groups: an `mr_group_of`.
    pub of: u32,
    /// The number of these elements.
    pub members: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_part_attribute_info {}

fn members(attribute: &PartAttribute) -> (mr_group_of, &[u32]) {
    match (attribute.part_groups(), attribute.vertex_groups()) {
        (Some(groups), _) => (mr_group_of::Parts, groups),
        (_, Some(groups)) => (mr_group_of::Vertices, groups),
        _ => (mr_group_of::Mesh, &[]),
    }
}

/// Writes the properties of a part attribute, and its name. `name` and `length` may both be null.
///
/// # Safety
/// `attributes` is from `mr_part_attributes_new`; `out` is as large as its `size` says; `name` is null or has
/// room for `capacity` bytes; `length` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_part_attribute_get(
    attributes: *const mr_part_attributes,
    number: u32,
    out: *mut mr_part_attribute_info,
    name: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let found = unsafe { attribute_of(attributes, number) }?;
        let (of, members) = members(found);
        let info = mr_part_attribute_info {
            size: 0,
            components: found.components() as u32,
            groups: found.groups() as u32,
            of: of as u32,
            members: members.len() as u32,
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }?;
        if name.is_null() && length.is_null() {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { fill_text(found.name(), name, capacity, length) }
    })
}

/// Writes the group of each part or vertex; an empty list if the whole mesh is one group.
///
/// # Safety
/// `attributes` is from `mr_part_attributes_new`; `out` is null or has room for `capacity` numbers; `count`
/// is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_part_attribute_groups(
    attributes: *const mr_part_attributes,
    number: u32,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let groups = members(unsafe { attribute_of(attributes, number) }?).1;
        // SAFETY: as above.
        unsafe { fill(groups, out, capacity, count) }
    })
}

/// Writes the values of all groups at a time: four numbers per group, unused ones 0; a table for a shader.
/// `capacity` and `count` are numbers of groups.
///
/// # Safety
/// `attributes` is from `mr_part_attributes_new`; `out` is null or has room for four numbers for each of
/// `capacity` groups; `count` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_part_attribute_table(
    attributes: *const mr_part_attributes,
    number: u32,
    pair: mr_pair,
    out: *mut f32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let found = unsafe { attribute_of(attributes, number) }?;
        let row = |group| found.values(group, pair.into());
        // SAFETY: as above.
        unsafe { fill_with(found.groups(), out.cast::<[f32; 4]>(), capacity, count, row) }
    })
}
