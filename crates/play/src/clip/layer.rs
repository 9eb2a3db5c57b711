//! Clip layers: each is decoded from those of its tiers that are in memory; joints of a layer that is not in
//! memory are in the bind pose.
//!
//! A pose begins as the bind pose; then each layer, the base first, writes its own joints. If a tier is
//! missing, samples are replaced by their predictions; if a layer is missing, its joints stay as they are.

use super::blend::interpolate;
use super::pose::{JointPose, Pose};
use super::query::{Query, Repeats, Rounding, locate};
use crate::{Error, error};
use meshreel_codec::Corrupt;
use meshreel_codec::clip::Skeleton;
use meshreel_codec::clip::layer::{self, LayerTable, TierPart};
use meshreel_codec::clip::schedule::MAX_TIERS;
use meshreel_codec::clip::streamed::{
    ClipLayout, Scratch, StreamedClip, decode_keys, decode_segment, max_key_codes,
};
use meshreel_codec::transform::Transform;
use std::path::Path;

/// The layers of a clip: their table, and what is derived from it and their headers.
pub(crate) struct LayerSet {
    pub table: LayerTable,
    pub layers: Vec<LayerPlan>,
    pub fps: f64,
    pub start: f64,
    rest: Vec<Transform>,
}

/// One layer.
pub(crate) struct LayerPlan {
    pub plan: ClipLayout,
    /// The samples that it has, if not all.
    samples: Option<Vec<u32>>,
    joints: Vec<u32>,
    /// The bytes of its header.
    pub header_bytes: usize,
    /// Per tier its pieces, with the first segment of each. The base's first tier has none.
    pub tier_parts: Vec<Vec<(u32, TierPart)>>,
}

/// Access to the bytes of one layer that are in memory.
pub(crate) trait LayerBytes {
    /// Returns the words of all keys; `None` if the layer is not in memory.
    fn keys(&self) -> Option<&[i32]>;
    /// Collects the bytes of segment `s`, tier by tier up to the first that is missing; returns the number of
    /// tiers.
    fn segment<'a>(&'a self, s: usize, out: &mut [&'a [u8]; MAX_TIERS as usize]) -> usize;
    /// Returns the number of tiers that [`LayerBytes::segment`] would collect.
    fn tiers(&self, s: usize) -> usize;
}

/// The memory for one place in one layer.
#[derive(Debug, Default)]
pub(crate) struct LayerCursor {
    scratch: Scratch,
    /// The segment that was decoded into the scratch, and the number of tiers it was decoded from.
    segment: Option<(usize, usize)>,
    pose: [Vec<Transform>; 2],
    sample: [Option<(usize, usize)>; 2],
    /// The position between the first pose and the second, 0 to 1; `None` if the layer is not in memory.
    weight: Option<f64>,
}

/// The two samples around a time of a clip, and the position between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SamplePosition {
    left: usize,
    right: usize,
    weight: f64,
}

impl LayerSet {
    /// Checks a table against its clip. `chunks` holds for each chunk of pieces its size, and how much of it
    /// no piece has claimed yet; pieces never share bytes, so that all clips of a file together claim no more
    /// than its length.
    pub fn new(
        skeleton: &Skeleton<'_>,
        table: LayerTable,
        base: &ClipLayout,
        base_bytes: usize,
        chunks: &mut [(u32, u32)],
    ) -> Result<LayerSet, Corrupt> {
        let n = skeleton.parents.len();
        if table.joint_layers.len() != n {
            return Err(Corrupt("a table of layers for another skeleton"));
        }
        let mut layers = Vec::with_capacity(table.layers.len());
        for (l, record) in table.layers.iter().enumerate() {
            let (plan, header_bytes) = match l {
                0 => (base.clone(), base_bytes),
                _ => {
                    let mut sized = Vec::new();
                    meshreel_codec::clip::layer::put_length_prefixed(&record.header, &mut sized);
                    let (plan, used) = StreamedClip::decode_header(skeleton, &sized)?;
                    if used != sized.len() {
                        return Err(Corrupt("bytes behind the header of a layer"));
                    }
                    (plan, record.header.len())
                }
            };
            // The bytes must be enough for the segments, and the segments for the samples.
            let samples = plan.header.samples;
            if record.samples.max_count(table.samples)
                > u64::from(samples) + 2 + record.samples.extra.len() as u64
            {
                return Err(Corrupt("a layer with other samples than its own"));
            }
            let mut pieces: Vec<Vec<(u32, TierPart)>> = vec![Vec::new(); plan.tiers()];
            let own = table.tier_parts.iter().filter(|p| usize::from(p.layer) == l);
            for piece in own {
                let end = piece.offset.checked_add(piece.size);
                let (Some((size, left)), Some(end)) = (chunks.get_mut(piece.chunk as usize), end) else {
                    return Err(Corrupt("a piece of a clip in no chunk"));
                };
                let fits = end <= *size && piece.size <= *left;
                let Some(tier) = pieces.get_mut(usize::from(piece.tier)).filter(|_| fits) else {
                    return Err(Corrupt("a piece of a clip outside of its chunk"));
                };
                *left -= piece.size;
                let first = tier.last().map_or(0, |(first, p)| first + p.segments);
                tier.push((first, *piece));
            }
            let size = pieces.iter().flatten().map(|(_, p)| p.size as usize).sum();
            if l > 0 && plan.keys() * plan.codes_per_sample > max_key_codes(size) {
                return Err(Corrupt("more keys than the bytes of a layer justify"));
            }
            let segments =
                |tier: &[(u32, TierPart)]| -> u64 { tier.iter().map(|(_, p)| u64::from(p.segments)).sum() };
            let whole = |t: usize| segments(&pieces[t]) == plan.segments() as u64;
            if !(usize::from(l == 0)..plan.tiers()).all(whole) {
                return Err(Corrupt("a layer with other segments than its own"));
            }
            let list = record.samples.list(table.samples);
            if list.as_ref().map_or(table.samples as usize, Vec::len) != samples as usize {
                return Err(Corrupt("a layer with other samples than its own"));
            }
            let joints = (0..n as u32).filter(|j| usize::from(table.joint_layers[*j as usize]) == l);
            layers.push(LayerPlan {
                samples: list,
                joints: joints.collect(),
                header_bytes,
                tier_parts: pieces,
                plan,
            });
        }
        Ok(LayerSet {
            fps: base.header.fps,
            start: base.header.start,
            rest: skeleton.rest.to_vec(),
            table,
            layers,
        })
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> usize {
        self.table.samples as usize
    }

    /// Allocates cursors for all layers.
    pub fn cursors(&self) -> Vec<LayerCursor> {
        (self.layers.iter())
            .map(|layer| {
                let mut cursor = LayerCursor::default();
                cursor.scratch.reserve(&layer.plan);
                cursor.pose = [self.rest.clone(), self.rest.clone()];
                cursor
            })
            .collect()
    }

    /// Returns the samples around `seconds`.
    fn sample_position(&self, seconds: f64, repeats: Repeats) -> SamplePosition {
        let (left, right, part) = locate(self.samples(), self.fps, seconds, repeats);
        SamplePosition { left, right, weight: part }
    }

    /// Returns the place of a sample.
    fn exact_position(&self, sample: usize) -> SamplePosition {
        let left = sample.min(self.samples() - 1);
        SamplePosition { left, right: left, weight: 0.0 }
    }

    /// Writes the local transforms of the joints that `query` selects: the bind pose, and over it every layer
    /// in memory. `have` gives access to each layer's bytes. After an error `pose` is unchanged if all joints
    /// are rounded alike.
    pub fn pose<H: LayerBytes>(
        &self,
        have: impl Fn(usize) -> Option<H>,
        cursors: &mut [LayerCursor],
        query: &Query<'_>,
        pose: &mut (impl Pose + ?Sized),
    ) -> Result<(), Corrupt> {
        let spot = self.sample_position(query.seconds, query.repeats);
        // Layers have samples of their own: joints that are rounded in the same way are handled together.
        for rounding in query.all_roundings() {
            self.decode(&have, cursors, spot, rounding)?;
            for j in 0..self.rest.len() {
                if query.rounding_of(j) == rounding && query.wants(j) && pose.wants(j) {
                    pose.set(j, &self.local(cursors, j));
                }
            }
        }
        Ok(())
    }

    /// Writes the local transforms of all joints at a sample.
    pub fn sample<H: LayerBytes>(
        &self,
        have: impl Fn(usize) -> Option<H>,
        cursors: &mut [LayerCursor],
        sample: usize,
        pose: &mut [Transform],
    ) -> Result<(), Corrupt> {
        self.decode(&have, cursors, self.exact_position(sample), Rounding::None)?;
        for (j, local) in pose.iter_mut().enumerate().take(self.rest.len()) {
            *local = self.local(cursors, j);
        }
        Ok(())
    }

    /// Brings every layer's cursor to the poses around a place; cursors of layers that are not in memory
    /// become empty.
    fn decode<H: LayerBytes>(
        &self,
        have: impl Fn(usize) -> Option<H>,
        cursors: &mut [LayerCursor],
        spot: SamplePosition,
        rounding: Rounding,
    ) -> Result<(), Corrupt> {
        for (l, (layer, cursor)) in self.layers.iter().zip(cursors).enumerate() {
            if let Some(have) = have(l)
                && let Some(keys) = have.keys()
            {
                cursor.weight =
                    Some(layer.decode_around(self.samples(), &have, keys, cursor, spot, rounding)?);
            } else {
                let cleared =
                    LayerCursor { weight: None, sample: [None; 2], segment: None, ..std::mem::take(cursor) };
                *cursor = cleared;
            }
        }
        Ok(())
    }

    /// Returns a joint from the cursor of its layer; the bind pose if that is empty.
    fn local(&self, cursors: &[LayerCursor], joint: usize) -> Transform {
        let cursor = &cursors[usize::from(self.table.joint_layers[joint])];
        match cursor.weight {
            Some(part) => self.blend_joint(cursor, joint, part),
            None => self.rest[joint],
        }
    }

    /// Returns one joint, which must exist. Only its layer is decoded.
    pub fn joint<H: LayerBytes>(
        &self,
        have: impl Fn(usize) -> Option<H>,
        cursors: &mut [LayerCursor],
        query: &Query<'_>,
        joint: usize,
    ) -> Result<JointPose, Corrupt> {
        let l = usize::from(self.table.joint_layers[joint]);
        let (layer, cursor) = (&self.layers[l], &mut cursors[l]);
        let mut out = JointPose { local: self.rest[joint], bind: true };
        if let Some(have) = have(l)
            && let Some(keys) = have.keys()
        {
            let spot = self.sample_position(query.seconds, query.repeats);
            let rounding = query.rounding_of(joint);
            let part = layer.decode_around(self.samples(), &have, keys, cursor, spot, rounding)?;
            out = JointPose { local: self.blend_joint(cursor, joint, part), bind: false };
        }
        Ok(out)
    }

    /// Interpolates a joint between the two poses of a cursor. A stepped joint has the value of the first.
    fn blend_joint(&self, cursor: &LayerCursor, joint: usize, part: f64) -> Transform {
        let [a, b] = &cursor.pose;
        match part == 0.0 || self.table.stepped[joint] {
            true => a[joint],
            false => interpolate(&a[joint], &b[joint], part as f32),
        }
    }
}

impl LayerPlan {
    /// Returns the layer's samples around a place of the clip's time, and the position between them.
    fn local_samples(&self, samples: usize, spot: SamplePosition, rounding: Rounding) -> ([usize; 2], f64) {
        let SamplePosition { left, right, weight: part } = spot;
        let (a, b, part) = match &self.samples {
            None => (left, right, part),
            Some(list) => {
                let a = list.partition_point(|s| *s as usize <= left).max(1) - 1;
                match list.get(a + 1) {
                    Some(next) if left + 1 < samples => {
                        let (from, to) = (f64::from(list[a]), f64::from(*next));
                        (a, a + 1, (left as f64 + part - from) / (to - from))
                    }
                    // From the last sample on, the clip's own wrapping applies.
                    _ => (a, if right == left { a } else { 0 }, part),
                }
            }
        };
        match rounding {
            Rounding::None => ([a, b], part),
            Rounding::Ceil if part > 0.0 => ([b, b], 0.0),
            Rounding::Nearest if part >= 0.5 => ([b, b], 0.0),
            Rounding::Floor | Rounding::Ceil | Rounding::Nearest => ([a, a], 0.0),
        }
    }

    /// Brings the poses of a cursor to those around a place, and returns the position between them.
    fn decode_around<H: LayerBytes>(
        &self,
        samples: usize,
        have: &H,
        keys: &[i32],
        cursor: &mut LayerCursor,
        spot: SamplePosition,
        rounding: Rounding,
    ) -> Result<f64, Corrupt> {
        let (from, part) = self.local_samples(samples, spot, rounding);
        for (slot, sample) in from.into_iter().enumerate() {
            self.decode_sample(have, keys, cursor, slot, sample, from[1])?;
            if part == 0.0 {
                break;
            }
        }
        Ok(part)
    }

    /// Brings the pose of `slot` to that of `sample`, from the tiers in memory.
    fn decode_sample<H: LayerBytes>(
        &self,
        have: &H,
        keys: &[i32],
        cursor: &mut LayerCursor,
        slot: usize,
        sample: usize,
        other: usize,
    ) -> Result<(), Corrupt> {
        let plan = &self.plan;
        let place = plan.locate_sample(sample);
        let tiers = match place {
            Ok(_) => 0,
            Err((segment, _)) => have.tiers(segment),
        };
        let wanted = Some((sample, tiers));
        // In forward playback, the right sample often becomes the left one.
        if slot == 0 && cursor.sample[0] != wanted && cursor.sample[1] == wanted && other != sample {
            cursor.pose.swap(0, 1);
            cursor.sample.swap(0, 1);
        }
        if cursor.sample[slot] == wanted {
            return Ok(());
        }
        cursor.sample[slot] = None;
        let pose = &mut cursor.pose[slot];
        match place {
            Ok(key) => {
                let words = keys.get(key * plan.codes_per_sample..(key + 1) * plan.codes_per_sample);
                plan.pose(words.ok_or(Corrupt("a key that is not there"))?, pose);
            }
            Err((segment, at)) => {
                if cursor.segment != Some((segment, tiers)) {
                    cursor.segment = None;
                    let mut streams: [&[u8]; MAX_TIERS as usize] = [&[]; MAX_TIERS as usize];
                    let count = have.segment(segment, &mut streams);
                    decode_segment(plan, keys, segment, &streams[..count], &mut cursor.scratch)?;
                    cursor.segment = Some((segment, tiers));
                }
                plan.pose(cursor.scratch.sample(plan, at), pose);
            }
        }
        cursor.sample[slot] = wanted;
        Ok(())
    }

    /// Returns the piece of a tier that has segment `s`, and the segment's index in it.
    pub fn tier_part(&self, tier: usize, s: usize) -> Option<(&TierPart, usize)> {
        let pieces = self.tier_parts.get(tier)?;
        let i = pieces.partition_point(|(first, _)| *first as usize <= s);
        let (first, piece) = pieces.get(i.checked_sub(1)?)?;
        let at = s - *first as usize;
        (at < piece.segments as usize).then_some((piece, at))
    }
}

/// Returns the part of a piece that holds segments: the bytes after the keys, which the very first piece of a
/// layer has.
pub(crate) fn segment_bytes<'a>(piece: &TierPart, first: bool, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let bytes = bytes.get(piece.offset as usize..)?.get(..piece.size as usize)?;
    match first && piece.layer > 0 && piece.tier == 0 {
        true => {
            let (_, used) = meshreel_codec::clip::layer::take_length_prefixed(bytes).ok()?;
            bytes.get(used..)
        }
        false => Some(bytes),
    }
}

/// A clip in layers whose file is entirely in memory.
pub(crate) struct LayeredClip {
    pub set: LayerSet,
    base: StreamedClip,
    /// The words of the keys of all layers but the base.
    keys: Vec<Vec<i32>>,
    chunks: Vec<std::sync::Arc<Vec<u8>>>,
}

/// One layer of it, limited to `tiers` tiers.
struct PlayedLayer<'a> {
    all: &'a LayeredClip,
    layer: usize,
    tiers: usize,
}

impl LayeredClip {
    /// Assembles a clip. `chunks` holds all chunks of pieces of the file.
    pub fn new(
        skeleton: &Skeleton<'_>,
        table: LayerTable,
        base: StreamedClip,
        chunks: &[std::sync::Arc<Vec<u8>>],
        room: &mut [(u32, u32)],
    ) -> Result<LayeredClip, Corrupt> {
        let set = LayerSet::new(skeleton, table, &base.layout, base.head_bytes, room)?;
        let mut keys = vec![Vec::new()];
        for layer in &set.layers {
            for (tier, pieces) in layer.tier_parts.iter().enumerate() {
                for (i, (_, piece)) in pieces.iter().enumerate() {
                    let bytes = segment_bytes(piece, i == 0, &chunks[piece.chunk as usize])
                        .ok_or(Corrupt("a piece of a clip ends early"))?;
                    layer::check_segments(bytes, piece.segments as usize)?;
                }
                if let Some((_, first)) = pieces.first().filter(|(_, p)| tier == 0 && p.layer > 0) {
                    let mut words = vec![0; layer.plan.keys() * layer.plan.codes_per_sample];
                    let bytes = &chunks[first.chunk as usize][first.offset as usize..];
                    decode_keys(&layer.plan, bytes, &mut words)?;
                    keys.push(words);
                }
            }
        }
        match keys.len() == set.layers.len() {
            true => Ok(LayeredClip { set, base, keys, chunks: chunks.to_vec() }),
            false => Err(Corrupt("a layer without keys")),
        }
    }

    /// Writes the local transforms of the joints that `query` selects, from those layers and tiers that
    /// `tiers` allows.
    pub fn pose(
        &self,
        tiers: &[usize],
        cursors: &mut [LayerCursor],
        query: &Query<'_>,
        pose: &mut (impl Pose + ?Sized),
    ) -> Result<(), Corrupt> {
        self.set.pose(|layer| self.layer_bytes(tiers, layer), cursors, query, pose)
    }

    /// Writes the local transforms of all joints at a sample.
    pub fn sample(
        &self,
        tiers: &[usize],
        cursors: &mut [LayerCursor],
        sample: usize,
        pose: &mut [Transform],
    ) -> Result<(), Corrupt> {
        self.set.sample(|layer| self.layer_bytes(tiers, layer), cursors, sample, pose)
    }

    /// Returns one joint.
    pub fn joint(
        &self,
        tiers: &[usize],
        cursors: &mut [LayerCursor],
        query: &Query<'_>,
        joint: usize,
    ) -> Result<JointPose, Corrupt> {
        self.set.joint(|layer| self.layer_bytes(tiers, layer), cursors, query, joint)
    }

    fn layer_bytes(&self, tiers: &[usize], layer: usize) -> Option<PlayedLayer<'_>> {
        let tiers = tiers.get(layer).copied().unwrap_or(usize::MAX);
        (tiers > 0).then_some(PlayedLayer { all: self, layer, tiers })
    }

    /// Returns the bytes of a layer's tiers, each joined from its pieces.
    #[cfg(feature = "encode")]
    fn tiers(&self, l: usize) -> Vec<Vec<u8>> {
        let layer = &self.set.layers[l];
        let plan = &layer.plan;
        (0..plan.tiers())
            .map(|tier| {
                let mut out = Vec::new();
                if tier == 0 {
                    meshreel_codec::clip::streamed::encode_header(plan, &mut out);
                    let keys = match layer.tier_parts[0].first() {
                        Some((_, first)) => &self.chunks[first.chunk as usize][first.offset as usize..],
                        None => self.base.key_bytes(),
                    };
                    let (keys, _) =
                        meshreel_codec::clip::layer::take_length_prefixed(keys).unwrap_or_default();
                    meshreel_codec::clip::layer::put_length_prefixed(keys, &mut out);
                }
                let segment = |s: usize| match (l, tier) {
                    (0, 0) => self.base.segment(s).unwrap_or(&[]),
                    _ => self.segment(l, tier, s).unwrap_or(&[]),
                };
                layer::write_segments((0..plan.segments()).map(segment), &mut out);
                out
            })
            .collect()
    }

    fn segment(&self, l: usize, tier: usize, s: usize) -> Option<&[u8]> {
        let (piece, at) = self.set.layers[l].tier_part(tier, s)?;
        let bytes = segment_bytes(piece, s == at, &self.chunks[piece.chunk as usize])?;
        layer::segment(bytes, piece.segments as usize, at)
    }

    /// Returns all layers as one clip of one tier, in the streamed form.
    #[cfg(feature = "encode")]
    pub fn merged(&self, skeleton: &Skeleton<'_>) -> Result<Vec<u8>, Corrupt> {
        let tiers: Vec<Vec<Vec<u8>>> = (0..self.set.layers.len()).map(|l| self.tiers(l)).collect();
        let parts: Vec<Vec<&[u8]>> = (tiers.iter()).map(|t| t.iter().map(Vec::as_slice).collect()).collect();
        layer::merge(skeleton, &self.set.table.joint_layers, &parts)
    }
}

/// The joints, samples and sizes of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerInfo {
    /// The layer's name.
    pub name: String,
    /// The numbers of its joints.
    pub joints: Vec<u32>,
    /// Its joints that are never interpolated.
    pub stepped: Vec<u32>,
    /// The clip's samples that it has, ascending.
    pub samples: Vec<u32>,
    /// For each of these samples, whether it has no residuals and equals its prediction.
    pub stripped: Vec<bool>,
    /// The bytes of its header, which is always in memory.
    pub header_bytes: usize,
    /// The bytes of each tier.
    pub tiers: Vec<usize>,
    /// The average number of bits per animated component and sample.
    pub bits_per_value: f64,
}

/// Describes interleaved layers: all bytes of the clip count as the base's.
pub(crate) fn interleaved_infos(table: &LayerTable, stored: &StreamedClip) -> Vec<LayerInfo> {
    let samples = table.samples;
    let bytes = stored.body_bytes();
    (0u8..)
        .zip(&table.layers)
        .map(|(l, record)| {
            let own = |j: &u32| table.joint_layers[*j as usize] == l;
            let joints: Vec<u32> = (0..table.joint_layers.len() as u32).filter(own).collect();
            let values = (stored.layout.components * samples as usize).max(1);
            LayerInfo {
                name: record.name.clone(),
                stepped: joints.iter().copied().filter(|j| table.stepped[*j as usize]).collect(),
                joints,
                samples: (0..samples).collect(),
                stripped: vec![false; samples as usize],
                header_bytes: if l == 0 { stored.header_bytes() } else { 0 },
                tiers: vec![if l == 0 { bytes } else { 0 }],
                bits_per_value: if l == 0 { 8.0 * bytes as f64 / values as f64 } else { 0.0 },
            }
        })
        .collect()
}

impl LayeredClip {
    /// Returns the base's first tier.
    pub fn base(&self) -> &StreamedClip {
        &self.base
    }

    /// Returns the bytes of the pieces that can be streamed, without the table that lists them.
    pub fn tier_bytes(&self) -> usize {
        self.set.table.tier_parts.iter().map(|p| p.size as usize).sum()
    }

    /// Returns the bytes of everything but the base's first tier.
    pub fn upper_bytes(&self) -> usize {
        let headers = self.set.layers[1..].iter().map(|l| l.header_bytes);
        headers.sum::<usize>() + self.tier_bytes()
    }

    /// Returns the joints, samples and sizes of each layer.
    pub fn infos(&self) -> Vec<LayerInfo> {
        (0..self.set.layers.len()).map(|l| self.info(l)).collect()
    }

    fn info(&self, l: usize) -> LayerInfo {
        let layer = &self.set.layers[l];
        let plan = &layer.plan;
        let samples = match &layer.samples {
            Some(list) => list.clone(),
            None => (0..self.set.table.samples).collect(),
        };
        let mut stripped = vec![false; samples.len()];
        let mut scratch = Scratch::default();
        for s in 0..plan.segments() {
            let have = self.layer_bytes(&[], l);
            let mut streams: [&[u8]; MAX_TIERS as usize] = [&[]; MAX_TIERS as usize];
            let Some((have, keys)) = have.as_ref().and_then(|h| Some((h, h.keys()?))) else {
                continue;
            };
            let count = have.segment(s, &mut streams);
            if decode_segment(plan, keys, s, &streams[..count], &mut scratch).is_ok() {
                for i in 1..plan.key(s + 1) - plan.key(s) {
                    stripped[plan.key(s) + i] = scratch.is_stripped(i);
                }
            }
        }
        let mut tiers: Vec<usize> =
            (layer.tier_parts.iter()).map(|tier| tier.iter().map(|(_, p)| p.size as usize).sum()).collect();
        let header_bytes = match l {
            0 => {
                // The base stores header and keys together.
                tiers[0] += self.base.body_bytes();
                self.base.header_bytes()
            }
            _ => layer.header_bytes,
        };
        let values = (plan.components * samples.len()).max(1);
        LayerInfo {
            name: self.set.table.layers[l].name.clone(),
            joints: layer.joints.clone(),
            stepped: (layer.joints.iter().copied()).filter(|j| self.set.table.stepped[*j as usize]).collect(),
            bits_per_value: 8.0 * tiers.iter().sum::<usize>() as f64 / values as f64,
            samples,
            stripped,
            header_bytes,
            tiers,
        }
    }
}

impl LayerBytes for PlayedLayer<'_> {
    fn keys(&self) -> Option<&[i32]> {
        match self.layer {
            0 => Some(self.all.base.keys()),
            l => self.all.keys.get(l).map(Vec::as_slice),
        }
    }

    fn segment<'a>(&'a self, s: usize, out: &mut [&'a [u8]; MAX_TIERS as usize]) -> usize {
        let count = self.tiers(s);
        for (tier, out) in out[..count].iter_mut().enumerate() {
            *out = match (self.layer, tier) {
                (0, 0) => self.all.base.segment(s).unwrap_or(&[]),
                _ => self.all.segment(self.layer, tier, s).unwrap_or(&[]),
            };
        }
        count
    }

    fn tiers(&self, _: usize) -> usize {
        self.tiers.min(self.all.set.layers[self.layer].plan.tiers())
    }
}

/// The error for a clip whose layers are damaged.
pub(crate) fn damaged_layers(path: &Path, name: &str, c: Corrupt) -> Error {
    error::corrupt(path, c, format!("layers of clip {name}"))
}
