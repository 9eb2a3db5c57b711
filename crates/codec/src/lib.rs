//! Codecs: numbers to bytes and back. One file per algorithm with both directions, the scalar reference
//! first.
//!
//! Folders, lowest first; a module imports from its own folder and from those before it: bytes, width, sort,
//! tasks, simd, entropy, quantize, topology, schedule, transform, values, clip, mesh, classic, record.
//!
//! Encoders need the feature `encode`; without it there are only decoders, and no C code.
//!
//! Everything after quantization is integer arithmetic and lossless, so encoder, decoder, SIMD and GPU agree
//! on every bit on every machine. Decoders accept any bytes: they return [`Corrupt`], never panic, never read
//! beyond their input, and write only into the caller's buffers. This crate uses no files, clocks or threads.

#![cfg_attr(docsrs, feature(doc_cfg))]
// Without the encoders, some imports of files that hold both directions are unused.
#![cfg_attr(not(feature = "encode"), allow(unused_imports))]

mod bytes;
pub mod classic;
pub mod clip;
pub mod entropy;
pub mod mesh;
pub mod quantize;
pub mod record;
pub mod schedule;
pub mod simd;
pub mod sort;
#[cfg(feature = "encode")]
pub mod tasks;
pub mod topology;
pub mod transform;
pub mod values;
mod width;

pub use bytes::{Corrupt, put_length_prefixed, take_length_prefixed};
pub use width::{ByWidth, OwnedPoints, Points};
