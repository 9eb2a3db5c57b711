//! Search of the predictor's parameters by what they would leave, on a sample of the vertices. Nothing of
//! this is part of the format.
//!
//! ```text
//! sample   short stretches of vertices, spread evenly, each with the triangle it is predicted from
//! cost     order-0 entropy of the residuals; a value whose ball holds the prediction counts as zero
//! search   the best of some usual settings, then downhill along one parameter after another, in shrinking steps
//! ```
//!
//! The source system looks for the best motion and the best interpolation first and mixes them afterwards;
//! that misses mixtures whose parts are poor, so here every step measures the whole predictor.

use crate::{
    ball::Target,
    cost::Tally,
    motion::{self, Blend, Sources},
    parallelogram::{NONE, Rule, Spatial, Table, Weights},
    stream::Work,
    word::Word,
};

/// Vertices of the sample, by effort.
const SAMPLE: [usize; 10] = [96, 96, 160, 256, 320, 448, 768, 1024, 2048, 6144];
/// Vertices of a stretch.
const STRETCH: usize = 8;
/// Widths of the steps in each round, by effort.
const ROUNDS: [&[&[i32]]; 10] = [
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
/// Weights that the search starts from, the most useful first.
const STARTS: [Weights; 5] = [
    Weights { edge: 64, apex: 0 },
    Weights { edge: 128, apex: -128 },
    Weights { edge: 96, apex: -64 },
    Weights { edge: 43, apex: 42 },
    Weights { edge: 28, apex: 6 },
];

/// What the search looks at: the sampled vertices and their A, B, C, one after the other, component-major.
struct Sample<'a, W, const N: usize> {
    /// Numbers of the vertices: all v, all A, all B, all C.
    at: Vec<usize>,
    target: Target<'a, W>,
    /// Nearest levels.
    values: Vec<W>,
    /// Nearest levels less what they are predicted from, for the source at hand.
    above: Vec<W>,
}

impl<'a, W: Word, const N: usize> Sample<'a, W, N> {
    fn new(target: Target<'a, W>, table: &Table, effort: u32) -> Self {
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

    fn gather(&self, from: &[W]) -> Vec<W> {
        let count = from.len() / N;
        (0..N).flat_map(|k| self.at.iter().map(move |&v| from[k * count + v])).collect()
    }

    /// Bits of the sample's residuals under `weights`, `above` being filled. Weights that are not the usual
    /// ones have to pay for themselves.
    fn bits(&self, weights: Weights, usual: Weights, signed: bool) -> f64 {
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

/// Weights for a stream that is predicted from `source`, and what the whole stream is expected to take, in
/// bits.
pub(crate) fn index<W: Word, const N: usize>(
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

/// Factors and weights for a between frame. `start` is the frame's place between its index frames, in 256ths;
/// `moving` says whether there is a frame before the previous one. No weights where decoding shall be quick.
pub(crate) fn between<W: Word, const N: usize>(
    target: Target<'_, W>,
    sources: Sources<'_, W>,
    table: &Table,
    moving: bool,
    start: u8,
    Work { effort, quick }: Work,
) -> (Blend, Weights) {
    let mut sample = Sample::<W, N>::new(target, table, effort);
    let gather = |from| sample.gather(from);
    let frames =
        [sources.previous, sources.before_previous, sources.index_before, sources.index_after].map(gather);
    let [previous, before_previous, index_before, index_after] = frames.each_ref().map(Vec::as_slice);
    let sources = Sources { previous, before_previous, index_before, index_after };
    sample.above = vec![W::default(); sample.values.len()];
    let mut filled = None;
    let mut search =
        Walk::new([(0, 255), (0, 255), (0, 255), (0, 255), (-128, 127)], |[a, b, c, edge, apex]| {
            let by = Blend { a: a as u8, b: b as u8, c: c as u8 };
            if filled != Some(by) {
                filled = Some(by);
                motion::residual(&sample.values, sources, by, &mut sample.above);
            }
            sample.bits(weights(&[edge, apex]), Weights::ZERO, true)
        });
    // The frame before; from there towards the index frame after, so as to arrive there in time;
    // interpolation.
    let remaining = f64::from(256 - i32::from(start)) / 16.0;
    let pursuit = (128.0 * remaining / (remaining + 1.0)) as i32;
    let mut starts = vec![[0, 0, 128], [0, 255, pursuit], [0, i32::from(start), 0]];
    if moving {
        starts.extend([[128, 0, 128], [64, 0, 128], [64, 255, pursuit], [100, i32::from(start), 100]]);
    }
    let (blends, usual) = match effort {
        0..=2 => (2, 1),
        3..=4 => (5, 2),
        5..=6 => (6, 3),
        _ => (7, 5),
    };
    let mut best = ([0, 0, 128, 0, 0], f64::INFINITY);
    // First without anything spatial, which decodes fastest.
    for w in std::iter::once(&Weights::ZERO).chain(&STARTS[..if quick { 0 } else { usual }]) {
        for m in starts.iter().take(blends) {
            let measured = search.measure([m[0], m[1], m[2], w.edge.into(), w.apex.into()]);
            best = least(&[best, measured]);
        }
    }
    for steps in ROUNDS[effort.min(9) as usize] {
        for axis in [1, 0, 2, 3, 4] {
            if (axis == 0 && !moving) || (axis > 2 && quick) {
                continue;
            }
            best = search.walk(best, axis, steps);
        }
    }
    let [a, b, c, edge, apex] = best.0;
    // One spelling for factors that do not count.
    let by = match (Blend { a: a as u8, b: b as u8, c: c as u8 }) {
        Blend { a, c: 128, .. } => Blend { a, b: 0, c: 128 },
        Blend { b, c: 0, .. } => Blend { a: 0, b, c: 0 },
        by => by,
    };
    (by, weights(&[edge, apex]))
}

fn weights(p: &[i32; 2]) -> Weights {
    Weights { edge: p[0] as u8, apex: p[1] as i8 }
}

/// A point and its cost.
type Measured<const N: usize> = ([i32; N], f64);

/// The one that costs least; the first of several.
fn least<const N: usize>(of: &[Measured<N>]) -> Measured<N> {
    of.iter().copied().reduce(|x, y| if y.1 < x.1 { y } else { x }).unwrap_or(([0; N], f64::INFINITY))
}

/// Goes downhill; remembers what has been measured.
struct Walk<F, const N: usize> {
    /// Smallest and largest value of each parameter.
    range: [(i32, i32); N],
    cost: F,
    seen: Vec<Measured<N>>,
}

impl<F: FnMut([i32; N]) -> f64, const N: usize> Walk<F, N> {
    fn new(range: [(i32, i32); N], cost: F) -> Self {
        Walk { range, cost, seen: Vec::new() }
    }

    fn measure(&mut self, point: [i32; N]) -> Measured<N> {
        if let Some(&known) = self.seen.iter().find(|s| s.0 == point) {
            return known;
        }
        let measured = (point, (self.cost)(point));
        self.seen.push(measured);
        measured
    }

    /// Along one axis, with each step width in turn until neither side is better.
    fn walk(&mut self, mut best: Measured<N>, axis: usize, steps: &[i32]) -> Measured<N> {
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

    #[test]
    fn finds_what_made_the_frame() {
        let n = 3000;
        let wave = |v: usize, t: f64| {
            (2000.0 + 900.0 * (v as f64 * 0.01 + t * 0.2).sin() + 5.0 * t * (v * 7919 % 97) as f64) as u16
        };
        let frame = |t: f64| (0..n).map(|v| wave(v, t)).collect::<Vec<u16>>();
        let f = [frame(3.0), frame(2.0), frame(0.0), frame(16.0)];
        let sources =
            Sources { previous: &f[0], before_previous: &f[1], index_before: &f[2], index_after: &f[3] };
        let (table, offset) = (Table::new(), vec![0.0; n]);
        for effort in 1..=9 {
            for want in [Blend::LINEAR, Blend::DELTA, Blend { a: 0, b: 48, c: 0 }] {
                let mut values = vec![0; n];
                motion::predict(sources, want, &mut values);
                let target = Target {
                    nearest: &values,
                    offset: &offset,
                    levels: &[65536],
                    radius: 0.0,
                    thorough: true,
                    welded: None,
                };
                if effort > 4 || want == Blend::DELTA {
                    let found = between::<u16, 1>(target, sources, &table, true, 48, effort.into());
                    assert_eq!(found, (want, Weights::ZERO), "{effort}");
                }
            }
        }
    }
}
