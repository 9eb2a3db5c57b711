//! Files of digital content creation tools as one model: a tree of nodes with transforms, visibility and
//! meshes. Every value is a function of time that is read from the file only on demand.
//!
//! Conventions: seconds; the length unit of [`Scene::unit`], else metres; right-handed; matrices act on
//! column vectors (`world = parent_world * local`).
//!
//! This crate opens no files, and knows nothing of compression or of a runtime. The crate `meshreel-read`
//! makes scenes of files, `meshreel-write` files of scenes; what several of their formats share is here.

pub mod clip;
pub mod dual_quaternion;
pub mod error;
pub mod hidden;
pub mod identity;
pub mod in_between;
pub mod layout;
mod lens;
pub mod locators;
pub mod merge;
pub mod model;
pub mod node_clip;
pub mod number;
pub mod rig;
pub mod sample;
pub mod skinning;
mod transform;
pub mod trs;
pub mod uniform_times;

pub use clip::{Clip, Joint, Marker, ScalarTrack, Skeleton, SubTrack, Track};
pub use error::{Error, Remark};
pub use lens::{Lens, MAX_CLIPPING_DISTANCE};
pub use model::*;
pub use transform::{LocalTransform, Qvv};
