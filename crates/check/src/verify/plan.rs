//! All that is needed to compare a frame, and what is found there.

use super::channels::Channels;
use super::exact::Exact;
use super::locators;
use super::moment::Moment;
use super::particles::Particles;
use super::report::{Failures, Stats};
use super::survey::Survey;
use crate::asked::Asked;
use meshreel::{FrameDecoder, Reel, SourceMap, Transform};
use meshreel_scene::sample::World;
use meshreel_scene::{MeshId, sample};
use std::collections::HashMap;

/// Source, file and their correspondence: all that is needed to compare a frame.
pub(crate) struct Plan<'a> {
    pub survey: &'a Survey<'a>,
    pub reel: &'a Reel,
    pub asked: &'a Asked,
    /// Frame of the source for each frame of the file.
    pub frames: Vec<Option<usize>>,
    /// Per placement where it is in the file.
    pub shows: Vec<Option<Show>>,
    /// Per locator where it is in the file.
    pub places: Vec<Option<locators::Place>>,
    pub units: Vec<Unit>,
    pub between: Between,
}

/// Node, mesh and tolerance of a placement in the file.
pub(crate) struct Show {
    pub node: usize,
    pub record: usize,
    pub baked: bool,
    /// Allowed distance: what the file promises, or less where that is too much.
    pub tolerance: f64,
    /// Index into [`Plan::units`].
    pub unit: usize,
}

/// A mesh of the file that stands for a mesh of the source.
pub(crate) struct Unit {
    pub record: usize,
    pub mesh: MeshId,
    pub placements: Vec<usize>,
    /// Frames of the file in which one of them is visible.
    pub shown: Vec<usize>,
    /// First frame in which anything shows the mesh of the file.
    pub first: usize,
    /// Vertices are in world space.
    pub baked: bool,
    /// Vertices are in mirrored world space, so that triangles turn the other way.
    pub flip: bool,
    /// Whether the mesh was re-meshed, so that distances are those from the other surface.
    pub surface: bool,
    /// Whether its source map is wrong; then nothing more is compared.
    pub hopeless: bool,
    pub channels: Channels,
    /// Of points without faces what hangs on them.
    pub particles: Option<Particles>,
    /// The source's faces at `first`.
    pub faces: sample::Faces,
    /// Correspondence by the source map; none: vertices are matched with the nearest points.
    pub exact: Option<Exact>,
    /// The source maps of single frames of a mesh whose faces change, for the way back.
    pub runs: Option<SourceMap>,
    /// By frame of the file the time of the first frame of its run, where creases count and there is no map.
    /// A run is frames one after the other with the same faces and as many points.
    pub leads: HashMap<usize, f64>,
}

pub(crate) struct Found {
    pub stats: Vec<Stats>,
    pub locators: Vec<locators::Found>,
    pub failures: Failures,
    /// The first frame and the last one of this job, for comparing between them and the frames of other jobs.
    pub ends: [Option<Seen>; 2],
}

/// One thread's decoder and source.
pub(crate) struct Worker<'a> {
    pub plan: &'a Plan<'a>,
    pub decoder: FrameDecoder,
    pub world: World<'a>,
    /// The source between two frames.
    pub moment: Moment<'a>,
    /// The frame that was compared before this one.
    pub seen: Option<Seen>,
}

/// Records a failure of a placement.
pub(crate) fn fail(plan: &Plan<'_>, found: &mut Found, placement: usize, frame: usize, what: String) {
    found.stats[placement].failed = true;
    found.failures.add(plan.survey.path(placement), Some(frame), || what);
}

/// The placements and pairs of frames that are compared between frames.
pub(crate) struct Between {
    /// By placement, where it is looked at: whether the file promises something of it.
    pub placements: Vec<Option<bool>>,
    /// By unit whether one of its placements is looked at.
    pub units: Vec<bool>,
    /// By frame whether there is anything between it and the one before.
    pub pairs: Vec<bool>,
}

/// A frame as it was decoded and as the source has it, remembered until the next one is there.
#[derive(Clone)]
pub(crate) struct Seen {
    pub frame: usize,
    /// By placement.
    pub visible: Vec<bool>,
    /// By node of the file, relative to its parent.
    pub local: Vec<Transform>,
    /// By unit the decoded positions; empty where they are not looked at.
    pub positions: Vec<Vec<f32>>,
    /// By unit the source's points, where they move.
    pub points: Vec<Vec<[f32; 3]>>,
}
