//! Uniform lattice per axis: `value = min + q·step`, rounded to nearest. A11, A12.

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
    /// Axis over `low..=high` with levels at most `step` apart. None where more than 2^24 levels would be needed.
    pub fn new(_low: f32, _high: f32, _step: f64) -> Option<Axis> {
        todo!()
    }
    /// Nearest level, measured on what [`Axis::value`] gives; values outside are clamped, NaN gives 0.
    pub fn level(&self, _value: f32) -> u32 {
        todo!()
    }
    /// `min + level as f32 * step`: a multiplication and an addition in f32, never fused: frozen.
    #[inline(always)]
    pub fn value(&self, level: u32) -> f32 {
        self.min + level as f32 * self.step
    }
    /// Bits of the largest level.
    pub fn bits(&self) -> u32 {
        todo!()
    }
}

/// Component-major levels to interleaved floats: `out[v·n + k] = axes[k].value(levels[k·count + v])`.
pub fn dequantize<W: crate::word::Word>(_axes: &[Axis], _levels: &[W], _out: &mut [f32]) {
    todo!()
}
