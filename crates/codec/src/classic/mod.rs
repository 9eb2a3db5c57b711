//! The preset `classic`: index frames, and B-frames between them that are predicted by motion and
//! interpolation.

pub mod motion;
#[cfg(feature = "encode")]
mod search;
pub mod stream;
