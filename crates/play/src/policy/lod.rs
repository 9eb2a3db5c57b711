//! The choice of LOD levels by distance.

use crate::setters::setters;

/// Ascending distances at which one LOD level ends and the next begins. Coming nearer, the level changes back
/// only [`LodDistances::margin`] before the distance, so that it does not flicker at the border.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct LodDistances {
    /// The distance at which level `i` ends, ascending; ∞ for levels without an end.
    pub end_distances: [f32; LodDistances::MAX_LEVELS - 1],
    /// The hysteresis as a fraction of each distance: 0.1 for a tenth. Default 0.05.
    pub margin: f32,
}

impl LodDistances {
    /// The largest number of levels.
    pub const MAX_LEVELS: usize = 8;

    /// Level 0 at every distance.
    pub const SINGLE_LEVEL: LodDistances =
        LodDistances { end_distances: [f32::INFINITY; LodDistances::MAX_LEVELS - 1], margin: 0.05 };

    /// Returns levels that end at these distances; the last one never ends.
    pub fn ending_at(ends: &[f32]) -> LodDistances {
        let mut levels = LodDistances::SINGLE_LEVEL;
        for (end, &at) in levels.end_distances.iter_mut().zip(ends) {
            *end = at;
        }
        levels
    }

    /// Returns levels by the visible size of their errors: each begins at the distance from which on its
    /// error is at most `pixels` of the picture. `errors` are those of levels 1, 2 … ([`crate::view::Lod`])
    /// in the mesh's own space, `scale` the largest scale of its world transform. If there are more than
    /// eight levels, the last are not used.
    ///
    /// A level that begins no nearer than the next one is skipped.
    pub fn from_errors(errors: &[f32], scale: f32, lens: &Projection, pixels: f32) -> LodDistances {
        let mut levels = LodDistances::SINGLE_LEVEL;
        let per_error = scale * lens.pixels_at_one() / pixels;
        let mut farthest = 0.0f32;
        for (end, &error) in levels.end_distances.iter_mut().zip(errors) {
            let begins = error * per_error;
            // An error that is NaN or negative: the level never begins.
            farthest = if begins >= 0.0 { farthest.max(begins) } else { f32::INFINITY };
            *end = farthest;
        }
        levels
    }

    setters! {
        with_margin(margin: f32);
    }

    /// Returns the level at a distance, if it was `was` before. NaN counts as infinitely far.
    #[must_use]
    pub fn level(&self, distance: f32, was: usize) -> usize {
        let passed = |(level, end): (usize, f32)| {
            let end = if level < was { end * (1.0 - self.margin) } else { end };
            distance > end || distance.is_nan()
        };
        self.end_distances.into_iter().enumerate().take_while(|&e| passed(e)).count()
    }
}

/// The camera: the size in the picture of a length at a distance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Projection {
    /// Vertical angle of view, radians, less than π.
    pub angle: f32,
    /// Height of the picture in pixels.
    pub height: f32,
}

impl Projection {
    /// Returns a projection with a vertical angle of view in radians and a height of the picture in pixels.
    pub const fn new(angle: f32, height: f32) -> Projection {
        Projection { angle, height }
    }

    /// Returns the pixels of a length of 1 at the distance 1, across the direction of view.
    #[must_use]
    pub fn pixels_at_one(&self) -> f32 {
        self.height / (2.0 * (self.angle / 2.0).tan())
    }

    /// Returns the pixels of a length at a distance; ∞ at distance 0.
    #[must_use]
    pub fn pixels(&self, length: f32, distance: f32) -> f32 {
        match distance > 0.0 {
            true => length * self.pixels_at_one() / distance,
            false => f32::INFINITY,
        }
    }
}
