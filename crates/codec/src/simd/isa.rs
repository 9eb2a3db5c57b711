//! The instruction set of this machine: detected once, at the first use. All kernels give the same bits.
//!
//! Most kernels are written once, with the vectors of `fearless_simd` (`simd::Kernel`). Others are
//! in a file named after their instruction set, beside the scalar reference, and take a proof that the
//! machine has it; such proofs come from [`Isa::get`].
//!
//! ```text
//! match isa {
//!     Isa::Avx2(avx2) => avx2::kernel(avx2, …),      safe to call: the proof is the argument
//!     _ => kernel_scalar(…),
//! }
//! ```
//!
//! A machine with AVX-512 also has AVX2: kernels that benefit from AVX-512 derive its proof from that of AVX2
//! ([`Avx2::avx512`]).
//!
//! Registers of 128 bits are one case for all architectures.
//!
//! `MESHREEL_SCALAR=1` in the environment forces the scalar reference everywhere, or, for kernels without
//! one, what all processors of the architecture have. `MESHREEL_AVX2=1` disables AVX-512, `MESHREEL_NARROW=1`
//! uses 128 bits on x86-64 too.

use fearless_simd::Level;
use std::sync::OnceLock;

#[cfg(target_arch = "aarch64")]
pub(crate) use fearless_simd::aarch64::Neon as NarrowToken;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) use fearless_simd::wasm32::WasmSimd128 as NarrowToken;
#[cfg(target_arch = "x86_64")]
use fearless_simd::x86;
#[cfg(target_arch = "x86_64")]
pub(crate) use fearless_simd::x86::Sse4_2 as NarrowToken;

/// The instruction sets that kernels are written for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Isa {
    /// The scalar reference.
    Scalar,
    /// 128-bit registers: NEON, WebAssembly's simd128, SSE4.1.
    Narrow(Narrow),
    /// x86-64 with AVX2.
    Avx2(Avx2),
}

/// Proof that this machine has 128-bit registers: NEON, WebAssembly's (if the program is compiled for them)
/// or SSE4.2.
#[derive(Debug, Clone, Copy)]
pub struct Narrow(NarrowToken);

/// Other machines have none.
#[cfg(not(any(
    target_arch = "aarch64",
    target_arch = "x86_64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
pub(crate) type NarrowToken = fearless_simd::Fallback;

/// Proof that this machine has AVX2 and what comes with it (x86-64-v3).
#[derive(Debug, Clone, Copy)]
pub struct Avx2(Avx2Token, Option<Avx512>);

#[cfg(target_arch = "x86_64")]
type Avx2Token = x86::Avx2;
/// Other machines have none.
#[cfg(not(target_arch = "x86_64"))]
type Avx2Token = std::convert::Infallible;

/// Proof that this machine has the AVX-512 of Ice Lake and Zen 4.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub struct Avx512(x86::Avx512);

/// Proof that this machine has the AVX-512 of Ice Lake and Zen 4.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Debug, Clone, Copy)]
pub struct Avx512(std::convert::Infallible);

impl PartialEq for Isa {
    fn eq(&self, other: &Isa) -> bool {
        match (self, other) {
            (Isa::Scalar, Isa::Scalar) | (Isa::Narrow(_), Isa::Narrow(_)) => true,
            (Isa::Avx2(a), Isa::Avx2(b)) => a.avx512().is_some() == b.avx512().is_some(),
            _ => false,
        }
    }
}

impl Eq for Isa {}

impl Isa {
    /// Returns the best instruction set of this machine, or the one that the environment selects.
    pub fn get() -> Isa {
        static CHOSEN: OnceLock<Isa> = OnceLock::new();
        *CHOSEN.get_or_init(|| {
            let said = |name: &str| std::env::var_os(name).is_some_and(|v| v == "1");
            let narrow = Narrow::new().map(Isa::Narrow);
            match Avx2::new() {
                _ if said("MESHREEL_SCALAR") => Isa::Scalar,
                Some(_) if said("MESHREEL_NARROW") => narrow.unwrap_or(Isa::Scalar),
                Some(Avx2(token, _)) if said("MESHREEL_AVX2") => Isa::Avx2(Avx2(token, None)),
                best => best.map(Isa::Avx2).or(narrow).unwrap_or(Isa::Scalar),
            }
        })
    }

    /// Returns `self`. If the program is compiled for one instruction set and no other can be requested,
    /// returns that one as a constant, so that the compiler omits other kernels.
    #[inline(always)]
    pub(crate) fn chosen(self) -> Isa {
        #[cfg(all(target_arch = "wasm32", target_os = "unknown", target_feature = "simd128"))]
        let isa = Isa::Narrow(Narrow(baseline()));
        #[cfg(not(any(
            target_arch = "aarch64",
            target_arch = "x86_64",
            all(target_arch = "wasm32", target_feature = "simd128")
        )))]
        let isa = Isa::Scalar;
        #[cfg(any(
            target_arch = "aarch64",
            target_arch = "x86_64",
            all(target_arch = "wasm32", not(target_os = "unknown"), target_feature = "simd128")
        ))]
        let isa = self;
        isa
    }

    /// Returns this instruction set without AVX-512, for loops that the compiler makes slower with it.
    pub(crate) fn without_avx512(self) -> Isa {
        match self {
            Isa::Avx2(Avx2(token, _)) => Isa::Avx2(Avx2(token, None)),
            other => other,
        }
    }

    /// Returns every instruction set of this machine, the reference first: for tests that compare them.
    pub fn all() -> impl Iterator<Item = Isa> {
        let best = Avx2::new();
        let narrow = best.map(|Avx2(token, _)| Isa::Avx2(Avx2(token, None)));
        let wide = best.filter(|a| a.avx512().is_some()).map(Isa::Avx2);
        let quads = Narrow::new().map(Isa::Narrow);
        [Some(Isa::Scalar), quads, narrow, wide].into_iter().flatten()
    }
}

/// The token of what all processors of this architecture have.
#[cfg(target_arch = "x86_64")]
type BaselineToken = x86::Sse2;
#[cfg(any(target_arch = "aarch64", all(target_arch = "wasm32", target_feature = "simd128")))]
type BaselineToken = NarrowToken;
#[cfg(not(any(
    target_arch = "aarch64",
    target_arch = "x86_64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
type BaselineToken = fearless_simd::Fallback;

/// Returns the token of what all processors of this architecture have.
pub(super) fn baseline() -> BaselineToken {
    #[cfg(target_arch = "x86_64")]
    let token = Level::baseline().as_sse2().expect("x86-64 has SSE2");
    #[cfg(target_arch = "aarch64")]
    let token = Level::baseline().as_neon().expect("AArch64 has NEON");
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    let token = Level::baseline().as_wasm_simd128().expect("the program is compiled for it");
    #[cfg(not(any(
        target_arch = "aarch64",
        target_arch = "x86_64",
        all(target_arch = "wasm32", target_feature = "simd128")
    )))]
    let token = fearless_simd::Fallback::new();
    token
}

impl Narrow {
    /// Returns `None` if the machine lacks them.
    fn new() -> Option<Narrow> {
        #[cfg(target_arch = "x86_64")]
        let token = Level::new().as_sse4_2();
        #[cfg(target_arch = "aarch64")]
        let token = Level::new().as_neon();
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        let token = Level::new().as_wasm_simd128();
        #[cfg(not(any(
            target_arch = "aarch64",
            target_arch = "x86_64",
            all(target_arch = "wasm32", target_feature = "simd128")
        )))]
        let token = None;
        token.map(Narrow)
    }

    /// Returns the token of vectors of this width.
    pub(crate) fn token(self) -> NarrowToken {
        self.0
    }
}

impl Avx2 {
    /// Returns `None` if the machine lacks it.
    #[cfg(target_arch = "x86_64")]
    fn new() -> Option<Avx2> {
        let level = Level::new();
        Some(Avx2(level.as_avx2()?, level.as_avx512().map(Avx512)))
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn new() -> Option<Avx2> {
        None
    }

    /// Returns the proof of AVX-512, if the machine has it and it is not disabled.
    pub fn avx512(self) -> Option<Avx512> {
        self.1
    }

    /// Returns the token of vectors of this width.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn token(self) -> x86::Avx2 {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// Returns the token of vectors of this width.
    pub(crate) fn token(self) -> x86::Avx512 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_one_of_all_and_stays() {
        assert_eq!(Isa::all().next(), Some(Isa::Scalar));
        assert!(Isa::all().any(|isa| isa == Isa::get()));
        assert_eq!(Isa::get(), Isa::get());
        if std::env::var_os("MESHREEL_SCALAR").is_some_and(|v| v == "1") {
            assert_eq!(Isa::get(), Isa::Scalar);
        }
    }
}
