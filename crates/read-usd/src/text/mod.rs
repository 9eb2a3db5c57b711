//! The text form of a layer, `.usda`: read once for its specs; values are parsed on demand.

mod cursor;
mod metadata;
mod parse;
mod splines;
mod values;

pub use parse::open;
pub use values::{TextValues, kind_of_type};

/// `true` if the first bytes are those of a text layer.
pub fn is_text(start: &[u8]) -> bool {
    start.starts_with(b"#usda")
}
