//! Tests readers on valid and invalid files.

mod bvh;
mod corpus;
mod difference;
#[cfg(feature = "fbx")]
mod fbx;
mod files;
mod glb_builder;
mod gltf;
mod gltf_bad;
mod gltf_extensions;
mod hdf5_equals_ogawa;
mod hostile;
mod manifest;
mod support;
mod takes;
mod walk;
