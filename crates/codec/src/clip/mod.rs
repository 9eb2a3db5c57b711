//! Clips: transform tracks of a skeleton, sampled uniformly. Within the tolerance that the encoder measured
//! with these same functions.
//!
//! ```text
//! clip       = header (side information) · keys · sizes of the segments · segments
//! sub-track  default: the rest pose · constant: one value · animated: components, each a residual k per sample
//! sample     = prediction from samples around (`schedule`) + Σ κ · step · axis        κ = k + what other components' κ say of it
//! ```
//!
//! One file per part: [`crate::quantize::rotation`] integers that turn, [`step`] how finely each joint is
//! kept, [`schedule`] the order of samples, [`crate::entropy::symbols`] residuals as bits, [`header`],
//! [`streamed`] the smallest form, [`random_access`] the form that is read where it lies, [`layer`] parts of
//! a clip that come and go. What a decoder computes is integer up to the pose, and the pose is f32 by basic
//! operations: the same bits on every machine. The encoder's choices (which k) are the compiler's; any choice
//! decodes.

pub mod curve;
pub mod header;
pub mod layer;
mod node;
pub mod nodes;
mod plan;
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

pub(crate) use tracks::fixed;
pub use tracks::{
    Axis, Header, MAX_JOINTS, NONE, Rotation, SOURCES, Skeleton, SmallestThree, Source, Split, Vector,
};
