//! Searches a B-frame's factors and weights by the cost of their residuals, on a sample of the vertices: see
//! [`crate::values::search`]. Nothing of this is part of the format.

use super::motion::{self, BlendFactors, MotionReferences};
use crate::quantize::code::Code;
use crate::values::error_bound::Target;
use crate::values::parallelogram::{PredictorTable, TriangleWeights};
use crate::values::search::{Descent, ROUNDS, STARTS, VertexSample, cheapest, weights_from_parameters};
use crate::values::stream::StreamEffort;

/// Returns factors and weights for a B-frame. `start` is the frame's position between its index frames, in
/// 256ths; `moving` is `true` if there is a frame before the previous one. With `quick`, the weights are
/// zero.
pub(crate) fn b_frame<W: Code, const N: usize>(
    target: Target<'_, W>,
    sources: MotionReferences<'_, W>,
    table: &PredictorTable,
    moving: bool,
    start: u8,
    StreamEffort { effort, fast_decode: quick }: StreamEffort,
) -> (BlendFactors, TriangleWeights) {
    let mut sample = VertexSample::<W, N>::new(target, table, effort);
    let gather = |from| sample.gather(from);
    let frames =
        [sources.previous, sources.before_previous, sources.index_before, sources.index_after].map(gather);
    let [previous, before_previous, index_before, index_after] = frames.each_ref().map(Vec::as_slice);
    let sources = MotionReferences { previous, before_previous, index_before, index_after };
    sample.above = vec![W::default(); sample.values.len()];
    let mut filled = None;
    let mut search =
        Descent::new([(0, 255), (0, 255), (0, 255), (0, 255), (-128, 127)], |[a, b, c, edge, apex]| {
            let by = BlendFactors { a: a as u8, b: b as u8, c: c as u8 };
            if filled != Some(by) {
                filled = Some(by);
                motion::residual(&sample.values, sources, by, &mut sample.above);
            }
            sample.bits(weights_from_parameters(&[edge, apex]), TriangleWeights::ZERO, true)
        });
    // The frame before; from there towards the index frame after, at a speed that arrives there in time;
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
    // First without spatial prediction, which decodes fastest.
    for w in std::iter::once(&TriangleWeights::ZERO).chain(&STARTS[..if quick { 0 } else { usual }]) {
        for m in starts.iter().take(blends) {
            let measured = search.measure([m[0], m[1], m[2], w.edge.into(), w.apex.into()]);
            best = cheapest(&[best, measured]);
        }
    }
    for steps in ROUNDS[effort.min(9) as usize] {
        for axis in [1, 0, 2, 3, 4] {
            if (axis == 0 && !moving) || (axis > 2 && quick) {
                continue;
            }
            best = search.descend(best, axis, steps);
        }
    }
    let [a, b, c, edge, apex] = best.0;
    // Factors that have no effect get one fixed value.
    let by = match (BlendFactors { a: a as u8, b: b as u8, c: c as u8 }) {
        BlendFactors { a, c: 128, .. } => BlendFactors { a, b: 0, c: 128 },
        BlendFactors { b, c: 0, .. } => BlendFactors { a: 0, b, c: 0 },
        by => by,
    };
    (by, weights_from_parameters(&[edge, apex]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::parallelogram::PredictorTable;

    #[test]
    fn finds_what_made_the_frame() {
        let n = 3000;
        let wave = |v: usize, t: f64| {
            (2000.0 + 900.0 * (v as f64 * 0.01 + t * 0.2).sin() + 5.0 * t * (v * 7919 % 97) as f64) as u16
        };
        let frame = |t: f64| (0..n).map(|v| wave(v, t)).collect::<Vec<u16>>();
        let f = [frame(3.0), frame(2.0), frame(0.0), frame(16.0)];
        let sources = MotionReferences {
            previous: &f[0],
            before_previous: &f[1],
            index_before: &f[2],
            index_after: &f[3],
        };
        let (table, offset) = (PredictorTable::new(), vec![0.0; n]);
        for effort in 1..=9 {
            for want in [BlendFactors::LINEAR, BlendFactors::DELTA, BlendFactors { a: 0, b: 48, c: 0 }] {
                let mut values = vec![0; n];
                motion::predict(sources, want, &mut values);
                let target = Target {
                    nearest: &values,
                    offset: &offset,
                    codes: &[65536],
                    radius: 0.0,
                    thorough: true,
                    welded: None,
                };
                if effort > 4 || want == BlendFactors::DELTA {
                    let found = b_frame::<u16, 1>(target, sources, &table, true, 48, effort.into());
                    assert_eq!(found, (want, TriangleWeights::ZERO), "{effort}");
                }
            }
        }
    }
}
