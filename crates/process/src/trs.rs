//! Decomposes matrices into translation, rotation and scale, and measures the error.
//!
//! `M ≈ T·R·S` with S diagonal. A matrix with shear has no such form: the decomposition is then the nearby
//! one given by the polar factor of its normalized columns (N. Higham, *Computing the polar decomposition*,
//! 1986), or by Gram–Schmidt axes if these are nearer, and [`error_over_box`] returns how far it moves
//! points, so that the caller can bake vertices instead.
//!
//! Mirroring cannot be part of a rotation: an odd number of scales is negative. Which ones is free, but must
//! not jump between frames, or interpolation would fold the mesh: the signs of the previous frame are kept
//! while the matrix keeps its handedness; if it changes, those are chosen whose rotation is nearest to the
//! previous one.

use glam::{DMat3, DMat4, DQuat, DVec3};

/// Rotation (unit quaternion), translation, scale: `point ↦ rotation·(scale∘point) + translation`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Trs {
    pub rotation: DQuat,
    pub translation: DVec3,
    pub scale: DVec3,
}

impl Trs {
    /// The identity.
    pub const IDENTITY: Trs = Trs { rotation: DQuat::IDENTITY, translation: DVec3::ZERO, scale: DVec3::ONE };

    /// Returns the matrix of the transform.
    pub fn matrix(&self) -> DMat4 {
        DMat4::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }

    /// Returns the sign of each scale; a scale of zero counts as positive.
    fn signs(&self) -> DVec3 {
        DVec3::from_array(self.scale.to_array().map(|s| if s < 0.0 { -1.0 } else { 1.0 }))
    }
}

/// Decomposes a matrix. The last row is ignored (Alembic's points are not divided by w). `previous` is the
/// previous frame: it determines the signs of scales and quaternion, and the rotation if scales are zero.
/// `None` if the matrix has entries that are not finite.
pub fn decompose(matrix: &DMat4, previous: Option<&Trs>) -> Option<Trs> {
    if !matrix.is_finite() {
        return None;
    }
    let translation = matrix.w_axis.truncate();
    let columns = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(|c| c.truncate());
    let axes = orthonormal(columns, previous);
    let handed = if axes.determinant() < 0.0 { -1.0 } else { 1.0 };
    let (signs, rotation) = choose_signs(&axes, handed, previous);
    let axes = DMat3::from_cols(axes.x_axis * signs.x, axes.y_axis * signs.y, axes.z_axis * signs.z);
    let scale =
        DVec3::new(axes.x_axis.dot(columns[0]), axes.y_axis.dot(columns[1]), axes.z_axis.dot(columns[2]));
    let rotation = match previous {
        Some(p) => align(p.rotation, rotation),
        None if rotation.w < 0.0 => -rotation,
        None => rotation,
    };
    Some(Trs { rotation, translation, scale })
}

/// Returns the quaternion of the same rotation that is nearer to `previous`.
pub fn align(previous: DQuat, rotation: DQuat) -> DQuat {
    if previous.dot(rotation) < 0.0 { -rotation } else { rotation }
}

/// Returns the largest distance between the images of any point of a box under two affine matrices (3×4 by
/// rows). The difference is an affine map and distance is convex, so the eight corners suffice. Infinite if a
/// matrix is not finite.
pub fn error_over_box(a: &[[f64; 4]; 3], b: &[[f64; 4]; 3], low: [f64; 3], high: [f64; 3]) -> f64 {
    let mut largest = 0.0f64;
    for corner in 0..8 {
        let p: [f64; 3] = std::array::from_fn(|k| if corner >> k & 1 == 0 { low[k] } else { high[k] });
        let mut sum = 0.0;
        for (a, b) in a.iter().zip(b) {
            let d = (a[0] - b[0]) * p[0] + (a[1] - b[1]) * p[1] + (a[2] - b[2]) * p[2] + (a[3] - b[3]);
            sum += d * d;
        }
        if !sum.is_finite() {
            return f64::INFINITY;
        }
        largest = largest.max(sum.sqrt());
    }
    largest
}

/// Returns the first three rows of a matrix of column vectors.
pub fn rows(matrix: &DMat4) -> [[f64; 4]; 3] {
    std::array::from_fn(|r| matrix.row(r).to_array())
}

/// Returns three orthonormal axes near the columns' directions, with the handedness of the columns. Columns
/// without length are completed from the previous rotation, if there is one.
fn orthonormal(columns: [DVec3; 3], previous: Option<&Trs>) -> DMat3 {
    let lengths = columns.map(length);
    let longest = lengths[0].max(lengths[1]).max(lengths[2]);
    let directions: [Option<DVec3>; 3] = std::array::from_fn(|k| {
        // Below this a column is rounding error of the others, and a box scaled by it is flat in f32.
        (lengths[k] > 1e-30 && lengths[k] > 1e-14 * longest).then(|| columns[k] / lengths[k])
    });
    let before = previous.map_or(DMat3::IDENTITY, |p| {
        let r = DMat3::from_quat(p.rotation);
        let s = p.signs();
        DMat3::from_cols(r.x_axis * s.x, r.y_axis * s.y, r.z_axis * s.z)
    });
    match directions {
        [Some(x), Some(y), Some(z)] => {
            let unit = DMat3::from_cols(x, y, z);
            let axes = polar(unit);
            // Squared components of the columns perpendicular to the axes.
            let rest = |axes: &DMat3| -> f64 {
                let side =
                    |k: usize| (columns[k] - axes.col(k) * axes.col(k).dot(columns[k])).length_squared();
                (0..3).map(side).sum()
            };
            // Rounding is not shear.
            let left = rest(&axes);
            match left > 1e-20 * longest * longest {
                true => Some(gram_schmidt(unit)).filter(|other| rest(other) < left).unwrap_or(axes),
                false => axes,
            }
        }
        _ => complete(directions, before),
    }
}

/// Returns the length, without intermediate overflow or underflow.
fn length(v: DVec3) -> f64 {
    let m = v.abs().max_element();
    if m > 0.0 { (v / m).length() * m } else { 0.0 }
}

/// Returns the orthogonal factor of a matrix with unit columns, by Newton's iteration; by Gram–Schmidt if it
/// is nearly singular.
fn polar(columns: DMat3) -> DMat3 {
    if columns.determinant().abs() > 1e-6 {
        let mut m = columns;
        for _ in 0..40 {
            let next = (m + m.inverse().transpose()) * 0.5;
            let change = (next - m).to_cols_array().iter().fold(0f64, |a, v| a.max(v.abs()));
            m = next;
            if change < 1e-15 {
                break;
            }
        }
        // Exactly orthogonal input (most files) must come back unchanged.
        let change = (m - columns).to_cols_array().iter().fold(0f64, |a, v| a.max(v.abs()));
        return if change < 4e-16 { columns } else { m };
    }
    gram_schmidt(columns)
}

/// Returns Gram–Schmidt axes: the first along the first column, the second in the plane of the first two.
fn gram_schmidt(columns: DMat3) -> DMat3 {
    let handed = if columns.determinant() < 0.0 { -1.0 } else { 1.0 };
    let x = columns.x_axis;
    let y = perpendicular(columns.y_axis, x)
        .or_else(|| perpendicular(columns.z_axis, x).map(|z| z.cross(x)))
        .unwrap_or_else(|| x.any_orthonormal_vector());
    DMat3::from_cols(x, y, x.cross(y) * handed)
}

/// Returns the component of `v` perpendicular to the unit vector `axis`, normalized.
fn perpendicular(v: DVec3, axis: DVec3) -> Option<DVec3> {
    let rest = v - axis * v.dot(axis);
    (rest.length() > 1e-9).then(|| rest.normalize())
}

/// Completes missing directions from `before`, with the handedness of `before`.
fn complete(directions: [Option<DVec3>; 3], before: DMat3) -> DMat3 {
    let handed = if before.determinant() < 0.0 { -1.0 } else { 1.0 };
    let old = [before.x_axis, before.y_axis, before.z_axis];
    let Some(k) = (0..3).find(|&k| directions[k].is_some()) else {
        return before;
    };
    let (i, j) = ((k + 1) % 3, (k + 2) % 3);
    let axis = directions[k].unwrap_or(old[k]);
    let mut out = [axis; 3];
    // In cyclic order k, i, j: j = k × i for right-handed axes.
    if let Some(second) = directions[i].and_then(|d| perpendicular(d, axis)) {
        out[i] = second;
        out[j] = axis.cross(second) * handed;
    } else if let Some(third) = directions[j].and_then(|d| perpendicular(d, axis)) {
        out[j] = third;
        out[i] = third.cross(axis) * handed;
    } else {
        let second = perpendicular(old[i], axis)
            .or_else(|| perpendicular(old[j], axis).map(|third| third.cross(axis) * handed))
            .unwrap_or_else(|| axis.any_orthonormal_vector());
        out[i] = second;
        out[j] = axis.cross(second) * handed;
    }
    DMat3::from_cols(out[0], out[1], out[2])
}

/// Returns the signs of the scales, and the remaining rotation: `axes = rotation · diag(signs)`.
fn choose_signs(axes: &DMat3, handed: f64, previous: Option<&Trs>) -> (DVec3, DQuat) {
    let rotation = |s: DVec3| {
        DQuat::from_mat3(&DMat3::from_cols(axes.x_axis * s.x, axes.y_axis * s.y, axes.z_axis * s.z))
            .normalize()
    };
    let Some(previous) = previous else {
        let signs = DVec3::new(handed, 1.0, 1.0);
        return (signs, rotation(signs));
    };
    let kept = previous.signs();
    if kept.x * kept.y * kept.z == handed {
        return (kept, rotation(kept));
    }
    // One axis mirrored, or all three. The order decides ties.
    [DVec3::new(-1.0, 1.0, 1.0), DVec3::new(1.0, -1.0, 1.0), DVec3::new(1.0, 1.0, -1.0), DVec3::NEG_ONE]
        .map(|turn| {
            let signs = kept * turn;
            (signs, rotation(signs))
        })
        .into_iter()
        .reduce(|best, other| {
            let near = |r: DQuat| r.dot(previous.rotation).abs();
            // A difference within rounding does not count.
            if near(other.1) > near(best.1) + 1e-9 { other } else { best }
        })
        .unwrap_or((kept, rotation(kept)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOX: ([f64; 3], [f64; 3]) = ([-1.0; 3], [1.0; 3]);

    fn error(matrix: &DMat4, trs: &Trs) -> f64 {
        error_over_box(&rows(matrix), &rows(&trs.matrix()), BOX.0, BOX.1)
    }

    #[test]
    fn exact_matrices_stay_exact() {
        let trs = decompose(&DMat4::IDENTITY, None).unwrap();
        assert_eq!(trs, Trs::IDENTITY);
        let m = DMat4::from_scale_rotation_translation(
            DVec3::new(2.0, 3.0, 0.5),
            DQuat::IDENTITY,
            DVec3::new(1.0, 2.0, 3.0),
        );
        let trs = decompose(&m, None).unwrap();
        assert_eq!(trs.scale, DVec3::new(2.0, 3.0, 0.5));
        assert_eq!(error(&m, &trs), 0.0);
    }

    #[test]
    fn shear_is_seen() {
        let mut m = DMat4::IDENTITY;
        m.y_axis.x = 0.1;
        let trs = decompose(&m, None).unwrap();
        let e = error(&m, &trs);
        assert!(e > 0.04 && e < 0.15, "{e}");
        m.y_axis.x = 1e-7;
        assert!(error(&m, &decompose(&m, None).unwrap()) < 1e-6);
        // Nearly singular.
        m.y_axis = m.x_axis + glam::DVec4::new(0.0, 1e-12, 0.0, 0.0);
        let trs = decompose(&m, None).unwrap();
        assert!(trs.rotation.is_finite() && error(&m, &trs) > 0.1);
    }

    /// For any shear, Gram–Schmidt axes are not nearer.
    #[test]
    fn strong_shear_gives_the_nearer_axes() {
        let m = DMat4::from_cols_array(&[
            0.615, -1.022, 0.918, 0.0, 1.766, 0.517, -0.863, 0.0, -0.248, -0.048, 0.357, 0.0, 0.0, 0.0, 0.0,
            1.0,
        ]);
        let columns = [m.x_axis, m.y_axis, m.z_axis].map(|c| c.truncate());
        let plain = gram_schmidt(DMat3::from_cols(
            columns[0].normalize(),
            columns[1].normalize(),
            columns[2].normalize(),
        ));
        let rest = |r: DMat3| -> f64 {
            (0..3).map(|k| (columns[k] - r.col(k) * r.col(k).dot(columns[k])).length_squared()).sum()
        };
        let trs = decompose(&m, None).unwrap();
        assert!(rest(DMat3::from_quat(trs.rotation)) <= rest(plain) * (1.0 + 1e-9));
    }

    #[test]
    fn mirrored_spin_keeps_its_axis() {
        let mut previous: Option<Trs> = None;
        for i in 0..200 {
            let m =
                DMat4::from_rotation_z(0.9 * f64::from(i)) * DMat4::from_scale(DVec3::new(1.0, -2.0, 1.0));
            let trs = decompose(&m, previous.as_ref()).unwrap();
            assert!(error(&m, &trs) < 1e-12);
            if let Some(p) = previous {
                assert_eq!(p.signs(), trs.signs());
                assert!(p.rotation.dot(trs.rotation) > 0.85);
            }
            previous = Some(trs);
        }
    }

    #[test]
    fn scale_through_zero_turns_that_axis_over() {
        let q = DQuat::from_euler(glam::EulerRot::XYZ, 0.3, 0.5, 0.7);
        let mut previous: Option<Trs> = None;
        for i in 0..=20 {
            let s = 1.0 - f64::from(i) * 0.1;
            let m = DMat4::from_scale_rotation_translation(DVec3::new(1.0, s, 1.5), q, DVec3::ZERO);
            let trs = decompose(&m, previous.as_ref()).unwrap();
            assert!(error(&m, &trs) < 1e-12);
            assert!((trs.scale - DVec3::new(1.0, s, 1.5)).length() < 1e-12);
            assert!(trs.rotation.dot(q).abs() > 1.0 - 1e-12);
            previous = Some(trs);
        }
    }

    #[test]
    fn zero_scales_keep_the_previous_rotation() {
        let q = DQuat::from_euler(glam::EulerRot::XYZ, 1.0, -0.5, 0.2);
        let full = Trs { rotation: q, translation: DVec3::ONE, scale: DVec3::new(1.0, 2.0, -3.0) };
        for mask in 0..8 {
            let keep = |k: usize, v: f64| if mask >> k & 1 == 1 { v } else { 0.0 };
            let flat = Trs { scale: DVec3::new(keep(0, 1.0), keep(1, 2.0), keep(2, -3.0)), ..full };
            let trs = decompose(&flat.matrix(), Some(&full)).unwrap();
            assert!(error(&flat.matrix(), &trs) < 1e-12, "{mask} {trs:?}");
            assert!(trs.rotation.dot(q) > 1.0 - 1e-12, "{mask} {trs:?}");
            let alone = decompose(&flat.matrix(), None).unwrap();
            assert!(error(&flat.matrix(), &alone) < 1e-12);
        }
    }

    #[test]
    fn extremes() {
        for s in [1e-20, 1e20, 1e-160, 1e150] {
            let m = DMat4::from_scale_rotation_translation(
                DVec3::splat(s),
                DQuat::from_rotation_x(0.4),
                DVec3::ZERO,
            );
            let trs = decompose(&m, None).unwrap();
            assert!(trs.rotation.is_finite() && trs.scale.is_finite());
        }
        let mut m = DMat4::IDENTITY;
        m.x_axis.x = f64::NAN;
        assert_eq!(decompose(&m, None), None);
        assert_eq!(error_over_box(&rows(&m), &rows(&DMat4::IDENTITY), BOX.0, BOX.1), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn what_is_put_together_comes_apart(
            angles in [-3.0f64..3.0, -3.0..3.0, -3.0..3.0],
            scale in [0.01f64..10.0, 0.01..10.0, 0.01..10.0],
            signs in 0u8..8,
            before in [-3.0f64..3.0, -3.0..3.0, -3.0..3.0],
            before_signs in 0u8..8,
        ) {
            let make = |a: [f64; 3], s: [f64; 3], signs: u8| Trs {
                rotation: DQuat::from_euler(glam::EulerRot::XYZ, a[0], a[1], a[2]),
                translation: DVec3::new(5.0, -6.0, 7.0),
                scale: DVec3::from_array(std::array::from_fn(|k| if signs >> k & 1 == 1 { -s[k] } else { s[k] })),
            };
            let m = make(angles, scale, signs).matrix();
            let previous = make(before, [1.0; 3], before_signs);
            for trs in [decompose(&m, None).unwrap(), decompose(&m, Some(&previous)).unwrap()] {
                prop_assert!(error(&m, &trs) < 1e-11);
                prop_assert!((trs.rotation.length() - 1.0).abs() < 1e-12);
            }
            if signs.count_ones() % 2 == before_signs.count_ones() % 2 {
                let kept = decompose(&m, Some(&previous)).unwrap();
                prop_assert_eq!(kept.signs(), previous.signs());
            }
        }
    }
}
