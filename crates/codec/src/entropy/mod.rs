//! Symbols and bits to bytes, without knowing what they mean: range coders, tables, and compressed blocks.

pub mod block;
pub mod range;
pub mod rans;
pub mod symbols;
