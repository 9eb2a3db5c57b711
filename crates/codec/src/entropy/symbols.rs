//! Residuals k of a clip as range-coded symbols with static tables, chosen by the size of the residuals
//! around. Lossless.
//!
//! ```text
//! σ        the expected |k|, in 2⁻⁸:   mean · (77 + 56·t + 46·j + 26·p + 51·f) / 256
//! mean     of |k| of this component and level so far, in a segment, or in the keys, with weight max(1/(n + 2.5), 0.15)
//! t j p f  means of |k| / mean in 2⁻⁶, at most 4 each. t: of the same component at the two samples between which this one lies; j: of earlier
//!          components of the joint; p: of the parent joint; f: of all components of this sample before the sub-track. 1 if there is none.
//!          A mean of n ≤ 9 numbers is (sum · ⌈2¹⁶/n⌉) >> 16, of more numbers a division
//! bucket   thirds of octaves of σ: 24 of them below σ = 4, where h = 0; above that h = 1 + ⌊log₂(σ/4)⌋, and the table is one of the last three
//! symbol   min(|k| >> h, 15) by the table of the bucket; then raw bits: the h low bits, the sign if k ≠ 0; symbol 15 is followed by
//!          (|k| >> h) − 15 as Exp-Golomb of order 2
//! coder    one rANS state, 32 bits, 12-bit frequencies, words of 16 bits; raw bits are taken from the state's low end
//! ```
//!
//! The tables are those of Laplace's distribution whose mean is known to 35 %: neither trained nor adapted,
//! so short clips have no extra cost.
//!
//! Credit: J. Duda, *Asymmetric numeral systems*, 2013.

use crate::Corrupt;

/// The number of symbols in a table.
pub(crate) const SYMBOLS: usize = 16;
/// The number of tables.
pub(crate) const TABLES: usize = 24;
/// The number of bits of a frequency. Part of the format, like everything in this file.
pub(crate) const PRECISION: u32 = 12;
/// The smallest state, with which the encoder begins.
pub(crate) const MIN_STATE: u32 = 1 << 16;
/// The number of levels: seven of distance, and keys.
pub const LEVEL_COUNT: usize = 8;
/// The initial means of the levels, relative to the finest, in 2⁻³.
const INITIAL_MEAN_FACTORS: [u32; LEVEL_COUNT] = [8, 12, 21, 36, 56, 80, 110, 500];
/// 1 in 2⁻⁶.
const RATIO_ONE: u32 = 64;

pub(crate) const FREQUENCIES: [[u16; SYMBOLS]; TABLES] = [
    [4010, 72, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3992, 90, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3968, 114, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3939, 143, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3902, 180, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3856, 226, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3798, 283, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3725, 354, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3635, 441, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3524, 545, 14, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3390, 668, 25, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3226, 808, 46, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [3037, 961, 78, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [2818, 1117, 128, 19, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [2576, 1265, 197, 38, 8, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [2315, 1389, 287, 69, 19, 6, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    [2047, 1474, 390, 117, 39, 14, 5, 2, 1, 1, 1, 1, 1, 1, 1, 1],
    [1781, 1511, 496, 180, 70, 29, 13, 6, 3, 1, 1, 1, 1, 1, 1, 1],
    [1526, 1495, 593, 253, 115, 55, 27, 14, 7, 4, 2, 1, 1, 1, 1, 1],
    [1289, 1432, 668, 328, 169, 90, 50, 28, 16, 10, 6, 4, 2, 1, 1, 2],
    [1075, 1329, 711, 396, 227, 134, 81, 50, 32, 20, 13, 9, 6, 4, 3, 6],
    [888, 1199, 722, 445, 281, 181, 119, 79, 54, 37, 25, 18, 13, 9, 7, 19],
    [727, 1061, 701, 472, 323, 225, 158, 113, 81, 59, 43, 32, 24, 18, 13, 46],
    [592, 917, 657, 476, 349, 259, 193, 146, 111, 85, 65, 51, 39, 31, 24, 101],
];

pub(crate) const STARTS: [[u16; SYMBOLS]; TABLES] = {
    let mut out = [[0; SYMBOLS]; 24];
    let mut b = 0;
    while b < 24 {
        let (mut s, mut sum) = (0, 0);
        while s < SYMBOLS {
            out[b][s] = sum;
            sum += FREQUENCIES[b][s];
            s += 1;
        }
        assert!(sum == 1 << PRECISION);
        b += 1;
    }
    out
};

/// The table for a symbol, and its number of low bits of even probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub(crate) table: u8,
    pub(crate) low: u8,
}

impl Bucket {
    /// Returns the bucket for σ in 2⁻⁸.
    #[inline]
    fn from_sigma(sigma: u32) -> Bucket {
        // At least 2⁻⁶, so that bucket 0 is the smallest.
        let s = sigma.max(4);
        let exponent = 31 - s.leading_zeros();
        let mantissa = (u64::from(s) << 16 >> exponent) as u32;
        // 2^(1/3) and 2^(2/3).
        let third = u32::from(mantissa >= 82570) + u32::from(mantissa >= 104_032);
        // Looked up, because a branch on the presence of low bits would be unpredictable.
        BUCKETS[(3 * (exponent - 2) + third) as usize % BUCKETS.len()]
    }

    /// Returns the bucket for a fixed σ in 2⁻⁸.
    pub fn fixed(sigma: u32) -> Bucket {
        Bucket::from_sigma(sigma)
    }

    /// Returns the cost of `k` in 2⁻⁸ bits, for the encoder's choices.
    #[cfg(feature = "encode")]
    pub fn cost(self, k: i32) -> u32 {
        let n = k.unsigned_abs() >> self.low;
        let symbol = (n as usize).min(SYMBOLS - 1);
        let even = u32::from(self.low) + u32::from(k != 0);
        let escape = if symbol == SYMBOLS - 1 {
            let v = n - 15 + 4;
            2 * (31 - v.leading_zeros()) - 1
        } else {
            0
        };
        u32::from(COSTS[usize::from(self.table)][symbol]) + 256 * (even + escape)
    }
}

/// The buckets, by third octaves from 2⁻⁶ on.
static BUCKETS: [Bucket; 128] = {
    let mut out = [Bucket { table: 0, low: 0 }; 128];
    let mut i = 0;
    while i < 128 {
        out[i] = match i {
            0..24 => Bucket { table: i as u8, low: 0 },
            _ => Bucket { table: 21 + (i % 3) as u8, low: ((i - 21) / 3) as u8 },
        };
        i += 1;
    }
    out
};

/// −log₂(f/4096) in 2⁻⁸, exact to one unit: only the encoder's choices depend on it.
#[cfg(feature = "encode")]
pub(crate) static COSTS: [[u16; SYMBOLS]; TABLES] = {
    let mut out = [[0; SYMBOLS]; 24];
    let mut b = 0;
    while b < 24 {
        let mut s = 0;
        while s < SYMBOLS {
            out[b][s] = cost_of(FREQUENCIES[b][s] as u64);
            s += 1;
        }
        b += 1;
    }
    out
};

#[cfg(feature = "encode")]
const fn cost_of(f: u64) -> u16 {
    // The binary logarithm by squaring, with eight fractional bits.
    let mut x = f << 32;
    let mut log = 0u32;
    while x >= 2 << 32 {
        x >>= 1;
        log += 256;
    }
    let mut bit = 128;
    while bit > 0 {
        x = ((x as u128 * x as u128) >> 32) as u64;
        if x >= 2 << 32 {
            x >>= 1;
            log += bit;
        }
        bit /= 2;
    }
    (12 * 256 - log) as u16
}

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

/// The adaptive means of all components and levels of a segment, in memory that the caller reuses.
#[derive(Clone, Debug, Default)]
pub struct Means {
    /// For each component and level: the mean in 2⁻⁸, and the number of residuals so far.
    mean: Vec<[(u32, u32); LEVEL_COUNT]>,
}

impl Means {
    /// Resets to the start of a segment.
    pub fn reset(&mut self, starts: &[u8]) {
        self.mean.clear();
        self.mean.extend(
            starts
                .iter()
                .map(|&code| INITIAL_MEAN_FACTORS.map(|factor| ((start_mean(code) * factor) >> 3, 0))),
        );
    }

    /// Returns the mean of component `c` at `level`.
    #[inline]
    fn mean(&self, c: usize, level: usize) -> u32 {
        self.mean[c][level].0
    }

    /// Adapts to |k|.
    #[inline]
    pub fn learn(&mut self, c: usize, level: usize, k: i32) {
        // max(1/(n + 2.5), 0.15) in 2⁻⁸.
        const WEIGHT: [i64; 5] = [102, 73, 57, 47, 39];
        let (mean, seen) = &mut self.mean[c][level];
        let weight = WEIGHT.get(*seen as usize).copied().unwrap_or(38);
        let goal = i64::from(k.unsigned_abs().min(1 << 22)) << 8;
        let at = i64::from(*mean);
        *mean = (at + (((goal - at) * weight) >> 8)).max(1) as u32;
        *seen += 1;
    }
}

/// Returns |k| / mean in 2⁻⁶, at most 4.
#[inline]
fn ratio(k: i32, mean: u32) -> u32 {
    let n = k.unsigned_abs().min(1 << 16);
    ((n << 14) / mean.max(16)).min(4 * RATIO_ONE)
}

/// The sizes of the residuals of the current sample so far, relative to their means.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// The ratio of each component.
    pub ratio: Vec<u8>,
    /// The sum and the number of all ratios so far.
    all: (u32, u32),
    /// The sum and the number of the ratios of the current joint, at most nine.
    joint: (u32, u32),
    /// 26·p + 51·f of the current sub-track.
    around: u32,
}

/// ⌈2¹⁶/n⌉, the factor for a mean of up to nine ratios.
const RECIPROCALS: [u32; 10] = [0, 65536, 32768, 21846, 16384, 13108, 10923, 9363, 8192, 7282];

impl Activity {
    /// Begins a sample of `count` components.
    pub fn begin_sample(&mut self, count: usize) {
        self.ratio.clear();
        self.ratio.resize(count, RATIO_ONE as u8);
        (self.all, self.joint) = ((0, 0), (0, 0));
        self.around = (26 + 51) * RATIO_ONE;
    }

    /// Begins a sub-track; `first` if it is the first of its joint. `parent`: components of the parent joint,
    /// at most nine.
    #[inline]
    pub fn begin_sub_track(&mut self, first: bool, parent: (usize, usize)) {
        if first {
            self.joint = (0, 0);
        }
        let own = &self.ratio[parent.0..parent.1];
        let p = mean_ratio((own.iter().map(|ratio| u32::from(*ratio)).sum(), own.len() as u32));
        let f = match self.all {
            (_, 0) => RATIO_ONE,
            (sum, count) => sum / count,
        };
        self.around = 26 * p + 51 * f;
    }

    /// Returns the table for component `c` of the current sub-track. `around`: ratios of this component at
    /// the samples between which this one lies.
    #[inline(always)]
    pub fn bucket(&self, means: &Means, c: usize, level: usize, around: [u8; 2]) -> Bucket {
        let t = (u32::from(around[0]) + u32::from(around[1])) / 2;
        let weight = 77 * RATIO_ONE + 56 * t + 46 * mean_ratio(self.joint) + self.around;
        let sigma = (u64::from(means.mean(c, level)) * u64::from(weight)) >> 14;
        Bucket::from_sigma(sigma.min(1 << 28) as u32)
    }

    /// Records the residual of component `c`.
    #[inline(always)]
    pub fn record(&mut self, means: &Means, c: usize, level: usize, k: i32) {
        let r = ratio(k, means.mean(c, level));
        let stored = r.min(255) as u8;
        self.ratio[c] = stored;
        self.all = (self.all.0 + r, self.all.1 + 1);
        self.joint = (self.joint.0 + u32::from(stored), self.joint.1 + 1);
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

/// Collects symbols, which are encoded in reverse order.
#[cfg(feature = "encode")]
#[derive(Default)]
pub struct Encoder {
    /// Start and frequency; or, if the top bit is set, a value and its even bits.
    pushed: Vec<(u16, u16)>,
}

#[cfg(feature = "encode")]
const RAW_BITS_FLAG: u16 = 1 << 15;

#[cfg(feature = "encode")]
impl Encoder {
    /// Adds `k`.
    pub fn push(&mut self, bucket: Bucket, k: i32) {
        let n = k.unsigned_abs();
        let high = n >> bucket.low;
        let symbol = (high as usize).min(SYMBOLS - 1);
        let table = usize::from(bucket.table);
        self.pushed.push((STARTS[table][symbol], FREQUENCIES[table][symbol]));
        if symbol == SYMBOLS - 1 {
            // Exp-Golomb of order 2.
            let v = high - 15 + 4;
            let bits = 31 - v.leading_zeros();
            for _ in 2..bits {
                self.push_raw_bits(1, 1);
            }
            self.push_raw_bits(0, 1);
            self.push_raw_bits(v & ((1 << bits) - 1), bits);
        }
        self.push_raw_bits(n & ((1u32 << bucket.low) - 1), u32::from(bucket.low));
        if n != 0 {
            self.push_raw_bits(u32::from(k < 0), 1);
        }
    }

    /// Adds `bits` ≤ 32 bits of even probability.
    pub fn push_raw_bits(&mut self, value: u32, bits: u32) {
        if bits > 12 {
            self.push_raw_bits(value & 0xFFF, 12);
            self.push_raw_bits(value >> 12, bits - 12);
        } else if bits > 0 {
            self.pushed.push((value as u16, RAW_BITS_FLAG | bits as u16));
        }
    }

    /// Appends the bytes of all symbols.
    pub fn finish(self, out: &mut Vec<u8>) {
        let mut state = MIN_STATE;
        let mut words: Vec<u16> = Vec::new();
        for &(start, frequency) in self.pushed.iter().rev() {
            if frequency & RAW_BITS_FLAG != 0 {
                let bits = u32::from(frequency & !RAW_BITS_FLAG);
                if u64::from(state) >= 1u64 << (32 - bits) {
                    words.push(state as u16);
                    state >>= 16;
                }
                state = state << bits | u32::from(start);
            } else {
                let f = u32::from(frequency);
                if u64::from(state) >= u64::from(f) << (32 - PRECISION) {
                    words.push(state as u16);
                    state >>= 16;
                }
                state = ((state / f) << PRECISION) + state % f + u32::from(start);
            }
        }
        out.extend_from_slice(&state.to_le_bytes());
        for word in words.iter().rev() {
            out.extend_from_slice(&word.to_le_bytes());
        }
        // A segment without content is the most common case, and takes no bytes.
        if self.pushed.is_empty() {
            out.truncate(out.len() - 4);
        }
    }
}

/// A place between two symbols in the bytes of a [`Decoder`].
#[derive(Clone, Copy, Debug)]
pub struct DecoderPosition {
    state: u32,
    position: usize,
}

/// Decodes symbols in the order in which they were added. Words beyond the end read as zeros;
/// [`Decoder::finish`] detects that.
pub struct Decoder<'a> {
    state: u32,
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Decoder<'a> {
    /// Starts decoding the bytes of [`Encoder::finish`].
    pub fn new(bytes: &'a [u8]) -> Decoder<'a> {
        let (state, at) = match bytes.first_chunk::<4>() {
            Some(first) => (u32::from_le_bytes(*first), 4),
            None => (MIN_STATE, bytes.len()),
        };
        Decoder { state, bytes, position: at }
    }

    /// Continues from a place that [`Decoder::position`] returned for the same bytes; `None` is their start.
    pub fn resume(bytes: &'a [u8], from: Option<DecoderPosition>) -> Decoder<'a> {
        match from {
            Some(DecoderPosition { state, position }) => Decoder { state, bytes, position },
            None => Decoder::new(bytes),
        }
    }

    /// Returns the place before the next symbol.
    pub fn position(&self) -> DecoderPosition {
        DecoderPosition { state: self.state, position: self.position }
    }

    #[inline(always)]
    fn fill(&mut self) {
        let word = match self.bytes.get(self.position..self.position + 2) {
            Some(word) => u32::from(u16::from_le_bytes([word[0], word[1]])),
            None => 0,
        };
        // Whether a word is needed is unpredictable, so there is no branch.
        let due = self.state < MIN_STATE;
        let filled = self.state << 16 | word;
        self.state = if due { filled } else { self.state };
        self.position += 2 * usize::from(due);
    }

    /// Decodes the next k.
    #[inline(always)]
    pub fn decode(&mut self, bucket: Bucket) -> i32 {
        let table = usize::from(bucket.table);
        let slot = (self.state & ((1 << PRECISION) - 1)) as u16;
        let starts = &STARTS[table];
        // The number of starts that are not above the slot, minus one: the sum of the top bits of the
        // differences, side by side.
        let below = |s: &u16| s.wrapping_sub(slot + 1) >> 15;
        let symbol = usize::from(starts.iter().map(below).sum::<u16>() - 1) % SYMBOLS;
        let f = u32::from(FREQUENCIES[table][symbol]);
        self.state = f.wrapping_mul(self.state >> PRECISION).wrapping_add(u32::from(slot - starts[symbol]));
        self.fill();
        let mut n = symbol as u32;
        if symbol == SYMBOLS - 1 {
            let mut bits = 2;
            while bits < 30 && self.raw_bits(1) != 0 {
                bits += 1;
            }
            n = (1 << bits | self.raw_bits(bits)).wrapping_add(15 - 4);
        }
        if bucket.low > 0 {
            let low = u32::from(bucket.low);
            n = n << low | self.raw_bits(low);
        }
        let n = (n & 0x3FFF_FFFF) as i32;
        // Without a sign zero bits are read, so there is no branch.
        let sign = -(self.short_raw_bits(u32::from(n != 0)) as i32);
        (n ^ sign) - sign
    }

    /// Decodes the next `bits` ≤ 32 bits of even probability.
    #[inline]
    pub fn raw_bits(&mut self, bits: u32) -> u32 {
        if bits > 12 {
            let low = self.raw_bits(12);
            return self.raw_bits(bits - 12) << 12 | low;
        }
        self.short_raw_bits(bits)
    }

    /// Does the same as `raw_bits`, for at most 12 bits.
    #[inline(always)]
    fn short_raw_bits(&mut self, bits: u32) -> u32 {
        let value = self.state & ((1 << bits) - 1);
        self.state >>= bits;
        self.fill();
        value
    }

    /// Refuses too few, too many or wrong bytes: the state must return to the encoder's first.
    pub fn finish(&self) -> Result<(), Corrupt> {
        if self.state == MIN_STATE && self.position == self.bytes.len() {
            Ok(())
        } else {
            Err(Corrupt("residuals of a clip do not end where their bytes do"))
        }
    }
}

/// Codes symbols in either direction.
pub trait SymbolCoder {
    /// Codes `k`, which a decoder ignores, and returns it.
    fn symbol(&mut self, bucket: Bucket, k: i32) -> i32;
    /// Codes 32 bits of even probability.
    fn raw_u32(&mut self, value: u32) -> u32;
}

#[cfg(feature = "encode")]
impl SymbolCoder for Encoder {
    fn symbol(&mut self, bucket: Bucket, k: i32) -> i32 {
        self.push(bucket, k);
        k
    }
    fn raw_u32(&mut self, value: u32) -> u32 {
        self.push_raw_bits(value, 32);
        value
    }
}

impl SymbolCoder for Decoder<'_> {
    #[inline(always)]
    fn symbol(&mut self, bucket: Bucket, _: i32) -> i32 {
        self.decode(bucket)
    }
    fn raw_u32(&mut self, _: u32) -> u32 {
        self.raw_bits(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_third_octaves() {
        assert_eq!(Bucket::from_sigma(0), Bucket { table: 0, low: 0 });
        for sigma in 4..1_000_000u32 {
            let b = Bucket::from_sigma(sigma);
            let exact = 3.0 * (f64::from(sigma) / 256.0).log2() + 18.0;
            let got = f64::from(b.table) + 3.0 * f64::from(b.low);
            assert!(got <= exact + 1e-4 && exact < got + 1.0 + 1e-4, "{sigma} {b:?}");
        }
    }

    #[test]
    fn costs_are_those_of_the_tables() {
        for (b, row) in FREQUENCIES.iter().enumerate() {
            for (s, &f) in row.iter().enumerate() {
                let want = -(f64::from(f) / 4096.0).log2() * 256.0;
                assert!((f64::from(COSTS[b][s]) - want).abs() < 2.0);
            }
        }
    }

    #[test]
    fn starts_come_back() {
        for code in 0..32 {
            assert_eq!(start_code(f64::from(start_mean(code)) / 256.0), code);
        }
    }

    #[test]
    fn golden() {
        let mut encoder = Encoder::default();
        for k in [0, 1, -1, 5, -20, 1000, 0] {
            encoder.push(Bucket::from_sigma(300), k);
        }
        encoder.push_raw_bits(0x1234_5678, 32);
        let mut bytes = Vec::new();
        encoder.finish(&mut bytes);
        let mut decoder = Decoder::new(&bytes);
        for k in [0, 1, -1, 5, -20, 1000, 0] {
            assert_eq!(decoder.decode(Bucket::from_sigma(300)), k);
        }
        assert_eq!(decoder.raw_bits(32), 0x1234_5678);
        decoder.finish().unwrap();
        let mut nothing = Vec::new();
        Encoder::default().finish(&mut nothing);
        assert_eq!(nothing, []);
        Decoder::new(&nothing).finish().unwrap();
    }

    proptest! {
        #[test]
        fn round_trip(values in prop::collection::vec((any::<i32>(), 0u32..30, 0u32..1 << 20), 0..300)) {
            let values: Vec<(i32, Bucket)> = values
                .iter()
                .map(|&(k, shift, sigma)| ((k >> shift).clamp(-0x0FFF_FFFF, 0x0FFF_FFFF), Bucket::from_sigma(sigma)))
                .collect();
            let mut encoder = Encoder::default();
            for &(k, bucket) in &values {
                encoder.push(bucket, k);
            }
            let mut bytes = Vec::new();
            encoder.finish(&mut bytes);
            let mut decoder = Decoder::new(&bytes);
            for &(k, bucket) in &values {
                prop_assert_eq!(decoder.decode(bucket), k);
            }
            prop_assert!(decoder.finish().is_ok());
            if !bytes.is_empty() {
                bytes.push(0);
                let mut decoder = Decoder::new(&bytes);
                for &(_, bucket) in &values {
                    decoder.decode(bucket);
                }
                prop_assert!(decoder.finish().is_err());
            }
        }
    }
}
