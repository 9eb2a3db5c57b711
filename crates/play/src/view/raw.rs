//! What a mesh is made of, as it lies in memory: for those who put vertices together elsewhere, on a graphics
//! card. Nothing here is computed; see [`MeshView`] for what comes of it.
//!
//! ```text
//! position of a vertex    point[of_vertex] · unit + centre                     in f32, of a frame
//! point that bones move   ⌊Σ weight · matrix · rest⌉ + residual                in f32, then in whole numbers
//! between two frames      a + (b − a) · blend of the positions of both
//! ```

use crate::decode::mesh::MeshView;
use crate::reel::fixed_point::{Coded, handles_in};
use crate::reel::frame::{Frame, part};
use crate::reel::layout::BonesLayout;
use meshreel_codec::for_width;
pub use meshreel_codec::mesh::normals::lists;
use meshreel_codec::mesh::normals::lists::NormalLists;
pub use meshreel_codec::mesh::skin::Matrix;
use meshreel_codec::mesh::skin::Skin;
use meshreel_codec::record::Semantic;
use meshreel_codec::transform::Transform;
pub use meshreel_codec::{ByWidth, Points};

/// Positions of a frame in whole numbers.
#[derive(Clone, Copy)]
pub struct FixedPointPositions<'a> {
    /// Number of points.
    pub count: usize,
    /// They are of 32 bits, not of 16.
    pub wide: bool,
    /// Where they are; the fourth numbers mean nothing. None of points that bones move in a file that was opened
    /// without poses ([`crate::Limits::poses`]).
    pub points: Option<Points<'a>>,
    /// The only coordinate that moves, of a height field.
    pub height_axis: Option<usize>,
    /// The bones that put them there.
    pub bones: Option<PointBones<'a>>,
    /// The point of each vertex.
    pub of_vertex: &'a [u32],
    /// Length of one, and where zero is.
    pub unit: f32,
    /// See `unit`.
    pub centre: [f32; 3],
}

/// Bones of the points of a mesh in one frame, in units of its positions.
#[derive(Clone, Copy)]
pub struct PointBones<'a> {
    skin: &'a Skin,
    frame: Option<(Frame<'a>, BonesLayout)>,
}

impl<'a> PointBones<'a> {
    /// Number of matrices: that of each bone, and one of what does not move.
    pub fn matrices(&self) -> usize {
        self.skin.rig.bones() + 1
    }

    /// Writes the matrices, four columns each. Panics where there is no room for [`PointBones::matrices`].
    pub fn matrices_into(&self, out: &mut [Matrix]) {
        let out = &mut out[..self.matrices()];
        let skin = self.skin;
        match &self.frame {
            Some((frame, places)) => {
                let transforms: &[Transform] = part(frame.words, places.transforms);
                skin.matrices(&skin.grid, transforms, handles_in(skin, frame.words, places.handles), out);
            }
            None => skin.first_matrices(out),
        }
    }

    /// Points at rest, by number.
    pub fn rest(&self) -> &'a [[f32; 3]] {
        &self.skin.rig.rest
    }

    /// Matrices that move a point, in the order in which their products with the weights are added; one alone is
    /// taken as it is.
    pub fn influences(&self, point: usize) -> impl Iterator<Item = (u32, f32)> + 'a {
        self.skin.rig.pulls(point)
    }

    /// Points that have a residual, by number.
    pub fn with_residual(&self) -> &'a [u32] {
        &self.skin.rig.coded
    }

    /// Their residuals: what is added to them, with a sum that wraps.
    pub fn residuals(&self) -> Option<Points<'a>> {
        let coded = self.skin.residual.as_ref()?;
        Some(match &self.frame {
            Some((frame, places)) => for_width!(coded.first.is_wide(), W => {
                Points::from(part::<[W; 4]>(frame.words, places.residual))
            }),
            None => coded.first.lent(),
        })
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
    /// Positions in whole numbers, where the mesh has such.
    pub fn fixed_point_positions(&self) -> Option<FixedPointPositions<'a>> {
        let stream = self.find(Semantic::Position, 0)?;
        let (part, points) = self.fixed_point_part(stream)?;
        let (grid, first) = (part.coded.grid(), part.coded.first());
        let bones = match &part.coded {
            Coded::Skin(skin) => Some(PointBones { skin, frame: self.bones_frame() }),
            Coded::Soft(_) => None,
        };
        Some(FixedPointPositions {
            count: part.coded.points(),
            wide: first.is_wide(),
            points,
            height_axis: part.flat.as_ref().map(|flat| flat.axis),
            bones,
            of_vertex: &part.places,
            unit: grid.unit,
            centre: grid.centre,
        })
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
