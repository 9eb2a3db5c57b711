//! The policy of a scene for a cache, as data: stand-ins, streaming and LOD by distance, instancing lists,
//! switches. Nothing here draws, reads or allocates; equal inputs always give equal results.

mod draws;
mod instances;
mod lod;
#[cfg(test)]
mod tests;

pub use draws::{DrawGroup, MIN_INSTANCES, MeshFilter, PlacedMesh, group_draws, mesh_colour, name_matches};
pub use instances::{DebugSwitches, Decision, DrawChoice, InstanceState, Policy, StandIns};
pub use lod::{LodDistances, Projection};
