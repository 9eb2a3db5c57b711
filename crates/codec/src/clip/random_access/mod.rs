//! The random-access form of a clip: each sample by itself, bit-packed, sampled in place, with the same bytes
//! in memory as in the file. The error is within the tolerance that the encoder measured with these same
//! functions.
//!
//! ```text
//! varint n · n bytes: header (side information; no sources, starts 0) · per segment of 16 samples 4 bytes: offset of its end · segments
//! block       up to eight sub-tracks of one kind, in the order free, two axes, hinge, translation, scale; within a kind in the order of the streamed form
//! component   block by block; within a block the first components of its sub-tracks, then the second ones, then the third ones
//! segment     factor u8: steps are those of the steps section times factor/128 · per block u16: number of bits of a sample up to the block's end · block by block, each padded to
//!             whole bytes: per component a width code of 4 bits (widths 0 … 12, then 14, 17, 24 bits) · origins, block by block · samples
//! origins     vectors f32, angles i32 (2³² is a full turn), in the order of components; of free rotations the smallest three: u16, two bits per sub-track that say which
//!             component is the largest, then the others as i16 in 2⁻¹⁴/√2, in the order of components
//! sample      per component k + 2^(width − 1), `width` bits; padded to whole bytes, the same size for each sample of a segment
//! vector      origin + k · step      angle   origin + k · step      free   origin, turned by y = Σ k · step/4 · axis
//! ```
//!
//! Bits run from the lowest of the first byte. A block is as much as a vector unit computes at once
//! (`sample`): f32 without fused operations, so that every instruction set gives the same bits.

mod fields;
mod form;
mod sample;
mod weights;

#[cfg(feature = "encode")]
pub use form::{Origin, UnpackedSegment, origin_quaternion};
pub use form::{RandomAccess, SEGMENT_SAMPLES, UNIT_FACTOR};
#[cfg(feature = "encode")]
pub use form::{encode, encode_body, extract_layer};
pub use sample::PoseSink;
pub use weights::{InterpolationWeights, Rounding};
