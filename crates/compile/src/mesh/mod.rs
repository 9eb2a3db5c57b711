//! Meshes between source and codec: the first pass over each, the values of any frame, and the streams made
//! of them.

pub mod analysis;
pub mod budgets;
pub mod fluid;
pub mod layout;
pub mod particles;
pub mod patch;
pub mod plan;
pub mod prepared;
pub mod skin_search;
pub mod source;
pub mod streams;
