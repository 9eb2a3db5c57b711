//! Searches the predictor's parameters by the cost of their residuals, on a sample of the vertices. Nothing
//! of this is part of the format.
//!
//! ```text
//! sample   short stretches of vertices, spread evenly, each with the triangle it is predicted from
//! cost     order-0 entropy of the residuals; a value whose ball holds the prediction counts as zero
//! search   the best of some usual settings, then downhill along one parameter after another, in shrinking steps
//! ```
//!
//! The source system searches the best motion and the best interpolation first and mixes them afterwards;
//! that misses mixtures of poor parts, so here every step measures the whole predictor.

use super::cost::Tally;
use super::error_bound::Target;
use super::parallelogram::{NONE, Rule, Spatial, Table, Weights};
use crate::quantize::code::Code;

/// The number of vertices of the sample, by effort.
const SAMPLE: [usize; 10] = [96, 96, 160, 256, 320, 448, 768, 1024, 2048, 6144];
/// The number of consecutive vertices per stretch.
const STRETCH: usize = 8;
/// The step sizes in each round, by effort.
pub(crate) const ROUNDS: [&[&[i32]]; 10] = [
    &[],
    &[],
    &[],
    &[&[24]],
    &[&[24]],
    &[&[32, 8]],
    &[&[32, 8]],
    &[&[32, 12, 4]],
    &[&[32, 12, 4], &[8, 3]],
    &[&[48, 24, 12, 6, 3], &[16, 4, 1], &[8, 2, 1]],
];
/// The weights that the search starts from, the most useful first.
pub(crate) const STARTS: [Weights; 5] = [
    Weights { edge: 64, apex: 0 },
    Weights { edge: 128, apex: -128 },
    Weights { edge: 96, apex: -64 },
    Weights { edge: 43, apex: 42 },
    Weights { edge: 28, apex: 6 },
];

/// The sample for the search: vertices and their A, B, C, one after the other, component-major.
pub(crate) struct Sample<'a, W, const N: usize> {
    /// The numbers of the vertices: all v, all A, all B, all C.
    at: Vec<usize>,
    target: Target<'a, W>,
    /// The nearest codes.
    pub(crate) values: Vec<W>,
    /// The nearest codes minus their prediction from the current source.
    pub(crate) above: Vec<W>,
}

impl<'a, W: Code, const N: usize> Sample<'a, W, N> {
    pub(crate) fn new(target: Target<'a, W>, table: &Table, effort: u32) -> Self {
        let count = target.count();
        let wanted = SAMPLE[effort.min(9) as usize];
        let every = (count / wanted).max(1) * STRETCH;
        let picked = || (0..count).step_by(every).flat_map(|v| v..(v + STRETCH).min(count));
        let role = |r: usize| {
            picked().map(move |v| {
                let entry = table.get(v).copied().unwrap_or([NONE; 3]);
                let back = if entry[0] == NONE { 1 } else { usize::from(entry[r]) };
                v.saturating_sub(back)
            })
        };
        let at: Vec<usize> = picked().chain(role(0)).chain(role(1)).chain(role(2)).collect();
        let mut sample = Sample { at, target, values: Vec::new(), above: Vec::new() };
        sample.values = sample.gather(target.nearest);
        sample
    }

    pub(crate) fn gather(&self, from: &[W]) -> Vec<W> {
        let count = from.len() / N;
        (0..N).flat_map(|k| self.at.iter().map(move |&v| from[k * count + v])).collect()
    }

    /// Returns the bits of the sample's residuals under `weights`; `above` must be filled. Weights other than
    /// the usual ones add their own cost.
    pub(crate) fn bits(&self, weights: Weights, usual: Weights, signed: bool) -> f64 {
        let all = self.at.len();
        let n = all / 4;
        let count = self.target.nearest.len() / N;
        let limit = self.target.radius * self.target.radius;
        let mut tally = Tally::<N>::new();
        for (i, &v) in self.at[..n].iter().enumerate() {
            let mut distance = 0.0f32;
            let mut residual = [0; N];
            for (k, residual) in residual.iter_mut().enumerate() {
                let plane = &self.above[k * all..(k + 1) * all];
                let p = W::weighted(
                    plane[n + i],
                    plane[2 * n + i],
                    plane[3 * n + i],
                    weights.edge,
                    weights.apex,
                    signed,
                );
                let r = plane[i].wrapping_sub(p).signed();
                let real = r as f32 + self.target.offset[k * count + v];
                distance += real * real;
                *residual = r;
            }
            tally.add(if distance <= limit { [0; N] } else { residual });
        }
        let share = n as f64 / count.max(1) as f64;
        let own = if weights == usual { 0.0 } else { 16.0 };
        tally.bits(share) + own * share
    }
}

/// Returns the weights for a stream that is predicted from `source`, and the expected bits of the whole
/// stream.
pub(crate) fn index<W: Code, const N: usize>(
    target: Target<'_, W>,
    source: Option<&[W]>,
    usual: Spatial,
    table: &Table,
    effort: u32,
) -> (Rule, f64) {
    let mut sample = Sample::<W, N>::new(target, table, effort);
    sample.above = match source {
        Some(source) => {
            let source = sample.gather(source);
            sample.values.iter().zip(&source).map(|(&v, &s)| v.wrapping_sub(s)).collect()
        }
        None => sample.values.clone(),
    };
    let standard = match usual {
        Spatial::Parallelogram => Weights { edge: 128, apex: -128 },
        Spatial::Average => Weights { edge: 64, apex: 0 },
    };
    let mut search =
        Walk::new([(0, 255), (-128, 127)], |p| sample.bits(weights(&p), standard, source.is_some()));
    let first = search.measure([standard.edge.into(), standard.apex.into()]);
    let mut best = first;
    if effort > 2 {
        for start in STARTS {
            let measured = search.measure([start.edge.into(), start.apex.into()]);
            best = least(&[best, measured]);
        }
        for steps in ROUNDS[effort.min(9) as usize] {
            best = search.walk(best, 0, steps);
            best = search.walk(best, 1, steps);
        }
    }
    let whole = 4 * target.count();
    let scale = whole as f64 / sample.at.len().max(1) as f64;
    let rule = if best.0 == first.0 { Rule::Usual(usual) } else { Rule::Weighted(weights(&best.0)) };
    (rule, best.1 * scale)
}

pub(crate) fn weights(p: &[i32; 2]) -> Weights {
    Weights { edge: p[0] as u8, apex: p[1] as i8 }
}

/// A point and its cost.
pub(crate) type Measured<const N: usize> = ([i32; N], f64);

/// Returns the point of least cost, the first of equals.
pub(crate) fn least<const N: usize>(of: &[Measured<N>]) -> Measured<N> {
    of.iter().copied().reduce(|x, y| if y.1 < x.1 { y } else { x }).unwrap_or(([0; N], f64::INFINITY))
}

/// A descent that remembers measured points.
pub(crate) struct Walk<F, const N: usize> {
    /// The smallest and the largest value of each parameter.
    range: [(i32, i32); N],
    cost: F,
    seen: Vec<Measured<N>>,
}

impl<F: FnMut([i32; N]) -> f64, const N: usize> Walk<F, N> {
    pub(crate) fn new(range: [(i32, i32); N], cost: F) -> Self {
        Walk { range, cost, seen: Vec::new() }
    }

    pub(crate) fn measure(&mut self, point: [i32; N]) -> Measured<N> {
        if let Some(&known) = self.seen.iter().find(|s| s.0 == point) {
            return known;
        }
        let measured = (point, (self.cost)(point));
        self.seen.push(measured);
        measured
    }

    /// Descends along one axis, with each step size in turn until neither side is better.
    pub(crate) fn walk(&mut self, mut best: Measured<N>, axis: usize, steps: &[i32]) -> Measured<N> {
        let (low, high) = self.range[axis];
        for &step in steps {
            loop {
                let mut next = best;
                for side in [-step, step] {
                    let mut point = best.0;
                    point[axis] = (point[axis] + side).clamp(low, high);
                    let measured = self.measure(point);
                    next = least(&[next, measured]);
                }
                if next.0 == best.0 {
                    break;
                }
                best = next;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_ends_at_the_bottom() {
        let mut measured = 0;
        let mut walk = Walk::new([(0, 255), (-128, 127)], |[x, y]: [i32; 2]| {
            measured += 1;
            f64::from((x - 77).pow(2) + (y + 100).pow(2))
        });
        let mut best = walk.measure([255, 127]);
        for steps in [[64, 16], [4, 1]] {
            best = walk.walk(best, 0, &steps);
            best = walk.walk(best, 1, &steps);
        }
        assert_eq!(best, ([77, -100], 0.0));
        assert!(measured < 60, "{measured}");
    }
}
