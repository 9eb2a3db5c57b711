//! Interleaved range coding with static tables. Lossless.
//!
//! Up to 16 states ("lanes") of 32 bits share one sequence of 16-bit words. A symbol with frequency f and
//! start s among 4096 is decoded from a state x as follows; lanes take their words in order:
//!
//! ```text
//! slot = x & 4095     symbol = that whose range holds the slot
//! x = f·(x >> 12) + slot − s
//! if x < 2^16:  x = x << 16 | next word
//! ```
//!
//! The encoder goes backwards from states of 2^16, so a decoder ends with these: a check without cost.
//!
//! Credit: J. Duda, "Asymmetric numeral systems", 2013; F. Giesen, "Interleaved entropy coders", 2014.

/// The number of symbols of an alphabet, which are called tokens. Part of the format.
pub const TOKENS: usize = 251;
/// The number of bits of a frequency: the frequencies of a table add up to 2^12. Part of the format.
pub const PRECISION: u32 = 12;
/// The sum of a table's frequencies.
pub const TOTAL: u32 = 1 << PRECISION;
/// The smallest state, and the first of the encoder.
pub const MIN_STATE: u32 = 1 << 16;
/// The largest number of lanes.
pub const LANES: usize = 16;

/// The frequencies of all tokens, which add up to [`TOTAL`].
pub type Frequencies = [u16; TOKENS];

/// A decoding table of 4096 slots. Bits 0–7: token, 8–19: frequency − 1, 20–31: offset of the slot within its
/// token.
pub type Slots = [u32; TOTAL as usize];

/// Fills the slots of a table.
pub fn fill(frequencies: &Frequencies, slots: &mut Slots) {
    let mut at = 0;
    for (token, &f) in frequencies.iter().enumerate() {
        for offset in 0..u32::from(f) {
            if let Some(slot) = slots.get_mut(at) {
                *slot = token as u32 | (u32::from(f) - 1) << 8 | offset << 20;
            }
            at += 1;
        }
    }
}

/// The states of the decoder, and the words that it reads.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    /// The states by lane.
    pub states: [u32; LANES],
    /// The words, two bytes each.
    pub words: &'a [u8],
    /// The number of the next word.
    pub next: usize,
}

impl Decoder<'_> {
    /// Decodes the next token of a lane. `entry` returns the table's entry for a slot (see [`Slots`]). Words
    /// beyond the end are zero.
    #[inline(always)]
    pub fn token(&mut self, lane: usize, entry: impl FnOnce(u32) -> u32) -> u8 {
        let x = self.states[lane & (LANES - 1)];
        let entry = entry(x & (TOTAL - 1));
        let mut x = (((entry >> 8) & 0xFFF) + 1).wrapping_mul(x >> PRECISION).wrapping_add(entry >> 20);
        if x < MIN_STATE {
            let word = match self.words.get(2 * self.next..2 * self.next + 2) {
                Some(w) => u32::from(u16::from_le_bytes([w[0], w[1]])),
                None => 0,
            };
            self.next += 1;
            x = x << 16 | word;
        }
        self.states[lane & (LANES - 1)] = x;
        entry as u8
    }

    /// Returns `true` if all words were used and all lanes have returned to the encoder's first state.
    pub fn finished(&self, lanes: usize) -> bool {
        2 * self.next == self.words.len() && self.states[..lanes].iter().all(|&x| x == MIN_STATE)
    }
}

/// An encoding table: start and frequency by token.
#[cfg(feature = "encode")]
pub type EncodingTable = [(u16, u16); TOKENS];

/// Returns the encoding table of these frequencies.
#[cfg(feature = "encode")]
pub fn encoding_table(frequencies: &Frequencies) -> EncodingTable {
    let mut at = 0;
    frequencies.map(|f| {
        let start = at;
        at += f;
        (start, f)
    })
}

/// Encodes symbols from the last to the first.
#[cfg(feature = "encode")]
#[derive(Debug)]
pub struct Encoder {
    states: [u32; LANES],
    words: Vec<u16>,
}

#[cfg(feature = "encode")]
impl Default for Encoder {
    /// Returns an encoder, to which the last symbol is added first.
    fn default() -> Encoder {
        Encoder { states: [MIN_STATE; LANES], words: Vec::new() }
    }
}

#[cfg(feature = "encode")]
impl Encoder {
    /// Adds a symbol in front of those added before. Its frequency must not be 0.
    #[inline(always)]
    pub fn push_front(&mut self, lane: usize, (start, frequency): (u16, u16)) {
        let f = u32::from(frequency);
        let mut x = self.states[lane & (LANES - 1)];
        // The comparison with f·2^20, without its overflow at f = 4096.
        if x >> 20 >= f {
            self.words.push(x as u16);
            x >>= 16;
        }
        self.states[lane & (LANES - 1)] = ((x / f) << PRECISION) + x % f + u32::from(start);
    }

    /// Returns the states of all lanes, and the words in the decoder's order.
    pub fn finish(mut self) -> ([u32; LANES], Vec<u16>) {
        self.words.reverse();
        (self.states, self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(frequencies: &Frequencies, tokens: &[u8], lanes: usize) -> ([u32; LANES], Vec<u8>) {
        let starts = encoding_table(frequencies);
        let mut e = Encoder::default();
        for (k, &t) in tokens.iter().enumerate().rev() {
            e.push_front(k % lanes, starts[usize::from(t)]);
        }
        let (states, words) = e.finish();
        (states, words.iter().flat_map(|w| w.to_le_bytes()).collect())
    }

    #[test]
    fn golden() {
        let mut f = [0; TOKENS];
        (f[0], f[1], f[2]) = (2048, 1024, 1024);
        let (states, words) = code(&f, &[0, 1, 2, 0, 2, 1, 0, 0, 0, 0, 1], 1);
        assert_eq!((states[0], &words[..]), (0x0001_0105, &[0, 120][..]));
        let mut one = [0; TOKENS];
        one[7] = 4096;
        let (states, words) = code(&one, &[7; 1000], 2);
        assert_eq!((states[1], words.len()), (MIN_STATE, 0));
    }

    proptest! {
        #[test]
        fn round_trip(tokens in proptest::collection::vec(0u8..251, 0..400), rare in any::<bool>(), lanes in 0usize..5) {
            let lanes = 1 << lanes;
            let mut f = [if rare { 1 } else { 16 }; TOKENS];
            f[3] += (TOTAL - f.iter().map(|&f| u32::from(f)).sum::<u32>()) as u16;
            let (states, words) = code(&f, &tokens, lanes);
            let mut slots = [0; TOTAL as usize];
            fill(&f, &mut slots);
            let mut d = Decoder { states, words: &words, next: 0 };
            for (k, &t) in tokens.iter().enumerate() {
                prop_assert_eq!(d.token(k % lanes, |slot| slots[slot as usize]), t);
            }
            prop_assert!(d.finished(lanes));
        }
    }
}
