//! The keys and the head of a clip in the curve form: encoded, decoded and checked, with keys sorted by the
//! time at which they are needed.

use super::spline::{KnotSpacing, normalize};
use crate::Corrupt;
use crate::bytes::{Cursor as Bytes, put_varint};
use crate::clip::{NO_INDEX, Skeleton};
use crate::transform::Transform;

/// The largest number of samples: the time of a key has 16 bits.
pub const MAX_SAMPLES: u32 = 1 << 16;

/// The part of a joint's transform that a sub-track animates. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TransformPart {
    /// Unit quaternion x y z w.
    Rotation = 0,
    /// x y z.
    Translation = 1,
    /// x y z.
    Scale = 2,
}

/// All parts.
pub const TRANSFORM_PARTS: [TransformPart; 3] =
    [TransformPart::Rotation, TransformPart::Translation, TransformPart::Scale];

/// The kind of a sub-track, with its constant value or its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CurveSubTrack {
    /// The value of the rest pose.
    Default,
    /// One value; vectors have 0 as their fourth component.
    Constant([f32; 4]),
    /// Keys; those of vectors are within this range.
    Animated(ValueRange),
}

/// The range of the values of a vector sub-track. Unused for rotations.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ValueRange {
    /// The lowest value of each component.
    pub low: [f32; 3],
    /// The highest value minus the lowest, not negative.
    pub size: [f32; 3],
}

/// A key as it is stored: 80 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The joint, below 2¹⁴.
    pub joint: u16,
    /// The part of the joint's transform.
    pub part: TransformPart,
    /// The number of the sample.
    pub time: u16,
    /// The value: 48 bits, or 32 bits for a short rotation.
    pub payload: u64,
}

/// Everything of a clip in the curve form except its keys.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveHead {
    /// The spacing of knots.
    pub knots: KnotSpacing,
    /// `true` if rotations have 32 bits instead of 48.
    pub short_rotations: bool,
    /// The number of samples, 1 … [`MAX_SAMPLES`].
    pub samples: u32,
    /// Samples per second, > 0.
    pub fps: f64,
    /// Time of sample 0 in seconds.
    pub start: f64,
    /// The rotation, translation and scale of each joint.
    pub sub_tracks: Vec<[CurveSubTrack; 3]>,
}

/// A clip of keys, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveClip {
    /// Everything but the keys.
    pub head: CurveHead,
    /// The keys, sorted by need.
    pub(super) keys: Vec<Key>,
    /// For each sub-track, 3 per joint: its number among the animated ones, or [`crate::clip::NO_INDEX`].
    track_indices: Vec<u32>,
    /// The joint and part of each animated sub-track.
    pub(super) tracks: Vec<(u16, TransformPart)>,
    pub(super) snapshots: Vec<Snapshot>,
}

/// Encodes a rotation as its smallest three components, 15 bits each for ±1/√2. The highest of the 48 bits is
/// 0.
pub fn encode_rotation48(q: [f32; 4]) -> u64 {
    encode_smallest_three(q, 15)
}

/// Encodes a rotation as its smallest three components, 10 bits each for ±1/√2.
pub fn encode_rotation32(q: [f32; 4]) -> u64 {
    encode_smallest_three(q, 10)
}

/// Decodes a payload of [`encode_rotation48`]; any payload gives a unit quaternion.
pub fn decode_rotation48(payload: u64) -> [f32; 4] {
    decode_smallest_three(payload, 15)
}

/// Decodes a payload of [`encode_rotation32`].
pub fn decode_rotation32(payload: u64) -> [f32; 4] {
    decode_smallest_three(payload, 10)
}

/// Encodes the three smaller components with `bits` bits each, from the lowest bit on, then the index of the
/// largest, which is taken as positive.
fn encode_smallest_three(q: [f32; 4], bits: u32) -> u64 {
    let largest = (1..4).fold(0, |best, i| match q[i].abs() > q[best].abs() {
        true => i,
        false => best,
    });
    let sign = if q[largest] < 0.0 { -1.0 } else { 1.0 };
    let most = ((1u32 << bits) - 1) as f32;
    let mut payload = (largest as u64) << (3 * bits);
    for (k, i) in (0..4).filter(|&i| i != largest).enumerate() {
        let part = q[i] * sign * std::f32::consts::FRAC_1_SQRT_2 + 0.5;
        // NaN becomes 0.
        payload |= ((part * most).round().clamp(0.0, most) as u64) << (k as u32 * bits);
    }
    payload
}

fn decode_smallest_three(payload: u64, bits: u32) -> [f32; 4] {
    let most = (1u64 << bits) - 1;
    let largest = (payload >> (3 * bits) & 3) as usize;
    let part = |k: u32| {
        let level = (payload >> (k * bits) & most) as f32;
        (level / most as f32 - 0.5) * std::f32::consts::SQRT_2
    };
    let parts = [part(0), part(1), part(2)];
    let square = parts[0] * parts[0] + parts[1] * parts[1] + parts[2] * parts[2];
    // Only in a damaged file is nothing left for the largest component.
    let large = if square < 1.0 { (1.0 - square).sqrt() } else { 0.0 };
    let mut out = [0.0; 4];
    let mut rest = parts.into_iter();
    for (i, value) in out.iter_mut().enumerate() {
        *value = match i == largest {
            true => large,
            false => rest.next().unwrap_or(0.0),
        };
    }
    normalize(out)
}

impl ValueRange {
    /// Returns the range of some values, all finite.
    pub fn from_values(values: impl IntoIterator<Item = [f32; 3]>) -> ValueRange {
        let mut low = [f32::INFINITY; 3];
        let mut high = [f32::NEG_INFINITY; 3];
        for value in values {
            for k in 0..3 {
                low[k] = low[k].min(value[k]);
                high[k] = high[k].max(value[k]);
            }
        }
        let none = low[0] > high[0];
        ValueRange {
            low: if none { [0.0; 3] } else { low },
            size: std::array::from_fn(|k| if none { 0.0 } else { high[k] - low[k] }),
        }
    }

    /// Returns the payload of a value: three u16, the nearest within the range.
    pub fn payload(&self, value: [f32; 3]) -> u64 {
        let level = |k: usize| {
            let part = (value[k] - self.low[k]) / self.size[k];
            // 0 / 0 gives 0 here.
            (part * 65535.0).round().clamp(0.0, 65535.0) as u64
        };
        level(0) | level(1) << 16 | level(2) << 32
    }

    /// Decodes a payload of [`ValueRange::payload`], with 0 as the fourth component.
    pub fn value(&self, payload: u64) -> [f32; 4] {
        let at = |k: usize| {
            let level = (payload >> (16 * k) & 0xFFFF) as f32;
            self.low[k] + self.size[k] * (level / 65535.0)
        };
        [at(0), at(1), at(2), 0.0]
    }
}

impl CurveHead {
    /// Returns the payload of a value in a sub-track.
    pub fn payload(&self, kind: &CurveSubTrack, part: TransformPart, value: [f32; 4]) -> u64 {
        let [x, y, z, _] = value;
        match (kind, part, self.short_rotations) {
            (_, TransformPart::Rotation, false) => encode_rotation48(value),
            (_, TransformPart::Rotation, true) => encode_rotation32(value),
            (CurveSubTrack::Animated(range), ..) => range.payload([x, y, z]),
            _ => 0,
        }
    }

    /// Returns the value of a payload.
    pub fn value(&self, kind: &CurveSubTrack, part: TransformPart, payload: u64) -> [f32; 4] {
        match (kind, part, self.short_rotations) {
            (_, TransformPart::Rotation, false) => decode_rotation48(payload),
            (_, TransformPart::Rotation, true) => decode_rotation32(payload),
            (CurveSubTrack::Animated(range), ..) => range.value(payload),
            _ => [0.0; 4],
        }
    }

    /// Returns the size of a key in bytes.
    pub fn key_size(&self, part: TransformPart) -> usize {
        if self.short_rotations && part == TransformPart::Rotation { 8 } else { 10 }
    }
}

/// Sorts keys by the time at which they are needed: key n + 2 of a track is needed as soon as key n is
/// passed.
#[cfg(feature = "encode")]
pub fn sort_by_need(keys: &mut Vec<Key>) {
    keys.sort_unstable_by_key(|key| (key.joint, key.part, key.time));
    let before = |i: usize| -> u16 {
        let two = i.checked_sub(2).map(|i| keys[i]);
        let same = two.filter(|k| (k.joint, k.part) == (keys[i].joint, keys[i].part));
        same.map_or(0, |k| k.time)
    };
    let mut order: Vec<(u16, Key)> = (0..keys.len()).map(|i| (before(i), keys[i])).collect();
    order.sort_by_key(|(need, key)| (*need, key.time, key.joint, key.part));
    *keys = order.into_iter().map(|(_, key)| key).collect();
}

/// Appends a clip; the keys may be in any order. Animated sub-tracks must have a key at the first and one at
/// the last sample.
#[cfg(feature = "encode")]
pub fn encode(head: &CurveHead, keys: &[Key], out: &mut Vec<u8>) {
    let knots = head.knots as u8;
    out.push(knots | u8::from(head.short_rotations) << 2);
    put_varint(head.samples, out);
    out.extend(head.fps.to_le_bytes());
    out.extend(head.start.to_le_bytes());
    let kinds = head.sub_tracks.as_flattened();
    let first = out.len();
    out.resize(first + (2 * kinds.len()).div_ceil(8), 0);
    for (i, kind) in kinds.iter().enumerate() {
        let code = match kind {
            CurveSubTrack::Default => 0,
            CurveSubTrack::Constant(_) => 1,
            CurveSubTrack::Animated(_) => 2,
        };
        out[first + i / 4] |= code << (2 * (i % 4));
    }
    for (i, kind) in kinds.iter().enumerate() {
        match (kind, TRANSFORM_PARTS[i % 3]) {
            (CurveSubTrack::Default, _) | (CurveSubTrack::Animated(_), TransformPart::Rotation) => {}
            (CurveSubTrack::Constant(q), TransformPart::Rotation) => {
                out.extend_from_slice(&encode_rotation48(*q).to_le_bytes()[..6]);
            }
            (CurveSubTrack::Constant(v), _) => v[..3].iter().for_each(|v| out.extend(v.to_le_bytes())),
            (CurveSubTrack::Animated(r), _) => {
                let numbers = r.low.iter().chain(&r.size);
                numbers.for_each(|v| out.extend(v.to_le_bytes()));
            }
        }
    }
    let mut keys = keys.to_vec();
    sort_by_need(&mut keys);
    put_varint(keys.len() as u32, out);
    for key in &keys {
        out.extend((key.joint | (key.part as u16) << 14).to_le_bytes());
        out.extend(key.time.to_le_bytes());
        out.extend_from_slice(&key.payload.to_le_bytes()[..head.key_size(key.part) - 4]);
    }
}

impl CurveClip {
    /// Decodes a clip for a skeleton. Refuses everything that an encoder does not write: keys of sub-tracks
    /// that are not animated, keys out of order, or a missing first or last key.
    pub fn decode(bytes: &[u8], skeleton: &Skeleton<'_>) -> Result<CurveClip, Corrupt> {
        let mut c = Bytes::new(bytes);
        let flags = c.u8()?;
        let knots = match flags & 3 {
            0 => KnotSpacing::Uniform,
            1 => KnotSpacing::Chordal,
            2 => KnotSpacing::Centripetal,
            _ => return Err(Corrupt("curves: unknown knots")),
        };
        if flags > 7 {
            return Err(Corrupt("curves: unknown flags"));
        }
        let samples = c.varint()?;
        let [fps, start] = [c.f64()?, c.f64()?];
        let timed = fps > 0.0 && fps <= 1e6 && start.abs() <= 1e12;
        if !(1..=MAX_SAMPLES).contains(&samples) || !timed {
            return Err(Corrupt("curves: number or time of samples out of range"));
        }
        let joints = skeleton.parents.len();
        let codes = c.bytes((6 * joints).div_ceil(8))?;
        let mut kinds = Vec::with_capacity(joints);
        let mut tracks = Vec::new();
        let mut numbers = Vec::with_capacity(3 * joints);
        for joint in 0..joints {
            let mut parts = [CurveSubTrack::Default; 3];
            for (part, kind) in TRANSFORM_PARTS.into_iter().zip(&mut parts) {
                let i = 3 * joint + part as usize;
                *kind = match codes[i / 4] >> (2 * (i % 4)) & 3 {
                    0 => CurveSubTrack::Default,
                    1 => CurveSubTrack::Constant(constant(&mut c, part)?),
                    2 if samples > 1 => CurveSubTrack::Animated(match part {
                        TransformPart::Rotation => ValueRange::default(),
                        _ => range(&mut c)?,
                    }),
                    _ => return Err(Corrupt("curves: unknown kind of sub-track")),
                };
                let animated = matches!(kind, CurveSubTrack::Animated(_));
                numbers.push(if animated { tracks.len() as u32 } else { NO_INDEX });
                if animated {
                    tracks.push((joint as u16, part));
                }
            }
            kinds.push(parts);
        }
        let head =
            CurveHead { knots, short_rotations: flags & 4 != 0, samples, fps, start, sub_tracks: kinds };
        let count = c.varint()? as usize;
        if count > c.left() / 8 {
            return Err(Corrupt("curves: more keys than bytes"));
        }
        let mut curves = CurveClip {
            head,
            keys: Vec::with_capacity(count),
            track_indices: numbers,
            tracks,
            snapshots: Vec::new(),
        };
        for _ in 0..count {
            let track = u16::from_le_bytes(c.array()?);
            let time = u16::from_le_bytes(c.array()?);
            let part =
                *TRANSFORM_PARTS.get(usize::from(track >> 14)).ok_or(Corrupt("curves: a key of no part"))?;
            let mut payload = [0; 8];
            let size = curves.head.key_size(part) - 4;
            payload[..size].copy_from_slice(c.bytes(size)?);
            curves.keys.push(Key { joint: track & 0x3FFF, part, time, payload: u64::from_le_bytes(payload) });
        }
        if c.left() > 0 {
            return Err(Corrupt("curves: bytes left over"));
        }
        curves.check_order()?;
        curves.take_snapshots();
        Ok(curves)
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u32 {
        self.head.samples
    }

    /// Returns the keys, in the order in which they are needed.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Returns the number of sub-tracks that have keys.
    pub fn tracks(&self) -> usize {
        self.tracks.len()
    }

    /// Returns the bytes of memory that playing needs.
    pub fn memory_bytes(&self) -> usize {
        let keys = (self.keys.iter()).map(|k| self.head.key_size(k.part));
        keys.sum::<usize>() + self.snapshots.iter().map(Snapshot::memory_bytes).sum::<usize>()
    }

    pub(super) fn number(&self, key: &Key) -> Option<usize> {
        let number = self.track_indices.get(3 * usize::from(key.joint) + key.part as usize)?;
        (*number != NO_INDEX).then_some(*number as usize)
    }

    /// Checks that keys are in the expected order, and that every sub-track has a key at the first and at the
    /// last sample.
    fn check_order(&self) -> Result<(), Corrupt> {
        // The times of the last two keys of each sub-track, and the number of its keys so far.
        let mut last = vec![([0u16; 2], 0u32); self.tracks.len()];
        let mut before = None;
        for key in &self.keys {
            let number = self.number(key).ok_or(Corrupt("curves: a key of no sub-track"))?;
            let (times, count) = &mut last[number];
            let wrong = match *count {
                0 => key.time != 0,
                _ => key.time <= times[1],
            };
            if wrong || u32::from(key.time) >= self.head.samples {
                return Err(Corrupt("curves: times of keys out of order, or behind the clip"));
            }
            let need = if *count < 2 { 0 } else { times[0] };
            let order = (need, key.time, key.joint, key.part);
            if before.is_some_and(|before| before >= order) {
                return Err(Corrupt("curves: keys are not sorted by need"));
            }
            before = Some(order);
            *times = [times[1], key.time];
            *count += 1;
        }
        let end = (self.head.samples - 1) as u16;
        if last.iter().any(|(times, _)| times[1] != end) {
            return Err(Corrupt("curves: a sub-track that ends before the clip"));
        }
        Ok(())
    }

    pub(super) fn value(&self, key: &Key) -> [f32; 4] {
        let kind = &self.head.sub_tracks[usize::from(key.joint)][key.part as usize];
        self.head.value(kind, key.part, key.payload)
    }

    /// Fills the pose with everything that is not animated: rest pose and constants.
    pub(super) fn prefill(&self, skeleton: &Skeleton<'_>, pose: &mut [Transform]) {
        for ((out, rest), kinds) in pose.iter_mut().zip(skeleton.rest).zip(&self.head.sub_tracks) {
            *out = *rest;
            for (part, kind) in TRANSFORM_PARTS.into_iter().zip(kinds) {
                if let CurveSubTrack::Constant(value) = kind {
                    set_part(out, part, *value);
                }
            }
        }
    }
}

fn constant(c: &mut Bytes<'_>, part: TransformPart) -> Result<[f32; 4], Corrupt> {
    if part == TransformPart::Rotation {
        let mut payload = [0; 8];
        payload[..6].copy_from_slice(c.bytes(6)?);
        return Ok(decode_rotation48(u64::from_le_bytes(payload)));
    }
    let [x, y, z] = vector(c)?;
    Ok([x, y, z, 0.0])
}

fn vector(c: &mut Bytes<'_>) -> Result<[f32; 3], Corrupt> {
    let v = [c.f32()?, c.f32()?, c.f32()?];
    match v.iter().all(|v| v.abs() <= 1e18) {
        true => Ok(v),
        false => Err(Corrupt("curves: a vector that is not a number up to 10^18")),
    }
}

fn range(c: &mut Bytes<'_>) -> Result<ValueRange, Corrupt> {
    let (low, size) = (vector(c)?, vector(c)?);
    match size.iter().all(|v| *v >= 0.0) {
        true => Ok(ValueRange { low, size }),
        false => Err(Corrupt("curves: a range of negative size")),
    }
}

/// Minimum distance of two snapshots, in keys of all sub-tracks and in keys per sub-track.
pub(super) const SNAPSHOT_KEYS: usize = 256;

pub(super) const SNAPSHOT_PER_TRACK: usize = 8;

/// The last keys of each sub-track at one place of the block. Snapshots are built when a clip is read, so
/// they take no bytes in the file and cannot be damaged there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Snapshot {
    /// The first key that is not passed yet.
    pub(super) next: u32,
    /// The first time at which that key is needed.
    pub(super) time: u16,
    /// For each sub-track, its last four keys.
    pub(super) last_keys: Box<[[u32; 4]]>,
}

impl Snapshot {
    pub fn memory_bytes(&self) -> usize {
        size_of::<Snapshot>() + size_of_val(&*self.last_keys)
    }
}

impl CurveClip {
    /// Takes the snapshots from which playing can start, see [`Snapshot`].
    pub(super) fn take_snapshots(&mut self) {
        let every = SNAPSHOT_KEYS.max(SNAPSHOT_PER_TRACK * self.tracks.len());
        let mut last = vec![[NO_INDEX; 4]; self.tracks.len()];
        let mut counts = vec![0u32; self.tracks.len()];
        for i in 0..self.keys.len() {
            let Some(number) = self.number(&self.keys[i]) else {
                return;
            };
            let need = match counts[number] {
                0 | 1 => 0,
                _ => self.keys[last[number][2] as usize].time,
            };
            // A playhead at `need` or later needs all keys up to here.
            if i > 0 && i % every == 0 && need > 0 {
                self.snapshots.push(Snapshot { next: i as u32, time: need, last_keys: last.clone().into() });
            }
            last[number].copy_within(1.., 0);
            last[number][3] = i as u32;
            counts[number] += 1;
        }
    }
}

/// Writes a sub-track's value into a transform.
#[inline]
pub(super) fn set_part(out: &mut Transform, part: TransformPart, value: [f32; 4]) {
    let [x, y, z, _] = value;
    match part {
        TransformPart::Rotation => out.rotation = value,
        TransformPart::Translation => out.translation = [x, y, z],
        TransformPart::Scale => out.scale = [x, y, z],
    }
}
