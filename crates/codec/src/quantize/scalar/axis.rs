//! One axis of a lattice, and the loops over values.

/// The largest number of codes of an axis. Every code is exact in f32. Part of the format.
pub const MAX_CODES: u32 = 1 << 24;

/// One axis of a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Axis {
    /// The value of code 0.
    pub min: f32,
    /// The distance of two adjacent codes; 0 if the axis has one code.
    pub step: f32,
    /// The number of codes, at least 1, at most 2^24.
    pub codes: u32,
}

impl Axis {
    /// Returns an axis over `low..=high` with codes at most `step` apart. `None` if more than 2^24 codes
    /// would be needed, or if a bound or the step is not a number.
    ///
    /// Axes made with the same `step` have the same distance of codes, so that a sphere in space is one in
    /// the lattice.
    pub fn new(low: f32, high: f32, step: f64) -> Option<Axis> {
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return None;
        }
        if low == high {
            return Some(Axis { min: low, step: 0.0, codes: 1 });
        }
        if !(step.is_finite() && step > 0.0) {
            return None;
        }
        let mut rounded = step.min(f64::from(f32::MAX)) as f32;
        if f64::from(rounded) > step {
            rounded = rounded.next_down();
        }
        let steps = ((f64::from(high) - f64::from(low)) / f64::from(rounded)).ceil();
        if rounded.is_subnormal() || rounded == 0.0 || steps >= f64::from(MAX_CODES) {
            return None;
        }
        let axis = Axis { min: low, step: rounded, codes: steps as u32 + 1 };
        axis.value(axis.codes - 1).is_finite().then_some(axis)
    }

    /// Returns an axis whose values are all exact: the step is the largest power of two that is at most
    /// `step`, and every value a multiple of it. The ends are rounded, so that up to half a step of the range
    /// lies outside. `None` if f32 cannot represent that, or if more than 2^24 codes would be needed.
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
        let most = f64::from(MAX_CODES);
        let held = first.abs() <= most && last.abs() <= most && last - first < most;
        held.then(|| Axis { min: (first * step) as f32, step: step as f32, codes: (last - first) as u32 + 1 })
    }

    /// Returns the nearest code, by the result of [`Axis::value`]; values outside are clamped, NaN gives 0.
    #[cfg(feature = "encode")]
    pub fn code(&self, value: f32) -> u32 {
        self.locate(f64::from(value)).0
    }

    /// Returns the nearest code, and the distance of `value` above it, in steps (−0.5 … 0.5 inside the
    /// range). Ties go to the lower code. A value that is not finite gives code 0, offset 0.
    #[cfg(feature = "encode")]
    pub fn locate(&self, value: f64) -> (u32, f32) {
        if self.codes <= 1 || self.step == 0.0 || !value.is_finite() {
            return (0, 0.0);
        }
        let top = self.codes - 1;
        let step = f64::from(self.step);
        let guess = ((value - f64::from(self.min)) / step).clamp(0.0, f64::from(top));
        let mut code = (guess + 0.5) as u32;
        let mut miss = value - f64::from(self.value(code));
        // The guess is exact except for the f32 rounding of `value`, which can favour a neighbour.
        if miss > 0.0 && code < top {
            let other = value - f64::from(self.value(code + 1));
            if other.abs() < miss.abs() {
                (code, miss) = (code + 1, other);
            }
        } else if miss < 0.0 && code > 0 {
            let other = value - f64::from(self.value(code - 1));
            if other.abs() <= miss.abs() {
                (code, miss) = (code - 1, other);
            }
        }
        (code, (miss / step) as f32)
    }

    /// Returns `min + code as f32 * step`: a multiplication and an addition in f32, never fused: frozen.
    #[inline(always)]
    pub fn value(&self, code: u32) -> f32 {
        self.min + code as f32 * self.step
    }

    /// Returns the largest difference of [`Axis::value`] to `min + code·step` without rounding.
    pub fn rounding(&self) -> f64 {
        if self.step == 0.0 {
            return 0.0;
        }
        if self.is_exact() {
            return 0.0;
        }
        // Half a unit in the last place for the product, another for the sum.
        let reach = f64::from(self.step) * f64::from(self.codes - 1);
        let largest = f64::from(self.min).abs().max((f64::from(self.min) + reach).abs());
        (reach + largest) * f64::from(f32::EPSILON) * 0.5 + f64::from(f32::MIN_POSITIVE)
    }

    /// Returns `true` for an axis as [`Axis::exact`] makes it: a power of two as step, all values multiples
    /// of it that f32 can represent.
    fn is_exact(&self) -> bool {
        let (min, step) = (f64::from(self.min), f64::from(self.step));
        let multiple = min / step;
        self.step.is_normal()
            && self.step.to_bits() & 0x7f_ffff == 0
            && multiple.fract() == 0.0
            && multiple.abs() <= f64::from(MAX_CODES)
            && (multiple + f64::from(self.codes - 1)).abs() <= f64::from(MAX_CODES)
    }

    /// Returns the number of bits of the largest code.
    pub fn bits(&self) -> u32 {
        u32::BITS - self.codes.saturating_sub(1).leading_zeros()
    }
}

/// Sets `out[v·n + k] = value(axes[k], k·count + v)`.
#[inline(always)]
pub(super) fn interleave(axes: &[Axis], out: &mut [f32], value: impl Fn(&Axis, usize) -> f32) {
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
