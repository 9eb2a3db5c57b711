//! Uniform lattice per axis: `value = min + code·step`, rounded to nearest.
//!
//! Error: at most half a step per axis plus the f32 rounding of the value itself; a lattice of `n` axes with
//! step `s` is at most `s·√n / 2` away from every point. Step and range are per mesh; nothing is clamped at
//! 16 bits.
//!
//! An axis in a file:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 4 | `min` | f32, the value of code 0 |
//! | 4 | 4 | `step` | f32, the difference between the values of two successive codes, 0 if there is one code |
//! | 8 | 4 | `codes` | u32, the number of codes: 1 … 2^24 |
//!
//! The value is one f32 multiplication and one f32 addition, each rounded (never fused), of the code
//! converted to f32; this is frozen, so that every decoder gives the same bits.

use crate::quantize::code::Code;
use crate::simd::doubles::Doubles;
use crate::simd::isa::Isa;
use crate::simd::{Kernel, run_kernel};
use axis::interleave;

pub use axis::{Axis, MAX_CODES};

mod axis;

/// Converts component-major codes to interleaved floats: `out[v·n + k] = axes[k].value(codes[k·count + v])`.
///
/// Panics if the lengths of `codes` and `out` differ or are not a multiple of the number of axes.
pub fn dequantize<W: Code>(axes: &[Axis], codes: &[W], out: &mut [f32]) {
    dequantize_on(Isa::get(), axes, codes, out);
}

fn dequantize_on<W: Code>(isa: Isa, axes: &[Axis], codes: &[W], out: &mut [f32]) {
    check(axes, codes, out);
    // Interleaving three components is 1.3 times as fast in registers of 256 bits.
    run_kernel(isa.without_avx512(), Dequantization { axes, from: codes, to: None, out });
}

/// Interpolates between the codes of two frames to interleaved floats: `a + (b − a)·t` of their values a and
/// b, every operation rounded to f32. `t` is 0 at `from` and 1 at `to`.
///
/// Panics if the lengths of the codes and `out` differ or are not a multiple of the number of axes.
pub fn blend<W: Code>(axes: &[Axis], from: &[W], to: &[W], t: f32, out: &mut [f32]) {
    blend_on(Isa::get(), axes, from, to, t, out);
}

fn blend_on<W: Code>(isa: Isa, axes: &[Axis], from: &[W], to: &[W], t: f32, out: &mut [f32]) {
    check(axes, from, out);
    check(axes, to, out);
    run_kernel(isa, Dequantization { axes, from, to: Some((to, t)), out });
}

/// Converts the codes of one frame, or interpolates between those of two.
struct Dequantization<'a, W> {
    axes: &'a [Axis],
    from: &'a [W],
    /// The second frame and its weight.
    to: Option<(&'a [W], f32)>,
    out: &'a mut [f32],
}

impl<W: Code> Kernel for Dequantization<'_, W> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) {
        let Dequantization { axes, from, to, out } = self;
        match to {
            None => interleave(
                axes,
                out,
                #[inline(always)]
                |axis, at| axis.value(from[at].to_u32()),
            ),
            Some((to, t)) => interleave(
                axes,
                out,
                #[inline(always)]
                |axis, at| {
                    let (a, b) = (axis.value(from[at].to_u32()), axis.value(to[at].to_u32()));
                    a + (b - a) * t
                },
            ),
        }
    }
}

fn check<W: Code>(axes: &[Axis], codes: &[W], out: &[f32]) {
    assert_eq!(codes.len(), out.len(), "one float per code");
    assert!(codes.is_empty() || !axes.is_empty(), "codes without axes");
    assert_eq!(codes.len() % axes.len().max(1), 0, "whole vectors");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges() {
        assert_eq!(Axis::new(1.0, 1.0, 0.0), Some(Axis { min: 1.0, step: 0.0, codes: 1 }));
        assert_eq!(Axis::new(0.0, 1.0, 0.0), None);
        assert_eq!(Axis::new(0.0, f32::NAN, 1.0), None);
        assert_eq!(Axis::new(2.0, 1.0, 1.0), None);
        assert_eq!(Axis::new(0.0, 1.0, f64::INFINITY), None);
        assert_eq!(Axis::new(f32::MIN, f32::MAX, 1e37).map(|a| a.codes), None);
        assert_eq!(Axis::new(0.0, 16_777_216.0, 1.0), None);
        let most = Axis::new(0.0, 16_777_215.0, 1.0).unwrap();
        assert_eq!((most.codes, most.bits()), (MAX_CODES, 24));
        assert_eq!(most.code(16_777_215.0), MAX_CODES - 1);
        assert_eq!(Axis::new(0.0, 1.0, 0.5).unwrap().bits(), 2);
        assert_eq!(Axis::new(0.0, 1.0, 5.0).unwrap(), Axis { min: 0.0, step: 5.0, codes: 2 });
        let a = Axis::new(-1.0, 1.0, 0.1).unwrap();
        assert_eq!(a.code(f32::NAN), 0);
        assert_eq!(a.code(f32::INFINITY), 0);
        assert_eq!(a.code(-9.0), 0);
        assert_eq!(a.code(9.0), a.codes - 1);
        dequantize::<u16>(&[], &[], &mut []);
    }

    proptest! {
        #[test]
        fn nearest_and_bounded(low in -1e6f32..1e6, size in 1e-3f32..1e6, parts in 1.0f64..1e6, t in 0.0f64..1.0) {
            let step = f64::from(size) / parts;
            let Some(a) = Axis::new(low, low + size, step) else { return Ok(()) };
            prop_assert!(f64::from(a.step) <= step);
            let value = (f64::from(low) + t * f64::from(size)).min(f64::from(low + size));
            let (code, offset) = a.locate(value);
            let miss = value - f64::from(a.value(code));
            for other in [code.saturating_sub(1), (code + 1).min(a.codes - 1)] {
                prop_assert!(miss.abs() <= (value - f64::from(a.value(other))).abs());
            }
            let rounding = 1e-7 * f64::from(low.abs().max((low + size).abs()));
            let exact = f64::from(a.min) + f64::from(code) * f64::from(a.step);
            prop_assert!((f64::from(a.value(code)) - exact).abs() <= a.rounding());
            prop_assert!(miss.abs() <= 0.5 * f64::from(a.step) + rounding);
            prop_assert!((f64::from(offset) * f64::from(a.step) - miss).abs() <= 1e-6 * f64::from(a.step) + rounding);
        }

        #[test]
        fn dequantize_is_value(codes in proptest::collection::vec(any::<u16>(), 0..160), n in 1usize..5, t in -0.5f32..1.5) {
            let count = codes.len() / n;
            let codes = &codes[..count * n];
            let axes: Vec<Axis> = (0..n).map(|k| Axis { min: k as f32 - 1.3, step: 0.1 + k as f32, codes: 65536 }).collect();
            let narrow: Vec<u8> = codes.iter().map(|&l| l as u8).collect();
            let other: Vec<u16> = codes.iter().rev().copied().collect();
            for isa in Isa::all() {
                let mut out = [(); 3].map(|_| vec![0.0; codes.len()]);
                dequantize_on(isa, &axes, codes, &mut out[0]);
                dequantize_on(isa, &axes, &narrow, &mut out[1]);
                blend_on(isa, &axes, codes, &other, t, &mut out[2]);
                for v in 0..count {
                    for k in 0..n {
                        let (at, to) = (k * count + v, v * n + k);
                        let value = |code: u16| axes[k].value(code.into());
                        let (a, b) = (value(codes[at]), value(other[at]));
                        prop_assert_eq!(out[0][to].to_bits(), a.to_bits());
                        prop_assert_eq!(out[1][to].to_bits(), value(narrow[at].into()).to_bits());
                        prop_assert_eq!(out[2][to].to_bits(), (a + (b - a) * t).to_bits());
                    }
                }
            }
        }
    }
}
