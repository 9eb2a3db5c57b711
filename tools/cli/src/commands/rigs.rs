//! Rigs of meshes, as `compile` and `info` show them.

use crate::output::{Failure, one_line, table};
use crate::units;
use meshreel::Reel;
use meshreel::clip::PoseSource;
use meshreel_compile::RigReport;
use serde::Serialize;

/// A rig of a file.
#[derive(Serialize)]
pub struct RigInfo {
    mesh: String,
    skeleton: String,
    joints: usize,
    /// Names of the clips that move it.
    clips: Vec<String>,
    tolerance: f64,
    max_error: f64,
}

/// All rigs of a file.
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

/// One row for each.
pub fn info_table(rigs: &[RigInfo]) -> String {
    let row = |rig: &RigInfo| {
        vec![
            one_line(&rig.mesh),
            one_line(&rig.skeleton),
            rig.joints.to_string(),
            rig.clips.len().to_string(),
            units::short(rig.tolerance),
            units::short(rig.max_error),
        ]
    };
    let head = ["rig of", "<skeleton", "joints", "clips", "tolerance", "max error"];
    match rigs.is_empty() {
        true => String::new(),
        false => table(&head, &rigs.iter().map(row).collect::<Vec<_>>()),
    }
}

/// One row for each.
pub fn compiled_table(rigs: &[RigReport]) -> String {
    let row = |rig: &RigReport| {
        vec![
            one_line(&rig.path),
            rig.joints.to_string(),
            rig.clips.to_string(),
            units::count(rig.points as u64),
            units::short(rig.tolerance),
            units::short(rig.max_error),
            units::bytes(rig.bytes),
        ]
    };
    let head = ["rig of", "joints", "clips", "points", "tolerance", "max error", "bytes"];
    match rigs.is_empty() {
        true => String::new(),
        false => table(&head, &rigs.iter().map(row).collect::<Vec<_>>()),
    }
}
