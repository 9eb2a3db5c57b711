//! Distinct meshes while they are analysed: their placements, and the results so far.

use crate::context::Content;
use crate::mesh::lattice::uv_seam;
use crate::mesh::prepared::Prepared;
use crate::mesh::source::MeshSource;
use crate::nodes::motion::Motion;
use meshreel_options::MethodChoice;
use meshreel_process::frame_set::FrameSet;
use meshreel_scene::MeshId;
use std::collections::HashMap;
use std::sync::Arc;

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
        let (frames, own) = (self.source.frames, &self.prepared.diagonals);
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

/// Returns the source of a mesh's frames. Hidden frames read the last frame shown before them, or the first
/// one after. `matrices`: by frame, for a mesh that is baked to world space.
pub fn mesh_source(
    content: &Content,
    mesh: MeshId,
    shown: &FrameSet,
    matrices: Option<Vec<glam::DMat4>>,
) -> MeshSource {
    let (times, channels) = (&content.times, content.options.channels);
    let mut last = (0..times.len()).find(|&f| shown.contains(f)).unwrap_or(0);
    let read: Vec<usize> = (0..times.len())
        .map(|f| {
            last = if shown.contains(f) { f } else { last };
            last
        })
        .collect();
    // Hidden frames read the time of others, but keep their own duration.
    let span = times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first);
    let seconds = if span > 0.0 { span / (times.len() - 1) as f64 } else { 1.0 / 24.0 };
    let first_time = times[0];
    let times: Vec<f64> = read.iter().map(|&f| times[f]).collect();
    let matrices = matrices.map(|all| read.iter().map(|&f| all[f]).collect());
    MeshSource {
        mesh: Arc::new(content.scene.meshes[mesh].clone()),
        number: mesh,
        frames: times.len(),
        seconds,
        start: 0,
        moves: None,
        first_time,
        fallback: Vec::new(),
        times,
        matrices,
        normals: channels.normals,
        uvs: channels.uvs,
        uv_seam: uv_seam(content.options.uv_tolerance) as f32,
        colours: channels.colours,
        velocities: channels.attributes,
        remeshed: content.remeshed.get(mesh).cloned().flatten(),
        cancellation: content.cancellation.clone(),
    }
}

/// Returns the sentence of `--explain` on all meshes.
pub fn explain(meshes: &[MeshCandidate]) -> String {
    let count = |f: fn(&Prepared) -> bool| meshes.iter().filter(|m| f(&m.prepared)).count();
    format!(
        "{} meshes: {} still, {} deforming, {} with changing faces, {} of particles or curves",
        meshes.len(),
        count(|p| p.fixed.is_some() && !p.moving),
        count(|p| p.fixed.is_some() && p.moving),
        count(|p| p.fixed.is_none() && p.particles.is_none()),
        count(|p| p.particles.is_some())
    )
}
