//! What became of a mesh: its method, sizes and errors, and what is told beside them.

use meshreel_process::remesh::Remeshed;
use serde::{Serialize, Serializer};

/// What became of one unique mesh.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MeshReport {
    /// Path in the source, of the first placement.
    pub path: String,
    /// Name of its method: static, rigid, skinned, soft or fluid.
    pub method: String,
    /// Methods that were tried, for `--explain`.
    pub tried: Vec<Tried>,
    /// Parts that move as they are.
    pub parts: usize,
    /// Bones that blend.
    pub bones: usize,
    /// How far its faces were replaced by fixed ones (`--remesh`).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "remeshed")]
    pub remeshed: Option<Remeshed>,
    /// Which parts and points take most of its bytes, for advice.
    #[serde(skip)]
    pub measures: Measures,
    /// Triangles (fluid: the most of any frame).
    #[serde(skip)]
    pub triangles: usize,
    /// Vertices of a row and rows, where the mesh is a regular grid whose triangles are not stored.
    pub grid: Option<[u32; 2]>,
    /// Its LOD levels, where it has several.
    #[serde(flatten)]
    pub lod: Option<LodReports>,
    /// Triangles that are not visible in some frames, where some are.
    #[serde(flatten)]
    pub hidden: Option<HiddenReport>,
    /// Part attributes of the nodes that show it, where some are kept.
    #[serde(flatten)]
    pub part_attributes: Option<PartAttributeReports>,
    /// Vertices after splitting (fluid: the most of any frame).
    pub vertices: usize,
    /// Points in the source (fluid: the sum over frames divided by frames, rounded up).
    pub source_points: usize,
    /// Frames that it has data for.
    pub frames: usize,
    /// It stands still up to the first of these frames, and from the second on; none where it always moves,
    /// or never.
    pub moves: Option<[u32; 2]>,
    /// How much finer positions are than they would have to be, for normals.
    #[serde(skip_serializing_if = "Option::is_none")]
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

impl MeshReport {
    /// The LOD levels beside the mesh itself, the finest first.
    pub fn lod_levels(&self) -> &[LodReport] {
        self.lod.as_ref().and_then(|lod| lod.levels.get(1..)).unwrap_or_default()
    }
}

/// The numbers of a re-meshing that are serialized.
fn remeshed<S: Serializer>(remeshed: &Option<Remeshed>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Keys {
        runs: usize,
        frames: usize,
        own: usize,
        points: usize,
        blended: u32,
    }
    let keys = remeshed.as_ref().map(|r| Keys {
        runs: r.runs,
        frames: r.frames,
        own: r.own,
        points: r.points,
        blended: r.blended,
    });
    keys.serialize(serializer)
}

/// A method that was tried, for `--explain`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// Its name.
    pub method: &'static str,
    /// Where its parts or bones come from: "motion", "rig of the file"; empty if it has none.
    pub from: String,
    /// Parts that move as they are.
    pub parts: usize,
    /// Bones that blend.
    pub bones: usize,
    /// Points that bones leave too far off, or do not move.
    #[serde(rename = "points_with_residual")]
    pub residual: usize,
    /// About how many bytes positions would take; none: it cannot hold the tolerance.
    pub bytes: Option<u64>,
    /// It was taken.
    #[serde(rename = "chosen")]
    pub taken: bool,
    /// Time for finding, coding and counting it.
    pub seconds: f64,
}

/// The LOD levels of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LodReports {
    /// All levels, the mesh itself first.
    pub levels: Vec<LodReport>,
    /// Bytes of all but the mesh itself.
    #[serde(rename = "level_bytes")]
    pub bytes: u64,
}

/// A LOD level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LodReport {
    /// Triangles.
    pub triangles: u32,
    /// Largest distance to the mesh in any frame, in its own space.
    pub error: f32,
}

/// Triangles of a mesh that nobody can see in some frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HiddenReport {
    /// How many triangles are not drawn.
    #[serde(rename = "hidden_triangles")]
    pub triangles: HiddenTriangles,
    /// Bytes of their intervals.
    #[serde(rename = "hidden_bytes")]
    pub bytes: u64,
}

/// Numbers of triangles that are not drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HiddenTriangles {
    /// In the first frame.
    pub first_frame: usize,
    /// In the last frame.
    pub last_frame: usize,
    /// In all frames.
    pub all_frames: usize,
}

/// Part attributes of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PartAttributeReports {
    /// Those of each node that shows the mesh.
    pub attributes: Vec<PartAttributeReport>,
    /// Bytes of all of them.
    #[serde(rename = "attribute_bytes")]
    pub bytes: u64,
}

/// A part attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartAttributeReport {
    /// Its name.
    pub name: String,
    /// Components of a value.
    pub components: usize,
    /// Groups of points that have values of their own.
    pub groups: usize,
}

/// Positions finer than their tolerance, since normals that are predicted from coarser ones would take more
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NormalsDecide {
    /// How many times finer.
    pub finer: f64,
    /// Largest angle of normals, in degrees.
    #[serde(rename = "normal_tolerance")]
    pub degrees: f64,
    /// A larger angle, in degrees, of which the effect was tried.
    pub larger: f64,
    /// With the larger angle the mesh takes about this part of the bytes; none where that was not tried.
    #[serde(skip)]
    pub part: Option<f64>,
    /// The bytes of the mesh with the larger angle; none where that was not tried.
    pub bytes_then: Option<f64>,
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
    /// Number of the part.
    pub part: usize,
    /// A point of the source that is of it.
    pub point: u32,
    /// Its part of the bytes of all transforms of the mesh.
    pub share: f64,
}

/// Parts that stop moving.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// Number of parts that come to rest.
    pub parts: usize,
    /// Number of all parts that move at all.
    pub of: usize,
    /// Frame from which on the parts that come to rest never move.
    pub frame: usize,
    /// Time of that frame, in seconds from the first one.
    pub time: f64,
    /// Part of all frames of moving parts that could be left out.
    pub share: f64,
}

/// Points that keep much of the residual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spikes {
    /// Number of points that keep much of the residual.
    pub points: usize,
    /// Number of all points that have a residual.
    pub of: usize,
    /// Part of the residual that these points keep.
    pub share: f64,
    /// Number of one of these points in the source.
    pub point: u32,
}
