//! What joins vertices: triangles, grids, coinciding points, polygons, levels of detail, and which triangles
//! are shown when.

pub mod connectivity;
pub mod grid;
pub mod index;
pub mod lod;
pub(crate) mod neighbours;
pub mod partition;
pub mod visibility;
pub mod weld;
