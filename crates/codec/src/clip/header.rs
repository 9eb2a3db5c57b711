//! The header of a clip, coded bit by bit by the range coder ([`crate::entropy::range`]); one function reads
//! and writes it. Lossless.
//!
//! Kinds of sub-tracks, starts and sources have adaptive probabilities, all other numbers even ones: counts
//! 32 bits, floats as their bits, parts of quaternions and axes 21 bits each in two's complement.
//!
//! ```text
//! samples 32 · fps 64 · start 64 · base 32 · spread 4 · log 3 (minus 1)
//!             if the 3 bits of log are 7, the clip is divided, and these fields follow: log 3 (minus 1) · tiers after the first 3 · layers 1, and if that is 1, then 4 per joint ·
//!             keys: their count, then for each the distance to the one before (for the first: to sample 0); each number is its bit length 5 (minus 1), then that many bits
//! 1 bit: 1 if joints differ in fineness, then 6 per joint (plus 32)
//! per joint   rotation kind (0 default, 1 constant, 2 hinge, 3 two axes, 4 free); for kinds 1 … 3 a quaternion: largest 2 and 3 × 21; then one axis (hinge) or two: 2 × 21 each
//!             translation kind (0 default, 1 constant, 2 animated); if constant 3 × 32; the same for scale
//! per component   start 5, a tree without further context
//!                 sources, up to two: a bit that says whether the source is present; the distance to it, counted in components before this one; weight 7
//! ```

use crate::Corrupt;
use crate::clip::{
    ClipHeader, ClipSplit, ComponentSource, MAX_JOINTS, MAX_SOURCES, RotationAxis, RotationSubTrack,
    SmallestThree, VectorSubTrack,
};
#[cfg(feature = "encode")]
use crate::entropy::range::Encoder;
use crate::entropy::range::{BitCoder, Chance, Decoder};

/// Adaptive contexts of the header's numbers.
struct HeaderContexts {
    rotation: [Chance; 8],
    translation: [Chance; 4],
    scale: [Chance; 4],
    start: [Chance; 32],
    fine: [Chance; 64],
    there: [Chance; MAX_SOURCES],
    weight: [Chance; 128],
    distance: [Chance; 32],
}

impl HeaderContexts {
    fn new() -> HeaderContexts {
        let even = Chance::default();
        HeaderContexts {
            rotation: [even; 8],
            translation: [even; 4],
            scale: [even; 4],
            start: [even; 32],
            fine: [even; 64],
            there: [even; MAX_SOURCES],
            weight: [even; 128],
            distance: [even; 32],
        }
    }
}

struct HeaderCoder<B> {
    bits: B,
    contexts: HeaderContexts,
    /// Upper limit for the number of listed keys.
    max_keys: usize,
}

/// The value in the place of `log` that says that the clip is divided into layers or tiers, or lists keys.
const DIVIDED_MARKER: u32 = 7;

/// Codes a number below 2^count as a tree of adaptive bits, highest bit first.
fn tree<B: BitCoder<Context = Chance>>(bits: &mut B, contexts: &mut [Chance], count: u32, value: u32) -> u32 {
    let mut node = 1;
    for i in (0..count).rev() {
        let bit = bits.bit(&mut contexts[node], value >> i & 1 != 0);
        node = node << 1 | usize::from(bit);
    }
    (node - (1 << count)) as u32
}

impl<B: BitCoder<Context = Chance>> HeaderCoder<B> {
    fn u64(&mut self, value: u64) -> u64 {
        let low = self.bits.raw_bits(32, value as u32);
        u64::from(self.bits.raw_bits(32, (value >> 32) as u32)) << 32 | u64::from(low)
    }

    fn part(&mut self, value: i32) -> i32 {
        let bits = self.bits.raw_bits(21, value as u32 & 0x1F_FFFF);
        (bits << 11) as i32 >> 11
    }

    fn quaternion(&mut self, q: SmallestThree) -> SmallestThree {
        SmallestThree {
            largest: self.bits.raw_bits(2, u32::from(q.largest)) as u8,
            parts: q.parts.map(|v| self.part(v)),
        }
    }

    fn axis(&mut self, a: RotationAxis) -> RotationAxis {
        RotationAxis { parts: a.parts.map(|v| self.part(v)) }
    }

    fn rotation(&mut self, r: RotationSubTrack) -> Result<RotationSubTrack, Corrupt> {
        let kind = match r {
            RotationSubTrack::Default => 0,
            RotationSubTrack::Constant(_) => 1,
            RotationSubTrack::Hinge { .. } => 2,
            RotationSubTrack::TwoAxes { .. } => 3,
            RotationSubTrack::Free => 4,
        };
        let kind = tree(&mut self.bits, &mut self.contexts.rotation, 3, kind);
        let (q, a, b) = match r {
            RotationSubTrack::Constant(q) => (q, RotationAxis::default(), RotationAxis::default()),
            RotationSubTrack::Hinge { rest, axis } => (rest, axis, RotationAxis::default()),
            RotationSubTrack::TwoAxes { rest, first, second } => (rest, first, second),
            _ => Default::default(),
        };
        Ok(match kind {
            0 => RotationSubTrack::Default,
            1 => RotationSubTrack::Constant(self.quaternion(q)),
            2 => RotationSubTrack::Hinge { rest: self.quaternion(q), axis: self.axis(a) },
            3 => RotationSubTrack::TwoAxes {
                rest: self.quaternion(q),
                first: self.axis(a),
                second: self.axis(b),
            },
            4 => RotationSubTrack::Free,
            _ => return Err(Corrupt("clip header: unknown kind of a rotation sub-track")),
        })
    }

    fn vector(&mut self, scale: bool, v: VectorSubTrack) -> Result<VectorSubTrack, Corrupt> {
        let (kind, value) = match v {
            VectorSubTrack::Default => (0, [0.0; 3]),
            VectorSubTrack::Constant(value) => (1, value),
            VectorSubTrack::Animated => (2, [0.0; 3]),
        };
        let contexts = match scale {
            true => &mut self.contexts.scale,
            false => &mut self.contexts.translation,
        };
        match tree(&mut self.bits, contexts, 2, kind) {
            0 => Ok(VectorSubTrack::Default),
            1 => {
                let value = value.map(|v| f32::from_bits(self.bits.raw_bits(32, v.to_bits())));
                // Limited, so that lengths stay finite.
                match value.iter().all(|v| v.abs() <= 1e18) {
                    true => Ok(VectorSubTrack::Constant(value)),
                    false => {
                        Err(Corrupt("clip header: a constant sub-track that is not a number up to 10^18"))
                    }
                }
            }
            2 => Ok(VectorSubTrack::Animated),
            _ => Err(Corrupt("clip header: unknown kind of a sub-track")),
        }
    }

    fn source(
        &mut self,
        slot: usize,
        component: usize,
        source: ComponentSource,
    ) -> Result<ComponentSource, Corrupt> {
        let there = source.weight != 0;
        if !self.bits.bit(&mut self.contexts.there[slot], there) {
            return Ok(ComponentSource::default());
        }
        // The number of bits of the distance, then the distance.
        let distance = (component as u32).wrapping_sub(source.component);
        let count = 31 - (distance | 1).leading_zeros();
        let count = tree(&mut self.bits, &mut self.contexts.distance, 5, count);
        let distance = 1 << count | self.bits.raw_bits(count, distance & ((1 << count) - 1));
        let weight =
            tree(&mut self.bits, &mut self.contexts.weight, 7, (i32::from(source.weight) + 64) as u32);
        let component = (component as u32).checked_sub(distance);
        match (component, weight) {
            (None, _) | (_, 0 | 64) => {
                Err(Corrupt("clip header: a component predicted from one that does not stand before it"))
            }
            (Some(component), weight) => {
                Ok(ComponentSource { component, weight: (weight as i32 - 64) as i8 })
            }
        }
    }

    /// Codes a number with its number of bits before it.
    fn sized(&mut self, value: u32) -> u32 {
        let count = self.bits.raw_bits(5, 31 - (value | 1).leading_zeros()) + 1;
        self.bits.raw_bits(count, value)
    }

    fn split(&mut self, joints: usize, samples: u32, given: &ClipSplit) -> Result<ClipSplit, Corrupt> {
        let mut split =
            ClipSplit { tiers: self.bits.raw_bits(3, u32::from(given.tiers)) as u8, ..ClipSplit::default() };
        if self.bits.raw_bits(1, u32::from(!given.layers.is_empty())) != 0 {
            for j in 0..joints {
                let layer = given.layers.get(j).copied().unwrap_or(0);
                split.layers.push(self.bits.raw_bits(4, u32::from(layer)) as u8);
            }
        }
        let count = self.sized(given.keys.len() as u32) as usize;
        if count > self.max_keys {
            return Err(Corrupt("clip header: more keys than there are bytes for"));
        }
        let mut last = 0;
        for i in 0..count {
            let gap = given.keys.get(i).map_or(0, |key| key - last);
            let key = self.sized(gap).checked_add(last);
            match key {
                Some(key) if key > last && key < samples - 1 => split.keys.push(key),
                _ => return Err(Corrupt("clip header: keys out of order")),
            }
            last = key.unwrap_or(last);
        }
        Ok(split)
    }

    fn header(&mut self, joints: usize, given: &ClipHeader) -> Result<ClipHeader, Corrupt> {
        let mut h = ClipHeader {
            samples: self.bits.raw_bits(32, given.samples),
            fps: f64::from_bits(self.u64(given.fps.to_bits())),
            start: f64::from_bits(self.u64(given.start.to_bits())),
            base: f32::from_bits(self.bits.raw_bits(32, given.base.to_bits())),
            spread: self.bits.raw_bits(4, u32::from(given.spread)) as u8,
            segment_log2: 1,
            fine: Vec::new(),
            rotations: Vec::with_capacity(joints),
            translations: Vec::with_capacity(joints),
            scales: Vec::with_capacity(joints),
            sources: Vec::new(),
            starts: Vec::new(),
            split: ClipSplit::default(),
        };
        let log = u32::from(given.segment_log2.wrapping_sub(1)) & 7;
        let divided = given.split != ClipSplit::default();
        let mut code = self.bits.raw_bits(3, if divided { DIVIDED_MARKER } else { log });
        let divided = code == DIVIDED_MARKER;
        if divided {
            code = self.bits.raw_bits(3, log);
        }
        h.segment_log2 = code as u8 + 1;
        if h.samples == 0 || !(h.fps > 0.0 && h.fps.is_finite() && h.start.is_finite()) {
            return Err(Corrupt("clip header: no samples, or no rate"));
        }
        if !(h.base > 1e-18 && h.base < 1e18)
            || u32::from(h.segment_log2) > crate::clip::schedule::MAX_SEGMENT_LOG2
        {
            return Err(Corrupt("clip header: steps or segments out of range"));
        }
        if divided {
            h.split = self.split(joints, h.samples, &given.split)?;
        }
        if self.bits.raw_bits(1, u32::from(!given.fine.is_empty())) != 0 {
            for j in 0..joints {
                let fine = given.fine.get(j).copied().unwrap_or(0);
                let code = (i32::from(fine) + 32) as u32;
                let code = tree(&mut self.bits, &mut self.contexts.fine, 6, code);
                h.fine.push((code as i32 - 32) as i8);
            }
        }
        for j in 0..joints {
            let at = |v: &[VectorSubTrack]| v.get(j).copied().unwrap_or(VectorSubTrack::Default);
            let rotation = given.rotations.get(j).copied().unwrap_or(RotationSubTrack::Default);
            let (translation, scale) = (at(&given.translations), at(&given.scales));
            h.rotations.push(self.rotation(rotation)?);
            h.translations.push(self.vector(false, translation)?);
            h.scales.push(self.vector(true, scale)?);
        }
        for c in 0..h.components() {
            let start = given.starts.get(c).copied().unwrap_or(0);
            let start = tree(&mut self.bits, &mut self.contexts.start, 5, u32::from(start));
            h.starts.push(start as u8);
            let sources = given.sources.get(c).copied().unwrap_or_default();
            let first = self.source(0, c, sources[0])?;
            let second = match first.weight {
                0 => ComponentSource::default(),
                _ => self.source(1, c, sources[1])?,
            };
            h.sources.push([first, second]);
        }
        Ok(h)
    }
}

/// Appends `header`, whose values must be in their ranges and whose lists must have the right lengths.
#[cfg(feature = "encode")]
pub fn encode(header: &ClipHeader, out: &mut Vec<u8>) {
    let mut side =
        HeaderCoder { bits: Encoder::new(out), contexts: HeaderContexts::new(), max_keys: usize::MAX };
    let written = side.header(header.rotations.len(), header);
    debug_assert_eq!(written.as_ref(), Ok(header));
    side.bits.finish();
}

/// Decodes a header from all of `bytes`. All values of the result are in their ranges, and its size is
/// limited by `joints` and the number of bytes.
pub fn decode(bytes: &[u8], joints: usize) -> Result<ClipHeader, Corrupt> {
    if joints > MAX_JOINTS {
        return Err(Corrupt("clip header: too many joints"));
    }
    let nothing = ClipHeader {
        samples: 0,
        fps: 0.0,
        start: 0.0,
        base: 0.0,
        spread: 0,
        segment_log2: 1,
        fine: Vec::new(),
        rotations: Vec::new(),
        translations: Vec::new(),
        scales: Vec::new(),
        sources: Vec::new(),
        starts: Vec::new(),
        split: ClipSplit::default(),
    };
    let mut side = HeaderCoder {
        bits: Decoder::new(bytes),
        contexts: HeaderContexts::new(),
        // Each key takes at least six bits of even probability.
        max_keys: 2 * bytes.len(),
    };
    let header = side.header(joints, &nothing)?;
    side.bits.finish()?;
    Ok(header)
}
