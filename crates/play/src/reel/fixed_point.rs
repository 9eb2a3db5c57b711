//! Streams of the soft codec: the data that is derived from their static part when a file is loaded, and
//! access to their values in a decoded frame.

use crate::reel::frame::array;
use crate::reel::layout::ArrayLayout;
use meshreel_codec::mesh::decode::{FirstFrame, StaticPart};
use meshreel_codec::mesh::skin::{Handles, Skin};
use meshreel_codec::quantize::lattice::FixedPointGrid;
use meshreel_codec::{Points, each_width, for_width};
use std::ops::Range;
use std::sync::Arc;

/// The number of vertices that are processed at a time.
pub(crate) const BLOCK_VERTICES: usize = 128;

/// Up to four components of up to [`BLOCK_VERTICES`] vertices.
pub(crate) type VertexBlock = [[f32; BLOCK_VERTICES]; 4];

/// The decoder of a stream of fixed-point positions: of points that move freely, or of points that bones
/// move.
pub(crate) enum PositionDecoder {
    Soft(Box<StaticPart>),
    Skin(Box<Skin>),
}

impl PositionDecoder {
    pub fn grid(&self) -> &FixedPointGrid {
        match self {
            PositionDecoder::Soft(s) => &s.grid,
            PositionDecoder::Skin(s) => &s.grid,
        }
    }

    /// Returns the positions of the first frame.
    pub fn first(&self) -> &FirstFrame {
        match self {
            PositionDecoder::Soft(s) => &s.first,
            PositionDecoder::Skin(s) => &s.first,
        }
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        match self {
            PositionDecoder::Soft(s) => s.points(),
            PositionDecoder::Skin(s) => s.rig.rest.len(),
        }
    }
}

/// A stream, or one half of it (colours are stored as rgb and alpha).
pub(crate) struct FixedPointStream {
    pub decoder: PositionDecoder,
    /// The coordinate that is coded, for a height field; the others are those of frame 0.
    pub height_axis: Option<usize>,
    /// The point of each vertex, as an index in the order of the hierarchy or of the bones.
    pub vertex_points: Arc<Vec<u32>>,
}

/// Writes the first `components` values of each vertex as floats. `of_frame` is a frame's buffer and the
/// place of the stream in it; without one, the first frame is written.
pub(crate) fn positions_into(
    parts: &[FixedPointStream],
    of_frame: Option<(&[u64], ArrayLayout)>,
    components: usize,
    out: &mut [f32],
) {
    for (i, part) in parts.iter().enumerate() {
        let Some(out) = out.get_mut(3 * i..) else {
            return;
        };
        let (grid, places) = (part.decoder.grid(), &part.vertex_points[..]);
        let shape = [components, (components - 3 * i).min(3)];
        each_width!(part.part_positions(i, of_frame), found => grid.write_positions(found, places, shape, out));
    }
}

/// Writes the positions of a range of vertices, as one plane per component.
pub(crate) fn planes_into(
    parts: &[FixedPointStream],
    of_frame: Option<(&[u64], ArrayLayout)>,
    vertices: Range<usize>,
    out: &mut VertexBlock,
) {
    for (i, part) in parts.iter().enumerate() {
        let planes = &mut out[3 * i..];
        let places = part.vertex_points.get(vertices.clone()).unwrap_or(&[]);
        each_width!(part.part_positions(i, of_frame), found => part.decoder.grid().write_position_planes(found, places, planes));
    }
}

/// Returns the smallest and the largest value that a stream can have; `None` for wide positions, whose range
/// is of no use.
pub(crate) fn value_range(parts: &[FixedPointStream]) -> Option<[[f32; 3]; 2]> {
    let part = parts.first()?;
    let ends = [i32::from(i16::MIN), i32::from(i16::MAX)];
    let narrow = !part.decoder.first().is_wide();
    narrow.then(|| ends.map(|end| part.decoder.grid().position([end; 3])))
}

impl FixedPointStream {
    /// Returns part `i` of its stream, in a frame or in the first one.
    pub fn part_positions<'a>(&'a self, i: usize, of_frame: Option<(&'a [u64], ArrayLayout)>) -> Points<'a> {
        let points = self.decoder.points();
        let range = i * points..(i + 1) * points;
        let first = self.decoder.first();
        match of_frame {
            // A layout without poses has no positions.
            Some((words, place)) if range.end <= place.len => for_width!(first.is_wide(), W => {
                Points::from(&array::<[W; 4]>(words, place)[range])
            }),
            _ => first.as_points(),
        }
    }
}

/// Returns the handles of affine bones in a frame's buffer.
pub(crate) fn affine_handles<'a>(skin: &Skin, words: &'a [u64], place: ArrayLayout) -> Handles<'a> {
    let there = skin.bones.affine > 0;
    there.then(|| for_width!(skin.bones.wide, W => Points::from(array::<[W; 4]>(words, place))))
}
