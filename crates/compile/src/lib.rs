//! Scenes into `.reel` files. The passes, in order, are listed in [`plan`]; `Options` say what is promised,
//! [`Report`] what came out. Before a frame is written it is decoded again by the functions the player uses,
//! and measured.

mod attributes;
mod between;
mod cells;
pub mod clip;
mod cull;
mod detail;
pub mod encode;
pub mod error;
pub mod evaluate;
pub mod extract;
mod fineness;
pub mod flatten;
pub mod fluid;
pub mod fluid_units;
mod heights;
pub mod identical;
mod layered;
mod left_out;
mod levels;
mod locators;
pub mod mesh;
mod meter;
pub mod motion;
mod node_frames;
mod nodes;
pub mod options;
pub mod pipeline;
pub mod plan;
mod predicted;
pub mod prepare;
mod ranges;
mod remesh;
pub mod report;
mod rig;
mod sample;
mod selection;
mod skin;
mod source_maps;
mod still;
pub mod streams;
mod units;
mod write;

pub use between::Found as Between;
pub use error::Error;
pub use options::{
    BetweenChoice, ClipChoice, CodecChoice, CurveChoice, JointOverride, LayerChoice, LocalRule, MeshOverride,
    MethodChoice, Options, PartsChoice, Preset, RigChoice, Tolerance, TransformForm,
};
pub use plan::compile;
pub use remesh::Remeshed;
pub use report::{
    ClipReport, Detailed, Heaviest, Inspect, Measures, MeshReport, Phase, Progress, Report, Rest, RigReport,
    Silent, Spikes, Tried,
};
