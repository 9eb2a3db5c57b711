//! The preset `classic`: index frames, and between them B-frames that are predicted by motion and
//! interpolation.

pub mod motion;
#[cfg(feature = "encode")]
mod search;
pub mod stream;
