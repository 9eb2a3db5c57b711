//! Symbols of four bits with adaptive tables, in one state. Lossless.
//!
//! Made for masks: which of four parts are nonzero, which of the four parts of these, and so on. One symbol
//! codes four bits at once, and takes no longer to decode than a single bit.
//!
//! ```text
//! bytes      u32 state x, then u16 words; words beyond the end are zero
//! table      start s[i] of each symbol, s[0] = 0, in 1/32768; S[i] = s[i] >> 3, S[16] = 4096
//! symbol     slot = x & 4095     i = the last one with S[i] <= slot     x = (S[i + 1] − S[i])·(x >> 12) + slot − S[i]
//!            then each s[k], k > 0: s[k] += (goal − s[k]) >> 6, goal = 8·k for k <= i, else 32768 − 8·(16 − k), arithmetic shift
//! plain n    the low n bits of x, at most 16; x >>= n
//! after both, if x < 2^16:  x = x << 16 | next word
//! weights    a table begins as s[k] = 8·k + (32640 · sum of weights before k) div (sum of all weights)
//! end        x = 2^16, and there are no more words
//! ```
//!
//! Credit: J. Duda, "Asymmetric numeral systems", 2013; tables of sixteen that adapt by a shift as in F.
//! Giesen's and C. Bloom's descriptions of nibble models, 2015.

use crate::Corrupt;

/// The number of symbols in a table.
pub const SYMBOLS: usize = 16;

/// The denominator of the starts in a table.
const TOTAL: i32 = 1 << 15;
/// The smallest share of a symbol.
const MIN_FREQUENCY: i32 = 8;
/// The number of bits of a slot.
const PRECISION: u32 = 12;
/// The log2 of the ratio of the resolution of starts to that of slots.
const START_FRACTION_BITS: u32 = 3;
/// The shift that sets the rate of adaptation.
const RATE: u32 = 6;
/// The smallest state, with which the encoder begins.
const MIN_STATE: u32 = 1 << 16;

/// The adaptive probabilities of the symbols.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(32))]
pub struct NibbleTable {
    starts: [i16; SYMBOLS],
}

/// The goals of the starts, by the symbol that was coded.
static GOALS: [[i16; SYMBOLS]; SYMBOLS] = goals();

const fn goals() -> [[i16; SYMBOLS]; SYMBOLS] {
    let mut out = [[0; SYMBOLS]; SYMBOLS];
    let mut seen = 0;
    while seen < SYMBOLS {
        let mut k = 1;
        while k < SYMBOLS {
            let after = TOTAL - MIN_FREQUENCY * (SYMBOLS - k) as i32;
            out[seen][k] = if k <= seen { MIN_FREQUENCY * k as i32 } else { after } as i16;
            k += 1;
        }
        seen += 1;
    }
    out
}

impl Default for NibbleTable {
    fn default() -> NibbleTable {
        NibbleTable::new([1; SYMBOLS])
    }
}

impl NibbleTable {
    /// A placeholder.
    pub const EMPTY: NibbleTable = NibbleTable { starts: GOALS[SYMBOLS - 1] };

    /// Returns a table with probabilities in proportion to `weights`, each below 2^32.
    pub fn new(weights: [u64; SYMBOLS]) -> NibbleTable {
        let all = weights.iter().sum::<u64>().max(1);
        let rest = (TOTAL - MIN_FREQUENCY * SYMBOLS as i32) as u64;
        let (mut starts, mut sum) = ([0; SYMBOLS], 0);
        for (k, (start, weight)) in starts.iter_mut().zip(weights).enumerate() {
            *start = (MIN_FREQUENCY as u64 * k as u64 + sum * rest / all) as i16;
            sum += weight;
        }
        NibbleTable { starts }
    }

    /// Returns the first slot of a symbol, and the number of its slots: at least one.
    #[inline(always)]
    fn range(&self, symbol: usize) -> (u32, u32) {
        let start = self.starts[symbol] as u32 >> START_FRACTION_BITS;
        let end =
            self.starts.get(symbol + 1).map_or(1 << PRECISION, |end| *end as u32 >> START_FRACTION_BITS);
        (start, end - start)
    }

    #[inline(always)]
    fn symbol(&self, slot: u32) -> usize {
        let last = (slot << START_FRACTION_BITS | ((1 << START_FRACTION_BITS) - 1)) as i16;
        let passed = self.starts.iter().map(|start| i16::from(*start <= last)).sum::<i16>();
        // The first start is zero.
        passed as usize - 1
    }

    /// Adapts the table. Shares never fall below the smallest: two adjacent starts that move together keep
    /// their distance, or lose at most a fraction of the excess over the smallest share.
    #[inline(always)]
    fn follow(&mut self, symbol: usize) {
        for (start, goal) in self.starts.iter_mut().zip(&GOALS[symbol]) {
            *start += (goal - *start) >> RATE;
        }
    }
}

/// Codes symbols in either direction: a model is written once and runs as encoder, decoder, or counter.
pub trait NibbleCoder {
    /// The statistics of one kind of symbols: a [`NibbleTable`], or counts.
    type Table: Copy;

    /// `true` if symbols are known before they are coded: in all but a decoder.
    const KNOWN: bool = true;

    /// Codes a symbol (which a decoder ignores) and returns it.
    fn symbol(&mut self, table: &mut Self::Table, symbol: usize) -> usize;

    /// Codes the low `count` bits of `value`, at most 16, at one bit each.
    fn raw_bits(&mut self, count: u32, value: u32) -> u32;
}

/// Counts symbols.
#[cfg(feature = "encode")]
pub struct Counter;

#[cfg(feature = "encode")]
impl NibbleCoder for Counter {
    type Table = [u32; SYMBOLS];

    fn symbol(&mut self, table: &mut Self::Table, symbol: usize) -> usize {
        table[symbol] += 1;
        symbol
    }

    fn raw_bits(&mut self, _: u32, value: u32) -> u32 {
        value
    }
}

/// Encodes symbols: collects them, and codes them from the last to the first.
#[cfg(feature = "encode")]
#[derive(Debug, Default)]
pub struct Encoder {
    steps: Vec<Step>,
}

#[cfg(feature = "encode")]
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The first slot and the number of slots.
    Symbol(u32, u32),
    Plain(u32, u32),
}

#[cfg(feature = "encode")]
impl NibbleCoder for Encoder {
    type Table = NibbleTable;

    fn symbol(&mut self, table: &mut NibbleTable, symbol: usize) -> usize {
        let (start, slots) = table.range(symbol);
        self.steps.push(Step::Symbol(start, slots));
        table.follow(symbol);
        symbol
    }

    fn raw_bits(&mut self, count: u32, value: u32) -> u32 {
        self.steps.push(Step::Plain(count, value & ((1 << count) - 1)));
        value
    }
}

#[cfg(feature = "encode")]
impl Encoder {
    /// Appends the bytes.
    pub fn finish(self, out: &mut Vec<u8>) {
        let (mut x, mut words) = (MIN_STATE, Vec::new());
        for step in self.steps.iter().rev() {
            let most = match step {
                Step::Symbol(_, slots) => u64::from(*slots) << (32 - PRECISION),
                Step::Plain(count, _) => 1 << (32 - count),
            };
            if u64::from(x) >= most {
                words.push(x as u16);
                x >>= 16;
            }
            x = match step {
                Step::Symbol(start, slots) => ((x / slots) << PRECISION) + x % slots + start,
                Step::Plain(count, value) => x << count | value,
            };
        }
        out.extend(x.to_le_bytes());
        out.extend(words.iter().rev().flat_map(|word| word.to_le_bytes()));
    }
}

/// Decodes symbols.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    state: u32,
    words: &'a [[u8; 2]],
    /// The number of words taken; greater than the number of words if these did not suffice.
    taken: usize,
}

impl<'a> Decoder<'a> {
    /// Starts at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Result<Decoder<'a>, Corrupt> {
        let (state, words) = bytes.split_first_chunk().ok_or(Corrupt("symbols: no state"))?;
        match words.as_chunks() {
            (words, []) => Ok(Decoder { state: u32::from_le_bytes(*state), words, taken: 0 }),
            _ => Err(Corrupt("symbols: half a word")),
        }
    }

    #[inline(always)]
    fn refill(&mut self, x: u32) {
        self.state = x;
        if x < MIN_STATE {
            let word = self.words.get(self.taken).map_or(0, |word| u16::from_le_bytes(*word));
            self.state = x << 16 | u32::from(word);
            self.taken += 1;
        }
    }

    /// Refuses bytes that were not used, or did not suffice.
    pub fn finish(self) -> Result<(), Corrupt> {
        match (self.state, self.taken == self.words.len()) {
            (MIN_STATE, true) => Ok(()),
            _ => Err(Corrupt("symbols: they do not end where the bytes do")),
        }
    }
}

impl NibbleCoder for Decoder<'_> {
    type Table = NibbleTable;
    const KNOWN: bool = false;

    #[inline(always)]
    fn symbol(&mut self, table: &mut NibbleTable, _: usize) -> usize {
        let x = self.state;
        let slot = x & ((1 << PRECISION) - 1);
        let symbol = table.symbol(slot);
        let (start, slots) = table.range(symbol);
        self.refill(slots * (x >> PRECISION) + slot - start);
        table.follow(symbol);
        symbol
    }

    #[inline(always)]
    fn raw_bits(&mut self, count: u32, _: u32) -> u32 {
        let x = self.state;
        self.refill(x >> count);
        x & ((1 << count) - 1)
    }
}

#[cfg(all(test, feature = "encode"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Item = (bool, usize, u32);

    fn code<S: NibbleCoder>(symbols: &mut S, tables: &mut [S::Table; 3], items: &[Item]) -> Vec<u32> {
        let each = |&(plain, symbol, value): &Item| match plain {
            true => symbols.raw_bits(symbol as u32 + 1, value & ((2 << symbol) - 1)),
            false => symbols.symbol(&mut tables[value as usize % 3], symbol) as u32,
        };
        items.iter().map(each).collect()
    }

    fn tables() -> [NibbleTable; 3] {
        let steep = std::array::from_fn(|k| 1 << (2 * k));
        [NibbleTable::default(), NibbleTable::new(steep), NibbleTable::new([0; SYMBOLS])]
    }

    fn encode(items: &[Item]) -> Vec<u8> {
        let (mut out, mut encoder) = (Vec::new(), Encoder::default());
        code(&mut encoder, &mut tables(), items);
        encoder.finish(&mut out);
        out
    }

    #[test]
    fn golden() {
        assert_eq!(encode(&[]), [0, 0, 1, 0]);
        let items: Vec<Item> = (0..12).map(|i| (i % 4 == 3, i * i % 7, i as u32)).collect();
        assert_eq!(encode(&items), [1, 0, 32, 128, 4, 176, 24, 128, 82, 81, 183, 52]);
    }

    #[test]
    fn what_is_mostly_the_same_takes_little() {
        let items: Vec<Item> = (0..10_000).map(|i| (false, usize::from(i % 100 == 99), 0)).collect();
        let bytes = encode(&items).len();
        // The entropy is 101 bytes.
        assert!(bytes < 150, "{bytes}");
    }

    proptest! {
        #[test]
        fn symbols_come_back(items in prop::collection::vec((any::<bool>(), 0usize..16, any::<u32>()), 0..400)) {
            let bytes = encode(&items);
            let mut decoder = Decoder::new(&bytes).unwrap();
            let found = code(&mut decoder, &mut tables(), &items);
            prop_assert!(decoder.finish().is_ok());
            for ((plain, symbol, value), found) in items.into_iter().zip(found) {
                let wanted = if plain { value & ((2 << symbol) - 1) } else { symbol as u32 };
                prop_assert_eq!(found, wanted);
            }
        }

        #[test]
        fn every_symbol_keeps_a_slot(
            weights in prop::array::uniform16(0u64..1 << 32),
            seen in prop::collection::vec((0usize..16, 1usize..400), 0..30),
        ) {
            let mut table = NibbleTable::new(weights);
            for (symbol, times) in seen {
                for _ in 0..times {
                    table.follow(symbol);
                }
                let mut next = 0;
                for symbol in 0..SYMBOLS {
                    let (start, slots) = table.range(symbol);
                    prop_assert!(start == next && slots > 0);
                    prop_assert_eq!((table.symbol(start), table.symbol(start + slots - 1)), (symbol, symbol));
                    next = start + slots;
                }
                prop_assert_eq!(next, 1 << PRECISION);
            }
        }

        #[test]
        fn any_bytes_are_read(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            items in prop::collection::vec((any::<bool>(), 0usize..16, any::<u32>()), 0..100),
        ) {
            if let Ok(mut decoder) = Decoder::new(&bytes) {
                code(&mut decoder, &mut tables(), &items);
                let _ = decoder.finish();
            }
        }
    }
}
