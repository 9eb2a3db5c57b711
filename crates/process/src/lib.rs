//! What is done to geometry, in plain data: which vertex becomes which, an interval per triangle, a transform
//! of its own. Nothing here knows of bytes, codecs or files.

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
