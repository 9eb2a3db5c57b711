//! The operations from which kernels for 128-bit registers are built.

/// A register of 128 bits: eight integers of 16 bits, four of 32, or four f32. Integers wrap.
pub(crate) trait Quad: Copy {
    /// Four weights, in the form for products.
    type Weights: Copy;

    fn load16(from: &[i16; 8]) -> Self;
    fn store16(v: Self, to: &mut [i16; 8]);
    fn load32(from: &[i32; 4]) -> Self;
    fn store32(v: Self, to: &mut [i32; 4]);
    fn load_f32(from: &[f32; 4]) -> Self;
    fn store_f32(v: Self, to: &mut [f32; 4]);
    fn load8(from: &[u8; 16]) -> Self;
    /// Widens four integers of 16 bits to 32.
    fn widen(from: &[i16; 4]) -> Self;
    fn splat32(x: i32) -> Self;
    fn splat_f32(x: f32) -> Self;

    fn add16(a: Self, b: Self) -> Self;
    fn mul16(a: Self, b: Self) -> Self;
    fn max16(a: Self, b: Self) -> Self;
    fn add32(a: Self, b: Self) -> Self;
    fn sub32(a: Self, b: Self) -> Self;
    fn mul32(a: Self, b: Self) -> Self;
    fn min32(a: Self, b: Self) -> Self;
    fn abs32(a: Self) -> Self;
    /// Shifts left by less than 32 bits.
    fn left(a: Self, bits: u32) -> Self;
    /// Shifts right by less than 32 bits, with the sign.
    fn right(a: Self, bits: u32) -> Self;
    /// Shifts right by less than 32 bits, with zeros.
    fn right_zeros(a: Self, bits: u32) -> Self;
    fn and(a: Self, b: Self) -> Self;
    fn or(a: Self, b: Self) -> Self;
    fn xor(a: Self, b: Self) -> Self;
    /// Returns the bits of `yes` where those of the mask are set, else those of `no`.
    fn select(mask: Self, yes: Self, no: Self) -> Self;
    /// Returns the bytes of `table` at the low four bits of each byte, all of which must be below 16.
    fn look_up(table: Self, at: Self) -> Self;
    /// Interleaves 32-bit numbers: the first two of each, then the last two.
    fn zip32(a: Self, b: Self) -> [Self; 2];
    /// Combines 64-bit numbers: the first of each, then the second.
    fn zip64(a: Self, b: Self) -> [Self; 2];
    /// Returns the fourth components of vectors of four 16-bit integers, two per register, as 32-bit
    /// integers. They must not be negative.
    fn fourths(a: Self, b: Self) -> Self;
    /// Returns the low 16 bits of `(x + 2^(BITS − 1)) >> BITS` of eight 32-bit integers; BITS is at most 16.
    fn rounded<const BITS: i32>(sums: [Self; 2]) -> Self;
    /// Narrows eight 32-bit integers that fit 16 bits.
    fn narrow(a: [Self; 2]) -> Self;

    fn weights(w: [i16; 4]) -> Self::Weights;
    /// Returns the weights of the first three components of vectors; all fourths have the weight 1.
    fn weights_of_three(w: [i16; 4]) -> Self::Weights;
    /// Returns Σ w·row of 16-bit integers: of the first four, then of the last four.
    fn weighted(rows: [Self; 4], w: Self::Weights) -> [Self; 2];

    /// Returns Σ w·row as 64-bit integers: of the even 32-bit integers, then of the odd ones.
    fn weighted32(rows: [Self; 4], w: [i16; 4]) -> [Self; 2];
    /// Returns the low halves of `(sum + 2^(BITS − 1)) >> BITS` of such sums; BITS is below 32.
    fn rounded64<const BITS: i32>(sums: [Self; 2]) -> Self;
    /// Returns the low halves of `((sum >> 6)·ρ + 512) >> 10`; ρ is at most 16.
    fn scaled64(sums: [Self; 2], rho: Self) -> Self;

    /// Converts to the nearest f32.
    fn to_f32(a: Self) -> Self;
    /// Rounds to the nearest integers, ties to even, saturated to 32 bits; NaN gives 0.
    fn to_whole(a: Self) -> Self;
    fn add_f32(a: Self, b: Self) -> Self;
    fn sub_f32(a: Self, b: Self) -> Self;
    fn mul_f32(a: Self, b: Self) -> Self;
    fn div_f32(a: Self, b: Self) -> Self;
    fn sqrt_f32(a: Self) -> Self;
    /// Returns `a` if it is smaller, else `b`.
    fn min_f32(a: Self, b: Self) -> Self;
    /// Returns `a` if it is larger, else `b`.
    fn max_f32(a: Self, b: Self) -> Self;
    /// Sets all bits where `a < b`, none elsewhere.
    fn less_f32(a: Self, b: Self) -> Self;
    /// Returns `true` if all bits are set.
    fn all(a: Self) -> bool;
}

/// A kernel and its arguments. `run` must be `#[inline(always)]`, like everything that it calls.
pub(crate) trait Task {
    type Out;
    fn run<Q: Quad>(self) -> Self::Out;
}
