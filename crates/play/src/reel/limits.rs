//! What a file may ask for: held against its tables and its description before anything is allocated.

/// Limits of what a file may make the runtime allocate. The defaults hold any sane asset; a server that opens
/// strangers' files sets less.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Chunks and frames.
    pub format: meshreel_format::Limits,
    /// Sum of the vertices of all meshes.
    pub max_vertices: u64,
    /// Sum of nodes and meshes.
    pub max_objects: u64,
    /// Bytes that an open file may take with its static data and one decoder.
    pub max_memory: u64,
    /// Whether there may be animated normals, tangents, uvs and colours on meshes of fixed topology. Without,
    /// such meshes are as if they had none: these are neither decoded nor held and, in a file that has them
    /// apart (`--attributes-apart`), not even read.
    pub attributes: bool,
    /// Whether points that parts and bones move are put where they are. Without, frames of such meshes are bones
    /// and residuals alone ([`crate::raw`]), less to hold and to make, for those who put points there themselves,
    /// on a graphics card; to ask for their positions, normals or tangents is a misuse.
    pub poses: bool,
    /// Whether points of soft meshes of the preset `fast` are decoded. Without, frames of such meshes hold bytes of
    /// their units, checked ([`crate::raw::CodedUnits`]), for those who decode them on a graphics card; to ask for
    /// their positions, normals or tangents is a misuse. Meshes that stand still for a while are decoded all the same.
    pub points: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            format: meshreel_format::Limits::default(),
            max_vertices: 1 << 28,
            max_objects: 1 << 24,
            max_memory: 4 << 30,
            attributes: true,
            poses: true,
            points: true,
        }
    }
}
