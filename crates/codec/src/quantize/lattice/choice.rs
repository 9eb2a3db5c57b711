//! The encoder's side of the lattice: unit and steps from bounds and tolerance, and the nearest points.

use super::{FixedPointGrid, LAYERS};

/// The lattice of the residuals; the decoder does not know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lattice {
    /// Body-centred cubic: components all even or all odd.
    Centred,
    /// Cubic: components all even.
    Cubic,
}

/// The lattice, precision factors and weights that an encoder chose for a mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeChoice {
    /// The lattice of the residuals.
    pub lattice: Lattice,
    /// The factor by which frame 0 is finer than the tolerance requires, at least 1.
    pub first_precision: f32,
    /// The factor by which key frames are finer.
    pub key_precision: f32,
    /// The factor by which the frames of the deepest layer are finer.
    pub deepest_precision: f32,
    /// The cost in bits of an error as large as the error bound, if residuals are chosen by their bits. 0:
    /// they are not; zero is taken wherever it is within the bound, and the nearest point elsewhere.
    pub error_weight: f32,
    /// The number of the fit of spatial weights, see [`crate::mesh::weights::FITS`].
    pub fit: u8,
}

/// Bounds and tolerance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// The smallest coordinates over all frames.
    pub low: [f32; 3],
    /// The largest coordinates over all frames.
    pub high: [f32; 3],
    /// The largest distance that is allowed between a position and its decoded f32.
    pub tolerance: f64,
    /// The number of axes that are not constant zero: 1, 2 or 3.
    pub axes: u8,
}

impl Extent {
    /// Returns the centre of the bounds.
    pub fn centre(&self) -> [f32; 3] {
        [0, 1, 2].map(|k| ((f64::from(self.low[k]) + f64::from(self.high[k])) / 2.0) as f32)
    }

    /// Returns the largest distance from the centre along an axis, plus a margin for the decoding error.
    pub fn reach(&self) -> f64 {
        let centre = self.centre();
        let side = |k: usize| {
            let c = f64::from(centre[k]);
            (f64::from(self.high[k]) - c).max(c - f64::from(self.low[k]))
        };
        side(0).max(side(1)).max(side(2)) + 2.0 * self.tolerance
    }

    /// Returns the error that the lattice may make: the tolerance minus the rounding of the output.
    pub(crate) fn lattice_bound(&self) -> f64 {
        let centre = self.centre();
        let mut sum = 0.0;
        for k in 0..3 {
            let c = f64::from(centre[k]);
            let (low, high) = (f64::from(self.low[k]), f64::from(self.high[k]));
            let offset = (high - c).max(c - low) + self.tolerance;
            let value = low.abs().max(high.abs()) + self.tolerance;
            // Half a unit in the last place for the product, another for the sum.
            let rounding = (offset + value) * f64::from(f32::EPSILON) / 2.0 + f64::from(f32::MIN_POSITIVE);
            sum += rounding * rounding;
        }
        self.tolerance - sum.sqrt()
    }

    /// Returns unit and steps; `None` if fixed-point positions up to ±`reach` units cannot hold the bounds,
    /// or only wastefully.
    pub fn grid(&self, choice: &LatticeChoice, reach: i32) -> Option<FixedPointGrid> {
        let lattice_bound = self.lattice_bound() * 0.9995;
        let h = match choice.lattice {
            Lattice::Centred => lattice_bound * 2.0 / 5f64.sqrt(),
            Lattice::Cubic => lattice_bound / f64::from(self.axes.clamp(1, 3)).sqrt(),
        };
        let smallest = self.reach() / f64::from(reach);
        let ratio = |layer: usize| {
            let t = layer.saturating_sub(1) as f64 / (LAYERS - 2) as f64;
            let (key, last) = (f64::from(choice.key_precision), f64::from(choice.deepest_precision));
            match layer {
                0 => f64::from(choice.first_precision).max(1.0),
                _ => (key + t * (last - key)).max(1.0),
            }
        };
        let deepest = LAYERS - 1;
        let most = (h / ratio(deepest) / smallest).floor().min(f64::from(MAX_UNITS_PER_STEP));
        if !(h > 0.0 && h.is_finite() && smallest > 0.0 && most >= 1.0) {
            return None;
        }
        let mut best: Option<(f64, FixedPointGrid)> = None;
        // Finer units make finer predictions, so the largest number of units per step comes first.
        for units in ((most as u16).div_ceil(2)..=most as u16).rev() {
            let mut unit = (h / ratio(deepest) / f64::from(units)) as f32;
            if f64::from(unit) * f64::from(units) > h / ratio(deepest) {
                unit = unit.next_down();
            }
            if !unit.is_normal() || f64::from(unit) < smallest {
                continue;
            }
            let wanted = |layer: usize| h / ratio(layer) / f64::from(unit);
            let steps: [u16; LAYERS] = std::array::from_fn(|l| (wanted(l) * 1.000_001) as u16);
            // The largest step must be exact: one that is too large by 0.000001 would exceed the bound.
            let steps = steps.map(|s| s.min(units).max(1));
            let excess = |l: usize| (wanted(l) / f64::from(steps[l])).log2().abs();
            let waste: f64 = (0..LAYERS).map(excess).sum::<f64>() / LAYERS as f64;
            if steps.iter().enumerate().any(|(l, &s)| f64::from(s) > wanted(l) * 1.7) {
                continue;
            }
            if best.as_ref().is_none_or(|b| waste < b.0 - 1e-3) {
                let centre = self.centre();
                best = Some((waste, FixedPointGrid { unit, centre, steps }));
            }
        }
        best.filter(|b| b.0 < MAX_WASTE_BITS).map(|b| b.1)
    }
}

// Tuning.
/// The largest number of units per step; finer units gain nothing.
const MAX_UNITS_PER_STEP: u32 = 16;
/// The largest loss in bits per axis from whole steps in i16; beyond, i32 is used.
const MAX_WASTE_BITS: f64 = 0.3;

/// Adding and subtracting this rounds to the nearest integer, ties to even; exact below 2^22.
const ROUNDING_BIAS: f32 = 12_582_912.0;

#[inline(always)]
fn nearest_integer(x: f32) -> f32 {
    (x + ROUNDING_BIAS) - ROUNDING_BIAS
}

#[inline(always)]
fn square(v: [f32; 3]) -> f32 {
    v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
}

/// Returns the lattice point nearest to `y`, which is in steps; |y| must be below 2^21.
#[inline(always)]
pub fn nearest(y: [f32; 3], lattice: Lattice) -> [i32; 3] {
    let even = y.map(|v| 2.0 * nearest_integer(0.5 * v));
    if lattice == Lattice::Cubic {
        return even.map(|v| v as i32);
    }
    let odd = y.map(|v| 2.0 * nearest_integer(0.5 * v - 0.5) + 1.0);
    let miss = |p: [f32; 3]| square([y[0] - p[0], y[1] - p[1], y[2] - p[2]]);
    if miss(odd) < miss(even) { odd } else { even }.map(|v| v as i32)
}

/// Returns the point with odd coordinates nearest to `y`.
#[inline(always)]
pub fn nearest_odd(y: [f32; 3]) -> [i32; 3] {
    y.map(|v| (2.0 * nearest_integer(0.5 * v - 0.5) + 1.0) as i32)
}

/// Does the same as [`nearest`] in f64, for numbers of any size.
pub fn nearest_exact(y: [f64; 3], lattice: Lattice) -> [i32; 3] {
    let even = y.map(|v| 2.0 * (0.5 * v).round());
    let odd = y.map(|v| 2.0 * (0.5 * v - 0.5).round() + 1.0);
    let miss = |p: [f64; 3]| (0..3).map(|k| (y[k] - p[k]) * (y[k] - p[k])).sum::<f64>();
    let best = if lattice == Lattice::Centred && miss(odd) < miss(even) { odd } else { even };
    best.map(|v| v as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantize::fixed_point::FixedPoint;
    use proptest::prelude::*;

    fn extent(size: f32, at: f32, radius: f64) -> Extent {
        Extent { low: [at, at, at], high: [at + size, at + size / 2.0, at], tolerance: radius, axes: 3 }
    }

    const A: LatticeChoice = LatticeChoice {
        lattice: Lattice::Centred,
        first_precision: 2.0,
        key_precision: 2.0,
        deepest_precision: 1.0,
        error_weight: 0.0,
        fit: 0,
    };
    const B: LatticeChoice = LatticeChoice {
        lattice: Lattice::Cubic,
        first_precision: 1.0,
        key_precision: 1.0,
        deepest_precision: 1.0,
        error_weight: 0.0,
        fit: 0,
    };

    #[test]
    fn grids() {
        let g = extent(1.0, 0.0, 1e-3).grid(&A, i16::MAX_COORDINATE).unwrap();
        assert_eq!(g.steps, [7, 7, 8, 9, 11, 14]);
        let g = extent(1.0, 0.0, 1e-4).grid(&B, i16::MAX_COORDINATE).unwrap();
        assert_eq!(g.steps, [3; LAYERS]);
        assert!(extent(1.0, 0.0, 1e-5).grid(&B, i16::MAX_COORDINATE).is_none());
        assert!(extent(1.0, 0.0, 1e-5).grid(&A, i32::MAX_COORDINATE).is_some());
        assert!(extent(1.0, 0.0, 4e-7).grid(&B, i32::MAX_COORDINATE).is_some());
        assert!(extent(1.0, 0.0, 1e-8).grid(&B, i32::MAX_COORDINATE).is_none());
        assert!(extent(1.0, 1e6, 1e-3).grid(&B, i32::MAX_COORDINATE).is_none());
        assert!(extent(0.0, 0.0, 0.0).grid(&B, i32::MAX_COORDINATE).is_none());
        assert!(extent(f32::NAN, 0.0, 1.0).grid(&B, i32::MAX_COORDINATE).is_none());
        assert!(extent(f32::MAX, f32::MIN, 1e-3).grid(&B, i32::MAX_COORDINATE).is_none());
        assert!(extent(0.0, 5.0, 1.0).grid(&A, i16::MAX_COORDINATE).is_some());
    }

    proptest! {
        #[test]
        fn nothing_is_farther_than_the_radius(y in [-50f32..50.0, -50f32..50.0, -50f32..50.0]) {
            for (lattice, most) in [(Lattice::Centred, 5f32.sqrt() / 2.0), (Lattice::Cubic, 3f32.sqrt())] {
                let q = nearest(y, lattice);
                prop_assert!(q.iter().all(|v| (v ^ q[0]) & 1 == 0));
                let miss = square([0, 1, 2].map(|k| y[k] - q[k] as f32)).sqrt();
                prop_assert!(miss <= most + 1e-4);
                let exact = nearest_exact(y.map(f64::from), lattice);
                let other = square([0, 1, 2].map(|k| y[k] - exact[k] as f32)).sqrt();
                prop_assert!((miss - other).abs() < 1e-4);
            }
        }
    }
}
