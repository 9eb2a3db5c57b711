//! Uniform lattice per axis: `value = min + level·step`, rounded to nearest.
//!
//! Error: at most half a step per axis plus the f32 rounding of the value itself; a lattice of `n` axes with
//! step `s` is at most `s·√n / 2` away from every point. Rounding and range are per mesh, nothing is clamped
//! at 16 bits.
//!
//! An axis in a file:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 4 | `min` | f32, value of level 0 |
//! | 4 | 4 | `step` | f32, distance of two levels, 0 where there is one level |
//! | 8 | 4 | `levels` | u32, 1 … 2^24 |
//!
//! The value is one f32 multiplication and one f32 addition, each rounded (never fused), of the level
//! converted to f32; this is frozen, so that every decoder gives the same bits.

use crate::quantize::code::Word;
use crate::simd::isa::Isa;

#[cfg(target_arch = "x86_64")]
mod avx2;

/// Most levels of an axis. Every level is exact in f32. Part of the format.
pub const MAX_LEVELS: u32 = 1 << 24;

/// One axis of a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Axis {
    /// Value of level 0.
    pub min: f32,
    /// Distance of two levels; 0 where the axis has one level.
    pub step: f32,
    /// Number of levels, at least 1, at most 2^24.
    pub levels: u32,
}

impl Axis {
    /// Axis over `low..=high` with levels at most `step` apart. None where more than 2^24 levels would be
    /// needed, or where a bound or the step is not a number.
    ///
    /// Axes made with the same `step` have the same distance of levels, so that a ball in space is one in the
    /// lattice.
    pub fn new(low: f32, high: f32, step: f64) -> Option<Axis> {
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return None;
        }
        if low == high {
            return Some(Axis { min: low, step: 0.0, levels: 1 });
        }
        if !(step.is_finite() && step > 0.0) {
            return None;
        }
        let mut rounded = step.min(f64::from(f32::MAX)) as f32;
        if f64::from(rounded) > step {
            rounded = rounded.next_down();
        }
        let steps = ((f64::from(high) - f64::from(low)) / f64::from(rounded)).ceil();
        if rounded.is_subnormal() || rounded == 0.0 || steps >= f64::from(MAX_LEVELS) {
            return None;
        }
        let axis = Axis { min: low, step: rounded, levels: steps as u32 + 1 };
        axis.value(axis.levels - 1).is_finite().then_some(axis)
    }

    /// Axis whose values are all exact: the step is the largest power of two that is at most `step`, and
    /// every value a multiple of it. The ends are rounded, so that up to half a step of the range lies
    /// outside. None where f32 cannot hold that, or where more than 2^24 levels would be needed.
    pub fn exact(low: f32, high: f32, step: f64) -> Option<Axis> {
        if !(low.is_finite() && high.is_finite() && low < high) {
            return Axis::new(low, high, step);
        }
        if !(f64::from(f32::MIN_POSITIVE)..f64::from(f32::MAX)).contains(&step) {
            return None;
        }
        let step = f64::from_bits(step.to_bits() & f64::INFINITY.to_bits());
        // Ties go inwards.
        let first = (f64::from(low) / step + 0.5).floor();
        let last = (f64::from(high) / step - 0.5).ceil().max(first);
        let most = f64::from(MAX_LEVELS);
        let held = first.abs() <= most && last.abs() <= most && last - first < most;
        held.then(|| Axis {
            min: (first * step) as f32,
            step: step as f32,
            levels: (last - first) as u32 + 1,
        })
    }

    /// Nearest level, measured on what [`Axis::value`] gives; values outside are clamped, NaN gives 0.
    pub fn level(&self, value: f32) -> u32 {
        self.locate(f64::from(value)).0
    }

    /// Nearest level, and how far `value` lies above it, in steps (−0.5 … 0.5 inside the range). Ties go to
    /// the lower level. A value that is not finite is at level 0, offset 0.
    pub fn locate(&self, value: f64) -> (u32, f32) {
        if self.levels <= 1 || self.step == 0.0 || !value.is_finite() {
            return (0, 0.0);
        }
        let top = self.levels - 1;
        let step = f64::from(self.step);
        let guess = ((value - f64::from(self.min)) / step).clamp(0.0, f64::from(top));
        let mut level = (guess + 0.5) as u32;
        let mut miss = value - f64::from(self.value(level));
        // The guess is exact but for the f32 rounding of `value`, which can favour a neighbour.
        if miss > 0.0 && level < top {
            let other = value - f64::from(self.value(level + 1));
            if other.abs() < miss.abs() {
                (level, miss) = (level + 1, other);
            }
        } else if miss < 0.0 && level > 0 {
            let other = value - f64::from(self.value(level - 1));
            if other.abs() <= miss.abs() {
                (level, miss) = (level - 1, other);
            }
        }
        (level, (miss / step) as f32)
    }

    /// `min + level as f32 * step`: a multiplication and an addition in f32, never fused: frozen.
    #[inline(always)]
    pub fn value(&self, level: u32) -> f32 {
        self.min + level as f32 * self.step
    }

    /// Most that [`Axis::value`] can differ from `min + level·step` without rounding.
    pub fn rounding(&self) -> f64 {
        if self.step == 0.0 {
            return 0.0;
        }
        if self.is_exact() {
            return 0.0;
        }
        // Half a unit in the last place for the product, another for the sum.
        let reach = f64::from(self.step) * f64::from(self.levels - 1);
        let largest = f64::from(self.min).abs().max((f64::from(self.min) + reach).abs());
        (reach + largest) * f64::from(f32::EPSILON) * 0.5 + f64::from(f32::MIN_POSITIVE)
    }

    /// True for what [`Axis::exact`] makes: a power of two as step, all values multiples of it that f32
    /// holds.
    fn is_exact(&self) -> bool {
        let (min, step) = (f64::from(self.min), f64::from(self.step));
        let multiple = min / step;
        self.step.is_normal()
            && self.step.to_bits() & 0x7f_ffff == 0
            && multiple.fract() == 0.0
            && multiple.abs() <= f64::from(MAX_LEVELS)
            && (multiple + f64::from(self.levels - 1)).abs() <= f64::from(MAX_LEVELS)
    }

    /// Bits of the largest level.
    pub fn bits(&self) -> u32 {
        u32::BITS - self.levels.saturating_sub(1).leading_zeros()
    }
}

/// Component-major levels to interleaved floats: `out[v·n + k] = axes[k].value(levels[k·count + v])`.
///
/// Panics if the lengths of `levels` and `out` differ or are no multiple of the number of axes.
pub fn dequantize<W: Word>(axes: &[Axis], levels: &[W], out: &mut [f32]) {
    dequantize_on(Isa::get(), axes, levels, out);
}

fn dequantize_on<W: Word>(isa: Isa, axes: &[Axis], levels: &[W], out: &mut [f32]) {
    check(axes, levels, out);
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => avx2::dequantize(avx2, axes, levels, out),
        _ => dequantize_scalar(axes, levels, out),
    }
}

/// Two frames' levels to interleaved floats between them: `a + (b − a)·t` of their values a and b, every
/// operation rounded to f32. `t` is 0 at `from` and 1 at `to`.
///
/// Panics if the lengths of the levels and `out` differ or are no multiple of the number of axes.
pub fn blend<W: Word>(axes: &[Axis], from: &[W], to: &[W], t: f32, out: &mut [f32]) {
    blend_on(Isa::get(), axes, from, to, t, out);
}

fn blend_on<W: Word>(isa: Isa, axes: &[Axis], from: &[W], to: &[W], t: f32, out: &mut [f32]) {
    check(axes, from, out);
    check(axes, to, out);
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => avx2::blend(avx2, axes, from, to, t, out),
        _ => blend_scalar(axes, from, to, t, out),
    }
}

fn check<W: Word>(axes: &[Axis], levels: &[W], out: &[f32]) {
    assert_eq!(levels.len(), out.len(), "one float per level");
    assert!(levels.is_empty() || !axes.is_empty(), "levels without axes");
    assert_eq!(levels.len() % axes.len().max(1), 0, "whole vectors");
}

#[inline(always)]
fn dequantize_scalar<W: Word>(axes: &[Axis], levels: &[W], out: &mut [f32]) {
    each(axes, out, |axis, at| axis.value(levels[at].to_u32()));
}

#[inline(always)]
fn blend_scalar<W: Word>(axes: &[Axis], from: &[W], to: &[W], t: f32, out: &mut [f32]) {
    each(axes, out, |axis, at| {
        let (a, b) = (axis.value(from[at].to_u32()), axis.value(to[at].to_u32()));
        a + (b - a) * t
    });
}

/// `out[v·n + k] = value(axes[k], k·count + v)`.
#[inline(always)]
fn each(axes: &[Axis], out: &mut [f32], value: impl Fn(&Axis, usize) -> f32) {
    let count = out.len() / axes.len().max(1);
    match axes {
        [x, y] => {
            for (v, o) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                *o = [value(x, v), value(y, count + v)];
            }
        }
        [x, y, z] => {
            for (v, o) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                *o = [value(x, v), value(y, count + v), value(z, 2 * count + v)];
            }
        }
        _ => {
            for (k, axis) in axes.iter().enumerate() {
                for (v, o) in out.chunks_exact_mut(axes.len()).enumerate() {
                    o[k] = value(axis, k * count + v);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges() {
        assert_eq!(Axis::new(1.0, 1.0, 0.0), Some(Axis { min: 1.0, step: 0.0, levels: 1 }));
        assert_eq!(Axis::new(0.0, 1.0, 0.0), None);
        assert_eq!(Axis::new(0.0, f32::NAN, 1.0), None);
        assert_eq!(Axis::new(2.0, 1.0, 1.0), None);
        assert_eq!(Axis::new(0.0, 1.0, f64::INFINITY), None);
        assert_eq!(Axis::new(f32::MIN, f32::MAX, 1e37).map(|a| a.levels), None);
        assert_eq!(Axis::new(0.0, 16_777_216.0, 1.0), None);
        let most = Axis::new(0.0, 16_777_215.0, 1.0).unwrap();
        assert_eq!((most.levels, most.bits()), (MAX_LEVELS, 24));
        assert_eq!(most.level(16_777_215.0), MAX_LEVELS - 1);
        assert_eq!(Axis::new(0.0, 1.0, 0.5).unwrap().bits(), 2);
        assert_eq!(Axis::new(0.0, 1.0, 5.0).unwrap(), Axis { min: 0.0, step: 5.0, levels: 2 });
        let a = Axis::new(-1.0, 1.0, 0.1).unwrap();
        assert_eq!(a.level(f32::NAN), 0);
        assert_eq!(a.level(f32::INFINITY), 0);
        assert_eq!(a.level(-9.0), 0);
        assert_eq!(a.level(9.0), a.levels - 1);
        dequantize::<u16>(&[], &[], &mut []);
    }

    proptest! {
        #[test]
        fn nearest_and_bounded(low in -1e6f32..1e6, size in 1e-3f32..1e6, parts in 1.0f64..1e6, t in 0.0f64..1.0) {
            let step = f64::from(size) / parts;
            let Some(a) = Axis::new(low, low + size, step) else { return Ok(()) };
            prop_assert!(f64::from(a.step) <= step);
            let value = (f64::from(low) + t * f64::from(size)).min(f64::from(low + size));
            let (level, offset) = a.locate(value);
            let miss = value - f64::from(a.value(level));
            for other in [level.saturating_sub(1), (level + 1).min(a.levels - 1)] {
                prop_assert!(miss.abs() <= (value - f64::from(a.value(other))).abs());
            }
            let slack = 1e-7 * f64::from(low.abs().max((low + size).abs()));
            let exact = f64::from(a.min) + f64::from(level) * f64::from(a.step);
            prop_assert!((f64::from(a.value(level)) - exact).abs() <= a.rounding());
            prop_assert!(miss.abs() <= 0.5 * f64::from(a.step) + slack);
            prop_assert!((f64::from(offset) * f64::from(a.step) - miss).abs() <= 1e-6 * f64::from(a.step) + slack);
        }

        #[test]
        fn dequantize_is_value(levels in proptest::collection::vec(any::<u16>(), 0..160), n in 1usize..5, t in -0.5f32..1.5) {
            let count = levels.len() / n;
            let levels = &levels[..count * n];
            let axes: Vec<Axis> = (0..n).map(|k| Axis { min: k as f32 - 1.3, step: 0.1 + k as f32, levels: 65536 }).collect();
            let narrow: Vec<u8> = levels.iter().map(|&l| l as u8).collect();
            let other: Vec<u16> = levels.iter().rev().copied().collect();
            for isa in Isa::all() {
                let mut out = [(); 3].map(|_| vec![0.0; levels.len()]);
                dequantize_on(isa, &axes, levels, &mut out[0]);
                dequantize_on(isa, &axes, &narrow, &mut out[1]);
                blend_on(isa, &axes, levels, &other, t, &mut out[2]);
                for v in 0..count {
                    for k in 0..n {
                        let (at, to) = (k * count + v, v * n + k);
                        let value = |level: u16| axes[k].value(level.into());
                        let (a, b) = (value(levels[at]), value(other[at]));
                        prop_assert_eq!(out[0][to].to_bits(), a.to_bits());
                        prop_assert_eq!(out[1][to].to_bits(), value(narrow[at].into()).to_bits());
                        prop_assert_eq!(out[2][to].to_bits(), (a + (b - a) * t).to_bits());
                    }
                }
            }
        }
    }
}
