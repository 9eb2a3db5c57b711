//! Numbers to bytes and back. One file per algorithm, both directions, the scalar reference first.
//!
//! Everything after quantization is integer arithmetic and lossless, so encoder, decoder, SIMD and GPU agree
//! on every bit on every machine. Decoders take any bytes: they return [`Corrupt`], never panic, never read
//! beyond their input, and write only into the caller's buffers. No files, clocks or threads here.

pub mod attributes;
pub mod ball;
pub mod blend;
pub mod block;
mod bytes;
pub mod clip;
mod cost;
pub mod detail;
pub mod drawn;
pub mod fluid;
pub mod grid;
pub mod height;
pub mod index;
pub mod isa;
mod lanes;
pub mod motion;
pub mod octahedral;
pub mod parallelogram;
pub mod qtangent;
pub mod quantize;
pub mod ranges;
pub mod record;
pub mod residual;
pub mod rig;
mod search;
pub mod skin;
pub mod soft;
pub mod source_faces;
pub mod source_map;
pub mod stream;
pub mod transform;
pub mod weld;
pub mod word;

pub use bytes::{put_sized, take_sized};

/// The bytes are not what the encoder writes. Says what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Corrupt(pub &'static str);
