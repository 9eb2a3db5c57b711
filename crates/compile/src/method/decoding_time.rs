//! What decoding takes, in bytes: candidates are compared by both, so that no file is a little smaller and
//! takes several times as long.

use meshreel_codec::record::BoneCounts;
use meshreel_options::{Options, Preset};

/// Bits that a nanosecond per vertex is worth: for fast decoding, and for small files.
const BITS_PER_NANOSECOND: [f64; 2] = [0.3, 0.03];

/// Nanoseconds per point of one core of an AMD EPYC with AVX-512, for a captured body of 10,000 points
/// (`meshreel bench`): fixed-point positions of 16 and of 32 bits, packed and entropy-coded.
const SOFT: [[f64; 2]; 2] = [[3.6, 6.3], [7.0, 11.1]];
/// Posing a point with bones, and adding its residual to that.
const POSE: f64 = 2.5;
const RESIDUAL: f64 = 1.0;

/// How positions are coded, as far as it decides what decoding takes.
#[derive(Clone, Copy)]
pub struct PositionForm {
    /// `true` if fixed-point positions have 32 bits.
    pub wide: bool,
    /// The bones; `None` for the method soft.
    pub bones: Option<BoneCounts>,
}

impl PositionForm {
    /// Returns the nanoseconds that a point takes in a frame.
    fn nanoseconds(&self, points: usize, preset: Preset) -> f64 {
        let soft = SOFT[usize::from(preset != Preset::Fast)][usize::from(self.wide)];
        match self.bones {
            None => soft,
            Some(bones) => POSE + (RESIDUAL + soft) * f64::from(bones.coded) / points.max(1) as f64,
        }
    }

    /// Returns the bytes that the decoding time of so many points and frames is worth.
    pub fn bytes(&self, (points, frames): (usize, u32), options: &Options) -> u64 {
        let values = points as f64 * f64::from(frames);
        let each = self.nanoseconds(points, options.preset) * bits_per_nanosecond(options);
        (values * each / 8.0) as u64
    }
}

/// Returns the bits that a nanosecond of decoding time per vertex is worth.
pub fn bits_per_nanosecond(options: &Options) -> f64 {
    BITS_PER_NANOSECOND[usize::from(options.preset != Preset::Fast)]
}
