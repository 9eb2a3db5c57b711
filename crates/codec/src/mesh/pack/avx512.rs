//! Decodes packed residuals with AVX-512, with the same results as [`super::Unpacker`].

#![allow(unsafe_code)]

use crate::mesh::blocks::PointBlock;
use crate::mesh::pack::{self, Unpacker};
use crate::mesh::registers::avx2::Padded;
use crate::mesh::registers::avx512::{AXES, Vectors, kernel};
use crate::mesh::token::BitReader;
use crate::quantize::fixed_point::FixedPoint;
use std::arch::x86_64::*;

/// The sections of packed residuals, with the read position in each.
pub struct PackedStream<'a> {
    flags: &'a [u8],
    flag: usize,
    codes: &'a [u8],
    code: usize,
    masks: &'a [u8],
    mask: usize,
    rest: Padded<'a>,
    bit: usize,
}

/// The positions of the fields of eight vertices, for one width of fields and one first bit within the first
/// byte.
#[repr(C, align(64))]
struct FieldPositions {
    /// The two bytes that contain each field.
    bytes: [u8; 64],
    /// The bit at which the field begins in them.
    right: [u16; 32],
}

/// By width of fields: shifts of each 16-bit word to the left and back, which leave twice the field, and the
/// parity alone in the fourth word.
static SHIFTS: [[i64; 2]; 16] = shifts();

const fn shifts() -> [[i64; 2]; 16] {
    let mut out = [[0; 2]; 16];
    let mut w = 1;
    while w < 9 {
        let each = 1 << 32 | 1 << 16 | 1;
        out[w] = [(15 << 48) | ((16 - w as i64) * each), (15 << 48) | ((15 - w as i64) * each)];
        w += 1;
    }
    out
}

static FIELD_POSITIONS: [[FieldPositions; 8]; 9] = field_positions();

const fn field_positions() -> [[FieldPositions; 8]; 9] {
    let mut out = [const { [const { FieldPositions { bytes: [0; 64], right: [0; 32] } }; 8] }; 9];
    let mut w = 1;
    while w < 9 {
        let mut first = 0;
        while first < 8 {
            let mut word = 0;
            while word < 32 {
                // The parity, which comes first, goes into the fourth word.
                let field = [1, 1 + w, 1 + 2 * w, 0][word % 4];
                let bit = first + word / 4 * (1 + 3 * w) + field;
                out[w][first].bytes[2 * word] = (bit / 8) as u8;
                out[w][first].bytes[2 * word + 1] = (bit / 8 + 1) as u8;
                out[w][first].right[word] = (bit % 8) as u16;
                word += 1;
            }
            first += 1;
        }
        w += 1;
    }
    out
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
            rest: Padded::new(p.fields.bytes()),
            bit: p.fields.position(),
        }
    }

    pub fn put_back(&self, p: &mut Unpacker<'a>) {
        p.flags = BitReader::at_bit(self.flags, self.flag);
        p.codes = BitReader::at_bit(self.codes, self.code);
        p.mask = self.mask;
        p.fields = BitReader::at_bit(self.rest.bytes, self.bit);
    }

    /// Moves to the next block; `true` if it is not all zero.
    #[inline(always)]
    pub fn next(&mut self) -> bool {
        let byte = self.flags.get(self.flag >> 3).copied().unwrap_or(0);
        let set = byte >> (self.flag & 7) & 1 == 1;
        self.flag += 1;
        set
    }

    kernel! {
    /// Decodes the residuals of a block that is not all zero, for the active vertices, with their magnitudes.
    pub unsafe fn block(&mut self, active: __mmask16) -> Vectors {
        // SAFETY: the conditions are those of the enclosing function; 128 bytes.
        unsafe {
            self.fields(active).unwrap_or_else(|| {
                let out = self.whole::<i16>(active.count_ones() as usize);
                let from = out.as_ptr();
                [_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(8).cast())]
            })
        }
    }
    }

    kernel! {
    /// The same for residuals of 32 bits.
    pub unsafe fn wide_block(&mut self, active: __mmask16) -> [__m512i; 4] {
        // SAFETY: the conditions are those of the enclosing function; 256 bytes.
        unsafe {
            let Some([a, b]) = self.fields(active) else {
                let out = self.whole::<i32>(active.count_ones() as usize);
                let from = out.as_ptr();
                return [0, 4, 8, 12].map(|v| _mm512_loadu_si512(from.add(v).cast()));
            };
            let low = |half: __m512i| _mm512_cvtepi16_epi32(_mm512_castsi512_si256(half));
            let high = |half: __m512i| _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64::<1>(half));
            [low(a), high(a), low(b), high(b)]
        }
    }
    }

    kernel! {
    /// Decodes the next block, which is not all zero, unless its fields have full width.
    unsafe fn fields(&mut self, active: __mmask16) -> Option<Vectors> {
        let byte = self.codes.get(self.code >> 3).copied().unwrap_or(0);
        let code = u32::from(byte) >> (self.code & 4) & 15;
        self.code += 4;
        let (mask, w) = match code {
            pack::WHOLE => return None,
            pack::DENSE.. => (active, code - pack::DENSE + 1),
            _ => {
                let bytes = self.masks.get(2 * self.mask..2 * self.mask + 2);
                self.mask += 1;
                (bytes.map_or(0, |m| u16::from_le_bytes([m[0], m[1]])), code + 1)
            }
        };
        let [left, right] = SHIFTS[w as usize & 15].map(|s| _mm512_set1_epi64(s));
        // SAFETY: the conditions are those of the enclosing function.
        unsafe {
            Some([
                self.half(mask as u8, w as usize, left, right),
                self.half((mask >> 8) as u8, w as usize, left, right),
            ])
        }
    }
    }

    kernel! {
    /// Decodes the fields of those of eight vertices that are in `mask`.
    unsafe fn half(&mut self, mask: u8, w: usize, left: __m512i, right: __m512i) -> __m512i {
        let deal = &FIELD_POSITIONS[w][self.bit & 7];
        let from = self.rest.pointer(self.bit >> 3);
        self.bit += mask.count_ones() as usize * (1 + 3 * w);
        // SAFETY: 128 bytes can be read, and a table has 64.
        let (bytes, from, first) = unsafe {
            (
                _mm512_loadu_si512(from.cast()),
                _mm512_load_si512(deal.bytes.as_ptr().cast()),
                _mm512_load_si512(deal.right.as_ptr().cast()),
            )
        };
        let words = _mm512_srlv_epi16(_mm512_permutexvar_epi8(from, bytes), first);
        let words = _mm512_srav_epi16(_mm512_sllv_epi16(words, left), right);
        let words = _mm512_maskz_expand_epi64(mask, words);
        // v = 2·field + parity; the fourth word holds −parity.
        let fourth = _mm512_set1_epi64(0x8080_0706_0706_0706_u64 as i64);
        let lanes = _mm512_set4_epi32(0x0808_0808, 0x0808_0808, 0, 0);
        let parity = _mm512_shuffle_epi8(words, _mm512_or_si512(fourth, lanes));
        let q = _mm512_maskz_sub_epi16(AXES, words, parity);
        // The magnitude is at most 3 · 257.
        let sum = _mm512_madd_epi16(_mm512_abs_epi16(q), _mm512_set1_epi16(1));
        let sum = _mm512_add_epi32(sum, _mm512_srli_epi64::<32>(sum));
        _mm512_or_si512(q, _mm512_slli_epi64::<48>(sum))
    }
    }

    /// Decodes the full-width fields of `count` vertices.
    fn whole<W: FixedPoint>(&mut self, count: usize) -> PointBlock<W> {
        let mut bits = BitReader::at_bit(self.rest.bytes, self.bit);
        let out = pack::narrow::whole(&mut bits, count);
        self.bit = bits.position();
        out
    }
}
