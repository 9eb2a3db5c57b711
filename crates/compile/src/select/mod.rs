//! What of a scene is compiled: which nodes, which frames, which meshes are the same.

pub mod between;
pub mod identical;
pub mod lead;
pub mod left_out;
pub mod ranges;
pub mod selection;
pub mod times;
pub mod unseen;
