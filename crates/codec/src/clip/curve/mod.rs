//! Codec `curve`: few keys per sub-track, Catmull-Rom splines between them. Error bound: the error that the
//! encoder measured with this file's own functions. Modelled on the animation compression of a large
//! multiplayer game.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `flags` | bits 0–1 knots: 0 uniform, 1 chordal, 2 centripetal · bit 2: rotations of 32 bits |
//! | 1 | 1 … 3 | `samples` | varint, 1 … 65,536 |
//! | … | 8 | `fps` | f64, samples per second |
//! | … | 8 | `start` | f64, time of sample 0 in seconds |
//! | … | ⌈6·joints/8⌉ | `kinds` | per joint rotation, translation, scale, two bits each, lowest first: 0 default, 1 constant, 2 animated |
//! | … | per sub-track | `values` | in the order of `kinds`: constant rotation 6 bytes · constant vector 3 × f32 · animated vector its range, 6 × f32: lowest xyz, then size xyz |
//! | … | 1 … 5 | `keys` | varint, number of keys |
//! | … | 10 (8) per key | `block` | keys, see below; a key of a rotation takes 8 bytes if rotations have 32 bits |
//!
//! A key holds its track and time, so that any stretch of the block has all that a stretch of time needs,
//! whichever joints move:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 2 | `track` | bits 0–13 joint, bits 14–15: 0 rotation, 1 translation, 2 scale |
//! | 2 | 2 | `time` | sample number |
//! | 4 | 6 (4) | `payload` | rotation: 48 or 32 bits · vector: three u16 over the range |
//!
//! ```text
//! need(key i of a track) = time of key i − 2, or 0          keys are sorted by (need, time, track): when playback passes key n, key n + 2 has been read
//! t         a sample
//! segment   from P₁ at T₁ to P₂ at T₂, T₁ ≤ t < T₂ (t = T₂ too in the last segment); P₀ the key before, P₃ the key after; u = (t − T₁)/(T₂ − T₁)
//! knots     dᵢ = 1 · Tᵢ₊₁ − Tᵢ · √(Tᵢ₊₁ − Tᵢ)               uniform · chordal · centripetal
//! tangents  S = P₂ − P₁; M₁ = ((P₁ − P₀)·(d₁/d₀) − (P₂ − P₀)·(d₁/(d₀ + d₁))) + S, or S if there is no P₀
//!           M₂ = ((P₃ − P₂)·(d₁/d₂) − (P₃ − P₁)·(d₁/(d₂ + d₁))) + S, or S if there is no P₃
//! value     P₁ + u·(M₁ + u·(((3·S − 2·M₁) − M₂) + u·((M₁ + M₂) − 2·S)))
//! rotation  before that, each quaternion is given the sign that makes its dot product with P₁ (for P₃: with P₂) not negative; then each component of the value is divided by its length
//! ```
//!
//! Everything is f32, in this order: the same bits on every machine. Credit: E. Catmull, R. Rom, *A class of
//! local interpolating splines*, 1974; P. J. Barry, R. N. Goldman, *A recursive evaluation algorithm for a
//! class of Catmull-Rom splines*, 1988.

mod keys;
#[cfg(feature = "encode")]
mod load;
mod playhead;
mod spline;
#[cfg(test)]
mod tests;

pub use keys::{
    CurveClip, CurveHead, CurveSubTrack, Key, MAX_SAMPLES, TRANSFORM_PARTS, TransformPart, ValueRange,
    decode_rotation32, decode_rotation48, encode_rotation32, encode_rotation48,
};
#[cfg(feature = "encode")]
pub use keys::{encode, sort_by_need};
#[cfg(feature = "encode")]
pub use load::from_poses;
pub use playhead::Playhead;
pub use spline::{KeyWindow, KnotSpacing, normalize};
