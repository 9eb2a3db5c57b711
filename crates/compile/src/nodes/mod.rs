//! The tree of nodes: what moves, which nodes are left, what each placement was promised, and what the file's
//! transforms make of it.

pub mod budget;
pub mod content;
pub mod flatten;
pub mod locators;
pub mod matrix;
pub mod motion;
pub mod search;
pub mod tracks;
