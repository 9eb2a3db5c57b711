//! The tolerance of a placement, and a check that its transforms leave its vertices enough of it.

use meshreel_process::extent::ulp;

/// The tolerance of a placement, and the errors of its transforms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Resolved tolerance in world units, `spent` not included.
    pub tolerance: f64,
    /// The part of the tolerance that re-meshing has used, in world units.
    pub spent: f64,
    /// Largest distance by which f32 rounding of the transforms, or of world positions, moves any point.
    pub transform_error: f64,
    /// Largest world scale, of the source or as decoded.
    pub scale: f64,
    /// Largest |coordinate| in world space.
    pub max_coordinate: f64,
    /// Largest |coordinate| of the corners of the object's world-space box over all frames, from the source's
    /// values. The limit of float32 follows from it, and so is the same wherever vertices are stored.
    pub source_max_coordinate: f64,
}

/// The fraction of the tolerance that transforms must leave to vertices; below it, baking takes fewer bytes.
pub const MIN_VERTEX_FRACTION: f64 = 0.4;

/// Units in the last place of an object's largest coordinate that must be left to its vertices: half the
/// diagonal of a cube of two units, for which 24 bits per axis suffice, plus a margin.
pub const MIN_VERTEX_ULPS: f64 = 1.75;

/// Returns `true` if transforms with an error of `error` leave less than the fraction `share` of a tolerance
/// to vertices, or too little for float32 at coordinates up to `reach` in a space of scale `scale`.
pub fn leaves_too_little(tolerance: f64, error: f64, scale: f64, reach: f64, share: f64) -> bool {
    let room = tolerance - error;
    room.is_nan() || room < scale * MIN_VERTEX_ULPS * ulp(reach) || room < share * tolerance
}

/// Returns the fraction of a mesh's tolerance that its moving transforms get, chosen so that transforms and
/// coordinates together take the fewest bits: each of n numbers takes log₂ of its fraction.
pub fn transform_fraction(transforms: usize, coordinates: u64) -> f64 {
    let own = 6.0 * transforms as f64;
    (own / (own + coordinates as f64)).clamp(1.0 / 64.0, 0.95)
}
