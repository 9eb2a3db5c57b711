//! Tests readers and writers on valid and invalid files.

mod alembic_round_trip;
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
mod hierarchy;
mod hostile;
mod manifest;
mod support;
mod takes;
mod usd;
mod usd_clips;
mod usd_layers;
mod usd_paths;
mod usd_schemas;
mod write;
