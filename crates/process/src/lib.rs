//! Processing of geometry as plain data: splitting and ordering of vertices, triangle visibility, parts,
//! bones, LOD. Nothing here depends on bytes, codecs or files.

pub mod angle;
pub mod attributes;
pub mod bones;
pub mod cancellation;
pub mod error;
pub mod extent;
pub mod faces;
pub mod frame_set;
pub mod hash;
pub mod lod;
pub mod materials;
pub mod normals;
pub mod order;
pub mod parts;
pub mod remesh;
pub mod repeats;
pub mod split;
pub mod tangents;
pub mod triangulate;
pub mod trs;
pub mod visibility;
mod weld;

pub use cancellation::{Cancellation, Cancelled};
pub use error::Error;
