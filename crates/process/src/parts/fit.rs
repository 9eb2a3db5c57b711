//! The similarity transform that moves one set of points onto another with the least squares of distances.
//!
//! Rotations by the quaternion method: the best one is the eigenvector of the largest eigenvalue of a
//! symmetric 4 × 4 matrix, which exists and is a proper rotation for any points, flat or few. Credit: B.
//! Horn, Closed-form solution of absolute orientation using unit quaternions, 1987.

use glam::{DMat3, DQuat, DVec3};

/// The transform x → scale · rotation · x + translation. A negative scale is a reflection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// A unit quaternion.
    pub rotation: DQuat,
    /// Uniform scale; 1 for a rigid fit.
    pub scale: f64,
    /// Applied after rotation and scale.
    pub translation: DVec3,
}

impl Similarity {
    /// The identity.
    pub const IDENTITY: Similarity =
        Similarity { rotation: DQuat::IDENTITY, scale: 1.0, translation: DVec3::ZERO };

    /// Returns the transform as a matrix and a vector, for many points.
    pub fn matrix(&self) -> (DMat3, DVec3) {
        (DMat3::from_quat(self.rotation) * self.scale, self.translation)
    }
}

/// The kind of transform that is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransformModel {
    /// Rotation and translation.
    Rigid,
    /// Also a uniform scale, which may be negative: parts that are mirrored, grow or shrink.
    Scaled,
}

/// Sums over pairs of points, sufficient for a fit.
#[derive(Clone, Copy, Debug)]
pub struct FitSums {
    count: f64,
    from: DVec3,
    to: DVec3,
    /// Columns: Σ from · to_x, … relative to the first pair, which keeps small parts far from the origin
    /// exact.
    cross: DMat3,
    from_square: f64,
    to_square: f64,
    origin: Option<(DVec3, DVec3)>,
}

impl Default for FitSums {
    fn default() -> Self {
        FitSums {
            count: 0.0,
            from: DVec3::ZERO,
            to: DVec3::ZERO,
            cross: DMat3::ZERO,
            from_square: 0.0,
            to_square: 0.0,
            origin: None,
        }
    }
}

impl FitSums {
    /// Adds a pair.
    pub fn add(&mut self, from: DVec3, to: DVec3) {
        let (a, b) = *self.origin.get_or_insert((from, to));
        let (from, to) = (from - a, to - b);
        self.count += 1.0;
        self.from += from;
        self.to += to;
        self.cross += DMat3::from_cols(from * to.x, from * to.y, from * to.z);
        self.from_square += from.length_squared();
        self.to_square += to.length_squared();
    }

    /// Returns the best transform. If the points do not determine a rotation (one, two, or all on a line),
    /// the one near `before`.
    pub fn fit(&self, model: TransformModel, before: DQuat) -> Similarity {
        let Some((a, b)) = self.origin else {
            return Similarity::IDENTITY;
        };
        let (from, to) = (self.from / self.count, self.to / self.count);
        let scatter = DMat3::from_cols(from * to.x, from * to.y, from * to.z) * self.count;
        let cross = self.cross - scatter;
        let from_square = (self.from_square - from.length_squared() * self.count).max(0.0);
        let to_square = (self.to_square - to.length_squared() * self.count).max(0.0);
        let size = (from_square * to_square).sqrt();
        let (mut rotation, mut gain) = best_rotation(cross, size, before);
        let mut scale = 1.0;
        if model == TransformModel::Scaled {
            let (mirrored, other) = best_rotation(cross * -1.0, size, before);
            let sign = if other > gain * (1.0 + 1e-9) + size * 1e-9 {
                (rotation, gain) = (mirrored, other);
                -1.0
            } else {
                1.0
            };
            scale = match from_square > 0.0 {
                true => sign * gain / from_square,
                false => 1.0,
            };
            // A scale that differs from one only by rounding is set to one: such parts need no scale.
            if (scale.abs() - 1.0).abs() < 1e-6 {
                scale = sign;
            }
        }
        let translation = (b + to) - rotation * (a + from) * scale;
        Similarity { rotation, scale, translation }
    }
}

/// Returns the rotation R that maximizes Σ to · R from, and that sum. `size`: its approximate upper bound.
fn best_rotation(cross: DMat3, size: f64, before: DQuat) -> (DQuat, f64) {
    // m[i][j] = Σ from_i · to_j
    let m = |i: usize, j: usize| cross.col(j)[i];
    let mut n = [[0.0; 4]; 4];
    n[0] = [m(0, 0) + m(1, 1) + m(2, 2), m(1, 2) - m(2, 1), m(2, 0) - m(0, 2), m(0, 1) - m(1, 0)];
    n[1][1] = m(0, 0) - m(1, 1) - m(2, 2);
    n[1][2] = m(0, 1) + m(1, 0);
    n[1][3] = m(2, 0) + m(0, 2);
    n[2][2] = m(1, 1) - m(0, 0) - m(2, 2);
    n[2][3] = m(1, 2) + m(2, 1);
    n[3][3] = m(2, 2) - m(0, 0) - m(1, 1);
    // A small weight on the previous rotation decides otherwise undetermined cases.
    let prior = [before.w, before.x, before.y, before.z];
    let weight = size * 1e-9 + f64::MIN_POSITIVE;
    for i in 0..4 {
        for j in i..4 {
            n[i][j] += weight * prior[i] * prior[j];
            n[j][i] = n[i][j];
        }
    }
    let q = largest_eigenvector(n);
    let rotation = DQuat::from_xyzw(q[1], q[2], q[3], q[0]).normalize();
    let gain = (0..3).map(|j| (rotation * cross.col(j))[j]);
    // Σ to · R from = trace(R · Σ from toᵀ)
    (rotation, gain.sum())
}

/// Returns the eigenvector of the largest eigenvalue of a symmetric matrix, by Jacobi rotations.
fn largest_eigenvector(mut a: [[f64; 4]; 4]) -> [f64; 4] {
    let mut v = [[0.0; 4]; 4];
    for (i, row) in v.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for _ in 0..24 {
        let mut off = 0.0;
        let mut all = 0.0;
        for i in 0..4 {
            for j in 0..4 {
                let square = a[i][j] * a[i][j];
                all += square;
                off += if i == j { 0.0 } else { square };
            }
        }
        if off <= all * 1e-30 {
            break;
        }
        for p in 0..3 {
            for q in p + 1..4 {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..4 {
                    let (x, y) = (a[k][p], a[k][q]);
                    (a[k][p], a[k][q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..4 {
                    let (x, y) = (a[p][k], a[q][k]);
                    (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
                }
                for row in &mut v {
                    let (x, y) = (row[p], row[q]);
                    (row[p], row[q]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    let largest = (1..4).fold(0, |best, i| if a[i][i] > a[best][best] { i } else { best });
    std::array::from_fn(|k| v[k][largest])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(v: [i8; 4]) -> DQuat {
        let q = DQuat::from_array(v.map(|v| f64::from(v) + 0.5));
        q.normalize()
    }

    fn fitted(points: &[DVec3], moved: impl Fn(DVec3) -> DVec3, model: TransformModel) -> Similarity {
        let mut sums = FitSums::default();
        points.iter().for_each(|&p| sums.add(p, moved(p)));
        sums.fit(model, DQuat::IDENTITY)
    }

    proptest! {
        #[test]
        fn e14_any_similarity_is_found(
            turn in any::<[i8; 4]>(),
            shift in any::<[i8; 3]>(),
            scale in prop_oneof![Just(1.0), Just(-1.0), 0.01..3.0f64],
            points in proptest::collection::vec(any::<[i8; 3]>(), 4..20),
            far in 0.0..1e4f64,
        ) {
            let points: Vec<DVec3> = points.iter().map(|p| DVec3::from_array(p.map(f64::from)) + far).collect();
            let (turn, shift) = (unit(turn), DVec3::from_array(shift.map(f64::from)));
            let moved = |p: DVec3| turn * p * scale + shift;
            let model = if scale == 1.0 { TransformModel::Rigid } else { TransformModel::Scaled };
            let found = fitted(&points, moved, model);
            for &p in &points {
                let at = found.rotation * p * found.scale + found.translation;
                prop_assert!((at - moved(p)).length() < 1e-5 * (1.0 + far / 100.0), "{at} {}", moved(p));
            }
        }
    }

    #[test]
    fn flat_and_thin_sets_keep_the_rotation_before() {
        let line: Vec<DVec3> = (0..5).map(|i| DVec3::X * f64::from(i)).collect();
        let found = fitted(&line, |p| p + DVec3::Y, TransformModel::Rigid);
        assert!(found.rotation.angle_between(DQuat::IDENTITY) < 1e-6);
        let flat: Vec<DVec3> = (0..9).map(|i| DVec3::new(f64::from(i % 3), f64::from(i / 3), 0.0)).collect();
        let turn = DQuat::from_rotation_y(1.0);
        let found = fitted(&flat, |p| turn * p, TransformModel::Rigid);
        assert!(found.rotation.angle_between(turn) < 1e-6);
        assert_eq!(fitted(&[], |p| p, TransformModel::Rigid), Similarity::IDENTITY);
    }
}
