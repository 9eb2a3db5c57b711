//! Values of vertices that are kept without a hierarchy of points: what stands still, and meshes whose faces
//! change. Used by all presets.

pub mod changing;
pub(crate) mod cost;
pub mod error_bound;
pub mod parallelogram;
pub mod residual;
pub(crate) mod search;
mod semantic;
pub mod stream;

pub use semantic::Semantic;
