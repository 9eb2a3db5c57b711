//! Layouts of poses in memory: one transform after the other, one plane per component, or four or eight
//! joints side by side. The values are the same in each.

use super::{Mask, Query};
use crate::Error;
use meshreel_codec::clip::random_access::PoseSink;
use meshreel_codec::transform::Transform;

/// The caller's memory for a pose: `[Transform]`, [`PosePlanes`], or `[SoaTransforms<N>]`.
pub trait Pose {
    /// Returns the number of joints that it has room for.
    fn joint_capacity(&self) -> usize;
    /// `true` if any component of this joint is wanted.
    #[inline]
    fn wants(&self, joint: usize) -> bool {
        joint < self.joint_capacity()
    }
    /// Writes a rotation, x y z w.
    fn rotation(&mut self, joint: usize, value: [f32; 4]);
    /// Writes a translation, x y z.
    fn translation(&mut self, joint: usize, value: [f32; 3]);
    /// Writes a scale, x y z.
    fn scale(&mut self, joint: usize, value: [f32; 3]);

    /// Writes a whole transform.
    #[inline]
    fn set(&mut self, joint: usize, value: &Transform) {
        self.rotation(joint, value.rotation);
        self.translation(joint, value.translation);
        self.scale(joint, value.scale);
    }

    /// Writes one transform after the other, from the first joint on, as many as there is room for.
    #[inline]
    fn set_all(&mut self, values: &[Transform]) {
        for (joint, value) in values.iter().enumerate() {
            if self.wants(joint) {
                self.set(joint, value);
            }
        }
    }
}

impl Pose for [Transform] {
    fn joint_capacity(&self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn rotation(&mut self, joint: usize, value: [f32; 4]) {
        if let Some(out) = self.get_mut(joint) {
            out.rotation = value;
        }
    }
    #[inline(always)]
    fn translation(&mut self, joint: usize, value: [f32; 3]) {
        if let Some(out) = self.get_mut(joint) {
            out.translation = value;
        }
    }
    #[inline(always)]
    fn scale(&mut self, joint: usize, value: [f32; 3]) {
        if let Some(out) = self.get_mut(joint) {
            out.scale = value;
        }
    }
    #[inline]
    fn set(&mut self, joint: usize, value: &Transform) {
        if let Some(out) = self.get_mut(joint) {
            *out = *value;
        }
    }
    #[inline]
    fn set_all(&mut self, values: &[Transform]) {
        let n = self.len().min(values.len());
        self[..n].copy_from_slice(&values[..n]);
    }
}

/// A pose as one plane of values per component.
#[derive(Debug)]
pub struct PosePlanes<'a> {
    /// x y z w.
    pub rotation: [&'a mut [f32]; 4],
    /// x y z.
    pub translation: [&'a mut [f32]; 3],
    /// x y z.
    pub scale: [&'a mut [f32]; 3],
}

/// Writes the components of one joint.
#[inline(always)]
fn write<const N: usize>(planes: &mut [&mut [f32]; N], at: usize, value: [f32; N]) {
    for (plane, value) in planes.iter_mut().zip(value) {
        if let Some(out) = plane.get_mut(at) {
            *out = value;
        }
    }
}

impl Pose for PosePlanes<'_> {
    fn joint_capacity(&self) -> usize {
        let planes = self.rotation.iter().chain(&self.translation);
        let lengths = planes.chain(&self.scale).map(|plane| plane.len());
        lengths.min().unwrap_or(0)
    }
    #[inline(always)]
    fn rotation(&mut self, joint: usize, value: [f32; 4]) {
        write(&mut self.rotation, joint, value);
    }
    #[inline(always)]
    fn translation(&mut self, joint: usize, value: [f32; 3]) {
        write(&mut self.translation, joint, value);
    }
    #[inline(always)]
    fn scale(&mut self, joint: usize, value: [f32; 3]) {
        write(&mut self.scale, joint, value);
    }
}

/// The transforms of `N` joints side by side, a register per component: joint j is lane j mod N of item j /
/// N.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoaTransforms<const N: usize> {
    /// x y z w.
    pub rotation: [[f32; N]; 4],
    /// x y z.
    pub translation: [[f32; N]; 3],
    /// x y z.
    pub scale: [[f32; N]; 3],
}

impl<const N: usize> SoaTransforms<N> {
    /// The transforms that change nothing.
    pub const IDENTITY: SoaTransforms<N> = SoaTransforms {
        rotation: [[0.0; N], [0.0; N], [0.0; N], [1.0; N]],
        translation: [[0.0; N]; 3],
        scale: [[1.0; N]; 3],
    };

    /// Returns the number of items for `joints` joints.
    #[must_use]
    pub fn item_count(joints: usize) -> usize {
        joints.div_ceil(N)
    }

    /// Returns the transform of a lane.
    #[must_use]
    pub fn lane(&self, lane: usize) -> Transform {
        Transform {
            rotation: self.rotation.map(|row| row[lane]),
            translation: self.translation.map(|row| row[lane]),
            scale: self.scale.map(|row| row[lane]),
        }
    }
}

impl<const N: usize> Pose for [SoaTransforms<N>] {
    fn joint_capacity(&self) -> usize {
        N * self.len()
    }
    #[inline(always)]
    fn rotation(&mut self, joint: usize, value: [f32; 4]) {
        if let Some(out) = self.get_mut(joint / N) {
            for (row, value) in out.rotation.iter_mut().zip(value) {
                row[joint % N] = value;
            }
        }
    }
    #[inline(always)]
    fn translation(&mut self, joint: usize, value: [f32; 3]) {
        if let Some(out) = self.get_mut(joint / N) {
            for (row, value) in out.translation.iter_mut().zip(value) {
                row[joint % N] = value;
            }
        }
    }
    #[inline(always)]
    fn scale(&mut self, joint: usize, value: [f32; 3]) {
        if let Some(out) = self.get_mut(joint / N) {
            for (row, value) in out.scale.iter_mut().zip(value) {
                row[joint % N] = value;
            }
        }
    }
}

/// A single joint's local transform, and whether it comes from the clip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointPose {
    /// Local transform.
    pub local: Transform,
    /// `true` if the joint's layer is not in memory, so that this is the bind pose.
    pub bind: bool,
}

/// A pose of which possibly only some joints are wanted.
pub(super) struct MaskedPose<'a, P: ?Sized> {
    pub mask: Option<&'a Mask>,
    pub pose: &'a mut P,
}

impl<P: Pose + ?Sized> PoseSink for MaskedPose<'_, P> {
    #[inline(always)]
    fn wants(&self, joint: usize) -> bool {
        self.mask.is_none_or(|mask| mask.contains(joint))
    }
    #[inline(always)]
    fn wants_all(&self) -> bool {
        self.mask.is_none()
    }
    #[inline(always)]
    fn rotation(&mut self, joint: usize, value: [f32; 4]) {
        self.pose.rotation(joint, value);
    }
    #[inline(always)]
    fn translation(&mut self, joint: usize, value: [f32; 3]) {
        self.pose.translation(joint, value);
    }
    #[inline(always)]
    fn scale(&mut self, joint: usize, value: [f32; 3]) {
        self.pose.scale(joint, value);
    }
}

/// One joint of a pose.
pub(super) struct SingleJoint {
    pub joint: usize,
    pub value: Transform,
}

impl Pose for SingleJoint {
    fn joint_capacity(&self) -> usize {
        usize::MAX
    }
    fn wants(&self, joint: usize) -> bool {
        joint == self.joint
    }
    fn rotation(&mut self, joint: usize, value: [f32; 4]) {
        if joint == self.joint {
            self.value.rotation = value;
        }
    }
    fn translation(&mut self, joint: usize, value: [f32; 3]) {
        if joint == self.joint {
            self.value.translation = value;
        }
    }
    fn scale(&mut self, joint: usize, value: [f32; 3]) {
        if joint == self.joint {
            self.value.scale = value;
        }
    }
}

/// Returns an error if a pose does not have room for all joints.
pub(super) fn check_capacity(pose: &(impl Pose + ?Sized), joints: usize) -> Result<(), Error> {
    match pose.joint_capacity() >= joints {
        true => Ok(()),
        false => Err(Error::misuse(format!(
            "room for {} transforms in a pose of {joints} joints",
            pose.joint_capacity()
        ))),
    }
}

/// Writes those of `values` that are wanted.
#[inline]
pub(super) fn write_selected(values: &[Transform], query: &Query<'_>, pose: &mut (impl Pose + ?Sized)) {
    if query.mask.is_none() {
        return pose.set_all(values);
    }
    for (j, value) in values.iter().enumerate() {
        if query.wants(j) && pose.wants(j) {
            pose.set(j, value);
        }
    }
}
