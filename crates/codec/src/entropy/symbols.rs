//! Residuals k as range-coded symbols with static tables, chosen by σ, the expected |k|. Lossless.
//!
//! ```text
//! bucket   thirds of octaves of σ: 24 of them below σ = 4, where h = 0; above that h = 1 + ⌊log₂(σ/4)⌋, at most 15, and the table is one of the last three
//! symbol   min(|k| >> h, 15) by the table of the bucket
//! rest     symbol 15 is followed by (|k| >> h) − 15 as Exp-Golomb of order 2; then, together, the h low bits of |k| and above them the sign if k ≠ 0
//! coder    rANS, 32 bits of state, 12-bit frequencies, words of 16 bits; raw bits are taken from the state's low end. One state for each lane;
//!          the states come first, then the words of all lanes as the decoder needs them
//! ```
//!
//! The tables are those of Laplace's distribution whose mean is known to 35 %: neither trained nor adapted,
//! so short clips have no extra cost.
//!
//! Credit: J. Duda, *Asymmetric numeral systems*, 2013.

use crate::Corrupt;

/// The number of symbols in a table.
const SYMBOLS: usize = 16;
/// The number of tables.
const TABLES: usize = 24;
/// The number of bits of a frequency. Part of the format, like everything in this file.
const PRECISION: u32 = 12;
/// The largest number of raw bits that are taken from a state at once.
const MAX_RAW_BITS: u32 = 16;
/// The largest number of low bits: with a sign they are taken at once.
const MAX_LOW_BITS: u8 = 15;
/// The smallest state, with which the encoder begins.
const MIN_STATE: u32 = 1 << 16;

const FREQUENCIES: [[u16; SYMBOLS]; TABLES] = [
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

const STARTS: [[u16; SYMBOLS]; TABLES] = {
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

/// The symbols of four slots, four bits each, for all tables: one load and no branch.
static SYMBOL_OF: [[u16; 1 << (PRECISION - 2)]; TABLES] = {
    let mut out = [[0; 1 << (PRECISION - 2)]; TABLES];
    let mut table = 0;
    while table < TABLES {
        let (mut symbol, mut slot) = (0, 0);
        while slot < 1 << PRECISION {
            while symbol + 1 < SYMBOLS && STARTS[table][symbol + 1] as usize <= slot {
                symbol += 1;
            }
            out[table][slot >> 2] |= (symbol as u16) << (4 * (slot & 3));
            slot += 1;
        }
        table += 1;
    }
    out
};

/// The start and frequency of each symbol.
static SPANS: [[(u16, u16); SYMBOLS]; TABLES] = {
    let mut out = [[(0, 0); SYMBOLS]; TABLES];
    let mut table = 0;
    while table < TABLES {
        let mut symbol = 0;
        while symbol < SYMBOLS {
            out[table][symbol] = (STARTS[table][symbol], FREQUENCIES[table][symbol]);
            symbol += 1;
        }
        table += 1;
    }
    out
};

/// The table for a symbol, and its number of low bits of even probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    pub(crate) table: u8,
    pub(crate) low: u8,
}

impl Bucket {
    /// Returns the bucket for σ in 2⁻⁸.
    #[inline]
    pub fn from_sigma(sigma: u32) -> Bucket {
        // At least 2⁻⁶, so that bucket 0 is the smallest.
        let s = sigma.max(4);
        let exponent = 31 - s.leading_zeros();
        let mantissa = (u64::from(s) << 16 >> exponent) as u32;
        // 2^(1/3) and 2^(2/3).
        let third = u32::from(mantissa >= 82570) + u32::from(mantissa >= 104_032);
        // Looked up, because a branch on the presence of low bits would be unpredictable.
        BUCKETS[(3 * (exponent - 2) + third) as usize % BUCKETS.len()]
    }

    /// Returns the cost of `k` in 2⁻⁸ bits, for the encoder's choices.
    #[cfg(feature = "encode")]
    pub fn cost(self, k: i32) -> u32 {
        let number = Number::new(self, k);
        let escape = match number.symbol == SYMBOLS - 1 {
            true => 2 * (31 - (number.above + 4).leading_zeros()) - 1,
            false => 0,
        };
        u32::from(COSTS[usize::from(self.table)][number.symbol]) + 256 * (number.bits + escape)
    }
}

/// A residual as it is coded: its symbol, the part of |k| above that symbol, and its raw bits with their
/// count.
#[cfg(feature = "encode")]
struct Number {
    symbol: usize,
    above: u32,
    raw: u32,
    bits: u32,
}

#[cfg(feature = "encode")]
impl Number {
    fn new(bucket: Bucket, k: i32) -> Number {
        let low = u32::from(bucket.low);
        let high = k.unsigned_abs() >> low;
        let symbol = (high as usize).min(SYMBOLS - 1);
        let raw = k.unsigned_abs() & ((1 << low) - 1) | u32::from(k < 0) << low;
        Number { symbol, above: high - symbol as u32, raw, bits: low + u32::from(k != 0) }
    }
}

/// The buckets, by third octaves from 2⁻⁶ on.
static BUCKETS: [Bucket; 128] = {
    let mut out = [Bucket { table: 0, low: 0 }; 128];
    let mut i = 0;
    while i < 128 {
        out[i] = match i {
            0..24 => Bucket { table: i as u8, low: 0 },
            24..66 => Bucket { table: 21 + (i % 3) as u8, low: ((i - 21) / 3) as u8 },
            _ => Bucket { table: 21 + (i % 3) as u8, low: MAX_LOW_BITS },
        };
        i += 1;
    }
    out
};

/// −log₂(f/4096) in 2⁻⁸, exact to one unit: only the encoder's choices depend on it.
#[cfg(feature = "encode")]
static COSTS: [[u16; SYMBOLS]; TABLES] = {
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

/// Collects symbols, which are encoded in reverse order. Those of a lane have a state of their own.
#[cfg(feature = "encode")]
pub struct Encoder<const LANES: usize = 1> {
    pushed: Vec<Pushed>,
}

/// What has been added to an [`Encoder`].
#[cfg(feature = "encode")]
struct Pushed {
    lane: u8,
    /// The number of bits of which the frequency is a part.
    bits: u8,
    start: u16,
    frequency: u16,
}

#[cfg(feature = "encode")]
impl Default for Encoder {
    fn default() -> Encoder {
        Encoder::with_lanes()
    }
}

#[cfg(feature = "encode")]
impl Encoder {
    /// Adds `k`.
    pub fn push(&mut self, bucket: Bucket, k: i32) {
        self.push_to(0, bucket, k);
    }

    /// Adds `bits` ≤ 32 bits of even probability.
    pub fn push_raw_bits(&mut self, value: u32, bits: u32) {
        self.push_raw_bits_to(0, value, bits);
    }
}

#[cfg(feature = "encode")]
impl<const LANES: usize> Encoder<LANES> {
    /// An encoder without symbols.
    pub fn with_lanes() -> Encoder<LANES> {
        Encoder { pushed: Vec::new() }
    }

    /// Adds `k` to a lane.
    pub fn push_to(&mut self, lane: usize, bucket: Bucket, k: i32) {
        self.push_symbol(lane, bucket, k);
        self.push_rest(lane, bucket, k);
    }

    /// Adds the symbol of `k` to a lane; [`Encoder::push_rest`] must follow, after at most other lanes.
    pub fn push_symbol(&mut self, lane: usize, bucket: Bucket, k: i32) {
        self.push_entry(lane, bucket.table, Number::new(bucket, k).symbol);
    }

    /// Adds the rest of `k` to a lane, after its symbol.
    pub fn push_rest(&mut self, lane: usize, bucket: Bucket, k: i32) {
        let number = Number::new(bucket, k);
        if number.symbol == SYMBOLS - 1 {
            // Exp-Golomb of order 2.
            let v = number.above + 4;
            let bits = 31 - v.leading_zeros();
            for _ in 2..bits {
                self.push_raw_bits_to(lane, 1, 1);
            }
            self.push_raw_bits_to(lane, 0, 1);
            self.push_raw_bits_to(lane, v & ((1 << bits) - 1), bits);
        }
        self.push_raw_bits_to(lane, number.raw, number.bits);
    }

    /// Adds a symbol of a table to a lane.
    pub(crate) fn push_entry(&mut self, lane: usize, table: u8, symbol: usize) {
        let (start, frequency) = SPANS[usize::from(table)][symbol];
        self.pushed.push(Pushed { lane: lane as u8, bits: PRECISION as u8, start, frequency });
    }

    /// Adds `bits` ≤ 32 bits of even probability to a lane.
    pub(crate) fn push_raw_bits_to(&mut self, lane: usize, value: u32, bits: u32) {
        if bits > MAX_RAW_BITS {
            self.push_raw_bits_to(lane, value & 0xFFFF, MAX_RAW_BITS);
            self.push_raw_bits_to(lane, value >> MAX_RAW_BITS, bits - MAX_RAW_BITS);
        } else if bits > 0 {
            self.pushed.push(Pushed {
                lane: lane as u8,
                bits: bits as u8,
                start: value as u16,
                frequency: 1,
            });
        }
    }

    /// Appends the bytes of all symbols.
    pub fn finish(self, out: &mut Vec<u8>) {
        // A segment without content is the most common case, and takes no bytes.
        if !self.pushed.is_empty() {
            out.extend(self.bytes(LANES));
        }
    }

    /// Returns the bytes with `count` states: lane `lane` has number `lane` modulo `count`.
    pub(crate) fn bytes(&self, count: usize) -> Vec<u8> {
        let (mut states, mut words) = ([MIN_STATE; LANES], Vec::new());
        for &Pushed { lane, bits, start, frequency } in self.pushed.iter().rev() {
            let state = &mut states[usize::from(lane) % count];
            let f = u32::from(frequency);
            if u64::from(*state) >= u64::from(f) << (32 - bits) {
                words.push(*state as u16);
                *state >>= 16;
            }
            *state = ((*state / f) << bits) + *state % f + u32::from(start);
        }
        let mut out: Vec<u8> = states[..count].iter().flat_map(|state| state.to_le_bytes()).collect();
        out.extend(words.iter().rev().flat_map(|word| word.to_le_bytes()));
        out
    }
}

/// A place between two symbols in the bytes of a [`Decoder`].
#[derive(Clone, Copy, Debug)]
pub struct DecoderPosition<const LANES: usize> {
    states: [u32; LANES],
    next: usize,
}

/// Decodes symbols in the order in which they were added. Words beyond the end read as zeros;
/// [`Decoder::finish`] detects that.
///
/// Symbols of different lanes can be decoded at the same time, because each lane has a state of its own.
#[derive(Clone, Copy)]
pub struct Decoder<'a, const LANES: usize = 1> {
    states: [u32; LANES],
    words: &'a [[u8; 2]],
    /// The number of the next word.
    next: usize,
    /// `true` if the bytes are whole states and words.
    whole: bool,
}

impl<'a> Decoder<'a> {
    /// Starts decoding the bytes of [`Encoder::finish`].
    pub fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder::with_lanes(bytes)
    }

    /// Decodes the next k.
    #[inline(always)]
    pub fn decode(&mut self, bucket: Bucket) -> i32 {
        let symbol = self.symbol(0, bucket.table);
        self.rest(0, symbol, bucket)
    }

    /// Decodes the next `bits` ≤ 32 bits of even probability.
    #[inline]
    pub fn raw_bits(&mut self, bits: u32) -> u32 {
        self.raw_bits_from(0, bits)
    }
}

impl<'a, const LANES: usize> Decoder<'a, LANES> {
    /// Starts decoding the bytes of an encoder with as many lanes.
    pub fn with_lanes(bytes: &'a [u8]) -> Decoder<'a, LANES> {
        Decoder::with_states(bytes, LANES)
    }

    /// Starts decoding bytes that have only the first `count` states.
    pub(crate) fn with_states(bytes: &'a [u8], count: usize) -> Decoder<'a, LANES> {
        let mut states = [MIN_STATE; LANES];
        let Some((first, rest)) = bytes.split_at_checked(4 * count) else {
            return Decoder { states, words: &[], next: 0, whole: bytes.is_empty() };
        };
        for (state, first) in states.iter_mut().zip(first.as_chunks().0) {
            *state = u32::from_le_bytes(*first);
        }
        let (words, odd) = rest.as_chunks();
        Decoder { states, words, next: 0, whole: odd.is_empty() }
    }

    /// Continues from a place that [`Decoder::position`] returned for the same bytes; `None` is their start.
    pub fn resume(bytes: &'a [u8], from: Option<DecoderPosition<LANES>>) -> Decoder<'a, LANES> {
        let start = Decoder::with_lanes(bytes);
        match from {
            Some(DecoderPosition { states, next }) => Decoder { states, next, ..start },
            None => start,
        }
    }

    /// Returns the place before the next symbol.
    pub fn position(&self) -> DecoderPosition<LANES> {
        DecoderPosition { states: self.states, next: self.next }
    }

    /// Sets a state, extended by a word if it is too small.
    #[inline(always)]
    fn set_state(&mut self, lane: usize, state: u32) {
        let word = match self.words.get(self.next) {
            Some(word) => u32::from(u16::from_le_bytes(*word)),
            None => 0,
        };
        // Whether a word is needed is unpredictable, so there is no branch.
        let due = state < MIN_STATE;
        let filled = state << 16 | word;
        self.states[lane] = if due { filled } else { state };
        self.next += usize::from(due);
    }

    /// Decodes the next symbol of a lane.
    #[inline(always)]
    pub(crate) fn symbol(&mut self, lane: usize, table: u8) -> u32 {
        let state = self.states[lane];
        let slot = state & ((1 << PRECISION) - 1);
        let table = usize::from(table) % TABLES;
        let four = SYMBOL_OF[table][(slot >> 2) as usize];
        let symbol = u32::from(four >> (4 * (slot & 3))) % SYMBOLS as u32;
        let (start, f) = SPANS[table][symbol as usize];
        let state = u32::from(f).wrapping_mul(state >> PRECISION).wrapping_add(slot - u32::from(start));
        self.set_state(lane, state);
        symbol
    }

    /// Decodes the rest of k after its symbol.
    #[inline(always)]
    pub(crate) fn rest(&mut self, lane: usize, symbol: u32, bucket: Bucket) -> i32 {
        let (mut n, low) = (symbol, u32::from(bucket.low));
        if symbol == SYMBOLS as u32 - 1 {
            // By value, so that states can stay in registers.
            (*self, n) = self.escape(lane);
        }
        n = (n << low | self.states[lane] & ((1 << low) - 1)) & 0x3FFF_FFFF;
        let raw = self.short_raw_bits(lane, low + u32::from(n != 0));
        let sign = ((raw >> low) as i32).wrapping_neg();
        (n as i32 ^ sign) - sign
    }

    /// Decodes what is above the low bits of |k|, for the last symbol.
    #[cold]
    fn escape(mut self, lane: usize) -> (Self, u32) {
        let mut bits = 2;
        while bits < 30 && self.raw_bits_from(lane, 1) != 0 {
            bits += 1;
        }
        let n = (1 << bits | self.raw_bits_from(lane, bits)).wrapping_add(SYMBOLS as u32 - 1 - 4);
        (self, n)
    }

    pub(crate) fn raw_bits_from(&mut self, lane: usize, bits: u32) -> u32 {
        if bits > MAX_RAW_BITS {
            let low = self.short_raw_bits(lane, MAX_RAW_BITS);
            return self.short_raw_bits(lane, bits - MAX_RAW_BITS) << MAX_RAW_BITS | low;
        }
        self.short_raw_bits(lane, bits)
    }

    /// Decodes at most [`MAX_RAW_BITS`] bits of even probability.
    #[inline(always)]
    fn short_raw_bits(&mut self, lane: usize, bits: u32) -> u32 {
        let state = self.states[lane];
        self.set_state(lane, state >> bits);
        state & ((1 << bits) - 1)
    }

    /// Refuses too few, too many or wrong bytes: all states must return to the encoder's first.
    pub fn finish(&self) -> Result<(), Corrupt> {
        if self.whole && self.states == [MIN_STATE; LANES] && self.next == self.words.len() {
            Ok(())
        } else {
            Err(Corrupt("residuals do not end where their bytes do"))
        }
    }
}

/// Codes residuals in either direction, some at once, each in its own lane.
pub trait SymbolCoder {
    /// Codes `k` in these lanes, and returns them; a decoder ignores `k`.
    fn code<const COUNT: usize>(
        &mut self,
        lanes: [usize; COUNT],
        buckets: [Bucket; COUNT],
        k: [i32; COUNT],
    ) -> [i32; COUNT];
}

#[cfg(feature = "encode")]
impl<const LANES: usize> SymbolCoder for Encoder<LANES> {
    fn code<const COUNT: usize>(
        &mut self,
        lanes: [usize; COUNT],
        buckets: [Bucket; COUNT],
        k: [i32; COUNT],
    ) -> [i32; COUNT] {
        for i in 0..COUNT {
            self.push_symbol(lanes[i], buckets[i], k[i]);
        }
        for i in 0..COUNT {
            self.push_rest(lanes[i], buckets[i], k[i]);
        }
        k
    }
}

impl<const LANES: usize> SymbolCoder for Decoder<'_, LANES> {
    #[inline(always)]
    fn code<const COUNT: usize>(
        &mut self,
        lanes: [usize; COUNT],
        buckets: [Bucket; COUNT],
        _: [i32; COUNT],
    ) -> [i32; COUNT] {
        let (mut symbols, mut k) = ([0; COUNT], [0; COUNT]);
        for i in 0..COUNT {
            symbols[i] = self.symbol(lanes[i], buckets[i].table);
        }
        for i in 0..COUNT {
            k[i] = self.rest(lanes[i], symbols[i], buckets[i]);
        }
        k
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
        fn round_trip(values in prop::collection::vec((any::<i32>(), 0u32..30, 0u32..1 << 20, any::<bool>()), 0..300)) {
            let values: Vec<(i32, Bucket, usize)> = values
                .iter()
                .map(|&(k, shift, sigma, lane)| {
                    ((k >> shift).clamp(-0x0FFF_FFFF, 0x0FFF_FFFF), Bucket::from_sigma(sigma), usize::from(lane))
                })
                .collect();
            let mut bytes = [Vec::new(), Vec::new()];
            let (mut one, mut two) = (Encoder::default(), Encoder::<2>::with_lanes());
            for &(k, bucket, lane) in &values {
                one.push(bucket, k);
                two.push_to(lane, bucket, k);
            }
            one.finish(&mut bytes[0]);
            two.finish(&mut bytes[1]);
            for longer in [false, true] {
                let (mut one, mut two) = (Decoder::new(&bytes[0]), Decoder::<2>::with_lanes(&bytes[1]));
                for &(k, bucket, lane) in &values {
                    prop_assert_eq!(one.decode(bucket), k);
                    let symbol = two.symbol(lane, bucket.table);
                    prop_assert_eq!(two.rest(lane, symbol, bucket), k);
                }
                prop_assert_eq!([one.finish().is_err(), two.finish().is_err()], [longer; 2]);
                bytes.iter_mut().for_each(|bytes| bytes.push(0));
            }
        }

        #[test]
        fn heads_that_are_cut_are_refused(bytes in prop::collection::vec(any::<u8>(), 1..4)) {
            prop_assert!(Decoder::new(&bytes).finish().is_err());
            prop_assert!(Decoder::<2>::with_lanes(&[&bytes[..], &[0; 4]].concat()).finish().is_err());
        }
    }
}
