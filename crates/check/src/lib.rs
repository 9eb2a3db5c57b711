//! Verifies a file against its source, and converts it back to a scene.

mod convert;
mod error;
pub mod extract;
pub mod extracted;
mod lens;
mod reopen;
mod requested;
mod skinning;
mod static_bytes;
pub mod verify;

pub use convert::{joint_matrix, qvv, unit};
pub use extract::to_scene;
pub use meshreel_scene::Error;
pub use reopen::{Refusal, decode_static, reopen, reopen_while};
pub use static_bytes::static_bytes;
pub use verify::{Failure, MatchMethod, MeshReport, Report, distances, verify};
