//! The policy of a scene for a cache, as data: stand-ins, streaming and LOD by distance, instancing lists,
//! switches. Nothing here draws, reads or allocates; equal inputs always give equal results.

mod draws;
mod instances;
mod lod;
#[cfg(test)]
mod tests;

pub use draws::{Filter, Group, INSTANCES, Placed, colour_of, group, name_matches};
pub use instances::{Draw, Policy, Situation, StandIns, Switches, Verdict};
pub use lod::{Lens, LodDistances};
