//! The soft codec: points of constant connectivity, any motion, few bytes, a guaranteed error.
//!
//! ```text
//! T   = Σ c_r · rec_r[v]                temporal prediction from up to 4 decoded frames, fitted weights     temporal
//! p   = ρ · Σ W_i · inn[n_i]            what T misses, predicted from 4 points of coarser levels   hierarchy, weights
//! q   = the residual, on a lattice whose farthest points are the tolerance away; zero wherever that will do   lattice
//! inn[v] = p + S·q     rec[v] = T + inn[v]     out = rec · u + centre
//! ```
//!
//! * **Time**: keys every 16 frames, the frames between them dyadic; stored in units ([`crate::schedule`]).
//! * **Space**: points in level-of-detail order; a level needs only coarser ones, so it is computed 16 points
//!   at a time.
//! * **Numbers**: integers that wrap ([`crate::quantize::fixed`]), so every machine gives the same bits; the f32 output is
//!   checked by the encoder for each point of each frame.
//! * **Entropy**: one token per point ([`token`]), tables for the whole file by the magnitudes around
//!   ([`tables`]) or one of the [`defaults`], interleaved range coding ([`crate::entropy::rans`]), signs and low bits raw.
//!
//! [`decode`] has the byte layout and the plain decoder, the oracle of the fast ones; [`encode`] the steps of
//! encoding. The other components of a mesh go the same way: texture coordinates as (u, v, 0), colours as (r,
//! g, b) and (alpha, 0, 0), with `lattice::Extent::axes` saying how many axes are used.

mod blocks;
mod contexts;
pub mod decode;
pub mod defaults;
mod dual;
#[cfg(feature = "encode")]
pub mod encode;
pub mod height;
pub mod hierarchy;
pub mod normals;
pub mod pack;
#[cfg(target_arch = "x86_64")]
mod registers;
pub mod rig;
pub mod shared;
pub mod skin;
pub mod tables;
pub mod token;
pub mod weights;

#[cfg(test)]
mod tests;
