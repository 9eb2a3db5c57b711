//! Proves a file against its source, and turns it back into a scene.

mod reopen;
pub mod scene;
pub mod verify;

pub use meshreel_scene::Error;
pub use reopen::reopen;
pub use scene::to_scene;
pub use verify::{Failure, Matched, MeshReport, Report, distances, verify};
