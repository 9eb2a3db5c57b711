//! Streams of the soft codec: what is made of their static part when a file is loaded, and the frames of a
//! unit.

use crate::frame::{part, part_mut};
use crate::interpolate::Block;
use crate::layout::{BonesLayout, Place};
use crate::nodes;
use crate::order::Order;
use crate::unit::{Decoded, take};
use bytemuck::Pod;
use meshreel_codec::height::Flat;
use meshreel_codec::skin::{Handles, Matrix, Skin};
use meshreel_codec::soft::decode::{self, First, Static, Width};
use meshreel_codec::soft::lattice::Grid;
use meshreel_codec::soft::schedule::UNIT_FRAMES;
use meshreel_codec::transform::Transform;
use meshreel_codec::{Corrupt, take_sized};
use std::ops::Range;
use std::sync::Arc;

/// What decodes cells.
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

    /// The first frame.
    pub fn first(&self) -> &First {
        match self {
            Coded::Soft(s) => &s.first,
            Coded::Skin(s) => &s.first,
        }
    }

    fn points(&self) -> usize {
        match self {
            Coded::Soft(s) => s.points(),
            Coded::Skin(s) => s.rig.rest.len(),
        }
    }
}

/// A stream, or one half of it (colours are kept as rgb and alpha).
pub(crate) struct Cells {
    pub coded: Coded,
    /// What takes the place of all but heights.
    pub flat: Option<Flat>,
    /// Where a vertex is among the cells: those lie in the order of levels of detail, or of bones.
    pub places: Arc<Vec<u32>>,
}

/// Writes the first `components` numbers of each vertex, as floats. `of_frame`: the buffer of a frame and
/// where the stream's cells are in it; without one, the first frame.
pub(crate) fn positions_into(
    parts: &[Cells],
    of_frame: Option<(&[u64], Place)>,
    components: usize,
    out: &mut [f32],
) {
    for (i, cells) in parts.iter().enumerate() {
        let Some(out) = out.get_mut(3 * i..) else {
            return;
        };
        let (grid, places) = (cells.coded.grid(), &cells.places[..]);
        let shape = [components, (components - 3 * i).min(3)];
        match cells.of(i, of_frame) {
            Found::Narrow(found) => grid.positions(found, places, shape, out),
            Found::Wide(found) => grid.positions(found, places, shape, out),
        }
    }
}

/// The same of some vertices, in planes.
pub(crate) fn planes_into(
    parts: &[Cells],
    of_frame: Option<(&[u64], Place)>,
    vertices: Range<usize>,
    out: &mut Block,
) {
    for (i, cells) in parts.iter().enumerate() {
        let planes = &mut out[3 * i..];
        let places = cells.places.get(vertices.clone()).unwrap_or(&[]);
        match cells.of(i, of_frame) {
            Found::Narrow(found) => cells.coded.grid().planes(found, places, planes),
            Found::Wide(found) => cells.coded.grid().planes(found, places, planes),
        }
    }
}

/// The smallest and the largest value that a stream can have; none for wide cells, whose range says nothing.
pub(crate) fn range(parts: &[Cells]) -> Option<[[f32; 3]; 2]> {
    let cells = parts.first()?;
    let ends = [i32::from(i16::MIN), i32::from(i16::MAX)];
    match cells.coded.first() {
        First::Narrow(_) => Some(ends.map(|end| cells.coded.grid().position([end; 3]))),
        First::Wide(_) => None,
    }
}

/// Cells of a stream, or of one half of it, in one frame.
enum Found<'a> {
    Narrow(&'a [[i16; 4]]),
    Wide(&'a [[i32; 4]]),
}

impl Cells {
    /// Part number `i` of its stream, in a frame or in the first.
    fn of<'a>(&'a self, i: usize, of_frame: Option<(&'a [u64], Place)>) -> Found<'a> {
        let points = self.coded.points();
        let range = i * points..(i + 1) * points;
        match (of_frame, self.coded.first()) {
            (Some((words, place)), First::Narrow(_)) => Found::Narrow(&part(words, place)[range]),
            (Some((words, place)), First::Wide(_)) => Found::Wide(&part(words, place)[range]),
            (None, First::Narrow(first)) => Found::Narrow(first),
            (None, First::Wide(first)) => Found::Wide(first),
        }
    }
}

/// Where the frames of a unit of a stream go.
pub(crate) struct Unit<'a> {
    pub order: &'a Order,
    pub unit: usize,
    pub place: Place,
    /// What bones have besides.
    pub bones: Option<BonesLayout>,
}

/// Scratch memory as numbers of one kind, and what is left.
fn scratch_of<T: Pod>(scratch: &mut [u64], len: usize) -> (&mut [T], &mut [u64]) {
    let (own, rest) = scratch.split_at_mut((len * size_of::<T>()).div_ceil(size_of::<u64>()));
    (&mut bytemuck::cast_slice_mut(own)[..len], rest)
}

impl Unit<'_> {
    /// Reads the frames of a stream from the start of `bytes`; returns the bytes used.
    pub fn read(
        &self,
        parts: &[Cells],
        bytes: &[u8],
        decoded: &Decoded<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<usize, Corrupt> {
        let mut rest = bytes;
        for (i, cells) in parts.iter().enumerate() {
            let (unit, used) = take_sized(rest)?;
            take(&mut rest, used)?;
            match &cells.coded {
                Coded::Soft(coded) => {
                    let points = coded.points();
                    let range = i * points..(i + 1) * points;
                    self.read_cells(coded, self.place, range, unit, decoded, scratch, out)?;
                    if let Some(flat) = &cells.flat {
                        out.iter_mut().for_each(|frame| self.lay(flat, frame));
                    }
                }
                Coded::Skin(skin) => self.read_skin(skin, unit, decoded, scratch, out)?,
            }
        }
        Ok(bytes.len() - rest.len())
    }

    /// Puts the plane of a height field into a frame.
    fn lay(&self, flat: &Flat, frame: &mut [u64]) {
        match self.place.size {
            8 => flat.lay::<i16>(part_mut(frame, self.place)),
            _ => flat.lay::<i32>(part_mut(frame, self.place)),
        }
    }

    /// Bones, residuals, and the cells that they make.
    fn read_skin(
        &self,
        skin: &Skin,
        mut bytes: &[u8],
        decoded: &Decoded<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        let places = self.bones.ok_or(Corrupt("bones where there are none"))?;
        if let Some(packed) = &skin.packed {
            let (mut unit, used) = take_sized(bytes)?;
            for frame in out.iter_mut() {
                // The one lies behind the other.
                let (before, behind) = frame.split_at_mut(places.states.at);
                let kept = part_mut(behind, Place { at: 0, ..places.states });
                packed.read(&mut unit, kept, part_mut(before, places.transforms))?;
            }
            if !unit.is_empty() {
                return Err(Corrupt("packed transforms: bytes left over"));
            }
            take(&mut bytes, used)?;
        } else if skin.bones.rigid > 0 {
            let at = [places.transforms, places.states];
            let used = nodes::read(&skin.nodes, at, (self.order, self.unit), bytes, decoded, out)?;
            take(&mut bytes, used)?;
        }
        let mut part = |bytes: &mut &[u8], coded: &Static, place: Place, out: &mut [&mut [u64]]| {
            let (unit, used) = take_sized(bytes)?;
            take(bytes, used)?;
            self.read_cells(coded, place, 0..coded.points(), unit, decoded, scratch, out)
        };
        if let Some(handles) = &skin.handles {
            part(&mut bytes, handles, places.handles, out)?;
        }
        if let Some(residual) = &skin.residual {
            part(&mut bytes, residual, places.residual, out)?;
        }
        if !bytes.is_empty() {
            return Err(Corrupt("bones: bytes left over"));
        }
        let count = (skin.bones.rigid + skin.bones.affine) as usize + 1;
        let (matrices, _) = scratch_of::<Matrix>(scratch, count);
        for frame in out {
            match self.place.size {
                8 => compose::<i16>(skin, &places, self.place, matrices, frame),
                _ => compose::<i32>(skin, &places, self.place, matrices, frame),
            }
        }
        Ok(())
    }

    /// Frames of the cells of one static part.
    #[allow(clippy::too_many_arguments)] // Everything that a unit brings, once.
    fn read_cells(
        &self,
        coded: &Static,
        place: Place,
        range: Range<usize>,
        bytes: &[u8],
        decoded: &Decoded<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        match place.size {
            8 => self.read_part::<i16>(coded, place, range, bytes, decoded, scratch, out),
            _ => self.read_part::<i32>(coded, place, range, bytes, decoded, scratch, out),
        }
    }

    #[allow(clippy::too_many_arguments)] // The same.
    fn read_part<W: Width + Pod>(
        &self,
        coded: &Static,
        place: Place,
        range: Range<usize>,
        bytes: &[u8],
        decoded: &Decoded<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        const NOT_LAYERED: Corrupt = Corrupt("cells in a file without layers");
        let Order::Layered { schedule, units, .. } = self.order else {
            return Err(NOT_LAYERED);
        };
        let reference = |frame: u32| {
            let words = decoded(frame as usize)?;
            part::<[W; 4]>(words, place).get(range.clone())
        };
        let count = out.len();
        let mut frames: [&mut [[W; 4]]; UNIT_FRAMES] = Default::default();
        for (frame, out) in frames.iter_mut().zip(out.iter_mut()) {
            *frame = &mut part_mut(out, place)[range.clone()];
        }
        let (scratch, _) = scratch_of(scratch, decode::scratch_len(range.len()));
        let unit = units[self.unit];
        let frames = &mut frames[..count];
        decode::decode_unit(coded, schedule, unit, bytes, &reference, frames, scratch)
    }
}

/// Cells of a frame from its bones and residuals.
fn compose<W: Width + Pod>(
    skin: &Skin,
    places: &BonesLayout,
    place: Place,
    matrices: &mut [Matrix],
    frame: &mut [u64],
) {
    // Bones lie behind all streams.
    let (before, behind) = frame.split_at_mut(places.transforms.at);
    let of = |place: Place| Place { at: place.at - places.transforms.at, ..place };
    let transforms: &[Transform] = part(behind, of(places.transforms));
    let handles = match (skin.bones.affine, skin.bones.wide) {
        (0, _) => Handles::None,
        (_, false) => Handles::Narrow(part(behind, of(places.handles))),
        (_, true) => Handles::Wide(part(behind, of(places.handles))),
    };
    skin.matrices(&skin.grid, transforms, handles, matrices);
    let residual = part(behind, of(places.residual));
    skin.compose::<W>(matrices, residual, part_mut(before, place));
}
