//! The registers of the mesh decoder: several vectors of x, y, z and a magnitude side by side. Each
//! instruction set has one type for 16-bit and one for 32-bit components; the decoder is written once for
//! all of them.

#[cfg(target_arch = "x86_64")]
pub(in crate::mesh) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(in crate::mesh) mod avx512;
mod narrow;
mod wide;

use super::blocks::BUNDLE;
use crate::quantize::fixed_point::FixedPoint;
use fearless_simd::Simd;

/// A register of 4-vectors: x, y, z and a magnitude. All arithmetic wraps.
pub(in crate::mesh) trait Register: Copy {
    type Simd: Simd;
    /// The type of a component.
    type Number: FixedPoint;
    /// The 16 vectors of a block.
    type Block: Copy + AsRef<[Self]> + AsMut<[Self]>;
    /// A value for each vector of a register.
    type Each<T>: AsRef<[T]>;
    /// The weights of four vectors.
    type Weights: Copy;
    /// ρ by vector, in 1/16.
    type Rho: Copy;
    /// The number of vectors.
    const VECTORS: usize;

    /// Calls `value` for each number below [`Self::VECTORS`], without a loop, so that all values stay in
    /// registers.
    fn each<T>(value: impl FnMut(usize) -> T) -> Self::Each<T>;
    /// Loads the first [`Self::VECTORS`] vectors of a list. Panics if it is shorter.
    fn load(simd: Self::Simd, list: &[[Self::Number; 4]]) -> Self;
    /// Stores the vectors at the start of a list. Panics if it is shorter.
    fn store(self, list: &mut [[Self::Number; 4]]);
    /// Loads the vectors at the first indices. Panics if one is beyond the end.
    fn gather(simd: Self::Simd, list: &[[Self::Number; 4]], at: &[u32]) -> Self;
    fn zero(simd: Self::Simd) -> Self;
    /// Returns a block of zeros.
    fn zeros(simd: Self::Simd) -> Self::Block;

    /// Multiplies component by component.
    fn times(self, other: Self) -> Self;
    /// Adds x, y and z of `other`; keeps the magnitudes.
    fn plus_axes(self, other: Self) -> Self;
    /// Replaces the magnitudes by 0.
    fn axes(self) -> Self;

    /// Returns the same weights for all components of all vectors.
    fn weights(simd: Self::Simd, weights: [i16; 4]) -> Self::Weights;
    /// Returns the same weights for x, y and z of all vectors; magnitudes have the weight 1.
    fn axis_weights(simd: Self::Simd, weights: [i16; 4]) -> Self::Weights;
    /// Returns the weights of each vector for its x, y and z; magnitudes have the weight 1.
    fn weights_of_each(simd: Self::Simd, weights: &[[i16; 4]]) -> Self::Weights;
    /// Returns ρ of the vectors from number `first` on.
    fn rho(simd: Self::Simd, rho: &[i32; BUNDLE], first: usize) -> Self::Rho;

    /// Returns `(Σ w·n + 128) >> 8`.
    fn blend(rows: [Self; 4], weights: Self::Weights) -> Self;
    /// Returns `((Σ w·n >> 6)·ρ + 512) >> 10` of x, y and z, and `Σ w·n` of the magnitudes; without `rho`, ρ
    /// is 16.
    fn weigh(rows: [Self; 4], weights: Self::Weights, rho: Option<Self::Rho>) -> Self;

    /// Transposes rows of vectors.
    fn transposed(rows: Self::Each<Self>) -> Self::Each<Self>;
}

/// The loads and stores of a register, the same for all types.
macro_rules! memory {
    ($number:ty, $simd:ty, $vectors:literal: [$($v:literal)*]) => {
        type Simd = $simd;
        type Number = $number;
        type Block = [Self; BLOCK / $vectors];
        type Each<T> = [T; $vectors];
        const VECTORS: usize = $vectors;

        #[inline(always)]
        fn each<T>(mut value: impl FnMut(usize) -> T) -> [T; $vectors] {
            [$(value($v)),*]
        }
        #[inline(always)]
        fn load(simd: $simd, list: &[[$number; 4]]) -> Self {
            Self::from_slice(simd, list[..$vectors].as_flattened())
        }
        #[inline(always)]
        fn store(self, list: &mut [[$number; 4]]) {
            self.store_slice(list[..$vectors].as_flattened_mut());
        }
        #[inline(always)]
        fn gather(simd: $simd, list: &[[$number; 4]], at: &[u32]) -> Self {
            Self::load(simd, &[$(list[at[$v] as usize]),*])
        }
        #[inline(always)]
        fn zero(simd: $simd) -> Self {
            Self::splat(simd, 0)
        }
        #[inline(always)]
        fn zeros(simd: $simd) -> Self::Block {
            [Self::splat(simd, 0); BLOCK / $vectors]
        }
        #[inline(always)]
        fn times(self, other: Self) -> Self {
            self * other
        }
        #[inline(always)]
        fn plus_axes(self, other: Self) -> Self {
            self + other.axes()
        }
    };
}
use memory;

/// By component: all bits set, except in magnitudes.
const AXES: [i16; 32] = {
    let mut out = [-1; 32];
    let mut vector = 0;
    while vector < 8 {
        out[4 * vector + 3] = 0;
        vector += 1;
    }
    out
};

/// The same for 32-bit numbers, of up to four vectors.
const WIDE_AXES: [i32; 16] = [-1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 0];
