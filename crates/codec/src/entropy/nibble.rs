//! Symbols of four bits with tables that follow what they see, in one state. Lossless.
//!
//! For masks: which of four, and which of the four parts of these, and so on. A symbol says of four at once what
//! bits say one by one, and takes no longer to read than one of them.
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
//! Credit: J. Duda, "Asymmetric numeral systems", 2013; tables of sixteen that follow by a shift as in
//! F. Giesen's and C. Bloom's descriptions of nibble models, 2015.

use crate::Corrupt;

/// Symbols of a table.
pub const SYMBOLS: usize = 16;

/// What the starts of a table are parts of.
const TOTAL: i32 = 1 << 15;
/// The least part that a symbol has.
const LEAST: i32 = 8;
/// Bits of a slot.
const PRECISION: u32 = 12;
/// Starts are in 2^this times as many parts as slots.
const FINER: u32 = 3;
/// How fast a table follows.
const RATE: u32 = 6;
/// The least state, with which the encoder begins.
const LOW: u32 = 1 << 16;

/// How likely symbols are.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(32))]
pub struct Table {
    starts: [i16; SYMBOLS],
}

/// Where starts go, by the symbol that was seen.
static GOALS: [[i16; SYMBOLS]; SYMBOLS] = goals();

const fn goals() -> [[i16; SYMBOLS]; SYMBOLS] {
    let mut out = [[0; SYMBOLS]; SYMBOLS];
    let mut seen = 0;
    while seen < SYMBOLS {
        let mut k = 1;
        while k < SYMBOLS {
            let after = TOTAL - LEAST * (SYMBOLS - k) as i32;
            out[seen][k] = if k <= seen { LEAST * k as i32 } else { after } as i16;
            k += 1;
        }
        seen += 1;
    }
    out
}

impl Default for Table {
    fn default() -> Table {
        Table::new([1; SYMBOLS])
    }
}

impl Table {
    /// Of no use but to be replaced.
    pub const EMPTY: Table = Table { starts: GOALS[SYMBOLS - 1] };

    /// The table that expects symbols in proportion to weights, each below 2^32.
    pub fn new(weights: [u64; SYMBOLS]) -> Table {
        let all = weights.iter().sum::<u64>().max(1);
        let rest = (TOTAL - LEAST * SYMBOLS as i32) as u64;
        let (mut starts, mut sum) = ([0; SYMBOLS], 0);
        for (k, (start, weight)) in starts.iter_mut().zip(weights).enumerate() {
            *start = (LEAST as u64 * k as u64 + sum * rest / all) as i16;
            sum += weight;
        }
        Table { starts }
    }

    /// First slot of a symbol, and how many it has: at least one.
    #[inline(always)]
    fn range(&self, symbol: usize) -> (u32, u32) {
        let start = self.starts[symbol] as u32 >> FINER;
        let end = self.starts.get(symbol + 1).map_or(1 << PRECISION, |end| *end as u32 >> FINER);
        (start, end - start)
    }

    #[inline(always)]
    fn symbol(&self, slot: u32) -> usize {
        let last = (slot << FINER | ((1 << FINER) - 1)) as i16;
        let passed = self.starts.iter().map(|start| i16::from(*start <= last)).sum::<i16>();
        // The first one starts at zero.
        passed as usize - 1
    }

    /// Parts stay at least the least: a step of two starts together leaves them as far apart as they are, or
    /// takes at most a part of what is above it.
    #[inline(always)]
    fn follow(&mut self, symbol: usize) {
        for (start, goal) in self.starts.iter_mut().zip(&GOALS[symbol]) {
            *start += (goal - *start) >> RATE;
        }
    }
}

/// Takes symbols, in either direction: a model is written once and runs as encoder, decoder, or count.
pub trait Symbols {
    /// What is known of a kind of symbols: a [`Table`], or how often there was which.
    type Table: Copy;

    /// Whether symbols are known before they are coded: in all but a decoder.
    const KNOWN: bool = true;

    /// Codes a symbol (which a decoder ignores) and returns it.
    fn symbol(&mut self, table: &mut Self::Table, symbol: usize) -> usize;

    /// The low `count` bits of `value`, at most 16, at one bit each.
    fn plain(&mut self, count: u32, value: u32) -> u32;
}

/// Counts symbols.
#[cfg(feature = "encode")]
pub struct Counter;

#[cfg(feature = "encode")]
impl Symbols for Counter {
    type Table = [u32; SYMBOLS];

    fn symbol(&mut self, table: &mut Self::Table, symbol: usize) -> usize {
        table[symbol] += 1;
        symbol
    }

    fn plain(&mut self, _: u32, value: u32) -> u32 {
        value
    }
}

/// Writes symbols: keeps what they are, and codes them from the last to the first.
#[cfg(feature = "encode")]
#[derive(Debug, Default)]
pub struct Encoder {
    steps: Vec<Step>,
}

#[cfg(feature = "encode")]
#[derive(Debug, Clone, Copy)]
enum Step {
    /// First slot and slots.
    Symbol(u32, u32),
    Plain(u32, u32),
}

#[cfg(feature = "encode")]
impl Symbols for Encoder {
    type Table = Table;

    fn symbol(&mut self, table: &mut Table, symbol: usize) -> usize {
        let (start, slots) = table.range(symbol);
        self.steps.push(Step::Symbol(start, slots));
        table.follow(symbol);
        symbol
    }

    fn plain(&mut self, count: u32, value: u32) -> u32 {
        self.steps.push(Step::Plain(count, value & ((1 << count) - 1)));
        value
    }
}

#[cfg(feature = "encode")]
impl Encoder {
    /// Appends the bytes.
    pub fn finish(self, out: &mut Vec<u8>) {
        let (mut x, mut words) = (LOW, Vec::new());
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

/// Reads symbols.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    state: u32,
    words: &'a [[u8; 2]],
    /// Words that were taken: more than there are, where they did not suffice.
    taken: usize,
}

impl<'a> Decoder<'a> {
    /// Reads from the start of `bytes`.
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
        if x < LOW {
            let word = self.words.get(self.taken).map_or(0, |word| u16::from_le_bytes(*word));
            self.state = x << 16 | u32::from(word);
            self.taken += 1;
        }
    }

    /// Refuses bytes that were not needed, or did not suffice.
    pub fn finish(self) -> Result<(), Corrupt> {
        match (self.state, self.taken == self.words.len()) {
            (LOW, true) => Ok(()),
            _ => Err(Corrupt("symbols: they do not end where the bytes do")),
        }
    }
}

impl Symbols for Decoder<'_> {
    type Table = Table;
    const KNOWN: bool = false;

    #[inline(always)]
    fn symbol(&mut self, table: &mut Table, _: usize) -> usize {
        let x = self.state;
        let slot = x & ((1 << PRECISION) - 1);
        let symbol = table.symbol(slot);
        let (start, slots) = table.range(symbol);
        self.refill(slots * (x >> PRECISION) + slot - start);
        table.follow(symbol);
        symbol
    }

    #[inline(always)]
    fn plain(&mut self, count: u32, _: u32) -> u32 {
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

    fn code<S: Symbols>(symbols: &mut S, tables: &mut [S::Table; 3], items: &[Item]) -> Vec<u32> {
        let each = |&(plain, symbol, value): &Item| match plain {
            true => symbols.plain(symbol as u32 + 1, value & ((2 << symbol) - 1)),
            false => symbols.symbol(&mut tables[value as usize % 3], symbol) as u32,
        };
        items.iter().map(each).collect()
    }

    fn tables() -> [Table; 3] {
        let steep = std::array::from_fn(|k| 1 << (2 * k));
        [Table::default(), Table::new(steep), Table::new([0; SYMBOLS])]
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
        // Their entropy is 101 bytes.
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
            let mut table = Table::new(weights);
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
