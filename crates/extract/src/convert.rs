//! Converts values of the runtime, which are f32, to the f64 types of sources and comparisons.

use glam::{DAffine3, DMat4, DQuat, DVec3};
use meshreel::view::BoneMatrix;
use meshreel::{Reel, Transform};
use meshreel_scene::{Error, LengthUnit, Lens, Qvv};

/// Converts a point or direction.
pub fn vector(v: [f32; 3]) -> DVec3 {
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
pub fn matrix(rows: &BoneMatrix) -> DMat4 {
    affine(&rows.map(|row| row.map(f64::from)))
}

/// Converts the three rows of an affine matrix to one of the scene.
pub fn affine(rows: &[[f64; 4]; 3]) -> DMat4 {
    let [x, y, z] = *rows;
    DMat4::from_cols_array_2d(&[x, y, z, [0.0, 0.0, 0.0, 1.0]]).transpose()
}

/// Converts the lens of a camera.
pub fn lens(lens: &meshreel::Lens) -> Lens {
    let pair = |[a, b]: [f32; 2]| [f64::from(a), f64::from(b)];
    Lens {
        focal_length: lens.focal_length.into(),
        aperture: pair(lens.aperture),
        aperture_offset: pair(lens.aperture_offset),
        squeeze: lens.squeeze.into(),
        overscan: lens.overscan.map(f64::from),
        f_stop: lens.f_stop.into(),
        focus_distance: lens.focus_distance.into(),
        shutter: pair(lens.shutter),
        clipping: pair(lens.clipping),
        orthographic: lens.orthographic,
    }
}

/// Converts an error of the runtime to one of the scene; both have the same five classes.
pub fn error(error: meshreel::Error) -> Error {
    use meshreel::Error as R;
    match error {
        R::Io { path, source, .. } => Error::Io { path, source },
        R::Malformed { path, what, at } => Error::Malformed { path, what, at },
        R::Unsupported { path, what } => Error::Unsupported { path, what },
        R::Limit { path, what, asked, allowed } => Error::Limit { path, what, asked, allowed },
        R::Misuse { what } => Error::Misuse { what },
        other => Error::Misuse { what: other.to_string() },
    }
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
pub fn object_space(
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

/// Returns the distance between neighbouring f32 values around `x`; subnormal ones count as zero.
pub fn ulp(x: f64) -> f64 {
    let least = f64::from(f32::MIN_POSITIVE);
    (x.abs().max(least).log2().floor() - 23.0).exp2().max(least)
}
