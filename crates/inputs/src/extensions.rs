//! Kinds of inputs by file extension.

use std::path::Path;

/// Extensions of inputs; no output is written under a name with one of them.
pub const EXTENSIONS: [&str; 13] =
    ["abc", "usd", "usda", "usdc", "usdz", "fbx", "obj", "ply", "pc2", "mdd", "glb", "gltf", "bvh"];

/// Extensions of point caches.
const POINT_CACHES: [&str; 2] = ["pc2", "mdd"];

/// `true` if a path names a point cache: positions of a mesh over time, which are read together with that
/// mesh.
pub fn is_point_cache(path: &Path) -> bool {
    has_extension(path, &POINT_CACHES)
}

pub(crate) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
}
