//! Numbers for people: bytes, counts, lengths and times as they are printed.

pub use meshreel_compile::report::readable::{bytes, count, number, short};

/// `raw` by `packed`, 0 where there is nothing.
pub fn ratio(raw: u64, packed: u64) -> f64 {
    match packed {
        0 => 0.0,
        packed => raw as f64 / packed as f64,
    }
}
