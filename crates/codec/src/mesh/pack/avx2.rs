//! Decodes packed residuals with AVX2, with the same results as [`super::Unpacker`].

#![allow(unsafe_code)]

use crate::mesh::blocks::BLOCK;
use crate::mesh::pack::{self, Unpacker};
use crate::mesh::registers::avx2::{BlockResiduals, Padded, REFILL_INDICES, load_i16x16, residual_index};
use crate::mesh::token::BitReader;
use std::arch::x86_64::*;

/// The sections of packed residuals, with the read position in each.
pub struct PackedStream<'a> {
    flags: &'a [u8],
    flag: usize,
    codes: &'a [u8],
    code: usize,
    masks: &'a [u8],
    mask: usize,
    fields: Padded<'a>,
    bit: usize,
}

impl<'a> PackedStream<'a> {
    pub fn new(p: &Unpacker<'a>) -> PackedStream<'a> {
        PackedStream {
            flags: p.flags.bytes(),
            flag: p.flags.position(),
            codes: p.codes.bytes(),
            code: p.codes.position(),
            masks: p.masks,
            mask: p.mask,
            fields: Padded::new(p.fields.bytes()),
            bit: p.fields.position(),
        }
    }

    pub fn put_back(&self, p: &mut Unpacker<'a>) {
        p.flags = BitReader::at_bit(self.flags, self.flag);
        p.codes = BitReader::at_bit(self.codes, self.code);
        p.mask = self.mask;
        p.fields = BitReader::at_bit(self.fields.bytes, self.bit);
    }

    /// Decodes the residuals of a block of `count` vertices; `None` if all are zero.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub unsafe fn block(&mut self, count: usize) -> Option<BlockResiduals> {
        let byte = self.flags.get(self.flag >> 3).copied().unwrap_or(0);
        let set = byte >> (self.flag & 7) & 1 == 1;
        self.flag += 1;
        if !set {
            return None;
        }
        let byte = self.codes.get(self.code >> 3).copied().unwrap_or(0);
        let code = u32::from(byte) >> (self.code & 4) & 15;
        self.code += 4;
        let all = (1u32 << count) - 1;
        // SAFETY: the conditions are those of the enclosing function.
        Some(unsafe {
            match code {
                pack::WHOLE => self.whole(count),
                pack::DENSE.. => self.each(all, code - pack::DENSE + 1),
                _ => {
                    let bytes = self.masks.get(2 * self.mask..2 * self.mask + 2);
                    let mask = bytes.map_or(0, |m| u16::from_le_bytes([m[0], m[1]]));
                    self.mask += 1;
                    self.each(u32::from(mask), code + 1)
                }
            }
        })
    }

    /// Decodes fields of `w` ≤ 8 bits for the vertices in `mask`.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn each(&mut self, mask: u32, w: u32) -> BlockResiduals {
        let size = 1 + 3 * w;
        let bits = _mm256_setr_epi32(1, 2, 16, 32, 4, 8, 64, 128);
        let mut half = |mask: u32| {
            // The mask's bits in the order of a register.
            let own = (mask & 0xC3) | (mask & 0x0C) << 2 | (mask & 0x30) >> 2;
            // SAFETY: eight bytes of a table.
            let rank = unsafe { _mm_loadl_epi64(REFILL_INDICES[own as usize].as_ptr().cast()) };
            let rank = _mm256_cvtepu8_epi32(rank);
            let at = _mm256_mullo_epi32(rank, _mm256_set1_epi32(size as i32));
            let at = _mm256_add_epi32(at, _mm256_set1_epi32((self.bit & 7) as i32));
            let from = self.fields.pointer(self.bit >> 3);
            self.bit += (mask.count_ones() * size) as usize;
            // SAFETY: 8 vertices of at most 25 bits lie within 128 bytes.
            let word = unsafe { _mm256_i32gather_epi32::<1>(from.cast(), _mm256_srli_epi32::<3>(at)) };
            let word = _mm256_srlv_epi32(word, _mm256_and_si256(at, _mm256_set1_epi32(7)));
            let set = _mm256_and_si256(_mm256_set1_epi32(mask as i32), bits);
            let word = _mm256_and_si256(word, _mm256_cmpeq_epi32(set, bits));
            let parity = _mm256_and_si256(word, _mm256_set1_epi32(1));
            let right = _mm_cvtsi32_si128(31 - w as i32);
            let axis = |k: u32| {
                // Twice the field, whose highest bit is (k + 1)·w.
                let left = _mm_cvtsi32_si128(31 - ((k + 1) * w) as i32);
                let twice = _mm256_sra_epi32(_mm256_sll_epi32(word, left), right);
                let even = _mm256_andnot_si256(_mm256_set1_epi32(1), twice);
                _mm256_or_si256(even, parity)
            };
            [axis(0), axis(1), axis(2)]
        };
        let (a, b) = (half(mask & 255), half(mask >> 8));
        BlockResiduals {
            x: _mm256_packs_epi32(a[0], b[0]),
            y: _mm256_packs_epi32(a[1], b[1]),
            z: _mm256_packs_epi32(a[2], b[2]),
        }
    }

    /// Decodes the full-width fields of `count` vertices.
    #[cold]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn whole(&mut self, count: usize) -> BlockResiduals {
        let mut bits = BitReader::at_bit(self.fields.bytes, self.bit);
        let mut out = [[0i16; BLOCK]; 3];
        for v in 0..count {
            for axis in &mut out {
                axis[residual_index(v)] = bits.read(16) as i16;
            }
        }
        self.bit = bits.position();
        let [x, y, z] = out.map(|v| load_i16x16(v));
        BlockResiduals { x, y, z }
    }
}
