//! Residuals of moving nodes as entropy-coded symbols: the smallest form. The probabilities follow from the
//! frames around and from the earlier components of the node. The nodes of a block of eight are coded side by
//! side, so that a decoder need not wait for one symbol before it decodes the next.
//!
//! | size | name | meaning |
//! |---|---|---|
//! | 1 | `states` | 0 … 3: log₂ of the number of states · 4: all classes are 0, and nothing follows |
//! | 4 each | `first` | u32, the initial states |
//! | rest | `words` | u16, in the order in which states take them |
//!
//! ```text
//! state    the node in lane `lane` of a block is coded by the state number `lane` modulo the number of states
//! order    of a block in a frame: classes of all nodes · transforms of those of class 7, 20 × 16 raw bits each · then component by component: symbols of all nodes of class 1 … 6, then the remaining bits of the numbers of all of these
//! number   h > 0: v = k, or −1 − k for k < 0; symbol min(v >> h, 15); remaining bits: if the symbol is 15, (v >> h) − 15 as Exp-Golomb of order 2; then the h low bits with the sign above them, together
//!          h = 0: v = |k|; the same, with a sign if v is not 0
//! ```

use crate::Corrupt;
use crate::clip::nodes::blocks::{
    BlockContexts, MAX_COMPONENTS, NodeBlock, NodeResiduals, RAW_CLASS, ResidualSource, ResidualSummary,
    load_row,
};
#[cfg(feature = "encode")]
use crate::clip::nodes::references::SurroundingCodes;
use crate::clip::prediction::kappa;
#[cfg(feature = "encode")]
use crate::entropy::symbols::COSTS;
use crate::entropy::symbols::{Bucket, FREQUENCIES, MIN_STATE, PRECISION, STARTS, SYMBOLS, TABLES};
use crate::simd::doubles::{Doubles, LANES};
use crate::transform::Transform;
use fearless_simd::f64x8;
use fearless_simd::prelude::*;

/// The mean of |κ| that later frames assume for a frame with a raw transform. Part of the format, like
/// everything in this file.
const RAW_ACTIVITY: u32 = 1 << 12;
/// The first byte of a unit in which nothing is coded.
const ALL_ZERO_MARKER: u8 = 4;
/// The largest σ, in 2⁻⁸: low bits and a sign fit a 16-bit word.
const MAX_SIGMA: u64 = 1 << 24;

/// Weights for the expected |k|: of a constant, the frames around, the frame beside, and the earlier
/// components in this frame. Indexed by level; without and with a frame beside; for the first component and
/// for later ones.
const EXPECTATION_WEIGHTS: [[[[u32; 4]; 2]; 2]; 6] = [
    [[[1800, 0, 0, 0], [710, 0, 0, 55]], [[400, 0, 14, 0], [520, 0, 18, 25]]],
    [[[2800, 0, 0, 0], [740, 0, 0, 61]], [[680, 0, 19, 0], [460, 1, 24, 28]]],
    [[[2800, 1, 0, 0], [710, 2, 0, 61]], [[1370, 0, 22, 0], [370, 2, 18, 27]]],
    [[[7200, 1, 0, 0], [730, 3, 0, 62]], [[7200, 1, 0, 0], [730, 3, 0, 62]]],
    [[[30_000, 1, 0, 0], [620, 3, 0, 78]], [[30_000, 1, 0, 0], [620, 3, 0, 78]]],
    [[[140_000, 0, 0, 0], [110_000, 0, 0, 32]], [[140_000, 0, 0, 0], [110_000, 0, 0, 32]]],
];

/// ⌈2¹⁶/n⌉.
const RECIPROCALS: [u64; 9] = [0, 65536, 32768, 21846, 16384, 13108, 10923, 9363, 8192];

/// Splits a context into the mean |κ| of translation and that of everything else.
#[inline(always)]
fn means(word: i32) -> [u32; 2] {
    let both = word as u32;
    [both & 0xFFFF, both >> 16]
}

/// The expected size of the residuals of a node in one frame.
#[derive(Clone, Copy, Default)]
struct ExpectedSize {
    around: [u32; 2],
    beside: [u32; 2],
    /// The sum of |κ| coded so far.
    sum: u64,
    /// `true` if the node is expected to move.
    moving: bool,
}

impl ExpectedSize {
    /// Starts from the contexts of the first two frames around and of the frame beside.
    #[inline(always)]
    fn new(level: usize, around: [i32; 2], beside: Option<i32>) -> ExpectedSize {
        let (a, b) = (means(around[0]), means(around[1]));
        let mean = [(a[0] + b[0]) >> 1, (a[1] + b[1]) >> 1];
        let beside = means(beside.unwrap_or(0));
        let most = mean[0] + mean[1] + beside[0] + beside[1];
        ExpectedSize { around: mean, beside, sum: 0, moving: level == 5 || most > 0 }
    }

    /// Returns the table for the class.
    #[inline(always)]
    fn class(&self) -> Bucket {
        Bucket::fixed(if self.moving { 60 } else { 8 })
    }

    /// Exchanges classes 0 and 1 if the node is expected to move.
    #[inline(always)]
    fn swap(&self, class: u8) -> u8 {
        class ^ u8::from(self.moving && class < 2)
    }

    /// Returns σ of the first component and of later ones, in translation (slot 0) or anything else (slot 1),
    /// without the contribution of earlier components. `rows` are those of the level.
    #[inline(always)]
    fn bases(&self, rows: &[[u32; 4]; 2], slot: usize) -> [u64; 2] {
        let of = |row: &[u32; 4]| {
            u64::from(row[0])
                + u64::from(row[1]) * u64::from(self.around[slot])
                + u64::from(row[2]) * u64::from(self.beside[slot])
        };
        [of(&rows[0]), of(&rows[1])]
    }

    /// Returns the table of component number `c`.
    #[inline(always)]
    fn bucket(&self, bases: [u64; 2], rows: &[[u32; 4]; 2], c: usize, fine: u8) -> Bucket {
        let after = usize::from(c > 0);
        let sigma = bases[after] + u64::from(rows[after][3]) * ((self.sum * RECIPROCALS[c]) >> 16);
        Bucket::fixed((sigma << fine >> 3).min(MAX_SIGMA) as u32)
    }
}

/// Returns the weights for a level, with or without a frame beside.
#[inline(always)]
fn rows(level: usize, beside: bool) -> &'static [[u32; 4]; 2] {
    &EXPECTATION_WEIGHTS[level][usize::from(beside)]
}

/// Returns the slot of a component.
#[inline(always)]
fn slot(moves: [bool; 3], c: usize) -> usize {
    usize::from(!(moves[0] && c < 3))
}

fn components(moves: [bool; 3]) -> usize {
    3 * moves.iter().filter(|moves| **moves).count()
}

/// Returns the context of a node with these κ.
#[inline(always)]
fn context(moves: [bool; 3], kappas: &[i32; MAX_COMPONENTS], components: usize) -> i32 {
    let own = if moves[0] { 3 } else { 0 };
    let mean = |from: usize, to: usize| {
        let mut sum = 0;
        for k in &kappas[from..to] {
            sum += u64::from(k.unsigned_abs());
        }
        ((sum * RECIPROCALS[to - from]) >> 16).min(0xFFFF)
    };
    (mean(0, own) | mean(own, components) << 16) as i32
}

/// A residual as it is coded: its symbol, the part of the number above that symbol, and bits of even
/// probability with their count.
#[cfg(feature = "encode")]
struct CodedResidual {
    symbol: usize,
    above: u32,
    even: u32,
    bits: u32,
}

#[cfg(feature = "encode")]
impl CodedResidual {
    fn new(bucket: Bucket, k: i32) -> CodedResidual {
        let low = u32::from(bucket.low);
        let negative = u32::from(k < 0);
        let v = if low > 0 { (k ^ (k >> 31)) as u32 } else { k.unsigned_abs() };
        let high = v >> low;
        let symbol = (high as usize).min(SYMBOLS - 1);
        let even = v & ((1 << low) - 1) | negative << low;
        let bits = if low > 0 { low + 1 } else { u32::from(v != 0) };
        CodedResidual { symbol, above: high - symbol as u32, even, bits }
    }
}

/// Returns the cost of `k` in 2⁻⁸ bits.
#[cfg(feature = "encode")]
pub(super) fn cost(bucket: Bucket, k: i32) -> u32 {
    let number = CodedResidual::new(bucket, k);
    let escape = match number.symbol == SYMBOLS - 1 {
        true => 2 * (31 - (number.above + 4).leading_zeros()) - 1,
        false => 0,
    };
    u32::from(COSTS[usize::from(bucket.table)][number.symbol]) + 256 * (number.bits + escape)
}

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

/// Reads symbols. Words beyond the end read as zeros; [`SymbolReader::finish`] detects that.
pub(super) struct SymbolReader<'a> {
    states: [u32; LANES],
    /// The number of states, minus 1.
    mask: usize,
    words: &'a [[u8; 2]],
    next: usize,
    all_zero: bool,
}

impl<'a> SymbolReader<'a> {
    /// Starts reading the bytes of an access unit.
    pub fn new(bytes: &'a [u8]) -> Result<SymbolReader<'a>, Corrupt> {
        const SHORT: Corrupt = Corrupt("nodes: states that end early");
        let (&kind, rest) = bytes.split_first().ok_or(SHORT)?;
        let mut out = SymbolReader {
            states: [MIN_STATE; LANES],
            mask: 0,
            words: &[],
            next: 0,
            all_zero: kind == ALL_ZERO_MARKER,
        };
        if kind > ALL_ZERO_MARKER || out.all_zero && !rest.is_empty() {
            return Err(Corrupt("nodes: unknown number of states"));
        }
        if out.all_zero {
            return Ok(out);
        }
        out.mask = (1 << kind) - 1;
        let (first, words) = rest.split_at_checked(4 << kind).ok_or(SHORT)?;
        for (state, first) in out.states.iter_mut().zip(first.as_chunks::<4>().0) {
            *state = u32::from_le_bytes(*first);
        }
        let (words, odd) = words.as_chunks();
        match odd {
            [] => Ok(SymbolReader { words, ..out }),
            _ => Err(Corrupt("nodes: half a word")),
        }
    }

    /// Refuses too few, too many or wrong bytes: the states must return to the encoder's first.
    pub fn finish(&self) -> Result<(), Corrupt> {
        match self.next == self.words.len() && self.states == [MIN_STATE; LANES] {
            true => Ok(()),
            false => Err(Corrupt("residuals of nodes do not end where their bytes do")),
        }
    }

    /// Returns the state, extended by a word if it is too small.
    #[inline(always)]
    fn filled(&mut self, state: u32) -> u32 {
        let word = match self.words.get(self.next) {
            Some(word) => u32::from(u16::from_le_bytes(*word)),
            None => 0,
        };
        // Whether a word is needed is unpredictable, so there is no branch.
        let due = state < MIN_STATE;
        let filled = state << 16 | word;
        self.next += usize::from(due);
        if due { filled } else { state }
    }

    #[inline(always)]
    fn symbol(&mut self, lane: usize, table: u8) -> usize {
        let at = lane & self.mask;
        let state = self.states[at];
        let slot = state & ((1 << PRECISION) - 1);
        let table = usize::from(table) % TABLES;
        let four = SYMBOL_OF[table][(slot >> 2) as usize];
        let symbol = usize::from(four >> (4 * (slot & 3))) % SYMBOLS;
        let (start, frequency) = SPANS[table][symbol];
        let state =
            u32::from(frequency).wrapping_mul(state >> PRECISION).wrapping_add(slot - u32::from(start));
        self.states[at] = self.filled(state);
        symbol
    }

    /// Reads up to 16 bits of even probability.
    #[inline(always)]
    fn raw_bits(&mut self, lane: usize, bits: u32) -> u32 {
        let at = lane & self.mask;
        let state = self.states[at];
        self.states[at] = self.filled(state >> bits);
        state & ((1 << bits) - 1)
    }

    /// Reads the rest of the number whose upper part is `symbol`: its low bits and its sign.
    #[inline(always)]
    fn low_bits_and_sign(&mut self, lane: usize, symbol: u32, low: u32) -> i32 {
        let mut v = symbol;
        if v as usize == SYMBOLS - 1 {
            v += self.escape(lane);
        }
        let bits = low + u32::from(low > 0 || v > 0);
        let even = self.raw_bits(lane, bits);
        let v = (v << low | even & ((1 << low) - 1)) & 0x0FFF_FFFF;
        // −1 − v if there are low bits, else −v.
        let sign = ((even >> low & 1) as i32).wrapping_neg();
        (v as i32 ^ sign) - if low > 0 { 0 } else { sign }
    }

    /// Reads the part above the last symbol, as Exp-Golomb of order 2.
    #[cold]
    fn escape(&mut self, lane: usize) -> u32 {
        let mut bits = 2;
        while bits < 28 && self.raw_bits(lane, 1) != 0 {
            bits += 1;
        }
        let low = self.raw_bits(lane, bits.min(14));
        let high = self.raw_bits(lane, bits - bits.min(14));
        (1 << bits | high << 14 | low) - 4
    }

    /// Reads an uncompressed transform.
    #[cold]
    fn raw(&mut self, lane: usize) -> Result<Transform, Corrupt> {
        let mut out = Transform::IDENTITY;
        for v in out.rotation.iter_mut().chain(&mut out.translation).chain(&mut out.scale) {
            let low = self.raw_bits(lane, 16);
            *v = f32::from_bits(self.raw_bits(lane, 16) << 16 | low);
            if !v.is_finite() {
                return Err(Corrupt("nodes: a transform that is not finite"));
            }
        }
        Ok(out)
    }
}

impl ResidualSource for SymbolReader<'_> {
    const HAS_CONTEXTS: bool = true;

    #[inline(always)]
    fn next_residuals<S: Doubles>(
        &mut self,
        block: &NodeBlock,
        level: usize,
        contexts: &mut BlockContexts,
        kappas: &mut [f64x8<S>; MAX_COMPONENTS],
        raw: &mut [Transform; LANES],
    ) -> Result<ResidualSummary, Corrupt> {
        let mut out = ResidualSummary { all_zero: true, raw: 0 };
        if self.all_zero {
            return Ok(out);
        }
        let moves = block.moves;
        let components = components(moves);
        let rows = rows(level, contexts.beside.is_some());
        let mut expected = [ExpectedSize::default(); LANES];
        let mut bases = [[[0u64; 2]; 2]; LANES];
        let mut fine = [0u8; LANES];
        // The lanes that have residuals.
        let (mut lanes, mut count) = ([0usize; LANES], 0);
        for lane in 0..block.count.min(LANES) {
            let around = [contexts.around[0][lane], contexts.around[1][lane]];
            let beside = contexts.beside.map(|row| row[lane]);
            let own = ExpectedSize::new(level, around, beside);
            expected[lane] = own;
            let class = own.swap(self.symbol(lane, own.class().table) as u8);
            match class {
                0 => {}
                1..RAW_CLASS => {
                    fine[lane] = class - 1;
                    bases[lane] = [own.bases(rows, 0), own.bases(rows, 1)];
                    lanes[count] = lane;
                    count += 1;
                }
                RAW_CLASS => out.raw |= 1 << lane,
                _ => return Err(Corrupt("nodes: unknown class")),
            }
        }
        out.all_zero = out.raw == 0 && count == 0;
        for lane in (0..LANES).filter(|lane| out.raw >> lane & 1 != 0) {
            raw[lane] = self.raw(lane)?;
            contexts.own[lane] = (RAW_ACTIVITY | RAW_ACTIVITY << 16) as i32;
        }
        let mut all = [[0i32; LANES]; MAX_COMPONENTS];
        for (c, own) in all.iter_mut().enumerate().take(components) {
            let slot = slot(moves, c);
            let (mut symbols, mut low) = ([0u32; LANES], [0u8; LANES]);
            for &lane in &lanes[..count] {
                let bucket = expected[lane].bucket(bases[lane][slot], rows, c, fine[lane]);
                symbols[lane] = self.symbol(lane, bucket.table) as u32;
                low[lane] = bucket.low;
            }
            for &lane in &lanes[..count] {
                let k = self.low_bits_and_sign(lane, symbols[lane], u32::from(low[lane]));
                // The same as `kappa`.
                let most = 1i64 << 28;
                own[lane] = ((i64::from(k) << 5) >> fine[lane]).clamp(-most, most) as i32;
                expected[lane].sum += u64::from(own[lane].unsigned_abs());
            }
        }
        for &lane in &lanes[..count] {
            let mut own = [0; MAX_COMPONENTS];
            for (own, row) in own.iter_mut().zip(&all) {
                *own = row[lane];
            }
            contexts.own[lane] = context(moves, &own, components);
        }
        for (kappa, row) in kappas.iter_mut().zip(&all) {
            *kappa = load_row(kappa.token(), row);
        }
        Ok(out)
    }
}

/// Collects symbols, which are encoded in reverse order.
#[cfg(feature = "encode")]
#[derive(Default)]
pub(super) struct SymbolWriter {
    /// Lane; start and frequency, or a value and its even bits.
    pushed: Vec<(u8, u16, Pushed)>,
    has_residuals: bool,
}

#[cfg(feature = "encode")]
#[derive(Clone, Copy)]
enum Pushed {
    Symbol(u16),
    Even(u8),
}

#[cfg(feature = "encode")]
impl SymbolWriter {
    fn symbol(&mut self, lane: usize, table: u8, symbol: usize) {
        let table = usize::from(table);
        self.pushed.push((lane as u8, STARTS[table][symbol], Pushed::Symbol(FREQUENCIES[table][symbol])));
    }

    fn push_raw_bits(&mut self, lane: usize, value: u32, bits: u32) {
        self.pushed.push((lane as u8, value as u16, Pushed::Even(bits as u8)));
    }

    /// Adds the choices of a block in a frame, by lane; `around` has the codes around each node.
    pub fn push_block(
        &mut self,
        block: &NodeBlock,
        around: &[SurroundingCodes<'_>],
        choices: &[NodeResiduals],
    ) {
        let moves = block.moves;
        let mut expected: Vec<ExpectedSize> = around.iter().map(expected_size).collect();
        for (lane, (expected, choice)) in expected.iter().zip(choices).enumerate() {
            self.has_residuals |= choice.class != 0;
            self.symbol(lane, expected.class().table, usize::from(expected.swap(choice.class)));
        }
        for (lane, choice) in choices.iter().enumerate().filter(|(_, c)| c.class == RAW_CLASS) {
            let raw = &choice.raw;
            for v in raw.rotation.iter().chain(&raw.translation).chain(&raw.scale) {
                self.push_raw_bits(lane, v.to_bits() & 0xFFFF, 16);
                self.push_raw_bits(lane, v.to_bits() >> 16, 16);
            }
        }
        for c in 0..components(moves) {
            let mut numbers = Vec::new();
            for (lane, choice) in choices.iter().enumerate() {
                let fine = choice.class.wrapping_sub(1);
                if fine >= RAW_CLASS - 1 {
                    continue;
                }
                let rows = rows(around[lane].references.level, around[lane].references.beside.is_some());
                let bases = expected[lane].bases(rows, slot(moves, c));
                let bucket = expected[lane].bucket(bases, rows, c, fine);
                let number = CodedResidual::new(bucket, choice.k[c]);
                self.symbol(lane, bucket.table, number.symbol);
                numbers.push((lane, number));
                expected[lane].sum += kappa(choice.k[c], fine, 0).unsigned_abs();
            }
            for (lane, number) in numbers {
                if number.symbol == SYMBOLS - 1 {
                    let v = number.above + 4;
                    let bits = 31 - v.leading_zeros();
                    for _ in 2..bits {
                        self.push_raw_bits(lane, 1, 1);
                    }
                    if bits < 28 {
                        self.push_raw_bits(lane, 0, 1);
                    }
                    self.push_raw_bits(lane, v & ((1 << bits.min(14)) - 1), bits.min(14));
                    self.push_raw_bits(lane, (v & ((1 << bits) - 1)) >> 14, bits - bits.min(14));
                }
                self.push_raw_bits(lane, number.even, number.bits);
            }
        }
    }

    /// Appends the bytes of all symbols, with as many states as cost little.
    pub fn finish(self, out: &mut Vec<u8>) {
        if !self.has_residuals {
            out.push(ALL_ZERO_MARKER);
            return;
        }
        let (states, mut words) = self.encode_states(1);
        let mut best = (0, states);
        for log in 1..=3 {
            if (4usize << log) * 100 <= 2 * words.len() {
                let (states, more) = self.encode_states(1 << log);
                (best, words) = ((log, states), more);
            }
        }
        let (log, states) = best;
        out.push(log);
        out.extend(states[..1 << log].iter().flat_map(|state| state.to_le_bytes()));
        out.extend(words.iter().rev().flat_map(|word| word.to_le_bytes()));
    }

    /// Returns the states, and the words from the last to the first.
    fn encode_states(&self, count: usize) -> ([u32; LANES], Vec<u16>) {
        let (mut states, mut words) = ([MIN_STATE; LANES], Vec::new());
        for &(lane, value, pushed) in self.pushed.iter().rev() {
            let state = &mut states[usize::from(lane) % count];
            let (bits, f) = match pushed {
                Pushed::Symbol(f) => (PRECISION, u32::from(f)),
                Pushed::Even(bits) => (u32::from(bits), 1),
            };
            if u64::from(*state) >= u64::from(f) << (32 - bits) {
                words.push(*state as u16);
                *state >>= 16;
            }
            *state = ((*state / f) << bits) + *state % f + u32::from(value);
        }
        (states, words)
    }
}

#[cfg(feature = "encode")]
fn expected_size(around: &SurroundingCodes<'_>) -> ExpectedSize {
    let (contexts, beside) = around.contexts();
    ExpectedSize::new(around.references.level, contexts, beside)
}

/// Returns the tables of the components of a node for residuals like these. The actual tables of later
/// components differ slightly if the residuals change.
#[cfg(feature = "encode")]
pub(super) fn buckets(
    moves: [bool; 3],
    around: &SurroundingCodes<'_>,
    k: &[i32; MAX_COMPONENTS],
    fine: u8,
) -> [Bucket; MAX_COMPONENTS] {
    let mut expected = expected_size(around);
    let rows = rows(around.references.level, around.references.beside.is_some());
    let components = components(moves);
    let mut out = [Bucket::fixed(0); MAX_COMPONENTS];
    for (c, out) in out.iter_mut().enumerate().take(components) {
        *out = expected.bucket(expected.bases(rows, slot(moves, c)), rows, c, fine);
        expected.sum += kappa(k[c], fine, 0).unsigned_abs();
    }
    out
}

/// Returns the context that a choice leaves.
#[cfg(feature = "encode")]
pub(super) fn choice_context(moves: [bool; 3], choice: &NodeResiduals) -> i32 {
    match choice.class {
        0 => 0,
        RAW_CLASS => (RAW_ACTIVITY | RAW_ACTIVITY << 16) as i32,
        class => {
            let kappas = choice.k.map(|k| kappa(k, (class - 1).min(5), 0) as i32);
            context(moves, &kappas, components(moves))
        }
    }
}
