//! The streamed form of a clip: residuals in the order of [`crate::clip::schedule`], range-coded segment by
//! segment. Lossless: the decoder reproduces exactly what the compiler measured.
//!
//! ```text
//! varint n · n bytes: header (side information) · varint n · n bytes: keys · per segment a varint size · segments
//! keys             residuals of samples, one symbol stream (residuals). Per sample: shift (0 … 5, coded as a residual with σ = 1/16), then k of each component;
//!                  shift −1: a stripped sample, which equals its prediction; all its k are 0, and no mean or ratio adapts
//!                  without components a clip has no symbols at all: its samples equal their predictions
//! segment          a symbol stream of two lanes. In each level the first two samples, and a last one that is left over, are coded alone, in lane 0; the others
//!                  by pairs: both shifts, then for each component the symbols of both k and the rests of both, by the mean before the pair, which then learns
//!                  from both, the first sample's first
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
use crate::clip::contexts::{Activity, Means};
pub use crate::clip::layout::{
    AnimatedSubTrack, ClipLayout, KEY_LEVEL, MAX_KEY_VALUES, MAX_LISTED_KEYS, SubTrackKind, max_key_codes,
};
pub use crate::clip::prediction::{KAPPA_PER_STEP, kappa};
use crate::clip::schedule::{self, Taps};
pub use crate::clip::segments::SegmentEnds;
use crate::clip::{Skeleton, header};
use crate::entropy::symbols::{Bucket, Decoder, DecoderPosition, SymbolCoder};
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

/// The memory of a decoder, for one segment at a time. Residuals are read in the order of the file, as far as
/// the samples that are asked for need them; the codes of a sample are computed when it is asked for, or a
/// sample that is predicted from it.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// The number of intervals of the segment.
    length: usize,
    codes: Vec<i32>,
    /// Bit i is set if the codes of sample i, between the keys, are known.
    known: u128,
    /// For each sample, its residuals, and their shift; [`STRIPPED`] if it has none.
    residuals: Vec<i32>,
    shifts: Vec<i8>,
    /// For each sample, the sizes of its residuals, as in [`Activity`]. Those of the first key are neutral.
    ratios: Vec<u8>,
    reader: ResidualReader,
    /// Those of the samples that are being read.
    own_ratios: Vec<u8>,
    means: Means,
    kappa: Vec<i64>,
}

/// The number of samples of a level whose residuals are coded side by side, so that a processor can decode
/// them at the same time.
const LANES: usize = 2;

/// The number of samples that each level begins with, one after the other: their means learn the most.
const ALONE: usize = 2;

/// The place up to which the residuals of a segment have been read.
#[derive(Clone, Copy, Debug, Default)]
struct ResidualReader {
    /// The next sample, and its level; not below the segment's length if all are read.
    sample: usize,
    level: u32,
    tier: u32,
    /// The place in the bytes of the tier; `None` at their start.
    position: Option<DecoderPosition<LANES>>,
}

impl ResidualReader {
    /// The place before the first sample of a segment of `length` intervals.
    fn new(length: usize, log: u8) -> ResidualReader {
        let level = u32::from(log).saturating_sub(1);
        let mut reader = ResidualReader { sample: 1 << level, level, ..ResidualReader::default() };
        reader.skip_empty_levels(length);
        reader
    }

    /// Returns the number of samples that are coded next, unless the level ends.
    fn count(&self) -> usize {
        if self.sample >> (self.level + 1) < ALONE { 1 } else { LANES }
    }

    /// Returns the samples that are coded next.
    fn samples(&self, length: usize) -> impl Iterator<Item = usize> + use<> {
        (self.sample..length).step_by(2 << self.level).take(self.count())
    }

    /// Moves to the next samples.
    fn advance(&mut self, length: usize) {
        self.sample += self.count() << (self.level + 1);
        self.skip_empty_levels(length);
    }

    fn skip_empty_levels(&mut self, length: usize) {
        while self.sample >= length && self.level > 0 {
            self.level -= 1;
            self.sample = 1 << self.level;
        }
    }

    /// `true` if the residuals of a sample between the keys were read.
    fn has_read(&self, sample: usize) -> bool {
        let level = sample.trailing_zeros();
        level > self.level || level == self.level && sample < self.sample
    }
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
        let bytes = self.segment(s).ok_or(NO_SEGMENT)?;
        decode_segment(&self.layout, &self.keys, s, &[bytes], scratch)
    }

    /// Begins segment `s`, whose samples [`StreamedClip::decode_sample`] decodes.
    pub fn begin_segment(&self, s: usize, scratch: &mut Scratch) -> Result<(), Corrupt> {
        scratch.begin_segment(&self.layout, &self.keys, s)
    }

    /// Returns the codes of sample `i` of segment `s`, the one that was begun. See
    /// [`Scratch::decode_sample`].
    pub fn decode_sample<'s>(
        &self,
        (s, i): (usize, usize),
        scratch: &'s mut Scratch,
    ) -> Result<&'s [i32], Corrupt> {
        let bytes = self.segment(s).ok_or(NO_SEGMENT)?;
        scratch.decode_sample(&self.layout, &[bytes], i)
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
    scratch.reset(plan, 1);
    scratch.codes[..n].copy_from_slice(&plan.rest);
    let taps = Taps { samples: [0; 4], weights: [1 << 16, 0, 0, 0], count: 1 };
    for key in 0..plan.keys() {
        scratch.read_residuals(plan, &mut decoder, KEY_LEVEL, [(1, [0, 0])])?;
        scratch.predict(plan, 1, &taps);
        keys[key * n..(key + 1) * n].copy_from_slice(&scratch.codes[n..]);
        scratch.codes.copy_within(n.., 0);
    }
    decoder.finish()?;
    Ok(cursor.used())
}

const NO_SEGMENT: Corrupt = Corrupt("clip: no such segment");

/// Decodes segment `s` from its bytes in each tier, in order, as many as are loaded; [`Scratch::sample`] then
/// gives its samples, keys included. Allocates nothing if `scratch` was made for this clip.
pub fn decode_segment(
    plan: &ClipLayout,
    keys: &[i32],
    s: usize,
    tiers: &[&[u8]],
    scratch: &mut Scratch,
) -> Result<(), Corrupt> {
    scratch.begin_segment(plan, keys, s)?;
    match scratch.length {
        1 => scratch.finish_tiers(tiers),
        length => (1..length).try_for_each(|i| scratch.decode_sample(plan, tiers, i).map(drop)),
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
        self.reset(plan, longest.max(1));
    }

    /// Begins segment `s`, between two of all keys. Allocates nothing if the memory was made for this clip.
    pub fn begin_segment(&mut self, plan: &ClipLayout, keys: &[i32], s: usize) -> Result<(), Corrupt> {
        let w = plan.codes_per_sample;
        let ends = keys.get(s * w..(s + 2) * w);
        let (Some(ends), true) = (ends, s < plan.segments()) else {
            return Err(NO_SEGMENT);
        };
        let length = plan.key(s + 1) - plan.key(s);
        self.reset(plan, length);
        self.codes[..w].copy_from_slice(&ends[..w]);
        self.codes[length * w..].copy_from_slice(&ends[w..]);
        Ok(())
    }

    fn reset(&mut self, plan: &ClipLayout, length: usize) {
        fn refill<T: Clone>(list: &mut Vec<T>, count: usize, value: T) {
            list.clear();
            list.resize(count, value);
        }
        refill(&mut self.codes, (length + 1) * plan.codes_per_sample, 0);
        refill(&mut self.residuals, (length + 1) * plan.components, 0);
        refill(&mut self.shifts, length + 1, STRIPPED);
        refill(&mut self.ratios, (length + 1) * plan.components, NEUTRAL_RATIO);
        refill(&mut self.own_ratios, LANES * plan.components, NEUTRAL_RATIO);
        refill(&mut self.kappa, plan.components, 0);
        self.means.reset(plan.components);
        self.reader = ResidualReader::new(length, plan.header.segment_log2);
        (self.length, self.known) = (length, 0);
    }

    /// Returns the codes of sample `i` of the segment that was begun. `tiers` are the bytes of the segment in
    /// each tier, in order, as many as are loaded; they are the same for all samples. Damage in bytes that no
    /// sample needed so far is not found. After an error the segment must be begun again.
    pub fn decode_sample(&mut self, plan: &ClipLayout, tiers: &[&[u8]], i: usize) -> Result<&[i32], Corrupt> {
        if i > self.length {
            return Err(Corrupt("clip: a sample beyond its segment"));
        }
        if !self.is_known(i) {
            while !self.reader.has_read(i) {
                self.read_next(plan, tiers)?;
            }
            self.predict_with_sources(plan, i);
        }
        Ok(self.sample(plan, i))
    }

    /// `true` if the codes of sample `i` are known; those of the keys at both ends always are.
    fn is_known(&self, i: usize) -> bool {
        i == 0 || i >= self.length || self.known >> i & 1 == 1
    }

    /// Reads the residuals of the next sample or pair of samples.
    fn read_next(&mut self, plan: &ClipLayout, tiers: &[&[u8]]) -> Result<(), Corrupt> {
        let ResidualReader { level, .. } = self.reader;
        // Levels only become finer: tiers follow one another.
        while self.reader.tier < schedule::tier(level, plan.header.split.tiers) {
            self.finish_tier(tiers)?;
        }
        if let Some(bytes) = tiers.get(self.reader.tier as usize) {
            let mut decoder = Decoder::resume(bytes, self.reader.position);
            let (length, distance) = (self.length, 1 << level);
            let mut pair = (self.reader.samples(length))
                .map(|sample| (sample, [sample - distance, (sample + distance).min(length)]));
            match (pair.next(), pair.next()) {
                (Some(a), Some(b)) => self.read_residuals(plan, &mut decoder, level as usize, [a, b])?,
                (Some(a), None) => self.read_residuals(plan, &mut decoder, level as usize, [a])?,
                (None, _) => {}
            }
            self.reader.position = Some(decoder.position());
        }
        self.reader.advance(self.length);
        match self.reader.sample < self.length {
            true => Ok(()),
            false => self.finish_tiers(tiers),
        }
    }

    /// Moves to the next tier, at the end of one.
    fn finish_tier(&mut self, tiers: &[&[u8]]) -> Result<(), Corrupt> {
        let bytes = tiers.get(self.reader.tier as usize);
        let finished = bytes.map_or(Ok(()), |bytes| Decoder::resume(bytes, self.reader.position).finish());
        self.reader.tier += 1;
        self.reader.position = None;
        finished
    }

    /// Refuses bytes after those of the last sample: tiers beyond the finest level of this segment are empty.
    fn finish_tiers(&mut self, tiers: &[&[u8]]) -> Result<(), Corrupt> {
        self.finish_tier(tiers)?;
        match tiers.iter().skip(self.reader.tier as usize).all(|bytes| bytes.is_empty()) {
            true => Ok(()),
            false => Err(Corrupt("clip: a tier without samples that has bytes")),
        }
    }

    /// Reads the residuals of samples of a level, in ascending order, each with the samples between which it
    /// lies.
    fn read_residuals<const COUNT: usize, const STATES: usize>(
        &mut self,
        plan: &ClipLayout,
        decoder: &mut Decoder<'_, STATES>,
        level: usize,
        samples: [(usize, [usize; 2]); COUNT],
    ) -> Result<(), Corrupt> {
        let n = plan.components;
        // The coder reads ratios of other samples while it writes those of its own.
        self.own_ratios.fill(NEUTRAL_RATIO);
        let mut ratios = self.own_ratios.chunks_exact_mut(n.max(1));
        let (mut rest, mut before) = (&mut self.residuals[..], 0);
        let mut pair = samples.map(|(i, around)| {
            let (_, from) = std::mem::take(&mut rest).split_at_mut((i - before) * n);
            let k;
            (k, rest) = from.split_at_mut(n);
            before = i + 1;
            let around = around.map(|i| &self.ratios[i * n..][..n]);
            LaneSample { shift: 0, k, ratios: ratios.next().unwrap_or_default(), around }
        });
        // A copy, whose states can stay in registers.
        let mut local = *decoder;
        code_samples(plan, &mut self.means, level, &mut local, &mut pair)?;
        *decoder = local;
        let shifts = pair.map(|sample| sample.shift);
        for (lane, ((i, _), shift)) in samples.into_iter().zip(shifts).enumerate() {
            self.shifts[i] = shift;
            self.ratios[i * n..][..n].copy_from_slice(&self.own_ratios[lane * n..][..n]);
        }
        Ok(())
    }

    /// Computes the codes of sample `i`, and before of all samples that it is predicted from. All their
    /// residuals have been read.
    fn predict_with_sources(&mut self, plan: &ClipLayout, i: usize) {
        // Samples are predicted from samples of coarser levels alone.
        let levels = i.trailing_zeros()..u32::from(plan.header.segment_log2);
        let length = self.length;
        let samples = |level: u32| (1usize << level..length).step_by(2 << level);
        let mut wanted = 1u128 << i;
        for level in levels.clone() {
            for sample in samples(level) {
                if wanted >> sample & 1 == 1 {
                    let (taps, count) = schedule::tap_samples(sample, 1 << level, length);
                    for &tap in taps[..count].iter().filter(|tap| !self.is_known(**tap)) {
                        wanted |= 1 << tap;
                    }
                }
            }
        }
        for level in levels.rev() {
            for sample in samples(level) {
                if wanted >> sample & 1 == 1 {
                    self.predict(plan, sample, &schedule::taps(sample, 1 << level, length));
                    self.known |= 1 << sample;
                }
            }
        }
    }

    /// Computes the codes of sample `i` from those of other samples and from its residuals.
    fn predict(&mut self, plan: &ClipLayout, i: usize, taps: &Taps) {
        let (w, n, shift) = (plan.codes_per_sample, plan.components, self.shifts[i]);
        let k = &self.residuals[i * n..][..n];
        for group in &plan.sub_tracks {
            let mut own = [0; 3];
            // Stripped samples and those of missing tiers equal their predictions.
            if shift != STRIPPED {
                for (c, own) in (group.component..).zip(&mut own[..group.components]) {
                    let cross = plan.predicted_kappa(c, &self.kappa);
                    *own = kappa(k[c], shift.unsigned_abs(), cross);
                    self.kappa[c] = *own;
                }
            }
            let value = group.apply(group.predict(&self.codes, w, taps), own);
            let to = &mut self.codes[i * w + group.first_code..][..group.code_count];
            to.copy_from_slice(&value[..group.code_count]);
        }
    }

    /// Returns `true` if sample `i` of the segment decoded last has no residuals.
    pub fn is_stripped(&self, i: usize) -> bool {
        self.shifts.get(i) == Some(&STRIPPED)
    }

    /// Returns the codes of sample `i` of the segment decoded last.
    pub fn sample(&self, plan: &ClipLayout, i: usize) -> &[i32] {
        &self.codes[i * plan.codes_per_sample..][..plan.codes_per_sample]
    }
}

/// A sample as one lane codes it: an encoder reads shift and residuals, a decoder fills them.
struct LaneSample<'a> {
    shift: i8,
    /// The residuals, which stay as they are if the sample is stripped.
    k: &'a mut [i32],
    /// For each component, the size of its residual, as in [`Activity`]. Neutral at first.
    ratios: &'a mut [u8],
    /// The same of the samples left and right.
    around: [&'a [u8]; 2],
}

/// Codes up to [`LANES`] samples of a level. `means` are those of the samples of the segment coded so far.
#[inline(always)]
fn code_samples<S: SymbolCoder>(
    plan: &ClipLayout,
    means: &mut Means,
    level: usize,
    symbols: &mut S,
    samples: &mut [LaneSample<'_>],
) -> Result<(), Corrupt> {
    if plan.components == 0 {
        // Nothing is left out where nothing moves.
        samples.iter_mut().for_each(|sample| sample.shift = 0);
        return Ok(());
    }
    means.enter_level(level, &plan.header.starts);
    for (lane, sample) in samples.iter_mut().enumerate() {
        sample.code_shift(lane, symbols)?;
    }
    match samples {
        [a, b] if a.shift != STRIPPED && b.shift != STRIPPED => {
            code_lanes(plan, means, symbols, [0, 1], [a, b]);
        }
        [a, ..] if a.shift != STRIPPED => code_lanes(plan, means, symbols, [0], [a]),
        [_, b] if b.shift != STRIPPED => code_lanes(plan, means, symbols, [1], [b]),
        _ => {}
    }
    Ok(())
}

/// Codes the residuals of samples, each in its lane.
#[inline(always)]
fn code_lanes<S: SymbolCoder, const COUNT: usize>(
    plan: &ClipLayout,
    means: &mut Means,
    symbols: &mut S,
    lanes: [usize; COUNT],
    samples: [&mut LaneSample<'_>; COUNT],
) {
    let mut activity = [Activity::default(); COUNT];
    for group in &plan.sub_tracks {
        let (first, last) = group.parent_components;
        for i in 0..COUNT {
            activity[i].begin_sub_track(group.begins_joint(), &samples[i].ratios[first..last]);
        }
        for c in group.component..group.component + group.components {
            let (mut buckets, mut k) = ([Bucket::default(); COUNT], [0; COUNT]);
            for i in 0..COUNT {
                let around = samples[i].around.map(|ratios| ratios[c]);
                buckets[i] = activity[i].bucket(means, c, around);
                k[i] = samples[i].k[c];
            }
            k = symbols.code(lanes, buckets, k);
            for i in 0..COUNT {
                samples[i].k[c] = k[i];
                samples[i].ratios[c] = activity[i].record(means, c, k[i]);
            }
            for k in k {
                means.learn(c, k);
            }
        }
    }
}

impl LaneSample<'_> {
    /// Codes the shift.
    #[inline(always)]
    fn code_shift<S: SymbolCoder>(&mut self, lane: usize, symbols: &mut S) -> Result<(), Corrupt> {
        let [shift] = symbols.code([lane], [Bucket::from_sigma(SHIFT_SIGMA)], [i32::from(self.shift)]);
        self.shift = match i8::try_from(shift) {
            Ok(shift) if (STRIPPED..=MAX_SHIFT).contains(&shift) => shift,
            _ => return Err(Corrupt("clip: steps of a sample out of range")),
        };
        Ok(())
    }
}
