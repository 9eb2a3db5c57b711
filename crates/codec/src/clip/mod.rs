//! Clips: transform tracks of a skeleton, sampled uniformly. The error is within the tolerance that the
//! encoder measured with these same functions.
//!
//! ```text
//! clip       = header (side information) · keys · sizes of the segments · segments
//! sub-track  default: the rest pose · constant: one value · animated: components, each with a residual k per sample
//! sample     = prediction from samples around it (order of samples) + Σ κ · step · axis        κ = k + the prediction of κ from other components
//! ```
//!
//! The files: [`crate::quantize::rotation`] has rotations in integers, [`step`] the step sizes of each joint,
//! [`schedule`] the order of samples, [`contexts`] and [`crate::entropy::symbols`] the coding of residuals,
//! [`header`] the header, [`streamed`] the smallest form, [`random_access`] the form that is read in place,
//! [`layer`] the layers that are streamed. The decoder computes in integers up to the pose, and the pose in
//! f32 by basic operations: the same bits on every machine. The choice of the residuals k is the compiler's;
//! any choice decodes.

pub mod contexts;
pub mod curve;
pub mod header;
pub mod layer;
mod layout;
mod node;
pub mod nodes;
mod prediction;
pub mod random_access;
pub mod record;
pub mod scalars;
pub mod schedule;
pub mod segments;
pub mod space;
pub mod step;
pub mod streamed;
mod tracks;

pub(crate) use tracks::fixed_point_rotation;
pub use tracks::{
    ClipHeader, ClipSplit, ComponentSource, MAX_JOINTS, MAX_SOURCES, NO_INDEX, RotationAxis,
    RotationSubTrack, Skeleton, SmallestThree, VectorSubTrack,
};
