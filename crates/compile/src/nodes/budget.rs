//! What a placement was promised, and whether its transforms leave its vertices enough of that.

use meshreel_process::extent::ulp;

/// The tolerance of a placement, and what its transforms take of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Resolved tolerance, world units, without what is spent.
    pub tolerance: f64,
    /// The part of the tolerance that re-meshing has taken.
    pub spent: f64,
    /// Largest distance that the f32 transforms alone, or f32 world positions, move any point.
    pub transform_error: f64,
    /// Largest world scale, of the source or decoded.
    pub scale: f64,
    /// Largest |coordinate| in the world.
    pub reach: f64,
    /// Largest |coordinate| of the corners of the object's box in the world, as the source has them: the box
    /// is that of all frames. Float32's limit follows from it, and so is the same wherever vertices are
    /// stored.
    pub corners: f64,
}

/// The part of the tolerance that transforms must leave to vertices; with less, baking takes fewer bytes.
pub const LEAST_LEFT: f64 = 0.4;

/// Units in the last place of an object's largest coordinate that must be left to its vertices: half the
/// diagonal of a cube of two units, for which 24 bits per axis suffice, and a little.
pub const LEAST_ULPS: f64 = 1.75;

/// Whether transforms that are off by `error` leave too little of a tolerance to vertices that reach so far
/// in a space that is scaled so much; `share`: of the tolerance.
pub fn leaves_too_little(tolerance: f64, error: f64, scale: f64, reach: f64, share: f64) -> bool {
    let room = tolerance - error;
    room.is_nan() || room < scale * LEAST_ULPS * ulp(reach) || room < share * tolerance
}

/// Which part of what a mesh is promised its moving transforms get, so that numbers of both kinds together
/// take the fewest bits: one of n numbers takes log₂ of its part.
pub fn transform_part(transforms: usize, coordinates: u64) -> f64 {
    let own = 6.0 * transforms as f64;
    (own / (own + coordinates as f64)).clamp(1.0 / 64.0, 0.95)
}
