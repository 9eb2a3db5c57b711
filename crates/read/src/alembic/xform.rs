//! Xform: turns a list of operations with animated numbers into one matrix per sample.

use super::channel::{self, ArchiveObject, f64s, numbers, read_bytes};
use super::core::{PropertyHeader, PropertyKind};
use glam::{DMat4, DVec3};
use meshreel_scene::{Channel, Error, Transform};

/// The kind of an operation, the upper four bits of its code. The lower four are hints for Maya (pivots,
/// shear) that do not change the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpKind {
    Scale,
    Translate,
    /// Axis, then angle in degrees.
    Rotate,
    Matrix,
    RotateX,
    RotateY,
    RotateZ,
}

impl OpKind {
    fn from_code(code: u8) -> Option<OpKind> {
        use OpKind::*;
        let kinds = [Scale, Translate, Rotate, Matrix, RotateX, RotateY, RotateZ];
        kinds.get(usize::from(code >> 4)).copied()
    }

    /// Returns how many numbers the operation takes.
    fn width(self) -> usize {
        match self {
            OpKind::Scale | OpKind::Translate => 3,
            OpKind::Rotate => 4,
            OpKind::Matrix => 16,
            OpKind::RotateX | OpKind::RotateY | OpKind::RotateZ => 1,
        }
    }

    /// Returns the column-vector matrix; `v` has `width` numbers.
    fn matrix(self, v: &[f64]) -> DMat4 {
        let turn = |axis: DVec3, degrees: f64| match axis.try_normalize() {
            Some(axis) => DMat4::from_axis_angle(axis, degrees.to_radians()),
            None => DMat4::IDENTITY,
        };
        match (self, v) {
            (OpKind::Scale, &[x, y, z]) => DMat4::from_mat3(glam::DMat3::from_diagonal(DVec3::new(x, y, z))),
            (OpKind::Translate, &[x, y, z]) => DMat4::from_translation(DVec3::new(x, y, z)),
            (OpKind::Rotate, &[x, y, z, degrees]) => turn(DVec3::new(x, y, z), degrees),
            (OpKind::RotateX, &[degrees]) => turn(DVec3::X, degrees),
            (OpKind::RotateY, &[degrees]) => turn(DVec3::Y, degrees),
            (OpKind::RotateZ, &[degrees]) => turn(DVec3::Z, degrees),
            // The rows of a row-vector matrix are the columns of a column-vector matrix.
            (OpKind::Matrix, v) => v.first_chunk().map_or(DMat4::IDENTITY, DMat4::from_cols_array),
            _ => DMat4::IDENTITY,
        }
    }
}

/// Returns the local matrix; the last operation is applied to points first.
fn local_matrix(ops: &[OpKind], mut values: &[f64]) -> DMat4 {
    if let [OpKind::Matrix] = ops {
        return OpKind::Matrix.matrix(values);
    }
    let mut matrix = DMat4::IDENTITY;
    for op in ops {
        let Some((own, rest)) = values.split_at_checked(op.width()) else {
            break;
        };
        matrix *= op.matrix(own);
        values = rest;
    }
    matrix
}

/// The reason why a transform is replaced by the identity.
pub type TransformFault = &'static str;

/// Reads the transform in the compound with `properties`; `None` if it is always the identity.
pub fn read(
    object: &ArchiveObject,
    properties: &[PropertyHeader],
) -> Result<(Option<Transform>, Option<TransformFault>), Error> {
    let named = |name: &str| {
        properties.iter().find(|p| p.name == name && p.kind != PropertyKind::Compound && p.samples > 0)
    };
    let inherits = named(".inherits")
        .filter(|p| channel::size_of(p.pod) == Some(1))
        .map(|p| object.channel(p, numbers(|[b]| b != 0)));
    let (matrix, fault) = match (named(".ops"), named(".vals")) {
        (Some(ops), Some(values)) => match matrix(object, ops, values)? {
            Ok(matrix) => (Some(matrix), None),
            Err(fault) => (None, Some(fault)),
        },
        (Some(ops), None) if ops.extent > 0 && object.archive.size(ops.id, 0)? > 0 => {
            (None, Some("its operations have no values"))
        }
        _ => (None, None),
    };
    let transform = match (matrix, inherits) {
        (None, None) => None,
        (matrix, inherits) => Some(Transform {
            local: matrix.unwrap_or_else(|| Channel::constant(vec![DMat4::IDENTITY])).into(),
            inherits,
        }),
    };
    Ok((transform, fault))
}

fn matrix(
    object: &ArchiveObject,
    ops: &PropertyHeader,
    values: &PropertyHeader,
) -> Result<Result<Channel<DMat4>, TransformFault>, Error> {
    if channel::size_of(ops.pod) != Some(1) {
        return Ok(Err("its operations are not bytes"));
    }
    let ops: Option<Vec<OpKind>> = read_bytes(&*object.archive, ops.id, 0, |codes| {
        codes.iter().map(|&code| OpKind::from_code(code)).collect()
    })?;
    let Some(ops) = ops else {
        return Ok(Err("it has an operation of unknown kind"));
    };
    let width: usize = ops.iter().map(|op| op.width()).sum();
    let Some(size) = channel::size_of(values.pod) else {
        return Ok(Err("its values are not numbers"));
    };
    if object.archive.size(values.id, 0)? / size < width {
        return Ok(Err("it has fewer values than its operations need"));
    }
    let pod = values.pod;
    let decode = move |bytes: &[u8], out: &mut Vec<DMat4>| {
        // Nearly all transforms are one matrix or fit into this capacity.
        let mut few = Vec::with_capacity(16);
        f64s(pod, bytes, &mut few);
        out.push(local_matrix(&ops, &few));
    };
    Ok(Ok(object.channel(values, Box::new(decode))))
}

/// Returns the number of samples of the schema: by definition that of `.inherits`, or that of `.vals` if it
/// is larger or `.inherits` is missing.
pub fn samples(properties: &[PropertyHeader]) -> usize {
    let of = |name: &str| properties.iter().find(|p| p.name == name).map(|p| p.samples);
    of(".inherits").max(of(".vals")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_operation_acts_first() {
        let ops = [OpKind::from_code(0x10).unwrap(), OpKind::from_code(0x02).unwrap()];
        assert_eq!(ops, [OpKind::Translate, OpKind::Scale]);
        let m = local_matrix(&ops, &[1.0, 2.0, 3.0, 2.0, 2.0, 2.0]);
        assert_eq!(m.transform_point3(DVec3::ONE), DVec3::new(3.0, 4.0, 5.0), "scaled, then moved");
    }

    #[test]
    fn rotations_are_in_degrees_and_agree() {
        let by_axis = OpKind::Rotate.matrix(&[0.0, 0.0, 5.0, 90.0]);
        let about_z = OpKind::RotateZ.matrix(&[90.0]);
        assert!(by_axis.abs_diff_eq(about_z, 1e-15));
        assert!((about_z.transform_point3(DVec3::X) - DVec3::Y).length() < 1e-15);
        assert_eq!(OpKind::Rotate.matrix(&[0.0, 0.0, 0.0, 90.0]), DMat4::IDENTITY);
    }

    #[test]
    fn matrices_hold_their_translation_last() {
        let mut values = [0.0; 16];
        for i in [0, 5, 10, 15] {
            values[i] = 1.0;
        }
        values[12..15].copy_from_slice(&[7.0, 8.0, 9.0]);
        let m = local_matrix(&[OpKind::Matrix], &values);
        assert_eq!(m, DMat4::from_translation(DVec3::new(7.0, 8.0, 9.0)));
        assert_eq!(local_matrix(&[OpKind::Matrix], &values[..3]), DMat4::IDENTITY);
        assert!(OpKind::from_code(0x70).is_none());
    }
}
