//! Searches a B-frame's factors and weights by the cost of their residuals, on a sample of the vertices: see
//! [`crate::values::search`]. Nothing of this is part of the format.

use super::motion::{self, Blend, Sources};
use crate::quantize::code::Code;
use crate::values::error_bound::Target;
use crate::values::parallelogram::{Table, Weights};
use crate::values::search::{ROUNDS, STARTS, Sample, Walk, least, weights};
use crate::values::stream::Work;

/// Returns factors and weights for a B-frame. `start` is the frame's position between its index frames, in
/// 256ths; `moving` is `true` if there is a frame before the previous one. With `quick`, the weights are
/// zero.
pub(crate) fn b_frame<W: Code, const N: usize>(
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
    // Factors that have no effect get one fixed value.
    let by = match (Blend { a: a as u8, b: b as u8, c: c as u8 }) {
        Blend { a, c: 128, .. } => Blend { a, b: 0, c: 128 },
        Blend { b, c: 0, .. } => Blend { a: 0, b, c: 0 },
        by => by,
    };
    (by, weights(&[edge, apex]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::parallelogram::Table;

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
                    codes: &[65536],
                    radius: 0.0,
                    thorough: true,
                    welded: None,
                };
                if effort > 4 || want == Blend::DELTA {
                    let found = b_frame::<u16, 1>(target, sources, &table, true, 48, effort.into());
                    assert_eq!(found, (want, Weights::ZERO), "{effort}");
                }
            }
        }
    }
}
