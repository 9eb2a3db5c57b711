//! Places with opinions on a prim, and the arcs that lead to them.

use super::clips::ClipSet;
use super::specs::SpecId;
use super::value::Retime;
use std::sync::Arc;

/// Layers of a stack, by number, and their specs.
pub type LayerSpecs = Vec<(usize, SpecId)>;

/// A place with opinions on a prim: a path in a stack of layers.
#[derive(Clone)]
pub struct Place {
    pub stack: usize,
    pub specs: LayerSpecs,
    /// Its path in the stack, without variants.
    pub path: Arc<str>,
    /// From time codes of the stack to those of the scene.
    pub retime: Retime,
    /// The arc that leads there; none in the file that was opened.
    pub arc: Option<Arc<ArcStep>>,
    /// Value clips that were said there or above, those of the prim itself first.
    pub clips: Arc<[Arc<ClipSet>]>,
}

/// An arc to another place.
pub struct ArcStep {
    pub stack: usize,
    /// Path there, and the scene's path that it stands for.
    pub from: Arc<str>,
    pub to: Arc<str>,
    /// The path that says it, in the stack above, and from time codes there to those of the scene.
    pub site: Arc<str>,
    pub retime: Retime,
    pub above: Option<Arc<ArcStep>>,
    /// Arcs after each other that lead there.
    pub depth: usize,
    pub kind: ArcKind,
}

/// What arcs do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ArcKind {
    Reference,
    Inherit,
    Specialize,
    /// Neither stack nor path change.
    Variant,
}

impl Place {
    /// Whether it is of what the prim at `at` inherits, or specializes, itself, and not of what one above does.
    pub fn is_by(&self, kind: ArcKind, at: &str) -> bool {
        let mut next = self.arc.as_ref();
        while let Some(arc) = next {
            if arc.kind == kind && *arc.to == *at {
                return true;
            }
            next = arc.above.as_ref();
        }
        false
    }
}

/// Whether a path is `above` or lies below it.
pub fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path of a place's stack as one of the scene. What lies outside of what was referred to stays as it is.
pub fn in_scene(place: &Place, path: &Arc<str>) -> Arc<str> {
    let Some(arc) = place.arc.as_ref() else {
        return path.clone();
    };
    let mut next = Some(arc);
    while let Some(arc) = next {
        if let Some(rest) = path.strip_prefix(&*arc.from).filter(|_| is_within(path, &arc.from)) {
            return format!("{}{rest}", arc.to).into();
        }
        // Variants and inherits stay in their stack, which an arc above leads to.
        next = arc.above.as_ref().filter(|above| above.stack == arc.stack);
    }
    path.clone()
}
