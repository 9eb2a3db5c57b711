//! Decodes streams of fixed-point positions, unit by unit.

use crate::decode::input::FrameLookup;
use crate::decode::node_transforms;
use crate::reel::chunk_content::take_bytes;
use crate::reel::fixed_point::{FixedPointStream, PositionDecoder, affine_handles};
use crate::reel::frame::{array, array_mut};
use crate::reel::layout::{ArrayLayout, BonesLayout};
use crate::reel::order::DecodeOrder;
use bytemuck::Pod;
use meshreel_codec::mesh::decode::{self, CodedUnit, StaticPart, Width, index};
use meshreel_codec::mesh::height;
use meshreel_codec::mesh::skin::{Matrix, Skin};
use meshreel_codec::schedule::MAX_UNIT_FRAMES;
use meshreel_codec::transform::Transform;
use meshreel_codec::{Corrupt, each_width, for_width, take_length_prefixed};
use std::ops::Range;

/// A unit of one stream, and the place of the stream in a frame.
pub(crate) struct FixedPointUnit<'a> {
    pub order: &'a DecodeOrder,
    pub unit: usize,
    pub place: ArrayLayout,
    /// The places of transforms, handles and residuals, for a mesh that bones move.
    pub bones: Option<BonesLayout>,
    /// The place of its words, for points that are not decoded.
    pub coded_points: Option<ArrayLayout>,
}

/// Splits scratch memory into `len` values of one type, and the rest.
fn split_scratch<T: Pod>(scratch: &mut [u64], len: usize) -> (&mut [T], &mut [u64]) {
    let (own, rest) = scratch.split_at_mut((len * size_of::<T>()).div_ceil(size_of::<u64>()));
    (&mut bytemuck::cast_slice_mut(own)[..len], rest)
}

impl FixedPointUnit<'_> {
    /// Reads the frames of a stream from the start of `bytes`; returns the bytes used.
    pub fn read(
        &self,
        parts: &[FixedPointStream],
        bytes: &[u8],
        decoded: &FrameLookup<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<usize, Corrupt> {
        let mut rest = bytes;
        for (i, part) in parts.iter().enumerate() {
            let (unit, used) = take_length_prefixed(rest)?;
            take_bytes(&mut rest, used)?;
            match &part.decoder {
                PositionDecoder::Soft(coded) if let Some(place) = self.coded_points => {
                    self.store_coded(coded, place, unit, scratch, out)?;
                }
                PositionDecoder::Soft(coded) => {
                    let points = coded.points();
                    let range = i * points..(i + 1) * points;
                    self.read_fixed_point(coded, (self.place, range), unit, decoded, scratch, out)?;
                    if let Some(axis) = part.height_axis {
                        out.iter_mut().for_each(|frame| self.restore_uncoded_axes(coded, axis, frame));
                    }
                }
                PositionDecoder::Skin(skin) => self.read_skin(skin, unit, decoded, scratch, out)?,
            }
        }
        Ok(bytes.len() - rest.len())
    }

    /// Checks a unit and keeps its words in its frames, one after the other.
    fn store_coded(
        &self,
        coded: &StaticPart,
        place: ArrayLayout,
        bytes: &[u8],
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        let unit = self.coded_unit(bytes)?;
        let (words, _) = split_scratch::<u32>(scratch, out.len() * place.len);
        let used = for_width!(coded.first.is_wide(), W => index::write_index::<W>(coded, unit, words)?);
        // Key frame 0 has none.
        words[..1].fill(used as u32);
        for (frame, words) in out.iter_mut().zip(words[..used.max(1)].chunks(place.len)) {
            array_mut(frame, place)[..words.len()].copy_from_slice(words);
        }
        Ok(())
    }

    fn coded_unit<'u>(&'u self, bytes: &'u [u8]) -> Result<CodedUnit<'u>, Corrupt> {
        match self.order {
            DecodeOrder::Layered { schedule, units, .. } => {
                Ok(CodedUnit { schedule, unit: units[self.unit], bytes })
            }
            DecodeOrder::Serial { .. } => {
                Err(Corrupt("fixed-point positions in a file without temporal layers"))
            }
        }
    }

    /// Writes the coordinates of a height field that never change into a frame.
    fn restore_uncoded_axes(&self, coded: &StaticPart, axis: usize, frame: &mut [u64]) {
        each_width!(&coded.first, first => {
            height::restore_uncoded_axes(axis, first, array_mut(frame, self.place));
        });
    }

    /// Reads bones and residuals, and computes fixed-point positions from them.
    fn read_skin(
        &self,
        skin: &Skin,
        mut bytes: &[u8],
        decoded: &FrameLookup<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        let places = self.bones.ok_or(Corrupt("bones where there are none"))?;
        if let Some(packed) = &skin.packed {
            let (mut unit, used) = take_length_prefixed(bytes)?;
            for frame in out.iter_mut() {
                // States come after transforms in the buffer.
                let (before, behind) = frame.split_at_mut(places.states.offset);
                let kept = array_mut(behind, ArrayLayout { offset: 0, ..places.states });
                packed.read(&mut unit, kept, array_mut(before, places.transforms))?;
            }
            if !unit.is_empty() {
                return Err(Corrupt("packed transforms: bytes left over"));
            }
            take_bytes(&mut bytes, used)?;
        } else if skin.bones.rigid > 0 {
            let at = [places.transforms, places.states];
            let used = node_transforms::read(&skin.nodes, at, (self.order, self.unit), bytes, decoded, out)?;
            take_bytes(&mut bytes, used)?;
        }
        let mut part = |bytes: &mut &[u8], coded: &StaticPart, place: ArrayLayout, out: &mut [&mut [u64]]| {
            let (unit, used) = take_length_prefixed(bytes)?;
            take_bytes(bytes, used)?;
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
        let (matrices, _) = split_scratch::<Matrix>(scratch, count);
        for frame in out {
            for_width!(self.place.value_bytes != 8, W => compose::<W>(skin, &places, self.place, matrices, frame));
        }
        Ok(())
    }

    /// Reads the frames of one set of fixed-point positions, narrow or wide.
    fn read_fixed_point(
        &self,
        coded: &StaticPart,
        (place, range): (ArrayLayout, Range<usize>),
        bytes: &[u8],
        decoded: &FrameLookup<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        for_width!(place.value_bytes != 8, W => {
            self.read_part::<W>(coded, (place, range), bytes, decoded, scratch, out)
        })
    }

    fn read_part<W: Width + Pod>(
        &self,
        coded: &StaticPart,
        (place, range): (ArrayLayout, Range<usize>),
        bytes: &[u8],
        decoded: &FrameLookup<'_>,
        scratch: &mut [u64],
        out: &mut [&mut [u64]],
    ) -> Result<(), Corrupt> {
        let unit = self.coded_unit(bytes)?;
        let reference = |frame: u32| {
            let words = decoded(frame as usize)?;
            array::<[W; 4]>(words, place).get(range.clone())
        };
        let count = out.len();
        let mut frames: [&mut [[W; 4]]; MAX_UNIT_FRAMES] = Default::default();
        for (frame, out) in frames.iter_mut().zip(out.iter_mut()) {
            *frame = &mut array_mut(out, place)[range.clone()];
        }
        let (scratch, _) = split_scratch(scratch, decode::scratch_len(range.len()));
        decode::decode_unit(coded, unit, &reference, &mut frames[..count], scratch)
    }
}

/// Computes the fixed-point positions of a frame from its bones and residuals.
fn compose<W: Width + Pod>(
    skin: &Skin,
    places: &BonesLayout,
    place: ArrayLayout,
    matrices: &mut [Matrix],
    frame: &mut [u64],
) {
    // Bones come after all streams in the buffer.
    let (before, behind) = frame.split_at_mut(places.transforms.offset);
    let of = |place: ArrayLayout| ArrayLayout { offset: place.offset - places.transforms.offset, ..place };
    let transforms: &[Transform] = array(behind, of(places.transforms));
    let handles = affine_handles(skin, behind, of(places.handles));
    skin.matrices(&skin.grid, transforms, handles, matrices);
    let residual = array(behind, of(places.residual));
    skin.compose::<W>(matrices, residual, array_mut(before, place));
}
