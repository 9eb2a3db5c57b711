//! Blends poses, and computes object-space matrices from them. f32, no operation fused, so the results are
//! bit-identical everywhere.

use super::Mask;
use meshreel_codec::clip::space::{self, joint_matrix, multiply};
use meshreel_codec::transform::Transform;

/// Blends from `a` to `b` with weight `part`: normalized linear interpolation of rotations by the shorter
/// way, linear interpolation of translation and scale. All slices have one length.
pub fn blend(a: &[Transform], b: &[Transform], part: f32, out: &mut [Transform]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        *out = interpolate(a, b, part);
    }
}

/// Blends as [`blend`] does, with a weight for each joint, `weights` times `part`: a mask with soft edges.
/// All slices have one length.
///
/// ```
/// use meshreel::{Transform, clip::blend_masked};
///
/// let at = |x| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
/// let mut out = [Transform::IDENTITY; 2];
/// blend_masked(&[at(0.0), at(0.0)], &[at(8.0), at(8.0)], 0.5, &[1.0, 0.25], &mut out);
/// assert_eq!([out[0].translation[0], out[1].translation[0]], [4.0, 1.0]);
/// ```
pub fn blend_masked(a: &[Transform], b: &[Transform], part: f32, weights: &[f32], out: &mut [Transform]) {
    for (((a, b), weight), out) in a.iter().zip(b).zip(weights).zip(out) {
        *out = interpolate(a, b, part * weight);
    }
}

/// Interpolates from `a` to `b` with weight `part`; 0 and 1 return the inputs bit by bit.
#[inline]
pub(super) fn interpolate(a: &Transform, b: &Transform, part: f32) -> Transform {
    if part == 0.0 {
        return *a;
    }
    if part == 1.0 {
        return *b;
    }
    let (p, q) = (a.rotation, b.rotation);
    let dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
    let far = if dot < 0.0 { -part } else { part };
    let near = 1.0 - part;
    let mix = |i: usize| p[i] * near + q[i] * far;
    let r = [mix(0), mix(1), mix(2), mix(3)];
    let n = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3];
    let scale = 1.0 / n.sqrt();
    let lerp = |a: f32, b: f32| a + (b - a) * part;
    let lerp = |a: [f32; 3], b: [f32; 3]| [lerp(a[0], b[0]), lerp(a[1], b[1]), lerp(a[2], b[2])];
    Transform {
        rotation: match n > 1e-12 {
            true => [r[0] * scale, r[1] * scale, r[2] * scale, r[3] * scale],
            // Between opposite rotations there is no defined middle.
            false => p,
        },
        translation: lerp(a.translation, b.translation),
        scale: lerp(a.scale, b.scale),
    }
}

/// Writes object-space matrices, three rows of four per joint, from local transforms: parent · local, parents
/// before children. `parents` is as in [`super::SkeletonRecord`].
pub fn object_space(parents: &[u32], local: &[Transform], out: &mut [[[f32; 4]; 3]]) {
    space::object_space(parents, local, out);
}

/// Updates object-space matrices as [`object_space`] does, but only for the joints of `mask`; the other
/// matrices are not changed. The matrix of a parent outside the mask is taken from `out`, so part of a
/// skeleton can be recomputed after a change: see also [`Mask::with_parents`].
pub fn object_space_masked(mask: &Mask, parents: &[u32], local: &[Transform], out: &mut [[[f32; 4]; 3]]) {
    for (j, (&parent, local)) in parents.iter().zip(local).enumerate() {
        if j >= out.len() {
            return;
        }
        if mask.contains(j) {
            let above = out.get(parent as usize).filter(|_| (parent as usize) < j);
            out[j] = joint_matrix(above, local);
        }
    }
}

/// Returns the object-space matrix of one joint, from the local transforms of it and its ancestors; `None` if
/// there is no such joint.
#[must_use]
pub fn object_joint(parents: &[u32], local: &[Transform], joint: usize) -> Option<[[f32; 4]; 3]> {
    let mut out = joint_matrix(None, local.get(joint)?);
    let mut at = joint;
    while let Some(parent) = parents.get(at).map(|p| *p as usize).filter(|p| *p < at) {
        // Multiplied from the joint up instead of from the root down: the products differ only by rounding.
        out = multiply(&joint_matrix(None, local.get(parent)?), &out);
        at = parent;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_and_opposites() {
        let at = |rotation: [f32; 4]| Transform { rotation, ..Transform::IDENTITY };
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let mut out = [Transform::IDENTITY];
        // A quarter turn about z and its negative are one rotation.
        blend(&[at([0.0, 0.0, 0.0, 1.0])], &[at([0.0, 0.0, -half, -half])], 0.5, &mut out);
        let eighth = (std::f32::consts::PI / 8.0).sin();
        assert!((out[0].rotation[2] - eighth).abs() < 1e-6);
        blend(&[at([0.0, 0.0, 0.0, 1.0])], &[at([0.0, 0.0, 1.0, 0.0])], 1.0, &mut out);
        assert_eq!(out[0].rotation, [0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn chains_multiply() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let turn =
            Transform { rotation: [0.0, 0.0, half, half], translation: [1.0, 0.0, 0.0], scale: [2.0; 3] };
        let mut out = [[[0.0; 4]; 3]; 2];
        object_space(&[u32::MAX, 0], &[turn, turn], &mut out);
        // The child's origin: (1, 0, 0) doubled, turned to y, moved by (1, 0, 0).
        let origin = [0, 1, 2].map(|r| out[1][r][3]);
        for (got, want) in origin.iter().zip([1.0, 2.0, 0.0]) {
            assert!((got - want).abs() < 1e-6);
        }
        assert!((out[1][0][0] + 4.0).abs() < 1e-5);
    }

    #[test]
    fn parts_of_a_skeleton_multiply_up_too() {
        let parents = [u32::MAX, 0, 1, 0, 3];
        let local: Vec<Transform> = (0..5u8)
            .map(|j| {
                let half = f32::from(j) * 0.4;
                Transform {
                    rotation: [half.sin(), 0.0, 0.0, half.cos()],
                    translation: [1.0, f32::from(j), 2.0],
                    scale: [1.0 + 0.1 * f32::from(j); 3],
                }
            })
            .collect();
        let mut all = [[[0.0; 4]; 3]; 5];
        object_space(&parents, &local, &mut all);
        for j in 0..5 {
            let one = object_joint(&parents, &local, j).unwrap();
            let far = (one.iter().flatten().zip(all[j].iter().flatten())).map(|(a, b)| (a - b).abs());
            assert!(far.fold(0.0, f32::max) < 1e-4, "{j}");
            let mask = Mask::from_joints(5, [j]).with_parents(&parents);
            let mut some = [[[7.0; 4]; 3]; 5];
            object_space_masked(&mask, &parents, &local, &mut some);
            for k in 0..5 {
                assert_eq!(some[k], if mask.contains(k) { all[k] } else { [[7.0; 4]; 3] });
            }
        }
        assert_eq!(object_joint(&parents, &local, 5), None);
    }

    #[test]
    fn both_ends_are_exact_to_the_bit() {
        let a = Transform {
            rotation: [0.1, 0.2, 0.3, 0.9],
            translation: [1e7, -0.0, 1.0 / 3.0],
            scale: [1.0, 2.0, 1e-7],
        };
        let b = Transform { rotation: [-0.5, 0.5, 0.5, 0.5], ..Transform::IDENTITY };
        let mut out = [Transform::IDENTITY; 2];
        blend_masked(&[a, a], &[b, b], 1.0, &[0.0, 1.0], &mut out);
        assert_eq!(out, [a, b]);
    }
}
