//! Motion and interpolation predictor of frames between index frames (B06–B08). Lossless: what is kept is the
//! difference of the values to the prediction, modulo the word.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `a` | motion, 128ths: 0 stays, 128 goes on as before, 255 almost twice as fast |
//! | 1 | 1 | `b` | interpolation, 256ths of the way from the index frame before to the one after |
//! | 2 | 1 | `c` | blend, 128ths: 0 interpolation, 128 motion, more extrapolates |
//!
//! ```text
//! Pm = F₁ + ((a·(F₁ − F₂) + 64) >> 7)        F₁ the frame before, F₂ the one before that
//! Pi = I₀ + ((b·(I₁ − I₀) + 128) >> 8)       I₀, I₁ the index frames around
//! P  = Pi + ((c·(Pm − Pi) + 64) >> 7)        shifts round down; P is wrapped to the word, nothing before
//! ```
//!
//! The first frame after an index frame has no F₂ inside its group; then F₂ = F₁, and Pm = F₁.
//!
//! Credit: the predictor of CryEngine's geometry cache (Axel Gneiting, "Real-Time Geometry Caches", 2014). Departures:
//! every stage rounds instead of truncating and is not wrapped before the next; a and c are kept apart; the search
//! measures what is going to be stored.

use crate::word::Word;

/// Factors of one stream in one frame: motion a/128, interpolation b/256, blend c/128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Blend {
    pub a: u8,
    pub b: u8,
    pub c: u8,
}

impl Blend {
    /// The frame before, unchanged.
    pub const DELTA: Blend = Blend { a: 0, b: 0, c: 128 };
    /// Goes on as it went.
    pub const LINEAR: Blend = Blend {
        a: 128,
        b: 0,
        c: 128,
    };
}

/// The four frames of the prediction, all of one length.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Sources<'a, W> {
    pub previous: &'a [W],
    pub before_previous: &'a [W],
    pub index_before: &'a [W],
    pub index_after: &'a [W],
}

impl<W: Word> Sources<'_, W> {
    /// Whether all frames have `count` values.
    pub fn are(&self, count: usize) -> bool {
        [
            self.previous,
            self.before_previous,
            self.index_before,
            self.index_after,
        ]
        .iter()
        .all(|s| s.len() == count)
    }

    /// Prediction of value `at`.
    #[inline(always)]
    pub fn predict(&self, at: usize, by: Blend) -> W {
        W::between(
            self.previous[at],
            self.before_previous[at],
            self.index_before[at],
            self.index_after[at],
            by,
        )
    }
}

/// `out = values − prediction`. Panics unless all lengths are equal.
pub fn residual<W: Word>(values: &[W], sources: Sources<'_, W>, by: Blend, out: &mut [W]) {
    assert_eq!(values.len(), out.len());
    each(sources, by, out, values, |value, _, predicted| {
        value.wrapping_sub(predicted)
    });
}

/// `values = residuals + prediction`, in place. Panics unless all lengths are equal.
pub fn reconstruct<W: Word>(sources: Sources<'_, W>, by: Blend, values: &mut [W]) {
    each(
        sources,
        by,
        values,
        sources.previous,
        |_, residual, predicted| residual.wrapping_add(predicted),
    );
}

/// `out = prediction`. Panics unless all lengths are equal.
pub fn predict<W: Word>(sources: Sources<'_, W>, by: Blend, out: &mut [W]) {
    each(sources, by, out, sources.previous, |_, _, predicted| {
        predicted
    });
}

/// One pass over all frames. The special cases read fewer of them, and give what the full formula gives.
#[inline(always)]
fn each<W: Word>(
    s: Sources<'_, W>,
    by: Blend,
    out: &mut [W],
    other: &[W],
    f: impl Fn(W, W, W) -> W + Copy,
) {
    assert!(s.are(out.len()), "all frames have one shape");
    match by {
        Blend { a: 0, c: 128, .. } => {
            for ((o, &v), &p) in out.iter_mut().zip(other).zip(s.previous) {
                *o = f(v, *o, p);
            }
        }
        Blend { c: 128, .. } => {
            for (((o, &v), &p), &q) in out
                .iter_mut()
                .zip(other)
                .zip(s.previous)
                .zip(s.before_previous)
            {
                *o = f(v, *o, W::between(p, q, p, p, by));
            }
        }
        Blend { c: 0, .. } => {
            for (((o, &v), &i), &j) in out
                .iter_mut()
                .zip(other)
                .zip(s.index_before)
                .zip(s.index_after)
            {
                *o = f(v, *o, W::between(i, i, i, j, by));
            }
        }
        _ => {
            let frames = s
                .previous
                .iter()
                .zip(s.before_previous)
                .zip(s.index_before)
                .zip(s.index_after);
            for ((o, &v), (((&p, &q), &i), &j)) in out.iter_mut().zip(other).zip(frames) {
                *o = f(v, *o, W::between(p, q, i, j, by));
            }
        }
    }
}

/// Searches the factors: b of the interpolation alone, a of the motion alone, c between the two, then all three again
/// around what was found. `cost` measures a candidate (smaller is better) on what would be stored. `start` is where b
/// begins, usually the frame's place in its group; without `moving` there is no F₂ and a stays 0. `effort` bounds the
/// number of measurements.
///
/// The result never costs more than the frame before alone or the interpolation by `start` alone.
pub fn search(start: u8, moving: bool, effort: u32, cost: impl FnMut(Blend) -> f64) -> Blend {
    // Steps of the first pass, then of each refining pass.
    let (first, again): (&[i32], &[&[i32]]) = match effort {
        0..=2 => (&[], &[]),
        3..=4 => (&[24], &[]),
        5..=6 => (&[32, 8], &[]),
        7..=8 => (&[32, 12, 4], &[&[8, 3]]),
        _ => (&[48, 24, 12, 6, 3, 1], &[&[16, 4, 1], &[8, 2, 1]]),
    };
    let mut s = Search {
        cost,
        seen: Vec::new(),
    };
    let still = s.measure(Blend::DELTA);
    let inside = s.measure(Blend {
        a: 0,
        b: start,
        c: 0,
    });
    let inside = s.walk(inside, B, first);
    let motion = if moving {
        let linear = s.measure(Blend::LINEAR);
        let half = s.measure(Blend {
            a: 64,
            ..Blend::DELTA
        });
        s.walk(least(&[linear, half, still]), A, first)
    } else {
        still
    };
    let by = |c: u8| Blend {
        a: motion.0.a,
        b: inside.0.b,
        c,
    };
    // c = 128 must cost what the motion alone costs whatever b is, and c = 0 the same for a.
    let mut best = least(&[(by(128), motion.1), (by(0), inside.1)]);
    if effort > 2 {
        let middle = s.measure(by(64));
        best = s.walk(least(&[best, middle]), C, first);
    }
    for steps in again {
        let axes = if moving {
            [B, A, C].as_slice()
        } else {
            &[B, C]
        };
        for &axis in axes {
            best = s.walk(best, axis, steps);
        }
    }
    // One spelling for factors that do not count.
    match best.0 {
        Blend { a, c: 128, .. } => Blend { a, b: 0, c: 128 },
        Blend { b, c: 0, .. } => Blend { a: 0, b, c: 0 },
        by => by,
    }
}

type Measured = (Blend, f64);
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

fn least(of: &[Measured]) -> Measured {
    of.iter()
        .copied()
        .reduce(|x, y| if y.1 < x.1 { y } else { x })
        .unwrap_or((Blend::DELTA, f64::INFINITY))
}

struct Search<F> {
    cost: F,
    seen: Vec<Measured>,
}

impl<F: FnMut(Blend) -> f64> Search<F> {
    fn measure(&mut self, by: Blend) -> Measured {
        if let Some(&known) = self.seen.iter().find(|s| s.0 == by) {
            return known;
        }
        let measured = (by, (self.cost)(by));
        self.seen.push(measured);
        measured
    }

    /// Downhill along one factor, with each step width in turn until neither side is better.
    fn walk(&mut self, mut best: Measured, axis: usize, steps: &[i32]) -> Measured {
        for &step in steps {
            loop {
                let mut next = best;
                for side in [-step, step] {
                    let Blend { a, b, c } = best.0;
                    let mut by = [a, b, c];
                    let to = (i32::from(by[axis]) + side).clamp(0, 255) as u8;
                    by[axis] = to;
                    let measured = self.measure(Blend {
                        a: by[0],
                        b: by[1],
                        c: by[2],
                    });
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
    use proptest::prelude::*;

    fn sources<W>(f: &[Vec<W>; 4]) -> Sources<'_, W> {
        Sources {
            previous: &f[0],
            before_previous: &f[1],
            index_before: &f[2],
            index_after: &f[3],
        }
    }

    #[test]
    fn golden() {
        let f: [Vec<u16>; 4] = [
            vec![110, 0, 65535],
            vec![100, 65535, 0],
            vec![50, 65535, 0],
            vec![150, 0, 65535],
        ];
        let s = sources(&f);
        let of = |a, b, c| {
            (0..3)
                .map(|k| s.predict(k, Blend { a, b, c }))
                .collect::<Vec<u16>>()
        };
        assert_eq!(of(0, 99, 128), [110, 0, 65535]);
        assert_eq!(of(128, 0, 128), [120, 1, 65534]);
        assert_eq!(of(77, 128, 0), [100, 32768, 32768]);
        assert_eq!(of(128, 128, 64), [110, 49153, 16383]);
    }

    fn check<W: Word>(values: &[W], f: &[Vec<W>; 4], by: Blend) {
        let s = sources(f);
        let mut r = vec![W::default(); values.len()];
        residual(values, s, by, &mut r);
        let mut p = vec![W::default(); values.len()];
        predict(s, by, &mut p);
        for k in 0..values.len() {
            assert_eq!(p[k], s.predict(k, by), "{by:?}");
            assert_eq!(r[k], values[k].wrapping_sub(p[k]));
        }
        reconstruct(s, by, &mut r);
        assert_eq!(r, values);
    }

    proptest! {
        #[test]
        fn reversible(rows in proptest::collection::vec(any::<[u32; 5]>(), 0..40), a: u8, b: u8, c: u8, kind in 0..4) {
            let by = match kind {
                0 => Blend { a: 0, b, c: 128 },
                1 => Blend { a, b, c: 128 },
                2 => Blend { a, b, c: 0 },
                _ => Blend { a, b, c },
            };
            let column = |k: usize| rows.iter().map(|r| r[k]).collect::<Vec<u32>>();
            let f: [Vec<u32>; 4] = [0, 1, 2, 3].map(column);
            check(&column(4), &f, by);
            let narrow = |v: &Vec<u32>| v.iter().map(|&v| v as u16).collect::<Vec<u16>>();
            check(&narrow(&column(4)), &f.each_ref().map(narrow), by);
            let narrow = |v: &Vec<u32>| v.iter().map(|&v| v as u8).collect::<Vec<u8>>();
            check(&narrow(&column(4)), &f.each_ref().map(narrow), by);
        }
    }

    #[test]
    fn search_finds_what_made_the_frame() {
        let n = 3000;
        let wave = |v: usize, t: f64| {
            (2000.0 + 900.0 * (v as f64 * 0.01 + t * 0.2).sin() + 5.0 * t * (v % 7) as f64) as u16
        };
        let frame = |t: f64| (0..n).map(|v| wave(v, t)).collect::<Vec<u16>>();
        let f = [frame(3.0), frame(2.0), frame(0.0), frame(16.0)];
        let s = sources(&f);
        for effort in 1..=9 {
            for want in [
                Blend::LINEAR,
                Blend::DELTA,
                Blend { a: 0, b: 64, c: 0 },
                Blend {
                    a: 150,
                    b: 64,
                    c: 100,
                },
            ] {
                let values: Vec<u16> = (0..n).map(|k| s.predict(k, want)).collect();
                let mut r = vec![0u16; n];
                let mut cost = |by: Blend| {
                    residual(&values, s, by, &mut r);
                    r.iter()
                        .map(|r| f64::from(1 + r.signed().unsigned_abs()).log2())
                        .sum::<f64>()
                };
                let found = search(64, true, effort, &mut cost);
                let got = cost(found);
                assert!(
                    got <= cost(Blend::DELTA) && got <= cost(Blend { a: 0, b: 64, c: 0 }),
                    "{effort} {want:?}"
                );
                let simple = want
                    != Blend {
                        a: 150,
                        b: 64,
                        c: 100,
                    };
                assert!(!simple || got == 0.0, "{effort} {want:?} {found:?} {got}");
            }
        }
    }
}
