//! The tree of nodes: motion, flattening, the tolerance of each placement, and the errors that the file's
//! transforms leave.

pub mod budget;
pub mod flatten;
pub mod locators;
pub mod matrix;
pub mod motion;
pub mod tracks;
pub mod transform_search;
