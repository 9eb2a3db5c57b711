//! LOD levels.

use meshreel::Reel;
use serde::Serialize;

/// A LOD level of a mesh.
#[derive(Clone, Copy, Serialize)]
pub struct LodInfo {
    /// Number of triangles.
    pub triangles: usize,
    /// Largest distance to the mesh in any frame, in the mesh's own space.
    pub error: f64,
}

/// Returns all LOD levels of a mesh, the mesh itself first; empty if it has no others.
pub fn lod_infos(reel: &Reel, mesh: usize) -> Result<Vec<LodInfo>, meshreel::Error> {
    let count = reel.lod_count(mesh)?;
    let mut out = Vec::new();
    for level in (0..count).filter(|_| count > 1) {
        out.extend(
            reel.lod(mesh, level)?
                .map(|lod| LodInfo { triangles: lod.indices.len() / 3, error: lod.error.into() }),
        );
    }
    Ok(out)
}
