//! Readers of files of content creation tools: one file or folder per format, USD in a crate of its own.
//! [`open`](open()) detects the format from content and name.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod alembic;
pub mod bvh;
#[cfg(feature = "fbx")]
pub mod fbx;
pub mod gltf;
mod joints;
mod lines;
mod mdd;
pub mod obj;
mod open;
pub mod openvat;
mod options;
mod parsed_mesh;
mod pc2;
pub mod ply;
mod point_cache;
pub mod points;
pub mod sequence;

pub use open::{is_sequence, open};
pub use options::ReadOptions;
