//! Interpolates normals and tangents between two frames, directly from their codes. The promised tolerance
//! does not cover this: between frames there is no reference. Lattices (positions, uvs, colours) are
//! interpolated in [`crate::quantize::scalar::blend`].
//!
//! ```text
//! QTangents    q = a + (±b − a)·t of the two unit quaternions, the sign so that both lie on one side (a·b ≥ 0);
//!              normalised; normal and tangent of that. The bitangent's sign is the first frame's
//! octahedral   n = a + (b − a)·t of the two unit vectors, normalised
//! opposite     where nothing is left to normalise: the first frame
//! ```
//!
//! At t = 0 the result is that of the first frame, except for rounding. Every operation is rounded to f32 and
//! none fused, so all machines give the same bits.

use crate::quantize::code::Code;
use crate::quantize::vertices::convert_vertices;
use crate::quantize::{octahedral, qtangent};
use crate::simd::isa::Isa;

/// Writes the unit normals of QTangents, xyz per vertex. `from` and `to` hold 4 codes per vertex,
/// component-major, `bits` each; 8- or 16-bit words. `t` is 0 at `from`, 1 at `to`.
///
/// Panics unless there are 4 codes per 3 floats.
pub fn qtangent_normals<W: Code>(bits: u32, from: &[W], to: &[W], t: f32, out: &mut [f32]) {
    let turn = QTangentBlend::new(bits, t);
    convert_vertices::<W, _, 2, 4, 3>(Isa::get(), [from, to], out, move |[a, b]| {
        turn.interpolate(a, b).normal
    });
}

/// Writes the unit tangents of QTangents, xyzw per vertex; w is the sign of the bitangent `cross(normal,
/// tangent)·w`. Otherwise like [`qtangent_normals`].
///
/// Panics unless there are 4 codes per 4 floats.
pub fn qtangent_tangents<W: Code>(bits: u32, from: &[W], to: &[W], t: f32, out: &mut [f32]) {
    let turn = QTangentBlend::new(bits, t);
    convert_vertices::<W, _, 2, 4, 4>(Isa::get(), [from, to], out, move |[a, b]| {
        let frame = turn.interpolate(a, b);
        let [x, y, z] = frame.tangent;
        [x, y, z, frame.sign]
    });
}

/// Writes the unit normals of octahedral codes, xyz per vertex. `from` and `to` hold 2 codes per vertex,
/// component-major, `bits` each; 8- or 16-bit words. `t` is 0 at `from`, 1 at `to`.
///
/// Panics unless there are 2 codes per 3 floats.
pub fn octahedral_normals<W: Code>(bits: u32, from: &[W], to: &[W], t: f32, out: &mut [f32]) {
    convert_vertices::<W, _, 2, 2, 3>(Isa::get(), [from, to], out, move |[a, b]| direction(bits, t, a, b));
}

/// The parameters of an interpolation of QTangents.
#[derive(Clone, Copy)]
struct QTangentBlend {
    bits: u32,
    t: f32,
}

impl QTangentBlend {
    fn new(bits: u32, t: f32) -> QTangentBlend {
        QTangentBlend { bits, t }
    }

    #[inline(always)]
    fn interpolate(self, a: [u16; 4], b: [u16; 4]) -> qtangent::TangentFrame {
        let (q, sign) = rotation(self.bits, self.t, a, b);
        qtangent::frame(q, sign)
    }
}

/// Returns the unit quaternion between two QTangents, and the sign of the bitangent.
#[inline(always)]
pub fn rotation(bits: u32, t: f32, a: [u16; 4], b: [u16; 4]) -> ([f32; 4], f32) {
    let sign = if qtangent::centred(a, bits)[3] < 0.0 { -1.0 } else { 1.0 };
    let (a, b) = (qtangent::rotation(a, bits), qtangent::rotation(b, bits));
    let dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    let side = if dot < 0.0 { -1.0 } else { 1.0 };
    (lerp_normalized(a, b.map(|v| v * side), t), sign)
}

/// Returns the unit vector between two octahedral normals.
#[inline(always)]
pub fn direction(bits: u32, t: f32, a: [u16; 2], b: [u16; 2]) -> [f32; 3] {
    let (a, b) = (octahedral::decode(a, bits), octahedral::decode(b, bits));
    lerp_normalized(a, b, t)
}

/// Interpolates linearly and normalizes; returns the first vector if the result has no direction.
#[inline(always)]
fn lerp_normalized<const N: usize>(a: [f32; N], b: [f32; N], t: f32) -> [f32; N] {
    let between: [f32; N] = std::array::from_fn(|k| a[k] + (b[k] - a[k]) * t);
    let square = between.iter().fold(0.0, |sum, v| sum + v * v);
    // The first vector is already a unit vector.
    let stays = square < 1e-12 || t == 0.0;
    let length = square.sqrt();
    std::array::from_fn(|k| if stays { a[k] } else { between[k] / length })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn length(n: &[f32]) -> f32 {
        n[..3].iter().map(|v| v * v).sum::<f32>().sqrt()
    }

    fn planes<const N: usize>(rows: &[[u16; N]]) -> Vec<u16> {
        (0..N).flat_map(|k| rows.iter().map(move |r| r[k])).collect()
    }

    #[test]
    fn half_way_and_the_far_side() {
        let frame = |normal, tangent, sign| qtangent::TangentFrame { normal, tangent, sign };
        let up = frame([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], 1.0);
        let turned = frame([0.0, -1.0, 0.0], [1.0, 0.0, 0.0], 1.0);
        let a = qtangent::encode(up, 16);
        let b = qtangent::encode(turned, 16);
        let mut normal = [0.0; 3];
        // The same rotation with the other sign gives the same path.
        for b in [b, b.map(|l| 65534 - l)] {
            qtangent_normals(16, &a, &b, 0.5, &mut normal);
            let half = std::f32::consts::FRAC_1_SQRT_2;
            assert!((normal[1] + half).abs() < 1e-3 && (normal[2] - half).abs() < 1e-3);
        }
        let mut tangent = [0.0; 4];
        let left = qtangent::encode(frame(up.normal, up.tangent, -1.0), 10);
        let right = qtangent::encode(up, 10);
        for (t, sign) in [(0.0, -1.0), (0.4, -1.0), (0.6, -1.0), (1.0, -1.0)] {
            qtangent_tangents(10, &left, &right, t, &mut tangent);
            assert_eq!(tangent[3], sign);
        }
        let (up, down) = (octahedral::encode([0.0, 0.0, 1.0], 8), octahedral::encode([0.0, 0.0, -1.0], 8));
        octahedral_normals(8, &up, &down, 0.5, &mut normal);
        assert_eq!(normal, [0.0, 0.0, 1.0]);
        octahedral_normals::<u8>(8, &[], &[], 0.5, &mut []);
    }

    proptest! {
        #[test]
        fn the_start_is_the_frame_and_all_is_of_length_one(
            rows in proptest::collection::vec(any::<([u16; 4], [u16; 4])>(), 0..150),
            t in 0.0f32..1.0,
            bits in 6u32..=16,
        ) {
            let of = |codes: [u16; 4]| codes.map(|l| l >> (16 - bits));
            let (a, b): (Vec<_>, Vec<_>) = rows.iter().map(|r| (of(r.0), of(r.1))).unzip();
            let (from, to) = (planes(&a), planes(&b));
            let count = rows.len();
            let mut all: Vec<Vec<f32>> = Vec::new();
            for isa in Isa::all() {
                for t in [0.0, t, 1.0] {
                    let turn = QTangentBlend::new(bits, t);
                    let mut normals = vec![0.0; 3 * count];
                    convert_vertices::<_, _, 2, 4, 3>(isa, [&from, &to], &mut normals, |[a, b]| turn.interpolate(a, b).normal);
                    let mut flat = vec![0.0; 3 * count];
                    let octahedral = [&from[..2 * count], &to[..2 * count]];
                    convert_vertices::<_, _, 2, 2, 3>(isa, octahedral, &mut flat, |[a, b]| direction(bits, t, a, b));
                    for v in 0..count {
                        prop_assert!((length(&normals[3 * v..]) - 1.0).abs() < 1e-4);
                        prop_assert!((length(&flat[3 * v..]) - 1.0).abs() < 1e-4);
                        if t == 0.0 {
                            let want = qtangent::decode(a[v], bits).normal;
                            let off = |k: usize| (normals[3 * v + k] - want[k]).abs();
                            prop_assert!(off(0).max(off(1)).max(off(2)) < 1e-6);
                        }
                    }
                    all.push(normals);
                    all.push(flat);
                }
            }
            let bits = |v: &Vec<f32>| v.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
            for (k, values) in all.iter().enumerate() {
                prop_assert_eq!(bits(values), bits(&all[k % 6]));
            }
        }
    }
}
