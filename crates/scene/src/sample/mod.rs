//! Evaluates the source at a time: the one place that defines its interpolation, its frame times, and what is
//! visible. The compiler and the check both call this, so that they agree.
//!
//! * An interpolation that the file defines between samples counts: joints that turn carry skins on curves,
//!   cubic keys bend (`Source::read_between`).
//! * Otherwise positions, uvs, colours, normals: linear between samples of equal topology, else the earlier
//!   sample holds; for particles with ids this applies to each id that the later sample lacks.
//! * Otherwise transforms: translation and scale linear, rotation by slerp, if the file has these; so too for
//!   matrices if both decompose without shear and have the same handedness, else linear by element.
//! * Visibility, topology, face sets: the earlier sample holds.
mod frames;
pub mod sparse;
mod transforms;
mod values;

pub use frames::{
    ChannelSelection, FrameOptions, LONG_ANIMATION_FRAMES, MAX_FRAMES, MIN_FRAME_REDUCTION, TimeRange,
    frame_ranges, frame_times,
};
pub use transforms::{
    World, has_own_interpolation, interpolate, is_step, largest_scale, last_time_before, transform_at,
};
pub use values::{
    AttributeValues, Faces, Lerp, MAX_COORDINATE, attribute_at, curves_at, custom_attributes, element_count,
    faces_at, has_fixed_topology, ids_at, is_usable_point, lens_at, lenses_at, pose_at, positions_at,
    read_held, topology_identity, values_by_point, velocities_at, with_position_times,
};
