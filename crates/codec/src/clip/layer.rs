//! Layers of a clip: some joints matter always, others may be loaded later or never. Defines the table of
//! layers, extracts one layer from a clip, and merges layers again. Exact.
//!
//! ```text
//! table     varint clip · varint samples · varint layers (1 … 16) · per layer: length-prefixed name · f64 step · list of extra samples · length-prefixed header
//!           list of tier parts · per joint a byte: layer in bits 0–3, bit 7: stepped
//! tier part       layer u8 · tier u8 · varints: number of its chunk among those of kind 10, offset in it, size, segments; sorted by layer, tier and segment. All tiers except the
//!           base's first consist of tier parts. The bytes of a part are those of its tier for that many segments: their sizes, then the segments; the very first part of a layer has the layer's keys before these
//! step      0: the layer has all samples; else the samples nearest to 0, step, 2·step …, and the last sample; extra samples are varints, each the distance to the
//!           one before (for the first: to sample 0)
//! header    of the layer's streamed form, as in side information; empty for the first layer, whose header stands before its samples
//! interleaved     varint clip · varint samples · varint layers + 32 · per layer: length-prefixed name · list of stepped joints, each the distance to the one before (for the
//!                 first: to joint 0) · varint joints · per joint its layer, 4 bits, the first in the lowest bits; padded to a whole byte
//! ```
//!
//! Layers that are streamed are clips of their own, in which the joints of all other layers are in the rest
//! pose. The steps of a joint depend on its layer alone (`step`), its sources are in its layer, and
//! prediction is temporal: so an extracted layer decodes to the same bits, and all layers together are the
//! whole clip.
//!
//! Interleaved layers are one clip in one stream: the table says which joints can be left out of a pose.
//!
//! Credit: N. Frechette, *Animation Compression Library*, 2017–2024: splitting after quantization by
//! stripping the bind pose.

use crate::Corrupt;
use crate::bytes::{Cursor, put_varint};
pub use crate::bytes::{put_length_prefixed, take_length_prefixed};
use crate::clip::streamed::{self, ClipLayout, STRIPPED, SegmentEnds};
#[cfg(feature = "encode")]
use crate::clip::streamed::{ClipResiduals, SampleResiduals};
pub use crate::clip::tracks::layer_components;
use crate::clip::{
    ClipHeader, ClipSplit, ComponentSource, RotationSubTrack, Skeleton, VectorSubTrack, header, schedule,
};
use crate::sort;

/// The largest number of layers of a clip. Part of the format.
pub const MAX_LAYERS: usize = 16;
/// Flag of a joint that is never interpolated.
const STEPPED: u8 = 0x80;
/// Added to the number of layers if they are interleaved.
const INTERLEAVED: u32 = 32;

/// The samples of its clip that a layer has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerSamples {
    /// 0: all samples; else the samples nearest to multiples of this number, which is ≥ 1, and the last
    /// sample.
    pub step: f64,
    /// Additional samples, in rising order, above 0.
    pub extra: Vec<u32>,
}

impl LayerSamples {
    /// Returns the sample numbers in rising order, for a clip of `samples` samples; `None` if the layer has
    /// all.
    pub fn list(&self, samples: u32) -> Option<Vec<u32>> {
        if self.step == 0.0 || samples == 0 {
            return None;
        }
        let last = samples - 1;
        let regular = (0..u64::from(samples))
            .map(|i| (i as f64 * self.step + 0.5).floor())
            .take_while(|at| *at < f64::from(last))
            .map(|at| at as u32);
        let mut list: Vec<u32> = regular.chain(self.extra.iter().copied()).collect();
        list.push(last);
        sort::unstable(&mut list);
        list.dedup();
        Some(list)
    }

    /// Returns an upper bound of the number of samples.
    pub fn max_count(&self, samples: u32) -> u64 {
        match self.step {
            0.0 => u64::from(samples),
            step => (f64::from(samples) / step) as u64 + 2 + self.extra.len() as u64,
        }
    }
}

/// A layer of a clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerRecord {
    /// The name.
    pub name: String,
    /// The samples that the layer has.
    pub samples: LayerSamples,
    /// The header of its streamed form, as [`crate::clip::header`] writes it; empty for the first layer.
    pub header: Vec<u8>,
}

/// A part of a tier of a layer, in a chunk that can be streamed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierPart {
    /// The number of the layer.
    pub layer: u8,
    /// The number of the tier.
    pub tier: u8,
    /// The number of its chunk among the file's chunks of tiers.
    pub chunk: u32,
    /// Offset in that chunk, in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// The number of segments.
    pub segments: u32,
}

/// The layers of a clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerTable {
    /// The number of the clip in the file.
    pub clip: u32,
    /// The number of samples of the whole clip; each layer has some of them.
    pub samples: u32,
    /// The layers; the first is the base.
    pub layers: Vec<LayerRecord>,
    /// The places of all tiers except the base's first one, which is stored with the clip.
    pub tier_parts: Vec<TierPart>,
    /// The layer of each joint.
    pub joint_layers: Vec<u8>,
    /// For each joint, `true` if it keeps the value of the earlier sample until the next.
    pub stepped: Vec<bool>,
    /// `true` if all layers are in the clip's own stream. The table then has no headers and no parts of
    /// tiers, and all layers have all samples.
    pub interleaved: bool,
}

/// Appends a table.
#[cfg(feature = "encode")]
pub fn encode(table: &LayerTable, out: &mut Vec<u8>) {
    put_varint(table.clip, out);
    put_varint(table.samples, out);
    if table.interleaved {
        return encode_interleaved(table, out);
    }
    put_varint(table.layers.len() as u32, out);
    for layer in &table.layers {
        put_length_prefixed(layer.name.as_bytes(), out);
        out.extend_from_slice(&layer.samples.step.to_le_bytes());
        put_varint(layer.samples.extra.len() as u32, out);
        let mut last = 0;
        for &extra in &layer.samples.extra {
            put_varint(extra - last, out);
            last = extra;
        }
        put_length_prefixed(&layer.header, out);
    }
    put_varint(table.tier_parts.len() as u32, out);
    for p in &table.tier_parts {
        out.extend([p.layer, p.tier]);
        for value in [p.chunk, p.offset, p.size, p.segments] {
            put_varint(value, out);
        }
    }
    let flags = |&stepped: &bool| if stepped { STEPPED } else { 0 };
    out.extend((table.joint_layers.iter().zip(&table.stepped)).map(|(of, s)| of | flags(s)));
}

#[cfg(feature = "encode")]
fn encode_interleaved(table: &LayerTable, out: &mut Vec<u8>) {
    put_varint(table.layers.len() as u32 + INTERLEAVED, out);
    table.layers.iter().for_each(|layer| put_length_prefixed(layer.name.as_bytes(), out));
    let stepped = (0u32..).zip(&table.stepped).filter(|(_, stepped)| **stepped);
    let stepped: Vec<u32> = stepped.map(|(j, _)| j).collect();
    put_varint(stepped.len() as u32, out);
    let mut last = 0;
    for joint in stepped {
        put_varint(joint - last, out);
        last = joint;
    }
    put_varint(table.joint_layers.len() as u32, out);
    let pair = |pair: &[u8]| pair[0] | pair.get(1).map_or(0, |second| second << 4);
    out.extend(table.joint_layers.chunks(2).map(pair));
}

/// Decodes the part of an interleaved table after the number of layers.
fn decode_interleaved(
    mut cursor: Cursor<'_>,
    count: usize,
    table: LayerTable,
) -> Result<LayerTable, Corrupt> {
    let mut table = LayerTable { interleaved: true, ..table };
    for _ in 0..count {
        table.layers.push(LayerRecord { name: name(&mut cursor)?, ..LayerRecord::default() });
    }
    let listed = cursor.varint()? as usize;
    if listed > cursor.left() {
        return Err(Corrupt("clip layers: stepped joints end early"));
    }
    let gaps = (0..listed).map(|_| cursor.varint()).collect::<Result<Vec<_>, _>>()?;
    let joints = cursor.varint()? as usize;
    if joints.div_ceil(2) != cursor.left() {
        return Err(Corrupt("clip layers: joints end early, or there is something behind them"));
    }
    let bytes = cursor.bytes(joints.div_ceil(2))?;
    table.joint_layers = bytes.iter().flat_map(|pair| [pair & 15, pair >> 4]).collect();
    if table.joint_layers.iter().any(|of| usize::from(*of) >= count)
        || table.joint_layers.get(joints) > Some(&0)
    {
        return Err(Corrupt("clip layers: a joint of a layer that is not there"));
    }
    table.joint_layers.truncate(joints);
    table.stepped = vec![false; joints];
    let mut joint = 0u32;
    for (i, gap) in gaps.into_iter().enumerate() {
        joint = joint.checked_add(gap).filter(|_| gap > 0 || i == 0).unwrap_or(u32::MAX);
        match table.stepped.get_mut(joint as usize) {
            Some(stepped) => *stepped = true,
            None => return Err(Corrupt("clip layers: stepped joints are out of order")),
        }
    }
    Ok(table)
}

fn name(cursor: &mut Cursor<'_>) -> Result<String, Corrupt> {
    let size = cursor.varint()? as usize;
    let name = cursor.bytes(size)?.to_vec();
    String::from_utf8(name).map_err(|_| Corrupt("clip layers: a name is not UTF-8"))
}

/// Decodes a table from all of `bytes`.
pub fn decode(bytes: &[u8]) -> Result<LayerTable, Corrupt> {
    let mut cursor = Cursor::new(bytes);
    let mut table = LayerTable { clip: cursor.varint()?, samples: cursor.varint()?, ..LayerTable::default() };
    let count = cursor.varint()?;
    let (interleaved, count) = match count.checked_sub(INTERLEAVED) {
        Some(count) => (true, count as usize),
        None => (false, count as usize),
    };
    if !(1..=MAX_LAYERS).contains(&count) || table.samples == 0 {
        return Err(Corrupt("clip layers: too many, or none"));
    }
    if interleaved {
        return decode_interleaved(cursor, count, table);
    }
    for i in 0..count {
        let name = name(&mut cursor)?;
        let step = cursor.f64()?;
        if step != 0.0 && !(step >= 1.0 && step < f64::from(u32::MAX)) {
            return Err(Corrupt("clip layers: a layer's rate is out of range"));
        }
        let more = cursor.varint()? as usize;
        if more > cursor.left() {
            return Err(Corrupt("clip layers: a layer's samples end early"));
        }
        let mut extra = Vec::with_capacity(more);
        let mut last = 0u32;
        for _ in 0..more {
            let gap = cursor.varint()?;
            match last.checked_add(gap) {
                Some(at) if gap > 0 && at < table.samples => last = at,
                _ => return Err(Corrupt("clip layers: a layer's samples are out of order")),
            }
            extra.push(last);
        }
        let size = cursor.varint()? as usize;
        let header = cursor.bytes(size)?.to_vec();
        if (i == 0) != header.is_empty() {
            return Err(Corrupt("clip layers: a layer without a header, or a base with two"));
        }
        table.layers.push(LayerRecord { name, samples: LayerSamples { step, extra }, header });
    }
    let part_count = cursor.varint()? as usize;
    if part_count > cursor.left() / 6 {
        return Err(Corrupt("clip layers: parts of tiers end early"));
    }
    for _ in 0..part_count {
        let [layer, tier] = cursor.array()?;
        let part = TierPart {
            layer,
            tier,
            chunk: cursor.varint()?,
            offset: cursor.varint()?,
            size: cursor.varint()?,
            segments: cursor.varint()?,
        };
        let place = |p: &TierPart| (p.layer, p.tier);
        let ordered = table.tier_parts.last().is_none_or(|last| place(last) <= place(&part));
        let sane = usize::from(layer) < count && u32::from(tier) < schedule::MAX_TIERS;
        // The size of a segment takes at least a byte.
        if !ordered || !sane || (layer, tier) == (0, 0) || part.segments > part.size {
            return Err(Corrupt(
                "clip layers: a part of a tier out of order, too small, or of a tier that is not there",
            ));
        }
        table.tier_parts.push(part);
    }
    let left = cursor.left();
    for &byte in cursor.bytes(left)? {
        let layer = byte & !STEPPED;
        if usize::from(layer) >= count {
            return Err(Corrupt("clip layers: a joint of a layer that is not there"));
        }
        table.joint_layers.push(layer);
        table.stepped.push(byte & STEPPED != 0);
    }
    Ok(table)
}

/// Extracts a layer: its header and the residuals of its joints, from a clip whose layers have their sources
/// within themselves.
#[cfg(feature = "encode")]
pub fn extract_layer(
    skeleton: &Skeleton<'_>,
    plan: &ClipLayout,
    layer: u8,
    (keys, segments): (&[SampleResiduals], &[Vec<SampleResiduals>]),
) -> Result<(ClipLayout, ClipResiduals), Corrupt> {
    let kept = layer_components(&plan.header, layer);
    let inside = |s: &ComponentSource| s.weight == 0 || kept.binary_search(&(s.component as usize)).is_ok();
    if !(kept.iter()).all(|&c| plan.header.sources[c].iter().all(inside)) {
        return Err(Corrupt("a layer that needs another one"));
    }
    let own = ClipLayout::new(skeleton, plan.header.layer_header(layer))?;
    let part =
        |r: &SampleResiduals| SampleResiduals { shift: r.shift, k: kept.iter().map(|&c| r.k[c]).collect() };
    let all = |list: &[SampleResiduals]| list.iter().map(part).collect::<Vec<_>>();
    let segments = segments.iter().map(|s| all(s)).collect();
    Ok((own, (all(keys), segments)))
}

/// Merges all layers of a clip into one clip of one tier, whose poses are those of the layers together.
/// `parts` holds the bytes of the tiers of each layer, the first of which begins with the header. All layers
/// must have the same samples; layers that were extracted from one clip give that clip again.
#[cfg(feature = "encode")]
pub fn merge(skeleton: &Skeleton<'_>, layer_of: &[u8], parts: &[Vec<&[u8]>]) -> Result<Vec<u8>, Corrupt> {
    let n = skeleton.parents.len();
    if layer_of.len() != n || layer_of.iter().any(|l| usize::from(*l) >= parts.len()) {
        return Err(Corrupt("clip layers: a joint of a layer that is not there"));
    }
    let parts = (parts.iter())
        .map(|tiers| streamed::extract_residuals(skeleton, tiers))
        .collect::<Result<Vec<_>, _>>()?;
    let merged = MergedHeader::new(layer_of, &parts)?;
    let plan = ClipLayout::new(skeleton, merged.header)?;
    let keys = (0..plan.keys())
        .map(|i| merge_residuals(&merged.origins, parts.iter().map(|(_, c)| &c.0[i]).collect()))
        .collect::<Result<Vec<_>, _>>()?;
    let samples_of = |s: usize| {
        let count = parts[0].1.1[s].len();
        (0..count)
            .map(|i| merge_residuals(&merged.origins, parts.iter().map(|(_, c)| &c.1[s][i]).collect()))
            .collect::<Result<Vec<_>, _>>()
    };
    let segments = (0..plan.segments()).map(samples_of).collect::<Result<Vec<_>, _>>()?;
    let mut out = Vec::new();
    streamed::encode(&plan, &keys, &segments, &mut out);
    Ok(out)
}

/// The header of the merged clip, and the origin of its components.
#[cfg(feature = "encode")]
struct MergedHeader {
    header: ClipHeader,
    /// For each component: its layer, and its number within that layer.
    origins: Vec<(usize, usize)>,
}

#[cfg(feature = "encode")]
impl MergedHeader {
    /// Takes from each layer in `parts` the sub-tracks of the joints that `joint_layers` assigns to it.
    fn new(layer_of: &[u8], parts: &[(ClipLayout, ClipResiduals)]) -> Result<MergedHeader, Corrupt> {
        let Some(((first, _), others)) = parts.split_first() else {
            return Err(Corrupt("a clip without layers"));
        };
        if !(others.iter()).all(|(plan, _)| same_samples(&first.header, &plan.header)) {
            return Err(Corrupt("layers of different samples or steps"));
        }
        let n = layer_of.len();
        let mut header = ClipHeader {
            rotations: vec![RotationSubTrack::Default; n],
            translations: vec![VectorSubTrack::Default; n],
            scales: vec![VectorSubTrack::Default; n],
            sources: Vec::new(),
            starts: Vec::new(),
            split: ClipSplit { layers: layer_of.to_vec(), tiers: 0, keys: first.header.split.keys.clone() },
            ..first.header.clone()
        };
        let mut from: Vec<(usize, usize)> = Vec::new();
        let mut next = vec![0; parts.len()];
        for (j, &layer) in layer_of.iter().enumerate() {
            let layer = usize::from(layer);
            let own = &parts[layer].0.header;
            header.rotations[j] = own.rotations[j];
            header.translations[j] = own.translations[j];
            header.scales[j] = own.scales[j];
            for _ in 0..own.joint_components(j) {
                from.push((layer, next[layer]));
                next[layer] += 1;
            }
        }
        if (parts.iter().zip(&next)).any(|((plan, _), next)| plan.components != *next) {
            return Err(Corrupt("a layer that has joints of another one"));
        }
        for &(layer, c) in &from {
            let own = &parts[layer].0.header;
            let number = |component: u32| {
                let at = from.iter().position(|at| *at == (layer, component as usize));
                at.unwrap_or(0) as u32
            };
            header.starts.push(own.starts[c]);
            header.sources.push(own.sources[c].map(|s| match s.weight {
                0 => s,
                _ => ComponentSource { component: number(s.component), weight: s.weight },
            }));
        }
        Ok(MergedHeader { header, origins: from })
    }
}

/// Returns `true` if the layers with these headers have the same samples, keys and steps.
#[cfg(feature = "encode")]
fn same_samples(a: &ClipHeader, b: &ClipHeader) -> bool {
    let key = |h: &ClipHeader| {
        let (base, fps) = (h.base.to_bits(), h.fps.to_bits());
        (h.samples, fps, base, h.spread, h.segment_log2)
    };
    key(a) == key(b) && a.split.keys == b.split.keys
}

/// Merges the residuals that each layer has of one sample (`samples`). The steps of the result are as fine as
/// those of the finest layer; a stripped layer contributes zeros if others are not stripped.
#[cfg(feature = "encode")]
fn merge_residuals(
    from: &[(usize, usize)],
    samples: Vec<&SampleResiduals>,
) -> Result<SampleResiduals, Corrupt> {
    let shift = samples.iter().map(|r| r.shift).max().unwrap_or(0);
    let finer = |r: &SampleResiduals, k: i32| match r.shift {
        STRIPPED => 0,
        own => i64::from(k) << (shift - own),
    };
    let k = (from.iter()).map(|&(layer, c)| finer(samples[layer], samples[layer].k[c])).collect::<Vec<_>>();
    match k.iter().all(|k| k.unsigned_abs() < 1 << 28) {
        true => Ok(SampleResiduals { shift, k: k.iter().map(|&k| k as i32).collect() }),
        false => Err(Corrupt("clip layers: a residual that is too large")),
    }
}

/// Encodes a header as [`header::encode`] writes it: the beginning of the first tier of the streamed form,
/// after its size.
#[cfg(feature = "encode")]
pub fn header_bytes(header: &ClipHeader) -> Vec<u8> {
    let mut bytes = Vec::new();
    header::encode(header, &mut bytes);
    bytes
}

/// Cuts the bytes of a tier (sizes of all `segments` segments, then the segments) into parts of about `most`
/// bytes and at least one segment. Returns the number of segments and the bytes of each part. The first part
/// begins with the first `head` bytes of the tier.
#[cfg(feature = "encode")]
pub fn split_tier(
    bytes: &[u8],
    head: usize,
    segments: usize,
    most: usize,
) -> Result<Vec<(u32, Vec<u8>)>, Corrupt> {
    let body = &bytes[head.min(bytes.len())..];
    let ends = SegmentEnds::read(segments, body)?;
    let mut out: Vec<(u32, Vec<u8>)> = Vec::new();
    let mut next = 0;
    while next < segments || out.is_empty() {
        let mut size = 0;
        let first = next;
        while next < segments && (next == first || size < most) {
            size += ends.segment(next, body).map_or(0, <[u8]>::len);
            next += 1;
        }
        let mut part = match first {
            0 => bytes[..head].to_vec(),
            _ => Vec::new(),
        };
        write_segments((first..next).map(|s| ends.segment(s, body).unwrap_or(&[])), &mut part);
        out.push(((next - first) as u32, part));
    }
    Ok(out)
}

/// Appends the sizes of the segments, then the segments.
#[cfg(feature = "encode")]
pub fn write_segments<'a>(segments: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Vec<u8>) {
    (segments.clone()).for_each(|segment| put_varint(segment.len() as u32, out));
    segments.for_each(|segment| out.extend_from_slice(segment));
}

/// Returns segment `s` of a part of a tier that has `segments` segments.
pub fn segment(bytes: &[u8], segments: usize, s: usize) -> Option<&[u8]> {
    let mut cursor = Cursor::new(bytes);
    let (mut start, mut size) = (0usize, 0);
    for i in 0..segments {
        let own = cursor.varint().ok()? as usize;
        match i.cmp(&s) {
            std::cmp::Ordering::Less => start += own,
            std::cmp::Ordering::Equal => size = own,
            std::cmp::Ordering::Greater => {}
        }
    }
    let start = start + cursor.used();
    bytes.get(start..start + size).filter(|_| s < segments)
}

/// Checks that a part of a tier is as long as the sizes of its segments say.
pub fn check_segments(bytes: &[u8], segments: usize) -> Result<(), Corrupt> {
    let mut cursor = Cursor::new(bytes);
    let mut sum = 0;
    for _ in 0..segments {
        sum += cursor.varint()? as usize;
    }
    match cursor.left() == sum {
        true => Ok(()),
        false => Err(Corrupt("sizes of a clip's segments do not sum up")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LayerTable {
        LayerTable {
            clip: 3,
            samples: 1000,
            layers: vec![
                LayerRecord { name: "base".into(), ..LayerRecord::default() },
                LayerRecord {
                    name: "cosmetic".into(),
                    samples: LayerSamples { step: 3.0, extra: vec![4, 5, 700] },
                    header: vec![1, 2, 3],
                },
            ],
            tier_parts: vec![
                TierPart { layer: 0, tier: 1, chunk: 2, offset: 300, size: 70, segments: 8 },
                TierPart { layer: 1, segments: 8, size: 9, ..TierPart::default() },
            ],
            joint_layers: vec![0, 1, 1, 0],
            stepped: vec![false, true, false, false],
            interleaved: false,
        }
    }

    /// Returns a table of two interleaved layers, with an odd number of joints.
    fn interleaved() -> LayerTable {
        let record = |name: &str| LayerRecord { name: name.into(), ..LayerRecord::default() };
        LayerTable {
            layers: vec![record("base"), record("cosmetic")],
            tier_parts: Vec::new(),
            joint_layers: vec![0, 1, 1, 0, 1],
            stepped: vec![false, true, false, false, true],
            interleaved: true,
            ..table()
        }
    }

    #[test]
    fn interleaved_tables_come_back_and_are_small() {
        let mut bytes = Vec::new();
        encode(&interleaved(), &mut bytes);
        assert_eq!(decode(&bytes), Ok(interleaved()));
        // The sum of: clip, samples, layers, two names, two stepped joints, and half a byte per joint.
        assert_eq!(bytes.len(), 1 + 2 + 1 + 5 + 9 + 3 + 1 + 3);
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end}");
        }
        for at in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            if let Ok(table) = decode(&bytes) {
                let mut again = Vec::new();
                encode(&table, &mut again);
                assert_eq!(again, bytes, "{at}");
            }
        }
    }

    #[test]
    fn tables_come_back_and_every_truncation_is_refused() {
        let mut bytes = Vec::new();
        encode(&table(), &mut bytes);
        assert_eq!(decode(&bytes), Ok(table()));
        // The joints take all bytes that are left.
        for end in 0..bytes.len() - 4 {
            assert!(decode(&bytes[..end]).is_err(), "{end}");
        }
        for at in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            if let Ok(table) = decode(&bytes) {
                for layer in &table.layers {
                    if layer.samples.max_count(table.samples) < 10_000 {
                        let list = layer.samples.list(table.samples);
                        let count = list.map_or(table.samples as usize, |list| list.len());
                        assert!(count as u64 <= layer.samples.max_count(table.samples));
                    }
                }
            }
        }
    }

    #[test]
    fn samples_are_the_nearest_with_both_ends() {
        let list = |step: f64, extra: &[u32], n: u32| {
            let extra = extra.to_vec();
            LayerSamples { step, extra }.list(n)
        };
        assert_eq!(list(0.0, &[], 5), None);
        assert_eq!(list(3.0, &[], 8), Some(vec![0, 3, 6, 7]));
        assert_eq!(list(2.5, &[], 11), Some(vec![0, 3, 5, 8, 10]));
        assert_eq!(list(4.0, &[1, 2, 4], 9), Some(vec![0, 1, 2, 4, 8]));
        assert_eq!(list(1.0, &[], 3), Some(vec![0, 1, 2]));
        assert_eq!(list(9.0, &[], 1), Some(vec![0]));
        assert_eq!(list(9.0, &[], 2), Some(vec![0, 1]));
    }
}
