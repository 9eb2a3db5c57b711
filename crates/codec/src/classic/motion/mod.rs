//! Motion and interpolation predictor of B-frames. Lossless: the stored residual is the difference of the
//! values to the prediction, modulo the word.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `a` | motion, in 128ths: 0 stays, 128 continues with the same velocity, 255 almost twice as fast |
//! | 1 | 1 | `b` | interpolation, in 256ths of the way from the index frame before to the one after |
//! | 2 | 1 | `c` | blend, in 128ths: 0 interpolation, 128 motion, larger values extrapolate |
//!
//! ```text
//! Pm = F₁ + ((a·(F₁ − F₂) + 64) >> 7)        F₁ the frame before, F₂ the one before that
//! Pi = I₀ + ((b·(I₁ − I₀) + 128) >> 8)       I₀, I₁ the index frames before and after
//! P  = Pi + ((c·(Pm − Pi) + 64) >> 7)        shifts round down; P wraps at the width of the values
//!
//! 8- and 32-bit values   nothing wraps before P
//! 16-bit values          Pm and Pi wrap, and the three differences are read as two's complement of 16 bits
//! ```
//!
//! 16 bits suffice for positions, and for vector multipliers: `(x·y + 2^14) >> 15` is one instruction on
//! every vector unit, and with x = a difference and y = a factor shifted left each of the three products is
//! such an instruction.
//!
//! The first frame after an index frame has no F₂ in its group; then F₂ = F₁, and Pm = F₁.
//!
//! Credit: the predictor of CryEngine's geometry cache (Axel Gneiting, "Real-Time Geometry Caches", 2014).
//! Differences: every stage rounds instead of truncating and is not wrapped before the next; a and c are
//! separate; the search measures the residuals that will be stored.

use crate::quantize::code::Code;
use crate::simd::isa::Isa;
use crate::simd::run_vectors;
use kernel::Reconstruction;

pub use crate::quantize::code::BlendFactors;

mod kernel;
mod references;

pub use references::MotionReferences;

/// Computes `out = values − prediction`. Panics unless all lengths are equal.
#[cfg(feature = "encode")]
pub fn residual<W: Code>(values: &[W], sources: MotionReferences<'_, W>, by: BlendFactors, out: &mut [W]) {
    assert_eq!(values.len(), out.len());
    map_predictions(sources, by, out, values, |value, _, predicted| value.wrapping_sub(predicted));
}

/// Computes `values = residuals + prediction`, in place. Panics unless all lengths are equal.
pub fn reconstruct<W: Code>(sources: MotionReferences<'_, W>, by: BlendFactors, values: &mut [W]) {
    reconstruct_on(Isa::get(), sources, by, values);
}

fn reconstruct_on<W: Code>(isa: Isa, sources: MotionReferences<'_, W>, by: BlendFactors, values: &mut [W]) {
    assert!(sources.all_have_len(values.len()), "all frames have one shape");
    if let (Some(sources), Some(values)) = (sources.codes16(), W::codes16_mut(values))
        && run_vectors(isa, Reconstruction { sources, by, values }).is_ok()
    {
        return;
    }
    map_predictions(sources, by, values, sources.previous, |_, residual, predicted| {
        residual.wrapping_add(predicted)
    });
}

/// Computes `out = prediction`. Panics unless all lengths are equal.
#[cfg(feature = "encode")]
pub fn predict<W: Code>(sources: MotionReferences<'_, W>, by: BlendFactors, out: &mut [W]) {
    out.fill(W::default());
    reconstruct(sources, by, out);
}

/// Makes one pass over all frames. The special cases read fewer of them, and give the same result as the full
/// formula.
#[inline(always)]
fn map_predictions<W: Code>(
    s: MotionReferences<'_, W>,
    by: BlendFactors,
    out: &mut [W],
    other: &[W],
    f: impl Fn(W, W, W) -> W + Copy,
) {
    assert!(s.all_have_len(out.len()), "all frames have one shape");
    match by {
        BlendFactors { a: 0, c: 128, .. } => {
            for ((o, &v), &p) in out.iter_mut().zip(other).zip(s.previous) {
                *o = f(v, *o, p);
            }
        }
        BlendFactors { c: 128, .. } => {
            for (((o, &v), &p), &q) in out.iter_mut().zip(other).zip(s.previous).zip(s.before_previous) {
                *o = f(v, *o, W::predict_b_frame(p, q, p, p, by));
            }
        }
        BlendFactors { c: 0, .. } => {
            for (((o, &v), &i), &j) in out.iter_mut().zip(other).zip(s.index_before).zip(s.index_after) {
                *o = f(v, *o, W::predict_b_frame(i, i, i, j, by));
            }
        }
        _ => {
            let frames = s.previous.iter().zip(s.before_previous).zip(s.index_before).zip(s.index_after);
            for ((o, &v), (((&p, &q), &i), &j)) in out.iter_mut().zip(other).zip(frames) {
                *o = f(v, *o, W::predict_b_frame(p, q, i, j, by));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn motion_references<W>(f: &[Vec<W>; 4]) -> MotionReferences<'_, W> {
        MotionReferences { previous: &f[0], before_previous: &f[1], index_before: &f[2], index_after: &f[3] }
    }

    #[test]
    fn golden() {
        let f: [Vec<u16>; 4] =
            [vec![110, 0, 65535], vec![100, 65535, 0], vec![50, 65535, 0], vec![150, 0, 65535]];
        let s = motion_references(&f);
        let of = |a, b, c| (0..3).map(|k| s.predict(k, BlendFactors { a, b, c })).collect::<Vec<u16>>();
        assert_eq!(of(0, 99, 128), [110, 0, 65535]);
        assert_eq!(of(128, 0, 128), [120, 1, 65534]);
        assert_eq!(of(77, 128, 0), [100, 0, 0]);
        assert_eq!(of(128, 128, 64), [110, 1, 65535]);
    }

    fn check<W: Code>(values: &[W], f: &[Vec<W>; 4], by: BlendFactors) {
        let s = motion_references(f);
        let mut r = vec![W::default(); values.len()];
        residual(values, s, by, &mut r);
        let mut p = vec![W::default(); values.len()];
        predict(s, by, &mut p);
        for k in 0..values.len() {
            assert_eq!(p[k], s.predict(k, by), "{by:?}");
            assert_eq!(r[k], values[k].wrapping_sub(p[k]));
        }
        for isa in Isa::all() {
            let mut again = r.clone();
            reconstruct_on(isa, s, by, &mut again);
            assert_eq!(again, values, "{isa:?} {by:?}");
        }
    }

    proptest! {
        #[test]
        fn reversible(rows in proptest::collection::vec(any::<[u32; 5]>(), 0..120), a: u8, b: u8, c: u8, kind in 0..4) {
            let by = match kind {
                0 => BlendFactors { a: 0, b, c: 128 },
                1 => BlendFactors { a, b, c: 128 },
                2 => BlendFactors { a, b, c: 0 },
                _ => BlendFactors { a, b, c },
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
}
