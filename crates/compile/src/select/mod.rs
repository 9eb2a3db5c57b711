//! The selection from a scene: nodes, frames, and which meshes are identical.

pub mod between;
pub mod identical;
pub mod left_out;
pub mod selection;
pub mod times;
