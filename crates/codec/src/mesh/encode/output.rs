//! The tokens, raw bits and residuals of coded frames, and the bytes of an access unit made from them.

use super::coding::{CodingTables, wrapped};
use crate::bytes::put_varint;
use crate::entropy::rans::{self, LANES};
use crate::mesh::hierarchy::Hierarchy;
use crate::mesh::pack::{self, Packer};
use crate::mesh::token::{self, BitWriter, ESCAPE, RAW_BITS};
use crate::mesh::{blocks, tables};
use crate::quantize::fixed_point::FixedPoint;
use std::ops::Range;

/// The tokens and raw bits of an access unit before entropy coding.
#[derive(Debug, Default, Clone)]
pub struct UnitBuilder {
    pub heads: BitWriter,
    /// Context · 256 + token, frame by frame.
    pub symbols: Vec<u32>,
    /// The raw bits of each symbol; for an escape its index in `escapes`.
    pub raw: Vec<u64>,
    /// The residuals of escapes.
    pub escapes: Vec<[i32; 3]>,
    /// The layer of each frame.
    pub layers: Vec<usize>,
    /// The number of raw bits of an escape.
    pub escape: u32,
    /// The residuals as the decoder reads them, frame by frame; only if they will be packed.
    pub residuals: Option<Vec<[i32; 3]>>,
}

impl UnitBuilder {
    pub fn reserve(&mut self, points: usize) {
        match &mut self.residuals {
            Some(residuals) => residuals.reserve(points),
            None => {
                self.symbols.reserve(points);
                self.raw.reserve(points);
            }
        }
    }

    /// Appends the residual of a vertex; returns it as the decoder reads it.
    #[inline(always)]
    pub fn put_token<W: FixedPoint>(&mut self, q: [i32; 3], context: usize) -> [i32; 3] {
        let k = tables::shift(tables::context_neighbour_class(context));
        self.escape = 3 * W::BITS;
        let (token, raw) = match token::try_split(q, k) {
            Some((token, bits, _)) => (token, bits),
            None => {
                self.escapes.push(q);
                (ESCAPE, self.escapes.len() as u64 - 1)
            }
        };
        self.symbols.push((context as u32) << 8 | u32::from(token));
        self.raw.push(raw);
        match token {
            // The components of an escape wrap.
            ESCAPE => [wrapped::<W>(q[0]), wrapped::<W>(q[1]), wrapped::<W>(q[2])],
            _ => q,
        }
    }

    /// Returns the bytes of the access unit with these frames.
    pub fn finish(mut self, hierarchy: &Hierarchy, coding: &CodingTables) -> Vec<u8> {
        self.escape_unknown(coding);
        let heads = std::mem::take(&mut self.heads).finish();
        let zero =
            |s: &u32| *s as u8 == 0 && tables::shift(tables::context_neighbour_class((s >> 8) as usize)) == 0;
        let residuals = self.residuals.take();
        let moves = residuals.iter().flatten().any(|q| *q != [0; 3]);
        if self.symbols.iter().all(zero) && !moves {
            return [&[0], &heads[..]].concat();
        }
        if let Some(residuals) = residuals {
            return self.packed(hierarchy, &residuals, &heads);
        }
        let log = lanes_log(self.symbols.len(), hierarchy.order.len());
        let lanes = 1usize << log;
        let mut coder = rans::Encoder::default();
        let mut raw = BitWriter::default();
        let (points, frames) = (hierarchy.order.len(), self.layers.len());
        let mut blocks = Vec::new();
        for_blocks(hierarchy, |block, first| {
            for start in (0..frames).map(|f| f * points) {
                for v in block.clone() {
                    self.put_raw(start + v, &mut raw);
                }
            }
            blocks.push((block, first));
        });
        for (block, first) in blocks.iter().rev() {
            for start in (0..frames).rev().map(|f| f * points) {
                for v in block.clone().rev() {
                    let symbol = self.symbols[start + v];
                    let range = coding.range((symbol >> 8) as usize, symbol as u8);
                    coder.push_front((v - first) & (lanes - 1), range);
                }
            }
        }
        let (states, words) = coder.finish();
        let raw = raw.finish();
        let mut out = Vec::with_capacity(80 + heads.len() + 2 * words.len() + raw.len());
        out.push(1 | (log as u8) << 2);
        out.extend_from_slice(&heads);
        put_varint(words.len() as u32, &mut out);
        let states = &states[..lanes];
        states.iter().for_each(|s| out.extend_from_slice(&s.to_le_bytes()));
        words.iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        out.extend_from_slice(&raw);
        out
    }

    /// Returns the bytes of the access unit with packed residuals.
    fn packed(&self, hierarchy: &Hierarchy, residuals: &[[i32; 3]], heads: &[u8]) -> Vec<u8> {
        let mut packer = Packer::default();
        let (points, frames) = (hierarchy.order.len(), self.layers.len());
        for_blocks(hierarchy, |block, _| {
            for start in (0..frames).map(|f| f * points) {
                let block = start + block.start..start + block.end;
                packer.push_block(&residuals[block], self.escape / 3);
            }
        });
        let mut out = vec![2];
        out.extend_from_slice(heads);
        packer.finish(&mut out);
        out
    }

    /// Replaces tokens that the tables lack by escapes.
    fn escape_unknown(&mut self, coding: &CodingTables) {
        for (symbol, raw) in self.symbols.iter_mut().zip(&mut self.raw) {
            let (context, token) = ((*symbol >> 8) as usize, *symbol as u8);
            if coding.range(context, token).1 == 0 {
                let k = tables::shift(tables::context_neighbour_class(context));
                self.escapes.push(token::join(token, *raw, k));
                *raw = self.escapes.len() as u64 - 1;
                *symbol = *symbol & !0xFF | u32::from(ESCAPE);
            }
        }
    }

    #[inline(always)]
    fn put_raw(&self, n: usize, out: &mut BitWriter) {
        let symbol = self.symbols[n];
        let token = symbol as u8;
        if token == ESCAPE {
            let width = self.escape / 3;
            let mask = (1u128 << width) - 1;
            let q = self.escapes[self.raw[n] as usize];
            let part = |a: usize| (q[a] as u32 as u128 & mask) << (a as u32 * width);
            out.write(part(0) | part(1) | part(2), self.escape);
            return;
        }
        let k = tables::shift(tables::context_neighbour_class((symbol >> 8) as usize));
        let count = u32::from(RAW_BITS[k as usize][usize::from(token)]);
        if count > 0 {
            out.write(u128::from(self.raw[n]), count);
        }
    }

    /// Returns the symbols of the frame coded as number `n`.
    pub fn symbols_of(&self, hierarchy: &Hierarchy, n: usize) -> &[u32] {
        let points = hierarchy.order.len();
        self.symbols.get(n * points..(n + 1) * points).unwrap_or_default()
    }

    /// Returns the raw bits of that frame, and the bits of its packed residuals; one of the two is 0.
    pub fn plain_bits(&self, hierarchy: &Hierarchy, n: usize) -> (usize, usize) {
        if let Some(residuals) = &self.residuals {
            let start = n * hierarchy.order.len();
            let mut sum = 0;
            for_blocks(hierarchy, |block, _| {
                let block = start + block.start..start + block.end;
                sum += pack::bits(&residuals[block], self.escape / 3);
            });
            return (0, sum);
        }
        let raw = |symbol: &u32| match *symbol as u8 {
            ESCAPE => self.escape as usize,
            token => {
                let k = tables::shift(tables::context_neighbour_class((symbol >> 8) as usize));
                usize::from(RAW_BITS[k as usize][usize::from(token)])
            }
        };
        let raw = self.symbols_of(hierarchy, n).iter().map(raw);
        (raw.sum(), 0)
    }
}

/// Calls `each` with every block of every level, and with the first vertex of the level.
fn for_blocks(hierarchy: &Hierarchy, mut each: impl FnMut(Range<usize>, usize)) {
    for level in 0..hierarchy.level_count() {
        let range = hierarchy.level(level);
        blocks::blocks(range.clone()).for_each(|block| each(block, range.start));
    }
}

/// Returns log₂ of the number of lanes, limited so that states take a small part of the unit.
fn lanes_log(symbols: usize, points: usize) -> u32 {
    let most = LANES.ilog2();
    let by_points = (points / 64).max(1).ilog2();
    let by_symbols = (symbols / 1024).max(1).ilog2();
    most.min(by_points).min(by_symbols)
}
