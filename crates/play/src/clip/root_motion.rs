//! Root motion: the movement of a joint, usually the root, over a time step, across any number of loops. It
//! moves a character in the world while its clip plays in place.
//!
//! ```text
//! R(t)     the joint's local transform, without scale; over the last interval of a wrapping clip, from its last sample to the end of the loop, it goes on
//!          as over the interval before
//! loop     D = R(0)⁻¹ · R(end)          A(t + n loops) = R(0) · Dⁿ · R(0)⁻¹ · R(t)
//! delta    A(from)⁻¹ · A(to): multiply the character's transform by it from the right
//! ```

use super::query::Repeats;
use crate::Error;
use meshreel_codec::transform::Transform;

/// The part of a joint's motion that becomes the character's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RootMotion {
    /// The whole motion.
    All,
    /// Motion along the ground and rotation about the vertical axis; the rest, height and tilt, stays with
    /// the joint.
    Planar {
        /// The up direction, a unit vector in the space of the joint's parent.
        up: [f32; 3],
    },
}

/// A rotation x y z w and a translation.
#[derive(Clone, Copy)]
struct RigidTransform {
    rotation: [f64; 4],
    translation: [f64; 3],
}

impl RigidTransform {
    const IDENTITY: RigidTransform = RigidTransform { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3] };

    fn normalize([x, y, z, w]: [f64; 4]) -> [f64; 4] {
        let n = (x * x + y * y + z * z + w * w).sqrt();
        match n > 1e-30 {
            true => [x / n, y / n, z / n, w / n],
            false => [0.0, 0.0, 0.0, 1.0],
        }
    }

    /// Returns self · other, which applies `other` first.
    fn times(&self, other: &RigidTransform) -> RigidTransform {
        let [x, y, z] = self.rotate(other.translation);
        let t = self.translation;
        RigidTransform {
            rotation: RigidTransform::normalize(multiply(self.rotation, other.rotation)),
            translation: [t[0] + x, t[1] + y, t[2] + z],
        }
    }

    fn rotate(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let q = self.rotation;
        let back = [-q[0], -q[1], -q[2], q[3]];
        let [x, y, z, _] = multiply(multiply(q, [x, y, z, 0.0]), back);
        [x, y, z]
    }

    fn inverse(&self) -> RigidTransform {
        let [x, y, z, w] = self.rotation;
        let back = RigidTransform { rotation: [-x, -y, -z, w], translation: [0.0; 3] };
        let translation = back.rotate(self.translation).map(|v| -v);
        RigidTransform { translation, ..back }
    }

    /// Returns the transform applied `n` times; the powers of its inverse for negative `n`.
    fn power(&self, n: i64) -> RigidTransform {
        let mut base = if n < 0 { self.inverse() } else { *self };
        let (mut out, mut n) = (RigidTransform::IDENTITY, n.unsigned_abs());
        while n > 0 {
            if n & 1 == 1 {
                out = out.times(&base);
            }
            base = base.times(&base);
            n >>= 1;
        }
        out
    }

    fn interpolate(&self, other: &RigidTransform, part: f64) -> RigidTransform {
        let (p, q) = (self.rotation, other.rotation);
        let dot: f64 = p.iter().zip(q).map(|(p, q)| p * q).sum();
        let far = if dot < 0.0 { -part } else { part };
        let (a, b) = (self.translation, other.translation);
        RigidTransform {
            rotation: RigidTransform::normalize([0, 1, 2, 3].map(|i| p[i] * (1.0 - part) + q[i] * far)),
            translation: [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * part),
        }
    }
}

fn multiply([ax, ay, az, aw]: [f64; 4], [bx, by, bz, bw]: [f64; 4]) -> [f64; 4] {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

impl RootMotion {
    fn rigid_part(self, transform: &Transform) -> RigidTransform {
        let rigid = RigidTransform {
            rotation: RigidTransform::normalize(transform.rotation.map(f64::from)),
            translation: transform.translation.map(f64::from),
        };
        let RootMotion::Planar { up } = self else {
            return rigid;
        };
        let up = up.map(f64::from);
        let along = |v: [f64; 3]| v[0] * up[0] + v[1] * up[1] + v[2] * up[2];
        let [x, y, z, w] = rigid.rotation;
        let (height, twist) = (along(rigid.translation), along([x, y, z]));
        RigidTransform {
            // The part of the rotation about the axis.
            rotation: RigidTransform::normalize([up[0] * twist, up[1] * twist, up[2] * twist, w]),
            translation: [0, 1, 2].map(|i| rigid.translation[i] - up[i] * height),
        }
    }

    /// Returns the transform that stays with the joint when the character takes its motion: R⁻¹ · `joint`,
    /// where R is the character's part. Put it in the joint's place in the pose.
    #[must_use]
    pub fn in_place(self, joint: &Transform) -> Transform {
        let whole = RootMotion::All.rigid_part(joint);
        let rest = self.rigid_part(joint).inverse().times(&whole);
        Transform { scale: joint.scale, ..to_transform(&rest) }
    }
}

fn to_transform(rigid: &RigidTransform) -> Transform {
    Transform {
        rotation: rigid.rotation.map(|v| v as f32),
        translation: rigid.translation.map(|v| v as f32),
        ..Transform::IDENTITY
    }
}

/// Returns the motion from `from` to `to`, in seconds after the first sample; `to` may be smaller than
/// `from`. `at` returns the joint's transform at a time.
pub(super) fn delta(
    (samples, fps): (usize, f64),
    (from, to): (f64, f64),
    repeats: Repeats,
    extract: RootMotion,
    mut at: impl FnMut(f64) -> Result<Transform, Error>,
) -> Result<Transform, Error> {
    let mut rigid = |sample: f64| Ok::<_, Error>(extract.rigid_part(&at(sample / fps)?));
    let last = (samples.max(1) - 1) as f64;
    // Times in samples.
    let clean = |seconds: f64| match seconds * fps {
        at if at.is_finite() => at,
        _ => 0.0,
    };
    let (from, to) = (clean(from), clean(to));
    if repeats == Repeats::Clamp {
        let start = rigid(from.clamp(0.0, last))?;
        let end = rigid(to.clamp(0.0, last))?;
        return Ok(to_transform(&start.inverse().times(&end)));
    }
    if samples < 2 {
        return Ok(Transform::IDENTITY);
    }
    let count = last + 1.0;
    let split = |at: f64| {
        let turn = (at / count).floor();
        (turn, (at - turn * count).clamp(0.0, count))
    };
    let ((turn_from, from), (turn_to, to)) = (split(from), split(to));
    let turns = turn_to - turn_from;
    let end = if turns != 0.0 || from > last || to > last {
        let (before, after) = (rigid(last - 1.0)?, rigid(last)?);
        Some((after, after.times(&before.inverse().times(&after))))
    } else {
        None
    };
    let mut within = |at: f64| match &end {
        Some((after, end)) if at > last => Ok(after.interpolate(end, at - last)),
        _ => rigid(at),
    };
    let (start, arrival) = (within(from)?, within(to)?);
    let Some((_, end)) = end.filter(|_| turns != 0.0) else {
        return Ok(to_transform(&start.inverse().times(&arrival)));
    };
    let first = rigid(0.0)?;
    let back = first.inverse();
    let turns = turns.clamp(-1e15, 1e15) as i64;
    let all = back.times(&end).power(turns);
    let delta = start.inverse().times(&first).times(&all);
    Ok(to_transform(&delta.times(&back).times(&arrival)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLES: usize = 9;
    const FPS: f64 = 4.0;

    /// A root that walks along a curve, moves up and down, and tilts.
    fn root(seconds: f64) -> Result<Transform, Error> {
        let at = |i: usize| {
            let i = i as f32;
            let (yaw, tilt) = (0.15 * i, 0.05 * (i * 1.3).sin());
            let ([s, c], [t, d]) =
                ([(yaw / 2.0).sin(), (yaw / 2.0).cos()], [(tilt / 2.0).sin(), (tilt / 2.0).cos()]);
            Transform {
                rotation: [c * t, s * d, -s * t, c * d],
                translation: [i.sin(), 1.0 + 0.1 * (i * 2.0).cos(), 0.7 * i],
                scale: [1.0; 3],
            }
        };
        let sample = (seconds * FPS).clamp(0.0, (SAMPLES - 1) as f64);
        let left = (sample as usize).min(SAMPLES - 2);
        Ok(super::super::blend::interpolate(&at(left), &at(left + 1), (sample - left as f64) as f32))
    }

    fn motion(from: f64, to: f64, repeats: Repeats, extract: RootMotion) -> RigidTransform {
        let delta = delta((SAMPLES, FPS), (from, to), repeats, extract, root).unwrap();
        RootMotion::All.rigid_part(&delta)
    }

    fn apart(a: &RigidTransform, b: &RigidTransform) -> f64 {
        let d = a.inverse().times(b);
        let far = d.translation.iter().map(|v| v.abs()).fold(0.0, f64::max);
        far.max(d.rotation[..3].iter().map(|v| v.abs()).fold(0.0, f64::max))
    }

    const PLANAR: RootMotion = RootMotion::Planar { up: [0.0, 1.0, 0.0] };

    proptest! {
        #[test]
        fn steps_multiply_up_to_the_whole(from in -20.0f64..20.0, steps in prop::collection::vec(-1.5f64..3.0, 1..30)) {
            for repeats in [Repeats::Clamp, Repeats::Wrap] {
                for extract in [RootMotion::All, PLANAR] {
                    let (mut at, mut sum) = (from, RigidTransform::IDENTITY);
                    for step in &steps {
                        sum = sum.times(&motion(at, at + step, repeats, extract));
                        at += step;
                    }
                    let whole = motion(from, at, repeats, extract);
                    prop_assert!(apart(&sum, &whole) < 2e-3, "{}", apart(&sum, &whole));
                    let back = motion(at, from, repeats, extract);
                    prop_assert!(apart(&whole.times(&back), &RigidTransform::IDENTITY) < 1e-3);
                }
            }
        }

        #[test]
        fn within_the_clip_it_is_the_difference(from in 0.0f64..2.0, to in 0.0f64..2.0) {
            let direct = RootMotion::All.rigid_part(&root(from).unwrap()).inverse().times(&RootMotion::All.rigid_part(&root(to).unwrap()));
            for repeats in [Repeats::Clamp, Repeats::Wrap] {
                prop_assert!(apart(&motion(from, to, repeats, RootMotion::All), &direct) < 1e-5);
            }
        }

        #[test]
        fn planar_motion_stays_on_the_ground(from in -9.0f64..9.0, to in -9.0f64..9.0, seconds in 0.0f64..2.0) {
            let m = motion(from, to, Repeats::Wrap, PLANAR);
            prop_assert!(m.translation[1].abs() < 1e-5 && m.rotation[0].abs() < 1e-6 && m.rotation[2].abs() < 1e-6);
            // The product of both parts is the joint's transform.
            let joint = root(seconds).unwrap();
            let both = PLANAR.rigid_part(&joint).times(&RootMotion::All.rigid_part(&PLANAR.in_place(&joint)));
            prop_assert!(apart(&both, &RootMotion::All.rigid_part(&joint)) < 1e-5);
        }
    }

    #[test]
    fn loops_add_up_and_nonsense_does_nothing() {
        let period = SAMPLES as f64 / FPS;
        let one = motion(0.3, 0.3 + period, Repeats::Wrap, RootMotion::All);
        let many = motion(0.3, 0.3 + 1000.0 * period, Repeats::Wrap, RootMotion::All);
        assert!(apart(&one.power(1000), &many) < 0.05);
        for (from, to) in [(f64::NAN, f64::INFINITY), (f64::NEG_INFINITY, f64::NAN)] {
            for repeats in [Repeats::Clamp, Repeats::Wrap] {
                let m = motion(from, to, repeats, RootMotion::All);
                assert!(apart(&m, &RigidTransform::IDENTITY) < 1e-6);
            }
        }
        let far = motion(0.0, 1e300, Repeats::Wrap, RootMotion::All);
        assert!(far.rotation.iter().all(|v| v.is_finite()));
        let still = delta((1, FPS), (0.0, 5.0), Repeats::Wrap, RootMotion::All, root).unwrap();
        assert_eq!(still, Transform::IDENTITY);
    }
}
