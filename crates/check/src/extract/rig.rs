//! Rigs of a decoded file as skins on its skeletons.

use super::shared::{As, Rigged, Shared};
use crate::double;
use crate::error::error;
use crate::skinning::{Influences, rig_matrices};
use meshreel::clip::{ClipCursor, PoseSource};
use meshreel::{Reel, Transform};
use meshreel_scene::{Channel, Error, Skin};
use std::sync::Arc;

/// All rigs of a file.
pub(super) fn all(reel: &Reel) -> Result<Vec<Rigged>, Error> {
    let rigs = reel.rigs().map_err(error)?;
    if rigs.is_empty() {
        return Ok(Vec::new());
    }
    let clips = reel.clips().map_err(error)?;
    let skeletons = reel.skeletons().map_err(error)?;
    let mut out = Vec::with_capacity(rigs.len());
    for rig in rigs {
        let clip = rig.first_frame().and_then(|(c, i)| Some((clips.get(c)?, i)));
        let clip = clip.filter(|(clip, sample)| {
            *sample < clip.samples() && clip.record().skeleton as usize == rig.skeleton()
        });
        let first = match clip {
            None => None,
            Some((clip, sample)) => {
                let mut pose = vec![Transform::IDENTITY; clip.joints()];
                let mut cursor = ClipCursor::new(clip);
                clip.sample_at(&mut cursor, sample, &mut pose).map_err(error)?;
                let matrices = rig_matrices(&rig, &skeletons[rig.skeleton()], &pose);
                Some(matrices.iter().map(double::matrix).collect())
            }
        };
        out.push(Rigged { rig, first });
    }
    Ok(out)
}

/// The skin of a mesh that has a rig, unless frames are asked for. `points`: vertex of each point.
pub(super) fn skin(shared: &Shared, mesh: usize, points: &[usize]) -> Option<Arc<Skin>> {
    let rigged = shared.rigs.iter().find(|own| own.rig.mesh() == mesh);
    let rigged = rigged.filter(|_| matches!(shared.bones, As::Auto | As::Skins))?;
    let rig = &rigged.rig;
    if points.iter().any(|&v| v >= rig.vertices()) {
        return None;
    }
    let influences = Influences::new(points, |v| rig.influences(v))?;
    Some(Arc::new(Skin {
        skeleton: Some(rig.skeleton()),
        joints: rig.joints().iter().map(|j| *j as usize).collect(),
        inverse_bind: rig.inverse_bind().iter().map(double::matrix).collect(),
        bind_positions: points.iter().map(|&v| rig.bind_position(v)).collect(),
        influences: influences.count,
        joint: influences.joint.into(),
        weight: influences.weight.into(),
        dual: if rig.is_dual() { points.iter().map(|&v| rig.dual_part(v)).collect() } else { Arc::new([]) },
        pose: match &rigged.first {
            Some(first) => Channel::constant(first.clone()),
            None => Channel::in_memory((*shared.constant).clone(), Vec::new()),
        },
        driven: Vec::new(),
    }))
}
