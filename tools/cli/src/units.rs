//! Formats numbers for people: bytes, counts, lengths and times.

pub use meshreel_commands::info::ratio;
pub use meshreel_compile::report::readable::{bytes, count, short, with_noun};
