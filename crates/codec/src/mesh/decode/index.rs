//! Prepares packed access units for a decoder that reads all blocks in parallel, on a graphics card: the
//! bytes are checked and arranged in 32-bit words, with an index of where the fields of blocks begin. Nothing
//! is decoded.
//!
//! | words | name | meaning |
//! |---|---|---|
//! | 1 | | total number of words |
//! | 1 | | frames, plus 256 if there are residuals |
//! | 4 | | offsets in bits of flags, codes, masks and fields in `bytes` |
//! | (3 + ⌈levels / 8⌉) × frames | `heads` | coefficients of references in 1/256, two in a word; step; ρ by level in quarters, four bits each, lowest first |
//! | 3 × ⌈blocks / 32⌉ | `starts` | for every 32 blocks of all frames, the numbers before them: bits of fields, blocks that are not all zero, masks; only with residuals |
//! | … | `bytes` | the sections of [`crate::mesh::pack`] behind its numbers, little-endian, and a word of zeros; only with residuals |

use super::static_part::StaticPart;
use super::unit::{PredictorHead, UnitBody, UnitResiduals};
use super::{CodedUnit, layer};
use crate::Corrupt;
pub use crate::mesh::blocks::BLOCK;
use crate::mesh::blocks::{self, BUNDLE};
use crate::mesh::pack::{DENSE, Unpacker, WHOLE};
use crate::quantize::fixed_point::FixedPoint;
use crate::schedule::Unit;

/// The number of blocks that share an entry of `starts`.
pub const BLOCKS_PER_START: usize = 32;
/// The number of words before the heads.
pub const BEFORE_HEADS: usize = 6;
/// Flag next to the number of frames: there are residuals.
pub const HAS_RESIDUALS: u32 = 1 << 8;
/// The number of words of a head without ρ.
const HEAD: usize = 3;
/// The number of ρ values per word.
const RHO: usize = 8;

/// Returns the number of words in the head of a frame.
pub fn head_words(levels: usize) -> usize {
    HEAD + levels.div_ceil(RHO)
}

/// Returns the number of words in the starts of a unit.
pub fn start_words(blocks: usize) -> usize {
    3 * blocks.div_ceil(BLOCKS_PER_START)
}

/// Returns the largest average number of words per frame in any unit of a mesh with `points` points, with
/// 32-bit fixed-point positions if `wide`. The frames of a unit have at most `bytes` bytes each on average.
pub fn max_words(points: usize, wide: bool, bytes: usize) -> usize {
    let levels = points.min(super::MAX_LEVELS);
    let blocks = points / BLOCK + levels;
    // A block has a flag, a code, and at most a mask with the widest fields or whole components.
    let block = 2 + BLOCK * if wide { 12 } else { 6 };
    BEFORE_HEADS + head_words(levels) + start_words(blocks) + (blocks * block).min(bytes).div_ceil(4) + 2
}

/// Writes the words of an access unit and returns their number; 0 for key frame 0, which has none. Fails for
/// units of tokens, and if `out` is too short.
pub fn write_index<W: FixedPoint>(
    s: &StaticPart,
    coded: CodedUnit<'_>,
    out: &mut [u32],
) -> Result<usize, Corrupt> {
    let CodedUnit { schedule, unit, bytes } = coded;
    let frames = schedule.frames_of(unit);
    let levels = s.hierarchy.level_count();
    if levels > super::MAX_LEVELS {
        return Err(Corrupt("unit: too many levels of the hierarchy"));
    }
    if frames.is_empty() || unit == Unit::Key(0) {
        return match bytes {
            [] => Ok(0),
            _ => Err(Corrupt("unit: bytes left over")),
        };
    }
    let mut words = WordWriter { words: out, used: BEFORE_HEADS };
    let count = blocks::count(&s.hierarchy);
    let mut body = UnitBody::new(bytes, count * frames.len(), |bits| {
        for &frame in frames.iter() {
            let head = PredictorHead::read(bits, schedule.references(frame).len(), levels)?;
            words.push_head(&head, s.grid.steps[layer(schedule, frame)], levels)?;
        }
        Ok(())
    })?;
    let mut first = [frames.len() as u32, 0, 0, 0, 0];
    match &mut body.source {
        UnitResiduals::Zero => {}
        UnitResiduals::Tokens(_) => {
            return Err(Corrupt("unit: tokens, which are decoded only where points are asked for"));
        }
        UnitResiduals::Packed(packed) => {
            first[0] |= HAS_RESIDUALS;
            words.push_starts::<W>(s, packed, frames.len())?;
            // The sections follow each other up to the end.
            let sections = [packed.flags.bytes(), packed.codes.bytes(), packed.masks, packed.fields.bytes()];
            let size: usize = sections.iter().map(|section| section.len()).sum();
            let mut at = 0;
            for (bit, section) in first[1..].iter_mut().zip(sections) {
                *bit = u32::try_from(8 * at).map_err(|_| Corrupt("unit: too long"))?;
                at += section.len();
            }
            words.push_bytes(&bytes[bytes.len() - size..])?;
        }
    }
    body.finish()?;
    let used = words.used;
    words.words[0] = used as u32;
    words.words[1..BEFORE_HEADS].copy_from_slice(&first);
    Ok(used)
}

/// A buffer to which words are appended.
struct WordWriter<'a> {
    words: &'a mut [u32],
    used: usize,
}

impl WordWriter<'_> {
    fn push(&mut self, word: u32) -> Result<(), Corrupt> {
        let place = self.words.get_mut(self.used).ok_or(Corrupt("unit: longer than its blocks can be"))?;
        *place = word;
        self.used += 1;
        Ok(())
    }

    fn push_head(&mut self, head: &PredictorHead, step: u16, levels: usize) -> Result<(), Corrupt> {
        let [a, b, c, d] = head.coefficients.map(|c| u32::from(c as u16));
        self.push(a | b << 16)?;
        self.push(c | d << 16)?;
        self.push(step.into())?;
        for eight in head.rho[..levels].chunks(RHO) {
            self.push(eight.iter().rev().fold(0, |word, rho| word << 4 | u32::from(*rho)))?;
        }
        Ok(())
    }

    /// Skips all blocks and writes where they begin.
    fn push_starts<W: FixedPoint>(
        &mut self,
        s: &StaticPart,
        packed: &mut Unpacker<'_>,
        frames: usize,
    ) -> Result<(), Corrupt> {
        debug_assert!(frames <= BUNDLE);
        let (mut number, mut bits, mut filled) = (0, 0usize, 0u32);
        for level in 0..s.hierarchy.level_count() {
            for block in blocks::blocks(s.hierarchy.level(level)) {
                if number % BLOCKS_PER_START == 0 {
                    let start = u32::try_from(bits).map_err(|_| Corrupt("unit: too long"))?;
                    self.push(start)?;
                    self.push(filled)?;
                    self.push(packed.mask as u32)?;
                }
                number += 1;
                let flags = packed.flags.read(frames as u32);
                for _ in 0..flags.count_ones() {
                    filled += 1;
                    bits += packed.skip_block(block.len(), W::BITS);
                }
            }
        }
        packed.fields.skip(u32::try_from(bits).map_err(|_| Corrupt("unit: too long"))?);
        Ok(())
    }

    fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), Corrupt> {
        let (whole, rest) = bytes.as_chunks::<4>();
        let end = self.used + whole.len();
        let places =
            self.words.get_mut(self.used..end).ok_or(Corrupt("unit: longer than its blocks can be"))?;
        for (place, word) in places.iter_mut().zip(whole) {
            *place = u32::from_le_bytes(*word);
        }
        self.used = end;
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        self.push(u32::from_le_bytes(last))?;
        self.push(0)
    }
}

impl Unpacker<'_> {
    /// Skips a block that is not all zero, of `count` vertices with components of `width` bits, except for
    /// its fields, whose number of bits it returns.
    #[inline(always)]
    fn skip_block(&mut self, count: usize, width: u32) -> usize {
        let code = self.codes.read(4);
        if code == WHOLE {
            return count * 3 * width as usize;
        }
        match code.checked_sub(DENSE) {
            None => {
                let at = 2 * self.mask;
                self.mask += 1;
                let mask = self.masks.get(at..at + 2).map_or(0, |m| u16::from_le_bytes([m[0], m[1]]));
                (mask.count_ones() * (1 + 3 * (code + 1))) as usize
            }
            Some(w) => count * (1 + 3 * (w as usize + 1)),
        }
    }
}
