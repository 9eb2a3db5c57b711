//! AVX2: the tables and types shared by the decoders of tokens and of packed residuals. The order of vertices
//! in registers is 0 1 4 5 2 3 6 7, which results from shuffling 4-vectors within register halves.

#![allow(unsafe_code)]

use crate::mesh::token::ESCAPE;
use std::arch::x86_64::*;

/// By token, without and with a shift: the layout of its raw bits. Bits 0–2: sign bit present, per axis; 3–8:
/// number of class bits; 9–17: base of the class; 18: parity; 19–23: number of bits without shifted ones.
pub(in crate::mesh) static TOKEN_BITS: [[u32; 256]; 2] = token_bits();

pub(in crate::mesh) const fn token_bits() -> [[u32; 256]; 2] {
    let mut out = [[0; 256]; 2];
    let base = [0, 1, 2, 3, 5];
    let extra = [0, 0, 0, 1, 2];
    let mut shifted = 0;
    while shifted < 2 {
        let mut token = 0;
        while token < ESCAPE as usize {
            let parity = token / 125;
            let classes = [token / 25 % 5, token / 5 % 5, token % 5];
            let mut axis = 0;
            let mut entry = (parity as u32) << 18;
            let mut count = 0;
            while axis < 3 {
                let c = classes[axis];
                let sign = (shifted > 0 || parity > 0 || c > 0) as u32;
                entry |= sign << axis | extra[c] << (3 + 2 * axis) | base[c] << (9 + 3 * axis);
                count += sign + extra[c];
                axis += 1;
            }
            out[shifted][token] = entry | count << 19;
            token += 1;
        }
        shifted += 1;
    }
    out
}

/// By mask of the lanes that take a word: the index of the next word for each lane. Lanes are in the order of
/// `VERTEX_ORDER`.
pub(in crate::mesh) static REFILL_INDICES: [[u8; 8]; 256] = refill_indices();

/// The order of vertices in a register of 8, as a shuffle of 4-vectors produces and the next one consumes it.
pub(in crate::mesh) const VERTEX_ORDER: [usize; 8] = [0, 1, 4, 5, 2, 3, 6, 7];

pub(in crate::mesh) const fn refill_indices() -> [[u8; 8]; 256] {
    let mut out = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let mut lane = 0;
        while lane < 8 {
            let mut other = 0;
            while other < 8 {
                if VERTEX_ORDER[other] < VERTEX_ORDER[lane] && mask >> other & 1 == 1 {
                    out[mask][lane] += 1;
                }
                other += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    out
}

/// Bytes that can be read at and beyond their end, as zeros.
pub(in crate::mesh) struct Padded<'a> {
    pub(in crate::mesh) bytes: &'a [u8],
    /// The last bytes, then zeros.
    pub(in crate::mesh) end: [u8; 2 * PAD],
    /// The offset of `end` in `bytes`.
    pub(in crate::mesh) from: usize,
}

pub(in crate::mesh) const PAD: usize = 256;

impl<'a> Padded<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Padded<'a> {
        let from = bytes.len().saturating_sub(PAD);
        let mut end = [0; 2 * PAD];
        end[..bytes.len() - from].copy_from_slice(&bytes[from..]);
        Padded { bytes, end, from }
    }

    /// Returns a pointer from which at least 128 bytes can be read: those at `at`, or zeros beyond the end.
    #[inline(always)]
    pub(crate) fn pointer(&self, at: usize) -> *const u8 {
        if at + 128 <= self.bytes.len() {
            // SAFETY: inside.
            unsafe { self.bytes.as_ptr().add(at) }
        } else {
            // `at` lies behind `from`, since `end` holds the last 256 bytes.
            let at = (at.max(self.from) - self.from).min(2 * PAD - 128);
            // SAFETY: inside.
            unsafe { self.end.as_ptr().add(at) }
        }
    }
}

/// The residuals of a block of one frame, in the order of `VERTEX_ORDER`: 16 values of 16 bits per axis.
pub(in crate::mesh) struct BlockResiduals {
    pub(in crate::mesh) x: __m256i,
    pub(in crate::mesh) y: __m256i,
    pub(in crate::mesh) z: __m256i,
}

/// Returns the index in a [`BlockResiduals`] of vertex `v` of a block.
pub(in crate::mesh) fn residual_index(v: usize) -> usize {
    let (half, lane) = (v / 8, VERTEX_ORDER[v % 8]);
    lane / 4 * 8 + half * 4 + lane % 4
}

#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::mesh) fn load_i16x16(v: [i16; 16]) -> __m256i {
    // SAFETY: 32 bytes.
    unsafe { _mm256_loadu_si256(v.as_ptr().cast()) }
}
