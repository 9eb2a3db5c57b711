//! Rigs that are kept beside the frames of a mesh, and clips as fine as they ask for.

pub mod candidates;
pub mod clips;
