//! Readers: one file or folder per format. [`open`](open()) detects the format from content and name.

pub mod alembic;
pub mod bvh;
#[cfg(feature = "fbx")]
pub mod fbx;
pub mod gltf;
mod in_between;
mod joints;
mod lines;
mod mdd;
mod number;
pub mod obj;
mod open;
pub mod openvat;
mod options;
mod parsed_mesh;
mod pc2;
pub mod ply;
mod point_cache;
pub mod points;
pub mod positioned;
pub mod sequence;
mod skinning;
mod sparse;
pub mod usd;

pub use open::{is_sequence, open};
pub use options::ReadOptions;
pub(crate) use parsed_mesh::{ToBytes, content_identity};
