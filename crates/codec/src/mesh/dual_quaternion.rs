//! Dual quaternion skinning: the rotations and translations of a vertex's joints are blended as dual
//! quaternions, their stretches linearly, and the stretch is applied first.
//!
//! The formulas are those of the rig in `docs/FORMAT/mesh.md`.
//!
//! Credit: Ladislav Kavan, Steven Collins, Jiří Žára and Carol O'Sullivan, "Skinning with dual quaternions",
//! 2007; Nicholas Higham, "Computing the polar decomposition — with applications", 1986.

use crate::clip::space::AffineMatrix;

/// The number of decomposed matrices that are cached, by joint number: neighbouring vertices have the same
/// joints.
const CACHED_JOINTS: usize = 32;
/// The limit of iterations towards the rotation of a matrix; nearly all need 4 to 7.
const STEPS: usize = 24;

pub(super) const IDENTITY: AffineMatrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

type Matrix = [[f64; 3]; 3];
/// x, y, z, w.
type Quaternion = [f32; 4];

/// A joint's matrix, decomposed into a dual quaternion and a symmetric stretch.
#[derive(Clone, Copy, Default)]
struct DecomposedJoint {
    real: Quaternion,
    dual: Quaternion,
    stretch: [[f32; 3]; 3],
}

/// The matrices of joints, decomposed on first use.
pub(super) struct JointCache<'a> {
    matrices: &'a [AffineMatrix],
    cache: [(u32, DecomposedJoint); CACHED_JOINTS],
}

impl<'a> JointCache<'a> {
    pub fn new(matrices: &'a [AffineMatrix]) -> JointCache<'a> {
        JointCache { matrices, cache: [(u32::MAX, DecomposedJoint::default()); CACHED_JOINTS] }
    }

    fn joint(&mut self, number: u32) -> &DecomposedJoint {
        let place = &mut self.cache[number as usize % CACHED_JOINTS];
        if place.0 != number {
            *place = (number, decompose(self.matrices.get(number as usize).unwrap_or(&IDENTITY)));
        }
        &place.1
    }

    /// Returns the matrix that moves a vertex with these joints and weights.
    pub fn blended(&mut self, own: impl Iterator<Item = (u32, f32)> + Clone) -> AffineMatrix {
        let Some((heaviest, _)) = own.clone().reduce(|a, b| if b.1 > a.1 { b } else { a }) else {
            return IDENTITY;
        };
        let pivot = self.joint(heaviest).real;
        let (mut real, mut dual, mut stretch) = ([0.0f32; 4], [0.0f32; 4], [[0.0f32; 3]; 3]);
        for (number, weight) in own {
            let joint = self.joint(number);
            let signed = if dot(&joint.real, &pivot) < 0.0 { -weight } else { weight };
            for i in 0..4 {
                real[i] += joint.real[i] * signed;
                dual[i] += joint.dual[i] * signed;
            }
            for (to, from) in stretch.as_flattened_mut().iter_mut().zip(joint.stretch.as_flattened()) {
                *to += from * weight;
            }
        }
        let length = dot(&real, &real).sqrt();
        if !length.is_normal() {
            return IDENTITY;
        }
        let (real, [a, b, c, d]) = (real.map(|v| v / length), dual.map(|v| v / length));
        let [x, y, z, w] = real;
        let turn = rotation_matrix(&real);
        // Twice the vector of dual · conjugate(real).
        let place = [
            2.0 * (a * w - d * x - b * z + c * y),
            2.0 * (b * w - d * y - c * x + a * z),
            2.0 * (c * w - d * z - a * y + b * x),
        ];
        std::array::from_fn(|r| {
            let of = |k: usize| (0..3).map(|i| turn[r][i] * stretch[i][k]).sum();
            [of(0), of(1), of(2), place[r]]
        })
    }
}

fn dot(a: &Quaternion, b: &Quaternion) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
}

/// Returns the matrix of a rotation.
fn rotation_matrix([x, y, z, w]: &Quaternion) -> [[f32; 3]; 3] {
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

fn decompose(rows: &AffineMatrix) -> DecomposedJoint {
    let linear: Matrix = rows.map(|row| [row[0], row[1], row[2]].map(f64::from));
    let rotation = rotation(&linear);
    let [x, y, z, w] = quaternion(&rotation);
    // S = Rᵀ · M
    let entry = |r: usize, k: usize| (0..3).map(|i| rotation[i][r] * linear[i][k]).sum::<f64>();
    let stretch = std::array::from_fn(|r| std::array::from_fn(|k| entry(r, k) as f32));
    let [a, b, c] = rows.map(|row| 0.5 * f64::from(row[3]));
    // (T, 0) · R
    let dual = [a * w + b * z - c * y, b * w + c * x - a * z, c * w + a * y - b * x, -a * x - b * y - c * z];
    DecomposedJoint { real: [x, y, z, w].map(|v| v as f32), dual: dual.map(|v| v as f32), stretch }
}

/// Returns the inverse transpose multiplied by the determinant, and the determinant.
fn adjugate(m: &Matrix) -> (Matrix, f64) {
    let cross = |a: &[f64; 3], b: &[f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let rows = [cross(&m[1], &m[2]), cross(&m[2], &m[0]), cross(&m[0], &m[1])];
    let determinant = m[0][0] * rows[0][0] + m[0][1] * rows[0][1] + m[0][2] * rows[0][2];
    (rows, determinant)
}

/// Returns the rotation nearest to a matrix, or to its negative if it mirrors; the identity if the
/// determinant is 0.
fn rotation(m: &Matrix) -> Matrix {
    const NO_ROTATION: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let size = m.as_flattened().iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    if !size.is_normal() {
        return NO_ROTATION;
    }
    let mut at = m.map(|row| row.map(|v| v / size));
    if adjugate(&at).1 < 0.0 {
        at = at.map(|row| row.map(|v| -v));
    }
    for _ in 0..STEPS {
        let (rows, determinant) = adjugate(&at);
        if determinant < 1e-30 || !determinant.is_finite() {
            return NO_ROTATION;
        }
        let square = |m: &Matrix| m.as_flattened().iter().map(|v| v * v).sum::<f64>();
        // A factor that evens out large and small stretches: √(|M⁻¹| / |M|).
        let factor = (square(&rows) / square(&at)).sqrt() / determinant;
        let factor = factor.sqrt();
        let mut moved = 0.0f64;
        for (at, inverse) in at.as_flattened_mut().iter_mut().zip(rows.as_flattened()) {
            let next = 0.5 * (factor * *at + inverse / (determinant * factor));
            moved = moved.max((next - *at).abs());
            *at = next;
        }
        if moved < 1e-14 {
            break;
        }
    }
    at
}

/// Returns the quaternion of a rotation matrix, computed from its largest component.
fn quaternion(m: &Matrix) -> [f64; 4] {
    let squares = [
        1.0 + m[0][0] - m[1][1] - m[2][2],
        1.0 - m[0][0] + m[1][1] - m[2][2],
        1.0 - m[0][0] - m[1][1] + m[2][2],
        1.0 + m[0][0] + m[1][1] + m[2][2],
    ];
    let largest = (1..4).fold(0, |most, i| if squares[i] > squares[most] { i } else { most });
    let twice = squares[largest].max(0.0).sqrt();
    let (own, f) = (0.5 * twice, 0.5 / twice);
    match largest {
        0 => [own, f * (m[1][0] + m[0][1]), f * (m[2][0] + m[0][2]), f * (m[2][1] - m[1][2])],
        1 => [f * (m[1][0] + m[0][1]), own, f * (m[2][1] + m[1][2]), f * (m[0][2] - m[2][0])],
        2 => [f * (m[2][0] + m[0][2]), f * (m[2][1] + m[1][2]), own, f * (m[1][0] - m[0][1])],
        _ => [f * (m[2][1] - m[1][2]), f * (m[0][2] - m[2][0]), f * (m[1][0] - m[0][1]), own],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: &AffineMatrix, b: &AffineMatrix, far: f32) -> bool {
        a.as_flattened().iter().zip(b.as_flattened()).all(|(a, b)| (a - b).abs() <= far)
    }

    /// Returns the rows of a matrix that stretches, rotates about an axis of length 1, and translates.
    fn rows(axis: [f32; 3], angle: f32, stretch: [[f32; 3]; 3], place: [f32; 3]) -> AffineMatrix {
        let (s, c) = (0.5 * angle).sin_cos();
        let turn = rotation_matrix(&[axis[0] * s, axis[1] * s, axis[2] * s, c]);
        std::array::from_fn(|r| {
            let of = |k: usize| (0..3).map(|i| turn[r][i] * stretch[i][k]).sum();
            [of(0), of(1), of(2), place[r]]
        })
    }

    #[test]
    fn f17_one_joint_moves_a_vertex_as_its_matrix_does() {
        let stretches = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[2.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 0.1]],
            [[-1.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 1.0]],
            [[1e-6, 0.0, 0.0], [0.0, 100.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.0; 3]; 3],
        ];
        for stretch in stretches {
            for step in 0..40 {
                let axis = [[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.48, 0.6, 0.64]][step % 3];
                let own = rows(axis, step as f32 * 0.16, stretch, [1.0, -20.0, 3.0]);
                let made = JointCache::new(&[own]).blended([(0, 1.0)].into_iter());
                let size = stretch.as_flattened().iter().fold(1.0f32, |a, b| a.max(b.abs()));
                assert!(near(&made, &own, 4e-6 * size.max(5.0)), "{made:?} {own:?}");
            }
        }
    }

    #[test]
    fn f17_half_way_between_two_joints_nothing_gets_thinner() {
        let none = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let triple = none.map(|row| row.map(|v| 3.0 * v));
        let x = [1.0, 0.0, 0.0];
        let matrices = [rows(x, 3.0, none, [0.0; 3]), rows(x, -3.0, triple, [0.0; 3])];
        let made = JointCache::new(&matrices).blended([(0, 0.5), (1, 0.5)].into_iter());
        assert!(
            near(&made, &[[2.0, 0.0, 0.0, 0.0], [0.0, -2.0, 0.0, 0.0], [0.0, 0.0, -2.0, 0.0]], 1e-5),
            "{made:?}"
        );
        // Unknown joint numbers act as the identity, and values that are not finite do not panic.
        JointCache::new(&[]).blended([(7, 1.0)].into_iter());
        let bad = [[[f32::NAN, 1.0, f32::INFINITY, 0.0]; 3]];
        JointCache::new(&bad).blended([(0, 1.0)].into_iter());
    }
}
