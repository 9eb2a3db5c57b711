//! The methods for meshes: each makes coders, which are compared by the bytes that they take.

pub mod chain;
pub mod classic;
pub mod coder;
pub mod decoding_time;
pub mod estimate;
pub mod fluid;
pub mod lead_in_out;
pub mod mesh_coder;
pub mod normal_coder;
pub mod particles;
pub mod points;
pub mod quantize;
pub mod quantized;
pub mod resume;
pub mod skin;
pub mod uvs;
