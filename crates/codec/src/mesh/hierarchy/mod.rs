//! Points from coarse to fine: the order in which they are coded, and the coarser points that each is predicted
//! from. It follows from the triangles, or from the sides of a grid, and is not kept.

pub(crate) mod irregular;
mod order;
mod regular;

use crate::topology::grid::Shape;

pub use irregular::build;
pub use order::Hierarchy;

/// The order of `points` points with these triangles: by `regular` where `shape` is that of a grid
/// of so many, else by [`build`].
pub fn of(shape: Option<&Shape>, points: u32, triangles: &[u32]) -> Hierarchy {
    let fits = |shape: &&Shape| shape.width.checked_mul(shape.height) == Some(points);
    match shape.filter(fits) {
        Some(shape) => regular::build(shape),
        None => irregular::build(points, triangles),
    }
}
