//! Pictures of meshes, made on the CPU: a z-buffer rasterizer, a stroke font, contact sheets, animations.

pub mod animation;
pub mod chart;
pub mod font;
pub mod frames;
pub mod grid;
pub mod image;
pub mod particles;
pub mod render;
pub mod sheet;
