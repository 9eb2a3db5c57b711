//! The expected sizes of the residuals of a clip, which choose their tables
//! ([`crate::entropy::symbols`]). They follow from the residuals around.
//!
//! ```text
//! σ        the expected |k|, in 2⁻⁸:   mean · (77 + 56·t + 46·j + 26·p + 51·f) / 256
//! mean     of |k| of this component and level so far, in a segment, or in the keys, with weight max(1/(n + 2.5), 0.15)
//! t j p f  means of |k| / mean in 2⁻⁶, at most 4 each. t: of the same component at the two samples between which this one lies; j: of earlier
//!          components of the joint; p: of the parent joint; f: of all components of this sample before the sub-track. 1 if there is none.
//!          A mean of n ≤ 9 numbers is (sum · ⌈2¹⁶/n⌉) >> 16, of more numbers a division
//! ```

use crate::entropy::symbols::Bucket;

/// The number of levels: seven of distance, and keys.
pub const LEVEL_COUNT: usize = 8;
/// The initial means of the levels, relative to the finest, in 2⁻³. Part of the format, like everything in
/// this file.
const INITIAL_MEAN_FACTORS: [u32; LEVEL_COUNT] = [8, 12, 21, 36, 56, 80, 110, 500];
/// 1 in 2⁻⁶.
const RATIO_ONE: u32 = 64;

/// Returns the initial mean of a component, from its code: half octaves, 0 … 31.
pub fn start_mean(code: u8) -> u32 {
    let half = if code & 1 != 0 { 362 } else { 256 };
    // 2^(code/2 − 4) in 2⁻⁸.
    (half << (code / 2)) >> 4
}

/// Returns the code whose mean is nearest to `mean` (of |k|, at the finest level).
#[cfg(feature = "encode")]
pub fn start_code(mean: f64) -> u8 {
    ((mean.max(1e-9).log2() + 4.0) * 2.0).round().clamp(0.0, 31.0) as u8
}

/// The mean |k| of a component at a level.
#[derive(Clone, Copy, Debug)]
struct MeanSize {
    /// In 2⁻⁸.
    mean: u32,
    /// ⌊(2³² − 1) / mean⌋, for a mean of at least 2⁻⁴.
    reciprocal: u32,
    /// The number of residuals of this level so far.
    seen: u32,
}

impl MeanSize {
    #[inline(always)]
    fn new(mean: u32, seen: u32) -> MeanSize {
        MeanSize { mean, reciprocal: u32::MAX / mean.max(16), seen }
    }
}

/// The adaptive means of all components at a level of a segment, in memory that the caller reuses. Levels
/// follow one another, from the coarsest to the finest.
#[derive(Clone, Debug, Default)]
pub struct Means {
    sizes: Vec<MeanSize>,
    level: Option<usize>,
}

impl Means {
    /// Begins a segment. Allocates the memory of this many components.
    pub fn reset(&mut self, components: usize) {
        self.level = None;
        self.sizes.clear();
        self.sizes.reserve(components);
    }

    /// Begins a level, unless it has begun already. A mean begins between the component's start, a code as of
    /// [`start_code`], and the mean of the coarser level, both scaled to this level.
    #[inline]
    pub fn enter_level(&mut self, level: usize, starts: &[u8]) {
        if self.level != Some(level) {
            self.begin_level(level, starts);
        }
    }

    fn begin_level(&mut self, level: usize, starts: &[u8]) {
        let factor = INITIAL_MEAN_FACTORS[level];
        let start = |code: &u8| (start_mean(*code) * factor) >> 3;
        match self.level.filter(|coarser| coarser - 1 == level) {
            None => {
                self.sizes.clear();
                self.sizes.extend(starts.iter().map(|code| MeanSize::new(start(code), 0)));
            }
            Some(coarser) => {
                let coarser = u64::from(INITIAL_MEAN_FACTORS[coarser]);
                for (size, code) in self.sizes.iter_mut().zip(starts) {
                    let scaled = u64::from(size.mean) * u64::from(factor) / coarser;
                    *size = MeanSize::new(((u64::from(start(code)) + scaled) / 2) as u32, 0);
                }
            }
        }
        self.level = Some(level);
    }

    /// Adapts to |k|.
    #[inline]
    pub fn learn(&mut self, c: usize, k: i32) {
        // max(1/(n + 2.5), 0.15) in 2⁻⁸.
        const WEIGHT: [i64; 5] = [102, 73, 57, 47, 39];
        let size = &mut self.sizes[c];
        let weight = WEIGHT.get(size.seen as usize).copied().unwrap_or(38);
        let goal = i64::from(k.unsigned_abs().min(1 << 22)) << 8;
        let at = i64::from(size.mean);
        *size = MeanSize::new((at + (((goal - at) * weight) >> 8)).max(1) as u32, size.seen + 1);
    }
}

/// The sizes of the residuals of the current sample so far, relative to their means.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// The sum and the number of all ratios so far.
    all: (u32, u32),
    /// The sum and the number of the ratios of the current joint, at most nine.
    joint: (u32, u32),
    /// 26·p + 51·f of the current sub-track.
    around: u32,
}

impl Default for Activity {
    /// Begins a sample.
    fn default() -> Activity {
        Activity { all: (0, 0), joint: (0, 0), around: (26 + 51) * RATIO_ONE }
    }
}

/// ⌈2¹⁶/n⌉, the factor for a mean of up to nine ratios.
const RECIPROCALS: [u32; 10] = [0, 65536, 32768, 21846, 16384, 13108, 10923, 9363, 8192, 7282];

impl Activity {
    /// Begins a sub-track; `first` if it is the first of its joint. `parent`: the ratios of the components of
    /// the parent joint, at most nine.
    #[inline]
    pub fn begin_sub_track(&mut self, first: bool, parent: &[u8]) {
        if first {
            self.joint = (0, 0);
        }
        let sum = parent.iter().map(|ratio| u32::from(*ratio)).sum();
        let p = mean_ratio((sum, parent.len() as u32));
        let f = match self.all {
            (_, 0) => RATIO_ONE,
            (sum, count) => sum / count,
        };
        self.around = 26 * p + 51 * f;
    }

    /// Returns the table for component `c` of the current sub-track. `around`: ratios of this component at
    /// the samples between which this one lies.
    #[inline(always)]
    pub fn bucket(&self, means: &Means, c: usize, around: [u8; 2]) -> Bucket {
        let t = (u32::from(around[0]) + u32::from(around[1])) / 2;
        let weight = 77 * RATIO_ONE + 56 * t + 46 * mean_ratio(self.joint) + self.around;
        let sigma = (u64::from(means.sizes[c].mean) * u64::from(weight)) >> 14;
        Bucket::from_sigma(sigma.min(1 << 28) as u32)
    }

    /// Records the residual of component `c`, before the means learn from it. Returns its ratio: |k| / mean
    /// in 2⁻⁶, at most 255.
    #[inline(always)]
    pub fn record(&mut self, means: &Means, c: usize, k: i32) -> u8 {
        let n = u64::from(k.unsigned_abs().min(1 << 16));
        let ratio = ((n * u64::from(means.sizes[c].reciprocal)) >> 18) as u32;
        let stored = ratio.min(255);
        self.all = (self.all.0 + ratio.min(4 * RATIO_ONE), self.all.1 + 1);
        self.joint = (self.joint.0 + stored, self.joint.1 + 1);
        stored as u8
    }
}

/// Returns the mean of at most nine ratios, from their sum and their number.
#[inline(always)]
fn mean_ratio((sum, count): (u32, u32)) -> u32 {
    match count {
        0 => RATIO_ONE,
        n => (sum * RECIPROCALS[n.min(9) as usize]) >> 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_come_back() {
        for code in 0..32 {
            assert_eq!(start_code(f64::from(start_mean(code)) / 256.0), code);
        }
    }
}
