//! Levels of detail.

use meshreel::Reel;
use serde::Serialize;

/// A level of detail of a mesh.
#[derive(Clone, Copy, Serialize)]
pub struct LodInfo {
    /// Triangles.
    pub triangles: usize,
    /// Largest distance to the mesh in any frame, in its own space.
    pub error: f64,
}

/// All levels of a mesh of a file, the mesh itself first; nothing where it has no others.
pub fn of(reel: &Reel, mesh: usize) -> Result<Vec<LodInfo>, meshreel::Error> {
    let count = reel.lods(mesh)?;
    let mut out = Vec::new();
    for level in (0..count).filter(|_| count > 1) {
        out.extend(
            reel.lod(mesh, level)?
                .map(|lod| LodInfo { triangles: lod.indices.len() / 3, error: lod.error.into() }),
        );
    }
    Ok(out)
}
