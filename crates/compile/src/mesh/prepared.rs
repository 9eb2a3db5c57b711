//! What the first pass over a mesh finds.

use crate::mesh::scan::Scan;
use meshreel_codec::record::source_map::OtherFace;
use meshreel_codec::topology::grid::Grid;
use meshreel_process::extent::Extent;
use meshreel_process::faces::Faces;
use meshreel_process::tangents::Tangents;
use meshreel_process::{materials, normals};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A vertex channel that is there in every frame it is needed.
#[derive(Clone, Copy, Debug)]
pub struct Set<const N: usize> {
    /// Number in the source's list.
    pub source: usize,
    /// Values differ between frames.
    pub animated: bool,
    /// Over all frames.
    pub extent: Extent<N>,
}

/// Where normals come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Normals {
    /// Normals are not compiled.
    #[default]
    None,
    /// The file's.
    File,
    /// Angle-weighted, made here.
    Made,
}

/// The channels of a mesh that are compiled beside positions.
pub struct Channels {
    /// Where normals come from.
    pub normals: Normals,
    /// Normals differ between frames.
    pub normals_animated: bool,
    /// Tangents are kept (uvs and normals are there).
    pub tangents: bool,
    /// UV sets.
    pub uvs: Vec<Set<2>>,
    /// Colour sets.
    pub colours: Vec<Set<4>>,
    /// Velocities of the source, where faces change.
    pub velocities: Option<Set<3>>,
}

/// A mesh after it was looked at in all frames (`prepare`): bounds, channels, and the layout of its triangles
/// where faces stay.
pub struct Prepared {
    /// Over all frames, in the space the file keeps.
    pub extent: Extent<3>,
    /// Bounds over all frames in object space (others than `extent` for baked meshes).
    pub object_extent: Extent<3>,
    /// By frame of its own the diagonal of its bounds in object space.
    pub diagonals: Vec<f64>,
    /// Points: the most of any frame.
    pub points: usize,
    /// Points, summed over frames.
    pub points_total: u64,
    /// Positions differ between frames.
    pub moving: bool,
    /// Where normals come from.
    pub normals: Normals,
    /// Normals differ between frames.
    pub normals_animated: bool,
    /// Tangents are kept (uvs and normals are there).
    pub tangents: bool,
    /// UV sets.
    pub uvs: Vec<Set<2>>,
    /// Colour sets.
    pub colours: Vec<Set<4>>,
    /// Velocities of the source, units per second, where faces change and of particles.
    pub velocities: Option<Set<3>>,
    /// From a frame to the next, on the average.
    pub seconds: f64,
    /// What points without faces are.
    pub particles: Option<PreparedParticles>,
    /// Fixed topology; None: vertices come with each frame.
    pub fixed: Option<Fixed>,
    /// By frame of a fluid mesh the first one of its run: frames one after the other that have the same faces
    /// and as many points.
    pub runs: Vec<u32>,
    /// By the first frame of a run of several, where points coincide in all of its frames: the first such
    /// point of each.
    pub run_welds: BTreeMap<u32, Vec<u32>>,
    /// Materials, in the order of index ranges.
    pub materials: Vec<materials::Material>,
}

impl Prepared {
    /// A mesh of which positions and channels are known, but not yet materials and layout.
    pub fn new(scan: &Scan, channels: Channels) -> Prepared {
        Prepared {
            extent: scan.extent,
            object_extent: scan.object_extent,
            diagonals: scan.diagonals.clone(),
            points: scan.points,
            points_total: scan.points_total,
            moving: scan.moving,
            normals: channels.normals,
            normals_animated: channels.normals_animated,
            tangents: channels.tangents,
            uvs: channels.uvs,
            colours: channels.colours,
            velocities: channels.velocities,
            seconds: scan.seconds,
            particles: None,
            fixed: None,
            runs: scan.runs.clone(),
            run_welds: scan.run_welds.clone(),
            materials: Vec::new(),
        }
    }

    /// Whether anything that is compiled differs between frames.
    pub fn is_animated(&self) -> bool {
        self.moving
            || self.normals_animated
            || self.uvs.iter().any(|set| set.animated)
            || self.colours.iter().any(|set| set.animated)
    }

    /// Whether most frames have the faces of the one before.
    pub fn has_runs(&self) -> bool {
        let same = self.runs.windows(2).filter(|w| w[0] == w[1]).count();
        2 * same > self.runs.len()
    }
}

/// Attached numbers that are there in every frame.
#[derive(Clone, Copy, Debug)]
pub struct Attached {
    /// Number in the source's list.
    pub source: usize,
    /// Over all frames.
    pub extent: Extent<4>,
    /// By component whether all are whole numbers, as small as f32 has them all.
    pub whole: [bool; 4],
}

/// What the first pass finds of points without faces.
#[derive(Clone, Default)]
pub struct PreparedParticles {
    /// Each point has an id of its own in every frame.
    pub ids: bool,
    /// The most curves of any frame, where the points are those of curves.
    pub curves: Option<usize>,
    /// Diameters.
    pub widths: Option<Set<1>>,
    /// Attached numbers, each with its name and components; `source` counts in [`particles::attached`].
    ///
    /// [`particles::attached`]: crate::mesh::particles::attached
    pub custom: Vec<(Attached, String, usize)>,
}

/// Layout of a mesh whose faces stay.
#[derive(Default)]
pub struct Fixed {
    /// Usable faces.
    pub faces: Faces,
    /// Faces in the file.
    pub face_count: usize,
    /// Smoothing groups, where normals are made.
    pub groups: normals::Groups,
    /// By vertex its point.
    pub vertex_point: Vec<u32>,
    /// By vertex a corner of the file, u32::MAX for points without faces.
    pub vertex_corner: Vec<u32>,
    /// By vertex the face of that corner.
    pub vertex_face: Vec<u32>,
    /// Sign of the bitangent per vertex, that of the first frame.
    pub vertex_sign: Vec<f32>,
    /// Tangent groups, where tangents are kept.
    pub tangents: Option<Tangents>,
    /// Three vertices per triangle, counter-clockwise.
    pub indices: Vec<u32>,
    /// The grid from which the triangles follow, where vertices are a regular one.
    pub grid: Option<Grid>,
    /// First index and number of indices per material.
    pub ranges: Vec<(u32, u32)>,
    /// Per triangle its face in the file.
    pub triangle_face: Vec<u32>,
    /// For the source map ([`meshreel_codec::record::source_map`]): where faces begin.
    pub starts: Vec<u32>,
    /// For the source map: faces that triangles do not tell.
    pub others: Vec<OtherFace>,
    /// Per vertex the first vertex whose position is bit-equal in all frames; None where all differ.
    pub weld: Option<Vec<u32>>,
    /// Points of the first frame, for points that are not finite later.
    pub first_points: Vec<[f32; 3]>,
}

/// By vertex the number of its point, without gaps: vertices that coincide in all frames have one.
pub fn welded_points(fixed: &Fixed) -> Vec<u32> {
    let count = fixed.vertex_point.len();
    let Some(weld) = &fixed.weld else {
        return (0..count as u32).collect();
    };
    let mut number = vec![u32::MAX; count];
    let mut next = 0;
    let of = |&first: &u32| {
        let slot = &mut number[first as usize];
        if *slot == u32::MAX {
            *slot = next;
            next += 1;
        }
        *slot
    };
    weld.iter().map(of).collect()
}

/// The largest diagonal of the object-space bounds of any one frame.
pub fn diagonal(prepared: &Prepared) -> f64 {
    prepared.diagonals.iter().copied().fold(0.0, f64::max)
}
