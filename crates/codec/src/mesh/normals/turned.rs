//! Normals and tangents of rigid parts: those of the pose at rest, turned as bones turn. No polygon is looked
//! at in a frame. Error bound: that of the states, which are measured against this.
//!
//! ```text
//! at rest    the points of frame 0, as far as bones and the static part say them: its normals, from the polygons and the base (states of the
//!            base are zero from then on), and tangents of its classes, before they are turned as the base says
//! bone       of a group, that of the point of its first vertex; of a point, the one that pulls most, the first of these; none: it stays
//! rotation   of a bone with the quaternion q of the frame: (x, y, z, w) = q · (1 / √(x² + y² + z² + w²)), none where that is no direction
//!            c₀ = (1 − 2(y² + z²), 2(xy + wz), 2(xz − wy))   c₁ = (2(xy − wz), 1 − 2(x² + z²), 2(yz + wx))
//!            c₂ = (2(xz + wy), 2(yz − wx), 1 − 2(x² + y²))
//! group      n = unit(c₀ · x + c₁ · y + c₂ · z), (x, y, z) that at rest; then the state of the frame
//! class      t = c₀ · x + c₁ · y + c₂ · z; then unit(t less its part along the normal), and the turn
//! ```
//!
//! Between frames rotations lie on the straight line between their quaternions, the second one's sign so that
//! both lie on one side.

use crate::mesh::normals::gather::sixteen;
use crate::mesh::normals::lists::TurnedList;
use crate::mesh::normals::roots::inverse_length;
use crate::simd::lanes::{BLOCK, BlockRow, Number, Part, Vector, plus, times};
use crate::transform::Transform;

/// The bone that turns each point of a mesh.
#[derive(Debug, Clone, Copy)]
pub struct Rest<'a> {
    /// Per point; [`Rest::rigid`] where it does not move.
    pub bones: &'a [u32],
    /// Number of bones.
    pub rigid: u32,
}

/// Unit vectors at rest and the bones that turn them: of groups, and of classes of tangents.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::mesh) struct Turned {
    groups: Vec<Block>,
    classes: Vec<Block>,
    rigid: usize,
}

/// Sixteen vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Block {
    at_rest: [[f32; BLOCK]; 3],
    /// Number of the first column of each one's rotation.
    columns: BlockRow,
    /// All have the same one.
    alike: bool,
}

impl Block {
    fn list(at_rest: &[[f32; 4]], bones: &[u32]) -> Vec<Block> {
        let of = |first: usize| {
            let vectors = sixteen(at_rest, first, [0.0; 4]);
            // What only fills a block has the bone of its last item.
            let fill = bones[bones.len() - 1];
            let columns = sixteen(bones, first, fill).map(|bone| 3 * bone);
            Block {
                at_rest: [0, 1, 2].map(|k| vectors.map(|v| v[k])),
                columns,
                alike: columns == [columns[0]; BLOCK],
            }
        };
        (0..bones.len()).step_by(BLOCK).map(of).collect()
    }

    /// So many of the vectors of all blocks, and their bones.
    fn all(blocks: &[Block], count: usize) -> TurnedList {
        let each = blocks.iter().flat_map(|block| (0..BLOCK).map(move |l| (block, l))).take(count);
        TurnedList {
            bones: each.clone().map(|(block, l)| block.columns[l] / 3).collect(),
            at_rest: each.map(|(block, l)| [0, 1, 2].map(|k| block.at_rest[k][l])).collect(),
        }
    }

    /// A part of it as the rotations of a frame turn it.
    #[inline(always)]
    fn turn<L: Part>(&self, part: usize, columns: &[[f32; 4]]) -> Vector<L> {
        let [x, y, z] = [
            L::load(&self.at_rest[0], part),
            L::load(&self.at_rest[1], part),
            L::load(&self.at_rest[2], part),
        ];
        let [a, b, c] = match self.alike {
            true => {
                let first = self.columns[0] as usize;
                [splat(&columns[first]), splat(&columns[first + 1]), splat(&columns[first + 2])]
            }
            false => [
                L::vectors(columns, &self.columns, part),
                L::vectors(columns, &next(&self.columns, 1), part),
                L::vectors(columns, &next(&self.columns, 2), part),
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
fn next(row: &BlockRow, by: u32) -> BlockRow {
    let mut out = *row;
    for out in &mut out {
        *out += by;
    }
    out
}

impl Turned {
    /// `normals` and `tangents` at rest; the bone of each group, and the group of each class.
    pub fn new(
        normals: &[[f32; 4]],
        tangents: &[[f32; 4]],
        bones: &[u32],
        groups: &[u32],
        rigid: u32,
    ) -> Turned {
        let of_classes: Vec<u32> = groups.iter().map(|&g| bones[g as usize]).collect();
        let groups = Block::list(normals, bones);
        let classes = Block::list(tangents, &of_classes);
        Turned { groups, classes, rigid: rigid as usize }
    }

    /// Columns of all rotations, and of none.
    pub fn columns(&self) -> usize {
        3 * (self.rigid + 1)
    }

    /// Writes the rotations of a moment: of a frame, or on the way to the next one. Bones that `transforms` do
    /// not have do not turn.
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
                q = between(q, of(next, bone), t);
            }
            *columns = rotation(q);
        }
    }

    /// What is turned of groups.
    pub(super) fn group_list(&self, count: usize) -> TurnedList {
        Block::all(&self.groups, count)
    }

    /// What is turned of classes.
    pub(super) fn class_list(&self, count: usize) -> TurnedList {
        Block::all(&self.classes, count)
    }

    /// Normals of a part of a block of groups, not normalised.
    #[inline(always)]
    pub fn group<L: Part>(&self, block: usize, part: usize, columns: &[[f32; 4]]) -> Vector<L> {
        self.groups[block].turn(part, columns)
    }

    /// Tangents of a part of a block of classes, not normalised.
    #[inline(always)]
    pub fn class<L: Part>(&self, block: usize, part: usize, columns: &[[f32; 4]]) -> Vector<L> {
        self.classes[block].turn(part, columns)
    }
}

fn between(a: [f32; 4], b: [f32; 4], t: f32) -> [f32; 4] {
    if t >= 1.0 {
        return b;
    }
    let dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    let side = if dot < 0.0 { -1.0 } else { 1.0 };
    [0, 1, 2, 3].map(|k| a[k] + (b[k] * side - a[k]) * t)
}

/// Columns of a rotation.
pub(super) fn rotation(q: [f32; 4]) -> [[f32; 4]; 3] {
    let scale = inverse_length(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    // Zero turns nothing.
    let [x, y, z, w] = if scale > 0.0 { q.map(|v| v * scale) } else { [0.0; 4] };
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y), 0.0],
        [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x), 0.0],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y), 0.0],
    ]
}
