//! Clips in the random-access form, from a file or from memory; nothing is unpacked in advance.
//!
//! A pose is read from the packed bits, eight sub-tracks at a time. Two samples of one segment are blended
//! before they become rotations, two of different segments afterwards.

use super::layer::{LayerInfo, LoadedChunks};
use super::pose::{JointPose, MaskedPose, Pose, write_selected};
use super::query::Query;
use crate::{Error, error};
use meshreel_codec::Corrupt;
use meshreel_codec::clip::layer::LayerTable;
use meshreel_codec::clip::random_access::{InterpolationWeights, RandomAccess, SEGMENT_SAMPLES};
use meshreel_codec::clip::record::SkeletonRecord;
use meshreel_codec::clip::{RotationSubTrack, VectorSubTrack};
use meshreel_codec::transform::Transform;
use std::path::Path;
use std::sync::Arc;

/// A clip in the random-access form: a base, and layers over it.
#[derive(Debug)]
pub(super) struct RandomAccessLayers {
    skeleton: Arc<SkeletonRecord>,
    base: RandomAccess,
    upper_layers: Vec<UpperLayer>,
    /// The table of layers, if the file has one.
    table: Option<LayerTable>,
}

/// A layer over the base.
#[derive(Debug)]
struct UpperLayer {
    form: RandomAccess,
    /// The joints that it animates or sets.
    joints: Vec<u32>,
}

impl RandomAccessLayers {
    /// Returns a clip in one piece.
    pub fn new(skeleton: &Arc<SkeletonRecord>, base: RandomAccess) -> RandomAccessLayers {
        RandomAccessLayers { skeleton: skeleton.clone(), base, upper_layers: Vec::new(), table: None }
    }

    /// Opens layers from memory, the base first; see [`super::Clip::from_random_access`].
    pub fn from_memory(
        skeleton: &Arc<SkeletonRecord>,
        layers: &[&[u8]],
    ) -> Result<RandomAccessLayers, Error> {
        let open = |bytes: &&[u8]| {
            let opened = RandomAccess::open(&skeleton.skeleton(), bytes);
            opened.map_err(|c| {
                error::corrupt(Path::new(super::IN_MEMORY), c, "a clip in the random-access form")
            })
        };
        let Some((base, upper)) = layers.split_first() else {
            return Err(Error::misuse("a clip without layers"));
        };
        let mut form = RandomAccessLayers::new(skeleton, open(base)?);
        let mut seen = affected_joints(&form.base);
        for bytes in upper {
            let layer = open(bytes)?;
            let joints = affected_joints(&layer);
            let (own, same) = (&layer.layout.header, &form.base.layout.header);
            let alike = own.samples == same.samples && own.fps == same.fps;
            if !alike || joints.iter().any(|j| seen.contains(j)) {
                return Err(Error::misuse("layers of different samples, or with the same joint"));
            }
            seen.extend(&joints);
            form.upper_layers.push(UpperLayer { form: layer, joints });
        }
        Ok(form)
    }

    /// Assembles the layers of a table. `room` holds for each chunk its size and how much of it no piece has
    /// claimed yet.
    pub fn with_table(
        skeleton: &Arc<SkeletonRecord>,
        base: RandomAccess,
        table: LayerTable,
        chunks: &LoadedChunks,
        room: &mut [(u32, u32)],
    ) -> Result<RandomAccessLayers, Corrupt> {
        let joints = skeleton.parents.len();
        let samples = base.layout.header.samples;
        let all = |samples: &meshreel_codec::clip::layer::LayerSamples| {
            samples.step == 0.0 && samples.extra.is_empty()
        };
        if table.joint_layers.len() != joints
            || table.samples != samples
            || table.interleaved
            || !table.layers.iter().all(|layer| all(&layer.samples))
        {
            return Err(Corrupt("a table of layers for another clip in the random-access form"));
        }
        if table.tier_parts.len() + 1 != table.layers.len() {
            return Err(Corrupt("a layer in the random-access form that is not one piece"));
        }
        let own = |layer: usize| {
            let joints = (0u32..).zip(&table.joint_layers).filter(move |(_, of)| usize::from(**of) == layer);
            joints.map(|(j, _)| j).collect::<Vec<u32>>()
        };
        let outside = |joints: &[u32], form: &RandomAccess| {
            let said = affected_joints(form);
            said.iter().any(|j| joints.binary_search(j).is_err())
        };
        if outside(&own(0), &base) {
            return Err(Corrupt("a layer that says something of another one's joints"));
        }
        let mut over = Vec::with_capacity(table.tier_parts.len());
        for (l, (record, piece)) in (1..).zip(table.layers.iter().skip(1).zip(&table.tier_parts)) {
            let Some((size, left)) = room.get_mut(piece.chunk as usize) else {
                return Err(Corrupt("a piece of a clip in no chunk"));
            };
            let inside = piece.offset.checked_add(piece.size).is_some_and(|end| end <= *size);
            let segments = (samples as usize).div_ceil(SEGMENT_SAMPLES);
            let whole =
                (usize::from(piece.layer), piece.tier) == (l, 0) && piece.segments as usize == segments;
            if !inside || !whole || piece.size > *left {
                return Err(Corrupt("a piece of a clip outside of its chunk, or of another layer"));
            }
            *left -= piece.size;
            let bytes = chunks.bytes(piece.chunk as usize).unwrap_or(&[]);
            let bytes = bytes.get(piece.offset as usize..).and_then(|own| own.get(..piece.size as usize));
            let bytes = bytes.ok_or(Corrupt("a piece of a clip ends early"))?;
            let form = RandomAccess::open_parts(&skeleton.skeleton(), &record.header, bytes)?;
            let joints = own(l);
            let (own, same) = (&form.layout.header, &base.layout.header);
            if outside(&joints, &form)
                || (own.samples, own.fps, own.start) != (same.samples, same.fps, same.start)
            {
                return Err(Corrupt(
                    "a layer of other samples, or that says something of another one's joints",
                ));
            }
            over.push(UpperLayer { form, joints });
        }
        Ok(RandomAccessLayers { skeleton: skeleton.clone(), base, upper_layers: over, table: Some(table) })
    }

    /// Returns the header and sub-tracks of the base.
    pub fn base(&self) -> &RandomAccess {
        &self.base
    }

    /// Returns the bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.forms().map(|form| form.packed_bytes()).sum()
    }

    /// Returns the bytes of headers and pieces of all layers but the base.
    pub fn upper_bytes(&self) -> usize {
        self.forms().skip(1).map(|form| form.header_bytes() + form.body_bytes()).sum()
    }

    /// Returns the bytes of the pieces of all layers but the base.
    pub fn tier_part_bytes(&self) -> usize {
        self.forms().skip(1).map(|form| form.body_bytes()).sum()
    }

    /// Returns all layers, the base first.
    fn forms(&self) -> impl Iterator<Item = &RandomAccess> {
        std::iter::once(&self.base).chain(self.upper_layers.iter().map(|layer| &layer.form))
    }

    /// Returns the joints, samples and sizes of each layer; empty without a table of layers.
    pub fn infos(&self) -> Vec<LayerInfo> {
        let Some(table) = &self.table else {
            return Vec::new();
        };
        let samples = table.samples;
        (0..)
            .zip(table.layers.iter().zip(self.forms()))
            .map(|(l, (record, form))| {
                let joints: Vec<u32> =
                    (0u32..).zip(&table.joint_layers).filter(|(_, of)| **of == l).map(|(j, _)| j).collect();
                let size = form.body_bytes();
                let values = form.layout.components * samples as usize;
                LayerInfo {
                    name: record.name.clone(),
                    stepped: joints.iter().copied().filter(|j| table.stepped[*j as usize]).collect(),
                    joints,
                    samples: (0..samples).collect(),
                    stripped: vec![false; samples as usize],
                    header_bytes: form.header_bytes(),
                    tiers: vec![size],
                    bits_per_value: 8.0 * size as f64 / values.max(1) as f64,
                }
            })
            .collect()
    }

    /// Returns the layer of a joint.
    pub fn joint_layer(&self, joint: usize) -> Option<u8> {
        if let Some(table) = &self.table {
            return table.joint_layers.get(joint).copied();
        }
        let has = |layer: &UpperLayer| layer.joints.contains(&(joint as u32));
        let layer = self.upper_layers.iter().position(has).map_or(0, |l| l as u8 + 1);
        (joint < self.base.layout.header.rotations.len()).then_some(layer)
    }

    /// Adds the joints that are never interpolated.
    fn stepped<'a>(&'a self, weights: InterpolationWeights<'a>) -> InterpolationWeights<'a> {
        let stepped = self.table.as_ref().map_or(&[][..], |table| &table.stepped);
        InterpolationWeights { stepped, ..weights }
    }

    /// Writes the local transforms of the joints that `query` selects. `tiers` holds for each layer whether
    /// it is played, 0 for not; layers beyond the list are.
    #[inline]
    pub fn pose(&self, tiers: &[usize], query: &Query<'_>, pose: &mut (impl Pose + ?Sized)) {
        let header = &self.base.layout.header;
        let (left, right, each) = query.locate(header.samples as usize, header.fps);
        if self.upper_layers.is_empty() && self.table.is_none() && tiers.is_empty() {
            self.base.prefetch(left, right);
            write_selected(self.base.layout.constant_pose(), query, pose);
            self.base.pose(left, right, &each, &mut MaskedPose { mask: query.mask, pose });
            return;
        }
        self.write_layers(tiers, (left, right), &self.stepped(each), query, pose);
    }

    /// Writes the local transforms of all joints at a sample.
    pub fn sample(&self, tiers: &[usize], sample: usize, pose: &mut [Transform]) {
        let weights = InterpolationWeights::same(0.0);
        self.write_layers(tiers, (sample, sample), &weights, &Query::new(0.0), pose);
    }

    /// Writes all layers at two samples, one over the other.
    fn write_layers(
        &self,
        tiers: &[usize],
        (left, right): (usize, usize),
        weights: &InterpolationWeights<'_>,
        query: &Query<'_>,
        pose: &mut (impl Pose + ?Sized),
    ) {
        let mask = query.mask;
        let wanted = |layer: usize| tiers.get(layer).is_none_or(|tiers| *tiers > 0);
        let lowest = if wanted(0) { self.base.layout.constant_pose() } else { &self.skeleton.rest[..] };
        write_selected(lowest, query, pose);
        if wanted(0) {
            self.base.pose(left, right, weights, &mut MaskedPose { mask, pose });
        }
        for (l, layer) in (1..).zip(&self.upper_layers) {
            if !wanted(l) {
                continue;
            }
            let form = &layer.form;
            for &j in &layer.joints {
                let j = j as usize;
                if query.wants(j) && pose.wants(j) {
                    pose.set(j, &form.layout.constant_pose()[j]);
                }
            }
            form.pose(left, right, weights, &mut MaskedPose { mask, pose });
        }
    }

    /// Returns one joint.
    #[inline]
    pub fn joint(&self, tiers: &[usize], joint: usize, query: &Query<'_>) -> Result<JointPose, Error> {
        if self.upper_layers.is_empty()
            && self.table.is_none()
            && tiers.is_empty()
            && let Some(still) = self.base.layout.constant_pose().get(joint)
        {
            let alike = Query { rounding: query.rounding_of(joint), roundings: &[], ..*query };
            let header = &self.base.layout.header;
            let (left, right, each) = alike.locate(header.samples as usize, header.fps);
            let mut local = *still;
            self.base.joint(left, right, each.weight(joint), joint, &mut local);
            return Ok(JointPose { local, bind: false });
        }
        self.layered_joint(tiers, joint, query)
    }

    /// Returns one joint of a clip in layers; an error if there is no such joint.
    #[inline(never)]
    fn layered_joint(&self, tiers: &[usize], joint: usize, query: &Query<'_>) -> Result<JointPose, Error> {
        let (mut form, mut layer) = (&self.base, 0);
        if !self.upper_layers.is_empty()
            && let Some(l) = self.upper_layers.iter().position(|l| l.joints.contains(&(joint as u32)))
        {
            (form, layer) = (&self.upper_layers[l].form, l + 1);
        }
        let Some(rest) = self.skeleton.rest.get(joint) else {
            let joints = self.skeleton.rest.len();
            return Err(Error::misuse(format!("joint {joint} of {joints}")));
        };
        if tiers.get(layer).is_some_and(|tiers| *tiers == 0) {
            return Ok(JointPose { local: *rest, bind: true });
        }
        let rounding = query.rounding_of(joint);
        let alike = Query { rounding, roundings: &[], ..*query };
        let header = &self.base.layout.header;
        let (left, right, each) = alike.locate(header.samples as usize, header.fps);
        let mut local = form.layout.constant_pose()[joint];
        form.joint(left, right, self.stepped(each).weight(joint), joint, &mut local);
        Ok(JointPose { local, bind: false })
    }
}

/// Returns the joints that a layer animates or sets.
fn affected_joints(form: &RandomAccess) -> Vec<u32> {
    let header = &form.layout.header;
    let says = |j: &usize| {
        header.rotations[*j] != RotationSubTrack::Default
            || header.translations[*j] != VectorSubTrack::Default
            || header.scales[*j] != VectorSubTrack::Default
    };
    let all = 0..header.rotations.len();
    all.filter(says).map(|j| j as u32).collect()
}
