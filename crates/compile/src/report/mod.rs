//! The outcome of a compile, as data: the command line prints it, and `--json` serializes it. Keys are those
//! of the JSON contract (PROMISE.md §5).

mod clip;
mod file;
mod mesh;
mod progress;
pub mod readable;

pub use clip::{ClipReport, KeyCounts, LayerReport, RigReport, ScalarReport, TriedCodec};
pub use file::{BetweenFrames, Log, PassReport, Report};
pub use mesh::{
    BoneMeasures, HeaviestPart, HiddenReport, HiddenTriangles, LodReport, LodReports, MeshReport,
    NormalPrecision, PartAttributeReport, PartAttributeReports, ResidualSpikes, RestingParts, TriedMethod,
};
pub(crate) use progress::VERIFY_TIME_RATIO;
pub use progress::{Inspect, Phase, Progress, Silent, TimeLeft};
