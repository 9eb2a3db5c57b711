//! Packed residuals with AVX2: the same bits as [`super::Unpacker`].

#![allow(unsafe_code)]

use super::super::avx2::{Padded, Residual};
use super::super::token::BitReader;
use super::{self as pack, Unpacker};
use std::arch::x86_64::*;

/// Packed residuals.
pub struct Fields<'a> {
    flags: &'a [u8],
    flag: usize,
    codes: &'a [u8],
    code: usize,
    masks: &'a [u8],
    mask: usize,
    planes: Padded<'a>,
    bit: usize,
}

impl<'a> Fields<'a> {
    pub fn new(p: &Unpacker<'a>) -> Fields<'a> {
        Fields {
            flags: p.flags.bytes(),
            flag: p.flags.position(),
            codes: p.codes.bytes(),
            code: p.codes.position(),
            masks: p.masks,
            mask: p.mask,
            planes: Padded::new(p.planes.bytes()),
            bit: p.planes.position(),
        }
    }

    pub fn put_back(&self, p: &mut Unpacker<'a>) {
        p.flags = BitReader::at(self.flags, self.flag);
        p.codes = BitReader::at(self.codes, self.code);
        p.mask = self.mask;
        p.planes = BitReader::at(self.planes.bytes, self.bit);
    }

    /// Residuals of a block of `count` vertices; None if all are zero.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub unsafe fn block(&mut self, count: usize) -> Option<Residual> {
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
        // SAFETY: as here.
        Some(unsafe {
            match code {
                pack::WHOLE => {
                    let x = self.planes_of(all, 16);
                    let y = self.planes_of(all, 16);
                    let z = self.planes_of(all, 16);
                    Residual { x, y, z }
                }
                pack::DENSE.. => self.fields(all, code - pack::DENSE + 1),
                _ => {
                    let bytes = self.masks.get(2 * self.mask..2 * self.mask + 2);
                    let mask = bytes.map_or(0, |m| u16::from_le_bytes([m[0], m[1]]));
                    self.mask += 1;
                    self.fields(u32::from(mask), code + 1)
                }
            }
        })
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn fields(&mut self, mask: u32, w: u32) -> Residual {
        // SAFETY: as here.
        let [p, x, y, z] = unsafe {
            let p = self.planes_of(mask, 1);
            [
                p,
                self.planes_of(mask, w),
                self.planes_of(mask, w),
                self.planes_of(mask, w),
            ]
        };
        let join = |v: __m256i| _mm256_sub_epi16(_mm256_add_epi16(v, v), p);
        Residual {
            x: join(x),
            y: join(y),
            z: join(z),
        }
    }

    /// Numbers of `w` ≤ 16 bits of the vertices in `mask`.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn planes_of(&mut self, mask: u32, w: u32) -> __m256i {
        // Bits of the vertices in the order of a residual.
        let bits = _mm256_setr_epi16(
            1, 2, 16, 32, 256, 512, 4096, 8192, //
            4, 8, 64, 128, 1024, 2048, 16384, -32768,
        );
        let n = mask.count_ones() as usize;
        let from = self.planes.at(self.bit >> 3);
        let mut at = self.bit & 7;
        self.bit += n * w as usize;
        let mut plane = || {
            // SAFETY: at most 16 planes of 16 bits lie within 128 bytes.
            let word = unsafe { from.add(at >> 3).cast::<u32>().read_unaligned() };
            let plane = _pdep_u32(word >> (at & 7), mask);
            at += n;
            let set = _mm256_and_si256(_mm256_set1_epi16(plane as i16), bits);
            _mm256_cmpeq_epi16(set, bits)
        };
        // The highest plane is the sign: 0 or −1, as it is.
        let mut out = plane();
        for _ in 1..w {
            out = _mm256_sub_epi16(_mm256_add_epi16(out, out), plane());
        }
        out
    }
}
