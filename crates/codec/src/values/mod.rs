//! Values of vertices that are stored without a hierarchy of points: static values, and meshes whose faces
//! change. Used by all presets.

pub mod changing;
pub mod coding;
#[cfg(feature = "encode")]
pub(crate) mod cost;
#[cfg(feature = "encode")]
pub mod error_bound;
pub mod parallelogram;
pub mod particles;
pub mod residual;
#[cfg(feature = "encode")]
pub(crate) mod search;
mod semantic;
pub mod stream;
pub mod uvs;

pub use semantic::Semantic;
