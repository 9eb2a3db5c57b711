//! Symbols and bits to bytes, independent of their meaning: range coders, tables, and compressed blocks.

pub mod block;
pub(crate) mod nibble;
pub mod range;
pub mod rans;
pub mod symbols;
