//! What several kernels of one instruction set share.

pub(in crate::mesh) mod avx2;
pub(in crate::mesh) mod avx512;
