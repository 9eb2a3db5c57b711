//! What the normals and tangents of a mesh are made of, as plain lists: for those who make them elsewhere, on a
//! graphics card. The same corners that the kernels read in blocks of sixteen, in the same order.
//!
//! ```text
//! group     unit(Σ over its corners): mesh/normals/fans.rs, mesh/normals/surface.rs; or turned by a bone: mesh/normals/turned.rs
//! class     unit(Σ over what is around it, less its part along the normal): mesh/normals/tangents.rs
//! ```

pub use crate::mesh::normals::fans::Weights;
pub use crate::mesh::normals::roots::{ARC, LARGEST, ROUGH_ARC, ROUGH_ROOT, SMALLEST};
pub use crate::simd::lanes::HALF_EXPONENT;

/// Items of all lists, one list after the other, and where each ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended<T> {
    /// Per list.
    pub ends: Vec<u32>,
    /// All items.
    pub items: Vec<T>,
}

impl<T> Default for Ended<T> {
    fn default() -> Self {
        Ended { ends: Vec::new(), items: Vec::new() }
    }
}

impl<T> Ended<T> {
    /// Lists in turn.
    pub(super) fn new(lists: impl Iterator<Item = Vec<T>>) -> Ended<T> {
        let mut out = Ended::default();
        for mut list in lists {
            out.items.append(&mut list);
            out.ends.push(out.items.len() as u32);
        }
        out
    }

    /// A list. Panics where there is no such list.
    pub fn of(&self, list: usize) -> &[T] {
        let start = if list == 0 { 0 } else { self.ends[list - 1] };
        &self.items[start as usize..self.ends[list] as usize]
    }
}

/// What is turned by bones, where nothing is summed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnedList {
    /// The bone of each; the number of bones where none turns it.
    pub bones: Vec<u32>,
    /// Unit vectors at rest.
    pub at_rest: Vec<[f32; 3]>,
}

/// Where the tangents of classes come from.
#[derive(Debug, Clone, PartialEq)]
pub enum TangentSums {
    /// Per class the points around it and their static factors: Σ c · (q − p).
    Still(Ended<(u32, f32)>),
    /// Per class its corners: points after and before it, and the factors of the vectors to these.
    Projected(Ended<([u32; 2], [f32; 2])>),
    /// Turned by bones.
    Turned(TurnedList),
}

/// Tangents of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct TangentLists {
    /// Class of each vertex.
    pub class: Vec<u32>,
    /// Group of each class.
    pub group: Vec<u32>,
    /// Point of each class.
    pub point: Vec<u32>,
    /// Per vertex the sign of its bitangent.
    pub signs: Vec<f32>,
    /// What each class is made of.
    pub sums: TangentSums,
    /// Where corners are summed: of classes with very many the static sum takes their place.
    pub long: Ended<(u32, f32)>,
}

/// Normals of a mesh, and tangents where it has them. Points are numbered as in a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct NormalLists {
    /// How much a polygon adds.
    pub weights: Weights,
    /// Predicted normals look the other way.
    pub negated: bool,
    /// Steps of states and of turns, radians.
    pub steps: [f32; 2],
    /// Group of each vertex.
    pub group: Vec<u32>,
    /// Per group its corners in triangles and quads: the point itself and those after, across and before it; in a
    /// triangle the one across is the one after.
    pub corners: Ended<[u32; 4]>,
    /// Per group its corners in larger polygons: number of the polygon, and of the corner in it.
    pub large_corners: Ended<[u32; 2]>,
    /// Points of each larger polygon.
    pub polygons: Ended<u32>,
    /// Per group its point, and another one that gives its frame a direction.
    pub anchors: Vec<[u32; 2]>,
    /// Where bones turn normals: instead of all corners.
    pub turned: Option<TurnedList>,
    /// Tangents.
    pub tangents: Option<TangentLists>,
}
