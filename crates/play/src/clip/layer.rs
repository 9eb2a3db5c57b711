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
    ClipLayout, Scratch, StreamedClip, decode_keys_with, decode_segment, max_key_codes,
};
use meshreel_codec::transform::Transform;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// The layers of a clip: their table, and what is derived from it and their headers.
pub(super) struct LayerSet {
    pub table: LayerTable,
    pub layers: Vec<LayerPlan>,
    pub fps: f64,
    pub start: f64,
    rest: Vec<Transform>,
}

/// One layer.
pub(super) struct LayerPlan {
    pub plan: ClipLayout,
    /// The samples that it has, if not all.
    samples: Option<Vec<u32>>,
    joints: Vec<u32>,
    /// The bytes of its header.
    pub header_bytes: usize,
    /// Per tier its pieces, with the first segment of each. The base's first tier has none.
    pub tier_parts: Vec<Vec<(u32, TierPart)>>,
}

/// The chunks of tiers of a file.
pub(super) struct LoadedChunks {
    /// For each chunk its bytes as words, if it is in memory.
    pub words: Vec<Option<Vec<u64>>>,
    pub sizes: Vec<u32>,
}

impl LoadedChunks {
    /// Returns the bytes of a chunk; `None` if it is not in memory.
    pub fn bytes(&self, chunk: usize) -> Option<&[u8]> {
        let words = self.words.get(chunk)?.as_deref()?;
        bytemuck::cast_slice(words).get(..self.sizes[chunk] as usize)
    }
}

/// The words of the keys of a layer over the base, and whether it is in memory.
pub(super) struct LayerKeys {
    pub words: Vec<i32>,
    pub is_loaded: bool,
}

/// The loaded chunks and keys of a database, as samplers see them.
pub(super) struct Published {
    pub chunks: LoadedChunks,
    /// The keys of each clip's layers over the base.
    pub keys: Vec<Vec<LayerKeys>>,
}

impl Published {
    /// Nothing is loaded yet of chunks of these sizes; the keys are added when the clips are known.
    pub fn new(sizes: Vec<u32>) -> Published {
        let words = sizes.iter().map(|_| None).collect();
        Published { chunks: LoadedChunks { words, sizes }, keys: Vec::new() }
    }
}

/// The memory that a clip in layers is played from.
enum LayerMemory {
    /// All chunks of the file, and the keys of the clip's layers over the base.
    Whole(Arc<LoadedChunks>, Vec<LayerKeys>),
    /// The loaded chunks of a database, and the number of the clip in it.
    Streamed(Arc<RwLock<Published>>, usize),
}

/// A clip in layers.
pub(super) struct LayeredClip {
    pub set: LayerSet,
    pub base: StreamedClip,
    memory: LayerMemory,
}

/// One layer of a clip, limited to `tiers` tiers.
struct PlayedLayer<'a> {
    clip: &'a LayeredClip,
    chunks: &'a LoadedChunks,
    keys: &'a [i32],
    layer: usize,
    tiers: usize,
}

impl PlayedLayer<'_> {
    /// Returns a segment of a tier; `None` if it is not in memory.
    fn tier_segment(&self, tier: usize, s: usize) -> Option<&[u8]> {
        match (self.layer, tier) {
            (0, 0) => self.clip.base.segment(s),
            _ => self.clip.segment(self.chunks, self.layer, tier, s),
        }
    }

    /// Collects the bytes of segment `s`, tier by tier up to the first that is missing; returns the number of
    /// tiers.
    fn segment<'a>(&'a self, s: usize, out: &mut [&'a [u8]; MAX_TIERS as usize]) -> usize {
        for (tier, out) in out.iter_mut().enumerate().take(self.tiers) {
            match self.tier_segment(tier, s) {
                Some(bytes) => *out = bytes,
                None => return tier,
            }
        }
        self.tiers
    }

    /// Returns the number of tiers that [`PlayedLayer::segment`] collects.
    fn tiers(&self, s: usize) -> usize {
        let layer = &self.clip.set.layers[self.layer];
        let is_loaded = |tier: &usize| {
            let part = layer.tier_part(*tier, s);
            (self.layer, *tier) == (0, 0)
                || part.is_some_and(|(piece, _)| self.chunks.words[piece.chunk as usize].is_some())
        };
        (0..self.tiers).take_while(is_loaded).count()
    }
}

/// The memory for one place in one layer.
#[derive(Debug, Default)]
pub(super) struct LayerCursor {
    scratch: Scratch,
    /// The segment that the scratch holds, and the number of tiers that it is decoded from.
    segment: Option<(usize, usize)>,
    pose: [Vec<Transform>; 2],
    sample: [Option<(usize, usize)>; 2],
    /// The position between the first pose and the second, 0 to 1; `None` if the layer is not in memory.
    weight: Option<f64>,
}

/// The two samples around a time of a clip, and the position between them.
#[derive(Clone, Copy, Debug)]
struct SamplePosition {
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
                    layer::put_length_prefixed(&record.header, &mut sized);
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
    /// in memory, which `played` returns. After an error `pose` is unchanged if all joints are rounded alike.
    fn pose<'a>(
        &self,
        played: impl Fn(usize) -> Option<PlayedLayer<'a>>,
        cursors: &mut [LayerCursor],
        query: &Query<'_>,
        pose: &mut (impl Pose + ?Sized),
    ) -> Result<(), Corrupt> {
        let spot = self.sample_position(query.seconds, query.repeats);
        // Layers have samples of their own: joints that are rounded in the same way are handled together.
        for rounding in query.all_roundings() {
            self.decode(&played, cursors, spot, rounding)?;
            for j in 0..self.rest.len() {
                if query.rounding_of(j) == rounding && query.wants(j) && pose.wants(j) {
                    pose.set(j, &self.local(cursors, j));
                }
            }
        }
        Ok(())
    }

    /// Writes the local transforms of all joints at a sample.
    fn sample<'a>(
        &self,
        played: impl Fn(usize) -> Option<PlayedLayer<'a>>,
        cursors: &mut [LayerCursor],
        sample: usize,
        pose: &mut [Transform],
    ) -> Result<(), Corrupt> {
        self.decode(&played, cursors, self.exact_position(sample), Rounding::None)?;
        for (j, local) in pose.iter_mut().enumerate().take(self.rest.len()) {
            *local = self.local(cursors, j);
        }
        Ok(())
    }

    /// Brings every layer's cursor to the poses around a place; cursors of layers that are not in memory
    /// become empty.
    fn decode<'a>(
        &self,
        played: impl Fn(usize) -> Option<PlayedLayer<'a>>,
        cursors: &mut [LayerCursor],
        spot: SamplePosition,
        rounding: Rounding,
    ) -> Result<(), Corrupt> {
        for (l, (layer, cursor)) in self.layers.iter().zip(cursors).enumerate() {
            if let Some(played) = played(l) {
                cursor.weight = Some(layer.decode_around(self.samples(), &played, cursor, spot, rounding)?);
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
    fn joint<'a>(
        &self,
        played: impl Fn(usize) -> Option<PlayedLayer<'a>>,
        cursors: &mut [LayerCursor],
        query: &Query<'_>,
        joint: usize,
    ) -> Result<JointPose, Corrupt> {
        let l = usize::from(self.table.joint_layers[joint]);
        let (layer, cursor) = (&self.layers[l], &mut cursors[l]);
        let mut out = JointPose { local: self.rest[joint], bind: true };
        if let Some(played) = played(l) {
            let spot = self.sample_position(query.seconds, query.repeats);
            let rounding = query.rounding_of(joint);
            let part = layer.decode_around(self.samples(), &played, cursor, spot, rounding)?;
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
            _ => ([a, a], 0.0),
        }
    }

    /// Brings the poses of a cursor to those around a place, and returns the position between them.
    fn decode_around(
        &self,
        samples: usize,
        played: &PlayedLayer<'_>,
        cursor: &mut LayerCursor,
        spot: SamplePosition,
        rounding: Rounding,
    ) -> Result<f64, Corrupt> {
        let (from, part) = self.local_samples(samples, spot, rounding);
        for (slot, sample) in from.into_iter().enumerate() {
            self.decode_sample(played, cursor, slot, sample, from[1])?;
            if part == 0.0 {
                break;
            }
        }
        Ok(part)
    }

    /// Brings the pose of `slot` to that of `sample`, from the tiers in memory.
    fn decode_sample(
        &self,
        played: &PlayedLayer<'_>,
        cursor: &mut LayerCursor,
        slot: usize,
        sample: usize,
        other: usize,
    ) -> Result<(), Corrupt> {
        let (plan, keys) = (&self.plan, played.keys);
        let place = plan.locate_sample(sample);
        let tiers = match place {
            Ok(_) => 0,
            Err((segment, _)) => played.tiers(segment),
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
                let mut streams: [&[u8]; MAX_TIERS as usize] = [&[]; MAX_TIERS as usize];
                let count = played.segment(segment, &mut streams);
                let held = cursor.segment.take();
                if held != Some((segment, tiers)) {
                    cursor.scratch.begin_segment(plan, keys, segment)?;
                }
                let codes = cursor.scratch.decode_sample(plan, &streams[..count], at)?;
                cursor.segment = Some((segment, tiers));
                plan.pose(codes, pose);
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
fn segment_bytes<'a>(piece: &TierPart, first: bool, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let bytes = bytes.get(piece.offset as usize..)?.get(..piece.size as usize)?;
    match first && piece.layer > 0 && piece.tier == 0 {
        true => {
            let (_, used) = layer::take_length_prefixed(bytes).ok()?;
            bytes.get(used..)
        }
        false => Some(bytes),
    }
}

impl LayerSet {
    /// Returns memory for the keys of the layers over the base, which are not loaded yet.
    pub fn unloaded_keys(&self) -> Vec<LayerKeys> {
        let words = |layer: &LayerPlan| vec![0; layer.plan.keys() * layer.plan.codes_per_sample];
        let layers = self.layers.iter().skip(1);
        layers.map(|layer| LayerKeys { words: words(layer), is_loaded: false }).collect()
    }

    /// Returns the pieces in a chunk: for each its layer, whether it is its tier's first, and the piece.
    fn tier_parts_of(&self, chunk: usize) -> impl Iterator<Item = (usize, bool, &TierPart)> {
        self.layers.iter().enumerate().flat_map(move |(l, layer)| {
            layer.tier_parts.iter().flat_map(move |pieces| {
                let all = pieces.iter().enumerate();
                all.filter(move |(_, (_, piece))| piece.chunk as usize == chunk)
                    .map(move |(k, (_, piece))| (l, k == 0, piece))
            })
        })
    }

    /// Returns the layers over the base whose keys are in a chunk, and the pieces that begin with them.
    fn layers_with_keys(&self, chunk: usize) -> impl Iterator<Item = (usize, &TierPart)> {
        let parts = self.tier_parts_of(chunk);
        parts.filter(|(l, first, piece)| *first && *l > 0 && piece.tier == 0).map(|(l, _, piece)| (l, piece))
    }

    /// Checks that the bytes of a chunk agree with the table.
    pub fn check_chunk(&self, chunk: usize, bytes: &[u8]) -> Result<(), Corrupt> {
        for (_, first, piece) in self.tier_parts_of(chunk) {
            let own = segment_bytes(piece, first, bytes).ok_or(Corrupt("a piece of a clip ends early"))?;
            layer::check_segments(own, piece.segments as usize)?;
        }
        Ok(())
    }

    /// Decodes the keys that are in a chunk.
    pub fn decode_keys(
        &self,
        chunk: usize,
        bytes: &[u8],
        keys: &mut [LayerKeys],
        scratch: &mut Scratch,
    ) -> Result<(), Corrupt> {
        for (l, piece) in self.layers_with_keys(chunk) {
            let (plan, own) = (&self.layers[l].plan, &mut keys[l - 1]);
            let bytes = bytes.get(piece.offset as usize..).unwrap_or(&[]);
            own.is_loaded = decode_keys_with(plan, bytes, &mut own.words, scratch).is_ok();
            if !own.is_loaded {
                return Err(Corrupt("a layer whose keys are damaged"));
            }
        }
        Ok(())
    }

    /// Invalidates the keys that were in a chunk.
    pub fn unload_keys(&self, chunk: usize, keys: &mut [LayerKeys]) {
        self.layers_with_keys(chunk).for_each(|(l, _)| keys[l - 1].is_loaded = false);
    }
}

impl LayeredClip {
    /// Makes a clip that is in memory whole; checks its pieces and decodes its keys.
    pub fn whole(
        set: LayerSet,
        base: StreamedClip,
        chunks: &Arc<LoadedChunks>,
    ) -> Result<LayeredClip, Corrupt> {
        let (mut keys, mut scratch) = (set.unloaded_keys(), Scratch::default());
        set.layers.iter().for_each(|layer| scratch.reserve(&layer.plan));
        for chunk in 0..chunks.words.len() {
            let bytes = chunks.bytes(chunk).unwrap_or(&[]);
            set.check_chunk(chunk, bytes)?;
            set.decode_keys(chunk, bytes, &mut keys, &mut scratch)?;
        }
        match keys.iter().all(|own| own.is_loaded) {
            true => Ok(LayeredClip { set, base, memory: LayerMemory::Whole(chunks.clone(), keys) }),
            false => Err(Corrupt("a layer without keys")),
        }
    }

    /// Makes clip number `clip` of a database.
    pub fn streamed(
        set: LayerSet,
        base: StreamedClip,
        published: &Arc<RwLock<Published>>,
        clip: usize,
    ) -> LayeredClip {
        LayeredClip { set, base, memory: LayerMemory::Streamed(published.clone(), clip) }
    }

    /// Runs something on what is in memory. Of a database it stays there meanwhile.
    fn with_memory<T>(&self, run: impl FnOnce(&LoadedChunks, &[LayerKeys]) -> T) -> T {
        match &self.memory {
            LayerMemory::Whole(chunks, keys) => run(chunks, keys),
            LayerMemory::Streamed(published, clip) => {
                let published = published.read().unwrap_or_else(PoisonError::into_inner);
                run(&published.chunks, &published.keys[*clip])
            }
        }
    }

    /// Returns a layer, limited to those tiers that `tiers` allows; `None` if it is not in memory, or not
    /// played.
    fn played<'a>(
        &'a self,
        (chunks, keys): (&'a LoadedChunks, &'a [LayerKeys]),
        tiers: &[usize],
        layer: usize,
    ) -> Option<PlayedLayer<'a>> {
        let allowed = tiers.get(layer).copied().unwrap_or(usize::MAX);
        let keys = match layer.checked_sub(1) {
            None => self.base.keys(),
            Some(upper) => &keys.get(upper).filter(|own| own.is_loaded)?.words,
        };
        let tiers = allowed.min(self.set.layers[layer].plan.tiers());
        (tiers > 0).then_some(PlayedLayer { clip: self, chunks, keys, layer, tiers })
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
        self.with_memory(|chunks, keys| {
            self.set.pose(|layer| self.played((chunks, keys), tiers, layer), cursors, query, pose)
        })
    }

    /// Writes the local transforms of all joints at a sample.
    pub fn sample(
        &self,
        tiers: &[usize],
        cursors: &mut [LayerCursor],
        sample: usize,
        pose: &mut [Transform],
    ) -> Result<(), Corrupt> {
        self.with_memory(|chunks, keys| {
            self.set.sample(|layer| self.played((chunks, keys), tiers, layer), cursors, sample, pose)
        })
    }

    /// Returns one joint.
    pub fn joint(
        &self,
        tiers: &[usize],
        cursors: &mut [LayerCursor],
        query: &Query<'_>,
        joint: usize,
    ) -> Result<JointPose, Corrupt> {
        self.with_memory(|chunks, keys| {
            self.set.joint(|layer| self.played((chunks, keys), tiers, layer), cursors, query, joint)
        })
    }

    /// Returns the bytes of a layer's tiers, each joined from its pieces.
    #[cfg(feature = "encode")]
    fn tiers(&self, chunks: &LoadedChunks, l: usize) -> Vec<Vec<u8>> {
        let layer = &self.set.layers[l];
        let plan = &layer.plan;
        let tier_bytes = |tier: usize| {
            let mut out = Vec::new();
            if tier == 0 {
                meshreel_codec::clip::streamed::encode_header(plan, &mut out);
                let keys = match layer.tier_parts[0].first() {
                    Some((_, first)) => chunks
                        .bytes(first.chunk as usize)
                        .and_then(|bytes| bytes.get(first.offset as usize..))
                        .unwrap_or(&[]),
                    None => self.base.key_bytes(),
                };
                let (keys, _) = layer::take_length_prefixed(keys).unwrap_or_default();
                layer::put_length_prefixed(keys, &mut out);
            }
            let segment = |s: usize| match (l, tier) {
                (0, 0) => self.base.segment(s).unwrap_or(&[]),
                _ => self.segment(chunks, l, tier, s).unwrap_or(&[]),
            };
            layer::write_segments((0..plan.segments()).map(segment), &mut out);
            out
        };
        (0..plan.tiers()).map(tier_bytes).collect()
    }

    fn segment<'a>(&self, chunks: &'a LoadedChunks, l: usize, tier: usize, s: usize) -> Option<&'a [u8]> {
        let (piece, at) = self.set.layers[l].tier_part(tier, s)?;
        let bytes = segment_bytes(piece, s == at, chunks.bytes(piece.chunk as usize)?)?;
        layer::segment(bytes, piece.segments as usize, at)
    }

    /// Returns all layers as one clip of one tier, in the streamed form.
    #[cfg(feature = "encode")]
    pub fn merged(&self, skeleton: &Skeleton<'_>) -> Result<Vec<u8>, Corrupt> {
        self.with_memory(|chunks, _| {
            let layers = 0..self.set.layers.len();
            let tiers: Vec<Vec<Vec<u8>>> = layers.map(|l| self.tiers(chunks, l)).collect();
            let parts: Vec<Vec<&[u8]>> =
                tiers.iter().map(|t| t.iter().map(Vec::as_slice).collect()).collect();
            layer::merge(skeleton, &self.set.table.joint_layers, &parts)
        })
    }
}

/// The joints, samples and sizes of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
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
pub(super) fn interleaved_infos(table: &LayerTable, stored: &StreamedClip) -> Vec<LayerInfo> {
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
        self.with_memory(|chunks, keys| {
            (0..self.set.layers.len()).map(|l| self.info((chunks, keys), l)).collect()
        })
    }

    fn info(&self, memory: (&LoadedChunks, &[LayerKeys]), l: usize) -> LayerInfo {
        let layer = &self.set.layers[l];
        let plan = &layer.plan;
        let samples = match &layer.samples {
            Some(list) => list.clone(),
            None => (0..self.set.table.samples).collect(),
        };
        let mut stripped = vec![false; samples.len()];
        let mut scratch = Scratch::default();
        if let Some(played) = self.played(memory, &[], l) {
            for s in 0..plan.segments() {
                let mut streams: [&[u8]; MAX_TIERS as usize] = [&[]; MAX_TIERS as usize];
                let count = played.segment(s, &mut streams);
                if decode_segment(plan, played.keys, s, &streams[..count], &mut scratch).is_ok() {
                    for i in 1..plan.key(s + 1) - plan.key(s) {
                        stripped[plan.key(s) + i] = scratch.is_stripped(i);
                    }
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

/// The error for a clip whose layers are damaged.
pub(super) fn damaged_layers(path: &Path, name: &str, c: Corrupt) -> Error {
    error::corrupt(path, c, format!("layers of clip {name}"))
}
