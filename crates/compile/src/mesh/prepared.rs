//! Results of the first pass over a mesh.

use crate::context::Content;
use crate::mesh::source::{MeshSource, PositionScan};
use crate::nodes::motion::Motion;
use meshreel_codec::record::source_map::OtherFace;
use meshreel_codec::topology::grid::Grid;
use meshreel_options::MethodChoice;
use meshreel_process::extent::Extent;
use meshreel_process::faces::Faces;
use meshreel_process::frame_set::FrameSet;
use meshreel_process::tangents::Tangents;
use meshreel_process::{materials, normals};
use meshreel_scene::MeshId;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// A vertex channel that is present in every frame in which it is needed.
#[derive(Clone, Copy, Debug)]
pub struct VertexChannel<const N: usize> {
    /// Index in the source's list.
    pub source: usize,
    /// `true` if values differ between frames.
    pub animated: bool,
    /// Bounds over all frames.
    pub extent: Extent<N>,
}

/// The origin of normals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NormalOrigin {
    /// Normals are not compiled.
    #[default]
    None,
    /// Normals of the source.
    Source,
    /// Angle-weighted normals, generated here.
    Generated,
}

/// The channels of a mesh that are compiled besides positions.
#[derive(Clone, Default)]
pub struct MeshChannels {
    /// The origin of normals.
    pub normals: NormalOrigin,
    /// `true` if normals differ between frames.
    pub normals_animated: bool,
    /// `true` if tangents are kept (uvs and normals are present).
    pub tangents: bool,
    /// UV sets.
    pub uvs: Vec<VertexChannel<2>>,
    /// Colour sets.
    pub colours: Vec<VertexChannel<4>>,
    /// Velocities of the source in units per second, if faces change or the mesh has particles.
    pub velocities: Option<VertexChannel<3>>,
}

/// A mesh after all its frames were examined (`prepare`): bounds, channels, and the layout of its triangles
/// if faces are constant.
pub struct Prepared {
    /// Results of the scan of the positions in all frames.
    pub scan: PositionScan,
    /// Normals, uvs, colours and velocities.
    pub channels: MeshChannels,
    /// Results for points without faces.
    pub particles: Option<PreparedParticles>,
    /// Layout of constant faces, or of points without faces that are the same in all frames; `None` if
    /// vertices come with each frame.
    pub fixed: Option<Arc<FixedLayout>>,
    /// Materials, in the order of index ranges.
    pub materials: Vec<materials::Material>,
}

impl Prepared {
    /// Returns `true` if anything that is compiled differs between frames.
    pub fn is_animated(&self) -> bool {
        let MeshChannels { normals_animated, uvs, colours, velocities, .. } = &self.channels;
        let of_points = |own: &PreparedParticles| {
            velocities.is_some_and(|set| set.animated)
                || own.widths.is_some_and(|set| set.animated)
                || own.custom.iter().any(|(set, ..)| set.animated)
        };
        self.scan.moving
            || *normals_animated
            || uvs.iter().any(|set| set.animated)
            || colours.iter().any(|set| set.animated)
            || self.particles.as_ref().is_some_and(of_points)
    }

    /// Returns `true` if most frames have the same faces as the one before.
    pub fn has_runs(&self) -> bool {
        let same = self.scan.runs.windows(2).filter(|w| w[0] == w[1]).count();
        2 * same > self.scan.runs.len()
    }
}

/// Attached numbers that are present in every frame.
#[derive(Clone, Copy, Debug)]
pub struct CustomChannel {
    /// Index in the source's list.
    pub source: usize,
    /// Bounds over all frames.
    pub extent: Extent<4>,
    /// By component, `true` if all values are whole numbers small enough for f32 to hold exactly.
    pub integral: [bool; 4],
    /// `true` if values differ between frames.
    pub animated: bool,
}

/// Results of the first pass over points without faces.
#[derive(Clone, Default)]
pub struct PreparedParticles {
    /// `true` if each point has a unique id in every frame.
    pub ids: bool,
    /// The largest number of curves of a frame, if the points are those of curves.
    pub curves: Option<usize>,
    /// Diameters.
    pub widths: Option<VertexChannel<1>>,
    /// Attached numbers, each with its name and number of components; `source` is an index into
    /// [`particles::point_attributes`].
    ///
    /// [`particles::point_attributes`]: crate::mesh::particles::point_attributes
    pub custom: Vec<(CustomChannel, String, usize)>,
}

/// Layout of a mesh with constant faces, or of points without faces that are the same in all frames.
#[derive(Default)]
pub struct FixedLayout {
    /// Usable faces.
    pub faces: Faces,
    /// The number of faces in the source.
    pub face_count: usize,
    /// Smoothing groups, if normals are generated.
    pub groups: normals::SmoothingGroups,
    /// By vertex, its point.
    pub vertex_point: Vec<u32>,
    /// By vertex, a corner of the source; u32::MAX for points without faces.
    pub vertex_corner: Vec<u32>,
    /// By vertex, the face of that corner.
    pub vertex_face: Vec<u32>,
    /// By vertex, the sign of its bitangent in the first frame.
    pub vertex_sign: Vec<f32>,
    /// Tangent groups, if tangents are kept.
    pub tangents: Option<Tangents>,
    /// Three vertices per triangle, counter-clockwise.
    pub indices: Vec<u32>,
    /// The grid that determines the triangles, if the vertices form one.
    pub grid: Option<Grid>,
    /// The bytes of [compact triangles](meshreel_codec::topology::compact), if the vertices have their order.
    pub compact: Option<Vec<u8>>,
    /// First index and number of indices of each material.
    pub ranges: Vec<(u32, u32)>,
    /// By triangle, its face in the source.
    pub triangle_face: Vec<u32>,
    /// For the source map ([`meshreel_codec::record::source_map`]): the start of each face.
    pub face_starts: Vec<u32>,
    /// For the source map: faces that triangles do not determine.
    pub undetermined_faces: Vec<OtherFace>,
    /// By vertex, the first vertex whose position is bit-equal in all frames; `None` if all differ.
    pub weld: Option<Vec<u32>>,
    /// Points of the first frame, which replace later ones that are not finite.
    pub first_points: Vec<[f32; 3]>,
}

/// Returns, by vertex, the number of its point, without gaps: vertices that coincide in all frames share one.
pub fn welded_points(fixed: &FixedLayout) -> Vec<u32> {
    let count = fixed.vertex_point.len();
    match &fixed.weld {
        Some(weld) => number_classes(weld.iter().copied()).0,
        None => (0..count as u32).collect(),
    }
}

/// Numbers classes in the order in which they first occur, without gaps. Returns the number of each entry's
/// class, and the number of classes.
pub fn number_classes(classes: impl Iterator<Item = u32>) -> (Vec<u32>, usize) {
    let mut out: Vec<u32> = classes.collect();
    let mut number = vec![u32::MAX; out.iter().max().map_or(0, |m| *m as usize + 1)];
    let mut next = 0;
    for class in &mut out {
        let slot = &mut number[*class as usize];
        if *slot == u32::MAX {
            *slot = next;
            next += 1;
        }
        *class = *slot;
    }
    (out, next as usize)
}

/// Returns the largest diagonal of the object-space bounds of a frame.
pub fn diagonal(prepared: &Prepared) -> f64 {
    prepared.scan.diagonals.iter().copied().fold(0.0, f64::max)
}

/// A distinct mesh with its placements and the results of its first pass.
pub struct MeshCandidate {
    /// The source mesh.
    pub mesh: MeshId,
    /// Objects that show it.
    pub placements: Vec<usize>,
    /// Frames in which it is shown at some placement.
    pub shown: FrameSet,
    /// `true` if it is baked to world space (then it has one placement).
    pub baked: bool,
    /// The requested method.
    pub method: MethodChoice,
    /// The source of its frames.
    pub source: MeshSource,
    /// The result of the first pass.
    pub prepared: Prepared,
}

impl MeshCandidate {
    /// Returns the largest diagonal of the source's object-space bounds over these frames, or over all frames
    /// if there are none.
    pub fn diagonal(&self, visible: &FrameSet) -> f64 {
        let (frames, own) = (self.source.frames, &self.prepared.scan.diagonals);
        match &self.source.remeshed {
            Some(remeshed) => visible.largest(frames, |frame| remeshed.diagonals[frame]),
            None => visible.largest(frames, |frame| own[self.source.own_frame(frame)]),
        }
    }
}

/// A distinct mesh before it is analysed.
pub struct PlacementGroup {
    /// The source mesh.
    pub mesh: MeshId,
    /// The requested method.
    pub method: MethodChoice,
    /// Objects that show it.
    pub placements: Vec<usize>,
}

/// Groups placed meshes that are equal and have the same options. `same`: by mesh, the first that is equal to
/// it.
pub fn group_placements(content: &Content, selected: &[bool], same: &[MeshId]) -> Vec<PlacementGroup> {
    let mut groups: Vec<PlacementGroup> = Vec::new();
    let mut slot = HashMap::new();
    for (i, place) in content.placed.iter().enumerate().filter(|(i, _)| selected[*i]) {
        let Some(mesh) = content.scene.nodes[place.node].mesh else {
            continue;
        };
        let (mesh, method) = (same[mesh], content.by_path.method(&place.path));
        let at = *slot.entry((mesh, method as u8)).or_insert_with(|| {
            groups.push(PlacementGroup { mesh, method, placements: Vec::new() });
            groups.len() - 1
        });
        groups[at].placements.push(i);
    }
    groups
}

impl PlacementGroup {
    /// Returns the frames in which it is shown at some placement.
    pub fn visible_frames(&self, motion: &Motion, frames: usize) -> FrameSet {
        let mut shown = FrameSet::new(frames);
        self.placements.iter().for_each(|&i| shown.extend(&motion.visible[i]));
        shown
    }
}

/// Returns the sentence of `--explain` on all meshes.
pub fn explain(meshes: &[MeshCandidate]) -> String {
    let count = |f: fn(&Prepared) -> bool| meshes.iter().filter(|m| f(&m.prepared)).count();
    format!(
        "{} meshes: {} still, {} deforming, {} with changing faces, {} of particles or curves",
        meshes.len(),
        count(|p| p.fixed.is_some() && p.particles.is_none() && !p.scan.moving),
        count(|p| p.fixed.is_some() && p.particles.is_none() && p.scan.moving),
        count(|p| p.fixed.is_none() && p.particles.is_none()),
        count(|p| p.particles.is_some())
    )
}
