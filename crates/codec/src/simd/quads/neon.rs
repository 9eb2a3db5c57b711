//! NEON, which every AArch64 machine has.

#![allow(unsafe_code)]

use super::traits::{Quad, Task};
use crate::simd::isa::Narrow;
use std::arch::aarch64::*;

/// Runs a kernel.
#[inline(always)]
pub(super) fn run<T: Task>(_: Narrow, task: T) -> T::Out {
    task.run::<Neon>()
}

#[derive(Clone, Copy)]
pub(super) struct Neon(int32x4_t);

/// Reinterprets the bits as a register of another type.
macro_rules! casts {
    ($($name:ident($from:ty) -> $to:ty { $v:ident => $body:expr })*) => {$(
        #[inline(always)]
        fn $name($v: $from) -> $to {
            // SAFETY: every AArch64 machine has NEON.
            unsafe { $body }
        }
    )*};
}
casts! {
    of16(int16x8_t) -> Neon { v => Neon(vreinterpretq_s32_s16(v)) }
    to16(Neon) -> int16x8_t { v => vreinterpretq_s16_s32(v.0) }
    of64(int64x2_t) -> Neon { v => Neon(vreinterpretq_s32_s64(v)) }
    to64(Neon) -> int64x2_t { v => vreinterpretq_s64_s32(v.0) }
    of8(uint8x16_t) -> Neon { v => Neon(vreinterpretq_s32_u8(v)) }
    to8(Neon) -> uint8x16_t { v => vreinterpretq_u8_s32(v.0) }
    of_u32(uint32x4_t) -> Neon { v => Neon(vreinterpretq_s32_u32(v)) }
    to_u32(Neon) -> uint32x4_t { v => vreinterpretq_u32_s32(v.0) }
    of_f(float32x4_t) -> Neon { v => Neon(vreinterpretq_s32_f32(v)) }
    to_f(Neon) -> float32x4_t { v => vreinterpretq_f32_s32(v.0) }
    high_halves(int32x2_t) -> int64x2_t { v => vshlq_n_s64::<32>(vmovl_s32(v)) }
}

macro_rules! operations {
    ($(fn $name:ident($($arg:ident: $t:ty),*) $(-> $out:ty)? { $($body:tt)* })*) => {$(
        #[inline(always)]
        fn $name($($arg: $t),*) $(-> $out)? {
            // SAFETY: every AArch64 machine has NEON; loads and stores go through references that cover all
            // the memory they access.
                unsafe { $($body)* }
        }
    )*};
}

impl Quad for Neon {
    type Weights = [int16x8_t; 4];

    operations! {
        fn load16(from: &[i16; 8]) -> Self { of16(vld1q_s16(from.as_ptr())) }
        fn store16(v: Self, to: &mut [i16; 8]) { vst1q_s16(to.as_mut_ptr(), to16(v)) }
        fn load32(from: &[i32; 4]) -> Self { Neon(vld1q_s32(from.as_ptr())) }
        fn store32(v: Self, to: &mut [i32; 4]) { vst1q_s32(to.as_mut_ptr(), v.0) }
        fn load_f32(from: &[f32; 4]) -> Self { of_f(vld1q_f32(from.as_ptr())) }
        fn store_f32(v: Self, to: &mut [f32; 4]) { vst1q_f32(to.as_mut_ptr(), to_f(v)) }
        fn load8(from: &[u8; 16]) -> Self { of8(vld1q_u8(from.as_ptr())) }
        fn widen(from: &[i16; 4]) -> Self { Neon(vmovl_s16(vld1_s16(from.as_ptr()))) }
        fn splat32(x: i32) -> Self { Neon(vdupq_n_s32(x)) }
        fn splat_f32(x: f32) -> Self { of_f(vdupq_n_f32(x)) }

        fn add16(a: Self, b: Self) -> Self { of16(vaddq_s16(to16(a), to16(b))) }
        fn mul16(a: Self, b: Self) -> Self { of16(vmulq_s16(to16(a), to16(b))) }
        fn max16(a: Self, b: Self) -> Self { of16(vmaxq_s16(to16(a), to16(b))) }
        fn add32(a: Self, b: Self) -> Self { Neon(vaddq_s32(a.0, b.0)) }
        fn sub32(a: Self, b: Self) -> Self { Neon(vsubq_s32(a.0, b.0)) }
        fn mul32(a: Self, b: Self) -> Self { Neon(vmulq_s32(a.0, b.0)) }
        fn min32(a: Self, b: Self) -> Self { Neon(vminq_s32(a.0, b.0)) }
        fn abs32(a: Self) -> Self { Neon(vabsq_s32(a.0)) }
        fn left(a: Self, bits: u32) -> Self { Neon(vshlq_s32(a.0, vdupq_n_s32(bits as i32))) }
        fn right(a: Self, bits: u32) -> Self { Neon(vshlq_s32(a.0, vdupq_n_s32(-(bits as i32)))) }
        fn right_zeros(a: Self, bits: u32) -> Self {
            of_u32(vshlq_u32(to_u32(a), vdupq_n_s32(-(bits as i32))))
        }
        fn and(a: Self, b: Self) -> Self { Neon(vandq_s32(a.0, b.0)) }
        fn or(a: Self, b: Self) -> Self { Neon(vorrq_s32(a.0, b.0)) }
        fn xor(a: Self, b: Self) -> Self { Neon(veorq_s32(a.0, b.0)) }
        fn select(mask: Self, yes: Self, no: Self) -> Self { Neon(vbslq_s32(to_u32(mask), yes.0, no.0)) }
        fn look_up(table: Self, at: Self) -> Self { of8(vqtbl1q_u8(to8(table), to8(at))) }
        fn zip32(a: Self, b: Self) -> [Self; 2] { [Neon(vzip1q_s32(a.0, b.0)), Neon(vzip2q_s32(a.0, b.0))] }
        fn zip64(a: Self, b: Self) -> [Self; 2] {
            [of64(vzip1q_s64(to64(a), to64(b))), of64(vzip2q_s64(to64(a), to64(b)))]
        }
        fn fourths(a: Self, b: Self) -> Self { of_u32(vshrq_n_u32::<16>(to_u32(Neon(vuzp2q_s32(a.0, b.0))))) }
        fn narrow(a: [Self; 2]) -> Self { of16(vqmovn_high_s32(vqmovn_s32(a[0].0), a[1].0)) }

        fn weights(w: [i16; 4]) -> Self::Weights {
            [vdupq_n_s16(w[0]), vdupq_n_s16(w[1]), vdupq_n_s16(w[2]), vdupq_n_s16(w[3])]
        }
        fn weights_of_three(w: [i16; 4]) -> Self::Weights {
            let fourth = vreinterpretq_u16_u64(vdupq_n_u64(0xFFFF << 48));
            let one = vdupq_n_s16(1);
            [
                vbslq_s16(fourth, one, vdupq_n_s16(w[0])),
                vbslq_s16(fourth, one, vdupq_n_s16(w[1])),
                vbslq_s16(fourth, one, vdupq_n_s16(w[2])),
                vbslq_s16(fourth, one, vdupq_n_s16(w[3])),
            ]
        }
        fn weighted(rows: [Self; 4], w: Self::Weights) -> [Self; 2] {
            let [a, b, c, d] = [to16(rows[0]), to16(rows[1]), to16(rows[2]), to16(rows[3])];
            let low = vmull_s16(vget_low_s16(a), vget_low_s16(w[0]));
            let low = vmlal_s16(low, vget_low_s16(b), vget_low_s16(w[1]));
            let low = vmlal_s16(low, vget_low_s16(c), vget_low_s16(w[2]));
            let low = vmlal_s16(low, vget_low_s16(d), vget_low_s16(w[3]));
            let high = vmull_high_s16(a, w[0]);
            let high = vmlal_high_s16(high, b, w[1]);
            let high = vmlal_high_s16(high, c, w[2]);
            [Neon(low), Neon(vmlal_high_s16(high, d, w[3]))]
        }

        fn weighted32(rows: [Self; 4], w: [i16; 4]) -> [Self; 2] {
            let w = vmovl_s16(vld1_s16(w.as_ptr()));
            let [a, b, c, d] = [rows[0].0, rows[1].0, rows[2].0, rows[3].0];
            let low = vmull_laneq_s32::<0>(vget_low_s32(a), w);
            let low = vmlal_laneq_s32::<1>(low, vget_low_s32(b), w);
            let low = vmlal_laneq_s32::<2>(low, vget_low_s32(c), w);
            let low = vmlal_laneq_s32::<3>(low, vget_low_s32(d), w);
            let high = vmull_high_laneq_s32::<0>(a, w);
            let high = vmlal_high_laneq_s32::<1>(high, b, w);
            let high = vmlal_high_laneq_s32::<2>(high, c, w);
            let high = vmlal_high_laneq_s32::<3>(high, d, w);
            // Even and odd ones, as in the other implementations.
            [of64(low), of64(high)]
        }
        fn to_f32(a: Self) -> Self { of_f(vcvtq_f32_s32(a.0)) }
        fn to_whole(a: Self) -> Self { Neon(vcvtnq_s32_f32(to_f(a))) }
        fn add_f32(a: Self, b: Self) -> Self { of_f(vaddq_f32(to_f(a), to_f(b))) }
        fn sub_f32(a: Self, b: Self) -> Self { of_f(vsubq_f32(to_f(a), to_f(b))) }
        fn mul_f32(a: Self, b: Self) -> Self { of_f(vmulq_f32(to_f(a), to_f(b))) }
        fn div_f32(a: Self, b: Self) -> Self { of_f(vdivq_f32(to_f(a), to_f(b))) }
        fn sqrt_f32(a: Self) -> Self { of_f(vsqrtq_f32(to_f(a))) }
        fn min_f32(a: Self, b: Self) -> Self { of_f(vbslq_f32(vcltq_f32(to_f(a), to_f(b)), to_f(a), to_f(b))) }
        fn max_f32(a: Self, b: Self) -> Self { of_f(vbslq_f32(vcgtq_f32(to_f(a), to_f(b)), to_f(a), to_f(b))) }
        fn less_f32(a: Self, b: Self) -> Self { of_u32(vcltq_f32(to_f(a), to_f(b))) }
        fn all(a: Self) -> bool { vminvq_u32(to_u32(a)) == u32::MAX }
    }

    #[inline(always)]
    fn rounded<const BITS: i32>(sums: [Self; 2]) -> Self {
        // SAFETY: every AArch64 machine has NEON.
        unsafe { of16(vrshrn_high_n_s32::<BITS>(vrshrn_n_s32::<BITS>(sums[0].0), sums[1].0)) }
    }
    #[inline(always)]
    fn rounded64<const BITS: i32>(sums: [Self; 2]) -> Self {
        // SAFETY: every AArch64 machine has NEON.
        unsafe { Neon(vrshrn_high_n_s64::<BITS>(vrshrn_n_s64::<BITS>(to64(sums[0])), to64(sums[1]))) }
    }
    #[inline(always)]
    fn scaled64(sums: [Self; 2], rho: Self) -> Self {
        // SAFETY: every AArch64 machine has NEON.
        unsafe {
            // `sum >> 6` has up to 47 bits: its low half and its high half are scaled separately.
            let scaled = |sum: int64x2_t, rho: int32x2_t| {
                let sum = vshrq_n_s64::<6>(sum);
                let low = vmull_u32(vreinterpret_u32_s32(vmovn_s64(sum)), vreinterpret_u32_s32(rho));
                let high = vmul_s32(vshrn_n_s64::<32>(sum), rho);
                vaddq_s64(vreinterpretq_s64_u64(low), high_halves(high))
            };
            let low = scaled(to64(sums[0]), vget_low_s32(rho.0));
            let high = scaled(to64(sums[1]), vget_high_s32(rho.0));
            Neon(vrshrn_high_n_s64::<10>(vrshrn_n_s64::<10>(low), high))
        }
    }
}
