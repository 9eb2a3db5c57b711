//! Options of readers.

use std::path::PathBuf;

/// How files are read that do not say everything themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOptions {
    /// A point cache (PC2 or MDD) that moves the points of an OBJ file.
    pub points: Option<PathBuf>,
    /// Frames per second of inputs that carry no rate.
    pub source_fps: f64,
    /// Name or number (from 0) of the animation that moves the meshes of a glTF or FBX file. None: of FBX the
    /// first; of glTF the first that moves something, and what that leaves alone follows the first that moves it.
    /// [`ReadOptions::ALL_ANIMATIONS`]: one after the other, as ranges.
    pub animation: Option<String>,
    /// The numbers of all files of the sequences that this one is merged with, if any: the lowest is at time 0,
    /// and where there are none of this sequence it is not there.
    pub shot_numbers: Vec<i64>,
}

impl ReadOptions {
    /// Stands for all animations of a file; one that is really called so can be had by its number.
    pub const ALL_ANIMATIONS: &'static str = "all";
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { points: None, source_fps: 30.0, animation: None, shot_numbers: Vec::new() }
    }
}
