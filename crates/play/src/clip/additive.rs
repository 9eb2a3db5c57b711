//! Additive poses, which are applied on top of others. f32, no operation fused.
//!
//! Credit: the three methods are those of N. Frechette, *Animation Compression Library*, 2017
//! (`additive_clip_format8`).

use super::blend::interpolate;
use meshreel_codec::transform::Transform;

/// The way in which an additive pose is applied to a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Additive {
    /// In the base's space: base · additive.
    Relative,
    /// Rotations multiplied, translations added, scales multiplied.
    Additive0,
    /// Rotations multiplied, translations added, scales multiplied by 1 + the additive one's.
    Additive1,
}

impl Additive {
    /// Returns the transform that changes nothing when it is added to a base.
    #[must_use]
    pub fn identity(self) -> Transform {
        Transform {
            scale: match self {
                Additive::Additive1 => [0.0; 3],
                _ => [1.0; 3],
            },
            ..Transform::IDENTITY
        }
    }

    /// Writes `base` with `weight` of `additive` on top, joint by joint. All slices have one length, and
    /// `out` may not be one of the inputs. To play a clip on top of another, sample both and pass both poses
    /// to this.
    ///
    /// ```
    /// use meshreel::{Transform, clip::Additive};
    ///
    /// let at = |x| [Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }];
    /// let mut lean = [Transform::IDENTITY];
    /// Additive::Additive0.difference(&at(1.0), &at(5.0), &mut lean);
    /// let mut out = [Transform::IDENTITY];
    /// Additive::Additive0.apply(&at(10.0), &lean, 0.5, &mut out);
    /// assert_eq!(out[0].translation[0], 12.0);
    /// ```
    pub fn apply(self, base: &[Transform], additive: &[Transform], weight: f32, out: &mut [Transform]) {
        let identity = self.identity();
        for ((base, additive), out) in base.iter().zip(additive).zip(out) {
            *out = self.add_transform(base, &interpolate(&identity, additive, weight));
        }
    }

    /// Writes the pose that must be added to `base` to get `pose`, joint by joint. It makes samples of an
    /// additive clip from those of two others.
    pub fn difference(self, base: &[Transform], pose: &[Transform], out: &mut [Transform]) {
        for ((base, pose), out) in base.iter().zip(pose).zip(out) {
            *out = self.subtract_transform(base, pose);
        }
    }

    fn add_transform(self, base: &Transform, additive: &Transform) -> Transform {
        let (b, a) = (base.translation, additive.translation);
        let (s, by) = (base.scale, additive.scale);
        let rotation = multiply(base.rotation, additive.rotation);
        let added = [b[0] + a[0], b[1] + a[1], b[2] + a[2]];
        let scaled = [s[0] * by[0], s[1] * by[1], s[2] * by[2]];
        match self {
            Additive::Relative => {
                let moved = rotate(base.rotation, [a[0] * s[0], a[1] * s[1], a[2] * s[2]]);
                Transform {
                    rotation,
                    translation: [b[0] + moved[0], b[1] + moved[1], b[2] + moved[2]],
                    scale: scaled,
                }
            }
            Additive::Additive0 => Transform { rotation, translation: added, scale: scaled },
            Additive::Additive1 => Transform {
                rotation,
                translation: added,
                scale: [s[0] + scaled[0], s[1] + scaled[1], s[2] + scaled[2]],
            },
        }
    }

    fn subtract_transform(self, base: &Transform, pose: &Transform) -> Transform {
        let inverse = conjugate(base.rotation);
        let (b, p) = (base.translation, pose.translation);
        let apart = [p[0] - b[0], p[1] - b[1], p[2] - b[2]];
        let ratio = |i: usize| match base.scale[i] {
            0.0 => 1.0,
            scale => pose.scale[i] / scale,
        };
        let scale = [ratio(0), ratio(1), ratio(2)];
        let over = |v: f32, by: f32| if by == 0.0 { 0.0 } else { v / by };
        Transform {
            rotation: multiply(inverse, pose.rotation),
            translation: match self {
                Additive::Relative => {
                    let [x, y, z] = rotate(inverse, apart);
                    [over(x, base.scale[0]), over(y, base.scale[1]), over(z, base.scale[2])]
                }
                _ => apart,
            },
            scale: match self {
                Additive::Additive1 => [scale[0] - 1.0, scale[1] - 1.0, scale[2] - 1.0],
                _ => scale,
            },
        }
    }
}

/// Returns a · b, which applies b first.
fn multiply([ax, ay, az, aw]: [f32; 4], [bx, by, bz, bw]: [f32; 4]) -> [f32; 4] {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

fn conjugate([x, y, z, w]: [f32; 4]) -> [f32; 4] {
    [-x, -y, -z, w]
}

fn rotate(q: [f32; 4], [x, y, z]: [f32; 3]) -> [f32; 3] {
    let [x, y, z, _] = multiply(multiply(q, [x, y, z, 0.0]), conjugate(q));
    [x, y, z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_transform() -> impl Strategy<Value = Transform> {
        let numbers = prop::array::uniform10(-1.0f32..1.0);
        numbers.prop_map(|v| {
            let q = [v[0], v[1], v[2], v[3] + 1.5];
            let n = q.iter().map(|v| v * v).sum::<f32>().sqrt();
            Transform {
                rotation: q.map(|v| v / n),
                translation: [10.0 * v[4], 10.0 * v[5], 10.0 * v[6]],
                scale: [1.5 + v[7], 1.5 + v[8], -1.5 + v[9]],
            }
        })
    }

    fn near(a: &Transform, b: &Transform) -> bool {
        let numbers =
            |t: &Transform| t.rotation.into_iter().chain(t.translation).chain(t.scale).collect::<Vec<_>>();
        numbers(a).iter().zip(numbers(b)).all(|(a, b)| (a - b).abs() < 3e-4)
    }

    proptest! {
        #[test]
        fn the_difference_on_the_base_is_the_pose(base in any_transform(), pose in any_transform()) {
            for kind in [Additive::Relative, Additive::Additive0, Additive::Additive1] {
                let mut difference = [Transform::IDENTITY];
                kind.difference(&[base], &[pose], &mut difference);
                let mut out = [Transform::IDENTITY];
                kind.apply(&[base], &difference, 1.0, &mut out);
                prop_assert!(near(&out[0], &pose), "{kind:?} {out:?} {pose:?}");
                kind.apply(&[base], &difference, 0.0, &mut out);
                prop_assert!(near(&out[0], &base), "{kind:?}");
                kind.apply(&[base], &[kind.identity()], 1.0, &mut out);
                prop_assert!(near(&out[0], &base), "{kind:?}");
            }
        }
    }

    #[test]
    fn relative_moves_in_the_space_of_the_base() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let base =
            Transform { rotation: [0.0, 0.0, half, half], translation: [1.0, 0.0, 0.0], scale: [2.0; 3] };
        let step = Transform { translation: [1.0, 0.0, 0.0], ..Transform::IDENTITY };
        let mut out = [Transform::IDENTITY];
        Additive::Relative.apply(&[base], &[step], 1.0, &mut out);
        assert!(near(&out[0], &Transform { translation: [1.0, 2.0, 0.0], ..base }));
        Additive::Additive0.apply(&[base], &[step], 1.0, &mut out);
        assert!(near(&out[0], &Transform { translation: [2.0, 0.0, 0.0], ..base }));
        let grown = Transform { scale: [0.5; 3], ..Additive::Additive1.identity() };
        Additive::Additive1.apply(&[base], &[grown], 1.0, &mut out);
        assert!(near(&out[0], &Transform { scale: [3.0; 3], ..base }));
    }

    #[test]
    fn a_base_of_no_size_gives_finite_numbers() {
        let flat = Transform { scale: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
        for kind in [Additive::Relative, Additive::Additive0, Additive::Additive1] {
            let mut out = [Transform::IDENTITY];
            kind.difference(&[flat], &[Transform::IDENTITY], &mut out);
            assert!(out[0].scale.iter().chain(&out[0].translation).all(|v| v.is_finite()));
        }
    }
}
