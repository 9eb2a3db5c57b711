//! Hierarchy of points from coarse to fine: the order in which they are coded, and the coarser points that
//! each is predicted from. It is derived from the triangles or the size of a grid and is not stored.

pub(crate) mod irregular;
mod order;
mod regular;

use crate::topology::grid::GridShape;

pub use irregular::build;
pub use order::Hierarchy;

/// Builds the hierarchy of `points` points with these triangles: by `regular` if `shape` is a grid of that
/// many points, else by [`build`].
pub fn build_with_grid(shape: Option<&GridShape>, points: u32, triangles: &[u32]) -> Hierarchy {
    let fits = |shape: &&GridShape| shape.width.checked_mul(shape.height) == Some(points);
    match shape.filter(fits) {
        Some(shape) => regular::build(shape),
        None => irregular::build(points, triangles),
    }
}
