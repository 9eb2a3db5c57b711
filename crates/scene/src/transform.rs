//! A local transform as its file has it: translation, rotation and scale, or a matrix.
//!
//! Separate components stay separate, since a matrix does not determine them: a scale of (−1, −1, 1) is also
//! a half turn, and the two are interpolated differently from (1, 1, 1).

use glam::{DAffine3, DMat3, DMat4, DQuat, DVec3};

/// A rigid transform with scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Qvv {
    /// Rotation, a unit quaternion.
    pub rotation: DQuat,
    /// Translation in the length unit of the scene.
    pub translation: DVec3,
    /// Scale per axis, applied before the rotation.
    pub scale: DVec3,
}

impl Default for Qvv {
    fn default() -> Self {
        Qvv::IDENTITY
    }
}

impl Qvv {
    /// The identity.
    pub const IDENTITY: Qvv = Qvv { rotation: DQuat::IDENTITY, translation: DVec3::ZERO, scale: DVec3::ONE };

    /// Returns the transform as a matrix: scale, then rotation, then translation.
    pub fn matrix(&self) -> DAffine3 {
        DAffine3::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }
}

/// A local transform at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LocalTransform {
    /// The file has translation, rotation and scale.
    Components(Qvv),
    /// The file has a matrix (column vectors).
    Matrix(DMat4),
}

/// Relative difference below which the scales of all axes count as equal, and off-diagonal elements as zero:
/// far below the precision of f32.
const RELATIVE_TOLERANCE: f64 = 1e-7;

impl LocalTransform {
    /// The identity.
    pub const IDENTITY: LocalTransform = LocalTransform::Components(Qvv::IDENTITY);

    /// Returns the transform as a matrix.
    pub fn matrix(&self) -> DMat4 {
        match self {
            LocalTransform::Components(parts) => parts.matrix().into(),
            LocalTransform::Matrix(matrix) => *matrix,
        }
    }

    /// Returns the product of this transform and a child's: as components if both have them and the product
    /// needs no shear, else as a matrix.
    pub fn compose(&self, below: &LocalTransform) -> LocalTransform {
        match (self, below) {
            (_, below) if *self == LocalTransform::IDENTITY => *below,
            (above, _) if *below == LocalTransform::IDENTITY => *above,
            (LocalTransform::Components(a), LocalTransform::Components(b)) => product(a, b).map_or_else(
                || LocalTransform::Matrix(self.matrix() * below.matrix()),
                LocalTransform::Components,
            ),
            _ => LocalTransform::Matrix(self.matrix() * below.matrix()),
        }
    }
}

impl From<DMat4> for LocalTransform {
    fn from(matrix: DMat4) -> LocalTransform {
        LocalTransform::Matrix(matrix)
    }
}

impl From<Qvv> for LocalTransform {
    fn from(parts: Qvv) -> LocalTransform {
        LocalTransform::Components(parts)
    }
}

/// Returns `T·R·S · t·r·s` as one such transform if it is one: `S·r` must be a rotation times a scale again.
///
/// ```text
/// S = k·D, D of signs alone:   S·r = (D·r·D) · S
/// r⁻¹·S·r diagonal:            S·r = r · (r⁻¹·S·r)        r turns nothing, or axes onto axes
/// ```
fn product(a: &Qvv, b: &Qvv) -> Option<Qvv> {
    let translation = a.translation + a.rotation * (a.scale * b.translation);
    let sizes = a.scale.abs();
    let (rotation, scale) =
        if sizes.max_element() - sizes.min_element() <= RELATIVE_TOLERANCE * sizes.max_element() {
            let signs = DVec3::from_array(a.scale.to_array().map(|s| if s < 0.0 { -1.0 } else { 1.0 }));
            let [x, y, z] = (signs * signs.element_product()).to_array();
            let [i, j, k, w] = b.rotation.to_array();
            (DQuat::from_xyzw(x * i, y * j, z * k, w), a.scale)
        } else {
            let turn = DMat3::from_quat(b.rotation);
            let turned = turn.transpose() * DMat3::from_diagonal(a.scale) * turn;
            let diagonal = DVec3::new(turned.x_axis.x, turned.y_axis.y, turned.z_axis.z);
            let beside = turned - DMat3::from_diagonal(diagonal);
            let most = beside.to_cols_array().into_iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            if most > RELATIVE_TOLERANCE * sizes.max_element() {
                return None;
            }
            (b.rotation, diagonal)
        };
    Some(Qvv { rotation: (a.rotation * rotation).normalize(), translation, scale: scale * b.scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_stay_apart_where_they_need_no_shear() {
        let parts = |scale: [f64; 3], rotation: DQuat| {
            let translation = DVec3::new(1.0, -2.0, 3.0);
            LocalTransform::Components(Qvv { rotation, translation, scale: DVec3::from_array(scale) })
        };
        let turn = DQuat::from_euler(glam::EulerRot::XYZ, 0.4, -1.1, 2.0);
        let quarter = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
        for (above, below, apart) in [
            (parts([2.0, 2.0, 2.0], turn), parts([1.0, 3.0, -1.0], turn), true),
            (parts([-2.0, 2.0, 2.0], turn), parts([1.0, 3.0, 1.0], turn), true),
            (parts([-2.0, -2.0, 2.0], turn), parts([1.0, 3.0, 1.0], turn), true),
            (parts([-2.0, -2.0, -2.0], turn), parts([1.0, 3.0, 1.0], turn), true),
            (parts([1.0, 2.0, 3.0], turn), parts([1.0, -3.0, 1.0], DQuat::IDENTITY), true),
            (parts([1.0, 2.0, 3.0], turn), parts([1.0, 3.0, 1.0], quarter), true),
            (parts([0.0, 0.0, 0.0], turn), parts([1.0, 3.0, 1.0], turn), true),
            (parts([1.0, 2.0, 3.0], turn), parts([1.0, 1.0, 1.0], turn), false),
            (parts([1.0, 1.0, 1.0], turn), DMat4::from_rotation_x(1.0).into(), false),
        ] {
            let product = above.compose(&below);
            let right = above.matrix() * below.matrix();
            assert!(product.matrix().abs_diff_eq(right, 1e-12), "{above:?} {below:?}");
            assert_eq!(matches!(product, LocalTransform::Components(_)), apart, "{above:?} {below:?}");
        }
    }
}
