//! Clips at run time: poses at any time, from any codec.
//!
//! A [`Clip`] is what was opened, a [`ClipCursor`] a place in it with the memory that playing it needs. A
//! [`Query`] is a time, how times between samples and beyond the ends are treated, and the joints that are
//! wanted. Poses are local transforms, one per joint; [`object_space`] computes object-space matrices from
//! them.
//!
//! ```no_run
//! use meshreel::clip::Query;
//! use meshreel::{Limits, Reel, Transform};
//!
//! # fn main() -> Result<(), meshreel::Error> {
//! let clips = Reel::open("walk.reel", &Limits::default())?.clips()?;
//! let mut cursor = clips[0].cursor();
//! let mut pose = vec![Transform::IDENTITY; clips[0].joints()];
//! cursor.pose(&Query::new(0.25).wrapped(), &mut pose[..])?;
//! # Ok(())
//! # }
//! ```

mod additive;
mod blend;
mod cursor;
mod database;
mod events;
mod layer;
mod open;
mod opened;
mod pose;
mod query;
mod random_access;
mod root_motion;
mod scalars;

pub use additive::Additive;
pub use blend::{blend, blend_masked, object_joint, object_space, object_space_masked};
pub use cursor::ClipCursor;
pub use database::{Database, DatabaseOptions, LayerTier, LayerTierState, TickReport};
pub use events::{PassedMarker, PassedMarkers, passed_markers};
pub use layer::LayerInfo;
pub use meshreel_codec::clip::record::{ClipCodec, ClipRecord, SkeletonRecord};
pub use meshreel_codec::clip::scalars::{Marker, ScalarComponent, ScalarTrack};
pub use opened::Clip;
pub use pose::{JointPose, Pose, PosePlanes, SoaTransforms};
pub use query::{Mask, Query, Repeats, Rounding, importance};
pub use root_motion::RootMotion;

/// The name of clips that do not come from a file, for errors.
const IN_MEMORY: &str = "(memory)";
