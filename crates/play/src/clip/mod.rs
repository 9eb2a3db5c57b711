//! Clips at run time: poses at any time, from the streamed form, the random-access form or the curve form.
//!
//! [`PoseSource`] is the interface that all forms of a clip share. [`Clip`] is an opened clip, [`ClipCursor`]
//! the memory of one place in it. A cursor keeps the segment that was decoded last (for curves the last keys
//! of each sub-track), so forward playback decodes each segment once, and nothing is allocated after the
//! first sample. Poses are local transforms, one per joint; [`object_space`] computes object-space matrices
//! from them.
//!
//! ```no_run
//! use meshreel::clip::{ClipCursor, PoseSource, Repeats, Rounding};
//! use meshreel::{Limits, Reel, Transform};
//!
//! # fn main() -> Result<(), meshreel::Error> {
//! let clips = Reel::open("walk.reel", &Limits::default())?.clips()?;
//! let clip = &clips[0];
//! let mut cursor = ClipCursor::new(clip);
//! let mut pose = vec![Transform::IDENTITY; clip.joints()];
//! clip.sample(&mut cursor, 0.25, Repeats::Wrap, Rounding::None, &mut pose)?;
//! # Ok(())
//! # }
//! ```

mod additive;
mod blend;
mod database;
mod database_clip;
mod events;
mod layer;
mod open;
mod pose;
mod pose_source;
mod query;
mod random_access;
mod root_motion;
mod scalars;
mod streamed;

pub use additive::Additive;
pub use blend::{blend, blend_masked, object_joint, object_space, object_space_masked};
pub use database::{Database, DatabaseOptions, LayerTier, LayerTierState, TickReport};
pub use database_clip::{DatabaseClip, DatabaseCursor};
pub use events::{PassedMarker, PassedMarkers, passed_markers};
pub use layer::LayerInfo;
pub use meshreel_codec::clip::record::{ClipCodec, ClipRecord, SkeletonRecord};
pub use meshreel_codec::clip::scalars::{Marker, ScalarComponent, ScalarTrack};
pub use pose::{JointPose, Pose, PosePlanes, SoaTransforms};
pub use pose_source::PoseSource;
pub use query::{Mask, Query, Repeats, Rounding, importance};
pub use random_access::RandomAccessClip;
pub use root_motion::RootMotion;
pub use streamed::{Clip, ClipCursor};
