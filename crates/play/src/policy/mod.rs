//! What a scene decides about a cache, as data: stand-ins, streaming and LOD by distance, instancing lists,
//! switches. Nothing here draws, reads or allocates; the same questions always get the same answers.

mod draws;
mod instances;
mod lod;
#[cfg(test)]
mod tests;

pub use draws::{Filter, Group, INSTANCES, Placed, colour_of, group, name_matches};
pub use instances::{Draw, Policy, Situation, StandIns, Switches, Verdict};
pub use lod::{Lens, LodDistances};
