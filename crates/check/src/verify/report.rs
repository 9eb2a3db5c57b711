//! The findings of a verification.

use serde::Serialize;
use std::fmt;

/// The outcome of [`crate::verify::verify`]. The keys of `verify --json` are the names of these fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Nothing failed.
    pub ok: bool,
    /// Number of frames of the file.
    pub frames: usize,
    /// Allowed distance of players from the source between frames, in tolerances, as far as the source
    /// defines the motion there; `None`: there is no such promise.
    pub between: Option<f64>,
    /// There are meshes, but no frame shows any of them: nothing was compared.
    pub nothing_visible: bool,
    /// One entry per placed mesh, in the order of the source's tree.
    pub meshes: Vec<MeshReport>,
    /// One entry per locator: a node that shows no mesh and is stored by name.
    pub locators: Vec<LocatorReport>,
    /// One entry per camera of the source whose node is in the file.
    pub cameras: Vec<CameraReport>,
    /// One entry per clip of the source.
    pub clips: Vec<ClipReport>,
    /// One entry per rig of the file.
    pub rigs: Vec<RigReport>,
    /// The first [`MAX_FAILURES`] failures, by frame.
    pub failures: Vec<Failure>,
    /// The number of failures that are not in the list.
    pub more_failures: u64,
}

/// The largest number of failures that are listed; more are only counted.
pub const MAX_FAILURES: usize = 200;

/// The way in which vertices were matched with the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchMethod {
    /// By the file's source map.
    Map,
    /// By the nearest point.
    Nearest,
    /// By the nearest place of the other surface, for re-meshed meshes.
    Surface,
    /// By the ids of particles.
    Ids,
    /// By the numbers of particles, or of points of curves.
    Numbers,
}

impl MatchMethod {
    /// Returns "map", "nearest", "surface", "ids" or "numbers".
    pub fn name(self) -> &'static str {
        match self {
            MatchMethod::Map => "map",
            MatchMethod::Nearest => "nearest",
            MatchMethod::Surface => "surface",
            MatchMethod::Ids => "ids",
            MatchMethod::Numbers => "numbers",
        }
    }
}

/// A placed mesh.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeshReport {
    /// Path of the object that shows it.
    pub path: String,
    /// Name of the method: static, rigid, skinned, soft, fluid or particles; "missing" if the mesh is not in
    /// the file.
    pub method: &'static str,
    /// Number of vertices; for fluid the largest number of any frame.
    pub vertices: usize,
    /// Number of frames in which it is visible and was compared.
    pub frames: usize,
    /// Largest distance allowed, in world units.
    pub tolerance: f64,
    /// Largest distance found.
    pub max_error: f64,
    /// Root mean square of all distances.
    pub rms_error: f64,
    /// Largest distance, at three times between each two frames, of players from the source; `None` if
    /// everything moves along lines, or there is nothing to compare with.
    pub between_error: Option<f64>,
    /// `between_error` in tolerances.
    pub between_worst: Option<f64>,
    /// Largest angle between normals, in degrees; `None` without normals.
    pub normal_max_deg: Option<f64>,
    /// Largest distance of uvs; `None` without uvs.
    pub uv_max_error: Option<f64>,
    /// Largest difference of a colour component; `None` without colours.
    pub colour_max_error: Option<f64>,
    /// Largest difference of velocities, in units per second; `None` if the file has none.
    pub velocity_max_error: Option<f64>,
    /// Largest difference of widths of particles or curves; `None` without widths.
    pub width_max_error: Option<f64>,
    /// Largest error of a value of its part attributes, or of the numbers of particles; `None` without these.
    pub attribute_max_error: Option<f64>,
    /// LOD levels, besides the mesh itself.
    #[serde(rename = "levels")]
    pub lods: Vec<LodReport>,
    /// The way in which vertices were matched.
    pub matched: MatchMethod,
    /// Number of frames at the end that are blended into the start; they carry no promise and were not
    /// compared.
    pub blended: usize,
    /// Nothing failed here.
    pub ok: bool,
}

/// A locator: a node without a mesh.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LocatorReport {
    /// Path of the object.
    pub path: String,
    /// Number of frames in which it was compared.
    pub frames: usize,
    /// Largest distance allowed for any point of its cube, in world units.
    pub tolerance: f64,
    /// Largest distance found.
    pub max_error: f64,
    /// Nothing failed here.
    pub ok: bool,
}

/// A camera.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CameraReport {
    /// Path of the object.
    pub path: String,
    /// Number of frames in which its lens was compared.
    pub frames: usize,
    /// Largest difference of any of its numbers, as a fraction of the largest value of that number.
    pub max_error: f64,
    /// Nothing failed here.
    pub ok: bool,
}

/// An LOD level of a mesh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LodReport {
    /// Number of triangles.
    pub triangles: usize,
    /// The largest distance from the mesh itself that the file claims, in object space.
    pub error: f64,
    /// The largest distance of any vertex in the frames examined, in object space.
    pub max_error: f64,
}

/// The quantity that the tolerance of a clip limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClipPromise {
    /// Every point of the metric, in object space.
    #[default]
    Guaranteed,
    /// Each rotation, translation and scale by itself; there is no promise for points in object space.
    Local,
}

/// A clip.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ClipReport {
    /// Name.
    pub name: String,
    /// Number of joints of its skeleton.
    pub joints: usize,
    /// Number of samples that were compared.
    pub samples: usize,
    /// Largest distance allowed, in the file's unit.
    pub tolerance: f64,
    /// Name of the codec of the clip.
    pub codec: &'static str,
    /// Largest distance of any of the metric's points at any sample.
    pub max_error: f64,
    /// The largest error as a fraction of the tolerance of its joint (local rule: of its sub-track).
    pub worst: f64,
    /// Number of joints with a tolerance of their own.
    pub joint_tolerances: usize,
    /// The quantity that the tolerance limits.
    #[serde(rename = "rule")]
    pub promise: ClipPromise,
    /// With [`ClipPromise::Local`], the largest error of any rotation, translation and scale by itself, as
    /// lengths.
    pub local_errors: Option<[f64; 3]>,
    /// The largest distance half-way between samples.
    pub mid_error: f64,
    /// The largest error half-way between samples, in tolerances of its joint.
    pub mid_worst: f64,
    /// Clip layers, the base first; empty if the clip has none.
    pub layers: Vec<LayerReport>,
    /// Number of pairs of samples between which a joint turns so far that the motion is ambiguous; left out
    /// of `mid_error`.
    pub ambiguous_pairs: usize,
    /// Largest error of any scalar track at any sample.
    pub scalar_error: f64,
    /// Nothing failed here.
    pub ok: bool,
}

/// The rig of a mesh.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RigReport {
    /// Path of the mesh.
    pub path: String,
    /// Number of joints of the skin.
    pub joints: usize,
    /// Number of clips of the skeleton.
    pub clips: usize,
    /// Number of samples of these clips; all vertices were compared in all of them.
    pub samples: usize,
    /// Largest distance allowed.
    pub tolerance: f64,
    /// Largest distance of any vertex from its source.
    pub max_error: f64,
    /// Root mean square of all distances.
    pub rms_error: f64,
    /// The largest distance in poses blended from two clips, for which there is no promise.
    pub blend_error: f64,
    /// Nothing failed here.
    pub ok: bool,
}

/// A layer of a clip.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LayerReport {
    /// Name.
    pub name: String,
    /// Number of joints.
    pub joints: usize,
    /// Number of samples of the layer; those that are not stripped are promised.
    pub samples: usize,
    /// Number of samples without residuals of their own.
    pub stripped: usize,
    /// Largest error at promised samples.
    pub max_error: f64,
    /// Largest error at stripped samples.
    pub strip_error: f64,
    /// Largest error at samples of the source that the layer leaves out.
    pub between: f64,
    /// The layer's tiers.
    pub tiers: Vec<TierReport>,
}

/// A tier of a layer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TierReport {
    /// Size of the tier in the file, in bytes.
    pub bytes: usize,
    /// Largest error of all joints at all samples if this tier and those after it are missing; `None` for the
    /// tier that is always present.
    pub max_error_without: Option<f64>,
    /// Root mean square of these errors.
    pub rms_error_without: Option<f64>,
}

/// A promise that does not hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// Path of the object; empty if the failure concerns the whole file.
    pub path: String,
    /// Frame of the file, if the failure concerns a single one.
    pub frame: Option<usize>,
    /// The failure, as a sentence.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        if let Some(frame) = self.frame {
            write!(f, "frame {frame}: ")?;
        }
        f.write_str(&self.what)
    }
}

/// The list of failures while they are collected.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failures {
    pub list: Vec<Failure>,
    pub more: u64,
}

impl Failures {
    pub fn add(&mut self, path: &str, frame: Option<usize>, what: impl FnOnce() -> String) {
        if self.list.len() < MAX_FAILURES {
            self.list.push(Failure { path: path.to_owned(), frame, what: what() });
        } else {
            self.more += 1;
        }
    }

    pub fn append(&mut self, other: Failures) {
        self.more += other.more;
        for failure in other.list {
            if self.list.len() < MAX_FAILURES {
                self.list.push(failure);
            } else {
                self.more += 1;
            }
        }
    }
}

/// Errors of one placed mesh over the compared frames.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Stats {
    pub frames: usize,
    pub vertices: usize,
    pub count: u64,
    pub squares: f64,
    pub max: f64,
    pub between: Option<f64>,
    pub normal: Option<f64>,
    pub uv: Option<f64>,
    pub colour: Option<f64>,
    pub velocity: Option<f64>,
    pub width: Option<f64>,
    /// Largest error of numbers attached to particles.
    pub custom: Option<f64>,
    pub failed: bool,
}

impl Stats {
    pub fn distance(&mut self, distance: f64) {
        self.count += 1;
        self.squares += distance * distance;
        if beyond(distance, self.max) {
            self.max = distance;
        }
    }

    /// Adds several distances: the largest, the sum of their squares, and their number.
    pub fn distances(&mut self, largest: f64, squares: f64, count: u64) {
        self.count += count;
        self.squares += squares;
        if beyond(largest, self.max) {
            self.max = largest;
        }
    }

    pub fn append(&mut self, other: &Stats) {
        self.frames += other.frames;
        self.vertices = self.vertices.max(other.vertices);
        self.count += other.count;
        self.squares += other.squares;
        if beyond(other.max, self.max) {
            self.max = other.max;
        }
        self.between = larger(self.between, other.between);
        self.normal = larger(self.normal, other.normal);
        self.uv = larger(self.uv, other.uv);
        self.colour = larger(self.colour, other.colour);
        self.velocity = larger(self.velocity, other.velocity);
        self.width = larger(self.width, other.width);
        self.custom = larger(self.custom, other.custom);
        self.failed |= other.failed;
    }
}

/// `true` if a value is above a limit; NaN is beyond every limit.
pub(crate) fn beyond(value: f64, limit: f64) -> bool {
    value.is_nan() || value > limit
}

/// Returns the larger of two values, ignoring missing ones; NaN is larger than any number.
pub(crate) fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if beyond(b, a) { b } else { a }),
        (a, b) => a.or(b),
    }
}
