//! WebAssembly's 128-bit registers. A program compiled for them does not run without them.

#![allow(unsafe_code)]

use super::traits::{Quad, Task};
use crate::simd::isa::Narrow;
use std::arch::wasm32::*;

/// Runs a kernel.
#[inline(always)]
pub(super) fn run<T: Task>(_: Narrow, task: T) -> T::Out {
    task.run::<Wasm>()
}

#[derive(Clone, Copy)]
pub(super) struct Wasm(v128);

macro_rules! operations {
    ($(fn $name:ident($($arg:ident: $t:ty),*) $(-> $out:ty)? { $($body:tt)* })*) => {$(
        #[inline(always)]
        fn $name($($arg: $t),*) $(-> $out)? {
            // SAFETY: loads and stores go through references that cover all the memory they access.
            #[allow(unused_unsafe)]
            unsafe { $($body)* }
        }
    )*};
}

impl Quad for Wasm {
    /// Pairs of two weights, repeated.
    type Weights = [v128; 2];

    operations! {
        fn load16(from: &[i16; 8]) -> Self { Wasm(v128_load(from.as_ptr().cast())) }
        fn store16(v: Self, to: &mut [i16; 8]) { v128_store(to.as_mut_ptr().cast(), v.0) }
        fn load32(from: &[i32; 4]) -> Self { Wasm(v128_load(from.as_ptr().cast())) }
        fn store32(v: Self, to: &mut [i32; 4]) { v128_store(to.as_mut_ptr().cast(), v.0) }
        fn load_f32(from: &[f32; 4]) -> Self { Wasm(v128_load(from.as_ptr().cast())) }
        fn store_f32(v: Self, to: &mut [f32; 4]) { v128_store(to.as_mut_ptr().cast(), v.0) }
        fn load8(from: &[u8; 16]) -> Self { Wasm(v128_load(from.as_ptr().cast())) }
        fn widen(from: &[i16; 4]) -> Self { Wasm(i32x4_load_extend_i16x4(from.as_ptr())) }
        fn splat32(x: i32) -> Self { Wasm(i32x4_splat(x)) }
        fn splat_f32(x: f32) -> Self { Wasm(f32x4_splat(x)) }

        fn add16(a: Self, b: Self) -> Self { Wasm(i16x8_add(a.0, b.0)) }
        fn mul16(a: Self, b: Self) -> Self { Wasm(i16x8_mul(a.0, b.0)) }
        fn max16(a: Self, b: Self) -> Self { Wasm(i16x8_max(a.0, b.0)) }
        fn add32(a: Self, b: Self) -> Self { Wasm(i32x4_add(a.0, b.0)) }
        fn sub32(a: Self, b: Self) -> Self { Wasm(i32x4_sub(a.0, b.0)) }
        fn mul32(a: Self, b: Self) -> Self { Wasm(i32x4_mul(a.0, b.0)) }
        fn min32(a: Self, b: Self) -> Self { Wasm(i32x4_min(a.0, b.0)) }
        fn abs32(a: Self) -> Self { Wasm(i32x4_abs(a.0)) }
        fn left(a: Self, bits: u32) -> Self { Wasm(i32x4_shl(a.0, bits)) }
        fn right(a: Self, bits: u32) -> Self { Wasm(i32x4_shr(a.0, bits)) }
        fn right_zeros(a: Self, bits: u32) -> Self { Wasm(u32x4_shr(a.0, bits)) }
        fn and(a: Self, b: Self) -> Self { Wasm(v128_and(a.0, b.0)) }
        fn or(a: Self, b: Self) -> Self { Wasm(v128_or(a.0, b.0)) }
        fn xor(a: Self, b: Self) -> Self { Wasm(v128_xor(a.0, b.0)) }
        fn select(mask: Self, yes: Self, no: Self) -> Self { Wasm(v128_bitselect(yes.0, no.0, mask.0)) }
        fn look_up(table: Self, at: Self) -> Self { Wasm(u8x16_swizzle(table.0, at.0)) }
        fn zip32(a: Self, b: Self) -> [Self; 2] {
            [Wasm(i32x4_shuffle::<0, 4, 1, 5>(a.0, b.0)), Wasm(i32x4_shuffle::<2, 6, 3, 7>(a.0, b.0))]
        }
        fn zip64(a: Self, b: Self) -> [Self; 2] {
            [Wasm(i64x2_shuffle::<0, 2>(a.0, b.0)), Wasm(i64x2_shuffle::<1, 3>(a.0, b.0))]
        }
        fn fourths(a: Self, b: Self) -> Self { Wasm(u32x4_shr(i32x4_shuffle::<1, 3, 5, 7>(a.0, b.0), 16)) }
        fn narrow(a: [Self; 2]) -> Self { Wasm(i16x8_narrow_i32x4(a[0].0, a[1].0)) }

        fn weights(w: [i16; 4]) -> Self::Weights {
            let w = v128_load64_splat(w.as_ptr().cast());
            [i32x4_shuffle::<0, 0, 0, 0>(w, w), i32x4_shuffle::<1, 1, 1, 1>(w, w)]
        }
        fn weights_of_three(w: [i16; 4]) -> Self::Weights {
            let w = v128_load64_splat(w.as_ptr().cast());
            let ones = i16x8_splat(1);
            [i32x4_shuffle::<0, 0, 0, 4>(w, ones), i32x4_shuffle::<1, 1, 1, 4>(w, ones)]
        }
        fn weighted(rows: [Self; 4], w: Self::Weights) -> [Self; 2] {
            let [a, b, c, d] = [rows[0].0, rows[1].0, rows[2].0, rows[3].0];
            let ab = i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(a, b);
            let cd = i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(c, d);
            let low = i32x4_add(i32x4_dot_i16x8(ab, w[0]), i32x4_dot_i16x8(cd, w[1]));
            let ab = i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(a, b);
            let cd = i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(c, d);
            let high = i32x4_add(i32x4_dot_i16x8(ab, w[0]), i32x4_dot_i16x8(cd, w[1]));
            [Wasm(low), Wasm(high)]
        }

        fn weighted32(rows: [Self; 4], w: [i16; 4]) -> [Self; 2] {
            let [a, b, c, d] = [rows[0].0, rows[1].0, rows[2].0, rows[3].0];
            let w = i32x4_load_extend_i16x4(w.as_ptr());
            let (wa, wb) = (i32x4_shuffle::<0, 0, 0, 0>(w, w), i32x4_shuffle::<1, 1, 1, 1>(w, w));
            let (wc, wd) = (i32x4_shuffle::<2, 2, 2, 2>(w, w), i32x4_shuffle::<3, 3, 3, 3>(w, w));
            let first = i64x2_add(i64x2_extmul_low_i32x4(a, wa), i64x2_extmul_low_i32x4(b, wb));
            let second = i64x2_add(i64x2_extmul_low_i32x4(c, wc), i64x2_extmul_low_i32x4(d, wd));
            let low = i64x2_add(first, second);
            let first = i64x2_add(i64x2_extmul_high_i32x4(a, wa), i64x2_extmul_high_i32x4(b, wb));
            let second = i64x2_add(i64x2_extmul_high_i32x4(c, wc), i64x2_extmul_high_i32x4(d, wd));
            [Wasm(low), Wasm(i64x2_add(first, second))]
        }
        fn scaled64(sums: [Self; 2], rho: Self) -> Self {
            let half = i64x2_splat(512);
            let low = i64x2_mul(i64x2_shr(sums[0].0, 6), i64x2_extend_low_i32x4(rho.0));
            let high = i64x2_mul(i64x2_shr(sums[1].0, 6), i64x2_extend_high_i32x4(rho.0));
            let (low, high) = (i64x2_shr(i64x2_add(low, half), 10), i64x2_shr(i64x2_add(high, half), 10));
            Wasm(i32x4_shuffle::<0, 2, 4, 6>(low, high))
        }

        fn to_f32(a: Self) -> Self { Wasm(f32x4_convert_i32x4(a.0)) }
        fn to_whole(a: Self) -> Self { Wasm(i32x4_trunc_sat_f32x4(f32x4_nearest(a.0))) }
        fn add_f32(a: Self, b: Self) -> Self { Wasm(f32x4_add(a.0, b.0)) }
        fn sub_f32(a: Self, b: Self) -> Self { Wasm(f32x4_sub(a.0, b.0)) }
        fn mul_f32(a: Self, b: Self) -> Self { Wasm(f32x4_mul(a.0, b.0)) }
        fn div_f32(a: Self, b: Self) -> Self { Wasm(f32x4_div(a.0, b.0)) }
        fn sqrt_f32(a: Self) -> Self { Wasm(f32x4_sqrt(a.0)) }
        // The instructions return the second operand if it is smaller, or larger, and else the first.
        fn min_f32(a: Self, b: Self) -> Self { Wasm(f32x4_pmin(b.0, a.0)) }
        fn max_f32(a: Self, b: Self) -> Self { Wasm(f32x4_pmax(b.0, a.0)) }
        fn less_f32(a: Self, b: Self) -> Self { Wasm(f32x4_lt(a.0, b.0)) }
        fn all(a: Self) -> bool { i32x4_all_true(a.0) }
    }

    #[inline(always)]
    fn rounded<const BITS: i32>(sums: [Self; 2]) -> Self {
        // Bits beyond 16 are removed first: narrowing would saturate.
        let half = i32x4_splat(1 << (BITS - 1));
        let low = i32x4_shr(i32x4_shl(i32x4_add(sums[0].0, half), 16 - BITS as u32), 16);
        let high = i32x4_shr(i32x4_shl(i32x4_add(sums[1].0, half), 16 - BITS as u32), 16);
        Wasm(i16x8_narrow_i32x4(low, high))
    }
    #[inline(always)]
    fn rounded64<const BITS: i32>(sums: [Self; 2]) -> Self {
        let half = i64x2_splat(1 << (BITS - 1));
        let low = i64x2_shr(i64x2_add(sums[0].0, half), BITS as u32);
        let high = i64x2_shr(i64x2_add(sums[1].0, half), BITS as u32);
        Wasm(i32x4_shuffle::<0, 2, 4, 6>(low, high))
    }
}
