//! Normals and tangents of rigid parts: those of the pose at rest, rotated by the bones. Frames need no
//! polygons. Error bound: that of the states, which are measured against this.
//!
//! ```text
//! at rest    the points of frame 0 of the static data: its normals, from the polygons and the base (states of the base are zero
//!            after that), and the tangents of its classes, before the turns of the base
//! bone       of a group, that of the point of its first vertex; of a point, the one with the largest weight, the first of equals; without a bone it stays
//! rotation   of a bone with the quaternion q of the frame: (x, y, z, w) = q · (1 / √(x² + y² + z² + w²)), zero if q has no direction
//!            c₀ = (1 − 2(y² + z²), 2(xy + wz), 2(xz − wy))   c₁ = (2(xy − wz), 1 − 2(x² + z²), 2(yz + wx))
//!            c₂ = (2(xz + wy), 2(yz − wx), 1 − 2(x² + y²))
//! group      n = unit(c₀ · x + c₁ · y + c₂ · z), (x, y, z) the normal at rest; then the state of the frame
//! class      t = c₀ · x + c₁ · y + c₂ · z; then unit(t minus its part along the normal), and the turn
//! ```
//!
//! Between frames, rotations are on the straight line between their quaternions, the second negated if the
//! two have a negative product.

use crate::mesh::normals::gather::padded_block;
use crate::mesh::normals::lists::TurnedList;
use crate::mesh::normals::roots::inverse_length;
use crate::simd::lanes::{BLOCK, BlockRow, Number, Part, Vector, plus, times};
use crate::transform::Transform;

/// The bone that turns each point of a mesh.
#[derive(Debug, Clone, Copy)]
pub struct PointBones<'a> {
    /// The bone of each point; [`PointBones::rigid`] if the point does not move.
    pub bones: &'a [u32],
    /// The number of bones.
    pub rigid: u32,
}

/// The unit vectors at rest of groups and of classes of tangents, with the bones that turn them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::mesh) struct TurnedVectors {
    groups: Vec<TurnedBlock>,
    classes: Vec<TurnedBlock>,
    rigid: usize,
}

/// Sixteen vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TurnedBlock {
    at_rest: [[f32; BLOCK]; 3],
    /// The number of the first column of each vector's rotation.
    columns: BlockRow,
    /// `true` if all have the same rotation.
    same_rotation: bool,
}

impl TurnedBlock {
    fn from_vectors(at_rest: &[[f32; 4]], bones: &[u32]) -> Vec<TurnedBlock> {
        let of = |first: usize| {
            let vectors = padded_block(at_rest, first, [0.0; 4]);
            // The padding of a block has the bone of the last item.
            let fill = bones[bones.len() - 1];
            let columns = padded_block(bones, first, fill).map(|bone| 3 * bone);
            TurnedBlock {
                at_rest: [0, 1, 2].map(|k| vectors.map(|v| v[k])),
                columns,
                same_rotation: columns == [columns[0]; BLOCK],
            }
        };
        (0..bones.len()).step_by(BLOCK).map(of).collect()
    }

    /// Returns the first `count` vectors of all blocks, and their bones.
    fn to_list(blocks: &[TurnedBlock], count: usize) -> TurnedList {
        let each = blocks.iter().flat_map(|block| (0..BLOCK).map(move |l| (block, l))).take(count);
        TurnedList {
            bones: each.clone().map(|(block, l)| block.columns[l] / 3).collect(),
            at_rest: each.map(|(block, l)| [0, 1, 2].map(|k| block.at_rest[k][l])).collect(),
        }
    }

    /// Rotates a part of the block by the rotations of a frame.
    #[inline(always)]
    fn turn<L: Part>(&self, part: usize, columns: &[[f32; 4]]) -> Vector<L> {
        let [x, y, z] = [
            L::load(&self.at_rest[0], part),
            L::load(&self.at_rest[1], part),
            L::load(&self.at_rest[2], part),
        ];
        let [a, b, c] = match self.same_rotation {
            true => {
                let first = self.columns[0] as usize;
                [splat(&columns[first]), splat(&columns[first + 1]), splat(&columns[first + 2])]
            }
            false => [
                L::vectors(columns, &self.columns, part),
                L::vectors(columns, &add_to_row(&self.columns, 1), part),
                L::vectors(columns, &add_to_row(&self.columns, 2), part),
            ],
        };
        plus(plus(times(a, x), times(b, y)), times(c, z))
    }
}

#[inline(always)]
fn splat<L: Number>(v: &[f32; 4]) -> Vector<L> {
    [L::splat(v[0]), L::splat(v[1]), L::splat(v[2])]
}

#[inline(always)]
fn add_to_row(row: &BlockRow, by: u32) -> BlockRow {
    let mut out = *row;
    for out in &mut out {
        *out += by;
    }
    out
}

impl TurnedVectors {
    /// Takes `normals` and `tangents` at rest, the bone of each group, and the group of each class.
    pub fn new(
        normals: &[[f32; 4]],
        tangents: &[[f32; 4]],
        bones: &[u32],
        groups: &[u32],
        rigid: u32,
    ) -> TurnedVectors {
        let of_classes: Vec<u32> = groups.iter().map(|&g| bones[g as usize]).collect();
        let groups = TurnedBlock::from_vectors(normals, bones);
        let classes = TurnedBlock::from_vectors(tangents, &of_classes);
        TurnedVectors { groups, classes, rigid: rigid as usize }
    }

    /// Returns the number of columns of all rotations, with the identity.
    pub fn columns(&self) -> usize {
        3 * (self.rigid + 1)
    }

    /// Writes the rotations of a frame, or of a moment on the way to the next one. Bones beyond `transforms`
    /// do not turn.
    pub fn write_columns(
        &self,
        transforms: &[Transform],
        next: Option<(&[Transform], f32)>,
        out: &mut [[f32; 4]],
    ) {
        let none = Transform::IDENTITY.rotation;
        let of = |list: &[Transform], bone: usize| list.get(bone).map_or(none, |t| t.rotation);
        let (columns, _) = out[..self.columns()].as_chunks_mut::<3>();
        for (bone, columns) in columns.iter_mut().enumerate() {
            let mut q = of(transforms, bone);
            if let Some((next, t)) = next {
                q = interpolate_rotations(q, of(next, bone), t);
            }
            *columns = rotation(q);
        }
    }

    /// Returns the vectors of groups at rest and their bones.
    pub(super) fn group_list(&self, count: usize) -> TurnedList {
        TurnedBlock::to_list(&self.groups, count)
    }

    /// Returns the vectors of classes at rest and their bones.
    pub(super) fn class_list(&self, count: usize) -> TurnedList {
        TurnedBlock::to_list(&self.classes, count)
    }

    /// Returns the normals of a part of a block of groups, not normalized.
    #[inline(always)]
    pub fn group<L: Part>(&self, block: usize, part: usize, columns: &[[f32; 4]]) -> Vector<L> {
        self.groups[block].turn(part, columns)
    }

    /// Returns the tangents of a part of a block of classes, not normalized.
    #[inline(always)]
    pub fn class<L: Part>(&self, block: usize, part: usize, columns: &[[f32; 4]]) -> Vector<L> {
        self.classes[block].turn(part, columns)
    }
}

fn interpolate_rotations(a: [f32; 4], b: [f32; 4], t: f32) -> [f32; 4] {
    if t >= 1.0 {
        return b;
    }
    let dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    let side = if dot < 0.0 { -1.0 } else { 1.0 };
    [0, 1, 2, 3].map(|k| a[k] + (b[k] * side - a[k]) * t)
}

/// Returns the columns of a rotation.
pub(super) fn rotation(q: [f32; 4]) -> [[f32; 4]; 3] {
    let scale = inverse_length(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    // A quaternion without direction turns nothing.
    let [x, y, z, w] = if scale > 0.0 { q.map(|v| v * scale) } else { [0.0; 4] };
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y), 0.0],
        [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x), 0.0],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y), 0.0],
    ]
}
