//! The bones of a mesh that parts or bones move, for callers that pose it themselves.

use crate::debug::impl_debug;
use crate::reel::fixed_point::{FixedPointStream, PositionDecoder, affine_handles};
use crate::reel::frame::{FrameData, array};
use crate::reel::layout::BonesLayout;
use meshreel_codec::mesh::skin::{Matrix, Skin};
use meshreel_codec::mesh::tables::LAYERS;
use meshreel_codec::quantize::lattice::FixedPointGrid;
use meshreel_codec::transform::Transform;

/// The bones of one mesh in one frame: the position of a point is its rest position, moved by its bones, in
/// the mesh's space. Positions from the decoder are also rounded to the fixed-point positions of the stream,
/// and corrected if the point has a residual.
#[derive(Clone, Copy)]
#[must_use]
pub struct BonesView<'a> {
    pub(crate) skin: &'a Skin,
    pub(crate) vertex_points: &'a [u32],
    frame: Option<(FrameData<'a>, BonesLayout)>,
}

impl_debug!("BonesView", BonesView<'_>, |bones| { count: bones.count() });

/// The rows of a 3 × 4 matrix from rest positions to a frame.
pub type BoneMatrix = [[f32; 4]; 3];

impl<'a> BonesView<'a> {
    /// Returns the bones of a stream with these parts; `None` if no bones move it.
    pub(crate) fn new(
        parts: &'a [FixedPointStream],
        frame: Option<(FrameData<'a>, BonesLayout)>,
    ) -> Option<BonesView<'a>> {
        let part = parts.first()?;
        match &part.decoder {
            PositionDecoder::Skin(skin) => {
                Some(BonesView { skin, vertex_points: &part.vertex_points, frame })
            }
            PositionDecoder::Soft(_) => None,
        }
    }

    /// Returns the number of bones. The first [`BonesView::rigid_count`] are rigid (rotation, translation,
    /// scale); the others are affine.
    #[must_use]
    pub fn count(&self) -> usize {
        self.skin.rig.bones()
    }

    /// Returns the number of rigid bones.
    #[must_use]
    pub fn rigid_count(&self) -> usize {
        self.skin.bones.rigid as usize
    }

    /// Returns the number of points, each of one vertex or several, that have a residual because bones alone
    /// exceed the tolerance.
    #[must_use]
    pub fn points_with_residual(&self) -> usize {
        self.skin.rig.coded.len()
    }

    /// Returns for each vertex whether it has such a residual. Allocates.
    #[must_use]
    pub fn vertices_with_residual(&self) -> Vec<bool> {
        let mut points = vec![false; self.skin.rig.rest.len()];
        for &point in &self.skin.rig.coded {
            points[point as usize] = true;
        }
        self.vertex_points.iter().map(|&p| points[p as usize]).collect()
    }

    /// Returns the distance of each vertex from where bones alone would put it, in the mesh's space; `None`
    /// without a frame. Allocates.
    #[must_use]
    pub fn residuals(&self) -> Option<Vec<f32>> {
        let (frame, places) = &self.frame?;
        let length = |r: [f32; 3]| (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
        let narrow = |r: &[i16; 4]| length([r[0].into(), r[1].into(), r[2].into()]);
        let wide = |r: &[i32; 4]| length([r[0] as f32, r[1] as f32, r[2] as f32]);
        let lengths: Vec<f32> = match places.residual.value_bytes {
            8 => array(frame.words, places.residual).iter().map(narrow).collect(),
            _ => array(frame.words, places.residual).iter().map(wide).collect(),
        };
        let mut points = vec![0.0; self.skin.rig.rest.len()];
        for (&point, length) in self.skin.rig.coded.iter().zip(lengths) {
            points[point as usize] = length * self.skin.grid.unit;
        }
        Some(self.vertex_points.iter().map(|&p| points[p as usize]).collect())
    }

    /// Returns the position of a vertex at rest. Panics if there is no such vertex.
    #[must_use]
    pub fn rest_position(&self, vertex: usize) -> [f32; 3] {
        self.skin.rig.rest[self.vertex_points[vertex] as usize]
    }

    /// Returns the bones of a vertex and their weights, whose sum is 1; a vertex without any does not move.
    /// Panics if there is no such vertex.
    pub fn influences(&self, vertex: usize) -> impl Iterator<Item = (usize, f32)> + 'a {
        self.skin.rig.influences(self.vertex_points[vertex] as usize)
    }

    /// Returns the matrices of all bones, one after the other. Allocates.
    #[must_use]
    pub fn matrices(&self) -> Vec<BoneMatrix> {
        let grid = FixedPointGrid { unit: 1.0, centre: [0.0; 3], steps: [1; LAYERS] };
        let mut out = vec![Matrix::default(); self.count() + 1];
        match &self.frame {
            None => {
                let transforms = vec![Transform::IDENTITY; self.rigid_count()];
                (self.skin).matrices(&grid, &transforms, self.skin.first_handles(), &mut out);
            }
            Some((frame, places)) => {
                let transforms: &[Transform] = array(frame.words, places.transforms);
                let handles = affine_handles(self.skin, frame.words, places.handles);
                self.skin.matrices(&grid, transforms, handles, &mut out);
            }
        }
        out.pop();
        let rows = |m: &Matrix| [0, 1, 2].map(|r| [m[0][r], m[1][r], m[2][r], m[3][r]]);
        out.iter().map(rows).collect()
    }
}
