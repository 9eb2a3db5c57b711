//! Bones of a mesh that parts or bones move, for those who want to move it themselves.

use crate::reel::fixed_point::{Coded, FixedPoint, handles_in};
use crate::reel::frame::{Frame, part};
use crate::reel::layout::BonesLayout;
use meshreel_codec::mesh::skin::{Matrix, Skin};
use meshreel_codec::mesh::tables::LAYERS;
use meshreel_codec::quantize::lattice::Grid;
use meshreel_codec::transform::Transform;

/// Bones of one mesh in one frame: a point is where its bones take its rest position, in the mesh's space.
/// What the decoder gives is rounded to the fixed-point positions of the stream besides, and corrected where a point has a
/// residual.
#[derive(Clone, Copy)]
pub struct BonesView<'a> {
    pub(crate) skin: &'a Skin,
    pub(crate) places: &'a [u32],
    frame: Option<(Frame<'a>, BonesLayout)>,
}

/// Rows of a 3 × 4 matrix that takes rest positions to a frame.
pub type BoneMatrix = [[f32; 4]; 3];

impl<'a> BonesView<'a> {
    /// The bones of a stream with these parts, if bones move it.
    pub(crate) fn new(
        parts: &'a [FixedPoint],
        frame: Option<(Frame<'a>, BonesLayout)>,
    ) -> Option<BonesView<'a>> {
        let part = parts.first()?;
        match &part.coded {
            Coded::Skin(skin) => Some(BonesView { skin, places: &part.places, frame }),
            Coded::Soft(_) => None,
        }
    }

    /// Number of bones. The first [`BonesView::rigid`] turn, shift and scale; others may do anything that a
    /// matrix does.
    pub fn count(&self) -> usize {
        self.skin.rig.bones()
    }

    /// Number of rigid bones.
    pub fn rigid(&self) -> usize {
        self.skin.bones.rigid as usize
    }

    /// Points, each of one vertex or several, that bones alone do not bring near enough.
    pub fn points_with_residual(&self) -> usize {
        self.skin.rig.coded.len()
    }

    /// By vertex whether it has such a residual. Allocates.
    pub fn with_residual(&self) -> Vec<bool> {
        let mut points = vec![false; self.skin.rig.rest.len()];
        for &point in &self.skin.rig.coded {
            points[point as usize] = true;
        }
        self.places.iter().map(|&p| points[p as usize]).collect()
    }

    /// How far each vertex is from where bones alone would put it, in the mesh's space; none without a frame.
    /// Allocates.
    pub fn residuals(&self) -> Option<Vec<f32>> {
        let (frame, places) = &self.frame?;
        let length = |r: [f32; 3]| (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
        let narrow = |r: &[i16; 4]| length([r[0].into(), r[1].into(), r[2].into()]);
        let wide = |r: &[i32; 4]| length([r[0] as f32, r[1] as f32, r[2] as f32]);
        let lengths: Vec<f32> = match places.residual.size {
            8 => part(frame.words, places.residual).iter().map(narrow).collect(),
            _ => part(frame.words, places.residual).iter().map(wide).collect(),
        };
        let mut points = vec![0.0; self.skin.rig.rest.len()];
        for (&point, length) in self.skin.rig.coded.iter().zip(lengths) {
            points[point as usize] = length * self.skin.grid.unit;
        }
        Some(self.places.iter().map(|&p| points[p as usize]).collect())
    }

    /// The position of a vertex at rest. Panics where there is no such vertex.
    pub fn rest(&self, vertex: usize) -> [f32; 3] {
        self.skin.rig.rest[self.places[vertex] as usize]
    }

    /// Bones of a vertex and their weights, with a sum of 1; none: it does not move. Panics where there is no
    /// such vertex.
    pub fn influences(&self, vertex: usize) -> impl Iterator<Item = (usize, f32)> + 'a {
        self.skin.rig.influences(self.places[vertex] as usize)
    }

    /// Matrices of all bones, one after the other. Allocates.
    pub fn matrices(&self) -> Vec<BoneMatrix> {
        let grid = Grid { unit: 1.0, centre: [0.0; 3], steps: [1; LAYERS] };
        let mut out = vec![Matrix::default(); self.count() + 1];
        match &self.frame {
            None => {
                let transforms = vec![Transform::IDENTITY; self.rigid()];
                (self.skin).matrices(&grid, &transforms, self.skin.first_handles(), &mut out);
            }
            Some((frame, places)) => {
                let transforms: &[Transform] = part(frame.words, places.transforms);
                let handles = handles_in(self.skin, frame.words, places.handles);
                self.skin.matrices(&grid, transforms, handles, &mut out);
            }
        }
        out.pop();
        let rows = |m: &Matrix| [0, 1, 2].map(|r| [m[0][r], m[1][r], m[2][r], m[3][r]]);
        out.iter().map(rows).collect()
    }
}
