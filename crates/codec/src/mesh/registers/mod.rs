//! Tables and types that several decoders of one instruction set share.

pub(in crate::mesh) mod avx2;
pub(in crate::mesh) mod avx512;
