//! The contexts in which bases are coded, the stride of changing states, and chances as a byte.

use crate::entropy::range::{BitCoder, Chance};

// Part of the format.
pub(super) const CLASSES: usize = 4;

/// States and turns of a frame differ from those of its reference by multiples of this.
pub(in crate::mesh) const STRIDE: i16 = 3;

/// The contexts of numbers: one for zero, then an exponential Golomb code with one for each bit of the
/// length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CorrectionContexts<C> {
    pub(super) zero: [C; 3],
    pub(super) longer: [C; 16],
}

impl<C: Copy> CorrectionContexts<C> {
    /// Codes a number, wrapping at 16 bits.
    pub(super) fn code(&mut self, bits: &mut impl BitCoder<Context = C>, context: usize, value: i16) -> i16 {
        if !bits.bit(&mut self.zero[context], value != 0) {
            return 0;
        }
        let negative = bits.raw_bits(1, u32::from(value < 0)) != 0;
        // 1 … 32768, as 2^length + rest.
        let size = u32::from(value.unsigned_abs()).max(1);
        let wanted = size.ilog2();
        let mut length = 0;
        while length < 15 && bits.bit(&mut self.longer[length as usize], length < wanted) {
            length += 1;
        }
        let rest = bits.raw_bits(length, size & ((1 << length) - 1));
        let size = (1u32 << length | rest) as i32;
        (if negative { -size } else { size }) as i16
    }
}

/// Returns the number of strides from one value to another.
#[inline]
pub(super) fn strides(from: i16, to: i16) -> i16 {
    ((i32::from(to) - i32::from(from)) / i32::from(STRIDE)) as i16
}

#[inline]
pub(super) fn add_strides(from: i16, strides: i16) -> i16 {
    (i32::from(from) + i32::from(strides) * i32::from(STRIDE)) as i16
}

/// A byte encodes the chance of a one as (16 + low 4 bits) · 2^(high 4 bits) / 2²⁰. Part of the format.
pub(super) const EVEN_CHANCE_CODE: u8 = 15 << 4;

pub(in crate::mesh) fn chance_from_code(code: u8) -> Chance {
    let one = (16 + u32::from(code & 15)) << (code >> 4) >> 4;
    Chance::new((65536 - one.clamp(1, 65535)) as u16)
}

/// Returns the chance to start with after this many zeros and ones.
#[cfg(feature = "encode")]
pub(in crate::mesh) fn chance_from_counts(zeros: u32, ones: u32) -> Chance {
    let zero = (f64::from(zeros) + 0.4) / (f64::from(zeros) + f64::from(ones) + 0.8);
    Chance::new((zero * 65536.0).clamp(1.0, 65535.0) as u16)
}

#[cfg(feature = "encode")]
pub(super) fn chance_code(chance: Chance) -> u8 {
    let far = |code: u8| chance.mean().abs_diff(chance_from_code(code).mean());
    (0..=u8::MAX).min_by_key(|&code| far(code)).unwrap_or(EVEN_CHANCE_CODE)
}
