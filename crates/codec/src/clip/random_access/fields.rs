//! Bit fields of samples: one by one, and in rows of eight, of two samples at once.

use super::form::WIDTHS;
use crate::simd::doubles::{self, Doubles};
use fearless_simd::prelude::*;
use fearless_simd::{f32x8, i32x8, u8x16, u16x8, u32x4, u32x8, u64x2};

/// Returns a field of at most 25 bits from bit `first` after byte `at` on, minus half its range; 0 if `bytes`
/// ends within four bytes of it.
#[inline(always)]
pub(super) fn field(bytes: &[u8], at: usize, first: usize, width: usize) -> f32 {
    let from = bytes.get(at + first / 8..);
    let Some(window) = from.and_then(|rest| rest.first_chunk()) else {
        return 0.0;
    };
    let bits = u32::from_le_bytes(*window) >> (first % 8);
    let range = 1 << width;
    ((bits & (range - 1)) as i32 - (range >> 1) as i32) as f32
}

/// Returns the widths of rows of eight codes of four bits, a byte each.
#[inline(always)]
fn widths<S: Doubles, const ROWS: usize>(simd: S, codes: [u32; ROWS]) -> [u64; 4] {
    const { assert!(ROWS <= 4) };
    let mut four = [0; 4];
    four[..ROWS].copy_from_slice(&codes);
    let bytes = u32x4::simd_from(simd, four).bitcast::<u8x16<S>>();
    let (low, high) = (bytes & 15, (bytes.bitcast::<u16x8<S>>() >> 4).bitcast::<u8x16<S>>() & 15);
    let table = u8x16::simd_from(simd, WIDTHS);
    let first = table.swizzle_dyn_within_blocks(low.zip_low(high)).bitcast::<u64x2<S>>();
    let second = table.swizzle_dyn_within_blocks(low.zip_high(high)).bitcast::<u64x2<S>>();
    [first[0], first[1], second[0], second[1]]
}

/// The bytes behind the fields that are read with them.
const MARGIN: usize = 32;

/// Reads rows of eight bit fields, minus half their range, adjacent from bit `first` on; once after byte
/// `at[0]` and once after byte `at[1]` of `bytes`. The codes of four bits give the width of each field; all
/// are zeros if `bytes` ends less than 32 bytes after the fields.
#[inline(always)]
pub(super) fn fields<S: Doubles, const ROWS: usize>(
    simd: S,
    bytes: &[u8],
    at: [usize; 2],
    mut first: usize,
    codes: [u32; ROWS],
) -> [[f32x8<S>; 2]; ROWS] {
    let mut out = [[f32x8::splat(simd, 0.0); 2]; ROWS];
    let widths = widths(simd, codes);
    // By row: the sums of the widths up to each, a byte each; at most 8 · 25, so that none overflows.
    let mut sums = [0u64; ROWS];
    let mut end = first;
    for row in 0..ROWS {
        sums[row] = widths[row].wrapping_mul(0x0101_0101_0101_0101);
        end += (sums[row] >> 56) as usize;
    }
    let latest = if at[0] < at[1] { at[1] } else { at[0] };
    if latest.saturating_add(end / 8 + MARGIN) > bytes.len() {
        return out;
    }
    let samples = [&bytes[at[0]..], &bytes[at[1]..]];
    for row in 0..ROWS {
        // Four fields take at most 100 bits, so they are loaded at once; the second four follow.
        let four = (sums[row] >> 24) as usize & 0xFF;
        let (a, b) = (first, first + four);
        let (a_bit, b_bit) = ((a & 7) as u32, ((b & 7) as u32).wrapping_sub(four as u32));
        let moves = u32x4::splat(simd, a_bit).combine(u32x4::splat(simd, b_bit));
        // The first bit of each field within its sixteen bytes.
        let bits = doubles::each_byte(simd, sums[row] - widths[row]) + moves;
        let range = power(doubles::each_byte(simd, widths[row]));
        let (half, mask) = (range >> 1, range - 1);
        for (sample, out) in out[row].iter_mut().enumerate() {
            let Some(window) = samples[sample][a / 8..].first_chunk::<MARGIN>() else {
                break;
            };
            let second = (b / 8 - a / 8) & 15;
            let mut windows = [[0; 16]; 2];
            windows[0].copy_from_slice(&window[..16]);
            windows[1].copy_from_slice(&window[second..second + 16]);
            let fields = doubles::bits_at(simd, windows, bits) & mask;
            *out = (fields - half).to_float();
        }
        first += (sums[row] >> 56) as usize;
    }
    out
}

/// Returns two to the power of each number, which must be below 31.
#[inline(always)]
fn power<S: Doubles>(exponents: u32x8<S>) -> i32x8<S> {
    // As the exponent of a float: not all instruction sets shift each number by its own.
    ((exponents + 127) << 23).bitcast::<f32x8<S>>().to_int()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::doubles::LANES;
    use crate::simd::isa::Isa;
    use crate::simd::{Kernel, run_kernel};
    use proptest::prelude::*;

    struct Rows<'a> {
        bytes: &'a [u8],
        at: [usize; 2],
        first: usize,
        codes: [u32; 3],
    }

    impl Kernel for Rows<'_> {
        type Out = [[[f32; LANES]; 2]; 3];

        #[inline(always)]
        fn run<S: Doubles>(self, simd: S) -> Self::Out {
            fields(simd, self.bytes, self.at, self.first, self.codes).map(|row| row.map(|x| x.to_array()))
        }
    }

    proptest! {
        #[test]
        fn rows_are_what_single_fields_are(
            bytes in prop::collection::vec(any::<u8>(), 220),
            at in prop::array::uniform2(0usize..60),
            first in 0usize..64,
            codes in any::<[u32; 3]>(),
        ) {
            for isa in Isa::all() {
                let rows = run_kernel(isa, Rows { bytes: &bytes, at, first, codes });
                let mut first = first;
                for (row, codes) in rows.into_iter().zip(codes) {
                    for lane in 0..LANES {
                        let width = usize::from(WIDTHS[(codes >> (4 * lane)) as usize & 15]);
                        for (sample, at) in row.into_iter().zip(at) {
                            prop_assert_eq!(sample[lane], field(&bytes, at, first, width));
                        }
                        first += width;
                    }
                }
            }
        }

        #[test]
        fn fields_near_the_end_are_zeros(length in 0usize..120, codes in any::<[u32; 3]>()) {
            for isa in Isa::all() {
                let bytes = vec![0xFF; length];
                let rows = run_kernel(isa, Rows { bytes: &bytes, at: [40, 3], first: 5, codes });
                let end: usize = (0..24).map(|i| usize::from(WIDTHS[(codes[i / 8] >> (i % 8 * 4)) as usize & 15])).sum();
                if 40 + (5 + end) / 8 + MARGIN > length {
                    prop_assert_eq!(rows, [[[0.0; LANES]; 2]; 3]);
                }
            }
        }
    }
}
