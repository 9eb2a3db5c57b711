//! Converts values of the runtime, which are f32, to the f64 types of sources and comparisons.

use glam::{DAffine3, DMat4, DQuat, DVec3};
use meshreel::view::BoneMatrix;
use meshreel::{Reel, Transform};
use meshreel_scene::{LengthUnit, Qvv};

/// Converts a point or direction.
pub(crate) fn vector(v: [f32; 3]) -> DVec3 {
    DVec3::from_array(v.map(f64::from))
}

/// Converts a transform and normalizes its rotation; the identity if the rotation has no length.
pub fn qvv(t: &Transform) -> Qvv {
    let rotation = DQuat::from_array(t.rotation.map(f64::from));
    let is_none = !(rotation.length_squared() > 0.0 && rotation.is_finite());
    Qvv {
        rotation: if is_none { DQuat::IDENTITY } else { rotation.normalize() },
        translation: vector(t.translation),
        scale: vector(t.scale),
    }
}

/// Converts a matrix of the runtime, given by rows, to one of the scene.
pub(crate) fn matrix(rows: &BoneMatrix) -> DMat4 {
    affine(&rows.map(|row| row.map(f64::from)))
}

/// Converts the three rows of an affine matrix to one of the scene.
pub(crate) fn affine(rows: &[[f64; 4]; 3]) -> DMat4 {
    let [x, y, z] = *rows;
    DMat4::from_cols_array_2d(&[x, y, z, [0.0, 0.0, 0.0, 1.0]]).transpose()
}

/// Returns the length unit of a file, if it has one.
pub fn unit(reel: &Reel) -> Option<LengthUnit> {
    match reel.description().unit {
        1 => Some(LengthUnit::Metre),
        2 => Some(LengthUnit::Centimetre),
        3 => Some(LengthUnit::Millimetre),
        4 => Some(LengthUnit::Inch),
        _ => None,
    }
}

/// Returns the matrix of one joint in object space: the product of its chain. A root is its own parent, or
/// its parent index is not below its own. Panics if there is no such joint.
pub fn joint_matrix(parents: &[u32], joint: usize, local: impl Fn(usize) -> Qvv) -> DAffine3 {
    let mut matrix = local(joint).matrix();
    let mut at = joint;
    while (parents[at] as usize) < at {
        at = parents[at] as usize;
        matrix = local(at).matrix() * matrix;
    }
    matrix
}

/// Returns the matrices of all joints in object space, from their local transforms. Parents come before
/// children.
pub(crate) fn object_space(
    parents: impl Iterator<Item = Option<usize>>,
    local: impl Iterator<Item = Qvv>,
    out: &mut Vec<DAffine3>,
) {
    out.clear();
    for (parent, local) in parents.zip(local) {
        let parent = parent.map_or(DAffine3::IDENTITY, |p| out[p]);
        out.push(parent * local.matrix());
    }
}
