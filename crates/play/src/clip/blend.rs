//! Poses blended and multiplied up. f32, no operation fused: the same bits everywhere.

use meshreel_codec::transform::Transform;

/// From `a` to `b` by `part` of the way: normalised linear interpolation of rotations the short way round, linear of translation and scale.
/// All slices are of one length.
pub fn blend(a: &[Transform], b: &[Transform], part: f32, out: &mut [Transform]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        let (p, q) = (a.rotation, b.rotation);
        let dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
        let far = if dot < 0.0 { -part } else { part };
        let near = 1.0 - part;
        let r = [0, 1, 2, 3].map(|i| p[i] * near + q[i] * far);
        let n = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3];
        out.rotation = match n > 1e-12 {
            true => {
                let scale = 1.0 / n.sqrt();
                r.map(|v| v * scale)
            }
            // Opposite rotations have nothing between them.
            false => p,
        };
        for i in 0..3 {
            out.translation[i] = a.translation[i] + (b.translation[i] - a.translation[i]) * part;
            out.scale[i] = a.scale[i] + (b.scale[i] - a.scale[i]) * part;
        }
    }
}

/// Object-space matrices, three rows of four per joint, from local transforms: parent · local, parents before children. `parents` as in
/// [`super::SkeletonRecord`].
pub fn object_space(parents: &[u32], local: &[Transform], out: &mut [[[f32; 4]; 3]]) {
    for (j, (&parent, local)) in parents.iter().zip(local).enumerate() {
        if j >= out.len() {
            return;
        }
        let [x, y, z, w] = local.rotation;
        let [sx, sy, sz] = local.scale;
        let m = [
            [
                (1.0 - 2.0 * (y * y + z * z)) * sx,
                2.0 * (x * y - w * z) * sy,
                2.0 * (x * z + w * y) * sz,
            ],
            [
                2.0 * (x * y + w * z) * sx,
                (1.0 - 2.0 * (x * x + z * z)) * sy,
                2.0 * (y * z - w * x) * sz,
            ],
            [
                2.0 * (x * z - w * y) * sx,
                2.0 * (y * z + w * x) * sy,
                (1.0 - 2.0 * (x * x + y * y)) * sz,
            ],
        ];
        let t = local.translation;
        let own = [0, 1, 2].map(|r| [m[r][0], m[r][1], m[r][2], t[r]]);
        out[j] = match out.get(parent as usize) {
            Some(p) if (parent as usize) < j => [0, 1, 2].map(|r| {
                let mut row = [0, 1, 2, 3]
                    .map(|c| p[r][0] * own[0][c] + p[r][1] * own[1][c] + p[r][2] * own[2][c]);
                row[3] += p[r][3];
                row
            }),
            _ => own,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_and_opposites() {
        let at = |rotation: [f32; 4]| Transform {
            rotation,
            ..Transform::IDENTITY
        };
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let mut out = [Transform::IDENTITY];
        // A quarter turn about z and its negative are one rotation.
        blend(
            &[at([0.0, 0.0, 0.0, 1.0])],
            &[at([0.0, 0.0, -half, -half])],
            0.5,
            &mut out,
        );
        let eighth = (std::f32::consts::PI / 8.0).sin();
        assert!((out[0].rotation[2] - eighth).abs() < 1e-6);
        blend(
            &[at([0.0, 0.0, 0.0, 1.0])],
            &[at([0.0, 0.0, 1.0, 0.0])],
            1.0,
            &mut out,
        );
        assert_eq!(out[0].rotation, [0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn chains_multiply() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let turn = Transform {
            rotation: [0.0, 0.0, half, half],
            translation: [1.0, 0.0, 0.0],
            scale: [2.0; 3],
        };
        let mut out = [[[0.0; 4]; 3]; 2];
        object_space(&[u32::MAX, 0], &[turn, turn], &mut out);
        // The child's origin: (1, 0, 0) doubled, turned to y, moved by (1, 0, 0).
        let origin = [0, 1, 2].map(|r| out[1][r][3]);
        for (got, want) in origin.iter().zip([1.0, 2.0, 0.0]) {
            assert!((got - want).abs() < 1e-6);
        }
        assert!((out[1][0][0] + 4.0).abs() < 1e-5);
    }
}
