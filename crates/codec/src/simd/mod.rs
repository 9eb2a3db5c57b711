//! Which kernels run on this machine, and the eight numbers side by side that most of them are written in.

pub mod isa;
pub(crate) mod lanes;
