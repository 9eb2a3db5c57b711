//! The data of a mesh as it lies in memory, for callers that compute vertices elsewhere, on a graphics card.
//! Nothing is computed here; [`MeshView`] returns the results.
//!
//! ```text
//! position of a vertex    point[vertex_points] · unit + centre                     in f32, of a frame
//! point that bones move   ⌊Σ weight · matrix · rest⌉ + residual                in f32, then in whole numbers
//! between two frames      a + (b − a) · blend of the positions of both
//! coded points            those of a unit's frames, all from the words of the unit and points of other frames
//! ```

use crate::debug::impl_debug;
use crate::decode::mesh::MeshView;
use crate::reel::fixed_point::{PositionDecoder, affine_handles};
use crate::reel::frame::{FrameData, array};
use crate::reel::layout::{BonesLayout, can_stay_coded};
pub use crate::reel::order::FrameList;
use crate::stream::heap::Memory;
use crate::stream::residency::Stream;
use meshreel_codec::for_width;
use meshreel_codec::mesh::decode::{StaticPart, index};
pub use meshreel_codec::mesh::normals::lists;
use meshreel_codec::mesh::normals::lists::NormalLists;
pub use meshreel_codec::mesh::skin::Matrix;
use meshreel_codec::mesh::skin::packed::{Bounds, PackedTransform};
use meshreel_codec::mesh::skin::{Region, Skin};
pub use meshreel_codec::record;
use meshreel_codec::record::{MeshRecord, Semantic};
use meshreel_codec::transform::Transform;
pub use meshreel_codec::{ByWidth, Points};
pub use meshreel_format as format;

/// The positions of a frame as integers.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FixedPointPositions<'a> {
    /// The number of points.
    pub count: usize,
    /// `true` if they have 32 bits, else 16.
    pub wide: bool,
    /// The positions; the fourth components have no meaning. `None` for points that bones move in a file that
    /// was opened without poses ([`crate::Limits::poses`]).
    pub points: Option<Points<'a>>,
    /// The only coordinate that moves, for a height field.
    pub height_axis: Option<usize>,
    /// The bones that move them.
    pub bones: Option<PointBones<'a>>,
    /// Data for decoding units elsewhere, in a file that was opened without points
    /// ([`crate::Limits::points`]).
    pub coded: Option<CodedPoints<'a>>,
    /// The point of each vertex.
    pub vertex_points: &'a [u32],
    /// The length of one unit; `centre` is the position of the integer 0.
    pub unit: f32,
    /// See `unit`.
    pub centre: [f32; 3],
}

/// The bones of a mesh's points in one frame, in units of its positions.
#[derive(Clone, Copy)]
pub struct PointBones<'a> {
    skin: &'a Skin,
    frame: Option<(FrameData<'a>, BonesLayout)>,
}

impl_debug!("PointBones", PointBones<'_>, |bones| { matrices: bones.matrix_count() });

impl<'a> PointBones<'a> {
    /// Returns the number of matrices: one for each bone, and one for points that do not move.
    #[must_use]
    pub fn matrix_count(&self) -> usize {
        self.skin.rig.bones() + 1
    }

    /// Writes the matrices, four columns each. Panics if `out` is shorter than [`PointBones::matrix_count`].
    pub fn matrices_into(&self, out: &mut [Matrix]) {
        let out = &mut out[..self.matrix_count()];
        let skin = self.skin;
        match &self.frame {
            Some((frame, places)) => {
                let transforms: &[Transform] = array(frame.words, places.transforms);
                skin.matrices(&skin.grid, transforms, affine_handles(skin, frame.words, places.handles), out);
            }
            None => skin.first_matrices(out),
        }
    }

    /// Returns the transforms of the bones as they lie in the file; `None` unless all of them are packed.
    #[must_use]
    pub fn packed(&self) -> Option<PackedBones<'a>> {
        let packed = self.skin.packed.as_ref()?;
        let words = self.frame.as_ref().map(|(frame, places)| array::<u32>(frame.words, places.states));
        (self.skin.bones.affine == 0).then_some(PackedBones {
            words: words.unwrap_or(&[]),
            scale: packed.scale,
            end_bounds: packed.bounds,
            end_transforms: &packed.end_states,
            regions: &self.skin.rig.regions,
        })
    }

    /// Returns the points at rest, by number.
    #[must_use]
    pub fn rest_positions(&self) -> &'a [[f32; 3]] {
        &self.skin.rig.rest
    }

    /// Returns the matrices that move a point and their weights, in the order in which their products are
    /// added; a single matrix is applied without a weight.
    pub fn influences(&self, point: usize) -> impl Iterator<Item = (u32, f32)> + 'a {
        self.skin.rig.matrix_weights(point)
    }

    /// Returns the numbers of the points that have a residual.
    #[must_use]
    pub fn points_with_residual(&self) -> &'a [u32] {
        &self.skin.rig.coded
    }

    /// Returns the residuals, which are added to these points with wrapping arithmetic.
    #[must_use]
    pub fn residuals(&self) -> Option<Points<'a>> {
        let coded = self.skin.residual.as_ref()?;
        Some(match &self.frame {
            Some((frame, places)) => for_width!(coded.first.is_wide(), W => {
                Points::from(array::<[W; 4]>(frame.words, places.residual))
            }),
            None => coded.first.as_points(),
        })
    }
}

/// Packed transforms of parts, see docs/FORMAT/mesh.md.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PackedBones<'a> {
    /// The words of this frame: left and right edge, 16 bits each; low and size of its bounds, six floats;
    /// three words for each part between the edges. Parts left of them are as in `end_transforms`, those
    /// right of them as at rest. Empty for a mesh without a frame.
    pub words: &'a [u32],
    /// The largest scale.
    pub scale: f32,
    /// The box in which the positions of `end_transforms` are quantized.
    pub end_bounds: Bounds,
    /// The transform of each part once it has stopped.
    pub end_transforms: &'a [PackedTransform],
    regions: &'a [Region],
}

impl_debug!("PackedBones", PackedBones<'_>, |bones| { scale: bones.scale, end_bounds: bones.end_bounds });

impl PackedBones<'_> {
    /// Returns the middle of a part at rest. Panics if there is no such part.
    #[must_use]
    pub fn middle(&self, part: usize) -> [f64; 3] {
        self.regions[part].middle
    }
}

/// The data for decoding the units of a mesh elsewhere, as docs/FORMAT/mesh.md defines it.
#[derive(Clone, Copy)]
pub struct CodedPoints<'a> {
    coded: &'a StaticPart,
}

impl_debug!("CodedPoints", CodedPoints<'_>, |points| { levels: points.level_count() });

impl<'a> CodedPoints<'a> {
    /// Returns the number of hierarchy levels, at least one if there are points.
    #[must_use]
    pub fn level_count(&self) -> usize {
        self.coded.hierarchy.level_count()
    }

    /// Returns the points of a hierarchy level. Panics if there is no such level.
    #[must_use]
    pub fn level_points(&self, level: usize) -> std::ops::Range<usize> {
        self.coded.hierarchy.level(level)
    }

    /// Returns the coarser neighbours of a point, and their weights in 1/4096. Panics if there is no such
    /// point.
    #[must_use]
    pub fn neighbours(&self, point: usize) -> ([u32; 4], [i16; 4]) {
        self.coded.weighted_neighbours(point)
    }

    /// Returns the points of frame 0, which is key frame 0.
    #[must_use]
    pub fn first_frame(&self) -> Points<'a> {
        self.coded.first.as_points()
    }
}

/// The units of a file whose points are decoded elsewhere, as far as they are in memory
/// ([`crate::Player::coded_units`]): all that are needed for the frames that its instances show. Their words
/// are defined at [`meshreel_codec::mesh::decode::index`].
#[derive(Clone, Copy)]
pub struct CodedUnits<'a> {
    stream: &'a Stream,
    memory: &'a Memory,
}

impl_debug!("CodedUnits", CodedUnits<'_>, |units| { reel: units.stream.file.reel });

impl<'a> CodedUnits<'a> {
    /// Returns `None` if all points are decoded.
    pub(crate) fn new(stream: &'a Stream, memory: &'a Memory) -> Option<CodedUnits<'a>> {
        stream.file.reel.has_coded_points().then_some(CodedUnits { stream, memory })
    }

    /// Flag beside the number of frames in the words of a unit: the unit has residuals.
    pub const HAS_RESIDUALS: u32 = index::HAS_RESIDUALS;
    /// The number of blocks that share a start.
    pub const BLOCKS_PER_START: usize = index::BLOCKS_PER_START;
    /// The number of words before the heads.
    pub const HEADER_WORDS: usize = index::BEFORE_HEADS;
    /// The number of points of a block; the last block of a level may have fewer.
    pub const BLOCK_POINTS: usize = index::BLOCK;

    /// Returns the unit that has a frame. Panics if there is no such frame.
    #[must_use]
    pub fn unit_of(&self, frame: u32) -> usize {
        self.stream.file.reel.unit_of(frame as usize)
    }

    /// Returns the frames of a unit in the order of their heads. Panics if there is no such unit.
    #[must_use]
    pub fn frames(&self, unit: usize) -> FrameList {
        self.stream.file.reel.unit_frames(unit)
    }

    /// Returns the frames of other units that a unit needs; for a key frame without frame 0. Panics if there
    /// is no such unit.
    #[must_use]
    pub fn dependencies(&self, unit: usize) -> FrameList {
        self.stream.file.reel.unit_dependencies(unit)
    }

    /// Returns the frames that a frame is predicted from, in the order of the coefficients; missing ones are
    /// replaced by the first one, with coefficient 0. `None` for frame 0, which is
    /// [`CodedPoints::first_frame`].
    #[must_use]
    pub fn references(&self, frame: u32) -> Option<[u32; 4]> {
        self.stream.file.reel.order().coded_references(frame)
    }

    /// Appends the words of a unit of a mesh to `out`, and returns whether the unit is in memory. Panics if
    /// there is no such unit or mesh.
    pub fn words_into(&self, unit: usize, mesh: usize, out: &mut Vec<u32>) -> bool {
        let reel = &self.stream.file.reel;
        let Some(place) = reel.layout().meshes[mesh].coded_points else { return false };
        let start = out.len();
        let mut left = 1;
        for (number, &frame) in reel.unit_frames(unit).iter().enumerate() {
            if left == 0 {
                break;
            }
            let block = self.stream.frames[frame as usize].block.filter(|_| self.stream.is_decoded(frame));
            let Some(words) = block.and_then(|block| self.memory.read(block)) else {
                out.truncate(start);
                return false;
            };
            let words: &[u32] = array(&words, place);
            if number == 0 {
                left = words[0] as usize;
            }
            let own = &words[..left.min(words.len())];
            out.extend_from_slice(own);
            left -= own.len();
        }
        true
    }
}

/// The data besides positions from which the predicted normals of a frame are computed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NormalStates<'a> {
    /// Two values per group, then one per vertex if there are tangents.
    pub states: &'a [i16],
    /// Transforms of the rigid bones; empty without any.
    pub transforms: &'a [Transform],
}

/// `true` if points of a mesh stay coded when the file is opened without points ([`crate::Limits::points`]).
#[must_use]
pub fn has_coded_units(mesh: &MeshRecord) -> bool {
    mesh.streams.iter().any(|stream| can_stay_coded(mesh, stream))
}

impl<'a> MeshView<'a> {
    /// Returns the fixed-point positions; `None` if the mesh has none.
    #[must_use]
    pub fn fixed_point_positions(&self) -> Option<FixedPointPositions<'a>> {
        let stream = self.find_stream(Semantic::Position, 0)?;
        let (part, points) = self.fixed_point_part(stream)?;
        let (grid, first) = (part.decoder.grid(), part.decoder.first());
        let bones = match &part.decoder {
            PositionDecoder::Skin(skin) => Some(PointBones { skin, frame: self.bones_frame() }),
            PositionDecoder::Soft(_) => None,
        };
        Some(FixedPointPositions {
            count: part.decoder.points(),
            wide: first.is_wide(),
            points,
            height_axis: part.height_axis,
            bones,
            coded: match &part.decoder {
                PositionDecoder::Soft(coded) if self.has_coded_points() => Some(CodedPoints { coded }),
                _ => None,
            },
            vertex_points: &part.vertex_points,
            unit: grid.unit,
            centre: grid.centre,
        })
    }

    /// Returns the stream of tangent frames or, without one, that of normals.
    #[must_use]
    pub fn direction_stream(&self) -> Option<usize> {
        self.find_stream(Semantic::QTangent, 0).or_else(|| self.find_stream(Semantic::Normal, 0))
    }

    /// Returns the static lists from which normals and tangents are computed in every frame, if they are
    /// predicted. Allocates.
    #[must_use]
    pub fn normal_lists(&self) -> Option<NormalLists> {
        Some(self.predicted_frame(self.direction_stream()?)?.predicted.coded.lists())
    }

    /// Returns the data from which the normals of this frame are computed.
    #[must_use]
    pub fn normal_states(&self) -> Option<NormalStates<'a>> {
        let frame = self.predicted_frame(self.direction_stream()?)?.frame;
        Some(NormalStates { states: frame.state, transforms: frame.transforms })
    }
}
