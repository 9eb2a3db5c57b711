//! Views of decoded frames as buffers that engines upload: interpolated frames, vertices, posed rigs, part
//! attributes.

pub(crate) mod cameras;
pub(crate) mod frame_view;
pub(crate) mod interpolate;
pub mod packed;
pub(crate) mod part_attributes;
pub mod raw;
pub(crate) mod rig;
pub(crate) mod shown_frames;
pub(crate) mod vertex;
