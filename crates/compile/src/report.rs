//! What a compile did, as data; the command line prints it.

use meshreel_codec::clip::record::Codec;
use meshreel_process::remesh::Remeshed;
use meshreel_scene::Remark;
use std::path::Path;

/// Phases that a progress display shows, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// First pass over all frames: bounds, topology, what is static, vertex splitting.
    Analyse,
    /// Methods, settings, parts and bones are sought: most of the work where bones are. Told in expected
    /// work, with that of the passes behind it.
    Search,
    /// Second pass: quantize, predict, compress, write.
    Encode,
    /// The finished file is opened and decoded.
    Inspect,
}

/// Receives progress; called from several threads.
pub trait Progress: Sync {
    /// `done` of `total` of a phase: meshes, work, frames.
    fn update(&self, phase: Phase, done: u64, total: u64);
    /// What is being tried, and for which mesh.
    fn trying(&self, _what: &str) {}
}

/// Opens a finished file as a player would and decodes all of it, before it gets its name: nothing that is
/// refused here replaces anything. This crate does not know the runtime, so whoever calls brings it along.
pub type Inspect<'a> = &'a (dyn Fn(&Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Sync);

/// Shows nothing.
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _: Phase, _: u64, _: u64) {}
}

/// Outcome of a compile; names as in the JSON contract (PROMISE.md §5).
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Size of the file, source map included.
    pub file_bytes: u64,
    /// How many of these the source map takes.
    pub source_map_bytes: u64,
    /// 12 bytes per source point and frame plus 40 per transform and sample.
    pub raw_bytes: u64,
    /// Output frames.
    pub frames: usize,
    /// What is between samples of the source, where that is not what players show, and the frames that were
    /// added for it.
    pub between: Option<Between>,
    /// Wall time.
    pub seconds: f64,
    /// What the user should know.
    pub remarks: Vec<Remark>,
    /// Unique meshes.
    pub meshes: Vec<MeshReport>,
    /// Clips.
    pub clips: Vec<ClipReport>,
    /// Rigs that were kept.
    pub rigs: Vec<RigReport>,
    /// The flattened tree, one line per node, indented.
    pub tree: String,
    /// The passes that were run, in order, with what each did.
    pub passes: Vec<(String, String)>,
}

impl Report {
    /// The passes that take triangles away, and what each did.
    pub(crate) fn of_triangles(&self, options: &crate::Options) -> Vec<(String, String)> {
        let mut out = Vec::new();
        if options.lod > 0 {
            let levels: usize = self.meshes.iter().map(|mesh| mesh.details.len()).sum();
            let bytes: u64 = self.meshes.iter().map(|mesh| mesh.detail_bytes).sum();
            let meshes = self.meshes.len();
            let what = format!("{levels} levels of detail of {meshes} meshes, {bytes} bytes");
            out.push(("detail".into(), what));
        }
        let bytes: u64 = self.meshes.iter().map(|mesh| mesh.attribute_bytes).sum();
        if bytes > 0 {
            let all: usize = self.meshes.iter().map(|mesh| mesh.attributes.len()).sum();
            let what = format!("{all} attributes of parts, {bytes} bytes");
            out.push(("attributes".into(), what));
        }
        if options.cull_hidden {
            let sum = |k: usize| -> usize {
                let hidden = self.meshes.iter().filter_map(|mesh| mesh.hidden);
                hidden.map(|hidden| hidden[k]).sum()
            };
            let [first, last, all] = [0, 1, 2].map(sum);
            let what = format!(
                "{first} triangles are left out in the first frame, {last} in the last, {all} in all"
            );
            out.push(("cull".into(), what));
        }
        out
    }
}

/// What was measured of the parts and bones of a mesh while it was coded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// The part whose transforms take most bytes.
    pub heaviest: Option<Heaviest>,
    /// Parts that are at rest in the end.
    pub rest: Option<Rest>,
    /// Points that have most of the residual.
    pub residual: Option<Spikes>,
}

/// A part that takes many bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heaviest {
    /// Its number.
    pub part: usize,
    /// A point of the source that is of it.
    pub point: u32,
    /// Its part of the bytes of all transforms of the mesh.
    pub share: f64,
}

/// Parts that stop moving.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// Parts that come to rest …
    pub parts: usize,
    /// … of all that move at all …
    pub of: usize,
    /// … never move from this frame on …
    pub frame: usize,
    /// … which is at this time, in seconds from the first frame …
    pub time: f64,
    /// … and of all frames of these parts this share could be left out.
    pub share: f64,
}

/// Points that keep much of the residual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spikes {
    /// Points …
    pub points: usize,
    /// … of the points that have a residual …
    pub of: usize,
    /// … keep this share of it.
    pub share: f64,
    /// One of them, in the source.
    pub point: u32,
}

/// Positions finer than their tolerance, since normals that are predicted from coarser ones would take more
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalsDecide {
    /// How many times finer.
    pub finer: f64,
    /// Largest angle of normals.
    pub degrees: f64,
    /// With this larger one, in degrees, …
    pub larger: f64,
    /// … the mesh takes about this part of the bytes; none where that was not tried.
    pub part: Option<f64>,
}

/// A level of detail.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LodReport {
    /// Triangles.
    pub triangles: u32,
    /// Largest distance to the mesh in any frame, in its own space.
    pub error: f32,
}

/// One unique mesh.
#[derive(Clone, Debug, Default)]
pub struct MeshReport {
    /// Source path (of the first placement).
    pub path: String,
    /// static, soft, fluid.
    pub method: String,
    /// Methods that were tried.
    pub tried: Vec<Tried>,
    /// Parts that move as they are, and bones that blend.
    pub bones: [usize; 2],
    /// What was done to its faces.
    pub remeshed: Option<Remeshed>,
    /// What of these costs most, and what they would not have to do.
    pub measures: Measures,
    /// Triangles (fluid: the most of any frame).
    pub triangles: usize,
    /// Vertices of a row and rows, where the mesh is a regular grid whose triangles are not stored.
    pub grid: Option<[u32; 2]>,
    /// Levels of detail beside the mesh itself.
    pub details: Vec<LodReport>,
    /// Bytes of these.
    pub detail_bytes: u64,
    /// Triangles that are left out in the first frame, in the last and in all, where some are.
    pub hidden: Option<[usize; 3]>,
    /// Bytes that say so.
    pub hidden_bytes: u64,
    /// Attributes that ride along, of each node that shows it: name, numbers, groups that have their own.
    pub attributes: Vec<(String, usize, usize)>,
    /// Bytes of these.
    pub attribute_bytes: u64,
    /// Vertices after splitting (fluid: the most of any frame).
    pub vertices: usize,
    /// Points in the source (fluid: the sum over frames divided by frames, rounded up).
    pub source_points: usize,
    /// Frames that it has data for.
    pub frames: usize,
    /// It stands still up to the first of these frames, and from the second on; none where it always moves,
    /// or never.
    pub moves: Option<[u32; 2]>,
    /// Positions are finer than they would have to be, for normals.
    pub normals_decide: Option<NormalsDecide>,
    /// Resolved tolerance of the placement that comes nearest to it.
    pub tolerance: f64,
    /// All its bytes but the source map.
    pub bytes: u64,
    /// Bytes that positions need.
    pub position_bytes: u64,
    /// 8 × position_bytes / (source points × frames).
    pub bits_per_vertex_frame: f64,
    /// Largest error measured there while compiling, world units.
    pub max_error: f64,
}

/// What is between samples of the source, where that is not what players show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Between {
    /// All frames.
    pub times: Vec<f64>,
    /// How many of them are not samples of the source.
    pub added: usize,
    /// The multiple of the tolerance that was aimed at …
    pub asked: f64,
    /// … and so many frames, about, what was asked for would have taken.
    pub needed: usize,
    /// Largest distance between the source's frames, in tolerances, without what decoding adds.
    pub before: f64,
    /// Largest distance between all frames, in tolerances, without what decoding adds.
    pub after: f64,
    /// The objects that were looked at, and whether their vertices were taken to be in world space.
    pub seen: Vec<(usize, bool)>,
}

/// A method that was tried, for `--explain`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Its name.
    pub method: &'static str,
    /// Where its parts or bones come from: "motion", "rig of the file"; nothing, if it has none.
    pub from: String,
    /// Parts that move as they are, and bones that blend.
    pub bones: [usize; 2],
    /// Points that bones leave too far off, or do not move.
    pub residual: usize,
    /// About how many bytes positions would take; none: it cannot hold the tolerance.
    pub bytes: Option<u64>,
    /// It was taken.
    pub taken: bool,
    /// What finding, coding and counting took.
    pub seconds: f64,
}

/// What became of one clip.
#[derive(Clone, Debug, Default)]
pub struct ClipReport {
    /// Name.
    pub name: String,
    /// Joints of its skeleton.
    pub joints: usize,
    /// Samples.
    pub samples: usize,
    /// 40 bytes per joint and sample.
    pub raw_bytes: u64,
    /// Everything that playing needs but names, parents and rest pose.
    pub bytes: u64,
    /// Promised, in the file's unit.
    pub tolerance: f64,
    /// Largest error found, as decoded; of a joint with a tolerance of its own as a part of that, times
    /// `tolerance`.
    pub max_error: f64,
    /// Rotation sub-tracks: default, constant, hinge, two axes, free; of codec `sampled` alone.
    pub rotations: [usize; 5],
    /// What it is kept in.
    pub codec: Codec,
    /// Each sub-track by itself is within the tolerance; nothing is promised in object space.
    pub local: bool,
    /// All codecs that were tried.
    pub tried: Vec<ClipTried>,
    /// Its layers, the base first; none where it is in one piece.
    pub layers: Vec<LayerReport>,
    /// What rides along.
    pub scalars: ScalarReport,
}

/// What became of a layer.
#[derive(Clone, Debug, Default)]
pub struct LayerReport {
    /// Name.
    pub name: String,
    /// Joints.
    pub joints: usize,
    /// Samples that it has.
    pub samples: usize,
    /// How many of these have no residuals, and the largest error at one.
    pub stripped: (usize, f64),
    /// Bytes of its tiers.
    pub tiers: Vec<usize>,
    /// Bytes of its header.
    pub header_bytes: usize,
    /// Largest error at its other samples.
    pub max_error: f64,
}

/// One codec on one clip.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipTried {
    /// Which.
    pub codec: Codec,
    /// In the file, compressed; `None` where it gave up, because it would be larger or cannot hold the
    /// tolerance.
    pub bytes: Option<u64>,
    /// Largest error found, as decoded.
    pub max_error: f64,
    /// Samples of animated sub-tracks before, and keys after; `None` for codec `sampled`.
    pub keys: Option<[usize; 2]>,
    /// It took so long.
    pub seconds: f64,
}

/// What became of the scalar tracks of a clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalarReport {
    /// Tracks.
    pub tracks: usize,
    /// Markers.
    pub markers: usize,
    /// Largest error of any component, over its tolerance.
    pub worst: f64,
    /// Bytes of the chunk.
    pub bytes: u64,
}

/// What became of a rig.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RigReport {
    /// Path of its mesh.
    pub path: String,
    /// Joints that the mesh hangs on.
    pub joints: usize,
    /// Points that it moves.
    pub points: usize,
    /// Clips of the skeleton.
    pub clips: usize,
    /// In the file, compressed.
    pub bytes: u64,
    /// Promised.
    pub tolerance: f64,
    /// Largest distance found.
    pub max_error: f64,
}

/// What is said while a scene is compiled.
#[derive(Debug, Default)]
pub struct Log {
    /// What the user should know.
    pub remarks: Vec<Remark>,
    /// The passes that were run, in order, with what each did.
    pub passes: Vec<(String, String)>,
}

impl Log {
    /// Notes what a pass did.
    pub fn pass(&mut self, name: &str, what: String) {
        self.passes.push((name.into(), what));
    }

    /// Notes something about the object at a path.
    pub fn remark(&mut self, path: &str, what: impl Into<String>) {
        self.remarks.push(Remark::new(path, what));
    }
}
