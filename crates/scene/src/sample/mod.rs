//! What the source is at a time: the one place that says how it is interpolated, which times become frames,
//! and what is visible. Whoever compiles and whoever checks must mean the same source, so both ask here.
//!
//! * What a file says of the time between samples counts: joints that turn carry skins on curves, cubic keys
//!   bend (`Source::between`).
//! * Else positions, uvs, colours, normals: linear between samples of equal topology, else the earlier sample
//!   holds; of particles with ids that of each id which the later sample has not.
//! * Else transforms: translation and scale linear, rotation by slerp, where the file has these; matrices as
//!   well where both are such and of one handedness, else linear by element.
//! * Visibility, topology, face sets: the earlier sample holds.
mod frames;
mod transforms;
mod values;

pub use frames::{Channels, FrameOptions, LONG, MAX_FRAMES, Range, WORTH, frame_ranges, frame_times};
pub use transforms::{World, bends, interpolate, is_step, just_before, largest_scale, transform_at};
pub use values::{
    Faces, LARGEST, Mix, Values, attribute_at, by_point, curves_at, custom_attributes, element_count,
    faces_at, fixed_topology, follow, held, ids_at, lens_at, lenses_at, pose_at, positions_at,
    topology_identity, usable, velocities_at,
};
