//! Sizes of meshes in a file, except for frames.

use meshreel::Reel;
use meshreel::raw::record::ChunkLocation;

/// Returns, for each mesh, its share of the compressed bytes of data that no frame changes: triangles, static
/// values, end states. Source maps, which players do not read, and LOD levels are not included.
pub fn static_bytes(reel: &Reel) -> Vec<f64> {
    let part = |location: ChunkLocation| compressed_bytes(reel, location);
    let meshes = reel.description().meshes.iter();
    meshes.map(|mesh| [mesh.connectivity, mesh.values, mesh.end_states].map(part).iter().sum()).collect()
}

/// Returns the share of a location in the compressed bytes of its chunk.
pub fn compressed_bytes(reel: &Reel, location: ChunkLocation) -> f64 {
    match reel.chunks().get(location.chunk as usize) {
        Some(chunk) if location.size > 0 && chunk.raw_size > 0 => {
            f64::from(location.size) * f64::from(chunk.size) / f64::from(chunk.raw_size)
        }
        _ => 0.0,
    }
}
