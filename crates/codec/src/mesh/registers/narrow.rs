//! Registers of 16-bit components. Weighted sums have 32 bits: those of the first vector of every two, and
//! those of the second.

use super::{AXES, Register, WIDE_AXES, memory};
use crate::mesh::blocks::{BLOCK, BUNDLE};
use fearless_simd::prelude::*;
use fearless_simd::{Select, i16x8, i32x4, u8x16, u64x2};

/// Operations on pairs of vectors, which fill 128 bits.
pub(super) trait NarrowVectors: Copy {
    /// The sums of half the vectors.
    type Sums: Copy;

    /// Returns `start` plus Σ w·n, of the first and the second vectors. `weights` has the weights of the
    /// first two rows and of the last two, in pairs, for the first and the second vectors.
    fn sums(start: Self::Sums, rows: [Self; 4], weights: [[Self; 2]; 2]) -> [Self::Sums; 2];
    /// Combines the first and the second vectors, which must fit 16 bits.
    fn pack(sums: [Self::Sums; 2]) -> Self;
    /// Transposes as many rows as there are vectors.
    fn transpose(rows: &mut [Self]);
}

impl<S: Simd> NarrowVectors for i16x8<S> {
    type Sums = i32x4<S>;

    #[inline(always)]
    fn sums(start: i32x4<S>, [a, b, c, d]: [Self; 4], weights: [[Self; 2]; 2]) -> [i32x4<S>; 2] {
        let [first, second] = weights;
        if cfg!(target_arch = "aarch64") {
            // NEON multiplies and adds, but not in pairs.
            let (a, b) = (
                a.widening_mul(first[0].unzip_low(second[0])),
                b.widening_mul(first[0].unzip_high(second[0])),
            );
            let (c, d) = (
                c.widening_mul(first[1].unzip_low(second[1])),
                d.widening_mul(first[1].unzip_high(second[1])),
            );
            return [start + a.0 + b.0 + c.0 + d.0, start + a.1 + b.1 + c.1 + d.1];
        }
        let low = a.zip_low(b).pairwise_dot_product(first[0]) + c.zip_low(d).pairwise_dot_product(first[1]);
        let high =
            a.zip_high(b).pairwise_dot_product(second[0]) + c.zip_high(d).pairwise_dot_product(second[1]);
        [start + low, start + high]
    }
    #[inline(always)]
    fn pack([low, high]: [i32x4<S>; 2]) -> Self {
        low.relaxed_narrow(high)
    }
    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        let (a, b) = (rows[0].bitcast::<u64x2<S>>(), rows[1].bitcast::<u64x2<S>>());
        (rows[0], rows[1]) = (a.zip_low(b).bitcast(), a.zip_high(b).bitcast());
    }
}

/// By byte of two vectors: the index of the byte of pair `pair` of vector `vector`, four times.
const fn repeated(vector: u8, pair: u8) -> [u8; 16] {
    let mut out = [0; 16];
    let mut byte = 0;
    while byte < 16 {
        out[byte as usize] = 8 * vector + 4 * pair + byte % 4;
        byte += 1;
    }
    out
}

macro_rules! narrow {
    ($([$($generics:tt)*] $simd:ty, $narrow:ty, $sums:ty, $bytes:ty, $vectors:literal: $v:tt;)*) => {$(
        impl $($generics)* Register for $narrow {
            memory!(i16, $simd, $vectors: $v);
            type Weights = [[Self; 2]; 2];
            type Rho = [$sums; 2];

            #[inline(always)]
            fn axes(self) -> Self {
                self & Self::from_slice(self.token(), &AXES[..4 * $vectors])
            }

            #[inline(always)]
            fn weights(simd: $simd, [a, b, c, d]: [i16; 4]) -> Self::Weights {
                let ab = <$sums>::splat(simd, i32::from(a as u16) | i32::from(b) << 16);
                let cd = <$sums>::splat(simd, i32::from(c as u16) | i32::from(d) << 16);
                [[ab.bitcast(), cd.bitcast()]; 2]
            }
            #[inline(always)]
            fn axis_weights(simd: $simd, weights: [i16; 4]) -> Self::Weights {
                let [[ab, cd], _] = Self::weights(simd, weights);
                [[ab.with_ones(), cd.with_ones()]; 2]
            }
            #[inline(always)]
            fn weights_of_each(simd: $simd, weights: &[[i16; 4]]) -> Self::Weights {
                let all = Self::load(simd, weights);
                [
                    [all.moved(const { repeated(0, 0) }).with_ones(), all.moved(const { repeated(0, 1) }).with_ones()],
                    [all.moved(const { repeated(1, 0) }).with_ones(), all.moved(const { repeated(1, 1) }).with_ones()],
                ]
            }
            #[inline(always)]
            fn rho(simd: $simd, rho: &[i32; BUNDLE], first: usize) -> [$sums; 2] {
                let (mut low, mut high) = ([0; 2 * $vectors], [0; 2 * $vectors]);
                for i in 0..2 * $vectors {
                    low[i] = rho[first + i / 4 * 2];
                    high[i] = rho[first + i / 4 * 2 + 1];
                }
                [<$sums>::from_slice(simd, &low), <$sums>::from_slice(simd, &high)]
            }

            #[inline(always)]
            fn blend(rows: [Self; 4], weights: Self::Weights) -> Self {
                let start = <$sums>::splat(rows[0].token(), 128);
                let [low, high] = Self::sums(start, rows, weights);
                // The low 16 bits of a shift by 8.
                Self::pack([(low << 8) >> 16, (high << 8) >> 16])
            }
            #[inline(always)]
            fn weigh(rows: [Self; 4], weights: Self::Weights, rho: Option<[$sums; 2]>) -> Self {
                let simd = rows[0].token();
                let axes = <$sums>::from_slice(simd, &WIDE_AXES[..2 * $vectors]);
                match rho {
                    None => {
                        // ((sum >> 6)·16 + 512) >> 10 is (sum + 2048) >> 12.
                        let [low, high] = Self::sums(axes & 2048, rows, weights);
                        let axes = axes.simd_lt(0);
                        let each = |sum: $sums| axes.select((sum << 4) >> 16, sum);
                        Self::pack([each(low), each(high)])
                    }
                    Some(rho) => {
                        let [low, high] = Self::sums(<$sums>::splat(simd, 0), rows, weights);
                        let axes = axes.simd_lt(0);
                        let each = |sum: $sums, rho: $sums| {
                            axes.select(((((sum >> 6) * rho) + 512) << 6) >> 16, sum)
                        };
                        Self::pack([each(low, rho[0]), each(high, rho[1])])
                    }
                }
            }
            #[inline(always)]
            fn transposed(mut rows: [Self; $vectors]) -> [Self; $vectors] {
                NarrowVectors::transpose(&mut rows);
                rows
            }
        }

        impl $($generics)* Moves for $narrow {
            #[inline(always)]
            fn moved(self, bytes: [u8; 16]) -> Self {
                let bytes = <$bytes>::block_splat(u8x16::simd_from(self.token(), bytes));
                self.bitcast::<$bytes>().swizzle_dyn_within_blocks(bytes).bitcast()
            }
            #[inline(always)]
            fn with_ones(self) -> Self {
                let simd = self.token();
                let axes = <$sums>::from_slice(simd, &WIDE_AXES[..2 * $vectors]).simd_lt(0);
                axes.select(self.bitcast(), <$sums>::splat(simd, 0x0001_0001)).bitcast()
            }
        }
    )*};
}

/// Changes of the pairs of weights.
trait Moves: Copy {
    /// Returns the bytes with these numbers of every 128 bits.
    fn moved(self, bytes: [u8; 16]) -> Self;
    /// Replaces the weights of magnitudes by 1.
    fn with_ones(self) -> Self;
}

narrow! {
    [<S: Simd>] S, i16x8<S>, i32x4<S>, u8x16<S>, 2: [0 1];
}
#[cfg(target_arch = "x86_64")]
use fearless_simd::x86::{Avx2, Avx512};
#[cfg(target_arch = "x86_64")]
narrow! {
    [] Avx2, fearless_simd::i16x16<Avx2>, fearless_simd::i32x8<Avx2>, fearless_simd::u8x32<Avx2>, 4: [0 1 2 3];
    [] Avx512, fearless_simd::i16x32<Avx512>, fearless_simd::i32x16<Avx512>, fearless_simd::u8x64<Avx512>, 8: [0 1 2 3 4 5 6 7];
}
