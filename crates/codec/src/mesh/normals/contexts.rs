//! Contexts of the bits that states and turns are coded in, and what they start from.

use crate::entropy::range::{Bits, Chance};
use std::ops::Range;

// Part of the format.
pub(super) const CLASSES: usize = 4;

/// States and turns of a frame differ from their reference's by multiples of this.
pub(in crate::mesh) const STRIDE: i16 = 3;

/// Numbers: is it zero, then an exponential Golomb code with a context for each bit of its length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CorrectionContexts<C> {
    pub(super) zero: [C; 3],
    pub(super) longer: [C; 16],
}

/// Contexts of a unit: chances, or how often a bit was what.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::mesh) struct Contexts<C> {
    pub(super) normal: [[[C; 3]; 3]; CLASSES],
    pub(super) turn: [[[C; 3]; 4]; CLASSES],
    /// Chunks, then blocks; by class, and by what the one before is.
    pub(super) normal_blocks: [[[C; 2]; CLASSES]; 2],
    /// By whether a state in it is another one, besides.
    pub(super) turn_blocks: [[[[C; 2]; 2]; CLASSES]; 2],
    pub(super) states: CorrectionContexts<C>,
    pub(super) turns: CorrectionContexts<C>,
}

impl<C: Copy> CorrectionContexts<C> {
    fn list(&mut self) -> impl Iterator<Item = &mut C> {
        self.zero.iter_mut().chain(&mut self.longer)
    }

    /// Codes a number, wrapping at 16 bits.
    pub(super) fn code(&mut self, bits: &mut impl Bits<Context = C>, context: usize, value: i16) -> i16 {
        if !bits.bit(&mut self.zero[context], value != 0) {
            return 0;
        }
        let negative = bits.plain(1, u32::from(value < 0)) != 0;
        // 1 … 32768, as 2^length + rest.
        let size = u32::from(value.unsigned_abs()).max(1);
        let wanted = size.ilog2();
        let mut length = 0;
        while length < 15 && bits.bit(&mut self.longer[length as usize], length < wanted) {
            length += 1;
        }
        let rest = bits.plain(length, size & ((1 << length) - 1));
        let size = (1u32 << length | rest) as i32;
        (if negative { -size } else { size }) as i16
    }
}

impl<C: Copy> Contexts<C> {
    pub(in crate::mesh) fn list(&mut self) -> impl Iterator<Item = &mut C> {
        let normal = self.normal.iter_mut().flatten().flatten();
        let turn = self.turn.iter_mut().flatten().flatten();
        let blocks = self.normal_blocks.as_flattened_mut().as_flattened_mut().iter_mut();
        let turn_blocks =
            self.turn_blocks.as_flattened_mut().as_flattened_mut().as_flattened_mut().iter_mut();
        let numbers = self.states.list().chain(self.turns.list());
        normal.chain(turn).chain(blocks).chain(turn_blocks).chain(numbers)
    }
}

/// Items of a block, and blocks of a chunk: each has one bit for all of its items. Part of the format.
pub(super) const BLOCK_ITEMS: usize = 16;
pub(super) const CHUNK_BLOCKS: usize = 4;

/// Blocks of items, and the largest class in each.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Blocks {
    items: usize,
    classes: Vec<u8>,
}

impl Blocks {
    pub fn new(classes: &[u8]) -> Blocks {
        let most = |block: &[u8]| block.iter().copied().max().unwrap_or(0);
        Blocks { items: classes.len(), classes: classes.chunks(BLOCK_ITEMS).map(most).collect() }
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.classes.len().div_ceil(CHUNK_BLOCKS)
    }

    /// The blocks of a chunk.
    pub fn of(&self, chunk: usize) -> Range<usize> {
        let start = chunk * CHUNK_BLOCKS;
        start..(start + CHUNK_BLOCKS).min(self.classes.len())
    }

    /// The items of some blocks.
    pub fn items(&self, blocks: Range<usize>) -> Range<usize> {
        blocks.start * BLOCK_ITEMS..(blocks.end * BLOCK_ITEMS).min(self.items)
    }

    /// The largest class in some blocks.
    pub fn class(&self, blocks: Range<usize>) -> usize {
        usize::from(self.classes[blocks].iter().copied().max().unwrap_or(0))
    }
}

/// The number of strides from one value to another.
#[inline]
pub(super) fn strides(from: i16, to: i16) -> i16 {
    ((i32::from(to) - i32::from(from)) / i32::from(STRIDE)) as i16
}

#[inline]
pub(super) fn moved(from: i16, strides: i16) -> i16 {
    (i32::from(from) + i32::from(strides) * i32::from(STRIDE)) as i16
}

/// The chance of a one is (16 + low 4 bits) · 2^(high 4 bits) / 2²⁰. Part of the format.
pub(super) const EVEN_LEVEL: u8 = 15 << 4;

pub(in crate::mesh) fn level(code: u8) -> Chance {
    let one = (16 + u32::from(code & 15)) << (code >> 4) >> 4;
    Chance::new((65536 - one.clamp(1, 65535)) as u16)
}

/// The chance to start with after so many zeros and ones.
#[cfg(feature = "encode")]
pub(in crate::mesh) fn level_near(zeros: u32, ones: u32) -> Chance {
    let zero = (f64::from(zeros) + 0.4) / (f64::from(zeros) + f64::from(ones) + 0.8);
    Chance::new((zero * 65536.0).clamp(1.0, 65535.0) as u16)
}

pub(super) fn level_of(chance: Chance) -> u8 {
    let far = |code: u8| chance.mean().abs_diff(level(code).mean());
    (0..=u8::MAX).min_by_key(|&code| far(code)).unwrap_or(EVEN_LEVEL)
}
