//! Writes the file: static chunks, frames in parallel and in order, then data that is known at the end.

pub mod classic;
pub mod clips;
pub mod extras;
pub mod file;
pub mod job;
pub mod lod;
pub mod node_coder;
pub mod node_frames;
mod node_shapes;
pub mod node_units;
pub mod part_attributes;
pub mod report;
pub mod units;
pub mod visibility;
