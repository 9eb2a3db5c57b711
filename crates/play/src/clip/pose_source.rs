//! What every form of a clip can be asked: how long it is, and for poses at any time.

use super::pose::{JointPose, Pose};
use super::query::{Query, Repeats, Rounding};
use super::root_motion::{Extract, delta};
use crate::Error;
use meshreel_codec::clip::record::SkeletonRecord;
use meshreel_codec::transform::Transform;

/// A clip, in whatever form: one of a file ([`super::Clip`]), one in the random-access form for which no cursor
/// is needed ([`super::RandomAccessClip`]), or one of a database whose tiers come and go ([`super::DatabaseClip`]). Sampling
/// allocates nothing.
///
/// ```
/// use meshreel::clip::{PoseSource, Query};
/// use meshreel::{Error, Transform};
///
/// /// The pose in the middle of a clip.
/// fn middle(clip: &impl PoseSource, pose: &mut [Transform]) -> Result<(), Error> {
///     let mut cursor = clip.cursor();
///     clip.pose(&mut cursor, &Query::at(clip.duration() / 2.0), pose)
/// }
/// ```
pub trait PoseSource {
    /// A place in the clip, with the memory that playing it needs; `()` for a form that needs none.
    type Cursor;

    /// Name; empty where none was given.
    fn name(&self) -> &str;
    /// Its skeleton: names, parents, default pose.
    fn skeleton(&self) -> &SkeletonRecord;
    /// Number of samples, at least 1.
    fn samples(&self) -> usize;
    /// Samples per second.
    fn fps(&self) -> f64;
    /// The layer of a joint: 0 the base, others cosmetic; 0 where there are no layers. `None`: there is no
    /// such joint.
    fn cosmetic_level(&self, joint: usize) -> Option<u8>;
    /// Allocates all that playing the clip needs.
    fn cursor(&self) -> Self::Cursor;

    /// Local transforms of the joints that `query` wants. A layer or a tier that is not there is left out: its
    /// joints stand in the bind pose, or are less exact. Allocates nothing.
    fn pose(
        &self,
        cursor: &mut Self::Cursor,
        query: &Query<'_>,
        pose: &mut (impl Pose + ?Sized),
    ) -> Result<(), Error>;

    /// The local transform of one joint, and whether its layer is there: where it is not, this is the bind
    /// pose. Of layers only its own is decoded; elsewhere the others of its sample may be too, and are there
    /// when they are asked for. Allocates nothing.
    fn joint(&self, cursor: &mut Self::Cursor, joint: usize, query: &Query<'_>) -> Result<JointPose, Error>;

    /// Number of joints: the length of a pose.
    fn joints(&self) -> usize {
        self.skeleton().parents.len()
    }

    /// Seconds from first to last sample.
    fn duration(&self) -> f64 {
        (self.samples() - 1) as f64 / self.fps()
    }

    /// Local transforms of all joints `seconds` after the first sample, into `pose`, one per joint. Allocates
    /// nothing.
    fn sample(
        &self,
        cursor: &mut Self::Cursor,
        seconds: f64,
        repeats: Repeats,
        rounding: Rounding,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        let query = Query { repeats, ..Query::at(seconds).rounded(rounding) };
        self.pose(cursor, &query, pose)
    }

    /// How joint `joint` moves from `from` to `to`, seconds after the first sample; `to` may be the smaller,
    /// and with [`Repeats::Wrap`] any number of loops away. Scale is 1. Deltas of consecutive steps multiply
    /// up to that of all of them. Allocates nothing.
    ///
    /// ```no_run
    /// # use meshreel::clip::{Clip, ClipCursor};
    /// # fn tick(walk: &Clip, at: &mut ClipCursor, from: f64, to: f64) -> Result<(), meshreel::Error> {
    /// use meshreel::clip::{Extract, PoseSource, Repeats};
    ///
    /// let ground = Extract::Planar { up: [0.0, 1.0, 0.0] };
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
        extract: Extract,
    ) -> Result<Transform, Error> {
        let clip = (self.samples(), self.fps());
        delta(clip, (from, to), repeats, extract, |seconds| {
            self.joint(cursor, joint, &Query::at(seconds)).map(|j| j.local)
        })
    }
}

/// Refuses a joint that there is not.
pub(super) fn check_joint(joint: usize, joints: usize) -> Result<(), Error> {
    match joint < joints {
        true => Ok(()),
        false => Err(Error::misuse(format!("joint {joint} of {joints}"))),
    }
}
