//! Bounds of values, and how finely float32 numbers lie around one.

pub use meshreel_scene::sample::{LARGEST, usable};

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
    /// Includes `values`; NaN and infinities are left out.
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
    /// Includes all that `other` does.
    pub fn join(&mut self, other: &Extent<N>) {
        self.extend([&other.low, &other.high]);
    }
    /// Lowest and highest of component `k`, zeros where nothing was included.
    pub fn component(&self, k: usize) -> (f32, f32) {
        if self.low[k] <= self.high[k] { (self.low[k], self.high[k]) } else { (0.0, 0.0) }
    }
}

/// Diagonal of an extent, 0 of nothing.
pub fn diagonal(extent: &Extent<3>) -> f64 {
    (0..3)
        .map(|k| {
            let (low, high) = extent.component(k);
            (f64::from(high) - f64::from(low)).powi(2)
        })
        .sum::<f64>()
        .sqrt()
}

/// Distance of float32 values around `x`.
pub fn ulp(x: f64) -> f64 {
    // Below that numbers are subnormal, which graphics hardware takes for zero.
    let least = f64::from(f32::MIN_POSITIVE);
    let x = x.abs().max(least);
    (x.log2().floor() - 23.0).exp2().max(least)
}
