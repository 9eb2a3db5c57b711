//! Converts local transforms to object space: parent · local, parents before children. In f32 without fused
//! operations: the same bits everywhere.

use crate::transform::Transform;

/// An affine matrix: three rows of four.
pub type AffineMatrix = [[f32; 4]; 3];

/// Writes the object-space matrices of all joints, as far as there is room in `out`. `parents` is as in
/// [`super::Skeleton`].
pub fn object_space(parents: &[u32], local: &[Transform], out: &mut [AffineMatrix]) {
    for (j, (&parent, local)) in parents.iter().zip(local).enumerate() {
        if j >= out.len() {
            return;
        }
        let above = out.get(parent as usize).filter(|_| (parent as usize) < j);
        out[j] = joint_matrix(above, local);
    }
}

/// Returns the matrix of a local transform, multiplied by that of its parent from the left.
#[inline]
pub fn joint_matrix(above: Option<&AffineMatrix>, local: &Transform) -> AffineMatrix {
    let [x, y, z, w] = local.rotation;
    let [sx, sy, sz] = local.scale;
    let [tx, ty, tz] = local.translation;
    let own = [
        [(1.0 - 2.0 * (y * y + z * z)) * sx, 2.0 * (x * y - w * z) * sy, 2.0 * (x * z + w * y) * sz, tx],
        [2.0 * (x * y + w * z) * sx, (1.0 - 2.0 * (x * x + z * z)) * sy, 2.0 * (y * z - w * x) * sz, ty],
        [2.0 * (x * z - w * y) * sx, 2.0 * (y * z + w * x) * sy, (1.0 - 2.0 * (x * x + y * y)) * sz, tz],
    ];
    match above {
        Some(above) => multiply(above, &own),
        None => own,
    }
}

/// Returns the product of two matrices.
#[inline]
pub fn multiply(p: &AffineMatrix, own: &AffineMatrix) -> AffineMatrix {
    let mut out = AffineMatrix::default();
    for (p, out) in p.iter().zip(&mut out) {
        for c in 0..4 {
            out[c] = p[0] * own[0][c] + p[1] * own[1][c] + p[2] * own[2][c];
        }
        out[3] += p[3];
    }
    out
}
