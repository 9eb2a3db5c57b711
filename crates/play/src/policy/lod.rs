//! Which LOD level is drawn at which distance.

/// Distances that are passed one after the other, each with a number behind it: the level of detail.
/// Distances that were passed are passed back only [`LodDistances::margin`] nearer, so that nothing flickers at the
/// border.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LodDistances {
    /// The distance at which level `i` ends, ascending; ∞ for levels without an end.
    pub ends: [f32; LodDistances::MOST - 1],
    /// The part of a distance by which one must come back nearer: 0.1 for a tenth.
    pub margin: f32,
}

impl LodDistances {
    /// Most levels.
    pub const MOST: usize = 8;

    /// Level 0 at every distance.
    pub const ONE: LodDistances =
        LodDistances { ends: [f32::INFINITY; LodDistances::MOST - 1], margin: 0.05 };

    /// Levels that end at these distances; the last one never does.
    pub fn ending_at(ends: &[f32]) -> LodDistances {
        let mut levels = LodDistances::ONE;
        for (end, &at) in levels.ends.iter_mut().zip(ends) {
            *end = at;
        }
        levels
    }

    /// Levels of detail by what the eye can see of their errors: each begins at the distance from which its
    /// error is no more than `pixels` of the picture. `errors` are those of levels 1, 2 … ([`crate::Lod`]) in
    /// the mesh's own space, `scale` the largest scale of its world transform. Of more than eight levels the
    /// last are not used.
    ///
    /// Levels that are no better than the next, because that is good enough as near, are passed over.
    pub fn within(errors: &[f32], scale: f32, lens: &Lens, pixels: f32) -> LodDistances {
        let mut levels = LodDistances::ONE;
        let per_error = scale * lens.pixels_at_one() / pixels;
        let mut farthest = 0.0f32;
        for (end, &error) in levels.ends.iter_mut().zip(errors) {
            let begins = error * per_error;
            // NaN and what is no distance: never.
            farthest = if begins >= 0.0 { farthest.max(begins) } else { f32::INFINITY };
            *end = farthest;
        }
        levels
    }

    /// The level at a distance, where it was `was`. A distance of NaN is the farthest.
    pub fn at(&self, distance: f32, was: usize) -> usize {
        let passed = |(level, end): (usize, f32)| {
            let end = if level < was { end * (1.0 - self.margin) } else { end };
            distance > end || distance.is_nan()
        };
        self.ends.into_iter().enumerate().take_while(|&e| passed(e)).count()
    }
}

/// The eye: how large a length appears in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Vertical angle of view, radians, less than π.
    pub angle: f32,
    /// Height of the picture in pixels.
    pub height: f32,
}

impl Lens {
    /// Pixels of a length of 1 at the distance 1, across the direction of view.
    pub fn pixels_at_one(&self) -> f32 {
        self.height / (2.0 * (self.angle / 2.0).tan())
    }

    /// Pixels that a length takes at a distance; ∞ where the eye touches it.
    pub fn pixels(&self, length: f32, distance: f32) -> f32 {
        match distance > 0.0 {
            true => length * self.pixels_at_one() / distance,
            false => f32::INFINITY,
        }
    }
}
