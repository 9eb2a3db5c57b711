//! Options of the readers.

use std::path::PathBuf;

/// Options for reading files that leave something open.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOptions {
    /// A point cache (PC2 or MDD) that animates the points of an OBJ file.
    pub points: Option<PathBuf>,
    /// Frames per second for inputs that state no rate.
    pub source_fps: f64,
    /// Name or number (from 0) of the animation that moves the meshes of a glTF or FBX file. `None`: for FBX
    /// the first; for glTF the first that moves something, and any node that it does not move follows the
    /// first animation that moves it. [`ReadOptions::ALL_ANIMATIONS`]: all of them one after the other, as
    /// ranges.
    pub animation: Option<String>,
    /// The numbers of all files of the sequences that this one is merged with, if any. The lowest is at time
    /// 0; at numbers that this sequence lacks at either end, its meshes are not there.
    pub shot_numbers: Vec<i64>,
}

impl ReadOptions {
    /// Selects all animations of a file; an animation with this name can be selected by its number.
    pub const ALL_ANIMATIONS: &'static str = "all";
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { points: None, source_fps: 30.0, animation: None, shot_numbers: Vec::new() }
    }
}
