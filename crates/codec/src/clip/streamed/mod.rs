//! The streamed form of a clip: residuals in the order of [`crate::clip::schedule`], range-coded segment by
//! segment. Lossless: the decoder reproduces exactly what the compiler measured.
//!
//! ```text
//! varint n · n bytes: header (side information) · varint n · n bytes: keys · per segment a varint size · segments
//! keys, segment    residuals of samples, one symbol stream (residuals) each. Per sample: shift (0 … 5, coded as a residual with σ = 1/16), then k of each component;
//!                  shift −1: a stripped sample, which equals its prediction; all its k are 0, and no mean or ratio adapts
//! tier             of a divided clip: the first tier is the above, restricted to its own levels; every other tier is: per segment a varint size · segments
//! component        per joint, parents first: translation 3, rotation 1 … 3, scale 3, those that are animated
//! κ = 32·k / 2^shift + Σ over sources of (weight·κ + 16) >> 5          in 2⁻⁵ steps, clamped to ±2²⁸; κ on the right is that of the source
//! vector           code += κ per axis                                  code in 2⁻⁵ steps, relative to the rest pose
//! angle            code += (κ · round(step/2π·2⁴⁰)) >> 13              wraps
//! free             turned by y = (Σ κ · round(step·axis·2³⁴)) >> 11    see rotations
//! ```
//!
//! A vector or an angle is predicted as the weighted sum of its codes in the samples around (for an angle, of
//! their differences to the left one), rounded down; a free rotation as the weighted sum of quaternions. The
//! first key is predicted from the rest pose (angles 0), every other from the key before.
//!
//! A segment needs only the keys at both its ends, a tier needs only those before it. The samples of a
//! missing tier equal their predictions. Keys are few; a reader decodes all of them when it opens the clip.

#[cfg(feature = "encode")]
mod residuals;

use crate::Corrupt;
use crate::bytes::Cursor;
pub use crate::clip::layout::{
    AnimatedSubTrack, ClipLayout, KEY_LEVEL, MAX_KEY_VALUES, MAX_LISTED_KEYS, SubTrackKind, max_key_codes,
};
pub use crate::clip::prediction::{KAPPA_PER_STEP, kappa};
use crate::clip::schedule::{self, Taps};
pub use crate::clip::segments::SegmentEnds;
use crate::clip::{Skeleton, header};
use crate::entropy::symbols::{Activity, Bucket, Decoder, Means, SymbolCoder};
#[cfg(feature = "encode")]
pub use residuals::{
    ClipResiduals, SampleResiduals, encode, encode_header, encode_keys, encode_tier, extract_residuals,
};

/// The largest shift: steps are at least a 32nd. Part of the format, like everything in this file.
pub const MAX_SHIFT: i8 = 5;
/// The shift of a sample without residuals.
pub const STRIPPED: i8 = -1;

/// The σ of shifts.
const SHIFT_SIGMA: u32 = 16;

/// The ratio 1, used if the activity is unknown.
pub const NEUTRAL_RATIO: u8 = 64;

/// An opened clip: its plan, its keys, and the places of its segments.
#[derive(Clone, Debug)]
pub struct StreamedClip {
    /// The sub-tracks and steps, from header and skeleton.
    pub layout: ClipLayout,
    /// The codes of all keys.
    keys: Vec<i32>,
    /// The keys as they are in the file, with their size.
    key_bytes: Vec<u8>,
    /// The sizes of the segments, then the segments.
    segments: Vec<u8>,
    segment_ends: SegmentEnds,
    /// Bytes of header, keys and sizes.
    pub head_bytes: usize,
}

/// The memory of a decoder, for one segment at a time.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    codes: Vec<i32>,
    ratios: Vec<u8>,
    neutral_ratios: Vec<u8>,
    new_codes: Vec<i32>,
    contexts: SegmentContexts,
    kappa: Vec<i64>,
    /// For each sample, `true` if it has no residuals.
    stripped: Vec<bool>,
}

impl StreamedClip {
    /// Decodes the header and the keys of the bytes of [`encode`]; segments are decoded on demand.
    pub fn open(skeleton: &Skeleton<'_>, bytes: &[u8]) -> Result<StreamedClip, Corrupt> {
        let (plan, size) = StreamedClip::decode_header(skeleton, bytes)?;
        // The size of a segment takes at least a byte.
        if plan.segments() > bytes.len() {
            return Err(Corrupt("sizes of a clip's segments end early"));
        }
        if plan.keys() * plan.codes_per_sample > max_key_codes(bytes.len()) {
            return Err(Corrupt("more keys than the bytes of a clip justify"));
        }
        let mut stored = StreamedClip {
            keys: vec![0; plan.keys() * plan.codes_per_sample],
            key_bytes: Vec::new(),
            segments: Vec::new(),
            segment_ends: SegmentEnds::default(),
            layout: plan,
            head_bytes: size,
        };
        let body = &bytes[size..];
        let size = decode_keys(&stored.layout, body, &mut stored.keys)?;
        stored.key_bytes = body[..size].to_vec();
        stored.segments = body[size..].to_vec();
        stored.segment_ends = SegmentEnds::read(stored.layout.segments(), &stored.segments)?;
        stored.head_bytes += size + stored.segment_ends.head_bytes();
        Ok(stored)
    }

    /// Decodes the header alone. Returns the plan that follows from it, and the header's size in bytes.
    pub fn decode_header(skeleton: &Skeleton<'_>, bytes: &[u8]) -> Result<(ClipLayout, usize), Corrupt> {
        skeleton.check()?;
        let mut cursor = Cursor::new(bytes);
        let size = cursor.varint()? as usize;
        let header = header::decode(cursor.bytes(size)?, skeleton.parents.len())?;
        let plan = ClipLayout::new(skeleton, header)?;
        if plan.keys().saturating_mul(plan.codes_per_sample) > MAX_KEY_VALUES {
            return Err(Corrupt("a clip with more keys than a reader takes"));
        }
        Ok((plan, cursor.used()))
    }

    /// Returns the codes of key `i`.
    pub fn key_values(&self, i: usize) -> &[i32] {
        &self.keys[i * self.layout.codes_per_sample..][..self.layout.codes_per_sample]
    }

    /// Decodes segment `s`, in a clip of several tiers its first tier; [`Scratch::sample`] then gives its
    /// samples, keys included.
    pub fn decode(&self, s: usize, scratch: &mut Scratch) -> Result<(), Corrupt> {
        let bytes = (self.segment_ends.segment(s, &self.segments)).ok_or(Corrupt("clip: no such segment"))?;
        decode_segment(&self.layout, &self.keys, s, &[bytes], scratch)
    }

    /// Returns the bytes of segment `s` in the first tier.
    pub fn segment(&self, s: usize) -> Option<&[u8]> {
        self.segment_ends.segment(s, &self.segments)
    }

    /// Returns the bytes of the header, with their size.
    pub fn header_bytes(&self) -> usize {
        self.head_bytes - self.key_bytes.len() - self.segment_ends.head_bytes()
    }

    /// Returns the number of bytes of keys, sizes and segments.
    pub fn body_bytes(&self) -> usize {
        self.key_bytes.len() + self.segments.len()
    }

    /// Returns the clip as it is stored.
    #[cfg(feature = "encode")]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        encode_header(&self.layout, &mut out);
        out.extend_from_slice(&self.key_bytes);
        out.extend_from_slice(&self.segments);
        out
    }

    /// Returns the keys as they are stored, with their size.
    pub fn key_bytes(&self) -> &[u8] {
        &self.key_bytes
    }

    /// Returns the codes of all keys.
    pub fn keys(&self) -> &[i32] {
        &self.keys
    }
}

/// Decodes the codes of all keys from the bytes of [`encode_keys`] into `keys`. Returns the number of bytes
/// read. Allocates the memory of one sample.
pub fn decode_keys(plan: &ClipLayout, bytes: &[u8], keys: &mut [i32]) -> Result<usize, Corrupt> {
    decode_keys_with(plan, bytes, keys, &mut Scratch::default())
}

/// Does the same as [`decode_keys`] in memory of the caller.
pub fn decode_keys_with(
    plan: &ClipLayout,
    bytes: &[u8],
    keys: &mut [i32],
    scratch: &mut Scratch,
) -> Result<usize, Corrupt> {
    let mut cursor = Cursor::new(bytes);
    let size = cursor.varint()? as usize;
    let mut decoder = Decoder::new(cursor.bytes(size)?);
    let n = plan.codes_per_sample;
    if keys.len() != plan.keys() * n {
        return Err(Corrupt("no room for the keys of a clip"));
    }
    scratch.begin_segment(plan, 1);
    scratch.codes[..n].copy_from_slice(&plan.rest);
    let taps = Taps { samples: [0; 4], weights: [1 << 16, 0, 0, 0], count: 1 };
    for key in 0..plan.keys() {
        let key = &mut keys[key * n..(key + 1) * n];
        decode_sample(
            plan,
            Some(&mut decoder),
            (&mut scratch.contexts, &mut scratch.kappa),
            SampleActivity { level: KEY_LEVEL, around: [&scratch.neutral_ratios, &scratch.neutral_ratios] },
            &scratch.codes,
            &taps,
            key,
        )?;
        scratch.codes[..n].copy_from_slice(key);
    }
    decoder.finish()?;
    Ok(cursor.used())
}

/// Decodes segment `s` from its bytes in each tier, in order, as many as are loaded; [`Scratch::sample`] then
/// gives its samples, keys included. Allocates nothing if `scratch` was made for this clip.
pub fn decode_segment(
    plan: &ClipLayout,
    keys: &[i32],
    s: usize,
    tiers: &[&[u8]],
    scratch: &mut Scratch,
) -> Result<(), Corrupt> {
    let (w, n) = (plan.codes_per_sample, plan.components);
    let ends = keys.get(s * w..(s + 2) * w);
    let (Some(ends), true) = (ends, s < plan.segments()) else {
        return Err(Corrupt("clip: no such segment"));
    };
    let more = plan.header.split.tiers;
    let length = plan.key(s + 1) - plan.key(s);
    scratch.begin_segment(plan, length);
    scratch.codes[..w].copy_from_slice(&ends[..w]);
    scratch.codes[length * w..].copy_from_slice(&ends[w..]);
    let mut tier = 0;
    let mut decoder = tiers.first().map(|bytes| Decoder::new(bytes));
    // Taken out of `scratch`, so that the loop can borrow the rest.
    let mut fresh = std::mem::take(&mut scratch.new_codes);
    let mut result = Ok(());
    for step in plan.segment_steps(s) {
        // Levels only become finer: tiers follow one another.
        while tier < schedule::tier(step.level, more) {
            result = decoder.take().map_or(Ok(()), |d| d.finish()).and(result);
            tier += 1;
            decoder = tiers.get(tier as usize).map(|bytes| Decoder::new(bytes));
        }
        let around = [step.taps.samples[0], step.taps.samples[1]].map(|t| &scratch.ratios[t * n..t * n + n]);
        let there = result.and_then(|()| {
            decode_sample(
                plan,
                decoder.as_mut(),
                (&mut scratch.contexts, &mut scratch.kappa),
                SampleActivity { level: step.level as usize, around },
                &scratch.codes,
                &step.taps,
                &mut fresh,
            )
        });
        result = there.map(|_| ());
        match there {
            Ok(coded) => scratch.stripped[step.sample] = !coded,
            Err(_) => break,
        }
        scratch.codes[step.sample * w..][..w].copy_from_slice(&fresh);
        scratch.ratios[step.sample * n..][..n].copy_from_slice(&scratch.contexts.activity.ratio);
    }
    scratch.new_codes = fresh;
    result?;
    decoder.map_or(Ok(()), |d| d.finish())?;
    // Tiers beyond the finest level of this segment must be empty.
    match tiers.iter().skip(tier as usize + 1).all(|b| b.is_empty()) {
        true => Ok(()),
        false => Err(Corrupt("clip: a tier without samples that has bytes")),
    }
}

impl Scratch {
    /// Allocates all the memory that decoding any segment needs.
    pub fn new(plan: &ClipLayout) -> Scratch {
        let mut scratch = Scratch::default();
        scratch.reserve(plan);
        scratch
    }

    /// Allocates the memory that decoding `plan` needs now, so that nothing is allocated later.
    pub fn reserve(&mut self, plan: &ClipLayout) {
        let longest = (1 << plan.header.segment_log2).min(plan.header.samples as usize - 1);
        self.begin_segment(plan, longest.max(1));
        self.contexts.activity.begin_sample(plan.components);
    }

    fn begin_segment(&mut self, plan: &ClipLayout, length: usize) {
        self.codes.clear();
        self.codes.resize((length + 1) * plan.codes_per_sample, 0);
        self.ratios.clear();
        self.ratios.resize((length + 1) * plan.components, NEUTRAL_RATIO);
        self.neutral_ratios.clear();
        self.neutral_ratios.resize(plan.components, NEUTRAL_RATIO);
        self.new_codes.clear();
        self.new_codes.resize(plan.codes_per_sample, 0);
        self.kappa.clear();
        self.kappa.resize(plan.components, 0);
        self.stripped.clear();
        self.stripped.resize(length + 1, false);
        self.contexts.means.reset(&plan.header.starts);
    }

    /// Returns `true` if sample `i` of the segment decoded last has no residuals.
    pub fn is_stripped(&self, i: usize) -> bool {
        self.stripped.get(i).copied().unwrap_or(false)
    }

    /// Returns the codes of sample `i` of the segment decoded last.
    pub fn sample(&self, plan: &ClipLayout, i: usize) -> &[i32] {
        &self.codes[i * plan.codes_per_sample..][..plan.codes_per_sample]
    }
}

/// The level of a sample and the activity around it, which determine its probabilities.
#[derive(Clone, Copy)]
struct SampleActivity<'a> {
    level: usize,
    /// For each component, the size of the residuals in the samples left and right, as in [`Activity`].
    around: [&'a [u8]; 2],
}

/// Statistics of the samples of a segment that were coded so far, from which the tables of the next one
/// follow.
#[derive(Clone, Debug, Default)]
struct SegmentContexts {
    means: Means,
    activity: Activity,
}

impl SegmentContexts {
    /// Begins a sample and codes its shift.
    #[inline(always)]
    fn begin_sample<S: SymbolCoder>(
        &mut self,
        plan: &ClipLayout,
        symbols: &mut S,
        shift: i8,
    ) -> Result<i8, Corrupt> {
        self.activity.begin_sample(plan.components);
        match i8::try_from(symbols.symbol(Bucket::fixed(SHIFT_SIGMA), i32::from(shift))) {
            Ok(shift) if (STRIPPED..=MAX_SHIFT).contains(&shift) => Ok(shift),
            _ => Err(Corrupt("clip: steps of a sample out of range")),
        }
    }

    /// Codes the residuals `k` of a sub-track: an encoder reads them, a decoder fills them.
    #[inline(always)]
    fn code_sub_track<S: SymbolCoder>(
        &mut self,
        plan: &ClipLayout,
        group: &AnimatedSubTrack,
        place: SampleActivity<'_>,
        symbols: &mut S,
        k: &mut [i32],
    ) {
        let SampleActivity { level, around } = place;
        self.activity.begin_sub_track(group.parent_components);
        for (c, k) in (group.component..).zip(k) {
            let bucket = plan.bucket(&self.activity, &self.means, c, level, group, around);
            *k = symbols.symbol(bucket, *k);
            self.activity.record(&self.means, c, level, *k);
            self.means.learn(c, level, *k);
        }
    }
}

/// Decodes the codes of a sample into `out`, predicted from samples of `words`. Returns `true` if it has
/// residuals. `kappas` has room for one per component.
fn decode_sample(
    plan: &ClipLayout,
    decoder: Option<&mut Decoder<'_>>,
    (contexts, kappas): (&mut SegmentContexts, &mut [i64]),
    place: SampleActivity<'_>,
    words: &[i32],
    taps: &Taps,
    out: &mut [i32],
) -> Result<bool, Corrupt> {
    // Stripped samples and those of missing tiers equal their predictions.
    let coded = match decoder {
        Some(decoder) => Some((contexts.begin_sample(plan, decoder, 0)?, decoder)),
        None => None,
    };
    let Some((shift, decoder)) = coded.filter(|(shift, _)| *shift != STRIPPED) else {
        contexts.activity.begin_sample(plan.components);
        for group in &plan.sub_tracks {
            let value = group.apply(group.predict(words, plan.codes_per_sample, taps), [0; 3]);
            out[group.first_code..group.first_code + group.code_count]
                .copy_from_slice(&value[..group.code_count]);
        }
        return Ok(false);
    };
    for group in &plan.sub_tracks {
        let (mut k, mut own) = ([0; 3], [0; 3]);
        contexts.code_sub_track(plan, group, place, decoder, &mut k[..group.components]);
        for i in 0..group.components {
            let c = group.component + i;
            let value = kappa(k[i], shift.unsigned_abs(), plan.predicted_kappa(c, kappas));
            kappas[c] = value;
            own[i] = value;
        }
        let prediction = group.predict(words, plan.codes_per_sample, taps);
        let value = group.apply(prediction, own);
        out[group.first_code..group.first_code + group.code_count]
            .copy_from_slice(&value[..group.code_count]);
    }
    Ok(true)
}
