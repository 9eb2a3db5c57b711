//! The stored form of a clip: residuals in the order of [`crate::clip::schedule`], range-coded segment by segment.
//! Exact: what the compiler measured is what comes out.
//!
//! ```text
//! varint n · n bytes: header (`side`) · varint n · n bytes: keys · per segment a varint size · segments
//! keys, segment    residuals of samples, one `entropy` stream each: shift (0 … 5, as a residual of σ = 1/16), then k of each component;
//!                  shift −1: a stripped sample, which is its prediction; all k are 0, and nothing learns from them
//! tier             of a divided clip, but for the first, which is the above with the levels of its own: per segment a varint size · segments
//! component        per joint, parents first: translation 3, rotation 1 … 3, scale 3, as far as they are animated
//! κ = 32·k / 2^shift + Σ over sources of (weight·κ + 16) >> 5          in 2⁻⁵ steps, cut at ±2²⁸
//! vector           word += κ per axis                                  word in 2⁻⁵ steps, relative to the rest pose
//! angle            word += (κ · round(step/2π·2⁴⁰)) >> 13              wraps
//! free             turn by y = (Σ κ · round(step·axis·2³⁴)) >> 11      of `rotation`
//! ```
//!
//! Prediction of a vector or an angle is the weighted sum of its words around (of an angle: of their
//! differences to the left one), rounded down, of a free rotation that of quaternions. The first key is
//! predicted from the rest pose (angles 0), every other from the key before.
//!
//! A segment needs the keys at both its ends and nothing else, a tier those before it. Samples of a tier that
//! is not there are their predictions. Keys are few; a reader decodes all of them when it opens the clip.

use crate::Corrupt;
use crate::bytes::{Cursor, put_sized, put_varint};
use crate::clip::schedule::{self, Step, Taps};
pub use crate::clip::segments::Ends;
use crate::clip::step::{Steps, steps};
use crate::clip::{Header, Rotation, Skeleton, Vector, fixed, header};
use crate::entropy::symbols::{Activity, Bucket, Decoder, Encoder, Means};
use crate::quantize::rotation::{self, Quaternion};
use crate::transform::Transform;

/// Most words of all keys together, so that a few bytes cannot ask for all memory.
pub const MAX_KEY_WORDS: usize = 1 << 26;

/// Most words of keys that so many bytes can be of: keys that say nothing take next to no bytes, but not less
/// than that.
pub const fn justified_words(bytes: usize) -> usize {
    (1 << 20) + bytes.saturating_mul(256)
}
/// Most regular keys of a clip that has others, too.
pub const MAX_LISTED_KEYS: u32 = 1 << 18;
/// Largest shift: steps are at least a 32nd. Part of the format, like everything in this file.
pub const MAX_SHIFT: i8 = 5;
/// The shift of a sample that has no residuals.
pub const STRIPPED: i8 = -1;
/// Level of keys in `entropy`.
pub const KEY_LEVEL: usize = 7;
/// κ of one step.
pub const STEP: i64 = 32;
const MAX_KAPPA: i64 = 1 << 28;

/// What an animated sub-track is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Three words and components.
    Translation,
    /// Three words and components.
    Scale,
    /// One of each.
    Hinge,
    /// Two of each.
    TwoAxes,
    /// Four words, three components.
    Free,
}

/// An animated sub-track.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The joint.
    pub joint: usize,
    /// What it is.
    pub kind: Kind,
    /// First component, and how many.
    pub component: usize,
    /// Number of components.
    pub components: usize,
    /// First word of a sample.
    pub word: usize,
    /// Number of words.
    pub words: usize,
    /// Free: per component its turn of one step in 2⁻³⁴ · 2; angles: the first of each row.
    turn: [[i64; 3]; 3],
    /// First component of the same joint.
    own: usize,
    /// Components of the nearest ancestor that has any.
    pub parent: (usize, usize),
}

/// All that follows from header and skeleton.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Side information.
    pub header: Header,
    /// Animated sub-tracks in order.
    pub groups: Vec<Group>,
    /// Axes and steps per joint.
    pub steps: Vec<Steps>,
    /// Components per sample.
    pub components: usize,
    /// Words per sample.
    pub words: usize,
    /// Words of the rest pose.
    rest: Vec<i32>,
    /// Per joint: transform of what is not animated.
    still: Vec<Transform>,
    /// Sample numbers of all keys, where they are not regular.
    keys: Vec<u32>,
}

/// Regular keys and others; empty where there are no others.
fn all_keys(header: &Header) -> Vec<u32> {
    let more = &header.split.keys;
    if more.is_empty() {
        return Vec::new();
    }
    let log = u32::from(header.log);
    let count = schedule::keys(header.samples, log);
    let regular = (0..count).map(|i| schedule::key(header.samples, log, i));
    let mut keys: Vec<u32> = regular.chain(more.iter().copied()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn narrow(v: f64) -> f32 {
    v as f32
}

impl Plan {
    /// `header` must be of this skeleton, which must be checked.
    pub fn new(skeleton: &Skeleton<'_>, header: Header) -> Result<Plan, Corrupt> {
        let joints = skeleton.parents.len();
        if header.rotations.len() != joints {
            return Err(Corrupt("wrong number of joints"));
        }
        let regular = schedule::keys(header.samples, u32::from(header.log));
        if !header.split.keys.is_empty() && regular > MAX_LISTED_KEYS {
            return Err(Corrupt("a clip with more keys than a reader lists"));
        }
        let steps = steps(skeleton, &header);
        let mut plan = Plan {
            groups: Vec::new(),
            components: 0,
            words: 0,
            rest: Vec::new(),
            still: Vec::with_capacity(joints),
            steps,
            keys: all_keys(&header),
            header,
        };
        let mut ranges: Vec<(usize, usize)> = Vec::with_capacity(joints);
        for j in 0..joints {
            let above = skeleton.parent(j).map_or((0, 0), |p| ranges[p]);
            let own = plan.components;
            let rest = skeleton.rest[j];
            if plan.header.translations[j] == Vector::Animated {
                plan.add(j, Kind::Translation, own, above, rest);
            }
            match plan.header.rotations[j] {
                Rotation::Hinge { .. } => plan.add(j, Kind::Hinge, own, above, rest),
                Rotation::TwoAxes { .. } => plan.add(j, Kind::TwoAxes, own, above, rest),
                Rotation::Free => plan.add(j, Kind::Free, own, above, rest),
                _ => {}
            }
            if plan.header.scales[j] == Vector::Animated {
                plan.add(j, Kind::Scale, own, above, rest);
            }
            let end = plan.components;
            ranges.push(if end > own { (own, end) } else { above });
            let vector = |v: Vector, rest: [f32; 3]| match v {
                Vector::Constant(v) => v,
                _ => rest,
            };
            plan.still.push(Transform {
                rotation: match plan.header.rotations[j] {
                    Rotation::Constant(q) => q.float().map(narrow),
                    _ => rest.rotation,
                },
                translation: vector(plan.header.translations[j], rest.translation),
                scale: vector(plan.header.scales[j], rest.scale),
            });
        }
        Ok(plan)
    }

    fn add(&mut self, joint: usize, kind: Kind, own: usize, parent: (usize, usize), rest: Transform) {
        let s = &self.steps[joint];
        let mut turn = [[0i64; 3]; 3];
        let (components, words) = match kind {
            Kind::Translation | Kind::Scale => (3, 3),
            Kind::Hinge => (1, 1),
            Kind::TwoAxes => (2, 2),
            Kind::Free => (3, 4),
        };
        for c in 0..components {
            match kind {
                Kind::Hinge | Kind::TwoAxes => {
                    let circle = std::f64::consts::TAU;
                    turn[c][0] = (s.rotation[c] / circle * 1_099_511_627_776.0).round() as i64;
                }
                Kind::Free => {
                    turn[c] = s.axes[c].map(|v| (s.rotation[c] * v * 17_179_869_184.0).round() as i64);
                }
                _ => {}
            }
        }
        match kind {
            Kind::Free => self.rest.extend(fixed(rest.rotation)),
            _ => self.rest.extend(std::iter::repeat_n(0, words)),
        }
        self.groups.push(Group {
            joint,
            kind,
            component: self.components,
            components,
            word: self.words,
            words,
            turn,
            own,
            parent,
        });
        self.components += components;
        self.words += words;
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.keys().saturating_sub(1)
    }

    /// Number of keys.
    pub fn keys(&self) -> usize {
        if !self.keys.is_empty() {
            return self.keys.len();
        }
        schedule::keys(self.header.samples, u32::from(self.header.log)) as usize
    }

    /// Sample number of a key.
    pub fn key(&self, i: usize) -> usize {
        if let Some(key) = self.keys.get(i) {
            return *key as usize;
        }
        schedule::key(self.header.samples, u32::from(self.header.log), i as u32) as usize
    }

    /// The key that a sample is, or else the segment that it is in and its number there.
    pub fn place(&self, sample: usize) -> Result<usize, (usize, usize)> {
        if !self.keys.is_empty() {
            return match self.keys.binary_search(&(sample as u32)) {
                Ok(key) => Ok(key),
                Err(after) => Err((after - 1, sample - self.key(after - 1))),
            };
        }
        let log = self.header.log;
        let segment = sample >> log;
        match sample - (segment << log) {
            0 => Ok(segment),
            _ if sample + 1 == self.header.samples as usize => Ok(segment + 1),
            more => Err((segment, more)),
        }
    }

    /// Number of tiers, at least 1.
    pub fn tiers(&self) -> usize {
        usize::from(self.header.split.tiers) + 1
    }

    /// The samples between key `segment` and the next, in order; numbered from that key.
    pub fn steps_of(&self, segment: usize) -> impl Iterator<Item = Step> + use<> {
        let length = self.key(segment + 1) - self.key(segment);
        schedule::steps(length, u32::from(self.header.log))
    }

    /// Words of what the first key is predicted from.
    pub fn rest_words(&self) -> &[i32] {
        &self.rest
    }

    /// The table for component `c` of `group`.
    #[inline]
    pub fn bucket(
        &self,
        activity: &Activity,
        means: &Means,
        c: usize,
        level: usize,
        group: &Group,
        around: [&[u8]; 2],
    ) -> Bucket {
        activity.bucket(means, c, level, group.own, [around[0][c], around[1][c]])
    }

    /// What other components say of component `c`, given κ of all before it.
    #[inline]
    pub fn cross(&self, c: usize, kappa: &[i64]) -> i64 {
        let [a, b] = self.header.sources[c];
        if a.weight == 0 {
            return 0;
        }
        let mut sum = (i64::from(a.weight) * kappa[a.component as usize] + 16) >> 5;
        if b.weight != 0 {
            sum += (i64::from(b.weight) * kappa[b.component as usize] + 16) >> 5;
        }
        sum
    }
}

/// κ of residual `k`.
#[inline]
pub fn kappa(k: i32, shift: u8, cross: i64) -> i64 {
    (i64::from(k) * (STEP >> shift) + cross).clamp(-MAX_KAPPA, MAX_KAPPA)
}

impl Group {
    /// What a step of each component turns by in fact: steps are rounded to integers, which tells where they
    /// are small and many. Free: vectors of 4·tan(φ/4), in the joint's axes; angles: the first of each row,
    /// in radians.
    #[cfg(feature = "native")]
    pub fn turned_by(&self) -> [[f64; 3]; 3] {
        let unit = match self.kind {
            Kind::Free => 1.0 / 17_179_869_184.0,
            _ => std::f64::consts::TAU / 1_099_511_627_776.0,
        };
        self.turn.map(|row| row.map(|v| v as f64 * unit))
    }

    /// Prediction of this sub-track from samples around; `words` holds samples of `stride` words.
    #[inline]
    pub fn predict(&self, words: &[i32], stride: usize, taps: &Taps) -> [i32; 4] {
        let at = |tap: usize| &words[taps.at[tap] * stride + self.word..][..self.words];
        match self.kind {
            Kind::Free => {
                let mut q = [rotation::IDENTITY; 4];
                for (tap, q) in q[..taps.count].iter_mut().enumerate() {
                    q.copy_from_slice(at(tap));
                }
                rotation::mixed(&q[..taps.count], &taps.weight[..taps.count])
            }
            Kind::Hinge | Kind::TwoAxes => {
                let mut out = [0; 4];
                for w in 0..self.words {
                    let base = at(0)[w];
                    let sum: i64 = (1..taps.count)
                        .map(|tap| i64::from(taps.weight[tap]) * i64::from(at(tap)[w].wrapping_sub(base)))
                        .sum();
                    out[w] = base.wrapping_add((sum >> 16) as i32);
                }
                out
            }
            Kind::Translation | Kind::Scale => {
                let mut out = [0; 4];
                for w in 0..3 {
                    let sum: i64 =
                        (0..taps.count).map(|tap| i64::from(taps.weight[tap]) * i64::from(at(tap)[w])).sum();
                    out[w] = (sum >> 16) as i32;
                }
                out
            }
        }
    }

    /// Words of the prediction moved on by κ of the components.
    #[inline]
    pub fn apply(&self, prediction: [i32; 4], kappa: [i64; 3]) -> [i32; 4] {
        match self.kind {
            Kind::Free => {
                let [a, b, c] = &self.turn;
                let along = |i: usize| (kappa[0] * a[i] + kappa[1] * b[i] + kappa[2] * c[i]) >> 11;
                rotation::turned(prediction, [along(0), along(1), along(2)])
            }
            Kind::Hinge | Kind::TwoAxes => {
                let mut out = prediction;
                for w in 0..self.words {
                    let turn = kappa[w].wrapping_mul(self.turn[w][0]) >> 13;
                    out[w] = out[w].wrapping_add(turn as i32);
                }
                out
            }
            Kind::Translation | Kind::Scale => {
                let mut out = prediction;
                for w in 0..3 {
                    let sum = i64::from(out[w]) + kappa[w];
                    out[w] = sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
                }
                out
            }
        }
    }
}

impl Plan {
    /// The rotation that `words` of a rotation group say, x y z w.
    #[inline]
    pub fn rotation(&self, group: &Group, words: &[i32]) -> [f32; 4] {
        match (&self.header.rotations[group.joint], group.kind) {
            (Rotation::Hinge { rest, .. }, Kind::Hinge) => {
                let axis = self.steps[group.joint].axes[0];
                rotation::multiply(rest.float(), rotation::about(axis, words[0])).map(narrow)
            }
            (Rotation::TwoAxes { rest, .. }, Kind::TwoAxes) => {
                let axes = &self.steps[group.joint].axes;
                let first = rotation::multiply(rest.float(), rotation::about(axes[0], words[0]));
                rotation::multiply(first, rotation::about(axes[1], words[1])).map(narrow)
            }
            _ => {
                let q: Quaternion = [words[0], words[1], words[2], words[3]];
                rotation::float(q).map(narrow)
            }
        }
    }

    /// The translation or scale that `words` of its group say.
    #[inline]
    pub fn vector(&self, group: &Group, words: &[i32]) -> [f32; 3] {
        let (rest, step) = match group.kind {
            Kind::Scale => (self.still[group.joint].scale, self.steps[group.joint].scale),
            _ => (self.still[group.joint].translation, self.steps[group.joint].translation),
        };
        let unit = step / STEP as f64;
        [0, 1, 2].map(|i| narrow(f64::from(rest[i]) + f64::from(words[i]) * unit))
    }

    /// Local transforms of all joints where nothing moves; animated sub-tracks have the rest pose.
    pub fn still(&self) -> &[Transform] {
        &self.still
    }

    /// Local transforms of all joints at a sample.
    pub fn pose(&self, words: &[i32], out: &mut [Transform]) {
        out.copy_from_slice(&self.still);
        for group in &self.groups {
            let words = &words[group.word..group.word + group.words];
            let out = &mut out[group.joint];
            match group.kind {
                Kind::Translation => out.translation = self.vector(group, words),
                Kind::Scale => out.scale = self.vector(group, words),
                _ => out.rotation = self.rotation(group, words),
            }
        }
    }
}

/// Residuals of one sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residuals {
    /// Steps are 2^shift times as fine; [`STRIPPED`]: the sample is its prediction.
    pub shift: i8,
    /// One per component, |k| < 2²⁸.
    pub k: Vec<i32>,
}

/// σ of shifts.
const SHIFT_SIGMA: u32 = 16;

/// Writes a clip of one tier. `keys`: residuals of all keys; `segments`: of the samples between, in the order
/// of [`Plan::steps_of`].
pub fn encode(plan: &Plan, keys: &[Residuals], segments: &[Vec<Residuals>], out: &mut Vec<u8>) {
    encode_head(plan, out);
    encode_keys(plan, keys, out);
    encode_tier(plan, 0, 0, segments, out);
}

/// Appends the header with its size: how the first tier begins.
pub fn encode_head(plan: &Plan, out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    header::encode(&plan.header, &mut bytes);
    put_sized(&bytes, out);
}

/// Appends the keys with their size: what follows the header.
pub fn encode_keys(plan: &Plan, keys: &[Residuals], out: &mut Vec<u8>) {
    let mut walk = Walk::new(plan);
    let mut encoder = Encoder::default();
    let calm = vec![CALM; plan.components];
    for key in keys {
        walk.put(KEY_LEVEL, [&calm, &calm], key, Some(&mut encoder));
    }
    let mut bytes = Vec::new();
    encoder.finish(&mut bytes);
    put_sized(&bytes, out);
}

/// Appends a tier of the segments from number `first` on: their sizes, and segments.
pub fn encode_tier(plan: &Plan, tier: u32, first: usize, segments: &[Vec<Residuals>], out: &mut Vec<u8>) {
    let mut all = Vec::new();
    for (s, samples) in segments.iter().enumerate() {
        let start = all.len();
        encode_segment(plan, first + s, tier, samples, &mut all);
        put_varint((all.len() - start) as u32, out);
    }
    out.extend_from_slice(&all);
}

/// What the symbols of a sample depend on.
struct Walk<'a> {
    plan: &'a Plan,
    means: Means,
    activity: Activity,
}

impl<'a> Walk<'a> {
    fn new(plan: &'a Plan) -> Walk<'a> {
        let mut means = Means::default();
        means.reset(&plan.header.starts);
        Walk { plan, means, activity: Activity::default() }
    }

    /// Learns from a sample and, with an encoder, writes it.
    fn put(
        &mut self,
        level: usize,
        around: [&[u8]; 2],
        residuals: &Residuals,
        mut encoder: Option<&mut Encoder>,
    ) {
        if let Some(encoder) = &mut encoder {
            encoder.put(Bucket::fixed(SHIFT_SIGMA), i32::from(residuals.shift));
        }
        self.activity.start(self.plan.components);
        if residuals.shift == STRIPPED {
            return;
        }
        for group in &self.plan.groups {
            self.activity.group(group.parent);
            for c in group.component..group.component + group.components {
                let k = residuals.k[c];
                if let Some(encoder) = &mut encoder {
                    let bucket = self.plan.bucket(&self.activity, &self.means, c, level, group, around);
                    encoder.put(bucket, k);
                }
                self.activity.put(&self.means, c, level, k);
                self.means.learn(c, level, k);
            }
        }
    }

    /// Reads a sample's residuals.
    fn take(
        &mut self,
        level: usize,
        around: [&[u8]; 2],
        decoder: &mut Decoder<'_>,
    ) -> Result<Residuals, Corrupt> {
        let shift = take_shift(decoder)?;
        let mut k = vec![0; self.plan.components];
        self.activity.start(self.plan.components);
        if shift == STRIPPED {
            return Ok(Residuals { shift, k });
        }
        for group in &self.plan.groups {
            self.activity.group(group.parent);
            let own = &mut k[group.component..group.component + group.components];
            for (c, k) in (group.component..).zip(own) {
                let bucket = self.plan.bucket(&self.activity, &self.means, c, level, group, around);
                *k = decoder.take(bucket);
                self.activity.put(&self.means, c, level, *k);
                self.means.learn(c, level, *k);
            }
        }
        Ok(Residuals { shift, k })
    }
}

fn take_shift(decoder: &mut Decoder<'_>) -> Result<i8, Corrupt> {
    match i8::try_from(decoder.take(Bucket::fixed(SHIFT_SIGMA))) {
        Ok(shift) if (STRIPPED..=MAX_SHIFT).contains(&shift) => Ok(shift),
        _ => Err(Corrupt("steps of a sample out of range")),
    }
}

/// Ratio 1: of what is not known.
pub const CALM: u8 = 64;

fn encode_segment(plan: &Plan, segment: usize, tier: u32, samples: &[Residuals], out: &mut Vec<u8>) {
    let mut walk = Walk::new(plan);
    let mut encoder = Encoder::default();
    let n = plan.components;
    let more = plan.header.split.tiers;
    let length = plan.key(segment + 1) - plan.key(segment);
    let mut ratios = vec![CALM; (length + 1) * n];
    for (step, residuals) in plan.steps_of(segment).zip(samples) {
        let own = schedule::tier(step.level, more);
        if own > tier {
            break;
        }
        let [left, right] = [step.taps.at[0], step.taps.at[1]].map(|t| &ratios[t * n..t * n + n]);
        let encoder = (own == tier).then_some(&mut encoder);
        walk.put(step.level as usize, [left, right], residuals, encoder);
        ratios[step.sample * n..][..n].copy_from_slice(&walk.activity.ratio);
    }
    encoder.finish(out);
}

/// An opened clip: its plan, its keys, and where its segments are.
#[derive(Clone, Debug)]
pub struct Stored {
    /// What follows from header and skeleton.
    pub plan: Plan,
    /// Words of all keys.
    keys: Vec<i32>,
    /// What [`encode_keys`] wrote.
    key_bytes: Vec<u8>,
    /// Sizes and segments.
    segments: Vec<u8>,
    ends: Ends,
    /// Bytes of header, keys and sizes.
    pub head_bytes: usize,
}

/// Memory of a decoder, for one segment at a time.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    words: Vec<i32>,
    ratios: Vec<u8>,
    calm: Vec<u8>,
    fresh: Vec<i32>,
    means: Means,
    activity: Activity,
    kappa: Vec<i64>,
    /// Per sample: it has no residuals.
    stripped: Vec<bool>,
}

impl Stored {
    /// Reads what [`encode`] wrote: header and keys; segments when they are asked for.
    pub fn open(skeleton: &Skeleton<'_>, bytes: &[u8]) -> Result<Stored, Corrupt> {
        let (plan, size) = Stored::head(skeleton, bytes)?;
        // The size of a segment takes a byte.
        if plan.segments() > bytes.len() {
            return Err(Corrupt("sizes of a clip's segments end early"));
        }
        if plan.keys() * plan.words > justified_words(bytes.len()) {
            return Err(Corrupt("more keys than the bytes of a clip justify"));
        }
        let mut stored = Stored {
            keys: vec![0; plan.keys() * plan.words],
            key_bytes: Vec::new(),
            segments: Vec::new(),
            ends: Ends::default(),
            plan,
            head_bytes: size,
        };
        let body = &bytes[size..];
        let size = decode_keys(&stored.plan, body, &mut stored.keys)?;
        stored.key_bytes = body[..size].to_vec();
        stored.segments = body[size..].to_vec();
        stored.ends = Ends::read(stored.plan.segments(), &stored.segments)?;
        stored.head_bytes += size + stored.ends.head();
        Ok(stored)
    }

    /// Reads the header alone: what follows from it, and how many bytes it took.
    pub fn head(skeleton: &Skeleton<'_>, bytes: &[u8]) -> Result<(Plan, usize), Corrupt> {
        skeleton.check()?;
        let mut cursor = Cursor::new(bytes);
        let size = cursor.varint()? as usize;
        let header = header::decode(cursor.take(size)?, skeleton.parents.len())?;
        let plan = Plan::new(skeleton, header)?;
        if plan.keys().saturating_mul(plan.words) > MAX_KEY_WORDS {
            return Err(Corrupt("a clip with more keys than a reader takes"));
        }
        Ok((plan, cursor.used()))
    }

    /// Words of key `i`.
    pub fn key_words(&self, i: usize) -> &[i32] {
        &self.keys[i * self.plan.words..][..self.plan.words]
    }

    /// Decodes segment `s`; [`Scratch::sample`] then gives its samples, keys included. Of a clip of several
    /// tiers this is the first.
    pub fn decode(&self, s: usize, scratch: &mut Scratch) -> Result<(), Corrupt> {
        let bytes = (self.ends.of(s, &self.segments)).ok_or(Corrupt("no such segment"))?;
        decode_segment(&self.plan, &self.keys, s, &[bytes], scratch)
    }

    /// The bytes of segment `s` in the first tier.
    pub fn segment(&self, s: usize) -> Option<&[u8]> {
        self.ends.of(s, &self.segments)
    }

    /// Bytes of the header, with their size.
    pub fn header_bytes(&self) -> usize {
        self.head_bytes - self.key_bytes.len() - self.ends.head()
    }

    /// Bytes of keys, sizes and segments.
    pub fn body_bytes(&self) -> usize {
        self.key_bytes.len() + self.segments.len()
    }

    /// The keys as they are stored, with their size.
    pub fn key_bytes(&self) -> &[u8] {
        &self.key_bytes
    }

    /// Words of all keys.
    pub fn keys(&self) -> &[i32] {
        &self.keys
    }
}

/// Words of all keys from what [`encode_keys`] wrote, into `keys`; and how many bytes that took. Allocates a
/// sample's memory.
pub fn decode_keys(plan: &Plan, bytes: &[u8], keys: &mut [i32]) -> Result<usize, Corrupt> {
    decode_keys_with(plan, bytes, keys, &mut Scratch::default())
}

/// The same with the caller's memory.
pub fn decode_keys_with(
    plan: &Plan,
    bytes: &[u8],
    keys: &mut [i32],
    scratch: &mut Scratch,
) -> Result<usize, Corrupt> {
    let mut cursor = Cursor::new(bytes);
    let size = cursor.varint()? as usize;
    let mut decoder = Decoder::new(cursor.take(size)?);
    let n = plan.words;
    if keys.len() != plan.keys() * n {
        return Err(Corrupt("no room for the keys of a clip"));
    }
    scratch.start(plan, 1);
    scratch.words[..n].copy_from_slice(&plan.rest);
    let taps = Taps { at: [0; 4], weight: [1 << 16, 0, 0, 0], count: 1 };
    for key in 0..plan.keys() {
        let key = &mut keys[key * n..(key + 1) * n];
        sample(
            plan,
            Some(&mut decoder),
            &mut scratch.means,
            &mut scratch.activity,
            &mut scratch.kappa,
            KEY_LEVEL,
            [&scratch.calm, &scratch.calm],
            &scratch.words,
            &taps,
            key,
        )?;
        scratch.words[..n].copy_from_slice(key);
    }
    decoder.finish()?;
    Ok(cursor.used())
}

/// Decodes segment `s` from the bytes that its tiers have of it, in order, as many as there are;
/// [`Scratch::sample`] then gives its samples, keys included. Allocates nothing where `scratch` is of this
/// clip.
pub fn decode_segment(
    plan: &Plan,
    keys: &[i32],
    s: usize,
    tiers: &[&[u8]],
    scratch: &mut Scratch,
) -> Result<(), Corrupt> {
    let (w, n) = (plan.words, plan.components);
    let ends = keys.get(s * w..(s + 2) * w);
    let (Some(ends), true) = (ends, s < plan.segments()) else {
        return Err(Corrupt("no such segment"));
    };
    let more = plan.header.split.tiers;
    let length = plan.key(s + 1) - plan.key(s);
    scratch.start(plan, length);
    scratch.words[..w].copy_from_slice(&ends[..w]);
    scratch.words[length * w..].copy_from_slice(&ends[w..]);
    let mut tier = 0;
    let mut decoder = tiers.first().map(|bytes| Decoder::new(bytes));
    // Lent to the loop, so that it can borrow the rest.
    let mut fresh = std::mem::take(&mut scratch.fresh);
    let mut result = Ok(());
    for step in plan.steps_of(s) {
        // Levels only become finer: tiers follow one another.
        while tier < schedule::tier(step.level, more) {
            result = decoder.take().map_or(Ok(()), |d| d.finish()).and(result);
            tier += 1;
            decoder = tiers.get(tier as usize).map(|bytes| Decoder::new(bytes));
        }
        let around = [step.taps.at[0], step.taps.at[1]].map(|t| &scratch.ratios[t * n..t * n + n]);
        let there = result.and_then(|()| {
            sample(
                plan,
                decoder.as_mut(),
                &mut scratch.means,
                &mut scratch.activity,
                &mut scratch.kappa,
                step.level as usize,
                around,
                &scratch.words,
                &step.taps,
                &mut fresh,
            )
        });
        result = there.map(|_| ());
        match there {
            Ok(coded) => scratch.stripped[step.sample] = !coded,
            Err(_) => break,
        }
        scratch.words[step.sample * w..][..w].copy_from_slice(&fresh);
        scratch.ratios[step.sample * n..][..n].copy_from_slice(&scratch.activity.ratio);
    }
    scratch.fresh = fresh;
    result?;
    decoder.map_or(Ok(()), |d| d.finish())?;
    // What no level of this segment is in must say nothing.
    match tiers.iter().skip(tier as usize + 1).all(|b| b.is_empty()) {
        true => Ok(()),
        false => Err(Corrupt("a tier without samples that has bytes")),
    }
}

/// Residuals of a clip of one tier: of all keys, and of the samples of all segments. What [`encode`] was
/// given.
pub type Choices = (Vec<Residuals>, Vec<Vec<Residuals>>);

/// Takes residuals out of a clip again. `tiers`: the bytes of all tiers, the first with header and keys.
pub fn choices(skeleton: &Skeleton<'_>, tiers: &[&[u8]]) -> Result<(Plan, Choices), Corrupt> {
    let Some(&first) = tiers.first() else {
        return Err(Corrupt("a clip without bytes"));
    };
    let stored = Stored::open(skeleton, first)?;
    let plan = &stored.plan;
    let more = plan.header.split.tiers;
    if tiers.len() != plan.tiers() {
        return Err(Corrupt("a clip without all of its tiers"));
    }
    let ends =
        (tiers[1..].iter()).map(|bytes| Ends::read(plan.segments(), bytes)).collect::<Result<Vec<_>, _>>()?;
    let n = plan.components;
    let (key_bytes, _) = crate::bytes::take_sized(&stored.key_bytes)?;
    let mut decoder = Decoder::new(key_bytes);
    let mut walk = Walk::new(plan);
    let calm = vec![CALM; n];
    let keys = (0..plan.keys())
        .map(|_| walk.take(KEY_LEVEL, [&calm, &calm], &mut decoder))
        .collect::<Result<Vec<_>, _>>()?;
    let mut segments = Vec::with_capacity(plan.segments());
    for s in 0..plan.segments() {
        let upper = (ends.iter().zip(&tiers[1..])).map(|(ends, bytes)| ends.of(s, bytes));
        let mut decoders: Vec<Decoder<'_>> = std::iter::once(stored.segment(s))
            .chain(upper)
            .map(|bytes| Decoder::new(bytes.unwrap_or(&[])))
            .collect();
        let mut walk = Walk::new(plan);
        let length = plan.key(s + 1) - plan.key(s);
        let mut ratios = vec![CALM; (length + 1) * n];
        let mut samples = Vec::with_capacity(length);
        for step in plan.steps_of(s) {
            let around = [step.taps.at[0], step.taps.at[1]].map(|t| &ratios[t * n..t * n + n]);
            let decoder = &mut decoders[schedule::tier(step.level, more) as usize];
            samples.push(walk.take(step.level as usize, around, decoder)?);
            ratios[step.sample * n..][..n].copy_from_slice(&walk.activity.ratio);
        }
        decoders.iter().try_for_each(Decoder::finish)?;
        segments.push(samples);
    }
    Ok((stored.plan, (keys, segments)))
}

impl Scratch {
    /// With all the memory that decoding any segment needs.
    pub fn new(plan: &Plan) -> Scratch {
        let mut scratch = Scratch::default();
        scratch.make_room(plan);
        scratch
    }

    /// Takes the memory that decoding `plan` needs now, so that it need not be taken later.
    pub fn make_room(&mut self, plan: &Plan) {
        let longest = (1 << plan.header.log).min(plan.header.samples as usize - 1);
        self.start(plan, longest.max(1));
        self.activity.start(plan.components);
    }

    fn start(&mut self, plan: &Plan, length: usize) {
        self.words.clear();
        self.words.resize((length + 1) * plan.words, 0);
        self.ratios.clear();
        self.ratios.resize((length + 1) * plan.components, CALM);
        self.calm.clear();
        self.calm.resize(plan.components, CALM);
        self.fresh.clear();
        self.fresh.resize(plan.words, 0);
        self.kappa.clear();
        self.kappa.resize(plan.components, 0);
        self.stripped.clear();
        self.stripped.resize(length + 1, false);
        self.means.reset(&plan.header.starts);
    }

    /// Whether sample `i` of the segment that was decoded last is its prediction alone.
    pub fn is_stripped(&self, i: usize) -> bool {
        self.stripped.get(i).copied().unwrap_or(false)
    }

    /// Words of sample `i` of the segment that was decoded last.
    pub fn sample(&self, plan: &Plan, i: usize) -> &[i32] {
        &self.words[i * plan.words..][..plan.words]
    }
}

/// One sample into `out`; whether it has residuals.
#[allow(clippy::too_many_arguments)]
fn sample(
    plan: &Plan,
    decoder: Option<&mut Decoder<'_>>,
    means: &mut Means,
    activity: &mut Activity,
    kappas: &mut [i64],
    level: usize,
    around: [&[u8]; 2],
    words: &[i32],
    taps: &Taps,
    out: &mut [i32],
) -> Result<bool, Corrupt> {
    activity.start(plan.components);
    // A stripped sample and one of a tier that is not there are their predictions.
    let coded = match decoder {
        Some(decoder) => Some((take_shift(decoder)?, decoder)),
        None => None,
    };
    let Some((shift, decoder)) = coded.filter(|(shift, _)| *shift != STRIPPED) else {
        for group in &plan.groups {
            let value = group.apply(group.predict(words, plan.words, taps), [0; 3]);
            out[group.word..group.word + group.words].copy_from_slice(&value[..group.words]);
        }
        return Ok(false);
    };
    for group in &plan.groups {
        let mut own = [0; 3];
        activity.group(group.parent);
        for i in 0..group.components {
            let c = group.component + i;
            let bucket = plan.bucket(activity, means, c, level, group, around);
            let k = decoder.take(bucket);
            activity.put(means, c, level, k);
            means.learn(c, level, k);
            let value = kappa(k, shift.unsigned_abs(), plan.cross(c, kappas));
            kappas[c] = value;
            own[i] = value;
        }
        let prediction = group.predict(words, plan.words, taps);
        let value = group.apply(prediction, own);
        out[group.word..group.word + group.words].copy_from_slice(&value[..group.words]);
    }
    Ok(true)
}
