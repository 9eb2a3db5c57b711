//! Which lattice point stands for a value: any inside the error ball, so the encoder takes the one that is cheapest to
//! code. Error bound: the ball's radius. Nothing of this is part of the format; decoders see levels like any others.
//!
//! The nearest point is at most half a cell's diagonal away, and the tolerance must cover that. But most values are
//! nearer to several points than the tolerance, about 2.7 in three dimensions when it is just covered:
//!
//! ```text
//! for each vector, real position x, prediction P, both in steps
//!     P itself, if |P − x| ≤ radius                       residual 0: costs next to nothing
//!     else of all lattice points with |p − x| ≤ radius the one whose residual p − P costs least, then the nearest
//!     the nearest, if there is none
//! ```
//!
//! The choice is made inside the coding loop: what is chosen is what later vertices and frames are predicted from.

use crate::{residual::Cost, word::Word};

/// Where the values of a stream really are, and how far from it they may be moved. Component-major.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a, W> {
    /// Nearest level of each component, see [`crate::quantize::Axis::locate`].
    pub nearest: &'a [W],
    /// How far the value lies above it, in steps.
    pub offset: &'a [f32],
    /// Number of levels of each component; there are as many components as this is long, at most 4.
    pub levels: &'a [u32],
    /// Largest Euclidean distance from the value to what is chosen, in steps; all components have the same step (or one
    /// level only). Where no level is inside, the nearest one is taken.
    pub radius: f32,
    /// For each vertex the first one, at most itself, that must get the same levels; None: all are independent. Both
    /// must have the same values.
    pub welded: Option<&'a [u32]>,
}

impl<W: Word> Target<'_, W> {
    /// Number of vertices. Panics if the parts do not fit together.
    pub(crate) fn count(&self) -> usize {
        let components = self.levels.len();
        assert!((1..=4).contains(&components), "1 to 4 components");
        let count = self.nearest.len() / components;
        assert_eq!(self.nearest.len(), count * components, "whole vectors");
        assert_eq!(self.offset.len(), self.nearest.len(), "an offset per level");
        assert!(self.welded.is_none_or(|w| w.len() == count), "a representative per vertex");
        count
    }

    /// Chooses levels, vertex after vertex. `predict` gives the prediction of a vertex from the levels chosen so far
    /// (component-major, complete below that vertex). Writes `chosen` and the residuals.
    pub(crate) fn choose<const N: usize>(
        &self,
        cost: &Cost,
        predict: impl Fn(&[W], usize) -> [W; N],
        chosen: &mut [W],
        residuals: &mut [W],
    ) {
        let count = self.count();
        let limit = self.radius * self.radius;
        let levels: [i32; N] = std::array::from_fn(|k| self.levels[k] as i32);
        for v in 0..count {
            let predicted = predict(chosen, v);
            let first = self.welded.map_or(v, |w| w[v] as usize);
            let moved = if first < v {
                // Another vertex has decided.
                std::array::from_fn(|k| chosen[k * count + first].wrapping_sub(self.nearest[k * count + v]).signed())
            } else {
                let nearest: [i32; N] = std::array::from_fn(|k| self.nearest[k * count + v].to_u32() as i32);
                let offset: [f32; N] = std::array::from_fn(|k| self.offset[k * count + v]);
                let miss: [i32; N] =
                    std::array::from_fn(|k| predicted[k].wrapping_sub(self.nearest[k * count + v]).signed());
                Around { nearest, offset, miss, levels, limit }.cheapest(cost)
            };
            for k in 0..N {
                let at = k * count + v;
                chosen[at] = self.nearest[at].wrapping_add(W::wrap(i64::from(moved[k])));
                residuals[at] = chosen[at].wrapping_sub(predicted[k]);
            }
        }
    }
}

/// One vector and the lattice points around it; all points are counted from the nearest.
struct Around<const N: usize> {
    nearest: [i32; N],
    offset: [f32; N],
    /// The prediction.
    miss: [i32; N],
    levels: [i32; N],
    limit: f32,
}

impl<const N: usize> Around<N> {
    #[inline(always)]
    fn distance(&self, point: &[i32; N]) -> f32 {
        let mut sum = 0.0;
        for k in 0..N {
            let d = point[k] as f32 - self.offset[k];
            sum += d * d;
        }
        sum
    }

    #[inline(always)]
    fn exists(&self, point: &[i32; N]) -> bool {
        (0..N).all(|k| (0..self.levels[k]).contains(&self.nearest[k].wrapping_add(point[k])))
    }

    #[inline(always)]
    fn cheapest(&self, cost: &Cost) -> [i32; N] {
        if self.distance(&self.miss) <= self.limit && self.exists(&self.miss) {
            return self.miss;
        }
        self.search(cost)
    }

    fn search(&self, cost: &Cost) -> [i32; N] {
        let radius = self.limit.sqrt();
        // Every axis from its lowest to its highest level inside the ball, at most 4 to a side.
        let low: [i32; N] = std::array::from_fn(|k| {
            ((self.offset[k] - radius).ceil() as i32).clamp(-4, 0).max(-self.nearest[k])
        });
        let high: [i32; N] = std::array::from_fn(|k| {
            ((self.offset[k] + radius).floor() as i32).clamp(0, 4).min(self.levels[k] - 1 - self.nearest[k])
        });
        let mut best = ([0; N], f32::INFINITY, f32::INFINITY);
        let mut point = low;
        loop {
            let distance = self.distance(&point);
            if distance <= self.limit {
                let residual: [i32; N] = std::array::from_fn(|k| point[k].wrapping_sub(self.miss[k]));
                let bits = cost.of(&residual);
                if bits < best.1 || bits == best.1 && distance < best.2 {
                    best = (point, bits, distance);
                }
            }
            let Some(k) = (0..N).find(|&k| point[k] < high[k]) else { return best.0 };
            point[k] += 1;
            point[..k].copy_from_slice(&low[..k]);
        }
    }
}
