//! Verifies a file against its source, and what was extracted from it against the file.

pub mod extracted;
mod machine;
mod reopen;
mod requested;
mod static_bytes;
pub mod verify;

pub use machine::{free_memory, machine_limits};
pub use meshreel_scene::Error;
pub use reopen::{Refusal, decode_static, reopen, reopen_while};
pub use static_bytes::{compressed_bytes, static_bytes};
pub use verify::{Failure, MatchMethod, MeshReport, Report, distances, verify};
