//! Registers of 32-bit components. Weighted sums have 64 bits, in two registers.

use super::{Register, WIDE_AXES, memory};
use crate::mesh::blocks::{BLOCK, BUNDLE};
use fearless_simd::prelude::*;
use fearless_simd::{Select, i32x4, i64x2, u64x2};

/// Operations whose order of numbers is that of the instruction set.
pub(super) trait WideVectors: Copy {
    /// Half the numbers, with 64 bits each.
    type Wide: Copy;

    /// Returns Σ w·n.
    fn sums(rows: [Self; 4], weights: [Self; 4]) -> [Self::Wide; 2];
    /// Converts the numbers of a register.
    fn widened(self) -> [Self::Wide; 2];
    /// Returns the low halves of the numbers.
    fn low(sums: [Self::Wide; 2]) -> Self;
    /// Transposes as many rows as there are vectors.
    fn transpose(rows: &mut [Self]);
}

impl<S: Simd> WideVectors for i32x4<S> {
    type Wide = i64x2<S>;

    #[inline(always)]
    fn sums([a, b, c, d]: [Self; 4], w: [Self; 4]) -> [i64x2<S>; 2] {
        let (a, b) = (a.widening_mul(w[0]), b.widening_mul(w[1]));
        let (c, d) = (c.widening_mul(w[2]), d.widening_mul(w[3]));
        [(a.0 + b.0) + (c.0 + d.0), (a.1 + b.1) + (c.1 + d.1)]
    }
    #[inline(always)]
    fn widened(self) -> [i64x2<S>; 2] {
        self.widen().into()
    }
    #[inline(always)]
    fn low([low, high]: [i64x2<S>; 2]) -> Self {
        low.narrow(high)
    }
    #[inline(always)]
    fn transpose(_: &mut [Self]) {}
}

macro_rules! wide {
    ($([$($generics:tt)*] $simd:ty, $wide_vectors:ty, $wide:ty, $unsigned:ty, $vectors:literal: $v:tt;)*) => {$(
        impl $($generics)* Register for $wide_vectors {
            memory!(i32, $simd, $vectors: $v);
            type Weights = [Self; 4];
            type Rho = Self;

            #[inline(always)]
            fn axes(self) -> Self {
                let axes = Self::from_slice(self.token(), &WIDE_AXES[..4 * $vectors]);
                self & axes
            }
            #[inline(always)]
            fn weights(simd: $simd, [a, b, c, d]: [i16; 4]) -> [Self; 4] {
                let [a, b] = [Self::splat(simd, a.into()), Self::splat(simd, b.into())];
                [a, b, Self::splat(simd, c.into()), Self::splat(simd, d.into())]
            }
            #[inline(always)]
            fn axis_weights(simd: $simd, weights: [i16; 4]) -> [Self; 4] {
                Self::weights(simd, weights)
            }
            #[inline(always)]
            fn weights_of_each(simd: $simd, weights: &[[i16; 4]]) -> [Self; 4] {
                let mut all = [[0; 4 * $vectors]; 4];
                for i in 0..4 * $vectors {
                    for k in 0..4 {
                        all[k][i] = i32::from(weights[i / 4][k]);
                    }
                }
                let [a, b] = [Self::from_slice(simd, &all[0]), Self::from_slice(simd, &all[1])];
                [a, b, Self::from_slice(simd, &all[2]), Self::from_slice(simd, &all[3])]
            }
            #[inline(always)]
            fn rho(simd: $simd, rho: &[i32; BUNDLE], first: usize) -> Self {
                let mut all = [0; 4 * $vectors];
                for i in 0..4 * $vectors {
                    all[i] = rho[first + i / 4];
                }
                Self::from_slice(simd, &all)
            }

            #[inline(always)]
            fn blend(rows: [Self; 4], weights: [Self; 4]) -> Self {
                let [a, b] = Self::sums(rows, weights);
                // The low halves of such shifts do not depend on the sign.
                let each = |sum: $wide| ((sum + 128).bitcast::<$unsigned>() >> 8).bitcast();
                Self::low([each(a), each(b)])
            }
            #[inline(always)]
            fn weigh(rows: [Self; 4], weights: [Self; 4], rho: Option<Self>) -> Self {
                let [a, b] = Self::sums(rows, weights);
                let space = match rho {
                    None => {
                        let each = |sum: $wide| ((sum + 2048).bitcast::<$unsigned>() >> 12).bitcast();
                        Self::low([each(a), each(b)])
                    }
                    Some(rho) => {
                        let rho = rho.widened();
                        let each = |sum: $wide, rho: $wide| {
                            (((sum >> 6) * rho + 512).bitcast::<$unsigned>() >> 10).bitcast()
                        };
                        Self::low([each(a, rho[0]), each(b, rho[1])])
                    }
                };
                let axes = Self::from_slice(rows[0].token(), &WIDE_AXES[..4 * $vectors]).simd_lt(0);
                axes.select(space, rows[0] + rows[1] + (rows[2] + rows[3]))
            }
            #[inline(always)]
            fn transposed(mut rows: [Self; $vectors]) -> [Self; $vectors] {
                WideVectors::transpose(&mut rows);
                rows
            }
        }
    )*};
}

wide! {
    [<S: Simd>] S, i32x4<S>, i64x2<S>, u64x2<S>, 1: [0];
}
#[cfg(target_arch = "x86_64")]
use fearless_simd::x86::{Avx2, Avx512};
#[cfg(target_arch = "x86_64")]
wide! {
    [] Avx2, fearless_simd::i32x8<Avx2>, fearless_simd::i64x4<Avx2>, fearless_simd::u64x4<Avx2>, 2: [0 1];
    [] Avx512, fearless_simd::i32x16<Avx512>, fearless_simd::i64x8<Avx512>, fearless_simd::u64x8<Avx512>, 4: [0 1 2 3];
}
