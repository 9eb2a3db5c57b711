//! Compression ratios.

/// Returns `raw` divided by `packed`, or 0 if `packed` is 0.
pub fn ratio(raw: u64, packed: u64) -> f64 {
    match packed {
        0 => 0.0,
        packed => raw as f64 / packed as f64,
    }
}
