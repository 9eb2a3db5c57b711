//! Readers: one file or folder per format. [`open`] tells the format from content and name.
pub mod alembic;
mod lines;
mod mdd;
mod number;
pub mod obj;
mod pc2;
pub mod ply;
pub mod points;
pub mod sequence;
mod shape;

use crate::{Error, Remark, Scene};
use std::path::{Path, PathBuf};

/// How files are read that do not say everything themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOptions {
    /// A point cache (PC2 or MDD) that moves the points of an OBJ file.
    pub points: Option<PathBuf>,
    /// Frames per second of inputs that carry no rate.
    pub source_fps: f64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            points: None,
            source_fps: 30.0,
        }
    }
}

/// Opens an input. Remarks tell of content that is messy or not taken over; the scene is usable all the same.
pub fn open(path: &Path, options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    // A file that is really called 'a#.obj' is that file.
    if !path.exists() && sequence::is_pattern(path) {
        return sequence::open(path, options);
    }
    let is = |e: &str| path.extension().is_some_and(|p| p.eq_ignore_ascii_case(e));
    if is("obj") {
        obj::open(path, options)
    } else if is("ply") {
        ply::open(path, options)
    } else {
        Err(Error::unsupported(
            path,
            "not a kind of file that can be read",
        ))
    }
}
