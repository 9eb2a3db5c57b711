//! Rigs of meshes.

use crate::failure::Failure;
use meshreel::Reel;
use serde::Serialize;

/// A rig of a file.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct RigInfo {
    pub mesh: String,
    pub skeleton: String,
    pub joints: usize,
    /// Names of the clips that move it.
    pub clips: Vec<String>,
    pub tolerance: f64,
    pub max_error: f64,
}

/// Returns all rigs of a file.
pub fn infos(reel: &Reel) -> Result<Vec<RigInfo>, Failure> {
    let rigs = reel.rigs()?;
    if rigs.is_empty() {
        return Ok(Vec::new());
    }
    let (skeletons, clips) = (reel.skeletons()?, reel.clips()?);
    let info = |rig: &meshreel::MeshRig| {
        let own = clips.iter().filter(|clip| clip.record().skeleton as usize == rig.skeleton());
        RigInfo {
            mesh: reel.description().meshes[rig.mesh()].path.clone(),
            skeleton: skeletons[rig.skeleton()].name.clone(),
            joints: rig.joints().len(),
            clips: own.map(|clip| clip.name().to_owned()).collect(),
            tolerance: rig.tolerance(),
            max_error: rig.error(),
        }
    };
    Ok(rigs.iter().map(info).collect())
}
