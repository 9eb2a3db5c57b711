//! The instruction set of this machine, and kernels that are written once for all of them, with the vectors
//! of `fearless_simd`.

pub(crate) mod doubles;
pub mod isa;
pub(crate) mod lanes;
pub(crate) mod real;

use doubles::Doubles;
use isa::Isa;

/// A kernel and its arguments: compiled for each instruction set. `run` must be `#[inline(always)]`, like
/// everything that it calls.
pub(crate) trait Kernel {
    type Out;
    fn run<S: Doubles>(self, simd: S) -> Self::Out;
}

/// Runs a kernel with an instruction set; the scalar reference stands for what all processors of this
/// architecture have.
#[inline]
pub(crate) fn run_kernel<K: Kernel>(isa: Isa, kernel: K) -> K::Out {
    match run_vectors(isa, kernel) {
        Ok(out) => out,
        Err(kernel) => compiled(isa::baseline(), kernel),
    }
}

/// Runs a kernel that has a scalar reference beside it. Returns the kernel, which has not run, where the
/// reference is to be used: no code is made of the kernel for machines without vectors.
#[inline]
pub(crate) fn run_vectors<K: Kernel>(isa: Isa, kernel: K) -> Result<K::Out, K> {
    match isa.chosen() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => Ok(match avx2.avx512() {
            Some(avx512) => compiled(avx512.token(), kernel),
            None => compiled(avx2.token(), kernel),
        }),
        Isa::Narrow(narrow) => Ok(compiled(narrow.token(), kernel)),
        _ => Err(kernel),
    }
}

/// Runs a kernel in a function of the token's instruction set.
#[inline(always)]
fn compiled<S: Doubles, K: Kernel>(simd: S, kernel: K) -> K::Out {
    simd.vectorize(
        #[inline(always)]
        || kernel.run(simd),
    )
}

/// Work of other crates that is compiled for each instruction set: loops over a few adjacent numbers become
/// vectors as wide as the machine has. Everything in it must be inlined; the result is the same for each
/// instruction set.
pub trait VectorizedLoop {
    /// Does the work.
    fn run(self);
}

struct Compiled<W>(W);

impl<W: VectorizedLoop> Kernel for Compiled<W> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) {
        self.0.run();
    }
}

/// Runs work with the instruction set of this machine.
pub fn run(work: impl VectorizedLoop) {
    run_kernel(Isa::get(), Compiled(work));
}
