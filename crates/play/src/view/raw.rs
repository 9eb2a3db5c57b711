//! What a mesh is made of, as it lies in memory: for those who put vertices together elsewhere, on a graphics
//! card. Nothing here is computed; see [`MeshView`] for what comes of it.
//!
//! ```text
//! position of a vertex    point[of_vertex] · unit + centre                     in f32, of a frame
//! between two frames      a + (b − a) · blend of the positions of both
//! ```

use crate::decode::mesh::MeshView;
use meshreel_codec::each_width;
pub use meshreel_codec::mesh::normals::lists;
use meshreel_codec::mesh::normals::lists::NormalLists;
use meshreel_codec::record::Semantic;
use meshreel_codec::transform::Transform;
pub use meshreel_codec::{ByWidth, Points};

/// Positions of a frame in whole numbers.
#[derive(Clone, Copy, Debug)]
pub struct FixedPointPositions<'a> {
    /// Per point; the fourth number means nothing.
    pub points: Points<'a>,
    /// The point of each vertex.
    pub of_vertex: &'a [u32],
    /// Length of one, and where zero is.
    pub unit: f32,
    /// See `unit`.
    pub centre: [f32; 3],
}

impl FixedPointPositions<'_> {
    /// Number of points.
    pub fn point_count(&self) -> usize {
        each_width!(self.points, points => points.len())
    }
}

/// What predicted normals of a frame are made of besides positions.
#[derive(Clone, Copy, Debug)]
pub struct NormalStates<'a> {
    /// Two numbers per group, then one per vertex where there are tangents.
    pub states: &'a [i16],
    /// Of the rigid bones; empty without any.
    pub transforms: &'a [Transform],
}

impl<'a> MeshView<'a> {
    /// Positions in whole numbers, where the mesh has such: of bones what these make of it.
    pub fn fixed_point_positions(&self) -> Option<FixedPointPositions<'a>> {
        let stream = self.find(Semantic::Position, 0)?;
        let (part, points) = self.fixed_point_part(stream)?;
        let grid = part.coded.grid();
        Some(FixedPointPositions { points, of_vertex: &part.places, unit: grid.unit, centre: grid.centre })
    }

    /// The stream of tangent frames, or that of normals.
    pub fn direction_stream(&self) -> Option<usize> {
        self.find(Semantic::QTangent, 0).or_else(|| self.find(Semantic::Normal, 0))
    }

    /// What normals and tangents are made of in every frame, where they are predicted. Allocates.
    pub fn normal_lists(&self) -> Option<NormalLists> {
        Some(self.predicted(self.direction_stream()?)?.predicted.coded.lists())
    }

    /// What they are made of in this one.
    pub fn normal_states(&self) -> Option<NormalStates<'a>> {
        let frame = self.predicted(self.direction_stream()?)?.frame;
        Some(NormalStates { states: frame.state, transforms: frame.transforms })
    }
}
