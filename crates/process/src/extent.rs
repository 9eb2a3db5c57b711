//! Bounds of values, and the spacing of float32 numbers.

pub use meshreel_scene::sample::{MAX_COORDINATE, is_usable_point};

/// Lowest and highest value per component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent<const N: usize> {
    /// Lowest value of each component.
    pub low: [f32; N],
    /// Highest value of each component.
    pub high: [f32; N],
}

impl<const N: usize> Default for Extent<N> {
    fn default() -> Self {
        Extent { low: [f32::INFINITY; N], high: [f32::NEG_INFINITY; N] }
    }
}

impl<const N: usize> Extent<N> {
    /// Extends the bounds to `values`; NaN and infinities are ignored.
    pub fn extend<'v>(&mut self, values: impl IntoIterator<Item = &'v [f32; N]>) {
        for value in values {
            for k in 0..N {
                if value[k].is_finite() {
                    self.low[k] = self.low[k].min(value[k]);
                    self.high[k] = self.high[k].max(value[k]);
                }
            }
        }
    }
    /// Extends the bounds to those of `other`.
    pub fn join(&mut self, other: &Extent<N>) {
        self.extend([&other.low, &other.high]);
    }
    /// Returns the lowest and highest value of component `k`, zeros if nothing was included.
    pub fn component(&self, k: usize) -> (f32, f32) {
        if self.low[k] <= self.high[k] { (self.low[k], self.high[k]) } else { (0.0, 0.0) }
    }
}

/// Returns the diagonal of an extent, 0 if it is empty.
pub fn diagonal(extent: &Extent<3>) -> f64 {
    (0..3)
        .map(|k| {
            let (low, high) = extent.component(k);
            (f64::from(high) - f64::from(low)).powi(2)
        })
        .sum::<f64>()
        .sqrt()
}

/// Returns the distance of neighbouring float32 values around `x`.
pub fn ulp(x: f64) -> f64 {
    // Smaller numbers are subnormal, which graphics hardware treats as zero.
    let least = f64::from(f32::MIN_POSITIVE);
    let x = x.abs().max(least);
    (x.log2().floor() - 23.0).exp2().max(least)
}
