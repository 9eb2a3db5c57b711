//! The outcome for a file: sizes, frames, remarks, and the passes that made it.

use super::clip::{ClipReport, RigReport};
use super::mesh::MeshReport;
use meshreel_scene::Remark;
use serde::Serialize;

/// The outcome of a compile; field names as in the JSON contract (PROMISE.md §5).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Size of the file in bytes, source map included.
    pub file_bytes: u64,
    /// Bytes of the source map, among those of the file.
    pub source_map_bytes: u64,
    /// Size of the source, at 12 bytes per point and frame plus 40 per transform and sample.
    pub raw_bytes: u64,
    /// Number of output frames.
    pub frames: usize,
    /// The deviation of players from the source between its samples, and the frames that were added to reduce
    /// it.
    #[serde(flatten)]
    pub between: Option<BetweenFrames>,
    /// Wall time in seconds, without reading the source.
    #[serde(skip)]
    pub seconds: f64,
    /// Remarks for the user.
    pub remarks: Vec<Remark>,
    /// Reports of the unique meshes.
    pub meshes: Vec<MeshReport>,
    /// Reports of the clips.
    pub clips: Vec<ClipReport>,
    /// Reports of the rigs that were kept.
    pub rigs: Vec<RigReport>,
    /// The flattened tree, one line per node, indented.
    pub tree: String,
    /// The passes that were run, in order, with what each did.
    pub passes: Vec<PassReport>,
}

impl Report {
    /// Returns the reports of the passes over finished meshes: LOD levels, part attributes, triangle
    /// visibility.
    pub(crate) fn mesh_passes(&self, options: &meshreel_options::Options) -> Vec<PassReport> {
        let mut out = Vec::new();
        let mut pass = |name: &str, what| out.push(PassReport { pass: name.into(), what });
        if options.lod > 0 {
            let lods = || self.meshes.iter().filter_map(|mesh| mesh.lod.as_ref());
            let levels: usize = lods().map(|lod| lod.levels.len() - 1).sum();
            let bytes: u64 = lods().map(|lod| lod.bytes).sum();
            let meshes = self.meshes.len();
            pass("detail", format!("{levels} levels of detail of {meshes} meshes, {bytes} bytes"));
        }
        let kept = || self.meshes.iter().filter_map(|mesh| mesh.part_attributes.as_ref());
        let bytes: u64 = kept().map(|kept| kept.bytes).sum();
        if bytes > 0 {
            let all: usize = kept().map(|kept| kept.attributes.len()).sum();
            pass("attributes", format!("{all} attributes of parts, {bytes} bytes"));
        }
        if options.cull_hidden {
            let hidden = || self.meshes.iter().filter_map(|mesh| mesh.hidden).map(|h| h.triangles);
            let first: usize = hidden().map(|h| h.first_frame).sum();
            let last: usize = hidden().map(|h| h.last_frame).sum();
            let all: usize = hidden().map(|h| h.all_frames).sum();
            pass(
                "cull",
                format!(
                    "{first} triangles are left out in the first frame, {last} in the last, {all} in all"
                ),
            );
        }
        out
    }
}

/// The deviation of players, which interpolate linearly, from the source between its samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BetweenFrames {
    /// Times of all frames, in seconds.
    #[serde(skip)]
    pub times: Vec<f64>,
    /// Number of frames that are not samples of the source.
    #[serde(rename = "added_frames")]
    pub added_frames: usize,
    /// The multiple of the tolerance that was to be reached.
    #[serde(skip)]
    pub requested_multiple: f64,
    /// Approximate number of frames that the requested multiple would have needed.
    #[serde(skip)]
    pub needed_frames: usize,
    /// Largest distance between the source's frames, in tolerances, without the decoding error.
    #[serde(skip)]
    pub source_deviation: f64,
    /// Largest distance between all frames, in tolerances, without the decoding error.
    #[serde(rename = "between_worst")]
    pub deviation: f64,
    /// The objects that were examined, and whether their vertices were taken to be in world space.
    #[serde(skip)]
    pub examined: Vec<(usize, bool)>,
    /// `true` if added frames cannot change how the transforms of other frames are decomposed.
    #[serde(skip)]
    pub steady: bool,
}

/// The outcome of a pass, for `--explain`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassReport {
    /// Name of the pass.
    pub pass: String,
    /// One sentence on what the pass did.
    pub what: String,
}

/// Remarks and reports of passes, collected while a scene is compiled.
#[derive(Debug, Default)]
pub struct Log {
    /// Remarks for the user.
    pub remarks: Vec<Remark>,
    /// The passes that were run, in order, with what each did.
    pub passes: Vec<PassReport>,
}

impl Log {
    /// Records what a pass did.
    pub fn pass(&mut self, name: &str, what: String) {
        self.passes.push(PassReport { pass: name.into(), what });
    }

    /// Records a remark on the object at a path.
    pub fn remark(&mut self, path: &str, what: impl Into<String>) {
        self.remarks.push(Remark::new(path, what));
    }
}
