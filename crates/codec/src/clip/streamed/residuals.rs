//! Residuals of a clip in the streamed form: encoding them, and extracting them from its bytes.

use super::{
    ALONE, ClipLayout, KEY_LEVEL, LANES, LaneSample, NEUTRAL_RATIO, STRIPPED, Scratch, SegmentEnds,
    StreamedClip, code_samples, decode_segment,
};
use crate::Corrupt;
use crate::bytes::{put_length_prefixed, put_varint, take_length_prefixed};
use crate::clip::contexts::Means;
use crate::clip::schedule::{self, ScheduledSample};
use crate::clip::{Skeleton, header};
use crate::entropy::symbols::{Bucket, Decoder, Encoder, SymbolCoder};

/// The residuals of one sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleResiduals {
    /// Steps are 2^shift times as fine; [`STRIPPED`](super::STRIPPED): the sample equals its prediction.
    pub shift: i8,
    /// One residual per component, |k| < 2²⁸.
    pub k: Vec<i32>,
}

/// Encodes a clip of one tier. `keys` are the residuals of all keys, `segments` those of the samples between,
/// in the order of [`ClipLayout::segment_steps`].
pub fn encode(
    plan: &ClipLayout,
    keys: &[SampleResiduals],
    segments: &[Vec<SampleResiduals>],
    out: &mut Vec<u8>,
) {
    encode_header(plan, out);
    encode_keys(plan, keys, out);
    encode_tier(plan, 0, 0, segments, out);
}

/// Appends the header with its size: the beginning of the first tier.
pub fn encode_header(plan: &ClipLayout, out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    header::encode(&plan.header, &mut bytes);
    put_length_prefixed(&bytes, out);
}

/// Appends the keys with their size; they follow the header.
pub fn encode_keys(plan: &ClipLayout, keys: &[SampleResiduals], out: &mut Vec<u8>) {
    let mut means = Means::default();
    let mut encoder = Encoder::default();
    let neutral = vec![NEUTRAL_RATIO; plan.components];
    for mut key in keys.iter().cloned() {
        let mut ratios = neutral.clone();
        let mut sample = [key.in_lane(&mut ratios, [&neutral, &neutral])];
        let coded = code_samples(plan, &mut means, KEY_LEVEL, &mut encoder, &mut sample);
        coded.expect("shifts in their range");
    }
    let mut bytes = Vec::new();
    encoder.finish(&mut bytes);
    put_length_prefixed(&bytes, out);
}

/// Appends a tier of the segments from number `first` on: their sizes, then the segments.
pub fn encode_tier(
    plan: &ClipLayout,
    tier: u32,
    first: usize,
    segments: &[Vec<SampleResiduals>],
    out: &mut Vec<u8>,
) {
    let mut all = Vec::new();
    for (s, samples) in segments.iter().enumerate() {
        let start = all.len();
        encode_segment(plan, first + s, tier, samples, &mut all);
        put_varint((all.len() - start) as u32, out);
    }
    out.extend_from_slice(&all);
}

fn encode_segment(
    plan: &ClipLayout,
    segment: usize,
    tier: u32,
    samples: &[SampleResiduals],
    out: &mut Vec<u8>,
) {
    let mut means = Means::default();
    let mut coder = TierCoder { encoder: Encoder::with_lanes(), coded: false };
    let n = plan.components;
    let length = plan.key(segment + 1) - plan.key(segment);
    let mut ratios = vec![vec![NEUTRAL_RATIO; n]; length + 1];
    let steps: Vec<ScheduledSample> = plan.segment_steps(segment).collect();
    let mut samples = samples.iter().cloned();
    let pairs = steps.chunk_by(|a, b| a.level == b.level).flat_map(|level| {
        let (alone, pairs) = level.split_at(ALONE.min(level.len()));
        alone.chunks(1).chain(pairs.chunks(LANES))
    });
    for pair in pairs {
        let level = pair[0].level;
        let own = schedule::tier(level, plan.header.split.tiers);
        if own > tier {
            break;
        }
        coder.coded = own == tier;
        let mut residuals: Vec<SampleResiduals> = samples.by_ref().take(pair.len()).collect();
        let mut of_pair = vec![vec![NEUTRAL_RATIO; n]; pair.len()];
        let mut lanes: Vec<LaneSample<'_>> = (residuals.iter_mut().zip(&mut of_pair).zip(pair))
            .map(|((residuals, own), step)| {
                let [left, right, ..] = step.taps.samples;
                residuals.in_lane(own, [&ratios[left], &ratios[right]])
            })
            .collect();
        let coded = code_samples(plan, &mut means, level as usize, &mut coder, &mut lanes);
        coded.expect("shifts in their range");
        for (step, own) in pair.iter().zip(of_pair) {
            ratios[step.sample] = own;
        }
    }
    coder.encoder.finish(out);
}

/// The residuals of a clip of one tier: of all keys, and of the samples of all segments; the arguments of
/// [`encode`].
pub type ClipResiduals = (Vec<SampleResiduals>, Vec<Vec<SampleResiduals>>);

/// Extracts the residuals from a clip. `tiers` has the bytes of all tiers, the first with header and keys.
pub fn extract_residuals(
    skeleton: &Skeleton<'_>,
    tiers: &[&[u8]],
) -> Result<(ClipLayout, ClipResiduals), Corrupt> {
    let Some(&first) = tiers.first() else {
        return Err(Corrupt("a clip without bytes"));
    };
    let stored = StreamedClip::open(skeleton, first)?;
    let plan = &stored.layout;
    if tiers.len() != plan.tiers() {
        return Err(Corrupt("a clip without all of its tiers"));
    }
    let ends = (tiers[1..].iter())
        .map(|bytes| SegmentEnds::read(plan.segments(), bytes))
        .collect::<Result<Vec<_>, _>>()?;
    let (key_bytes, _) = take_length_prefixed(&stored.key_bytes)?;
    let mut decoder = Decoder::new(key_bytes);
    let mut scratch = Scratch::default();
    scratch.reset(plan, 1);
    let keys = (0..plan.keys())
        .map(|_| {
            scratch.read_residuals(plan, &mut decoder, KEY_LEVEL, [(1, [0, 0])])?;
            Ok(scratch.sample_residuals(plan, 1))
        })
        .collect::<Result<Vec<_>, Corrupt>>()?;
    let mut segments = Vec::with_capacity(plan.segments());
    for s in 0..plan.segments() {
        let upper = (ends.iter().zip(&tiers[1..])).map(|(ends, bytes)| ends.segment(s, bytes));
        let bytes: Vec<&[u8]> =
            std::iter::once(stored.segment(s)).chain(upper).map(Option::unwrap_or_default).collect();
        decode_segment(plan, &stored.keys, s, &bytes, &mut scratch)?;
        segments
            .push(plan.segment_steps(s).map(|step| scratch.sample_residuals(plan, step.sample)).collect());
    }
    Ok((stored.layout, (keys, segments)))
}

impl SampleResiduals {
    /// Returns the sample for a coder.
    fn in_lane<'a>(&'a mut self, ratios: &'a mut [u8], around: [&'a [u8]; 2]) -> LaneSample<'a> {
        LaneSample { shift: self.shift, k: &mut self.k, ratios, around }
    }
}

impl Scratch {
    /// Returns the residuals of sample `i`, which have been read.
    fn sample_residuals(&self, plan: &ClipLayout, i: usize) -> SampleResiduals {
        let n = plan.components;
        let k = match self.shifts[i] {
            STRIPPED => vec![0; n],
            _ => self.residuals[i * n..][..n].to_vec(),
        };
        SampleResiduals { shift: self.shifts[i], k }
    }
}

/// Encodes the symbols of a tier. Contexts also learn from those of tiers before it.
struct TierCoder {
    encoder: Encoder<LANES>,
    /// `false` while symbols of another tier pass.
    coded: bool,
}

impl SymbolCoder for TierCoder {
    fn code<const COUNT: usize>(
        &mut self,
        lanes: [usize; COUNT],
        buckets: [Bucket; COUNT],
        k: [i32; COUNT],
    ) -> [i32; COUNT] {
        match self.coded {
            true => self.encoder.code(lanes, buckets, k),
            false => k,
        }
    }
}
