//! The interface that all forms of a clip share: its length, and its poses at any time.

use super::pose::{JointPose, Pose};
use super::query::{Query, Repeats, Rounding};
use super::root_motion::{RootMotion, delta};
use crate::Error;
use meshreel_codec::clip::record::SkeletonRecord;
use meshreel_codec::transform::Transform;

/// A clip of any form: one of a file ([`super::Clip`]), one in the random-access form, which needs no cursor
/// ([`super::RandomAccessClip`]), or one of a database whose tiers are streamed ([`super::DatabaseClip`]).
/// Sampling does not allocate.
///
/// ```
/// use meshreel::clip::{PoseSource, Query};
/// use meshreel::{Error, Transform};
///
/// /// The pose in the middle of a clip.
/// fn middle(clip: &impl PoseSource, pose: &mut [Transform]) -> Result<(), Error> {
///     let mut cursor = clip.cursor();
///     clip.pose(&mut cursor, &Query::new(clip.duration() / 2.0), pose)
/// }
/// ```
pub trait PoseSource {
    /// A place in the clip, with the memory that playing it needs; `()` for a form that needs none.
    type Cursor;

    /// Returns its name; empty if it has none.
    fn name(&self) -> &str;
    /// Returns its skeleton: names, parents, rest pose.
    fn skeleton(&self) -> &SkeletonRecord;
    /// Returns the number of samples, at least 1.
    fn samples(&self) -> usize;
    /// Returns the samples per second.
    fn fps(&self) -> f64;
    /// Returns the layer of a joint: 0 for the base, others are cosmetic; 0 if there are no layers. `None` if
    /// there is no such joint.
    fn joint_layer(&self, joint: usize) -> Option<u8>;
    /// Allocates everything that playing the clip needs.
    fn cursor(&self) -> Self::Cursor;

    /// Writes the local transforms of the joints that `query` selects. A layer or tier that is not in memory
    /// is left out: its joints are in the bind pose, or less exact. Does not allocate.
    fn pose(
        &self,
        cursor: &mut Self::Cursor,
        query: &Query<'_>,
        pose: &mut (impl Pose + ?Sized),
    ) -> Result<(), Error>;

    /// Returns the local transform of one joint, and whether its layer is in memory; if not, it is the bind
    /// pose. Of a clip in layers only the joint's layer is decoded; otherwise the other joints of the sample
    /// may be decoded too and are kept for later queries. Does not allocate.
    fn joint(&self, cursor: &mut Self::Cursor, joint: usize, query: &Query<'_>) -> Result<JointPose, Error>;

    /// Returns the number of joints, which is the length of a pose.
    fn joints(&self) -> usize {
        self.skeleton().parents.len()
    }

    /// Returns the seconds from the first to the last sample.
    fn duration(&self) -> f64 {
        (self.samples() - 1) as f64 / self.fps()
    }

    /// Writes the local transforms of all joints `seconds` after the first sample into `pose`, one per joint.
    /// Does not allocate.
    fn sample(
        &self,
        cursor: &mut Self::Cursor,
        seconds: f64,
        repeats: Repeats,
        rounding: Rounding,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        let query = Query { repeats, ..Query::new(seconds).rounded(rounding) };
        self.pose(cursor, &query, pose)
    }

    /// Returns the motion of joint `joint` from `from` to `to`, in seconds after the first sample; `to` may
    /// be smaller than `from` and, with [`Repeats::Wrap`], any number of loops away. The scale of the result
    /// is 1. The product of the deltas of consecutive steps is the delta of all of them. Does not allocate.
    ///
    /// ```no_run
    /// # use meshreel::clip::{Clip, ClipCursor};
    /// # fn tick(walk: &Clip, at: &mut ClipCursor, from: f64, to: f64) -> Result<(), meshreel::Error> {
    /// use meshreel::clip::{PoseSource, Repeats, RootMotion};
    ///
    /// let ground = RootMotion::Planar { up: [0.0, 1.0, 0.0] };
    /// let step = walk.root_motion(at, 0, (from, to), Repeats::Wrap, ground)?;
    /// // character = character · step
    /// # let _ = step;
    /// # Ok(())
    /// # }
    /// ```
    fn root_motion(
        &self,
        cursor: &mut Self::Cursor,
        joint: usize,
        (from, to): (f64, f64),
        repeats: Repeats,
        extract: RootMotion,
    ) -> Result<Transform, Error> {
        let clip = (self.samples(), self.fps());
        delta(clip, (from, to), repeats, extract, |seconds| {
            self.joint(cursor, joint, &Query::new(seconds)).map(|j| j.local)
        })
    }
}

/// Returns an error for a joint that does not exist.
pub(super) fn check_joint(joint: usize, joints: usize) -> Result<(), Error> {
    match joint < joints {
        true => Ok(()),
        false => Err(Error::misuse(format!("joint {joint} of {joints}"))),
    }
}
