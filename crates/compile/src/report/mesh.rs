//! The outcome for a mesh: its method, sizes and errors, and details.

use meshreel_process::remesh::Remeshed;
use serde::{Serialize, Serializer};

/// The outcome for one distinct mesh.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MeshReport {
    /// Path in the source of its first placement.
    pub path: String,
    /// Name of its method: static, rigid, skinned, soft or fluid.
    pub method: String,
    /// Methods that were tried, for `--explain`.
    pub tried: Vec<TriedMethod>,
    /// Number of parts, each moved by one rigid transform.
    pub parts: usize,
    /// Number of bones with weights.
    pub bones: usize,
    /// The outcome of replacing its faces by fixed ones (`--remesh`).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "remeshed")]
    pub remeshed: Option<Remeshed>,
    /// The parts and points that take most of its bytes, for advice.
    #[serde(skip)]
    pub measures: BoneMeasures,
    /// Number of triangles (fluid: the most of any frame).
    #[serde(skip)]
    pub triangles: usize,
    /// Vertices per row and number of rows, if the mesh is a regular grid whose triangles are not stored.
    pub grid: Option<[u32; 2]>,
    /// Its LOD levels, if it has several.
    #[serde(flatten)]
    pub lod: Option<LodReports>,
    /// Triangles that are not visible in some frames, if there are any.
    #[serde(flatten)]
    pub hidden: Option<HiddenReport>,
    /// Part attributes of the nodes that show it, if any are kept.
    #[serde(flatten)]
    pub part_attributes: Option<PartAttributeReports>,
    /// Number of vertices after splitting (fluid: the most of any frame).
    pub vertices: usize,
    /// Number of points in the source (fluid: the average over frames, rounded up).
    pub source_points: usize,
    /// Number of frames that it has data for.
    pub frames: usize,
    /// The frames between which it moves: it stands still up to the first, and from the second on. `None` if
    /// it moves throughout, or never.
    pub moves: Option<[u32; 2]>,
    /// Factor by which positions are finer than their tolerance requires, for the sake of normals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normals_decide: Option<NormalPrecision>,
    /// Resolved tolerance of the placement with the largest error relative to its tolerance.
    pub tolerance: f64,
    /// All its bytes except the source map.
    pub bytes: u64,
    /// Bytes of the positions.
    pub position_bytes: u64,
    /// 8 × position_bytes / (source points × frames).
    pub bits_per_vertex_frame: f64,
    /// Largest error measured at that placement while compiling, in world units.
    pub max_error: f64,
}

impl MeshReport {
    /// Returns the LOD levels except the mesh itself, the finest first.
    pub fn lod_levels(&self) -> &[LodReport] {
        self.lod.as_ref().and_then(|lod| lod.levels.get(1..)).unwrap_or_default()
    }
}

/// Serializes some of the numbers of a re-meshing.
fn remeshed<S: Serializer>(remeshed: &Option<Remeshed>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct RemeshedKeys {
        runs: usize,
        frames: usize,
        own: usize,
        points: usize,
        blended: u32,
    }
    let keys = remeshed.as_ref().map(|r| RemeshedKeys {
        runs: r.runs,
        frames: r.frames,
        own: r.own_face_frames,
        points: r.points,
        blended: r.blended,
    });
    keys.serialize(serializer)
}

/// A method that was tried, for `--explain`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedMethod {
    /// Name of the method.
    pub method: &'static str,
    /// Origin of its parts or bones: "motion", "rig of the file"; empty if it has none.
    pub from: String,
    /// Number of parts, each moved by one rigid transform.
    pub parts: usize,
    /// Number of bones with weights.
    pub bones: usize,
    /// Number of points that bones do not move, or leave outside the tolerance.
    #[serde(rename = "points_with_residual")]
    pub points_with_residual: usize,
    /// Approximate bytes of the positions; `None` if it cannot hold the tolerance.
    pub bytes: Option<u64>,
    /// `true` if it was chosen.
    #[serde(rename = "chosen")]
    pub chosen: bool,
    /// Time for finding, coding and measuring it, in seconds.
    pub seconds: f64,
}

/// The LOD levels of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LodReports {
    /// All levels, the mesh itself first.
    pub levels: Vec<LodReport>,
    /// Bytes of all levels except the mesh itself.
    #[serde(rename = "level_bytes")]
    pub bytes: u64,
}

/// A LOD level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LodReport {
    /// Number of triangles.
    pub triangles: u32,
    /// Largest distance from the mesh in any frame, in its own space.
    pub error: f32,
}

/// Triangles of a mesh that are invisible from outside in some frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HiddenReport {
    /// Numbers of triangles that are not drawn.
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
    /// The part attributes of each node that shows the mesh.
    pub attributes: Vec<PartAttributeReport>,
    /// Bytes of all of them.
    #[serde(rename = "attribute_bytes")]
    pub bytes: u64,
}

/// A part attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartAttributeReport {
    /// Name of the attribute.
    pub name: String,
    /// Number of components of a value.
    pub components: usize,
    /// Number of groups of points with values of their own.
    pub groups: usize,
}

/// Positions that are finer than their tolerance, since normals predicted from coarser ones would take more
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NormalPrecision {
    /// Factor by which they are finer.
    pub finer: f64,
    /// The tolerance of normals, in degrees.
    #[serde(rename = "normal_tolerance")]
    pub degrees: f64,
    /// A larger tolerance of normals, in degrees, whose effect was tried.
    pub larger: f64,
    /// Estimated size of the mesh with the larger angle, as a fraction of its bytes; `None` if that was not
    /// tried.
    #[serde(skip)]
    pub estimated_fraction: Option<f64>,
    /// Estimated bytes of the mesh with the larger angle; `None` if that was not tried.
    pub bytes_then: Option<f64>,
}

/// Measurements of the parts and bones of a mesh, made while it was coded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoneMeasures {
    /// The part whose transforms take the most bytes.
    pub heaviest: Option<HeaviestPart>,
    /// Parts that are at rest at the end.
    pub rest: Option<RestingParts>,
    /// The points that take most of the residual.
    pub residual: Option<ResidualSpikes>,
}

/// A part that takes many bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeaviestPart {
    /// Number of the part.
    pub part: usize,
    /// Index in the source of a point of the part.
    pub point: u32,
    /// The fraction of the bytes of all transforms of the mesh that the part takes.
    pub fraction: f64,
}

/// Parts that stop moving.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestingParts {
    /// Number of parts that come to rest.
    pub parts: usize,
    /// Number of all parts that move.
    pub moving_parts: usize,
    /// Frame from which on these parts do not move.
    pub frame: usize,
    /// Time of that frame, in seconds from the first one.
    pub time: f64,
    /// The fraction of all frames of moving parts that could be left out.
    pub fraction: f64,
}

/// Points that take much of the residual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResidualSpikes {
    /// Number of points that take much of the residual.
    pub points: usize,
    /// Number of all points that have a residual.
    pub points_with_residual: usize,
    /// The fraction of the residual that these points take.
    pub fraction: f64,
    /// Index in the source of one of these points.
    pub point: u32,
}
