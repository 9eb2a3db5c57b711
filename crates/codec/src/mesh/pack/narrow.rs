//! Decodes packed residuals in 128-bit registers, with the same results as [`super::Unpacker`]. The fields of
//! four vertices lie within sixteen bytes: a byte lookup moves each to its lane, a multiplication aligns it
//! there, and shifts separate its components.

use crate::mesh::blocks::{BLOCK, PointBlock};
use crate::mesh::pack::{self, Unpacker};
use crate::mesh::token::{BitReader, with_magnitude};
use fearless_simd::prelude::*;
use fearless_simd::{i32x4, u8x16, u32x4};

/// The sections of packed residuals.
pub struct PackedStream<'a>(Unpacker<'a>);

impl<'a> PackedStream<'a> {
    pub fn new(p: &Unpacker<'a>) -> PackedStream<'a> {
        PackedStream(p.clone())
    }

    pub fn put_back(&self, p: &mut Unpacker<'a>) {
        *p = self.0.clone();
    }

    /// Decodes the residuals of a block of `count` vertices; entries beyond them are unspecified. `None` if
    /// all are zero.
    #[inline(always)]
    pub fn block<S: Simd>(&mut self, simd: S, count: usize) -> Option<PointBlock<i16>> {
        let own = &mut self.0;
        if own.flags.read(1) == 0 {
            return None;
        }
        let code = own.codes.read(4);
        Some(match code {
            pack::WHOLE => whole(&mut own.fields, count),
            pack::DENSE.. => each(simd, &mut own.fields, count, code - pack::DENSE),
            _ => {
                let at = 2 * own.mask;
                own.mask += 1;
                let bytes = own.masks.get(at..at + 2);
                let mask = bytes.map_or(0, |m| u16::from_le_bytes([m[0], m[1]]));
                let some = each(simd, &mut own.fields, mask.count_ones() as usize, code);
                spread(some, mask)
            }
        })
    }
}

/// Decodes `count` fields of 1 + 3·w bits, w = `less` + 1.
#[inline(always)]
fn each<S: Simd>(simd: S, fields: &mut BitReader, count: usize, less: u32) -> PointBlock<i16> {
    let w = less + 1;
    let size = 1 + 3 * w as usize;
    let mut out = [[0; 4]; BLOCK];
    let first = fields.position();
    for (four, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        if 4 * four >= count {
            break;
        }
        let at = first + 4 * four * size;
        let lane = &FIELD_MOVES[less as usize & 7][at & 7];
        let bytes = u8x16::simd_from(simd, window(fields.bytes(), at >> 3));
        let bytes = bytes.swizzle_dyn_within_blocks(u8x16::simd_from(simd, lane.bytes));
        let word = bytes.bitcast::<i32x4<S>>() * i32x4::simd_from(simd, lane.factors);
        let parity = (word.bitcast::<u32x4<S>>() >> 7).bitcast::<i32x4<S>>() & 1;
        // Twice the field, whose highest bit is 7 + k·w.
        let axis = |k: u32| (((word << (24 - k * w)) >> (31 - w)) & !1) | parity;
        let (x, y, z) = (axis(1), axis(2), axis(3));
        let size = x.max(-x) + y.max(-y) + z.max(-z);
        let xy = (x & 0xFFFF) | (y << 16);
        let zs = (z & 0xFFFF) | (size << 16);
        let rows: &mut [i32; 8] = bytemuck::cast_mut(out);
        xy.zip_low(zs).store_slice(&mut rows[..4]);
        xy.zip_high(zs).store_slice(&mut rows[4..]);
    }
    fields.skip((count * size) as u32);
    out
}

/// Returns sixteen bytes from `at` on; zeros beyond the end.
#[inline(always)]
fn window(bytes: &[u8], at: usize) -> [u8; 16] {
    let rest = bytes.get(at..).unwrap_or(&[]);
    match rest.first_chunk() {
        Some(all) => *all,
        None => {
            let mut out = [0; 16];
            out[..rest.len()].copy_from_slice(rest);
            out
        }
    }
}

/// Moves the first vectors, in order, to where the mask has a bit; others are zero.
#[inline(always)]
fn spread(some: PointBlock<i16>, mask: u16) -> PointBlock<i16> {
    let some: [u64; BLOCK] = bytemuck::cast(some);
    let mut out = [0u64; BLOCK];
    let mut next = 0;
    for (v, out) in out.iter_mut().enumerate() {
        let set = u64::from(mask >> v & 1);
        *out = some[next & (BLOCK - 1)] & set.wrapping_neg();
        next += set as usize;
    }
    bytemuck::cast(out)
}

/// Decodes the full-width fields of `count` vertices.
#[cold]
fn whole(fields: &mut BitReader, count: usize) -> PointBlock<i16> {
    let mut out = [[0; 4]; BLOCK];
    for out in &mut out[..count] {
        let mut axis = || fields.read(16) as i16;
        *out = with_magnitude([axis(), axis(), axis()].map(i32::from));
    }
    bytemuck::cast(out)
}

/// The steps that move the fields of four vertices to their lanes.
#[derive(Clone, Copy)]
struct FieldMoves {
    /// The index of each byte to load.
    bytes: [u8; 16],
    /// The factors that move the first bit of each lane to bit 7.
    factors: [i32; 4],
}

/// By w − 1 and the first bit.
static FIELD_MOVES: [[FieldMoves; 8]; 8] = field_moves();

const fn field_moves() -> [[FieldMoves; 8]; 8] {
    let mut out = [[FieldMoves { bytes: [0; 16], factors: [0; 4] }; 8]; 8];
    let mut at = 0;
    while at < 64 * 4 {
        let (less, first, lane) = (at / 32, at / 4 % 8, at % 4);
        let bit = first + lane * (4 + 3 * less);
        let mut byte = 0;
        while byte < 4 {
            out[less][first].bytes[4 * lane + byte] = (bit / 8 + byte) as u8;
            byte += 1;
        }
        out[less][first].factors[lane] = 1 << (7 - bit % 8);
        at += 1;
    }
    out
}
