//! Decodes the residuals of 16-bit vectors, with the means of each instruction set: tokens with their raw
//! bits here, packed residuals in [`crate::mesh::pack`].

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
pub(super) mod narrow;

/// The residuals of a unit: its tokens `T`, or its packed residuals `P`.
#[allow(clippy::large_enum_variant)] // One per unit, on the stack.
enum Input<T, P> {
    Zero,
    Tokens(T),
    Packed(P),
}
