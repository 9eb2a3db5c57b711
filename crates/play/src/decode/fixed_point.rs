//! Decodes streams of fixed-point positions, unit by unit.

use crate::decode::input::Decoded;
use crate::decode::node_transforms;
use crate::reel::content::take;
use crate::reel::fixed_point::{Coded, FixedPoint, handles_in};
use crate::reel::frame::{part, part_mut};
use crate::reel::layout::{BonesLayout, Place};
use crate::reel::order::Order;
use bytemuck::Pod;
use meshreel_codec::mesh::decode::{self, CodedUnit, Static, Width, index};
use meshreel_codec::mesh::height::Flat;
use meshreel_codec::mesh::skin::{Matrix, Skin};
use meshreel_codec::schedule::UNIT_FRAMES;
use meshreel_codec::transform::Transform;
use meshreel_codec::{Corrupt, for_width, take_sized};
use std::ops::Range;

/// A unit of one stream, and the place of the stream in a frame.
pub(crate) struct Unit<'a> {
    pub order: &'a Order,
    pub unit: usize,
    pub place: Place,
    /// The places of transforms, handles and residuals, for a mesh that bones move.
    pub bones: Option<BonesLayout>,
    /// The place of its words, for points that are not decoded.
    pub coded: Option<Place>,
}

/// Splits scratch memory into `len` values of one type, and the rest.
fn scratch_of<T: Pod>(scratch: &mut [u64], len: usize) -> (&mut [T], &mut [u64]) {
    let (own, rest) = scratch.split_at_mut((len * size_of::<T>()).div_ceil(size_of::<u64>()));
    (&mut bytemuck::cast_slice_mut(own)[..len], rest)
}

impl Unit<'_> {
    /// Reads the frames of a stream from the start of `bytes`; returns the bytes used.
    pub fn read(
        &self,
        parts: &[FixedPoint],
        bytes: &[u8],
        decoded: &Decoded<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<usize, Corrupt> {
        let mut rest = bytes;
        for (i, part) in parts.iter().enumerate() {
            let (unit, used) = take_sized(rest)?;
            take(&mut rest, used)?;
            match &part.coded {
                Coded::Soft(coded) if let Some(place) = self.coded => {
                    self.keep(coded, place, unit, scratch, out)?;
                }
                Coded::Soft(coded) => {
                    let points = coded.points();
                    let range = i * points..(i + 1) * points;
                    self.read_fixed_point(coded, (self.place, range), unit, decoded, scratch, out)?;
                    if let Some(flat) = &part.flat {
                        out.iter_mut().for_each(|frame| self.lay(flat, frame));
                    }
                }
                Coded::Skin(skin) => self.read_skin(skin, unit, decoded, scratch, out)?,
            }
        }
        Ok(bytes.len() - rest.len())
    }

    /// Checks a unit and keeps its words in its frames, one after the other.
    fn keep(
        &self,
        coded: &Static,
        place: Place,
        bytes: &[u8],
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        let unit = self.coded_unit(bytes)?;
        let (words, _) = scratch_of::<u32>(scratch, out.len() * place.len);
        let used = for_width!(coded.first.is_wide(), W => index::index::<W>(coded, unit, words)?);
        // Key frame 0 has none.
        words[..1].fill(used as u32);
        for (frame, words) in out.iter_mut().zip(words[..used.max(1)].chunks(place.len)) {
            part_mut(frame, place)[..words.len()].copy_from_slice(words);
        }
        Ok(())
    }

    fn coded_unit<'u>(&'u self, bytes: &'u [u8]) -> Result<CodedUnit<'u>, Corrupt> {
        match self.order {
            Order::Layered { schedule, units, .. } => {
                Ok(CodedUnit { schedule, unit: units[self.unit], bytes })
            }
            Order::Serial { .. } => Err(Corrupt("fixed-point positions in a file without temporal layers")),
        }
    }

    /// Writes the plane of a height field into a frame.
    fn lay(&self, flat: &Flat, frame: &mut [u64]) {
        for_width!(self.place.size != 8, W => flat.lay::<W>(part_mut(frame, self.place)));
    }

    /// Reads bones and residuals, and computes fixed-point positions from them.
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
                // States come after transforms in the buffer.
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
            let used = node_transforms::read(&skin.nodes, at, (self.order, self.unit), bytes, decoded, out)?;
            take(&mut bytes, used)?;
        }
        let mut part = |bytes: &mut &[u8], coded: &Static, place: Place, out: &mut [&mut [u64]]| {
            let (unit, used) = take_sized(bytes)?;
            take(bytes, used)?;
            self.read_fixed_point(coded, (place, 0..coded.points()), unit, decoded, scratch, out)
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
        if self.place.len == 0 {
            return Ok(());
        }
        let count = (skin.bones.rigid + skin.bones.affine) as usize + 1;
        let (matrices, _) = scratch_of::<Matrix>(scratch, count);
        for frame in out {
            for_width!(self.place.size != 8, W => compose::<W>(skin, &places, self.place, matrices, frame));
        }
        Ok(())
    }

    /// Reads the frames of one set of fixed-point positions, narrow or wide.
    fn read_fixed_point(
        &self,
        coded: &Static,
        (place, range): (Place, Range<usize>),
        bytes: &[u8],
        decoded: &Decoded<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        for_width!(place.size != 8, W => {
            self.read_part::<W>(coded, (place, range), bytes, decoded, scratch, out)
        })
    }

    fn read_part<W: Width + Pod>(
        &self,
        coded: &Static,
        (place, range): (Place, Range<usize>),
        bytes: &[u8],
        decoded: &Decoded<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        let unit = self.coded_unit(bytes)?;
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
        decode::decode_unit(coded, unit, &reference, &mut frames[..count], scratch)
    }
}

/// Computes the fixed-point positions of a frame from its bones and residuals.
fn compose<W: Width + Pod>(
    skin: &Skin,
    places: &BonesLayout,
    place: Place,
    matrices: &mut [Matrix],
    frame: &mut [u64],
) {
    // Bones come after all streams in the buffer.
    let (before, behind) = frame.split_at_mut(places.transforms.at);
    let of = |place: Place| Place { at: place.at - places.transforms.at, ..place };
    let transforms: &[Transform] = part(behind, of(places.transforms));
    let handles = handles_in(skin, behind, of(places.handles));
    skin.matrices(&skin.grid, transforms, handles, matrices);
    let residual = part(behind, of(places.residual));
    skin.compose::<W>(matrices, residual, part_mut(before, place));
}
