//! Affine bones as four points each, coded with the soft codec.

use super::model::BoneModel;
use super::single_frame::{FrameSource, bounds_with_margin, encoder_options, mismatch_error};
use crate::Error;
use crate::method::coder::Width;
use meshreel_codec::ByWidth;
use meshreel_codec::mesh::decode::StaticPart;
use meshreel_codec::mesh::encode::{EncodeBuffers, Encoder};
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::skin;
use meshreel_codec::mesh::skin::SkinRig;
use meshreel_codec::quantize::lattice::Extent;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_options::Options;
use std::collections::BTreeMap;

/// Coded handles of affine bones.
pub struct AffineBones {
    pub bytes: Vec<u8>,
    pub coded: StaticPart,
    pub frames: HandleFrames,
    pub units: BTreeMap<u32, Vec<u8>>,
}

/// Decoded handles, by frame.
pub type HandleFrames = ByWidth<Vec<Vec<[i16; 4]>>, Vec<Vec<[i32; 4]>>>;

/// Codes affine bones as four points each.
pub fn code_affine_bones(
    model: &BoneModel,
    rig: &SkinRig,
    schedule: Schedule,
    radius: f64,
    options: &Options,
) -> Result<Option<AffineBones>, Error> {
    let regions = &rig.regions[model.rigid.len()..];
    let at = |frame: usize| -> Vec<[f32; 3]> {
        let of = |(region, motion): (&skin::Region, &Vec<glam::DAffine3>)| {
            let middle = glam::DVec3::from_array(region.middle);
            let half = glam::DVec3::from_array(region.half);
            skin::handles::CORNERS.map(|corner| {
                let arm = half * glam::DVec3::from_array(corner);
                motion[frame].transform_point3(middle + arm).as_vec3().to_array()
            })
        };
        regions.iter().zip(&model.affine).flat_map(of).collect()
    };
    let all: Vec<Vec<[f32; 3]>> = (0..schedule.frames() as usize).map(at).collect();
    let every: Vec<[f32; 3]> = all.iter().flatten().copied().collect();
    let extent = bounds_with_margin(&every, radius);
    let levels = skin::handles::build_hierarchy(regions);
    let narrow = encode_handles::<i16>(&all, &levels, schedule, extent, options)?;
    let made = match narrow {
        Some((bytes, units, frames)) => Some((bytes, units, HandleFrames::Narrow(frames))),
        None => encode_handles::<i32>(&all, &levels, schedule, extent, options)?
            .map(|(bytes, units, frames)| (bytes, units, HandleFrames::Wide(frames))),
    };
    let Some((bytes, units, frames)) = made else {
        return Ok(None);
    };
    let coded = StaticPart::decode(&bytes, levels, None).map_err(|c| mismatch_error(c.0))?;
    Ok(Some(AffineBones { bytes, coded, frames, units }))
}

/// Static part, units by number, decoded frames.
type CodedFrames<W> = (Vec<u8>, BTreeMap<u32, Vec<u8>>, Vec<Vec<[W; 4]>>);

fn encode_handles<W: Width>(
    all: &[Vec<[f32; 3]>],
    levels: &Hierarchy,
    schedule: Schedule,
    extent: Extent,
    options: &Options,
) -> Result<Option<CodedFrames<W>>, Error> {
    let source = FrameSource(|frame: u32, out: &mut [[f32; 3]]| out.copy_from_slice(&all[frame as usize]));
    let mut work = EncodeBuffers::<W>::default();
    let frames = schedule.frames();
    let made = Encoder::new(levels.clone(), frames, extent, encoder_options(options), &source, &mut work);
    let Ok(encoder) = made else { return Ok(None) };
    let mut units = BTreeMap::new();
    let mut decoded = vec![Vec::new(); frames as usize];
    let refused = |_| mismatch_error("handles");
    for segment in 0..schedule.segments() {
        let each = &mut |key: u32, bytes: Vec<u8>, cells: &[[W; 4]]| {
            units.insert(schedule.unit_number(Unit::Key(key)), bytes);
            decoded[schedule.key_frame(key) as usize] = cells.to_vec();
        };
        encoder.encode_segment(segment, &mut work, each).map_err(refused)?;
    }
    for group in 0..schedule.groups() {
        let mut seen = Vec::new();
        let find = |frame: u32| &decoded[frame as usize][..];
        let watch = &mut |frame: u32, _: &[[f32; 3]], cells: &[[W; 4]]| {
            seen.push((frame, cells.to_vec()));
        };
        let bytes = encoder.encode_group(group, &find, &mut work, watch).map_err(refused)?;
        for (unit, bytes) in [Unit::LowerLayers(group), Unit::TopLayer(group)].into_iter().zip(bytes) {
            units.insert(schedule.unit_number(unit), bytes);
        }
        for (frame, cells) in seen {
            decoded[frame as usize] = cells;
        }
    }
    Ok(Some((encoder.static_bytes().to_vec(), units, decoded)))
}
