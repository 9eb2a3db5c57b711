//! Numbers for people: bytes, counts, lengths and times as they are printed.

pub use meshreel_compile::report::numbers::{bytes, count, short};

/// So many of something: `1 clip`, `2 meshes`.
pub fn number(count: usize, what: &str) -> String {
    let end = match count {
        1 => "",
        _ if what.ends_with("sh") => "es",
        _ => "s",
    };
    format!("{} {what}{end}", self::count(count as u64))
}

/// `raw` by `packed`, 0 where there is nothing.
pub fn ratio(raw: u64, packed: u64) -> f64 {
    match packed {
        0 => 0.0,
        packed => raw as f64 / packed as f64,
    }
}
