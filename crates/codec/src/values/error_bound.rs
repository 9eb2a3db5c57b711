//! Chooses the code of each value: any code within the error bound is valid, so the encoder takes the
//! cheapest. Error bound: the radius. Nothing of this is part of the format; decoders see codes like any
//! others.
//!
//! The nearest lattice point is at most half a cell's diagonal away, and the tolerance must cover that. But
//! most values are within the tolerance of several points, about 2.7 in three dimensions if it is just
//! covered:
//!
//! ```text
//! for each vector, real position x, prediction P, both in steps
//!     P itself, if |P − x| ≤ radius                       residual 0: costs next to nothing
//!     else of all lattice points with |p − x| ≤ radius the one whose residual p − P costs least, then the nearest
//!     the nearest, if there is none
//! ```
//!
//! The choice is made inside the coding loop, because later vertices and frames are predicted from the chosen
//! codes. It is repeated with the costs that the first round has shown.

use crate::quantize::code::Code;
use crate::quantize::scalar::Axis;
use crate::values::cost::ResidualCost;
use crate::values::parallelogram::{Combine, NO_TRIANGLE, PredictorTable, predict};

/// The exact values of a stream, and the distance by which they may be moved. Component-major.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a, W> {
    /// The nearest code of each component, see [`crate::quantize::scalar::Axis::locate`].
    pub nearest: &'a [W],
    /// The distance from the code to the value, in steps.
    pub offset: &'a [f32],
    /// The number of codes of each component; its length is the number of components, at most 4.
    pub codes: &'a [u32],
    /// The largest Euclidean distance from the value to the chosen code, in steps, see [`radius`]; all
    /// components have the same step (or only one code). If no code is within it, the nearest one is taken.
    pub radius: f32,
    /// `true` to consider all points within the radius, not only the prediction and the nearest point:
    /// smaller, but takes twice as long.
    pub thorough: bool,
    /// For each vertex the first one, at most itself, that must get the same codes; `None` if all are
    /// independent. Both must have the same values.
    pub welded: Option<&'a [u32]>,
}

/// Returns the largest [`Target::radius`] for which every chosen code is within `tolerance` of the value,
/// including the f32 rounding of [`Axis::value`]. `tolerance` is in the unit of the axes. Zero if the
/// rounding alone exceeds it.
pub fn radius(tolerance: f64, axes: &[Axis]) -> f32 {
    let step = axes.iter().fold(0.0, |s, a| f64::max(s, a.step.into()));
    // Once for the nearest code, from which offsets are measured, once for the chosen one.
    let rounding = 2.0 * axes.iter().map(|a| a.rounding() * a.rounding()).sum::<f64>().sqrt();
    if step == 0.0 {
        return 0.0;
    }
    // One part in a million covers the f32 arithmetic of the choice.
    ((tolerance - rounding) / step * (1.0 - 1e-6)).clamp(0.0, 1e6) as f32
}

/// The prediction of a vertex: `source`, plus `rule` applied to its neighbours' differences to their source.
#[derive(Clone, Copy)]
pub(crate) struct SpatialBasis<'a, W, R> {
    pub(crate) source: &'a [W],
    pub(crate) rule: R,
    /// `true` if the differences to the source are signed.
    pub(crate) signed: bool,
    pub(crate) table: &'a PredictorTable,
}

impl<W: Code> Target<'_, W> {
    /// Returns the number of vertices. Panics if the parts do not fit together.
    pub(crate) fn count(&self) -> usize {
        let components = self.codes.len();
        assert!((1..=4).contains(&components), "1 to 4 components");
        let count = self.nearest.len() / components;
        assert_eq!(self.nearest.len(), count * components, "whole vectors");
        assert_eq!(self.offset.len(), self.nearest.len(), "an offset per code");
        assert!(self.welded.is_none_or(|w| w.len() == count), "a representative per vertex");
        count
    }

    /// Chooses codes, vertex after vertex; writes their differences to the source (`above`), and the
    /// residuals.
    pub(crate) fn choose<R: Combine, const N: usize>(
        &self,
        cost: &ResidualCost,
        basis: SpatialBasis<'_, W, R>,
        above: &mut [W],
        residuals: &mut [W],
    ) {
        let count = self.count();
        let limit = self.radius * self.radius;
        let codes: [i32; N] = std::array::from_fn(|k| self.codes[k] as i32);
        let above = planes_mut::<W, N>(above, count);
        let residuals = planes_mut::<W, N>(residuals, count);
        let source = planes::<W, N>(basis.source, count);
        let nearest = planes::<W, N>(self.nearest, count);
        let offset = planes::<f32, N>(self.offset, count);
        for v in 0..count {
            let entry = basis.table.get(v).copied().unwrap_or([NO_TRIANGLE; 3]);
            let spatial: [W; N] = std::array::from_fn(|k| {
                predict(above[k], v, entry, basis.rule, basis.signed).expect("a table that points inside")
            });
            let first = self.welded.map_or(v, |w| w[v] as usize);
            for k in 0..N {
                // The nearest code for now.
                above[k][v] = nearest[k][v].wrapping_sub(source[k][v]);
            }
            if first < v {
                for k in 0..N {
                    above[k][v] = above[k][first].wrapping_add(source[k][first]).wrapping_sub(source[k][v]);
                }
            } else {
                let around = VectorCandidates::<N> {
                    nearest: std::array::from_fn(|k| nearest[k][v].to_u32() as i32),
                    offset: std::array::from_fn(|k| offset[k][v]),
                    prediction: std::array::from_fn(|k| spatial[k].wrapping_sub(above[k][v]).signed()),
                    codes,
                    limit,
                };
                let moved = around.cheapest(cost, self.thorough);
                for k in 0..N {
                    above[k][v] = above[k][v].wrapping_add(W::wrap32(moved[k] as u32));
                }
            }
            for k in 0..N {
                residuals[k][v] = above[k][v].wrapping_sub(spatial[k]);
            }
        }
    }
}

fn planes<W, const N: usize>(all: &[W], count: usize) -> [&[W]; N] {
    std::array::from_fn(|k| &all[k * count..(k + 1) * count])
}

fn planes_mut<W, const N: usize>(all: &mut [W], count: usize) -> [&mut [W]; N] {
    let mut rest = all;
    std::array::from_fn(|_| {
        let (plane, others) = std::mem::take(&mut rest).split_at_mut(count);
        rest = others;
        plane
    })
}

/// One vector and the lattice points around it, all relative to the nearest point.
struct VectorCandidates<const N: usize> {
    nearest: [i32; N],
    offset: [f32; N],
    /// The prediction.
    prediction: [i32; N],
    codes: [i32; N],
    limit: f32,
}

impl<const N: usize> VectorCandidates<N> {
    #[inline(always)]
    fn cheapest(&self, cost: &ResidualCost, thorough: bool) -> [i32; N] {
        if self.distance(&self.prediction) <= self.limit && self.exists(&self.prediction) {
            return self.prediction;
        }
        if thorough { self.search(cost) } else { [0; N] }
    }

    #[inline(always)]
    fn distance(&self, point: &[i32; N]) -> f32 {
        let squares = point.iter().zip(&self.offset).map(|(&p, &o)| (p as f32 - o) * (p as f32 - o));
        squares.sum()
    }

    #[inline(always)]
    fn exists(&self, point: &[i32; N]) -> bool {
        (0..N).all(|k| (0..self.codes[k]).contains(&self.nearest[k].wrapping_add(point[k])))
    }

    fn search(&self, cost: &ResidualCost) -> [i32; N] {
        let radius = self.limit.sqrt();
        // Every axis from its lowest to its highest code within the radius, at most 4 to each side.
        let low: [i32; N] = std::array::from_fn(|k| {
            ((self.offset[k] - radius).ceil() as i32).clamp(-4, 0).max(-self.nearest[k])
        });
        let high: [i32; N] = std::array::from_fn(|k| {
            ((self.offset[k] + radius).floor() as i32).clamp(0, 4).min(self.codes[k] - 1 - self.nearest[k])
        });
        let mut best = ([0; N], f32::INFINITY, f32::INFINITY);
        let mut point = low;
        loop {
            let distance = self.distance(&point);
            if distance <= self.limit {
                let residual: [i32; N] = std::array::from_fn(|k| point[k].wrapping_sub(self.prediction[k]));
                let bits = cost.bits(&residual);
                if bits < best.1 || bits == best.1 && distance < best.2 {
                    best = (point, bits, distance);
                }
            }
            let Some(k) = (0..N).find(|&k| point[k] < high[k]) else {
                return best.0;
            };
            point[k] += 1;
            point[..k].copy_from_slice(&low[..k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::parallelogram::TriangleWeights;
    use proptest::prelude::*;

    fn target<'a>(nearest: &'a [u16], offset: &'a [f32], codes: &'a [u32], radius: f32) -> Target<'a, u16> {
        Target { nearest, offset, codes, radius, thorough: true, welded: None }
    }

    fn choose_codes<const N: usize>(
        t: Target<'_, u16>,
        source: &[u16],
        cost: &ResidualCost,
    ) -> (Vec<u16>, Vec<u16>) {
        let mut above = vec![0; source.len()];
        let mut residuals = vec![0; source.len()];
        let basis =
            SpatialBasis { source, rule: TriangleWeights::ZERO, signed: true, table: &PredictorTable::new() };
        t.choose::<_, N>(cost, basis, &mut above, &mut residuals);
        let chosen = above.iter().zip(source).map(|(a, s)| a.wrapping_add(*s)).collect();
        (chosen, residuals)
    }

    #[test]
    fn takes_the_prediction_then_the_cheapest_then_the_nearest() {
        let cost = ResidualCost::guess();
        // 10.4, from 11: within a radius of 0.6. From 12: 11 costs least. From 12 with a radius of 0.5: only
        // 10 is within it.
        for (source, radius, want) in [(11, 0.61, 11), (12, 0.61, 11), (12, 0.5, 10), (12, 0.1, 10)] {
            let (chosen, residuals) =
                choose_codes::<1>(target(&[10], &[0.4], &[100], radius), &[source], &cost);
            assert_eq!((chosen[0], residuals[0]), (want, want.wrapping_sub(source)));
        }
        // Two components: the prediction (11, 21) is outside, its neighbours cost the same, (11, 20) is
        // nearer.
        let t = target(&[10, 20], &[0.4, 0.3], &[100, 100], 0.8);
        assert_eq!(choose_codes::<2>(t, &[11, 21], &cost).0, [11, 20]);
        let quick = Target { thorough: false, ..t };
        assert_eq!(choose_codes::<2>(quick, &[11, 21], &cost).0, [10, 20]);
    }

    #[test]
    fn stays_on_the_axis() {
        let cost = ResidualCost::guess();
        assert_eq!(choose_codes::<1>(target(&[0], &[-0.4], &[10], 0.7), &[u16::MAX], &cost).0, [0]);
        assert_eq!(choose_codes::<1>(target(&[9], &[0.4], &[10], 0.7), &[10], &cost).0, [9]);
        assert_eq!(choose_codes::<1>(target(&[0], &[0.4], &[1], 0.7), &[1], &cost).0, [0]);
    }

    #[test]
    fn radius_leaves_room_for_rounding() {
        let axis = Axis::new(-1000.0, 1000.0, 0.01).unwrap();
        let r = f64::from(radius(0.01, &[axis; 3]));
        assert!(r < 1.0 && r * f64::from(axis.step) + 4.0 * axis.rounding() > 0.0099);
        assert_eq!(radius(1e-6, &[axis; 3]), 0.0);
        assert_eq!(radius(1.0, &[Axis::new(1.0, 1.0, 1.0).unwrap(); 3]), 0.0);
    }

    proptest! {
        #[test]
        fn never_exceeds_the_error_bound(
            rows in proptest::collection::vec(((0u32..40, -0.5f32..0.5), (0u32..40, -0.5f32..0.5), (0u32..40, -0.5f32..0.5), [0u16..40, 0u16..40, 0u16..40]), 1..60),
            radius in 0.0f32..4.0,
            thorough: bool,
            learnt: bool,
        ) {
            let count = rows.len();
            let column = |k: usize| rows.iter().map(move |r| [r.0, r.1, r.2][k]);
            let nearest: Vec<u16> = (0..3).flat_map(|k| column(k).map(|c| c.0 as u16)).collect();
            let offset: Vec<f32> = (0..3).flat_map(|k| column(k).map(|c| c.1)).collect();
            let source: Vec<u16> = (0..3).flat_map(|k| rows.iter().map(move |r| r.3[k])).collect();
            let t = Target { thorough, ..target(&nearest, &offset, &[40; 3], radius) };
            let guess = ResidualCost::guess();
            let (_, first) = choose_codes::<3>(t, &source, &guess);
            let cost = if learnt { ResidualCost::learn(&first, 3) } else { guess };
            let (chosen, residuals) = choose_codes::<3>(t, &source, &cost);
            for v in 0..count {
                let (mut far, mut least) = (0.0f64, 0.0f64);
                for k in 0..3 {
                    let at = k * count + v;
                    prop_assert!(chosen[at] < 40);
                    prop_assert_eq!(residuals[at], chosen[at].wrapping_sub(source[at]));
                    let offset = f64::from(offset[at]);
                    far += (f64::from(chosen[at]) - f64::from(nearest[at]) - offset).powi(2);
                    least += offset.powi(2);
                }
                prop_assert!(far <= (f64::from(radius).powi(2) * (1.0 + 1e-6)).max(least), "{} {}", far, radius);
            }
        }
    }
}
