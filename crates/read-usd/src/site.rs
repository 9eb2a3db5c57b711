//! Sites with opinions on a prim, and the arcs that lead to them.

use super::clips::ClipSet;
use super::specs::SpecId;
use super::value::Retime;
use std::sync::Arc;

/// The layers of a stack, by index, and their specs.
pub type LayerSpecs = Vec<(usize, SpecId)>;

/// A site with opinions on a prim: a path in a stack of layers.
#[derive(Clone)]
pub struct Site {
    pub stack: usize,
    pub specs: LayerSpecs,
    /// Its path in the stack, without variants.
    pub path: Arc<str>,
    /// Maps time codes of the stack to those of the scene.
    pub retime: Retime,
    /// The arc that leads to it; `None` in the opened file.
    pub arc: Option<Arc<ArcStep>>,
    /// Value clips defined there or on prims above, those of the prim itself first.
    pub clips: Arc<[Arc<ClipSet>]>,
}

/// An arc to another site.
pub struct ArcStep {
    pub stack: usize,
    /// The path in the target stack, and the corresponding path of the scene.
    pub target_path: Arc<str>,
    pub scene_path: Arc<str>,
    /// The path in the referring stack that defines the arc, and the map from time codes there to those of
    /// the scene.
    pub origin_path: Arc<str>,
    pub retime: Retime,
    pub above: Option<Arc<ArcStep>>,
    /// The length of the chain of arcs that leads there.
    pub depth: usize,
    pub kind: ArcKind,
}

/// The kind of an arc.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ArcKind {
    Reference,
    Inherit,
    Specialize,
    /// Changes neither stack nor path.
    Variant,
}

impl Site {
    /// `true` if the site comes from an inherit or specialize arc (`kind`) of the prim at `at` itself, not
    /// of one above it.
    pub fn comes_by(&self, kind: ArcKind, at: &str) -> bool {
        let mut next = self.arc.as_ref();
        while let Some(arc) = next {
            if arc.kind == kind && *arc.scene_path == *at {
                return true;
            }
            next = arc.above.as_ref();
        }
        false
    }
}

/// `true` if a path is `above` or lies below it.
pub fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Converts a path of a site's stack to a path of the scene. Paths outside the prim referred to stay
/// unchanged.
pub fn in_scene(site: &Site, path: &Arc<str>) -> Arc<str> {
    let Some(arc) = site.arc.as_ref() else {
        return path.clone();
    };
    let mut next = Some(arc);
    while let Some(arc) = next {
        if let Some(rest) = path.strip_prefix(&*arc.target_path).filter(|_| is_within(path, &arc.target_path))
        {
            return format!("{}{rest}", arc.scene_path).into();
        }
        // Variants and inherits stay in their stack, which an arc above leads to.
        next = arc.above.as_ref().filter(|above| above.stack == arc.stack);
    }
    path.clone()
}
