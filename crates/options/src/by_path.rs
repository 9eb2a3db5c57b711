//! Options of the object at a path: the general ones, or those of the last section whose glob matches.

use crate::Error;
use crate::choices::{MethodChoice, PartsChoice};
use crate::globs::glob;
use crate::sections::MeshOverride;
use crate::table::Options;
use crate::units::Tolerance;
use globset::GlobMatcher;
use std::sync::Arc;

/// Options by path.
pub struct ByPath {
    options: Arc<Options>,
    /// The globs of the sections in `options.meshes`, in their order.
    globs: Vec<GlobMatcher>,
}

impl ByPath {
    /// Compiles the globs of the sections.
    pub fn new(options: Arc<Options>) -> Result<ByPath, Error> {
        let glob = |over: &MeshOverride| glob("the glob of a mesh section", &over.glob);
        let globs = options.meshes.iter().map(glob).collect::<Result<_, Error>>()?;
        Ok(ByPath { options, globs })
    }

    /// Returns the requested method.
    pub fn method(&self, path: &str) -> MethodChoice {
        self.sections(path).filter_map(|o| o.method).last().unwrap_or(self.options.method)
    }

    /// Returns the way to find parts.
    pub fn parts<'b>(&'b self, path: &'b str) -> &'b PartsChoice {
        let over = self.sections(path).filter_map(|o| o.parts.as_ref());
        over.last().unwrap_or(&self.options.parts)
    }

    /// Returns the tolerance.
    pub fn tolerance(&self, path: &str) -> Tolerance {
        self.sections(path).filter_map(|o| o.tolerance).last().unwrap_or(self.options.tolerance)
    }

    /// `true` if changing faces are replaced by fixed ones.
    pub fn remesh(&self, path: &str) -> bool {
        self.sections(path).filter_map(|o| o.remesh).last().unwrap_or(self.options.remesh)
    }

    fn sections<'b>(&'b self, path: &'b str) -> impl Iterator<Item = &'b MeshOverride> {
        let sections = self.globs.iter().zip(&self.options.meshes);
        sections.filter(move |(glob, _)| glob.is_match(path)).map(|(_, over)| over)
    }
}
