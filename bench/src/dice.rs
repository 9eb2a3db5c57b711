//! Pseudo-random numbers that are the same on every machine.

use glam::DVec3;

/// A generator of pseudo-random numbers: SplitMix64 (G. Steele and others, *Fast splittable pseudorandom
/// number generators*, 2014).
pub struct Dice(u64);

impl Dice {
    /// Creates a generator; other seeds give other numbers.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Returns a number from 0 to 1.
    pub fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a vector within a cube around the origin.
    pub fn vector(&mut self) -> DVec3 {
        DVec3::from_array([0; 3].map(|_| 2.0 * self.roll() - 1.0))
    }
}
