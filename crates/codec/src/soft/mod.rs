//! The soft codec: vertex animation of constant topology, predicted in time and space.

pub mod hierarchy;
pub mod weights;
