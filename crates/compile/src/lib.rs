//! Compiles scenes into `.reel` files. [`plan`] lists the passes in order; the guarantees are the options of
//! `meshreel_options`, and [`Report`] holds the outcome. Before a frame is written it is decoded again by the
//! functions that the player uses, and measured.

pub mod advice;
pub mod clip;
mod codec_terms;
mod context;
mod decisions;
pub mod error;
pub mod farm;
pub mod mesh;
mod meter;
mod method;
mod nodes;
pub mod plan;
pub mod report;
mod rig;
mod select;
mod threads;
mod write;

pub use context::Tightening;
pub use error::Error;
pub use meshreel_process::Cancellation;
pub use meshreel_process::remesh::Remeshed;
pub use plan::Finished;
pub use plan::{compile, compile_unnamed};
pub use report::{
    BetweenFrames, BoneMeasures, ClipReport, HeaviestPart, HiddenReport, HiddenTriangles, Inspect, LodReport,
    LodReports, MeshReport, PartAttributeReport, PartAttributeReports, PassReport, Phase, Progress, Report,
    ResidualSpikes, RestingParts, RigReport, Silent, TimeLeft, TriedMethod,
};

/// Compiles skeletons and clips into chunks, without a file around them.
pub use write::clips::chunks as clip_chunks;
