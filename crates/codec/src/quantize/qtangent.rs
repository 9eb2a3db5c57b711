//! Tangent frames as quaternions whose sign carries the reflection. Error bound: [`bound`], for normal and
//! tangent. Used for meshes with normals and texture coordinates.
//!
//! The quaternion rotates x to the tangent, z to the normal and y to `cross(normal, tangent)`. Negating all
//! four components keeps the rotation, so the sign of w is free: it is positive if the bitangent is
//! `cross(normal, tangent)` and negative if that is reflected. For this w must not be zero, so it is at least
//! one quantization step away from it; that step is part of the bound.
//!
//! ```text
//! half       = 2^(bits−1) − 1                       codes 0 … 2·half; code half is zero
//! x, y, z, w = code − half                          in f32; divided by √(x² + y² + z² + w²)
//! tangent    = (1 − 2(y² + z²), 2(xy + wz), 2(xz − wy))
//! normal     = (2(xz + wy), 2(yz − wx), 1 − 2(x² + y²))
//! sign       = w < 0 ? −1 : 1
//! ```
//!
//! Credit: Ivo Zoltan Frey and Ivo Herzeg, "Spherical Skinning with Dual Quaternions and QTangents", 2011.

use crate::quantize::code::Code;
use crate::quantize::vertices::convert_vertices;
use crate::simd::isa::Isa;
use crate::simd::lanes::{cross, dot, minus, times};

/// The range of bits per component. Part of the format.
pub const BITS: std::ops::RangeInclusive<u32> = 6..=16;

/// A tangent frame: unit normal, unit tangent, and the sign of the bitangent (`cross(normal, tangent)·sign`).
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct TangentFrame {
    pub normal: [f32; 3],
    pub tangent: [f32; 3],
    pub sign: f32,
}

/// Returns the largest angle in degrees by which a normal or a tangent (made perpendicular to its normal) can
/// turn.
#[cfg(feature = "encode")]
pub fn bound(bits: u32) -> f64 {
    // Rounding moves x, y, z by half a step each and w by at most a whole one; the rotation is twice the
    // angle between the quaternions. 2e-6 rad is more than the f32 arithmetic of the decoder can add.
    let moved = 1.75f64.sqrt() / f64::from(half(bits));
    (2.0 * moved.min(1.0).asin() + 2e-6).to_degrees()
}

/// Returns the bits per component (6…16) with which normal and tangent are decoded within `degrees`; 16 if
/// that is not reachable (see [`bound`]).
#[cfg(feature = "encode")]
pub fn bits_for(degrees: f64) -> u32 {
    BITS.into_iter().find(|&bits| bound(bits) <= degrees).unwrap_or(*BITS.end())
}

/// Returns four codes x, y, z, w. The tangent is made perpendicular to the normal first; an invalid frame
/// (zero or not finite) becomes one with the same normal if that is usable, else the identity.
#[cfg(feature = "encode")]
pub fn encode(frame: TangentFrame, bits: u32) -> [u16; 4] {
    let half = half(bits);
    let mut q = quaternion(frame.normal.map(f64::from), frame.tangent.map(f64::from));
    if q[3] < 0.0 {
        q = q.map(|v| -v);
    }
    let mut codes = q.map(|v| (v * f64::from(half)).round() as i32);
    codes[3] = codes[3].max(1);
    let flip = if frame.sign < 0.0 { -1 } else { 1 };
    codes.map(|l| (l * flip + half).clamp(0, 2 * half) as u16)
}

/// Returns the unit quaternion, w ≥ 0, of a unit normal and a unit tangent that are perpendicular except for
/// rounding: within 10⁻⁶ rad.
pub fn quaternion_from_frame(normal: [f32; 3], tangent: [f32; 3]) -> [f32; 4] {
    let n = times(normal, 1.0 / dot(normal, normal).sqrt());
    let t = minus(tangent, times(n, dot(n, tangent)));
    let b = cross(n, t);
    // Four times the products of each pair of components, and four times each square.
    let (dx, dy, dz) = (t[0], b[1], n[2]);
    let trace = dx + dy + dz;
    let (wx, wy, wz) = (b[2] - n[1], n[0] - t[2], t[1] - b[0]);
    let (yz, xz, xy) = (b[2] + n[1], n[0] + t[2], t[1] + b[0]);
    // The largest square is large enough to divide by.
    let q = if trace > 0.0 {
        [wx, wy, wz, 1.0 + trace]
    } else if dx > dy && dx > dz {
        [1.0 + dx - dy - dz, xy, xz, wx]
    } else if dy > dz {
        [xy, 1.0 + dy - dx - dz, yz, wy]
    } else {
        [xz, yz, 1.0 + dz - dx - dy, wz]
    };
    let length = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
    let scale = if q[3] < 0.0 { -1.0 / length } else { 1.0 / length };
    q.map(|v| v * scale)
}

/// Decodes the frame. Codes beyond the last count as the last; all codes in the middle give the identity.
#[inline(always)]
pub fn decode(codes: [u16; 4], bits: u32) -> TangentFrame {
    let q = centred(codes, bits);
    frame(q, if q[3] < 0.0 { -1.0 } else { 1.0 })
}

/// Writes unit normals, xyz per vertex, from 4 codes per vertex, component-major, 8- or 16-bit words.
///
/// Panics unless there are 4 codes per 3 floats.
pub fn normals<W: Code>(bits: u32, codes: &[W], out: &mut [f32]) {
    convert_vertices::<W, _, 1, 4, 3>(Isa::get(), [codes], out, move |[q]| decode(q, bits).normal);
}

/// Writes unit tangents, xyzw per vertex; w is the sign of the bitangent. Otherwise like [`normals`].
///
/// Panics unless there are 4 codes per 4 floats.
pub fn tangents<W: Code>(bits: u32, codes: &[W], out: &mut [f32]) {
    convert_vertices::<W, _, 1, 4, 4>(Isa::get(), [codes], out, move |[q]| {
        let frame = decode(q, bits);
        let [x, y, z] = frame.tangent;
        [x, y, z, frame.sign]
    });
}

/// Returns the unit quaternion of some codes; its w is negative if the bitangent is reflected.
#[inline]
pub fn rotation(codes: [u16; 4], bits: u32) -> [f32; 4] {
    let mut q = centred(codes, bits);
    if q == [0.0; 4] {
        q[3] = 1.0;
    }
    let length = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
    q.map(|v| v / length)
}

/// Returns the quaternion of some codes, not normalized.
#[inline(always)]
pub(crate) fn centred(codes: [u16; 4], bits: u32) -> [f32; 4] {
    let half = half(bits);
    codes.map(|l| (i32::from(l).min(2 * half) - half) as f32)
}

/// Returns the frame of a quaternion of any length; zero gives the identity. `sign` is that of the bitangent.
#[inline(always)]
pub fn frame(mut q: [f32; 4], sign: f32) -> TangentFrame {
    if q == [0.0; 4] {
        q[3] = 1.0;
    }
    let length = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
    let [x, y, z, w] = q.map(|v| v / length);
    TangentFrame {
        normal: [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
        tangent: [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
        sign,
    }
}

/// Returns the code of zero; bits outside the allowed range count as the nearest allowed.
#[inline(always)]
fn half(bits: u32) -> i32 {
    (1 << (bits.clamp(*BITS.start(), *BITS.end()) - 1)) - 1
}

#[cfg(feature = "encode")]
fn dot64(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(feature = "encode")]
fn cross64(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(feature = "encode")]
fn unit(a: [f64; 3]) -> Option<[f64; 3]> {
    let length = dot64(a, a).sqrt();
    (length.is_finite() && length > 1e-30).then(|| a.map(|v| v / length))
}

/// Returns the unit quaternion of the rotation with columns tangent, cross64(normal, tangent), normal.
#[cfg(feature = "encode")]
fn quaternion(normal: [f64; 3], tangent: [f64; 3]) -> [f64; 4] {
    let Some(n) = unit(normal) else {
        return [0.0, 0.0, 0.0, 1.0];
    };
    let along = unit(tangent).unwrap_or([0.0; 3]);
    let flat = std::array::from_fn(|k| along[k] - n[k] * dot64(n, along));
    let t = if dot64(flat, flat) > 1e-12 { unit(flat) } else { None };
    // Any perpendicular direction, made from the axis that is farthest from the normal.
    let t = t.unwrap_or_else(|| {
        let k = (0..3).min_by(|&i, &j| n[i].abs().total_cmp(&n[j].abs())).unwrap_or(0);
        let mut axis = [0.0; 3];
        axis[k] = 1.0;
        unit(cross64(axis, n)).unwrap_or([1.0, 0.0, 0.0])
    });
    let b = cross64(n, t);
    let trace = t[0] + b[1] + n[2];
    let q = if trace > 0.0 {
        [b[2] - n[1], n[0] - t[2], t[1] - b[0], 1.0 + trace]
    } else if t[0] >= b[1] && t[0] >= n[2] {
        [1.0 + t[0] - b[1] - n[2], t[1] + b[0], n[0] + t[2], b[2] - n[1]]
    } else if b[1] >= n[2] {
        [t[1] + b[0], 1.0 + b[1] - t[0] - n[2], b[2] + n[1], n[0] - t[2]]
    } else {
        [n[0] + t[2], b[2] + n[1], 1.0 + n[2] - t[0] - b[1], t[1] - b[0]]
    };
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    q.map(|v| v / length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn angle(a: [f32; 3], b: [f64; 3]) -> f64 {
        let a = a.map(f64::from);
        let c = cross64(a, b);
        dot64(c, c).sqrt().atan2(dot64(a, b)).to_degrees()
    }

    fn frame(q: [f64; 4], sign: f32) -> Option<TangentFrame> {
        let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
        let [x, y, z, w] = (length > 1e-9).then(|| q.map(|v| v / length))?;
        let n = [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)];
        let t = [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)];
        Some(TangentFrame { normal: n.map(|v| v as f32), tangent: t.map(|v| v as f32), sign })
    }

    /// Returns the larger error of normal and tangent, in degrees, relative to the orthogonalized frame.
    fn error(f: TangentFrame, bits: u32) -> f64 {
        let back = decode(encode(f, bits), bits);
        assert_eq!(back.sign, f.sign);
        let n = unit(f.normal.map(f64::from)).unwrap();
        let t = f.tangent.map(f64::from);
        let t = unit(std::array::from_fn(|k| t[k] - n[k] * dot64(n, t))).unwrap();
        angle(back.normal, n).max(angle(back.tangent, t))
    }

    #[test]
    fn golden() {
        let f = TangentFrame { normal: [0.0, 0.0, 1.0], tangent: [1.0, 0.0, 0.0], sign: 1.0 };
        assert_eq!(encode(f, 10), [511, 511, 511, 1022]);
        assert_eq!(encode(TangentFrame { sign: -1.0, ..f }, 10), [511, 511, 511, 0]);
        let turned = TangentFrame { tangent: [-1.0, 0.0, 0.0], ..f };
        assert_eq!(encode(turned, 10), [511, 511, 1022, 512]);
        assert_eq!(decode([511; 4], 10), f);
    }

    #[test]
    fn bound_holds() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / (1u64 << 31) as f64 * 2.0 - 1.0
        };
        for bits in BITS {
            let mut worst = 0.0f64;
            for i in 0..20_000 {
                let mut q = [random(), random(), random(), random()];
                match i % 4 {
                    0 => q[3] *= 1.0 / f64::from(half(bits)),
                    1 => q = q.map(|v| (v * 1.6).round()),
                    2 => q[3] = 0.5 / f64::from(half(bits)),
                    _ => {}
                }
                let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
                if let Some(f) = frame(q, sign) {
                    worst = worst.max(error(f, bits));
                }
            }
            assert!(worst <= bound(bits), "{bits}: {worst} > {}", bound(bits));
            assert!(worst > 0.5 * bound(bits), "{bits}: the bound is loose, {worst}");
        }
        assert_eq!(bits_for(1.0), 9);
        assert_eq!(bits_for(1e-9), 16);
        assert_eq!(bits_for(180.0), 6);
    }

    #[test]
    fn quaternions_of_frames_are_those_of_the_frames() {
        let mut seed = 5u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / (1u64 << 31) as f64 * 2.0 - 1.0
        };
        for i in 0..200_000 {
            let mut q = [random(), random(), random(), random()];
            match i % 4 {
                0 => q[3] *= 1e-5,
                1 => q = q.map(|v| (v * 1.6).round()),
                2 => q[i / 4 % 3] *= 1e-4,
                _ => {}
            }
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            let Some(f) = frame(q, sign) else { continue };
            let q = quaternion_from_frame(f.normal, f.tangent);
            assert!(q[3] >= 0.0);
            let back = super::frame(q, sign);
            let (n, t) = (f.normal.map(f64::from), f.tangent.map(f64::from));
            let far = angle(back.normal, n).max(angle(back.tangent, t));
            assert!(far <= 2e-6f64.to_degrees(), "{f:?} {far}");
        }
    }

    #[test]
    fn odd_frames_become_frames() {
        let bad = [[0.0; 3], [f32::NAN; 3], [f32::INFINITY, 0.0, 0.0], [0.0, 0.0, 1.0], [1e-44, 0.0, 0.0]];
        for normal in bad {
            for tangent in bad {
                for sign in [1.0, -1.0, 0.0, f32::NAN] {
                    let back = decode(encode(TangentFrame { normal, tangent, sign }, 10), 10);
                    let (n, t) = (back.normal.map(f64::from), back.tangent.map(f64::from));
                    assert!((dot64(n, n) - 1.0).abs() < 1e-5 && dot64(n, t).abs() < 1e-5);
                    assert_eq!(back.sign, if sign < 0.0 { -1.0 } else { 1.0 });
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_levels_give_a_frame(codes: [u16; 4], bits in 0u32..40) {
            let f = decode(codes, bits);
            let (n, t) = (f.normal.map(f64::from), f.tangent.map(f64::from));
            prop_assert!((dot64(n, n) - 1.0).abs() < 1e-4 && (dot64(t, t) - 1.0).abs() < 1e-4 && dot64(n, t).abs() < 1e-4);
        }

        #[test]
        fn skewed_frames_keep_their_normal(n: [i8; 3], t: [i8; 3]) {
            let f = TangentFrame { normal: n.map(f32::from), tangent: t.map(f32::from), sign: -1.0 };
            let (m, u) = (n.map(f64::from), t.map(f64::from));
            let c = cross64(m, u);
            if dot64(c, c) > 1e-3 * dot64(m, m) * dot64(u, u) {
                prop_assert!(error(f, 12) <= bound(12));
            }
        }
    }
}
