//! The data needed to compare a frame, and the findings in it.

use super::channels::MeshChannels;
use super::exact::MapCorrespondence;
use super::locators;
use super::particles::ParticleStreams;
use super::report::{Failures, Stats};
use super::source_transforms::SourceTransforms;
use super::survey::Survey;
use crate::requested::RequestedOptions;
use meshreel::{FrameDecoder, Reel, SourceMap, Transform};
use meshreel_scene::sample::World;
use meshreel_scene::{MeshId, sample};
use std::collections::HashMap;

/// Source, file and their correspondence: everything needed to compare a frame.
pub(crate) struct Verification<'a> {
    pub survey: &'a Survey<'a>,
    pub reel: &'a Reel,
    pub asked: &'a RequestedOptions,
    /// Frame of the source for each frame of the file.
    pub frames: Vec<Option<usize>>,
    /// For each placement, its counterpart in the file.
    pub file_placements: Vec<Option<FilePlacement>>,
    /// For each locator, its counterpart in the file.
    pub locator_nodes: Vec<Option<locators::LocatorNode>>,
    pub mesh_pairs: Vec<MeshPair>,
    pub between: BetweenFrames,
}

/// Node, mesh and tolerance of a placement in the file.
pub(crate) struct FilePlacement {
    pub node: usize,
    pub record: usize,
    pub baked: bool,
    /// Allowed distance: the file's promise, or less if that is too large.
    pub tolerance: f64,
    /// Index into [`Verification::mesh_pairs`].
    pub mesh_pair: usize,
}

/// A mesh of the file and its counterpart in the source.
pub(crate) struct MeshPair {
    pub record: usize,
    pub mesh: MeshId,
    pub placements: Vec<usize>,
    /// Frames of the file in which one of its placements is visible.
    pub shown: Vec<usize>,
    /// First frame in which anything shows the mesh of the file.
    pub first_shown: usize,
    /// Vertices are in world space.
    pub baked: bool,
    /// Vertices are in mirrored world space, so that triangles turn the other way.
    pub flip: bool,
    /// The mesh was re-meshed, so distances are measured to the other surface.
    pub is_remeshed: bool,
    /// The source map is wrong, so nothing more is compared.
    pub has_wrong_map: bool,
    pub channels: MeshChannels,
    /// The streams of points without faces.
    pub particles: Option<ParticleStreams>,
    /// The source's faces at `first_shown`.
    pub faces: sample::Faces,
    /// The correspondence by the source map; `None`: vertices are matched with the nearest points.
    pub exact: Option<MapCorrespondence>,
    /// The source maps of single frames of a mesh whose faces change, for extraction.
    pub frame_maps: Option<SourceMap>,
    /// For each frame of the file, the time of the first frame of its run, if creases matter and there is no
    /// map. A run is consecutive frames with the same faces and number of points.
    pub run_starts: HashMap<usize, f64>,
}

pub(crate) struct Findings {
    pub stats: Vec<Stats>,
    pub locators: Vec<locators::LocatorErrors>,
    pub failures: Failures,
    /// The first and the last frame of this job, for comparing between them and the frames of other jobs.
    pub end_frames: [Option<FrameState>; 2],
}

/// One thread's decoder and source.
pub(crate) struct Worker<'a> {
    pub plan: &'a Verification<'a>,
    pub decoder: FrameDecoder,
    pub world: World<'a>,
    /// The source between two frames.
    pub moment: SourceTransforms<'a>,
    /// The frame that was compared before this one.
    pub previous: Option<FrameState>,
}

/// Records a failure of a placement.
pub(crate) fn fail(
    plan: &Verification<'_>,
    found: &mut Findings,
    placement: usize,
    frame: usize,
    what: String,
) {
    found.stats[placement].failed = true;
    found.failures.add(plan.survey.path(placement), Some(frame), || what);
}

/// The placements and pairs of frames that are compared between frames.
pub(crate) struct BetweenFrames {
    /// For each placement that is compared: whether the file makes a promise for it.
    pub placements: Vec<Option<bool>>,
    /// For each unit, whether one of its placements is compared.
    pub mesh_pairs: Vec<bool>,
    /// For each frame, whether anything between it and the previous one is compared.
    pub pairs: Vec<bool>,
}

/// A frame, decoded and from the source, kept until the next one is known.
#[derive(Clone)]
pub(crate) struct FrameState {
    pub frame: usize,
    /// Visibility by placement.
    pub visible: Vec<bool>,
    /// Transform of each node of the file, relative to its parent.
    pub local: Vec<Transform>,
    /// Decoded positions by unit; empty if they are not compared.
    pub positions: Vec<Vec<f32>>,
    /// The source's points by unit, if they move.
    pub points: Vec<Vec<[f32; 3]>>,
}
