//! The soft codec: vertices of constant connectivity and any motion, in few bytes and within a guaranteed
//! error.
//!
//! ```text
//! T   = Σ c_r · rec_r[v]                temporal prediction from up to 4 decoded frames, fitted weights     temporal
//! p   = ρ · Σ W_i · inn[n_i]            the error of T, predicted from 4 points of coarser levels   hierarchy, weights
//! q   = the residual, on a lattice whose points are at most the tolerance away; zero if that is sufficient   lattice
//! inn[v] = p + S·q     rec[v] = T + inn[v]     out = rec · u + centre
//! ```
//!
//! * **Time**: a key frame every 16 frames, and in between temporal layers that halve the distances; stored
//!   in access units ([`crate::schedule`]).
//! * **Space**: points ordered from coarse to fine; a hierarchy level depends on coarser ones only, so it is
//!   decoded 16 points at a time.
//! * **Numbers**: wrapping integers ([`crate::quantize::fixed_point`]), so every machine produces the same
//!   bits; the encoder checks the f32 output of each point of each frame.
//! * **Entropy**: one token per point ([`token`]), coded by interleaved rANS ([`crate::entropy::rans`]) with
//!   a frequency table selected by the magnitudes around it, from those of the file ([`tables`]) or a set of
//!   the [`defaults`]; signs and low bits are raw.
//!
//! [`decode`] has the byte layout and the scalar decoder, the reference for the vectorized ones; [`encode`]
//! has the steps of encoding. Other vertex attributes are coded in the same way: texture coordinates as (u,
//! v, 0), colours as (r, g, b) and (alpha, 0, 0); `lattice::Extent::axes` is the number of axes in use.

mod blocks;
pub mod byte_budget;
mod contexts;
pub mod decode;
pub mod defaults;
mod dual_quaternion;
#[cfg(feature = "encode")]
pub mod encode;
pub mod height;
pub mod hierarchy;
pub mod normals;
pub mod pack;
mod registers;
pub mod rig;
pub mod skin;
pub mod table_sets;
pub mod tables;
pub mod token;
pub mod weights;

#[cfg(test)]
mod tests;
