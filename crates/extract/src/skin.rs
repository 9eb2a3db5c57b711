//! Converts the bones of a decoded mesh to a skin.

use super::frames::DecodedFrames;
use super::shared::{BoneForm, Extraction};
use crate::convert;
use crate::skinning::Influences;
use glam::DMat4;
use meshreel_scene::{Error, Identity, Scene, Skin, Source, sample};
use serde::Serialize;
use std::sync::Arc;

/// The largest number of matrices of all frames together, since writers keep them in memory.
const MAX_MATRICES: usize = 1 << 23;

/// Returns the skin of a mesh, if it gets one. `order`: the vertex of each point.
pub(super) fn skin(shared: &Extraction, mesh: usize, order: Option<&[u32]>) -> Option<Arc<Skin>> {
    let record = &shared.frames.reel().description().meshes[mesh];
    let samples = shared.samples(record.streams.first().is_some_and(|s| s.animated));
    let plain = |vertex: usize| vertex < record.vertices as usize;
    let points: Vec<usize> = match order {
        Some(order) => order.iter().map(|&v| v as usize).collect(),
        None => (0..record.vertices as usize).collect(),
    };
    if let Some(skin) = super::rig::skin(shared, mesh, &points) {
        return Some(skin);
    }
    shared.frames.with_bones(mesh, |rig| {
        let asked = match shared.bones {
            BoneForm::Points | BoneForm::Rigs | BoneForm::Parts => false,
            BoneForm::Auto => rig.points_with_residual() == 0,
            BoneForm::Skins => true,
        };
        if !asked || rig.count() * samples > MAX_MATRICES || !points.iter().all(|&v| plain(v)) {
            return None;
        }
        let influences = Influences::new(&points, |v| rig.influences(v))?;
        let skin = Skin {
            skeleton: None,
            joints: (0..rig.count()).collect(),
            inverse_bind: vec![DMat4::IDENTITY; rig.count()],
            bind_positions: points.iter().map(|&v| rig.rest_position(v)).collect(),
            influences: influences.count,
            joint: influences.joint.into(),
            weight: influences.weight.into(),
            dual_fraction: Arc::new([]),
            driven: Vec::new(),
            pose: shared.channel(samples > 1, Pose { frames: shared.frames.clone(), mesh, samples }),
        };
        Some(Arc::new(skin))
    })?
}

/// The bone matrices of a mesh in each frame.
struct Pose {
    frames: Arc<DecodedFrames>,
    mesh: usize,
    samples: usize,
}

impl Source<DMat4> for Pose {
    fn len(&self) -> usize {
        self.samples
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        out.clear();
        out.extend(self.frames.bones(i, self.mesh)?.iter().map(convert::matrix));
        Ok(())
    }
}

/// The distance of an extracted skin from the decoded points of its mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkinError {
    /// Path of the mesh.
    pub path: String,
    /// Number of its joints.
    pub joints: usize,
    /// The largest distance in any frame, in the mesh's space.
    #[serde(rename = "max_distance")]
    pub max_error: f64,
}

/// Measures all skins of a decoded scene against its points. Skins on skeletons are left out: clips move
/// them, not frames, and `verify` has compared them.
pub fn skin_errors(scene: &Scene) -> Result<Vec<SkinError>, Error> {
    let mut out = Vec::new();
    for mesh in &scene.meshes {
        let own = mesh.skin.as_ref().filter(|skin| skin.skeleton.is_none());
        let Some(skin) = own else { continue };
        let (mut points, mut pose, mut most) = (Vec::new(), Vec::new(), 0.0f64);
        for i in 0..mesh.positions.len() {
            let time = mesh.positions.time(i);
            sample::positions_at(mesh, time, &mut points)?;
            sample::pose_at(mesh, time, &mut pose)?;
            let posed = skin.posed(&pose);
            for (p, point) in points.iter().enumerate() {
                most = most.max((posed.point(p) - convert::vector(*point)).length());
            }
        }
        out.push(SkinError { path: mesh.path.clone(), joints: skin.joints.len(), max_error: most });
    }
    Ok(out)
}
