//! Which kernels run on this machine: decided once, at the first use. All of them give the same bits.
//!
//! A kernel stands in a file named after its instruction set, beside the scalar reference, and asks for a
//! proof that the machine has it; [`Isa::get`] is where such proofs come from.
//!
//! ```text
//! match isa {
//!     Isa::Avx2(avx2) => avx2::kernel(avx2, …),      safe to call: the proof is the argument
//!     Isa::Narrow(narrow) => quads::run(narrow, …),
//!     _ => kernel_scalar(…),
//! }
//! ```
//!
//! A machine with AVX-512 has AVX2 too: kernels that are worth it ask the one proof for the other
//! ([`Avx2::avx512`]).
//!
//! Registers of 128 bits are one case, whoever has them: kernels for them are written once ([`crate::simd`]).
//!
//! `MESHREEL_SCALAR=1` in the environment forces the scalar reference everywhere, `MESHREEL_AVX2=1` leaves
//! AVX-512 out, `MESHREEL_NARROW=1` takes 128 bits on x86-64 too.

use std::sync::OnceLock;

/// Instruction sets that kernels are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// The reference.
    Scalar,
    /// 128 bits: NEON, WebAssembly's simd128, SSE4.1.
    Narrow(Narrow),
    /// x86-64 with AVX2.
    Avx2(Avx2),
}

/// Proof that this machine has registers of 128 bits: NEON, WebAssembly's (where the program is compiled for them)
/// or SSE4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Narrow(Proof);

#[cfg(any(
    target_arch = "aarch64",
    target_arch = "x86_64",
    all(target_arch = "wasm32", target_feature = "simd128")
))]
type Proof = ();
/// There is none on other machines.
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
    /// The best one that this machine has, or the reference where the environment says so.
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

    /// The same. Where a program is compiled for one instruction set and nothing can ask for another, that one, which
    /// the compiler then knows: kernels of others are left out.
    #[inline(always)]
    pub(crate) fn chosen(self) -> Isa {
        #[cfg(all(target_arch = "wasm32", target_os = "unknown", target_feature = "simd128"))]
        return Isa::Narrow(Narrow(()));
        #[cfg(not(all(target_arch = "wasm32", target_os = "unknown", target_feature = "simd128")))]
        self
    }

    /// Every one that this machine has, the reference first: for tests that compare them.
    pub fn all() -> impl Iterator<Item = Isa> {
        let best = Avx2::new();
        let narrow = best.map(|_| Isa::Avx2(Avx2(None)));
        let wide = best.filter(|a| a.avx512().is_some()).map(Isa::Avx2);
        let quads = Narrow::new().map(Isa::Narrow);
        [Some(Isa::Scalar), quads, narrow, wide].into_iter().flatten()
    }
}

impl Narrow {
    /// None where the machine lacks them.
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

    /// Where there is no such machine, nobody has this.
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
    /// None where the machine lacks it.
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

    /// The wider one, where it is there and wanted.
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
