//! A decoded file as a [`Scene`](meshreel_scene::Scene), which `extract` writes and which can be compared
//! with the source.
//!
//! Meshes have the source's points and polygons if the file has its source map, else vertices and triangles.
//! Fluid meshes are vertices and triangles, frame by frame. Values are decoded when they are read.

mod cameras;
mod clip;
pub mod convert;
mod faces;
mod frames;
mod objects;
mod part_attributes;
mod parts;
mod rig;
mod scene;
mod shared;
mod skin;
pub mod skinning;

pub use faces::FaceForm;
pub use scene::{to_scene, to_scene_at_lod, to_scene_with_bones, to_scene_with_faces};
pub use shared::BoneForm;
pub use skin::{SkinError, skin_errors};
