//! Prints rigs of meshes for `compile` and `info`.

use crate::output::{one_line, table};
use crate::units;
use meshreel_commands::info::RigInfo;
use meshreel_compile::RigReport;

/// Returns a table with one row per rig of a file.
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

/// Returns a table with one row per compiled rig.
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
