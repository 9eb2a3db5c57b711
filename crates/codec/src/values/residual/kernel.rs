//! Kernels of the residuals: byte planes are joined by the reference's own loops, compiled for wider
//! registers, and 32 tokens at a time are decoded through table look-ups inside registers.
//!
//! A token has 7 bits, and a look-up 4: each table of 128 entries is split into eight of 16. The one that the
//! upper bits select gives the residual, the others give zero.

use super::alphabet::Alphabet;
use crate::quantize::code::Code;
use crate::simd::Kernel;
use crate::simd::doubles::Doubles;
use fearless_simd::prelude::*;
use fearless_simd::{i8x16, i8x32, u8x32, u16x16};

/// The number of tokens decoded at a time.
const LANES: usize = 32;
/// The number of tables of 16 entries.
const PARTS: usize = 8;

/// See [`super::alphabet::join`].
pub(super) struct Join<'a, W> {
    pub(super) planes: [&'a [u8]; 4],
    pub(super) out: &'a mut [W],
}

impl<W: Code> Kernel for Join<'_, W> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) {
        super::alphabet::join(self.planes, self.out);
    }
}

/// Decodes `tokens` into one plane per component; escaped vectors become zeros. Only whole blocks of 32 are
/// decoded. Returns their number of vectors and the largest token; if that is not a valid token, the vectors
/// are meaningless.
pub(super) struct Tokens<'a, const N: usize> {
    pub(super) alphabet: &'a Alphabet,
    pub(super) tokens: &'a [u8],
    pub(super) planes: [&'a mut [u16]; N],
}

impl<const N: usize> Kernel for Tokens<'_, N> {
    type Out = (usize, u8);

    #[inline(always)]
    fn run<S: Doubles>(mut self, simd: S) -> (usize, u8) {
        let (blocks, _) = self.tokens.as_chunks::<LANES>();
        let mut tables = [[i8x32::splat(simd, 0); PARTS]; N];
        for (tables, residual) in tables.iter_mut().zip(&self.alphabet.residual) {
            for (table, part) in tables.iter_mut().zip(residual.as_chunks::<16>().0) {
                *table = i8x32::block_splat(i8x16::simd_from(simd, *part));
            }
        }
        let mut largest = u8x32::splat(simd, 0);
        for (block, tokens) in blocks.iter().enumerate() {
            let tokens = u8x32::simd_from(simd, *tokens);
            largest = largest.max(tokens);
            let mut residuals = [i8x32::splat(simd, 0); N];
            for part in 0..PARTS {
                // 0x70 to 0x7F if this table is selected, else the top bit is set.
                let inside = tokens - (16 * part as u8);
                let index = inside.saturating_add(0x70);
                for (residual, tables) in residuals.iter_mut().zip(&tables) {
                    *residual |= simd.bytes_or_zero(tables[part], index);
                }
            }
            for (residual, plane) in residuals.into_iter().zip(&mut self.planes) {
                let (low, high) = residual.widen();
                let out = &mut plane[LANES * block..][..LANES];
                low.bitcast::<u16x16<S>>().store_slice(&mut out[..16]);
                high.bitcast::<u16x16<S>>().store_slice(&mut out[16..]);
            }
        }
        (LANES * blocks.len(), largest.to_array().into_iter().fold(0, u8::max))
    }
}
