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
//! order    of a block in a frame: classes of all nodes · transforms of those of class 7, 20 × 16 raw bits each · then component by component: symbols of all nodes of class 1 … 6, then the rests of all of these (residuals)
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
use crate::entropy::symbols::Encoder;
use crate::entropy::symbols::{Bucket, Decoder};
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
        Bucket::from_sigma(if self.moving { 60 } else { 8 })
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
        Bucket::from_sigma((sigma << fine >> 3).min(MAX_SIGMA) as u32)
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

/// Reads the symbols of an access unit.
pub(super) struct SymbolReader<'a> {
    decoder: Decoder<'a, LANES>,
    /// The number of states, minus 1.
    mask: usize,
    all_zero: bool,
}

impl<'a> SymbolReader<'a> {
    /// Starts reading the bytes of an access unit.
    pub fn new(bytes: &'a [u8]) -> Result<SymbolReader<'a>, Corrupt> {
        const SHORT: Corrupt = Corrupt("nodes: states that end early");
        let (&kind, rest) = bytes.split_first().ok_or(SHORT)?;
        let all_zero = kind == ALL_ZERO_MARKER;
        if kind > ALL_ZERO_MARKER || all_zero && !rest.is_empty() {
            return Err(Corrupt("nodes: unknown number of states"));
        }
        let count = if all_zero { 1 } else { 1 << kind };
        if !all_zero && rest.len() < 4 * count {
            return Err(SHORT);
        }
        Ok(SymbolReader { decoder: Decoder::with_states(rest, count), mask: count - 1, all_zero })
    }

    /// Refuses too few, too many or wrong bytes: the states must return to the encoder's first.
    pub fn finish(&self) -> Result<(), Corrupt> {
        self.decoder.finish()
    }

    /// Reads an uncompressed transform.
    #[cold]
    fn raw(&mut self, lane: usize) -> Result<Transform, Corrupt> {
        let mut out = Transform::IDENTITY;
        for v in out.rotation.iter_mut().chain(&mut out.translation).chain(&mut out.scale) {
            *v = f32::from_bits(self.decoder.raw_bits_from(lane & self.mask, 32));
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
            let class = own.swap(self.decoder.symbol(lane & self.mask, own.class().table) as u8);
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
            let mut symbols = [(0, Bucket::default()); LANES];
            for &lane in &lanes[..count] {
                let bucket = expected[lane].bucket(bases[lane][slot], rows, c, fine[lane]);
                symbols[lane] = (self.decoder.symbol(lane & self.mask, bucket.table), bucket);
            }
            for &lane in &lanes[..count] {
                let (symbol, bucket) = symbols[lane];
                let k = self.decoder.rest(lane & self.mask, symbol, bucket);
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

/// Collects the symbols of an access unit.
#[cfg(feature = "encode")]
pub(super) struct SymbolWriter {
    encoder: Encoder<LANES>,
    has_residuals: bool,
}

#[cfg(feature = "encode")]
impl Default for SymbolWriter {
    fn default() -> SymbolWriter {
        SymbolWriter { encoder: Encoder::with_lanes(), has_residuals: false }
    }
}

#[cfg(feature = "encode")]
impl SymbolWriter {
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
            let class = usize::from(expected.swap(choice.class));
            self.encoder.push_entry(lane, expected.class().table, class);
        }
        for (lane, choice) in choices.iter().enumerate().filter(|(_, c)| c.class == RAW_CLASS) {
            let raw = &choice.raw;
            for v in raw.rotation.iter().chain(&raw.translation).chain(&raw.scale) {
                self.encoder.push_raw_bits_to(lane, v.to_bits(), 32);
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
                self.encoder.push_symbol(lane, bucket, choice.k[c]);
                numbers.push((lane, bucket, choice.k[c]));
                expected[lane].sum += kappa(choice.k[c], fine, 0).unsigned_abs();
            }
            for (lane, bucket, k) in numbers {
                self.encoder.push_rest(lane, bucket, k);
            }
        }
    }

    /// Appends the bytes of all symbols, with as many states as cost little.
    pub fn finish(self, out: &mut Vec<u8>) {
        if !self.has_residuals {
            out.push(ALL_ZERO_MARKER);
            return;
        }
        let (mut log, mut bytes) = (0, self.encoder.bytes(1));
        for more in 1..=3 {
            if (4usize << more) * 100 <= bytes.len() - (4 << log) {
                (log, bytes) = (more, self.encoder.bytes(1 << more));
            }
        }
        out.push(log);
        out.extend(bytes);
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
    let mut out = [Bucket::from_sigma(0); MAX_COMPONENTS];
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
