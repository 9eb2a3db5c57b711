//! Tests the reader of USD on valid and invalid files.

mod usd;
mod usd_clips;
mod usd_layers;
mod usd_paths;
mod usd_schemas;
#[path = "../../read/tests/walk/mod.rs"]
mod walk;
