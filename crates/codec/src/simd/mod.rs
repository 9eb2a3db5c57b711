//! Which kernels run on this machine, and the eight numbers side by side that most of them are written in:
//! f32, and f64.

pub(crate) mod doubles;
pub mod isa;
pub(crate) mod lanes;
