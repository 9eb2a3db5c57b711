//! The outcome of a compile, as data: the command line prints it, and `--json` serializes it. Keys are those
//! of the JSON contract (PROMISE.md §5).

mod clip;
mod file;
mod mesh;
mod progress;
pub mod readable;

pub use clip::{ClipReport, ClipTried, KeyCounts, LayerReport, RigReport, ScalarReport};
pub use file::{Between, Log, PassReport, Report};
pub use mesh::{
    Heaviest, HiddenReport, HiddenTriangles, LodReport, LodReports, Measures, MeshReport, NormalsDecide,
    PartAttributeReport, PartAttributeReports, Rest, Spikes, Tried,
};
pub(crate) use progress::VERIFIED;
pub use progress::{Inspect, Phase, Progress, Silent, TimeLeft};
