//! A second compile of a scene, after a verification has refused the first file.

use meshreel_options::Options;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Objects and streams that a verification found to exceed their tolerance. The next compile uses a fraction
/// of their tolerance for them; the tolerance that the file stores stays the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tightening {
    /// Paths of objects whose positions are coded with a smaller tolerance, in frames and between them.
    pub paths: BTreeSet<String>,
    /// All normals are coded with a smaller tolerance.
    pub normals: bool,
    /// All clips are coded with a smaller tolerance.
    pub clips: bool,
    /// Transforms of nodes are stored exactly, not coded.
    pub exact: bool,
}

impl Tightening {
    /// The fraction of a tolerance that is used.
    pub(crate) const FRACTION: f64 = 0.5;

    /// Returns the fraction of its tolerance that the object at `path` is coded with.
    pub(crate) fn fraction(&self, path: &str) -> f64 {
        if self.paths.contains(path) { Tightening::FRACTION } else { 1.0 }
    }

    /// Returns the options to code with, where `promised` are the options that were given.
    pub(crate) fn options(&self, promised: &Options) -> Options {
        let part = if self.normals { Tightening::FRACTION } else { 1.0 };
        Options { normal_tolerance: part * promised.normal_tolerance, ..promised.clone() }
    }
}

/// The options of a compile, and those that it codes with.
#[derive(Clone)]
pub(crate) struct RequestedOptions {
    /// The options that the file stores.
    pub promised: Arc<Options>,
    pub options: Arc<Options>,
    pub tighter: Arc<Tightening>,
}

impl RequestedOptions {
    pub fn new(promised: &Options, tighter: &Tightening) -> RequestedOptions {
        RequestedOptions {
            promised: Arc::new(promised.clone()),
            options: Arc::new(tighter.options(promised)),
            tighter: Arc::new(tighter.clone()),
        }
    }
}
