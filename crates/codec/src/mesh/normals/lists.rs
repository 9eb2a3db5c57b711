//! The static part of normals and tangents as plain lists, for computing them elsewhere, on a graphics card.
//! The corners are those that the kernels read in blocks of sixteen, in the same order.
//!
//! ```text
//! group     unit(Σ over its corners): mesh/normals/fans.rs, mesh/normals/surface.rs; or rotated by a bone: mesh/normals/turned.rs
//! class     unit(Σ over the points or corners around it, minus its part along the normal): mesh/normals/tangents.rs
//! ```

pub use crate::mesh::normals::fans::NormalWeights;
pub use crate::mesh::normals::roots::{ARC, LARGEST, ROUGH_ARC, ROUGH_ROOT, SMALLEST};
pub use crate::simd::lanes::HALF_EXPONENT;

/// The items of all lists, one list after the other, and the end of each.
#[derive(Debug, Clone, PartialEq)]
pub struct JaggedArray<T> {
    /// The end of each list within `items`.
    pub end_offsets: Vec<u32>,
    /// The items of all lists.
    pub items: Vec<T>,
}

impl<T> Default for JaggedArray<T> {
    fn default() -> Self {
        JaggedArray { end_offsets: Vec::new(), items: Vec::new() }
    }
}

impl<T> JaggedArray<T> {
    /// Concatenates lists.
    pub(super) fn new(lists: impl Iterator<Item = Vec<T>>) -> JaggedArray<T> {
        let mut out = JaggedArray::default();
        for mut list in lists {
            out.items.append(&mut list);
            out.end_offsets.push(out.items.len() as u32);
        }
        out
    }

    /// Returns a list. Panics if there is no such list.
    pub fn list(&self, list: usize) -> &[T] {
        let start = if list == 0 { 0 } else { self.end_offsets[list - 1] };
        &self.items[start as usize..self.end_offsets[list] as usize]
    }
}

/// Vectors that bones turn, used instead of sums.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnedList {
    /// The bone of each vector; the number of bones if none turns it.
    pub bones: Vec<u32>,
    /// The unit vectors at rest.
    pub at_rest: Vec<[f32; 3]>,
}

/// The source of the tangents of classes.
#[derive(Debug, Clone, PartialEq)]
pub enum TangentSums {
    /// Per class, the points around it and their static factors: Σ c · (q − p).
    Constant(JaggedArray<(u32, f32)>),
    /// Per class, its corners: the points after and before it, and the factors of the vectors to them.
    Projected(JaggedArray<([u32; 2], [f32; 2])>),
    /// Tangents at rest, turned by bones.
    Turned(TurnedList),
}

/// The tangents of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct TangentLists {
    /// The class of each vertex.
    pub class: Vec<u32>,
    /// The group of each class.
    pub group: Vec<u32>,
    /// The point of each class.
    pub point: Vec<u32>,
    /// The sign of each vertex's bitangent.
    pub signs: Vec<f32>,
    /// The source of each class's tangent.
    pub sums: TangentSums,
    /// With projected corners: the static sums that replace them for classes with very many corners.
    pub long: JaggedArray<(u32, f32)>,
}

/// The normals of a mesh, and its tangents if it has any. Points are numbered as in a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct NormalLists {
    /// The weights of polygons in the sums of normals.
    pub weights: NormalWeights,
    /// `true` if predicted normals are negated.
    pub negated: bool,
    /// The steps of states and of turns, in radians.
    pub steps: [f32; 2],
    /// The group of each vertex.
    pub group: Vec<u32>,
    /// Per group, its corners in triangles and quads: the point itself and those after, across and before it;
    /// in a triangle, the point across is the one after.
    pub corners: JaggedArray<[u32; 4]>,
    /// Per group, its corners in larger polygons: the number of the polygon, and of the corner in it.
    pub large_corners: JaggedArray<[u32; 2]>,
    /// The points of each larger polygon.
    pub polygons: JaggedArray<u32>,
    /// Per group, its point, and another one that gives its frame a direction.
    pub anchors: Vec<[u32; 2]>,
    /// The normals at rest, if bones turn them; all lists of corners are then empty.
    pub turned: Option<TurnedList>,
    /// The tangents, if the mesh has any.
    pub tangents: Option<TangentLists>,
}
