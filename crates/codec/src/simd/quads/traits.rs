//! What kernels over registers of 128 bits are written in.

/// A register of 128 bits: eight numbers of 16 bits, four of 32, or four f32. Whole numbers wrap.
pub(crate) trait Quad: Copy {
    /// Four weights, as products take them.
    type Weights: Copy;

    fn load16(from: &[i16; 8]) -> Self;
    fn store16(v: Self, to: &mut [i16; 8]);
    fn load32(from: &[i32; 4]) -> Self;
    fn store32(v: Self, to: &mut [i32; 4]);
    fn load_f32(from: &[f32; 4]) -> Self;
    fn store_f32(v: Self, to: &mut [f32; 4]);
    fn load8(from: &[u8; 16]) -> Self;
    /// Four numbers of 16 bits as four of 32.
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
    /// By less than 32 bits to the left.
    fn left(a: Self, bits: u32) -> Self;
    /// By less than 32 bits to the right, with the sign.
    fn right(a: Self, bits: u32) -> Self;
    /// By less than 32 bits to the right, with zeros.
    fn right_zeros(a: Self, bits: u32) -> Self;
    fn and(a: Self, b: Self) -> Self;
    fn or(a: Self, b: Self) -> Self;
    fn xor(a: Self, b: Self) -> Self;
    /// Bits of `yes` where those of the mask are set, of `no` where not.
    fn select(mask: Self, yes: Self, no: Self) -> Self;
    /// The bytes of `table` at the low four bits of each byte, all of which are below 16.
    fn look_up(table: Self, at: Self) -> Self;
    /// Numbers of 32 bits in turn: the first two of each, the last two.
    fn zip32(a: Self, b: Self) -> [Self; 2];
    /// Numbers of 64 bits: the first of each, the second.
    fn zip64(a: Self, b: Self) -> [Self; 2];
    /// Of vectors of four numbers of 16 bits, two in each, the fourth, as numbers of 32 bits. They are not negative.
    fn fourths(a: Self, b: Self) -> Self;
    /// Of eight numbers of 32 bits the low 16 bits of `(x + 2^(BITS − 1)) >> BITS`; BITS is at most 16.
    fn rounded<const BITS: i32>(sums: [Self; 2]) -> Self;
    /// Eight numbers of 32 bits that 16 bits hold.
    fn narrow(a: [Self; 2]) -> Self;

    fn weights(w: [i16; 4]) -> Self::Weights;
    /// Weights of the first three components of vectors; all fourths count 1.
    fn weights_of_three(w: [i16; 4]) -> Self::Weights;
    /// Σ w·row of numbers of 16 bits: the first four, the last four.
    fn weighted(rows: [Self; 4], w: Self::Weights) -> [Self; 2];

    /// Products of 64 bits of the even numbers of 32 bits, and of the odd ones: Σ w·row.
    fn weighted32(rows: [Self; 4], w: [i16; 4]) -> [Self; 2];
    /// Low halves of `(sum + 2^(BITS − 1)) >> BITS` of such sums; BITS is below 32.
    fn rounded64<const BITS: i32>(sums: [Self; 2]) -> Self;
    /// Low halves of `((sum >> 6)·ρ + 512) >> 10`; ρ is at most 16.
    fn scaled64(sums: [Self; 2], rho: Self) -> Self;

    /// The nearest f32.
    fn to_f32(a: Self) -> Self;
    /// The nearest whole numbers, the even one of two, at most as large as 32 bits have them; NaN is 0.
    fn to_whole(a: Self) -> Self;
    fn add_f32(a: Self, b: Self) -> Self;
    fn sub_f32(a: Self, b: Self) -> Self;
    fn mul_f32(a: Self, b: Self) -> Self;
    fn div_f32(a: Self, b: Self) -> Self;
    fn sqrt_f32(a: Self) -> Self;
    /// `a` where it is the smaller, `b` where not.
    fn min_f32(a: Self, b: Self) -> Self;
    /// `a` where it is the larger, `b` where not.
    fn max_f32(a: Self, b: Self) -> Self;
    /// All bits where it is so.
    fn less_f32(a: Self, b: Self) -> Self;
    /// Whether all bits are set.
    fn all(a: Self) -> bool;
}

/// Two f64 in a register.
pub(crate) trait Pair: Copy {
    fn load(from: &[f64; 2]) -> Self;
    fn store(v: Self, to: &mut [f64; 2]);
    fn splat(x: f64) -> Self;
    fn of_i32(from: [i32; 2]) -> Self;
    /// Whole numbers within 32 bits.
    fn to_i32(v: Self) -> [i32; 2];
    /// The nearest f32.
    fn to_f32(v: Self) -> [f32; 2];
    fn add(a: Self, b: Self) -> Self;
    fn sub(a: Self, b: Self) -> Self;
    fn mul(a: Self, b: Self) -> Self;
    fn div(a: Self, b: Self) -> Self;
    fn neg(a: Self) -> Self;
    fn sqrt(a: Self) -> Self;
    fn floor(a: Self) -> Self;
    /// The nearest whole number, the even one of two.
    fn round(a: Self) -> Self;
    fn less(a: Self, b: Self) -> Self;
    fn equal(a: Self, b: Self) -> Self;
    fn both(a: Self, b: Self) -> Self;
    fn select(mask: Self, yes: Self, no: Self) -> Self;
    fn all(mask: Self) -> bool;
    fn any(mask: Self) -> bool;
}

/// A kernel and its arguments. `run` is to be `#[inline(always)]`, as is all that it calls.
pub(crate) trait Task {
    type Out;
    fn run<Q: Quad, P: Pair>(self) -> Self::Out;
}
