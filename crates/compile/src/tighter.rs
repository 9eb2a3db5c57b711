//! A second compile of a scene, after a verification has refused the first file.

use meshreel_options::Options;
use std::collections::BTreeSet;

/// Objects and streams that a verification found farther off than was promised. Compiled again they are aimed
/// at a part of their tolerance; the promise that the file stores stays the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tighter {
    /// Paths of objects whose positions are aimed at more closely, in frames and between them.
    pub paths: BTreeSet<String>,
    /// All normals are aimed at more closely.
    pub normals: bool,
    /// All clips are aimed at more closely.
    pub clips: bool,
    /// Transforms of nodes are kept as they are, not coded.
    pub exact: bool,
}

impl Tighter {
    /// The part of a tolerance that is aimed at.
    pub(crate) const PART: f64 = 0.5;

    /// The part of the tolerance of the object at `path` that is aimed at.
    pub(crate) fn part(&self, path: &str) -> f64 {
        if self.paths.contains(path) { Tighter::PART } else { 1.0 }
    }

    /// The options that are aimed at, where those that were given are promised.
    pub(crate) fn options(&self, promised: &Options) -> Options {
        let part = if self.normals { Tighter::PART } else { 1.0 };
        Options { normal_tolerance: part * promised.normal_tolerance, ..promised.clone() }
    }
}

/// The options of a compile, and those that it aims at.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The options that the file stores.
    pub promised: &'a Options,
    pub options: &'a Options,
    pub tighter: &'a Tighter,
}

impl<'a> Asked<'a> {
    /// Aims at just what is promised.
    pub fn first(options: &'a Options) -> Asked<'a> {
        static NONE: Tighter = Tighter { paths: BTreeSet::new(), normals: false, clips: false, exact: false };
        Asked { promised: options, options, tighter: &NONE }
    }
}
