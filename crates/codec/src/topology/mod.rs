//! The connectivity of meshes: triangles, grids, coinciding points, polygons, LOD levels, and triangle
//! visibility.

pub(crate) mod cache_order;
pub mod compact;
pub mod connectivity;
pub mod corners;
pub mod grid;
pub mod index;
pub mod lod;
pub(crate) mod neighbours;
pub mod partition;
pub mod visibility;
pub mod weld;
