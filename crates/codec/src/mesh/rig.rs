//! The rig of a mesh: its bind pose (the positions of its vertices when nothing moves them), the joints of a
//! skeleton that move them, and their weights. Any pose of the skeleton, of a clip or blended, moves the mesh
//! by linear blend skinning, by dual quaternions, or by a mixture of both:
//!
//! ```text
//! M(joint) object(joint) · inverse(joint)
//! linear   Σ weight · M(joint)                            vertices of no joint: the identity
//! M        T · R · S: a translation, a rotation, a symmetric matrix (the polar decomposition); if its determinant is negative: those of −M, and −S. Determinant 0: R is the identity
//! q        Σ ± weight · (R, ½ · T · R), dual quaternions; the sign for which R is nearer to R of the joint of the largest weight, the first of equals
//! dual     (q / |R of q|) · Σ weight · S                   as a matrix
//! vertex   ((1 − d) · linear + d · dual) · bind            d: the share of dual quaternions
//! ```
//!
//! A chunk holds, for each mesh with a rig, in order: the mesh's number as a varint, a size as a varint, and
//! that many bytes:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 … 5 | `skeleton` | varint, number of the skeleton chunk |
//! | … | list | `joints` | varints: zigzag of the joint's number minus that of the one before, 0 before the first |
//! | … | 48 per joint | `inverse` | f32: rows of the 3 × 4 matrix from the bind pose to the joint's space |
//! | … | 1 … 5 | `points` | varint: vertices with the same position, joints and weights share a point |
//! | … | … | `point_of` | the point of each vertex, as in [`crate::topology::weld`] |
//! | … | 1 … 5, … | `bind` | varint size and that many bytes: one frame of the soft codec, in the order of the points' hierarchy |
//! | … | 1 | `depth` | bits 0 … 4: weights are integers whose sum is 2^depth. Bit 5: d is 1, not 0; bit 6: d is in `dual`; not both |
//! | … | 1 … 5, … | `weights` | varint size and that many bytes: the bones of each point |
//! | … | 2 per point or 0 | `dual` | only with bit 6 of `depth`: u16, d of each point, in 1/65535 |
//! | … | 1 … 5 | `clip` | varint: 0 none, else number of the clip + 1 of which the first frame of the mesh shows a sample |
//! | … | 1 … 5 or 0 | `sample` | only with a clip: varint, the number of that sample |
//! | … | 8 | `tolerance` | f64: promised, the largest distance of a vertex from its position by the source's rig, at any sample of any clip of the skeleton |
//! | … | 8 | `error` | f64: the largest such distance that was measured |
//!
//! Credit: skinning by blended matrices goes back to Nadia Magnenat-Thalmann, Richard Laperrière and Daniel
//! Thalmann, "Joint-dependent local deformations", 1988.

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};
use crate::clip::MAX_JOINTS;
pub use crate::clip::space::AffineMatrix;
use crate::clip::space::multiply;
use crate::entropy::range;
use crate::mesh::dual_quaternion::{self, IDENTITY};
use crate::mesh::skin::weights::{self, SkinWeights};
use crate::mesh::{decode, hierarchy};
use crate::quantize::code::Code;
use crate::topology::weld;

/// Bits of `depth`: everything is blended by dual quaternions; or a fraction given for each point.
const DUAL: u8 = 1 << 5;
const POINTS_DUAL_FLAG: u8 = 1 << 6;
/// The fraction of a point that is blended by dual quaternions only.
const WHOLE: u16 = u16::MAX;

/// The contents of a rig, as an encoder writes them.
#[cfg(feature = "encode")]
pub struct RigContents<'a> {
    /// The number of the skeleton.
    pub skeleton: u32,
    /// The joints of the skeleton that the rig uses.
    pub joints: &'a [u32],
    /// For each of these, the matrix from the bind pose to the joint's space.
    pub inverse: &'a [AffineMatrix],
    /// The point of each vertex; points are numbered in order of their first vertices.
    pub point_of: &'a [u32],
    /// The bind pose as one frame of the soft codec.
    pub bind: &'a [u8],
    /// The sum of a point's weights is 2 to this power.
    pub depth: u32,
    /// The weights as [`weights::code`] writes them.
    pub weights: &'a [u8],
    /// For each point, the fraction blended by dual quaternions, in 1/65535; empty if all is linear.
    pub dual: &'a [u16],
    /// The clip and sample that the mesh shows in the first frame.
    pub first_sample: Option<(u32, u32)>,
    /// The guaranteed largest distance of a vertex from the source's rig.
    pub tolerance: f64,
    /// The largest distance measured.
    pub error: f64,
}

/// Appends the bytes of a rig.
#[cfg(feature = "encode")]
pub fn encode(parts: &RigContents<'_>, out: &mut Vec<u8>) {
    put_varint(parts.skeleton, out);
    put_varint(parts.joints.len() as u32, out);
    let mut before = 0;
    for &joint in parts.joints {
        put_varint(joint.wrapping_sub(before).zigzag(), out);
        before = joint;
    }
    let inverse = parts.inverse.iter().flatten().flatten();
    out.extend(inverse.flat_map(|v| v.to_le_bytes()));
    let points = parts.point_of.iter().max().map_or(0, |p| p + 1);
    put_varint(points, out);
    weld::encode(parts.point_of, out);
    put_length_prefixed(parts.bind, out);
    let dual = match parts.dual {
        [] => 0,
        dual if dual.iter().all(|part| *part == WHOLE) => DUAL,
        _ => POINTS_DUAL_FLAG,
    };
    out.push(parts.depth as u8 | dual);
    put_length_prefixed(parts.weights, out);
    if dual == POINTS_DUAL_FLAG {
        out.extend(parts.dual.iter().flat_map(|part| part.to_le_bytes()));
    }
    match parts.first_sample {
        None => put_varint(0, out),
        Some((clip, sample)) => {
            put_varint(clip + 1, out);
            put_varint(sample, out);
        }
    }
    out.extend_from_slice(&parts.tolerance.to_le_bytes());
    out.extend_from_slice(&parts.error.to_le_bytes());
}

/// Returns the triangles between points, given those between vertices.
pub fn triangles(indices: &[u32], point_of: &[u32]) -> Vec<u32> {
    let point = |v: &u32| point_of.get(*v as usize).copied().unwrap_or(u32::MAX);
    indices.iter().map(point).collect()
}

/// A joint of the rig and its weight for a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
struct JointInfluence {
    joint: u32,
    weight: f32,
}

/// A decoded rig. Moving vertices allocates no memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rig {
    /// The number of the skeleton.
    pub skeleton: u32,
    /// The joints of the skeleton that the rig uses; weights refer to them by index.
    pub joints: Vec<u32>,
    /// For each of these, the matrix from the bind pose to the joint's space.
    pub inverse: Vec<AffineMatrix>,
    /// The point of each vertex.
    pub point_of: Vec<u32>,
    /// The position of each point in the bind pose.
    pub bind: Vec<[f32; 3]>,
    /// The clip and sample that the mesh shows in the first frame.
    pub first_sample: Option<(u32, u32)>,
    /// The guaranteed largest distance of a vertex from the source's rig.
    pub tolerance: f64,
    /// The largest distance measured.
    pub error: f64,
    /// Point p has the influences `starts[p]..starts[p + 1]`.
    starts: Vec<u32>,
    influences: Vec<JointInfluence>,
    /// For each point, the fraction blended by dual quaternions; empty if all is linear.
    dual: Vec<u16>,
}

/// Decodes a rig from all of `bytes`, for a mesh with `vertices` vertices and these triangles.
pub fn decode(bytes: &[u8], vertices: u32, indices: &[u32]) -> Result<Rig, Corrupt> {
    let mut c = Cursor::new(bytes);
    let mut rig = Rig { skeleton: c.varint()?, ..Rig::default() };
    let joints = c.varint()? as usize;
    if joints == 0 || joints > MAX_JOINTS {
        return Err(Corrupt("rig: a number of joints that cannot be"));
    }
    let mut before = 0u32;
    for _ in 0..joints {
        before = before.wrapping_add(c.varint()?.unzigzag());
        if before as usize >= MAX_JOINTS {
            return Err(Corrupt("rig: a joint that no skeleton has"));
        }
        rig.joints.push(before);
    }
    for _ in 0..joints {
        let mut rows = AffineMatrix::default();
        for value in rows.as_flattened_mut() {
            *value = c.f32()?;
            if !value.is_finite() {
                return Err(Corrupt("rig: a matrix that is not finite"));
            }
        }
        rig.inverse.push(rows);
    }
    let points = c.varint()?;
    // Each vertex takes at least a byte here, which bounds the allocation by the size of the input.
    if points > vertices || vertices as usize > c.left() {
        return Err(Corrupt("rig: more points than vertices"));
    }
    rig.point_of = vec![0; vertices as usize];
    let left = c.bytes(c.left())?;
    let used = weld::decode(left, points, &mut rig.point_of)?;
    let mut c = Cursor::new(&left[used..]);
    let levels = hierarchy::build(points, &triangles(indices, &rig.point_of));
    let size = c.varint()? as usize;
    let bind = decode::decode_first_positions(c.bytes(size)?, &levels)?;
    if bind.len() != points as usize || !bind.as_flattened().iter().all(|v| v.is_finite()) {
        return Err(Corrupt("rig: a bind pose that is none"));
    }
    let depth = c.u8()?;
    let dual = depth & (DUAL | POINTS_DUAL_FLAG);
    let depth = u32::from(depth & !(DUAL | POINTS_DUAL_FLAG));
    let size = c.varint()? as usize;
    let decoder = range::Decoder::new(c.bytes(size)?);
    let (weights, decoder) = weights::code(decoder, &levels, joints as u32, depth, None)?;
    decoder.finish()?;
    rig.set_points(&levels.order, &bind, &weights);
    rig.dual = match dual {
        0 => Vec::new(),
        DUAL => vec![WHOLE; points as usize],
        POINTS_DUAL_FLAG => {
            c.bytes(2 * points as usize)?.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b)).collect()
        }
        _ => return Err(Corrupt("rig: parts of what is blended as a whole")),
    };
    rig.first_sample = match c.varint()? {
        0 => None,
        clip => Some((clip - 1, c.varint()?)),
    };
    (rig.tolerance, rig.error) = (c.f64()?, c.f64()?);
    let sane = |v: f64| v.is_finite() && v >= 0.0;
    if c.left() > 0 || !sane(rig.tolerance) || !sane(rig.error) {
        return Err(Corrupt("rig: no tolerance, or bytes behind it"));
    }
    Ok(rig)
}

impl Rig {
    /// Stores the bind pose and weights, which come in the hierarchy's order, by point.
    fn set_points(&mut self, order: &[u32], bind: &[[f32; 3]], weights: &SkinWeights) {
        let mut new_of = vec![0; order.len()];
        self.bind = vec![[0.0; 3]; order.len()];
        for (new, &point) in order.iter().enumerate() {
            new_of[point as usize] = new;
            self.bind[point as usize] = bind[new];
        }
        let unit = 1.0 / (1u32 << weights.depth) as f32;
        self.starts.push(0);
        for new in new_of {
            let pulls = weights.influences(new).iter().map(|&(joint, weight)| JointInfluence {
                joint: joint.into(),
                weight: f32::from(weight) * unit,
            });
            self.influences.extend(pulls);
            self.starts.push(self.influences.len() as u32);
        }
    }

    fn vertex_influences(&self, vertex: usize) -> &[JointInfluence] {
        let point = self.point_of[vertex] as usize;
        &self.influences[self.starts[point] as usize..self.starts[point + 1] as usize]
    }

    /// Returns the joints of a vertex, as indices into `joints`, and their weights, whose sum is 1; an
    /// unmoved vertex has none. Panics if there is no such vertex.
    pub fn influences(&self, vertex: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let pulls = self.vertex_influences(vertex).iter();
        pulls.map(|pull| (pull.joint as usize, pull.weight))
    }

    /// Returns the fraction, 0 to 1, of a vertex's motion that is blended by dual quaternions; the rest is
    /// linear. Panics if there is no such vertex.
    pub fn dual_fraction(&self, vertex: usize) -> f32 {
        self.dual.get(self.point_of[vertex] as usize).map_or(0.0, |part| f32::from(*part) / f32::from(WHOLE))
    }

    /// `true` if dual quaternions move any vertex, wholly or in part.
    pub fn is_dual(&self) -> bool {
        self.dual.iter().any(|part| *part > 0)
    }

    /// Computes the matrices from the bind pose to a pose, by joint of the rig. `object` has the object-space
    /// matrices of the skeleton's joints; missing ones are the identity.
    pub fn matrices(&self, object: &[AffineMatrix], out: &mut [AffineMatrix]) {
        let joints = self.joints.iter().zip(&self.inverse);
        for ((&joint, inverse), out) in joints.zip(out) {
            *out = multiply(object.get(joint as usize).unwrap_or(&IDENTITY), inverse);
        }
    }

    /// Computes the positions of all vertices, or of as many as fit into `out`.
    pub fn positions(&self, matrices: &[AffineMatrix], out: &mut [[f32; 3]]) {
        let mut joints = dual_quaternion::JointCache::new(matrices);
        for (vertex, out) in (0..self.point_of.len()).zip(out) {
            let [x, y, z] = self.bind[self.point_of[vertex] as usize];
            let m = self.blend(vertex, matrices, &mut joints);
            *out = m.map(|row| row[0] * x + row[1] * y + row[2] * z + row[3]);
        }
    }

    /// Transforms normals of the bind pose, as many as fit into `out`, by cofactors, so that they stay
    /// perpendicular under scale and shear. The results have length 1.
    pub fn normals(&self, matrices: &[AffineMatrix], bind: &[[f32; 3]], out: &mut [[f32; 3]]) {
        let mut joints = dual_quaternion::JointCache::new(matrices);
        for ((vertex, normal), out) in (0..self.point_of.len()).zip(bind).zip(out) {
            *out = unit(apply(&cofactors(&self.blend(vertex, matrices, &mut joints)), *normal));
        }
    }

    /// Transforms normals of a pose back to those of the bind pose.
    pub fn unbound_normals(&self, matrices: &[AffineMatrix], posed: &[[f32; 3]], out: &mut [[f32; 3]]) {
        let mut joints = dual_quaternion::JointCache::new(matrices);
        for ((vertex, normal), out) in (0..self.point_of.len()).zip(posed).zip(out) {
            let m = self.blend(vertex, matrices, &mut joints);
            // The transpose undoes the inverse transpose.
            let columns = [0, 1, 2].map(|c| [m[0][c], m[1][c], m[2][c], 0.0]);
            *out = unit(apply(&columns, *normal));
        }
    }

    /// Returns the blended matrix of a vertex.
    #[inline]
    fn blend(
        &self,
        vertex: usize,
        matrices: &[AffineMatrix],
        joints: &mut dual_quaternion::JointCache<'_>,
    ) -> AffineMatrix {
        let part = self.dual_fraction(vertex);
        let pulls = self.vertex_influences(vertex);
        if part == 0.0 || pulls.len() < 2 {
            return self.blend_linear(vertex, matrices);
        }
        let dual = joints.blended(pulls.iter().map(|pull| (pull.joint, pull.weight)));
        if part == 1.0 {
            return dual;
        }
        let mut out = self.blend_linear(vertex, matrices);
        for (to, dual) in out.as_flattened_mut().iter_mut().zip(dual.as_flattened()) {
            *to += (dual - *to) * part;
        }
        out
    }

    /// Returns the matrix of a vertex by linear blending.
    #[inline]
    fn blend_linear(&self, vertex: usize, matrices: &[AffineMatrix]) -> AffineMatrix {
        let of = |pull: &JointInfluence| matrices.get(pull.joint as usize).unwrap_or(&IDENTITY);
        match self.vertex_influences(vertex) {
            [] => IDENTITY,
            [one] => *of(one),
            several => {
                let mut sum = AffineMatrix::default();
                for pull in several {
                    let from = of(pull).as_flattened();
                    for (to, x) in sum.as_flattened_mut().iter_mut().zip(from) {
                        *to += x * pull.weight;
                    }
                }
                sum
            }
        }
    }
}

/// Transforms a direction by the linear part of a matrix.
fn apply(m: &AffineMatrix, v: [f32; 3]) -> [f32; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the inverse transpose times the absolute determinant, which exists for every matrix.
fn cofactors(m: &AffineMatrix) -> AffineMatrix {
    let [x, y, z] = m.map(|row| [row[0], row[1], row[2]]);
    let rows = [cross(y, z), cross(z, x), cross(x, y)];
    let volume = x[0] * rows[0][0] + x[1] * rows[0][1] + x[2] * rows[0][2];
    let sign = if volume < 0.0 { -1.0 } else { 1.0 };
    rows.map(|row| [row[0] * sign, row[1] * sign, row[2] * sign, 0.0])
}

fn unit(v: [f32; 3]) -> [f32; 3] {
    let square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    match square.is_normal() {
        true => v.map(|x| x / square.sqrt()),
        false => [0.0, 0.0, 1.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::encode::{EncodeBuffers, Encoder, Options, PositionSource};
    use crate::quantize::lattice::Extent;
    use proptest::prelude::*;

    struct ConstantPositions<'a>(&'a [[f32; 3]]);

    impl PositionSource for ConstantPositions<'_> {
        fn positions(&self, _: u32, out: &mut [[f32; 3]]) {
            out.copy_from_slice(self.0);
        }
    }

    const VERTICES: u32 = 12;

    /// A strip of triangles; vertex 5 shares the point of vertex 2.
    fn indices() -> Vec<u32> {
        (0..VERTICES - 2).flat_map(|v| [v, v + 1, v + 2]).collect()
    }

    fn bytes() -> Vec<u8> {
        blended(&[])
    }

    /// `dual`: for each point, the fraction blended by dual quaternions.
    fn blended(dual: &[u16]) -> Vec<u8> {
        let point_of = [0, 1, 2, 3, 4, 2, 5, 6, 7, 8, 9, 10];
        let points = 11;
        let bind: Vec<[f32; 3]> = (0..points).map(|p| [p as f32 * 0.25, (p % 2) as f32, 0.5]).collect();
        let levels = hierarchy::build(points, &triangles(&indices(), &point_of));
        let extent = Extent { low: [0.0, 0.0, 0.5], high: [2.5, 1.0, 0.5], tolerance: 1e-3, axes: 3 };
        let settings = Options {
            effort: 5,
            packed: false,
            restart: 1,
            choice: None,
            own_tables: false,
            ..Options::default()
        };
        let mut work = EncodeBuffers::<i16>::default();
        let source = ConstantPositions(&bind);
        let made = Encoder::new(levels.clone(), 1, extent, settings, &source, &mut work).unwrap();
        let mut weights = SkinWeights::new(4);
        for &point in &levels.order {
            match point {
                // One joint, two, none.
                0..4 => weights.push(&[(1, 16)], false),
                4..10 => weights.push(&[(0, 5), (1, 11)], false),
                _ => weights.push(&[], true),
            }
        }
        let mut coded = Vec::new();
        let out = range::Encoder::new(&mut coded);
        let (_, out) = weights::code(out, &levels, 2, 4, Some(&weights)).unwrap();
        out.finish();
        let mut shifted = IDENTITY;
        shifted[0][3] = -1.0;
        let parts = RigContents {
            skeleton: 3,
            joints: &[7, 2],
            inverse: &[IDENTITY, shifted],
            point_of: &point_of,
            bind: made.static_bytes(),
            depth: 4,
            weights: &coded,
            dual,
            first_sample: Some((1, 30)),
            tolerance: 0.25,
            error: 0.125,
        };
        let mut out = Vec::new();
        encode(&parts, &mut out);
        out
    }

    #[test]
    fn f17_a_rig_comes_back_and_moves_its_vertices() {
        let rig = decode(&bytes(), VERTICES, &indices()).unwrap();
        assert_eq!((rig.skeleton, &rig.joints[..]), (3, &[7, 2][..]));
        assert_eq!((rig.first_sample, rig.tolerance, rig.error), (Some((1, 30)), 0.25, 0.125));
        assert_eq!(rig.influences(5).collect::<Vec<_>>(), [(1, 1.0)]);
        assert_eq!(rig.influences(11).count(), 0);
        // Joint 2 of the skeleton makes a quarter turn about z and moves up; joint 7 stands still.
        let mut object = [IDENTITY; 8];
        object[2] = [[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 3.0]];
        let mut matrices = [AffineMatrix::default(); 2];
        rig.matrices(&object, &mut matrices);
        let mut out = [[0.0; 3]; VERTICES as usize];
        rig.positions(&matrices, &mut out);
        let near = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-3);
        for v in 0..VERTICES as usize {
            let [x, y, z] = rig.bind[rig.point_of[v] as usize];
            let turned = [-y, x - 1.0, z + 3.0];
            let (a, b) = (5.0 / 16.0, 11.0 / 16.0);
            let wanted = match rig.point_of[v] {
                0..4 => turned,
                4..10 => [x * a + turned[0] * b, y * a + turned[1] * b, z * a + turned[2] * b],
                _ => [x, y, z],
            };
            assert!(near(out[v], wanted), "{v}: {:?} {wanted:?}", out[v]);
        }
        // Normals there and back.
        let normals = [[1.0, 0.0, 0.0]; VERTICES as usize];
        let (mut posed, mut back) = (out, out);
        rig.normals(&matrices, &normals, &mut posed);
        assert!(near(posed[0], [0.0, 1.0, 0.0]));
        rig.unbound_normals(&matrices, &posed, &mut back);
        assert!(back.iter().all(|n| near(*n, normals[0])), "{back:?}");
    }

    #[test]
    fn f17_vertices_are_blended_linearly_by_dual_quaternions_or_by_both() {
        // Joint 2 makes half a turn about z: linear blending thins the mesh where weights are about equal.
        let mut object = [IDENTITY; 8];
        object[2] = [[-1.0, 0.0, 0.0, 1.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        let posed = |dual: &[u16]| {
            let rig = decode(&blended(dual), VERTICES, &indices()).unwrap();
            let (mut matrices, mut out) = ([AffineMatrix::default(); 2], [[0.0; 3]; VERTICES as usize]);
            rig.matrices(&object, &mut matrices);
            rig.positions(&matrices, &mut out);
            let parts: Vec<f32> = (0..VERTICES as usize).map(|v| rig.dual_fraction(v)).collect();
            (out, parts, rig.is_dual())
        };
        let (linear, no_parts, none) = posed(&[]);
        let (dual, whole, all) = posed(&[u16::MAX; 11]);
        let mut halves = [u16::MAX; 11];
        halves[4..].fill(u16::MAX / 2 + 1);
        let (both, parts, some) = posed(&halves);
        assert_eq!((none, all, some, no_parts[7], whole[7]), (false, true, true, 0.0, 1.0));
        // The distance from the axis, which goes through x = 1.
        let long = |v: [f32; 3]| ((v[0] - 1.0) * (v[0] - 1.0) + v[1] * v[1]).sqrt();
        for v in 0..VERTICES as usize {
            let middle: [f32; 3] =
                std::array::from_fn(|i| linear[v][i] + (dual[v][i] - linear[v][i]) * parts[v]);
            assert!((0..3).all(|i| (both[v][i] - middle[i]).abs() < 1e-5), "{v}");
            match v {
                0..=3 | 5 | 11 => assert_eq!(linear[v], dual[v]),
                _ => assert!(long(dual[v]) > 2.0 * long(linear[v]) || long(linear[v]) < 2e-3, "{v}"),
            }
        }
    }

    #[test]
    fn damage_is_refused_or_moves_something() {
        for bytes in [bytes(), blended(&[u16::MAX; 11]), blended(&[1000; 11])] {
            damage(&bytes);
        }
    }

    fn damage(bytes: &[u8]) {
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end], VERTICES, &indices()).is_err());
        }
        for (vertices, indices) in [(VERTICES + 1, indices()), (VERTICES - 1, indices())] {
            assert!(decode(bytes, vertices, &indices).is_err());
        }
        let mut out = [[0.0; 3]; VERTICES as usize];
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(rig) = decode(&bytes, VERTICES, &indices()) {
                let mut matrices = vec![AffineMatrix::default(); rig.joints.len()];
                rig.matrices(&[IDENTITY; 3], &mut matrices);
                rig.positions(&matrices, &mut out);
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes, 3, &[0, 1, 2]);
        }
    }
}
