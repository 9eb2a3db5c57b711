//! 128-bit registers of ARM, WebAssembly and x86-64 without AVX2: integer kernels for these are written once.
//! The same bits on every machine.
//!
//! A kernel is a [`Task`]: generic over [`Quad`], and inlined as a whole into a
//! function of the instruction set. Wider registers have kernels of their own, with gathers and permutations
//! that these lack.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod sse41;
mod traits;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm128;

use crate::simd::isa::Narrow;
pub(crate) use traits::{Quad, Task};

/// Runs a kernel with the machine's 128-bit registers.
#[inline(always)]
pub(crate) fn run<T: Task>(narrow: Narrow, task: T) -> T::Out {
    #[cfg(target_arch = "aarch64")]
    return neon::run(narrow, task);
    #[cfg(target_arch = "x86_64")]
    return sse41::run(narrow, task);
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return wasm128::run(narrow, task);
    #[cfg(not(any(
        target_arch = "aarch64",
        target_arch = "x86_64",
        all(target_arch = "wasm32", target_feature = "simd128")
    )))]
    {
        let _ = task;
        narrow.none()
    }
}
