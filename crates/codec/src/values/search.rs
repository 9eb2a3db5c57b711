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

use super::cost::ResidualTally;
use super::error_bound::Target;
use super::parallelogram::{NO_TRIANGLE, PredictionRule, PredictorTable, SpatialPrediction, TriangleWeights};
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
pub(crate) const STARTS: [TriangleWeights; 5] = [
    TriangleWeights { edge: 64, apex: 0 },
    TriangleWeights { edge: 128, apex: -128 },
    TriangleWeights { edge: 96, apex: -64 },
    TriangleWeights { edge: 43, apex: 42 },
    TriangleWeights { edge: 28, apex: 6 },
];

/// The sample for the search: vertices and their A, B, C, one after the other, component-major.
pub(crate) struct VertexSample<'a, W, const N: usize> {
    /// The numbers of the vertices: all v, all A, all B, all C.
    vertices: Vec<usize>,
    target: Target<'a, W>,
    /// The nearest codes.
    pub(crate) values: Vec<W>,
    /// The nearest codes minus their prediction from the current source.
    pub(crate) above: Vec<W>,
}

impl<'a, W: Code, const N: usize> VertexSample<'a, W, N> {
    pub(crate) fn new(target: Target<'a, W>, table: &PredictorTable, effort: u32) -> Self {
        let count = target.count();
        let wanted = SAMPLE[effort.min(9) as usize];
        let every = (count / wanted).max(1) * STRETCH;
        let picked = || (0..count).step_by(every).flat_map(|v| v..(v + STRETCH).min(count));
        let role = |r: usize| {
            picked().map(move |v| {
                let entry = table.get(v).copied().unwrap_or([NO_TRIANGLE; 3]);
                let back = if entry[0] == NO_TRIANGLE { 1 } else { usize::from(entry[r]) };
                v.saturating_sub(back)
            })
        };
        let at: Vec<usize> = picked().chain(role(0)).chain(role(1)).chain(role(2)).collect();
        let mut sample = VertexSample { vertices: at, target, values: Vec::new(), above: Vec::new() };
        sample.values = sample.gather(target.nearest);
        sample
    }

    pub(crate) fn gather(&self, from: &[W]) -> Vec<W> {
        let count = from.len() / N;
        (0..N).flat_map(|k| self.vertices.iter().map(move |&v| from[k * count + v])).collect()
    }

    /// Returns the bits of the sample's residuals under `weights`; `above` must be filled. Weights other than
    /// the usual ones add their own cost.
    pub(crate) fn bits(&self, weights: TriangleWeights, usual: TriangleWeights, signed: bool) -> f64 {
        let all = self.vertices.len();
        let n = all / 4;
        let count = self.target.nearest.len() / N;
        let limit = self.target.radius * self.target.radius;
        let mut tally = ResidualTally::<N>::new();
        for (i, &v) in self.vertices[..n].iter().enumerate() {
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
        let fraction = n as f64 / count.max(1) as f64;
        let own = if weights == usual { 0.0 } else { 16.0 };
        tally.bits(fraction) + own * fraction
    }
}

/// Returns the weights for a stream that is predicted from `source`, and the expected bits of the whole
/// stream.
pub(crate) fn fit_index_weights<W: Code, const N: usize>(
    target: Target<'_, W>,
    source: Option<&[W]>,
    usual: SpatialPrediction,
    table: &PredictorTable,
    effort: u32,
) -> (PredictionRule, f64) {
    let mut sample = VertexSample::<W, N>::new(target, table, effort);
    sample.above = match source {
        Some(source) => {
            let source = sample.gather(source);
            sample.values.iter().zip(&source).map(|(&v, &s)| v.wrapping_sub(s)).collect()
        }
        None => sample.values.clone(),
    };
    let standard = match usual {
        SpatialPrediction::Parallelogram => TriangleWeights { edge: 128, apex: -128 },
        SpatialPrediction::Average => TriangleWeights { edge: 64, apex: 0 },
    };
    let mut search = Descent::new([(0, 255), (-128, 127)], |p| {
        sample.bits(weights_from_parameters(&p), standard, source.is_some())
    });
    let first = search.measure([standard.edge.into(), standard.apex.into()]);
    let mut best = first;
    if effort > 2 {
        for start in STARTS {
            let measured = search.measure([start.edge.into(), start.apex.into()]);
            best = cheapest(&[best, measured]);
        }
        for steps in ROUNDS[effort.min(9) as usize] {
            best = search.descend(best, 0, steps);
            best = search.descend(best, 1, steps);
        }
    }
    let whole = 4 * target.count();
    let scale = whole as f64 / sample.vertices.len().max(1) as f64;
    let rule = if best.0 == first.0 {
        PredictionRule::Usual(usual)
    } else {
        PredictionRule::Weighted(weights_from_parameters(&best.0))
    };
    (rule, best.1 * scale)
}

pub(crate) fn weights_from_parameters(p: &[i32; 2]) -> TriangleWeights {
    TriangleWeights { edge: p[0] as u8, apex: p[1] as i8 }
}

/// A point and its cost.
pub(crate) type MeasuredPoint<const N: usize> = ([i32; N], f64);

/// Returns the point of least cost, the first of equals.
pub(crate) fn cheapest<const N: usize>(of: &[MeasuredPoint<N>]) -> MeasuredPoint<N> {
    of.iter().copied().reduce(|x, y| if y.1 < x.1 { y } else { x }).unwrap_or(([0; N], f64::INFINITY))
}

/// A descent that remembers measured points.
pub(crate) struct Descent<F, const N: usize> {
    /// The smallest and the largest value of each parameter.
    range: [(i32, i32); N],
    cost: F,
    seen: Vec<MeasuredPoint<N>>,
}

impl<F: FnMut([i32; N]) -> f64, const N: usize> Descent<F, N> {
    pub(crate) fn new(range: [(i32, i32); N], cost: F) -> Self {
        Descent { range, cost, seen: Vec::new() }
    }

    pub(crate) fn measure(&mut self, point: [i32; N]) -> MeasuredPoint<N> {
        if let Some(&known) = self.seen.iter().find(|s| s.0 == point) {
            return known;
        }
        let measured = (point, (self.cost)(point));
        self.seen.push(measured);
        measured
    }

    /// Descends along one axis, with each step size in turn until neither side is better.
    pub(crate) fn descend(
        &mut self,
        mut best: MeasuredPoint<N>,
        axis: usize,
        steps: &[i32],
    ) -> MeasuredPoint<N> {
        let (low, high) = self.range[axis];
        for &step in steps {
            loop {
                let mut next = best;
                for side in [-step, step] {
                    let mut point = best.0;
                    point[axis] = (point[axis] + side).clamp(low, high);
                    let measured = self.measure(point);
                    next = cheapest(&[next, measured]);
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
        let mut walk = Descent::new([(0, 255), (-128, 127)], |[x, y]: [i32; 2]| {
            measured += 1;
            f64::from((x - 77).pow(2) + (y + 100).pow(2))
        });
        let mut best = walk.measure([255, 127]);
        for steps in [[64, 16], [4, 1]] {
            best = walk.descend(best, 0, &steps);
            best = walk.descend(best, 1, &steps);
        }
        assert_eq!(best, ([77, -100], 0.0));
        assert!(measured < 60, "{measured}");
    }
}
