//! Verifies a file: reads the source again, derives what the file has to contain, decodes it through the
//! runtime, and compares every frame. Independent of the compiler; from the file it takes only the options.
//!
//! 1. `survey` (source alone): frame times, visibility, the tolerance of every placement, welded points.
//! 2. Against the description: every frame, every mesh, no larger tolerance, all channels; faces and
//!    materials through the source map.
//! 3. `frames`, in parallel: visibility, positions in world space in f64, welded points, normals, uvs,
//!    colours; by the source map, or by nearest points where there is none or faces change.

pub(crate) mod attribute;
mod between;
mod cameras;
mod channels;
mod clip;
mod compare;
mod exact;
mod frames;
pub(crate) mod kd_tree;
mod layer;
mod local;
mod locators;
mod lod;
mod meshes;
mod metric;
mod nearest;
mod part_attributes;
mod particles;
mod passes;
mod plan;
pub(crate) mod polygons;
pub(crate) mod report;
mod rig;
mod rings;
mod smoothing;
mod source_map;
mod source_transforms;
mod surface;
pub(crate) mod survey;

pub use passes::verify;
pub use report::{
    CameraReport, ClipPromise, ClipReport, Failure, LayerReport, LocatorReport, LodReport, MAX_FAILURES,
    MatchMethod, MeshReport, Report, RigReport, TierReport,
};
pub use surface::distances;
