//! Streams of the soft codec: the data that is derived from their static part when a file is loaded, and
//! access to their values in a decoded frame.

use crate::reel::frame::part;
use crate::reel::layout::Place;
use meshreel_codec::mesh::decode::{First, Static};
use meshreel_codec::mesh::height::Flat;
use meshreel_codec::mesh::skin::{Handles, Skin};
use meshreel_codec::quantize::lattice::Grid;
use meshreel_codec::{Points, each_width, for_width};
use std::ops::Range;
use std::sync::Arc;

/// The number of vertices that are processed at a time.
pub(crate) const BLOCK: usize = 128;

/// Up to four components of up to [`BLOCK`] vertices.
pub(crate) type Block = [[f32; BLOCK]; 4];

/// The decoder of a stream of fixed-point positions: of points that move freely, or of points that bones
/// move.
pub(crate) enum Coded {
    Soft(Box<Static>),
    Skin(Box<Skin>),
}

impl Coded {
    pub fn grid(&self) -> &Grid {
        match self {
            Coded::Soft(s) => &s.grid,
            Coded::Skin(s) => &s.grid,
        }
    }

    /// Returns the positions of the first frame.
    pub fn first(&self) -> &First {
        match self {
            Coded::Soft(s) => &s.first,
            Coded::Skin(s) => &s.first,
        }
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        match self {
            Coded::Soft(s) => s.points(),
            Coded::Skin(s) => s.rig.rest.len(),
        }
    }
}

/// A stream, or one half of it (colours are stored as rgb and alpha).
pub(crate) struct FixedPoint {
    pub coded: Coded,
    /// The two coordinates that do not move, for a height field.
    pub flat: Option<Flat>,
    /// The point of each vertex, as an index in the order of the hierarchy or of the bones.
    pub places: Arc<Vec<u32>>,
}

/// Writes the first `components` values of each vertex as floats. `of_frame` is a frame's buffer and the
/// place of the stream in it; without one, the first frame is written.
pub(crate) fn positions_into(
    parts: &[FixedPoint],
    of_frame: Option<(&[u64], Place)>,
    components: usize,
    out: &mut [f32],
) {
    for (i, part) in parts.iter().enumerate() {
        let Some(out) = out.get_mut(3 * i..) else {
            return;
        };
        let (grid, places) = (part.coded.grid(), &part.places[..]);
        let shape = [components, (components - 3 * i).min(3)];
        each_width!(part.of(i, of_frame), found => grid.positions(found, places, shape, out));
    }
}

/// Writes the positions of a range of vertices, as one plane per component.
pub(crate) fn planes_into(
    parts: &[FixedPoint],
    of_frame: Option<(&[u64], Place)>,
    vertices: Range<usize>,
    out: &mut Block,
) {
    for (i, part) in parts.iter().enumerate() {
        let planes = &mut out[3 * i..];
        let places = part.places.get(vertices.clone()).unwrap_or(&[]);
        each_width!(part.of(i, of_frame), found => part.coded.grid().planes(found, places, planes));
    }
}

/// Returns the smallest and the largest value that a stream can have; `None` for wide positions, whose range
/// is of no use.
pub(crate) fn range(parts: &[FixedPoint]) -> Option<[[f32; 3]; 2]> {
    let part = parts.first()?;
    let ends = [i32::from(i16::MIN), i32::from(i16::MAX)];
    let narrow = !part.coded.first().is_wide();
    narrow.then(|| ends.map(|end| part.coded.grid().position([end; 3])))
}

impl FixedPoint {
    /// Returns part `i` of its stream, in a frame or in the first one.
    pub fn of<'a>(&'a self, i: usize, of_frame: Option<(&'a [u64], Place)>) -> Points<'a> {
        let points = self.coded.points();
        let range = i * points..(i + 1) * points;
        let first = self.coded.first();
        match of_frame {
            // A layout without poses has no positions.
            Some((words, place)) if range.end <= place.len => for_width!(first.is_wide(), W => {
                Points::from(&part::<[W; 4]>(words, place)[range])
            }),
            _ => first.lent(),
        }
    }
}

/// Returns the handles of affine bones in a frame's buffer.
pub(crate) fn handles_in<'a>(skin: &Skin, words: &'a [u64], place: Place) -> Handles<'a> {
    let there = skin.bones.affine > 0;
    there.then(|| for_width!(skin.bones.wide, W => Points::from(part::<[W; 4]>(words, place))))
}
