//! Records about the file as a whole: description, source map, part attributes, cameras, named ranges.

pub mod attributes;
pub mod cameras;
mod description;
mod fields;
mod mesh;
pub mod ranges;
pub mod source_faces;
pub mod source_map;

pub use description::*;
pub use fields::DescriptionError;
pub use mesh::*;
