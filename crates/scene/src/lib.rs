//! Files of digital content creation tools as one model: a tree of nodes with transforms, visibility and
//! meshes. Every value is a function of time that is read from the file only on demand.
//!
//! Conventions: seconds; the length unit of [`Scene::unit`], else metres; right-handed; matrices act on
//! column vectors (`world = parent_world * local`). This crate knows nothing of compression or of a runtime.

pub mod clip;
pub mod dual_quaternion;
pub mod error;
pub mod hidden;
mod lens;
pub mod locators;
pub mod merge;
pub mod model;
pub mod node_clip;
pub mod read;
pub mod rig;
pub mod sample;
mod transform;
mod trs;
mod uniform_times;
pub mod write;

pub use clip::{Clip, Joint, Marker, ScalarTrack, Skeleton, SubTrack, Track};
pub use error::{Error, Remark};
pub use lens::Lens;
pub use model::*;
pub use transform::{LocalTransform, Qvv};
