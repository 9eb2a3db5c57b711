//! Passes over one mesh, in the order of [`crate::plan`]: each one file and each functions of slices; no
//! files, no shared state.

pub mod attributes;
pub mod doubles;
pub mod faces;
pub mod first_corners;
pub mod hash;
pub mod materials;
pub mod normals;
pub mod optimize;
pub mod split;
pub mod tangents;
pub mod triangulate;
pub mod trs;
