//! Rigs that are kept beside the frames of a mesh, and clips as fine as these need.

pub mod candidates;
pub mod clips;
