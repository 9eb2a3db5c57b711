//! Decodes the tokens and raw bits of sixteen vertices one after the other: 128-bit registers gain nothing
//! where each vertex looks up different entries. The only branches are on shifts and escapes; everything else
//! is looked up.
//!
//! * **Entropy coding**: all words that a block can take are loaded at once; lanes depend on each other only
//!   by the number of words taken so far.
//! * **Raw bits** of tokens without a shift: a table indexed by the class of an axis and the next three bits
//!   gives the axis's value, in its place in the vector, and its magnitude; the entries of three axes are
//!   added.

use super::Input;
use crate::entropy::rans::{LANES, Slots, TOTAL};
use crate::mesh::blocks::{BLOCK, PointBlock};
use crate::mesh::contexts::{DIRECTORY_ENTRIES, QUARTER_BITS};
use crate::mesh::decode::kernel::{self, Arguments, BlockContext, ResidualBlocks};
use crate::mesh::decode::unit::{CodedTokens, UnitResiduals};
use crate::mesh::pack::narrow::PackedStream;
use crate::mesh::registers::Register;
use crate::mesh::table_sets::SlotTables;
use crate::mesh::token::{self, BitReader, ESCAPE};
use crate::simd::doubles::Doubles;
use crate::simd::isa::Narrow;
use fearless_simd::prelude::*;
use fearless_simd::{i16x8, i32x4, u8x16};

/// Decodes a bundle. Tokens need tables with slots.
pub(in crate::mesh::decode) fn decode(narrow: Narrow, arguments: Arguments<i16>, source: &mut UnitResiduals) {
    let simd = narrow.token();
    let tables = arguments.s.tables.slot_tables();
    simd.vectorize(
        #[inline(always)]
        || {
            let input = match &*source {
                UnitResiduals::Tokens(t) => Input::Tokens(TokenStream::new(t)),
                UnitResiduals::Packed(p) => Input::Packed(PackedStream::new(p)),
                UnitResiduals::Zero => Input::Zero,
            };
            let mut residuals = Residuals { input, tables };
            kernel::decode::<i16x8<_>, _>(simd, arguments, &mut residuals);
            match (&residuals.input, source) {
                (Input::Tokens(stream), UnitResiduals::Tokens(t)) => stream.put_back(t),
                (Input::Packed(fields), UnitResiduals::Packed(p)) => fields.put_back(p),
                _ => {}
            }
        },
    );
}

struct Residuals<'a, 't> {
    input: Input<TokenStream<'a>, PackedStream<'a>>,
    tables: Option<&'t SlotTables>,
}

impl<S: Doubles> ResidualBlocks<i16x8<S>> for Residuals<'_, '_> {
    #[inline(always)]
    fn next_block(&mut self, block: &BlockContext<i16x8<S>>) -> Option<[i16x8<S>; BLOCK / 2]> {
        let simd = block.predicted[0].token();
        let q = match (&mut self.input, self.tables) {
            (Input::Packed(fields), _) => fields.block::<_, i16>(simd, block.count)?,
            (Input::Tokens(stream), Some(tables)) => {
                let directory = &tables.contexts.directory[block.layer];
                stream.block(&tables.slots, directory, &contexts(block), block.count)
            }
            _ => return None,
        };
        let mut out = i16x8::zeros(simd);
        for (i, out) in out.iter_mut().enumerate() {
            *out = i16x8::load(simd, &q[2 * i..]);
        }
        Some(out)
    }
}

/// Returns the indices of a block's contexts in the directory.
#[inline(always)]
fn contexts<S: Simd>(block: &BlockContext<i16x8<S>>) -> [i32; BLOCK] {
    let simd = block.predicted[0].token();
    let [a, b] = block.references;
    let mut out = [0; BLOCK];
    for (j, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let load = |list: &PointBlock<i16>, i: usize| i16x8::load(simd, &list[4 * j + 2 * i..]);
        let past = [load(a, 0).max(load(b, 0)).max(0), load(a, 1).max(load(b, 1)).max(0)];
        let past = fourths(past[0], past[1]);
        let near = match block.root {
            true => past << 2,
            false => fourths(block.predicted[2 * j], block.predicted[2 * j + 1]),
        };
        let past = past.min(15).bitcast::<u8x16<S>>();
        let past = u8x16::simd_from(simd, CLASSES).swizzle_dyn_within_blocks(past).bitcast::<i32x4<S>>();
        let near = (near.to_float::<fearless_simd::f32x4<S>>() - 0.5).max(0.25).bitcast::<i32x4<S>>();
        let near = ((near - QUARTER_BITS) >> 18) & (!7 & (DIRECTORY_ENTRIES as i32 - 1));
        *out = (near | past).to_array();
    }
    out
}

/// Returns the fourth components of four vectors, without their signs.
#[inline(always)]
fn fourths<S: Simd>(a: i16x8<S>, b: i16x8<S>) -> i32x4<S> {
    let odd = a.bitcast::<i32x4<S>>().unzip_high(b.bitcast::<i32x4<S>>());
    (odd.bitcast::<fearless_simd::u32x4<S>>() >> 16).bitcast()
}

/// The class of the references by magnitude, at most 15. The other bytes of the lookup index are zero and
/// give class 0.
const CLASSES: [u8; 16] = [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4];

/// The lanes, words and raw bits of an access unit.
pub(in crate::mesh::decode) struct TokenStream<'a> {
    states: [u32; LANES],
    lanes: usize,
    words: &'a [u8],
    next: usize,
    raw: BitReader<'a>,
}

impl<'a> TokenStream<'a> {
    pub fn new(t: &CodedTokens<'a>) -> TokenStream<'a> {
        let (states, lanes, words) = (t.rans.states, t.lanes, t.rans.words);
        TokenStream { states, lanes, words, next: t.rans.next, raw: t.raw }
    }

    pub fn put_back(&self, t: &mut CodedTokens<'a>) {
        (t.rans.states, t.rans.next, t.raw) = (self.states, self.next, self.raw);
    }

    /// Decodes the residuals of a block of `count` vertices.
    #[inline(always)]
    pub fn block(
        &mut self,
        slots: &[Slots],
        directory: &[u32; DIRECTORY_ENTRIES],
        contexts: &[i32; BLOCK],
        count: usize,
    ) -> PointBlock<i16> {
        let slots = slots.as_flattened();
        let words = self.next_words();
        let mut taken = 0;
        let mut out = [[0i16; 4]; BLOCK];
        for (v, out) in out.iter_mut().enumerate().take(count) {
            let found = directory[contexts[v] as usize & (DIRECTORY_ENTRIES - 1)];
            let state = &mut self.states[v & (self.lanes - 1) & (LANES - 1)];
            let entry = slots[(found & 0xFF_F000 | *state & (TOTAL - 1)) as usize];
            let new = ((entry >> 8 & 0xFFF) + 1).wrapping_mul(*state >> 12).wrapping_add(entry >> 20);
            let takes = new < 1 << 16;
            let filled = new << 16 | u32::from(words[taken & (BLOCK - 1)]);
            *state = if takes { filled } else { new };
            taken += usize::from(takes);
            *out = match found >> 24 {
                0 if entry as u8 == ESCAPE => self.escape(),
                0 => self.plain(entry as u8),
                k => self.shifted(entry as u8, k),
            };
        }
        self.next += taken;
        out
    }

    /// Loads all words that a block can take; zeros beyond the end.
    #[inline(always)]
    fn next_words(&self) -> [u16; BLOCK] {
        let rest = self.words.get(2 * self.next..).unwrap_or(&[]);
        let mut bytes = [0; 2 * BLOCK];
        match rest.first_chunk() {
            Some(all) => bytes = *all,
            None => bytes[..rest.len()].copy_from_slice(rest),
        }
        let mut out = [0; BLOCK];
        for (out, two) in out.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *out = u16::from_le_bytes(*two);
        }
        out
    }

    /// Returns the residual of a token without a shift, and its magnitude.
    #[inline(always)]
    fn plain(&mut self, token: u8) -> [i16; 4] {
        let own = PLAIN[usize::from(token)];
        let bits = self.raw.peek() as u32;
        let [x, y, z] = &AXES;
        let at = |row: u32, bits: u32| (row << 3 & 0x78 | bits & 7) as usize;
        let sum = x[at(own, bits)];
        let bits = bits >> (own >> 4 & 3);
        let sum = sum.wrapping_add(y[at(own >> 8, bits)]);
        let bits = bits >> (own >> 12 & 3);
        let sum = sum.wrapping_add(z[at(own >> 16, bits)]);
        self.raw.skip(own >> 24);
        [sum as i16, (sum >> 16) as i16, (sum >> 32) as i16, (sum >> 48) as i16]
    }

    /// Returns the residual of a token with a shift of `k` bits, and its magnitude.
    #[inline(always)]
    fn shifted(&mut self, token: u8, k: u32) -> [i16; 4] {
        if token == ESCAPE {
            return self.escape();
        }
        let own = SHIFTED[usize::from(token)];
        let parity = (own >> 24) as i32;
        let mut bits = self.raw.peek();
        let mut count = 0;
        let mut axis = |own: u32| {
            let width = k + (own & 3);
            let negative = -(bits as i32 & 1);
            // The low bits, and above them those of the class.
            let low = (bits >> 1) as u32 & ((1 << width) - 1);
            bits >>= 1 + width;
            count += 1 + width;
            let a = ((own >> 2 & 7) << k).wrapping_add(low) as i32;
            2 * (a ^ negative) + parity
        };
        let q = [axis(own), axis(own >> 8), axis(own >> 16)];
        self.raw.skip(count);
        token::with_magnitude(q)
    }

    #[cold]
    fn escape(&mut self) -> [i16; 4] {
        token::with_magnitude(token::residual::<i16>(ESCAPE, 0, &mut self.raw))
    }
}

const BASE: [u32; 5] = [0, 1, 2, 3, 5];
const EXTRA: [u32; 5] = [0, 0, 0, 1, 2];

/// By token: for each axis eight bits, with its row of [`AXES`] in the low four and its number of raw bits in
/// the next two; above them the total number of raw bits.
static PLAIN: [u32; 256] = plain();

const fn plain() -> [u32; 256] {
    let mut out = [0; 256];
    let mut token = 0;
    while token < ESCAPE as usize {
        let parity = token / 125;
        let classes = [token / 25 % 5, token / 5 % 5, token % 5];
        let mut axis = 0;
        while axis < 3 {
            let class = classes[axis];
            let count = (parity > 0 || class > 0) as u32 + EXTRA[class];
            out[token] |= ((parity * 5 + class) as u32 | count << 4) << (8 * axis);
            out[token] += count << 24;
            axis += 1;
        }
        token += 1;
    }
    out
}

/// By token: for each axis eight bits, with the number of class bits in the low two and the first value of
/// the class in the next three; above them the parity.
static SHIFTED: [u32; 256] = shifted();

const fn shifted() -> [u32; 256] {
    let mut out = [0; 256];
    let mut token = 0;
    while token < ESCAPE as usize {
        let classes = [token / 25 % 5, token / 5 % 5, token % 5];
        let mut axis = 0;
        while axis < 3 {
            let class = classes[axis];
            out[token] |= (EXTRA[class] | BASE[class] << 2) << (8 * axis);
            axis += 1;
        }
        out[token] |= ((token / 125) as u32) << 24;
        token += 1;
    }
    out
}

/// By axis, row (parity and class) and three raw bits: the 16-bit value in the place of the axis, and its
/// magnitude in the fourth place. Sums of three entries do not overflow their places.
static AXES: [[u64; 128]; 3] = axes();

const fn axes() -> [[u64; 128]; 3] {
    let mut out = [[0; 128]; 3];
    let mut at = 0;
    while at < 80 {
        let (row, bits) = (at / 8, at as u32 % 8);
        let (parity, class) = ((row / 5) as u32, row % 5);
        let sign = (parity > 0 || class > 0) as u32;
        let extra = bits >> sign & ((1 << EXTRA[class]) - 1);
        let size = 2 * (BASE[class] + extra) + parity;
        let value = if sign & bits > 0 { size.wrapping_neg() as u16 } else { size as u16 };
        let mut axis = 0;
        while axis < 3 {
            out[axis][at] = (value as u64) << (16 * axis) | (size as u64) << 48;
            axis += 1;
        }
        at += 1;
    }
    out
}
