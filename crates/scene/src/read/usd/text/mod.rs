//! The text form of a layer, `.usda`: read once for its specs; values stay text until they are asked for.

mod cursor;
mod metadata;
mod parse;
mod splines;
mod values;

pub use parse::open;
pub use values::{Text, kind_of_type};

/// Whether the first bytes are those of a text layer.
pub fn is_text(start: &[u8]) -> bool {
    start.starts_with(b"#usda")
}
