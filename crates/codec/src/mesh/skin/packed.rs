//! Transforms of rigid bones in 12 bytes each, which a game can pass to its graphics card unchanged: the
//! alternative to [`crate::clip::nodes`]. A frame needs no other frame. Bones are numbered by when they begin
//! to move, then by when they stop, so that those that move in a frame, with few others, lie between two
//! edges.
//!
//! **Setup**
//!
//! | size | name | meaning |
//! |---|---|---|
//! | 4 | `scale` | f32 > 0, the largest of all |
//! | 24 | `bounds` | low and size, 6 × f32, of the transforms that follow |
//! | 12 per bone | `end_states` | transform of each bone after it has stopped |
//!
//! **Frame**
//!
//! | size | name | meaning |
//! |---|---|---|
//! | 4 | `edges` | left, right, 2 × u16: bones from `right` on are at rest, those below `left` have their `end_states` |
//! | 24 | `bounds` | low and size, 6 × f32, of this frame |
//! | 12 each | `transforms` | of the bones left … right − 1 |
//!
//! ```text
//! word 0   bits 0–9, 10–19, 20–29: three components a of the quaternion, in the order x y z w, as a·√2·511 + 511; bits 30–31: number of the omitted one, the largest, which is positive
//! word 1   bits 0–15 x, 16–31 y        word 2   bits 0–15 z, 16–31 scale
//! place    low + size·v / 65535 per axis: the position of the middle m of the bone's region      size   scale·v / 65535; 0: the bone is hidden
//! all in f64; t = place − R·S·m; then rotation, translation and scale are rounded to f32
//! ```
//!
//! Credit: 12-byte transforms, live ranges and null transforms: A. Rasmussen and others, *Geometry caching in
//! Halo 5*, GDC 2017.

use super::kernel::Region;
use crate::Corrupt;
use crate::bytes::Cursor;
use crate::transform::Transform;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::ops::Range;

/// A packed transform in three words: rotation; x and y; z and scale.
pub type PackedTransform = [u32; 3];

/// The steps on either side of zero. Part of the format, as is everything in this file.
const HALF: f64 = 511.0;
const STEPS: f64 = 65535.0;
/// The bytes of a frame before its transforms, and of a transform.
const HEAD: usize = 28;
const SIZE: usize = 12;

/// Returns the largest number of 32-bit words of a frame with `bones` bones.
pub fn frame_words(bones: usize) -> usize {
    (HEAD + SIZE * bones) / 4
}

/// A box that contains places.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The smallest coordinates.
    pub low: [f32; 3],
    /// The extent along each axis.
    pub size: [f32; 3],
}

/// The head of a frame of packed transforms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PackedFrameHead {
    /// The first bone with a transform.
    pub left: u16,
    /// The bone after the last one with a transform.
    pub right: u16,
    /// The bounds of the transforms' places.
    pub bounds: Bounds,
}

/// The setup that all frames of packed transforms share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PackedSetup {
    /// The largest scale.
    pub scale: f32,
    /// The bounds of the places of `end_states`.
    pub bounds: Bounds,
    /// The transform of each bone after it has stopped.
    pub end_states: Vec<PackedTransform>,
    middles: Vec<[f64; 3]>,
}

impl Bounds {
    /// Returns the bounds of places.
    #[cfg(feature = "encode")]
    fn from_places(places: impl Iterator<Item = [f64; 3]>) -> Bounds {
        let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for place in places {
            for k in 0..3 {
                // The next number outwards, so that rounding excludes no place.
                low[k] = low[k].min((place[k] as f32).next_down());
                high[k] = high[k].max((place[k] as f32).next_up());
            }
        }
        if low[0] > high[0] {
            return Bounds::default();
        }
        Bounds { low, size: [0, 1, 2].map(|k| (high[k] - low[k]).next_up()) }
    }

    fn read(c: &mut Cursor<'_>) -> Result<Bounds, Corrupt> {
        let mut three = || -> Result<[f32; 3], Corrupt> { Ok([c.f32()?, c.f32()?, c.f32()?]) };
        let (low, size) = (three()?, three()?);
        match low.iter().chain(&size).all(|v| v.is_finite()) {
            true => Ok(Bounds { low, size }),
            false => Err(Corrupt("packed transforms: bounds that are not finite")),
        }
    }

    #[cfg(feature = "encode")]
    fn write(&self, out: &mut Vec<u8>) {
        let all = self.low.iter().chain(&self.size);
        out.extend(all.flat_map(|v| v.to_le_bytes()));
    }
}

/// Applies a transform to a point.
fn transform_point(t: &Transform, p: [f64; 3]) -> [f64; 3] {
    let m = t.matrix();
    [0, 1, 2].map(|r| m[r][0] * p[0] + m[r][1] * p[1] + m[r][2] * p[2] + m[r][3])
}

impl PackedSetup {
    /// Decodes the setup. Fails if bytes are left over.
    pub fn decode(bytes: &[u8], regions: &[Region]) -> Result<PackedSetup, Corrupt> {
        let mut c = Cursor::new(bytes);
        let scale = c.f32()?;
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Corrupt("packed transforms: a scale that is not above zero"));
        }
        let bounds = Bounds::read(&mut c)?;
        let ends: Vec<PackedTransform> = read_transforms(c.bytes(c.left())?)?.collect();
        if ends.len() != regions.len() {
            return Err(Corrupt("packed transforms: another number of bones"));
        }
        Ok(PackedSetup {
            scale,
            bounds,
            end_states: ends,
            middles: regions.iter().map(|r| r.middle).collect(),
        })
    }

    /// Creates the setup for transforms by frame and bone; `live` has the frames in which each bone moves.
    #[cfg(feature = "encode")]
    pub fn new(frames: &[Vec<Transform>], live: &[Range<u32>], regions: &[Region]) -> PackedSetup {
        let all = frames.iter().flatten();
        let scale = all.map(|t| t.scale[0]).fold(0.0, f32::max);
        let mut out = PackedSetup {
            scale: if scale > 0.0 { scale } else { 1.0 },
            middles: regions.iter().map(|r| r.middle).collect(),
            ..PackedSetup::default()
        };
        let last = |b: usize| {
            let at = (live[b].end as usize).min(frames.len()).saturating_sub(1);
            &frames[at][b]
        };
        let bones = 0..live.len();
        out.bounds = Bounds::from_places(bones.clone().map(|b| transform_point(last(b), out.middles[b])));
        out.end_states = bones.map(|b| out.pack(last(b), b, &out.bounds)).collect();
        out
    }

    /// Writes the setup.
    #[cfg(feature = "encode")]
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.scale.to_le_bytes());
        self.bounds.write(out);
        write_transforms(&self.end_states, out);
    }

    /// Writes a frame.
    #[cfg(feature = "encode")]
    pub fn encode_frame(&self, frame: u32, transforms: &[Transform], live: &[Range<u32>], out: &mut Vec<u8>) {
        let left = live.iter().position(|l| l.end > frame);
        let right = live.iter().rposition(|l| l.start <= frame);
        let (left, right) = match (left, right) {
            (Some(left), Some(right)) if left <= right => (left, right + 1),
            // No bone moves: those before have stopped, those after have not begun.
            (left, _) => [left.unwrap_or(live.len()); 2].into(),
        };
        // Bones in between that have stopped or not begun are stored with their transforms.
        let bounds =
            Bounds::from_places((left..right).map(|b| transform_point(&transforms[b], self.middles[b])));
        out.extend_from_slice(&(left as u16).to_le_bytes());
        out.extend_from_slice(&(right as u16).to_le_bytes());
        bounds.write(out);
        let words: Vec<PackedTransform> =
            (left..right).map(|b| self.pack(&transforms[b], b, &bounds)).collect();
        write_transforms(&words, out);
    }

    /// Reads the head of a frame, and its transforms; advances `bytes`.
    pub fn frame<'a>(
        &self,
        bytes: &mut &'a [u8],
    ) -> Result<(PackedFrameHead, impl Iterator<Item = PackedTransform> + use<'a>), Corrupt> {
        let mut c = Cursor::new(bytes);
        let edges = c.bytes(4)?;
        let left = u16::from_le_bytes([edges[0], edges[1]]);
        let right = u16::from_le_bytes([edges[2], edges[3]]);
        if left > right || usize::from(right) > self.end_states.len() {
            return Err(Corrupt("packed transforms: edges out of order"));
        }
        let bounds = Bounds::read(&mut c)?;
        let own = c.bytes(SIZE * usize::from(right - left))?;
        let words = read_transforms(own)?;
        *bytes = &bytes[HEAD + own.len()..];
        let head = PackedFrameHead { left, right, bounds };
        Ok((head, words))
    }

    /// Reads the next frame; `out` has an entry for each bone. Copies the bytes to `kept`, of [`frame_words`]
    /// words, padded with zeros.
    pub fn read(&self, bytes: &mut &[u8], kept: &mut [u32], out: &mut [Transform]) -> Result<(), Corrupt> {
        let before = *bytes;
        let (head, words) = self.frame(bytes)?;
        let (own, _) = before[..before.len() - bytes.len()].as_chunks::<4>();
        kept.fill(0);
        for (kept, word) in kept.iter_mut().zip(own) {
            *kept = u32::from_le_bytes(*word);
        }
        let (left, right) = (usize::from(head.left), usize::from(head.right));
        for (b, out) in out.iter_mut().enumerate() {
            if b < left {
                *out = self.unpack(self.end_states[b], b, &self.bounds);
            } else if b >= right {
                *out = Transform::IDENTITY;
            }
        }
        for ((b, out), words) in out.iter_mut().enumerate().skip(left).zip(words) {
            *out = self.unpack(words, b, &head.bounds);
        }
        Ok(())
    }

    /// Returns the nearest packed form of a transform with uniform scale.
    #[cfg(feature = "encode")]
    pub fn pack(&self, t: &Transform, bone: usize, bounds: &Bounds) -> PackedTransform {
        let at = transform_point(t, self.middles[bone]);
        let along = |k: usize| {
            let (low, size) = (f64::from(bounds.low[k]), f64::from(bounds.size[k]));
            let part = if size > 0.0 { (at[k] - low) / size } else { 0.0 };
            (part * STEPS).round().clamp(0.0, STEPS) as u32
        };
        let scale = f64::from(t.scale[0]) / f64::from(self.scale) * STEPS;
        let scale = scale.round().clamp(0.0, STEPS) as u32;
        [rotation_word(t.rotation.map(f64::from)), along(0) | along(1) << 16, along(2) | scale << 16]
    }

    /// Returns the transform that a packed form stands for.
    pub fn unpack(&self, words: PackedTransform, bone: usize, bounds: &Bounds) -> Transform {
        let [_, xy, zs] = words;
        let scale = f64::from(self.scale) * f64::from(zs >> 16) / STEPS;
        let mut out = Transform {
            rotation: rotation(words[0]).map(|v| v as f32),
            translation: [0.0; 3],
            scale: [scale as f32; 3],
        };
        let arm = transform_point(&out, self.middles[bone]);
        let v = [xy & 0xFFFF, xy >> 16, zs & 0xFFFF];
        for k in 0..3 {
            let at = f64::from(bounds.low[k]) + f64::from(bounds.size[k]) * f64::from(v[k]) / STEPS;
            out.translation[k] = (at - arm[k]) as f32;
        }
        out
    }
}

/// Returns the word of the nearest rotation.
#[cfg(feature = "encode")]
fn rotation_word(q: [f64; 4]) -> u32 {
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let q = match length > 0.0 && length.is_finite() {
        true => q.map(|v| v / length),
        false => [0.0, 0.0, 0.0, 1.0],
    };
    let mut largest = 3;
    for k in 0..3 {
        if q[k].abs() > q[largest].abs() {
            largest = k;
        }
    }
    let sign = q[largest].signum();
    let others = (0..4).filter(|&k| k != largest);
    others.enumerate().fold((largest as u32) << 30, |word, (i, k)| {
        let v = (q[k] * sign * SQRT_2 * HALF).round().clamp(-HALF, HALF) + HALF;
        word | (v as u32) << (10 * i)
    })
}

/// Returns the unit quaternion of a word: x, y, z, w.
pub fn rotation(word: u32) -> [f64; 4] {
    let largest = (word >> 30) as usize;
    let mut out = [0.0; 4];
    let mut square = 0.0;
    for (i, k) in (0..4).filter(|&k| k != largest).enumerate() {
        let v = (f64::from(word >> (10 * i) & 1023) - HALF) * (FRAC_1_SQRT_2 / HALF);
        square += v * v;
        out[k] = v;
    }
    out[largest] = (1.0 - square).max(0.0).sqrt();
    out
}

fn read_transforms(bytes: &[u8]) -> Result<impl Iterator<Item = PackedTransform> + use<'_>, Corrupt> {
    let (words, rest) = bytes.as_chunks::<SIZE>();
    if !rest.is_empty() {
        return Err(Corrupt("packed transforms: the last one is cut short"));
    }
    Ok(words.iter().map(|w| {
        let (each, _) = w.as_chunks::<4>();
        [each[0], each[1], each[2]].map(u32::from_le_bytes)
    }))
}

#[cfg(feature = "encode")]
fn write_transforms(words: &[PackedTransform], out: &mut Vec<u8>) {
    out.extend(words.as_flattened().iter().flat_map(|w| w.to_le_bytes()));
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // One bone.
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn regions(middles: &[[f64; 3]]) -> Vec<Region> {
        let of = |&middle: &[f64; 3]| Region { middle, half: [1.0; 3], bounds: [0.0; 6] };
        middles.iter().map(of).collect()
    }

    #[test]
    fn golden() {
        assert_eq!(rotation_word([0.0, 0.0, 0.0, 1.0]), 0xDFF7_FDFF);
        assert_eq!(rotation(0xDFF7_FDFF), [0.0, 0.0, 0.0, 1.0]);
        let half = FRAC_1_SQRT_2;
        // The largest component is made positive; of two equal ones, the first is left out.
        let word = rotation_word([0.0, -half - 1e-9, 0.0, half]);
        assert_eq!(word >> 30, 1);
        assert_eq!(word >> 20 & 1023, 0);
        let regions = regions(&[[1.0, 2.0, 3.0]]);
        let t = Transform::IDENTITY;
        let packed = PackedSetup::new(&[vec![t]], &[0..1], &regions);
        let mut bytes = Vec::new();
        packed.encode(&mut bytes);
        assert_eq!(bytes.len(), 40);
        assert_eq!(PackedSetup::decode(&bytes, &regions).unwrap(), packed);
        let back = packed.unpack(packed.end_states[0], 0, &packed.bounds);
        assert_eq!((back.rotation, back.scale), (t.rotation, t.scale));
        for cut in 0..bytes.len() {
            assert!(PackedSetup::decode(&bytes[..cut], &regions).is_err());
        }
    }

    #[test]
    fn e08_nothing_is_left_of_a_scale_of_zero() {
        let gone = Transform { scale: [0.0; 3], translation: [5.0, 0.0, 0.0], ..Transform::IDENTITY };
        let regions = regions(&[[1.0, 1.0, 1.0]]);
        let frames = [vec![Transform::IDENTITY], vec![gone]];
        let packed = PackedSetup::new(&frames, &[1..2], &regions);
        let mut bytes = Vec::new();
        packed.encode_frame(1, &frames[1], &[1..2], &mut bytes);
        let mut out = [Transform::IDENTITY];
        packed.read(&mut &bytes[..], &mut [], &mut out).unwrap();
        assert_eq!(out[0].scale, [0.0; 3]);
        assert!((out[0].translation[0] - 5.0).abs() < 1e-5);
    }

    #[test]
    fn e17_edges_follow_what_moves() {
        // Four bones in order of their start: 0 moves in frames 1 and 2, 1 in 2, 2 in 2 to 4, 3 never.
        let live = [1..3, 2..3, 2..5, 9..9];
        let regions = regions(&[[0.0; 3]; 4]);
        let at = |x: f32| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
        let of = |f: u32, b: usize| {
            let moved = (f + 1).min(live[b].end).saturating_sub(live[b].start);
            at(moved as f32 * (b as f32 + 1.0))
        };
        let frames: Vec<Vec<Transform>> = (0..6).map(|f| (0..4).map(|b| of(f, b)).collect()).collect();
        let packed = PackedSetup::new(&frames, &live, &regions);
        let edges = [[0, 0], [0, 1], [0, 3], [2, 3], [2, 3], [3, 3]];
        for (f, [left, right]) in (0u32..).zip(edges) {
            let mut bytes = Vec::new();
            packed.encode_frame(f, &frames[f as usize], &live, &mut bytes);
            assert_eq!(bytes.len(), 28 + 12 * (right - left));
            let (head, _) = packed.frame(&mut &bytes[..]).unwrap();
            assert_eq!([head.left, head.right].map(usize::from), [left, right], "frame {f}");
            let mut out = vec![at(77.0); 4];
            packed.read(&mut &bytes[..], &mut [], &mut out).unwrap();
            for (out, want) in out.iter().zip(&frames[f as usize]) {
                assert!((out.translation[0] - want.translation[0]).abs() < 1e-4, "frame {f}");
            }
        }
    }

    proptest! {
        #[test]
        fn e08_any_transform_comes_back(
            q in prop::array::uniform4(-1f32..1.0), at in prop::array::uniform3(-100f32..100.0),
            scale in 0f32..3.0, middle in prop::array::uniform3(-50f64..50.0),
        ) {
            let t = Transform { rotation: q, translation: at, scale: [scale; 3] };
            let other = Transform { translation: [-90.0, 120.0, 3.0], scale: [3.0; 3], ..Transform::IDENTITY };
            let regions = regions(&[middle, [0.0; 3]]);
            let frames = [vec![t, other]];
            let packed = PackedSetup::new(&frames, &[0..1, 0..1], &regions);
            let back = packed.unpack(packed.end_states[0], 0, &packed.bounds);
            // A corner at a distance of about one from the middle.
            let corner = middle.map(|v| v + 0.57);
            let (a, b) = (transform_point(&t, corner), transform_point(&back, corner));
            let off = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
            let box_step = packed.bounds.size.iter().fold(0f32, |m, v| m.max(*v)) / 65535.0;
            // Three components are within half a step of √½ / 511; the fourth follows, with at worst √3 times
            // the error: 2.4 thousandths in all, and twice that for a point at a distance of one.
            prop_assert!(off < 0.0048 * f64::from(scale) + f64::from(box_step) + 1e-4, "{off}");
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0usize..9) {
            let regions = regions(&vec![[1.0; 3]; count]);
            if let Ok(packed) = PackedSetup::decode(&bytes, &regions) {
                prop_assert_eq!(packed.end_states.len(), count);
            }
            let packed = PackedSetup { end_states: vec![[0; 3]; count], middles: vec![[0.0; 3]; count], scale: 1.0, ..PackedSetup::default() };
            let mut out = vec![Transform::IDENTITY; count];
            let mut rest = &bytes[..];
            while packed.read(&mut rest, &mut [], &mut out).is_ok() {}
        }
    }
}
