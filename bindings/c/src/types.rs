//! Plain structures shared by several functions.

use bytemuck::{Pod, Zeroable};
use meshreel::Transform;
use meshreel::time::FramePair;
use meshreel::view::IndexRange;

/// Stands for an absent number: the parent or mesh of a node without one, the parent of a root joint, or "all
/// materials".
pub const MR_NONE: u32 = 0xFFFF_FFFF;

/// A transform: a rotation (unit quaternion x y z w), a translation and a scale. It maps a point to rotation
/// · (scale ∘ point) + translation.
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

/// Returns the same list as the runtime's type.
pub(crate) fn transforms(list: &[mr_transform]) -> &[Transform] {
    bytemuck::cast_slice(list)
}

/// Returns the same list as the runtime's type.
pub(crate) fn transforms_mut(list: &mut [mr_transform]) -> &mut [Transform] {
    bytemuck::cast_slice_mut(list)
}

/// A range of indices, frames or words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct mr_range {
    /// The number of the first one.
    pub first: u32,
    /// The count; three indices per triangle.
    pub count: u32,
}

impl From<IndexRange> for mr_range {
    fn from(of: IndexRange) -> mr_range {
        mr_range { first: of.first, count: of.count }
    }
}

/// A time between two frames. `blend` is the weight of the second frame, 0 to below 1.
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

/// Returns the number, or `MR_NONE`.
pub(crate) fn or_none(number: Option<u32>) -> u32 {
    number.unwrap_or(MR_NONE)
}
