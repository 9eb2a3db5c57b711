//! Decodes packed residuals, with the same results as [`super::Unpacker`], for instruction sets without a
//! kernel of their own. The fields of four vertices lie within sixteen bytes: a byte lookup moves each to its
//! lane, a shift aligns it there, and shifts separate its components.

use crate::mesh::blocks::{BLOCK, PointBlock};
use crate::mesh::pack::{self, Unpacker};
use crate::mesh::token::{BitReader, with_magnitude};
use crate::quantize::fixed_point::FixedPoint;
use crate::simd::doubles::{self, Doubles};
use fearless_simd::prelude::*;
use fearless_simd::{i32x8, u32x4};

/// The sections of packed residuals.
pub struct PackedStream<'a>(Unpacker<'a>);

impl<'a> PackedStream<'a> {
    pub fn new(p: &Unpacker<'a>) -> PackedStream<'a> {
        PackedStream(p.clone())
    }

    pub fn put_back(&self, p: &mut Unpacker<'a>) {
        *p = self.0.clone();
    }

    /// Decodes the residuals of a block of `count` vertices, with their magnitudes; entries beyond them are
    /// unspecified. `None` if all are zero.
    #[inline(always)]
    pub fn block<S: Doubles, W: FixedPoint>(&mut self, simd: S, count: usize) -> Option<PointBlock<W>> {
        let own = &mut self.0;
        if own.flags.read(1) == 0 {
            return None;
        }
        let code = own.codes.read(4);
        Some(match code {
            pack::WHOLE => whole(&mut own.fields, count),
            pack::DENSE.. => {
                let all = ((1u32 << count) - 1) as u16;
                each(simd, &mut own.fields, all, code - pack::DENSE).map(W::from_i16)
            }
            _ => {
                let at = 2 * own.mask;
                own.mask += 1;
                let bytes = own.masks.get(at..at + 2);
                let mask = bytes.map_or(0, |m| u16::from_le_bytes([m[0], m[1]]));
                each(simd, &mut own.fields, mask, code).map(W::from_i16)
            }
        })
    }
}

/// Decodes fields of 1 + 3·w bits for the vertices in `mask`, w = `less` + 1; others are zero.
#[inline(always)]
fn each<S: Doubles>(simd: S, fields: &mut BitReader, mask: u16, less: u32) -> PointBlock<i16> {
    let w = less + 1;
    let size = 1 + 3 * w as usize;
    let mut out = [[0; 4]; BLOCK];
    let mut first = fields.position();
    for (out, mask) in out.as_chunks_mut::<8>().0.iter_mut().zip(mask.to_le_bytes()) {
        // A byte for each vertex: 1 if it is in the mask; and the number of those before it.
        let bits = u64::from(mask).wrapping_mul(LOW_BITS) & 0x8040_2010_0804_0201;
        let set = (bits + 0x7F7F_7F7F_7F7F_7F7F) >> 7 & LOW_BITS;
        let before = set.wrapping_mul(LOW_BITS) - set;
        // The fields of four vertices take at most 100 bits, so they are loaded at once.
        let four = (before >> 32 & 0xFF) as usize * size;
        let (a, b) = (first, first + four);
        let moves = [(a & 7) as u32, ((b & 7) as u32).wrapping_sub(four as u32)];
        let moves = u32x4::splat(simd, moves[0]).combine(u32x4::splat(simd, moves[1]));
        let at = doubles::each_byte(simd, before) * size as u32 + moves;
        let windows = [window(fields.bytes(), a >> 3), window(fields.bytes(), b >> 3)];
        let word = doubles::bits_at(simd, windows, at) & -doubles::each_byte(simd, set).bitcast::<i32x8<S>>();
        let parity = word & 1;
        // Twice the field, whose highest bit is k·w.
        let axis = |k: u32| (((word << (31 - k * w)) >> (31 - w)) & !1) | parity;
        let (x, y, z) = (axis(1), axis(2), axis(3));
        let magnitude = x.abs() + y.abs() + z.abs();
        let (xy, xy2) = ((x & 0xFFFF) | (y << 16)).split();
        let (zs, zs2) = ((z & 0xFFFF) | (magnitude << 16)).split();
        let rows: &mut [i32; 16] = bytemuck::cast_mut(out);
        xy.zip_low(zs).store_slice(&mut rows[..4]);
        xy.zip_high(zs).store_slice(&mut rows[4..8]);
        xy2.zip_low(zs2).store_slice(&mut rows[8..12]);
        xy2.zip_high(zs2).store_slice(&mut rows[12..]);
        first += mask.count_ones() as usize * size;
    }
    fields.skip((first - fields.position()) as u32);
    out
}

/// The lowest bit of each byte.
const LOW_BITS: u64 = 0x0101_0101_0101_0101;

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

/// Decodes the full-width fields of `count` vertices.
#[cold]
pub(super) fn whole<W: FixedPoint>(fields: &mut BitReader, count: usize) -> PointBlock<W> {
    let mut out = [[W::default(); 4]; BLOCK];
    for out in &mut out[..count] {
        let mut axis = || W::wrap(fields.read(W::BITS) as i32).to_i32();
        *out = with_magnitude([axis(), axis(), axis()]);
    }
    out
}
