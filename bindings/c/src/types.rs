//! Plain structures that several functions share.

use bytemuck::{Pod, Zeroable};
use meshreel::Transform;
use meshreel::time::FramePair;
use meshreel::view::IndexRange;

/// No number: a node without a parent or mesh, a joint without a parent, all materials.
pub const MR_NONE: u32 = 0xFFFF_FFFF;

/// Rotation x y z w, of length 1, translation and scale: point to rotation · (scale ∘ point) + translation.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[allow(missing_docs)]
pub struct mr_transform {
    pub rotation: [f32; 4],
    pub translation: [f32; 3],
    pub scale: [f32; 3],
}

const _: () = assert!(size_of::<mr_transform>() == size_of::<Transform>());

impl From<Transform> for mr_transform {
    fn from(of: Transform) -> mr_transform {
        mr_transform { rotation: of.rotation, translation: of.translation, scale: of.scale }
    }
}

/// The same list as the runtime calls it.
pub(crate) fn transforms(list: &[mr_transform]) -> &[Transform] {
    bytemuck::cast_slice(list)
}

/// The same list as the runtime calls it.
pub(crate) fn transforms_mut(list: &mut [mr_transform]) -> &mut [Transform] {
    bytemuck::cast_slice_mut(list)
}

/// A range of a list of indices.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct mr_range {
    /// The first index.
    pub first: u32,
    /// How many: three per triangle.
    pub count: u32,
}

impl From<IndexRange> for mr_range {
    fn from(of: IndexRange) -> mr_range {
        mr_range { first: of.first, count: of.count }
    }
}

/// A moment: two frames, and how far from the first to the second, 0 to below 1.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct mr_pair {
    pub first: u32,
    pub second: u32,
    pub blend: f32,
}

impl From<FramePair> for mr_pair {
    fn from(of: FramePair) -> mr_pair {
        mr_pair { first: of.first, second: of.second, blend: of.blend }
    }
}

impl From<mr_pair> for FramePair {
    fn from(of: mr_pair) -> FramePair {
        FramePair { first: of.first, second: of.second, blend: of.blend }
    }
}

/// A number that may not be there.
pub(crate) fn or_none(number: Option<u32>) -> u32 {
    number.unwrap_or(MR_NONE)
}
