//! Interpolation weights between two samples of a clip.

/// The treatment of times between samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rounding {
    /// Normalized linear interpolation of rotations, linear interpolation of the rest.
    None,
    /// The sample before.
    Floor,
    /// The sample after.
    Ceil,
    /// The nearest sample.
    Nearest,
}

impl Rounding {
    /// Returns the interpolation weight between two samples for a time at `part` of the way from one to the
    /// next.
    #[inline]
    #[must_use]
    pub fn weight(self, part: f32) -> f32 {
        match self {
            Rounding::None => part,
            Rounding::Floor => 0.0,
            Rounding::Ceil => f32::from(u8::from(part > 0.0)),
            Rounding::Nearest => f32::from(u8::from(part >= 0.5)),
        }
    }
}

/// The interpolation weight of each joint between the left and the right sample, 0 … 1.
#[derive(Clone, Copy, Debug)]
pub struct InterpolationWeights<'a> {
    /// The position between the samples, 0 … 1.
    pub part: f32,
    /// The rounding of joints beyond the end of `roundings`.
    pub rounding: Rounding,
    /// The rounding of each joint.
    pub roundings: &'a [Rounding],
    /// `true` for joints that are never interpolated; those beyond the end of the list are.
    pub stepped: &'a [bool],
}

impl InterpolationWeights<'_> {
    /// Returns the same weight for all joints.
    #[must_use]
    pub fn same(part: f32) -> InterpolationWeights<'static> {
        InterpolationWeights { part, rounding: Rounding::None, roundings: &[], stepped: &[] }
    }

    /// Returns the weight if it is the same for all joints.
    #[inline]
    #[must_use]
    pub fn uniform(&self) -> Option<f32> {
        let alike = self.part == 0.0 || self.roundings.is_empty() && self.stepped.is_empty();
        alike.then(|| self.rounding.weight(self.part))
    }

    /// Returns the weight of one joint.
    #[inline]
    #[must_use]
    pub fn weight(&self, joint: usize) -> f32 {
        let weight = self.roundings.get(joint).unwrap_or(&self.rounding).weight(self.part);
        match weight < 1.0 && self.stepped.get(joint) == Some(&true) {
            true => 0.0,
            false => weight,
        }
    }
}
