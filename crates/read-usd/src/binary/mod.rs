//! The binary form of a layer, `.usdc`: tables that are read at once, and values that are read on demand.

mod integers;
pub mod sections;
pub mod specs;
mod values;

pub use values::Binary;
