//! Evaluates the source at a time: the one place that defines its interpolation, its frame times, and what is
//! visible. The compiler and the check both call this, so that they agree.
//!
//! * An interpolation that the file defines between samples counts: joints that turn carry skins on curves,
//!   cubic keys bend (`Source::between`).
//! * Otherwise positions, uvs, colours, normals: linear between samples of equal topology, else the earlier
//!   sample holds; for particles with ids this applies to each id that the later sample lacks.
//! * Otherwise transforms: translation and scale linear, rotation by slerp, if the file has these; so too for
//!   matrices if both decompose without shear and have the same handedness, else linear by element.
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
