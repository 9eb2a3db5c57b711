//! Decodes units and static data into the buffers of frames, and gives access to the meshes in them.

pub(crate) mod bones;
pub(crate) mod chain;
pub(crate) mod classic;
pub(crate) mod decoder;
pub(crate) mod end_states;
pub(crate) mod fixed_point;
pub(crate) mod fluid;
pub(crate) mod frame_slots;
pub(crate) mod input;
pub(crate) mod matrix;
pub(crate) mod mesh;
pub(crate) mod node_transforms;
pub(crate) mod normals;
pub(crate) mod particles;
pub(crate) mod reel;
pub(crate) mod statics;
pub(crate) mod unit;
