//! What a file says of itself: its description, the way back to the source, attributes of parts, cameras, named ranges.

pub mod attributes;
pub mod cameras;
mod description;
mod fields;
mod mesh;
pub mod ranges;
pub mod source_faces;
pub mod source_map;

pub use description::*;
pub use fields::Refused;
pub use mesh::*;
