//! How much smaller.

/// `raw` by `packed`, 0 where there is nothing.
pub fn ratio(raw: u64, packed: u64) -> f64 {
    match packed {
        0 => 0.0,
        packed => raw as f64 / packed as f64,
    }
}
