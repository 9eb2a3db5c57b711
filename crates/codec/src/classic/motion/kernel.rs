//! The prediction of 16-bit values, 16 at a time.
//!
//! With `m(x, y) = (x·y + 2^14) >> 15`, one instruction of most vector units:
//!
//! ```text
//! (a·d + 64) >> 7   = d + m(d, (a − 128)·256)      a − 128 is a signed byte
//! (b·e + 128) >> 8  = m(e, b·128)
//! ```
//!
//! In −2^15·−2^15, the one product whose result does not fit, it wraps as the definition does.

use super::references::MotionReferences;
use crate::quantize::code::{BlendFactors, Code};
use crate::simd::Kernel;
use crate::simd::doubles::Doubles;
use fearless_simd::prelude::*;
use fearless_simd::{i16x16, u16x16};

const LANES: usize = 16;

/// Adds the prediction to `values`. All lengths must be equal.
pub(super) struct Reconstruction<'a> {
    pub(super) sources: MotionReferences<'a, u16>,
    pub(super) by: BlendFactors,
    pub(super) values: &'a mut [u16],
}

impl Kernel for Reconstruction<'_> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(mut self, simd: S) {
        match self.by {
            BlendFactors { a: 0, c: 128, .. } => self.add::<S, DELTA>(simd),
            BlendFactors { c: 128, .. } => self.add::<S, LINEAR>(simd),
            BlendFactors { c: 0, .. } => self.add::<S, INTERPOLATED>(simd),
            _ => self.add::<S, BLENDED>(simd),
        }
    }
}

// The frames that contribute to the prediction.
const DELTA: u8 = 0;
const LINEAR: u8 = 1;
const INTERPOLATED: u8 = 2;
const BLENDED: u8 = 3;

impl Reconstruction<'_> {
    #[inline(always)]
    fn add<S: Doubles, const MODE: u8>(&mut self, simd: S) {
        let (s, by) = (self.sources, self.by);
        let signed = |factor: u8| i16x16::splat(simd, (i16::from(factor) - 128) << 8);
        let (a, c) = (signed(by.a), signed(by.c));
        let b = i16x16::splat(simd, i16::from(by.b) << 7);
        let (values, rest) = self.values.as_chunks_mut::<LANES>();
        let done = LANES * values.len();
        let [f1, f2, i0, i1] = [s.previous, s.before_previous, s.index_before, s.index_after]
            .map(|frame| frame.as_chunks::<LANES>().0);
        for ((((values, f1), f2), i0), i1) in values.iter_mut().zip(f1).zip(f2).zip(i0).zip(i1) {
            let mut predicted = load(simd, f1);
            if MODE == LINEAR || MODE == BLENDED {
                predicted += part(simd, predicted - load(simd, f2), a);
            }
            if MODE == INTERPOLATED || MODE == BLENDED {
                let i0 = load(simd, i0);
                let inside = i0 + simd.rounded_product(load(simd, i1) - i0, b);
                let way = predicted - inside;
                predicted = if MODE == BLENDED { inside + part(simd, way, c) } else { inside };
            }
            *values = (load(simd, values) + predicted).bitcast::<u16x16<S>>().to_array();
        }
        for (at, value) in (done..).zip(rest) {
            *value = Code::wrapping_add(*value, s.predict(at, by));
        }
    }
}

#[inline(always)]
fn load<S: Doubles>(simd: S, values: &[u16; LANES]) -> i16x16<S> {
    u16x16::simd_from(simd, *values).bitcast()
}

/// Returns `(factor·d + 64) >> 7` for a factor that is given as `(factor − 128)·256`.
#[inline(always)]
fn part<S: Doubles>(simd: S, d: i16x16<S>, factor: i16x16<S>) -> i16x16<S> {
    d + simd.rounded_product(d, factor)
}
