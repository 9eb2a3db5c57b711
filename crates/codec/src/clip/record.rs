//! The chunks of skeletons and clips. A skeleton: names, parents and rest pose. A clip: its skeleton and its
//! tolerance, before the samples. Lossless.
//!
//! *text*, *list*, *transform* as in [`crate::record`]. A skeleton:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `name` | |
//! | … | list | `joints` | parents before children, at most 2^14 |
//!
//! A joint:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `name` | |
//! | … | 1 … 5 | `parent` | varint, 0 = none, else joint + 1 |
//! | … | 1 | `flags` | bit 0: rotation and scale of `rest` are present and need not be the identity · bit 1: `tolerance` is present · bit 2: `order` is present |
//! | … | 12 or 40 | `rest` | translation, or with bit 0 the whole transform |
//! | … | 4 | `shell` | f32, shell distance: the distance of the error metric's points from the joint |
//! | … | 0 or 8 | `tolerance` | f64, requested for this joint instead of the clip's |
//! | … | 0 or 1 | `order` | order of the axes of its rotation in the source, the outermost first: 0 xyz · 1 xzy · 2 yxz · 3 yzx · 4 zxy · 5 zyx |
//! | … | list | `end_sites` | 3 × f32 each: ends of the chain that are not joints |
//!
//! A clip:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `name` | |
//! | … | 1 … 5 | `skeleton` | varint, number of the skeleton chunk |
//! | … | 1 | `codec` | bits 0–1: 0 sampled, 1 curve, 2 random-access · bit 2: `tolerance` applies to each sub-track separately · bit 3: `held_sub_tracks` is present · others 0 |
//! | … | 8 | `requested_tolerance` | f64 |
//! | … | 8 | `tolerance` | f64, tolerance that is promised |
//! | … | list or 0 | `held_sub_tracks` | sub-tracks that hold each value until the next sample in the source, in ascending order: varint, three times the joint plus 0 rotation, 1 translation, 2 scale |
//! | … | rest | `content` | the streamed form, curves, or the random-access form |

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};
use crate::clip::{MAX_JOINTS, NO_INDEX, Skeleton};
use crate::transform::Transform;

/// A skeleton as it is stored in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkeletonRecord {
    /// The name.
    pub name: String,
    /// The names of the joints.
    pub names: Vec<String>,
    /// The parents of the joints, or [`NO_INDEX`].
    pub parents: Vec<u32>,
    /// The rest pose.
    pub rest: Vec<Transform>,
    /// The shell distances.
    pub shell: Vec<f32>,
    /// The tolerances that were asked for single joints; 0 for the clip's. May be shorter than the list of
    /// joints.
    pub tolerance: Vec<f64>,
    /// The rotation orders in the source, one more than the number in the file; 0 if unknown. May be shorter
    /// than the list of joints.
    pub orders: Vec<u8>,
    /// The ends of chains of joints.
    pub end_sites: Vec<Vec<[f32; 3]>>,
}

impl SkeletonRecord {
    /// Returns a borrowed view for decoders.
    pub fn skeleton(&self) -> Skeleton<'_> {
        Skeleton { parents: &self.parents, rest: &self.rest, shell: &self.shell }
    }
}

/// The codec of a clip. The numbers are part of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum ClipCodec {
    /// Uniform samples in the streamed form, [`crate::clip::streamed`].
    #[default]
    Sampled = 0,
    /// Keys and splines: [`crate::clip::curve`].
    Curve = 1,
    /// Uniform samples, each read by itself: [`crate::clip::random_access`].
    RandomAccess = 2,
}

impl ClipCodec {
    /// Returns the name as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ClipCodec::Sampled => "sampled",
            ClipCodec::Curve => "curve",
            ClipCodec::RandomAccess => "random-access",
        }
    }
}

/// The head of a clip's chunk, before its samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClipRecord {
    /// The name.
    pub name: String,
    /// The number of its skeleton in the file.
    pub skeleton: u32,
    /// The codec of the bytes after the record.
    pub codec: ClipCodec,
    /// `true` if the tolerance holds for each sub-track by itself: nothing is promised in object space.
    pub per_sub_track: bool,
    /// The tolerance that was asked for.
    pub requested_tolerance: f64,
    /// The tolerance that is promised: larger than asked if f32 cannot reach what was asked for.
    pub tolerance: f64,
    /// The sub-tracks whose values stay until the next sample in the source: three times the joint plus 0
    /// rotation, 1 translation, 2 scale. Players interpolate them nevertheless.
    pub held_sub_tracks: Vec<u32>,
}

#[cfg(feature = "encode")]
fn put_floats(values: &[f32], out: &mut Vec<u8>) {
    for v in values {
        out.extend_from_slice(&v.to_le_bytes());
    }
}

/// Appends a skeleton.
#[cfg(feature = "encode")]
pub fn encode_skeleton(skeleton: &SkeletonRecord, out: &mut Vec<u8>) {
    put_length_prefixed(skeleton.name.as_bytes(), out);
    put_varint(skeleton.parents.len() as u32, out);
    for (j, &parent) in skeleton.parents.iter().enumerate() {
        put_length_prefixed(skeleton.names[j].as_bytes(), out);
        put_varint(if parent == NO_INDEX { 0 } else { parent + 1 }, out);
        let rest = &skeleton.rest[j];
        let turned = rest.rotation != Transform::IDENTITY.rotation || rest.scale != [1.0; 3];
        let tolerance = skeleton.tolerance.get(j).copied().unwrap_or(0.0);
        let order = skeleton.orders.get(j).copied().unwrap_or(0);
        out.push(u8::from(turned) | u8::from(tolerance > 0.0) << 1 | u8::from(order > 0) << 2);
        if turned {
            put_floats(&rest.rotation, out);
        }
        put_floats(&rest.translation, out);
        if turned {
            put_floats(&rest.scale, out);
        }
        put_floats(&[skeleton.shell[j]], out);
        if tolerance > 0.0 {
            out.extend_from_slice(&tolerance.to_le_bytes());
        }
        if order > 0 {
            out.push(order - 1);
        }
        put_varint(skeleton.end_sites[j].len() as u32, out);
        for end in &skeleton.end_sites[j] {
            put_floats(end, out);
        }
    }
}

fn text(cursor: &mut Cursor<'_>) -> Result<String, Corrupt> {
    let size = cursor.varint()? as usize;
    let bytes = cursor.bytes(size)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| Corrupt("clip or skeleton: a name is not UTF-8"))
}

fn floats<const N: usize>(cursor: &mut Cursor<'_>) -> Result<[f32; N], Corrupt> {
    let mut out = [0.0; N];
    for v in &mut out {
        *v = cursor.f32()?;
        if !v.is_finite() {
            return Err(Corrupt("skeleton: a number that is not finite"));
        }
    }
    Ok(out)
}

/// Decodes a skeleton from all of `bytes`.
pub fn decode_skeleton(bytes: &[u8]) -> Result<SkeletonRecord, Corrupt> {
    let mut cursor = Cursor::new(bytes);
    let mut skeleton = SkeletonRecord { name: text(&mut cursor)?, ..SkeletonRecord::default() };
    let joints = cursor.varint()? as usize;
    if joints > MAX_JOINTS {
        return Err(Corrupt("skeleton: too many joints"));
    }
    for _ in 0..joints {
        skeleton.names.push(text(&mut cursor)?);
        skeleton.parents.push(cursor.varint()?.wrapping_sub(1));
        let mut rest = Transform::IDENTITY;
        let flags = cursor.u8()?;
        if flags > 7 {
            return Err(Corrupt("skeleton: unknown flags of a joint"));
        }
        let turned = flags & 1 != 0;
        if turned {
            rest.rotation = floats(&mut cursor)?;
        }
        rest.translation = floats(&mut cursor)?;
        if turned {
            rest.scale = floats(&mut cursor)?;
        }
        skeleton.rest.push(rest);
        let [shell] = floats(&mut cursor)?;
        skeleton.shell.push(shell);
        skeleton.tolerance.push(match flags & 2 {
            0 => 0.0,
            _ => f64::from_le_bytes(cursor.array()?),
        });
        skeleton.orders.push(match flags & 4 {
            0 => 0,
            _ => match cursor.u8()? {
                order @ 0..=5 => order + 1,
                _ => return Err(Corrupt("skeleton: unknown order of axes")),
            },
        });
        let ends = cursor.varint()? as usize;
        if ends > cursor.left() / 12 {
            return Err(Corrupt("skeleton: ends of a joint are cut short"));
        }
        let ends: Result<Vec<_>, Corrupt> = (0..ends).map(|_| floats(&mut cursor)).collect();
        skeleton.end_sites.push(ends?);
    }
    if cursor.left() > 0 {
        return Err(Corrupt("skeleton: bytes left over"));
    }
    let sane = |t: &f64| *t == 0.0 || (*t > 1e-30 && *t < 1e18);
    if !skeleton.tolerance.iter().all(sane) {
        return Err(Corrupt("skeleton: a joint's tolerance is out of range"));
    }
    skeleton.skeleton().check()?;
    Ok(skeleton)
}

/// Appends a clip.
#[cfg(feature = "encode")]
pub fn encode_clip(clip: &ClipRecord, stored: &[u8], out: &mut Vec<u8>) {
    put_length_prefixed(clip.name.as_bytes(), out);
    put_varint(clip.skeleton, out);
    let held = !clip.held_sub_tracks.is_empty();
    out.push(clip.codec as u8 | u8::from(clip.per_sub_track) << 2 | u8::from(held) << 3);
    out.extend_from_slice(&clip.requested_tolerance.to_le_bytes());
    out.extend_from_slice(&clip.tolerance.to_le_bytes());
    if held {
        put_varint(clip.held_sub_tracks.len() as u32, out);
        clip.held_sub_tracks.iter().for_each(|&track| put_varint(track, out));
    }
    out.extend_from_slice(stored);
}

/// Decodes the head of a clip's chunk, and returns it with the bytes of the samples.
pub fn decode_clip(bytes: &[u8]) -> Result<(ClipRecord, &[u8]), Corrupt> {
    let mut cursor = Cursor::new(bytes);
    let (name, skeleton) = (text(&mut cursor)?, cursor.varint()?);
    let flags = cursor.u8()?;
    let mut clip = ClipRecord {
        name,
        skeleton,
        codec: match flags & 3 {
            0 => ClipCodec::Sampled,
            1 => ClipCodec::Curve,
            2 => ClipCodec::RandomAccess,
            _ => return Err(Corrupt("clip: unknown codec")),
        },
        per_sub_track: flags & 4 != 0,
        requested_tolerance: f64::from_le_bytes(cursor.array()?),
        tolerance: f64::from_le_bytes(cursor.array()?),
        held_sub_tracks: Vec::new(),
    };
    if flags > 15 {
        return Err(Corrupt("clip: unknown flags"));
    }
    if flags & 8 != 0 {
        for _ in 0..cursor.varint()? {
            let track = cursor.varint()?;
            if track >= 3 * MAX_JOINTS as u32
                || clip.held_sub_tracks.last().is_some_and(|last| track <= *last)
            {
                return Err(Corrupt("clip: a held sub-track that is not there, or out of order"));
            }
            clip.held_sub_tracks.push(track);
        }
    }
    if !(clip.requested_tolerance > 0.0
        && clip.requested_tolerance.is_finite()
        && clip.tolerance.is_finite()
        && clip.tolerance >= clip.requested_tolerance)
    {
        return Err(Corrupt("clip: no tolerance"));
    }
    let left = cursor.left();
    Ok((clip, cursor.bytes(left)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skeleton() -> SkeletonRecord {
        let mut turned = Transform::IDENTITY;
        turned.rotation = [0.6, 0.0, 0.0, 0.8];
        turned.translation = [1.0, -2.5, 3.0];
        SkeletonRecord {
            name: "body".into(),
            names: vec!["hips".into(), "λ".into()],
            parents: vec![NO_INDEX, 0],
            rest: vec![Transform::IDENTITY, turned],
            shell: vec![3.0, 1.5],
            tolerance: vec![0.0, 0.25],
            orders: vec![3, 0],
            end_sites: vec![vec![], vec![[0.0, 1.0, 2.0]]],
        }
    }

    #[test]
    fn records_come_back_and_every_truncation_is_refused() {
        let mut bytes = Vec::new();
        encode_skeleton(&skeleton(), &mut bytes);
        assert_eq!(decode_skeleton(&bytes), Ok(skeleton()));
        for end in 0..bytes.len() {
            assert!(decode_skeleton(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            let _ = decode_skeleton(&bytes);
        }
        let clip = ClipRecord {
            name: "walk".into(),
            skeleton: 0,
            codec: ClipCodec::Curve,
            per_sub_track: true,
            requested_tolerance: 0.01,
            tolerance: 0.02,
            held_sub_tracks: vec![0, 5, 300],
        };
        let mut bytes = Vec::new();
        encode_clip(&clip, b"abc", &mut bytes);
        assert_eq!(decode_clip(&bytes), Ok((clip, &b"abc"[..])));
        for end in 0..bytes.len() - 3 {
            assert!(decode_clip(&bytes[..end]).is_err());
        }
        // Codecs and flags that do not exist yet.
        for flags in [3, 7, 16, 0x81] {
            bytes[6] = flags;
            assert!(decode_clip(&bytes).is_err(), "{flags}");
        }
    }

    #[test]
    fn skeletons_that_are_none_are_refused() {
        let refused = |change: fn(&mut SkeletonRecord)| {
            let mut s = skeleton();
            change(&mut s);
            let mut bytes = Vec::new();
            encode_skeleton(&s, &mut bytes);
            assert!(decode_skeleton(&bytes).is_err());
        };
        refused(|s| s.parents[1] = 1);
        refused(|s| s.parents[0] = 1);
        refused(|s| s.shell[0] = 0.0);
        refused(|s| s.shell[1] = f32::NAN);
        refused(|s| s.tolerance[1] = f64::INFINITY);
        refused(|s| s.rest[1].rotation = [0.0; 4]);
        refused(|s| s.rest[1].translation[0] = f32::INFINITY);
    }
}
