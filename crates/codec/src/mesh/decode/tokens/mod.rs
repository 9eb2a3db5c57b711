//! Residuals that are coded as tokens and raw bits, sixteen vertices at a time, for positions of both widths.

pub(super) mod avx2;
pub(super) mod avx512;
