//! Octahedral normals: two codes per normal, decoded to unit length. Error bound: [`bound`]. Used for normals
//! of meshes without tangents.
//!
//! The octahedron |x| + |y| + |z| = 1 is unfolded into a square; each axis of the square has 2^bits − 1
//! quantized values, an odd number, so that the six axis directions are exact.
//!
//! ```text
//! half  = 2^(bits−1) − 1                       codes 0 … 2·half
//! x, y  = (code − half) / half                 in f32
//! z     = 1 − |x| − |y|
//! z < 0 : x, y = (1 − |y|)·sign(x), (1 − |x|)·sign(y)      sign(0) = 1
//! unit  = (x, y, z) / √(x² + y² + z²)          sum in the order written
//! ```
//!
//! Credit: Zina H. Cigolle, Sam Donow, Daniel Evangelakos, Michael Mara, Morgan McGuire, Quirin Meyer, "A
//! Survey of Efficient Representations for Independent Unit Vectors", 2014.
//!
//! Proof of the bound: lattice lines pass through the creases, so each face of the octahedron is cut into
//! equilateral triangles of side √2/half. A point is at most √(2/3)/half from a corner of its triangle, and
//! the octahedron is nowhere nearer to the centre than 1/√3: the angle is at most √2/half. The encoder tries
//! all four corners of the square around the point, which include the triangle's.

use crate::quantize::code::Code;
use crate::quantize::vertices::convert_vertices;
use crate::simd::isa::Isa;

/// The range of bits per axis. Part of the format.
pub const BITS: std::ops::RangeInclusive<u32> = 2..=16;

/// Returns the largest angle in degrees between a unit vector and its decoded value, with `bits` per axis.
#[cfg(feature = "encode")]
pub fn bound(bits: u32) -> f64 {
    // 5e-7 rad is more than the f32 arithmetic of the decoder can add.
    (std::f64::consts::SQRT_2 / f64::from(half(bits)) + 5e-7).to_degrees()
}

/// Returns the bits per axis (2…16) with which every unit vector is decoded within `degrees`; 16 if that is
/// not reachable (see [`bound`]).
#[cfg(feature = "encode")]
pub fn bits_for(degrees: f64) -> u32 {
    BITS.into_iter().find(|&bits| bound(bits) <= degrees).unwrap_or(*BITS.end())
}

/// Returns the best of the neighbouring codes, by angle. Zero or non-finite input gives +z.
pub fn encode(normal: [f32; 3], bits: u32) -> [u16; 2] {
    let half = half(bits);
    let n = normal.map(f64::from);
    let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    if !(length.is_finite() && length > 0.0) {
        return [half as u16; 2];
    }
    let n = n.map(|v| v / length);
    let sum = n[0].abs() + n[1].abs() + n[2].abs();
    let (mut x, mut y) = (n[0] / sum, n[1] / sum);
    if n[2] < 0.0 {
        (x, y) = ((1.0 - y.abs()).copysign(x), (1.0 - x.abs()).copysign(y));
    }
    let scale = f64::from(half);
    let floor = |v: f64| ((v + 1.0) * scale).floor().clamp(0.0, 2.0 * scale - 1.0) as u16;
    let (u, v) = (floor(x), floor(y));
    let mut best = ([0; 2], f64::INFINITY);
    for codes in [[u, v], [u + 1, v], [u, v + 1], [u + 1, v + 1]] {
        let d = decode(codes, bits).map(f64::from);
        let miss: f64 = (0..3).map(|k| (d[k] - n[k]) * (d[k] - n[k])).sum();
        if miss < best.1 {
            best = (codes, miss);
        }
    }
    best.0
}

/// Returns the unit vector. Codes beyond the last count as the last.
#[inline(always)]
pub fn decode(codes: [u16; 2], bits: u32) -> [f32; 3] {
    let half = half(bits);
    let unit = |code: u16| (i32::from(code).min(2 * half) - half) as f32 / half as f32;
    let (mut x, mut y) = (unit(codes[0]), unit(codes[1]));
    let z = 1.0 - x.abs() - y.abs();
    if z < 0.0 {
        let sign = |v: f32| if v < 0.0 { -1.0f32 } else { 1.0 };
        (x, y) = ((1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y));
    }
    let length = (x * x + y * y + z * z).sqrt();
    [x / length, y / length, z / length]
}

/// Writes unit vectors, xyz per vertex, from 2 codes per vertex, component-major, 8- or 16-bit words.
///
/// Panics unless there are 2 codes per 3 floats.
pub fn normals<W: Code>(bits: u32, codes: &[W], out: &mut [f32]) {
    convert_vertices::<W, _, 1, 2, 3>(Isa::get(), [codes], out, move |[o]| decode(o, bits));
}

/// Returns the code of the middle; bits outside the allowed range count as the nearest allowed.
#[inline(always)]
fn half(bits: u32) -> i32 {
    (1 << (bits.clamp(*BITS.start(), *BITS.end()) - 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the degrees between two directions.
    fn angle(a: [f32; 3], b: [f32; 3]) -> f64 {
        let (a, b) = (a.map(f64::from), b.map(f64::from));
        let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
        let dot: f64 = (0..3).map(|k| a[k] * b[k]).sum();
        cross.iter().map(|v| v * v).sum::<f64>().sqrt().atan2(dot).to_degrees()
    }

    #[test]
    fn golden() {
        assert_eq!(encode([0.0, 0.0, 1.0], 8), [127, 127]);
        assert_eq!(encode([1.0, 0.0, 0.0], 8), [254, 127]);
        assert_eq!(encode([1.0, 2.0, -3.0], 8), [212, 233]);
    }

    #[test]
    fn odd_input() {
        for n in [[0.0; 3], [f32::NAN, 0.0, 0.0], [f32::INFINITY; 3]] {
            assert_eq!(decode(encode(n, 10), 10), [0.0, 0.0, 1.0]);
        }
        for n in [[1e-40f32, 0.0, 0.0], [1e38, 0.0, 0.0]] {
            assert_eq!(decode(encode(n, 10), 10), [1.0, 0.0, 0.0]);
        }
    }

    #[test]
    fn axes_are_exact() {
        for bits in 0..=20 {
            for k in 0..3 {
                for s in [-1.0, 1.0] {
                    let mut n = [0.0; 3];
                    n[k] = s;
                    assert_eq!(angle(decode(encode(n, bits), bits), n), 0.0);
                }
            }
        }
    }

    #[test]
    fn bound_holds_everywhere() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 40) as f32 / (1u64 << 24) as f32 * 2.0 - 1.0
        };
        for bits in BITS {
            let mut worst = 0.0f64;
            for i in 0..20_000 {
                let mut n = [random(), random(), random()];
                match i % 4 {
                    0 => n[i % 3] *= 1e-3,
                    1 => n = n.map(|v| (v * 2.0).round()),
                    2 => n = n.map(|v| 1f32.copysign(v) + v * 0.02),
                    _ => {}
                }
                if n == [0.0; 3] {
                    continue;
                }
                let back = decode(encode(n, bits), bits);
                worst = worst.max(angle(back, n));
                let length = back.iter().map(|v| v * v).sum::<f32>();
                assert!((length - 1.0).abs() < 1e-6);
            }
            assert!(worst <= bound(bits), "{bits}: {worst} > {}", bound(bits));
            assert!(bits < 4 || worst > 0.7 * bound(bits), "{bits}: the bound is loose, {worst}");
        }
        assert_eq!(bits_for(1.0), 8);
        assert_eq!(bits_for(1e-9), 16);
        assert_eq!(bits_for(180.0), 2);
    }

    proptest! {
        #[test]
        fn any_codes_give_a_unit_vector(u: u16, v: u16, bits in 0u32..40) {
            let n = decode([u, v], bits);
            prop_assert!((n.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5);
        }

        #[test]
        fn codes_are_their_own_best(u in 0u16..=254, v in 0u16..=254) {
            let n = decode([u, v], 8);
            prop_assert_eq!(decode(encode(n, 8), 8), n);
        }
    }
}
