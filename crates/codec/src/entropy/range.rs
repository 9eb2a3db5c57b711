//! Adaptive binary range coder: for data that is nearly all zeros and too small per access unit for tables,
//! and for the tables themselves. Lossless.
//!
//! A bit costs what its context's probability implies; the contexts start from probabilities stored in the
//! mesh's header, and adapt. A run of likely zeros is free: trailing zero bytes are not written, so an access
//! unit in which every bit is the likely one is an empty string.
//!
//! ```text
//! state      low = 0, range = 2³² − 1; the decoder holds code = first four bytes, big-endian (missing bytes are zero)
//! bit        bound = (range >> 15) · chance            chance of a zero in 1/32768, 1 … 32767
//!            0: range = bound      1: low += bound, range −= bound       (decoder: 0 if code < bound, else code −= bound)
//!            while range < 2²⁴: shift out the top byte of low, with carry; range <<= 8
//! chance     (fast + slow) / 2, each in 1/65536; after a bit  fast += (goal − fast) >> 4,  slow += (goal − slow) >> 7,
//!            goal = 65535 for a zero, 0 for a one, arithmetic shift
//! end        low is raised within the range to the number with most trailing zeros; trailing zero bytes are dropped
//! ```
//!
//! Credit: G. Martin, *Range encoding*, 1979; the carry as in I. Pavlov's LZMA; two speeds of adaptation as
//! in M. Mahoney's *paq* mixers, reduced to a mean.

use crate::Corrupt;

/// The start of a context without prior knowledge, in 1/65536.
pub const EVEN_CHANCE: u16 = 1 << 15;

/// The probability of a zero: divides a range, and adapts to coded bits.
pub trait Probability: Copy + Default {
    /// Returns the part of `range` for a zero: neither 0 nor all of it.
    fn bound(self, range: u32) -> u32;
    /// Adapts to a coded bit.
    fn update(&mut self, bit: bool);
}

/// The adaptive probability of a zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    fast: u16,
    slow: u16,
}

impl Chance {
    /// Returns a probability of `zero` / 65536.
    pub const fn new(zero: u16) -> Chance {
        Chance { fast: zero, slow: zero }
    }

    /// Returns the probability of a zero in 1/32768, 1 … 32767.
    #[inline]
    fn zero(self) -> u32 {
        ((u32::from(self.fast) + u32::from(self.slow)) >> 2).clamp(1, 32767)
    }

    /// Returns the probability of a zero, in 1/65536.
    pub fn mean(self) -> u16 {
        ((u32::from(self.fast) + u32::from(self.slow)) >> 1) as u16
    }

    /// Returns the bits that `bit` costs at the current probability.
    #[cfg(feature = "encode")]
    pub fn cost(self, bit: bool) -> f64 {
        let zero = f64::from(self.zero()) / 32768.0;
        -(if bit { 1.0 - zero } else { zero }).log2()
    }
}

impl Probability for Chance {
    #[inline]
    fn bound(self, range: u32) -> u32 {
        (range >> 15) * self.zero()
    }

    #[inline]
    fn update(&mut self, bit: bool) {
        let goal = if bit { 0 } else { 65535 };
        let step = |at: u16, shift: u32| {
            let at = i32::from(at);
            (at + ((goal - at) >> shift)) as u16
        };
        (self.fast, self.slow) = (step(self.fast, 4), step(self.slow, 7));
    }
}

/// A probability for the few bits of something that is stored once: it moves half the way towards the first
/// bit that it codes, then a third, and so on to a sixteenth. In 1/65536.
#[derive(Debug, Clone, Copy)]
pub struct SettlingChance {
    zero: u16,
    /// The number of bits that were coded, at most 6.
    used: u8,
}

/// The reciprocal of the fraction of the way that it moves, by the number of coded bits.
const SETTLING_DIVISORS: [i32; 7] = [2, 3, 4, 6, 8, 11, 16];

impl Default for SettlingChance {
    fn default() -> Self {
        SettlingChance { zero: EVEN_CHANCE, used: 0 }
    }
}

impl Probability for SettlingChance {
    fn bound(self, range: u32) -> u32 {
        (range >> 16) * u32::from(self.zero)
    }

    fn update(&mut self, bit: bool) {
        let goal = if bit { 1 << 5 } else { (1 << 16) - (1 << 5) };
        let step = (goal - i32::from(self.zero)) / SETTLING_DIVISORS[usize::from(self.used)];
        self.zero = (i32::from(self.zero) + step) as u16;
        self.used = (self.used + 1).min(6);
    }
}

/// Codes bits in either direction: a model is written once and runs as encoder, decoder, or counter.
pub trait BitCoder {
    /// The statistics of a bit: a [`Chance`], or the counts of 0 and 1.
    type Context: Copy + Default;

    /// `true` if bits are known before they are coded: in all but a decoder.
    const KNOWN: bool = true;

    /// Codes `bit` (which a decoder ignores) and returns it.
    fn bit(&mut self, context: &mut Self::Context, bit: bool) -> bool;

    /// Returns `true` if only zeros follow, as far as a decoder can tell without decoding them.
    fn only_zeros(&self) -> bool {
        false
    }

    /// Codes the low `count` bits of `value`, lowest first, at one bit each.
    fn raw_bits(&mut self, count: u32, value: u32) -> u32 {
        (0..count).fold(0, |all, k| {
            let bit = self.bit(&mut Self::Context::default(), value >> k & 1 != 0);
            all | u32::from(bit) << k
        })
    }
}

/// Counts bits; the contexts are the counts of zeros and ones.
#[cfg(feature = "encode")]
pub struct Counter;

#[cfg(feature = "encode")]
impl BitCoder for Counter {
    type Context = [u32; 2];

    fn bit(&mut self, context: &mut [u32; 2], bit: bool) -> bool {
        context[usize::from(bit)] += 1;
        bit
    }
}

impl Default for Chance {
    fn default() -> Self {
        Chance::new(EVEN_CHANCE)
    }
}

/// Encodes bits.
#[cfg(feature = "encode")]
pub struct Encoder<'a> {
    low: u64,
    range: u32,
    /// The last byte that a carry can still change, if any, and the number of bytes of 255 that follow it.
    pending: Option<u8>,
    full: usize,
    out: &'a mut Vec<u8>,
    /// The length of `out` at the start.
    start: usize,
}

#[cfg(feature = "encode")]
impl<'a> Encoder<'a> {
    /// Starts appending to `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Encoder { low: 0, range: u32::MAX, pending: None, full: 0, start: out.len(), out }
    }

    fn shift(&mut self) {
        let top = (self.low >> 24) as u8;
        let carry = self.low >> 32 != 0;
        if top != 0xFF || carry {
            if let Some(last) = self.pending {
                self.out.push(last.wrapping_add(u8::from(carry)));
            }
            let filler = if carry { 0 } else { 0xFF };
            self.out.extend(std::iter::repeat_n(filler, self.full));
            (self.pending, self.full) = (Some(top), 0);
        } else {
            self.full += 1;
        }
        self.low = (self.low & 0xFF_FFFF) << 8;
    }

    /// Codes a bit.
    #[inline]
    pub fn encode(&mut self, chance: &mut impl Probability, bit: bool) {
        let bound = chance.bound(self.range);
        if bit {
            self.low += u64::from(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
        chance.update(bit);
        while self.range < 1 << 24 {
            self.range <<= 8;
            self.shift();
        }
    }

    /// Writes the rest of the state, in as few bytes as possible.
    pub fn finish(mut self) {
        let end = self.low + u64::from(self.range);
        for zeros in (0..=32).rev() {
            let unit = 1u64 << zeros;
            let value = self.low.div_ceil(unit) * unit;
            if value < end {
                self.low = value;
                break;
            }
        }
        self.finish_low();
    }

    /// Writes the rest of the state unchanged.
    pub fn finish_low(mut self) {
        for _ in 0..5 {
            self.shift();
        }
        // The pending byte is zero by now, as are all missing bytes.
        let zeros = self.out[self.start..].iter().rev().take_while(|b| **b == 0).count();
        self.out.truncate(self.out.len() - zeros);
    }
}

#[cfg(feature = "encode")]
impl BitCoder for Encoder<'_> {
    type Context = Chance;

    #[inline]
    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool {
        self.encode(chance, bit);
        bit
    }
}

/// Decodes bits; past the end of the bytes it reads zeros.
pub struct Decoder<'a> {
    code: u32,
    range: u32,
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// Starts at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Decoder { code: 0, range: u32::MAX, rest: bytes };
        for _ in 0..4 {
            decoder.shift();
        }
        decoder
    }

    #[inline]
    fn shift(&mut self) {
        let byte = match self.rest.split_first() {
            Some((byte, rest)) => {
                self.rest = rest;
                *byte
            }
            None => 0,
        };
        self.code = self.code << 8 | u32::from(byte);
    }

    /// Decodes the next bit.
    #[inline]
    pub fn decode(&mut self, chance: &mut impl Probability) -> bool {
        let bound = chance.bound(self.range);
        let bit = self.code >= bound;
        if bit {
            self.code -= bound;
            self.range -= bound;
        } else {
            self.range = bound;
        }
        chance.update(bit);
        while self.range < 1 << 24 {
            self.range <<= 8;
            self.shift();
        }
        bit
    }

    /// Returns `true` if all bytes were used.
    pub fn finished(&self) -> bool {
        self.rest.is_empty()
    }

    /// Refuses bytes that were not used.
    pub fn finish(self) -> Result<(), Corrupt> {
        match self.rest {
            [] => Ok(()),
            _ => Err(Corrupt("bytes behind the end of a unit")),
        }
    }
}

impl BitCoder for Decoder<'_> {
    type Context = Chance;
    const KNOWN: bool = false;

    fn only_zeros(&self) -> bool {
        // Any bound is larger than this code, and the code does not change.
        self.code == 0 && self.rest.is_empty()
    }

    #[inline]
    fn raw_bits(&mut self, count: u32, _: u32) -> u32 {
        // Ones are as likely as zeros, so a branch would be unpredictable.
        (0..count).fold(0, |all, k| {
            let bound = (self.range >> 15) << 14;
            let bit = u32::from(self.code >= bound);
            let mask = bit.wrapping_neg();
            self.code -= bound & mask;
            self.range = bound + ((self.range - 2 * bound) & mask);
            while self.range < 1 << 24 {
                self.range <<= 8;
                self.shift();
            }
            all | bit << k
        })
    }

    #[inline]
    fn bit(&mut self, chance: &mut Chance, _: bool) -> bool {
        self.decode(chance)
    }
}

/// A whole number, coded by its number of bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumberModel([Chance; 32]);

impl NumberModel {
    pub fn code<B: BitCoder<Context = Chance>>(&mut self, bits: &mut B, value: u32) -> u32 {
        let value = value.min(u32::MAX - 1) + 1;
        let mut length = 0;
        while length < 31 && bits.bit(&mut self.0[length as usize], length < value.ilog2()) {
            length += 1;
        }
        let rest = bits.raw_bits(length, value & ((1 << length) - 1));
        (1 << length | rest) - 1
    }

    pub fn signed<B: BitCoder<Context = Chance>>(&mut self, bits: &mut B, value: i32) -> i32 {
        let n = self.code(bits, ((value << 1) ^ (value >> 31)) as u32);
        (n >> 1) as i32 ^ -((n & 1) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(bits: &[(bool, u8)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut chances = [Chance::default(); 8];
        let mut encoder = Encoder::new(&mut bytes);
        for &(bit, context) in bits {
            encoder.bit(&mut chances[usize::from(context) % 8], bit);
        }
        encoder.finish();
        bytes
    }

    fn decode(bytes: &[u8], bits: &[(bool, u8)]) -> bool {
        let mut chances = [Chance::default(); 8];
        let mut decoder = Decoder::new(bytes);
        let equal = bits.iter().all(|&(bit, c)| {
            let zeros = decoder.only_zeros();
            let found = decoder.bit(&mut chances[usize::from(c) % 8], false);
            found == bit && !(zeros && found)
        });
        equal && decoder.finish().is_ok()
    }

    #[test]
    fn golden() {
        assert_eq!(encode(&[]), []);
        assert_eq!(encode(&[(false, 0); 5000]), []);
        let bits: Vec<_> = (0..40u8).map(|i| (i.wrapping_mul(i) % 7 == 2, i % 2)).collect();
        assert_eq!(encode(&bits), [25, 230, 49, 117, 80]);
    }

    #[test]
    fn seldom_ones_cost_little() {
        let bits: Vec<_> = (0..100_000).map(|i| (i % 500 == 499, 0)).collect();
        let bytes = encode(&bits);
        assert!(decode(&bytes, &bits));
        // The entropy is 260 bytes.
        assert!(bytes.len() < 330, "{}", bytes.len());
    }

    #[test]
    fn carries_reach_far() {
        // Likely ones push low to the top of its range.
        let bits: Vec<_> = (0..20_000).map(|i| (i % 301 != 0, 0)).collect();
        assert!(decode(&encode(&bits), &bits));
    }

    #[test]
    fn appending_leaves_what_was_there() {
        let mut bytes = vec![0, 0];
        Encoder::new(&mut bytes).finish();
        assert_eq!(bytes, [0, 0]);
    }

    proptest! {
        #[test]
        fn bits_come_back(bits in prop::collection::vec((any::<bool>(), any::<u8>()), 0..600)) {
            let bytes = encode(&bits);
            prop_assert!(decode(&bytes, &bits));
            prop_assert!(bytes.last() != Some(&0));
        }

        #[test]
        fn settling_chances_come_back(bits in prop::collection::vec((any::<bool>(), 0usize..8), 0..600)) {
            for low in [false, true] {
                let mut bytes = Vec::new();
                let mut encoder = Encoder::new(&mut bytes);
                let mut chances = [SettlingChance::default(); 8];
                for &(bit, context) in &bits {
                    encoder.encode(&mut chances[context], bit);
                }
                if low { encoder.finish_low() } else { encoder.finish() }
                let mut decoder = Decoder::new(&bytes);
                let mut chances = [SettlingChance::default(); 8];
                for &(bit, context) in &bits {
                    prop_assert_eq!(decoder.decode(&mut chances[context]), bit);
                }
                prop_assert!(decoder.finished());
            }
        }

        #[test]
        fn plain_numbers_come_back(numbers in prop::collection::vec((0u32..17, any::<u32>()), 0..100)) {
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(&mut bytes);
            for (count, value) in &numbers {
                encoder.raw_bits(*count, *value);
            }
            encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            for (count, value) in numbers {
                prop_assert_eq!(decoder.raw_bits(count, 0), value & ((1 << count) - 1));
            }
            prop_assert!(decoder.finish().is_ok());
        }
    }
}
