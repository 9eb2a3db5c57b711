//! Decodes tokens and raw bits into residuals, sixteen vertices at a time, for positions of both widths.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
pub(super) mod narrow;
