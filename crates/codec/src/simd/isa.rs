//! The instruction set of this machine: detected once, at the first use. All kernels give the same bits.
//!
//! A kernel is in a file named after its instruction set, beside the scalar reference, and takes a proof that
//! the machine has it; such proofs come from [`Isa::get`].
//!
//! ```text
//! match isa {
//!     Isa::Avx2(avx2) => avx2::kernel(avx2, …),      safe to call: the proof is the argument
//!     Isa::Narrow(narrow) => quads::run(narrow, …),
//!     _ => kernel_scalar(…),
//! }
//! ```
//!
//! A machine with AVX-512 also has AVX2: kernels that benefit from AVX-512 derive its proof from that of AVX2
//! ([`Avx2::avx512`]).
//!
//! Registers of 128 bits are one case for all architectures: kernels for them are written once
//! ([`crate::simd`]).
//!
//! `MESHREEL_SCALAR=1` in the environment forces the scalar reference everywhere, `MESHREEL_AVX2=1` disables
//! AVX-512, `MESHREEL_NARROW=1` uses 128 bits on x86-64 too.

use std::sync::OnceLock;

/// The instruction sets that kernels are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
/// or SSE4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Narrow(Proof);

#[cfg(any(
    target_arch = "aarch64",
    target_arch = "x86_64",
    all(target_arch = "wasm32", target_feature = "simd128")
))]
type Proof = ();
/// Other machines have none.
#[cfg(not(any(
    target_arch = "aarch64",
    target_arch = "x86_64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
type Proof = std::convert::Infallible;

/// Proof that this machine has AVX2 (and what comes with it: SSE4.2, BMI1, BMI2, POPCNT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx2(Option<Avx512>);

/// Proof that this machine has the AVX-512 of Ice Lake and Zen 4: F, BW, DQ, VL, VBMI, VBMI2, VNNI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx512(());

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
                Some(_) if said("MESHREEL_AVX2") => Isa::Avx2(Avx2(None)),
                best => best.map(Isa::Avx2).or(narrow).unwrap_or(Isa::Scalar),
            }
        })
    }

    /// Returns `self`. If the program is compiled for one instruction set and no other can be requested,
    /// returns that one as a constant, so that the compiler omits other kernels.
    #[inline(always)]
    pub(crate) fn chosen(self) -> Isa {
        #[cfg(all(target_arch = "wasm32", target_os = "unknown", target_feature = "simd128"))]
        return Isa::Narrow(Narrow(()));
        #[cfg(not(all(target_arch = "wasm32", target_os = "unknown", target_feature = "simd128")))]
        self
    }

    /// Returns every instruction set of this machine, the reference first: for tests that compare them.
    pub fn all() -> impl Iterator<Item = Isa> {
        let best = Avx2::new();
        let narrow = best.map(|_| Isa::Avx2(Avx2(None)));
        let wide = best.filter(|a| a.avx512().is_some()).map(Isa::Avx2);
        let quads = Narrow::new().map(Isa::Narrow);
        [Some(Isa::Scalar), quads, narrow, wide].into_iter().flatten()
    }
}

impl Narrow {
    /// Returns `None` if the machine lacks them.
    fn new() -> Option<Narrow> {
        #[cfg(target_arch = "x86_64")]
        let proof = (is_x86_feature_detected!("sse4.1") && is_x86_feature_detected!("ssse3")).then_some(());
        #[cfg(any(target_arch = "aarch64", all(target_arch = "wasm32", target_feature = "simd128")))]
        let proof = Some(());
        #[cfg(not(any(
            target_arch = "aarch64",
            target_arch = "x86_64",
            all(target_arch = "wasm32", target_feature = "simd128")
        )))]
        let proof = None;
        proof.map(Narrow)
    }

    /// Unreachable: on such machines there is no value of this type.
    #[cfg(not(any(
        target_arch = "aarch64",
        target_arch = "x86_64",
        all(target_arch = "wasm32", target_feature = "simd128")
    )))]
    pub(super) fn none<T>(self) -> T {
        match self.0 {}
    }
}

impl Avx2 {
    /// Returns `None` if the machine lacks it.
    #[cfg(target_arch = "x86_64")]
    fn new() -> Option<Avx2> {
        let there = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        there.then(|| Avx2(Avx512::new()))
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn new() -> Option<Avx2> {
        None
    }

    /// Returns the proof of AVX-512, if the machine has it and it is not disabled.
    pub fn avx512(self) -> Option<Avx512> {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    fn new() -> Option<Avx512> {
        let there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512vnni");
        there.then_some(Avx512(()))
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
