//! Limits of what a file may ask for, checked against its tables and its description before anything is
//! allocated.

use crate::setters::setters;

/// Limits of what a file may make the runtime allocate. The defaults admit any sane asset; a server that
/// opens files of strangers sets lower ones.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Limits {
    /// Limits for chunks and frames.
    pub format: meshreel_format::Limits,
    /// The largest sum of the vertices of all meshes. Default 2²⁸.
    pub max_vertices: u64,
    /// The largest number of nodes and meshes together. Default 2²⁴.
    pub max_objects: u64,
    /// The most bytes that an open file may take with its static data and one decoder. Default 4 GiB.
    pub max_memory: u64,
    /// Whether animated normals, tangents, uvs and colours of meshes with fixed topology are kept. Default
    /// `true`. If `false`, such meshes appear to have none: these are neither decoded nor held and, if the
    /// file stores them apart (`--attributes-apart`), not even read.
    pub attributes: bool,
    /// Whether points that parts and bones move are posed. Default `true`. If `false`, frames of such meshes
    /// hold only bones and residuals ([`crate::raw`]), which take less memory and time, for callers that pose
    /// the points themselves, on a graphics card. Asking for their positions, normals or tangents is then a
    /// misuse.
    pub poses: bool,
    /// Whether points of soft meshes of the preset `fast` are decoded. Default `true`. If `false`, frames of
    /// such meshes hold the checked bytes of their units ([`crate::raw::CodedUnits`]), for callers that
    /// decode them on a graphics card. Asking for their positions, normals or tangents is then a misuse.
    /// Meshes that stand still for a while are decoded in any case.
    pub points: bool,
}

impl Limits {
    setters! {
        with_format(format: meshreel_format::Limits);
        with_max_vertices(max_vertices: u64);
        with_max_objects(max_objects: u64);
        with_max_memory(max_memory: u64);
        with_attributes(attributes: bool);
        with_poses(poses: bool);
        with_points(points: bool);
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            format: meshreel_format::Limits::default(),
            max_vertices: 1 << 28,
            max_objects: 1 << 24,
            max_memory: 4 << 30,
            attributes: true,
            poses: true,
            points: true,
        }
    }
}
