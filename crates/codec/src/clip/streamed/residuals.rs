//! Residuals of a clip in the streamed form: encoding them, and extracting them from its bytes.

use super::{
    ClipLayout, KEY_LEVEL, NEUTRAL_RATIO, SampleActivity, SegmentContexts, SegmentEnds, StreamedClip,
};
use crate::Corrupt;
use crate::bytes::{put_length_prefixed, put_varint, take_length_prefixed};
use crate::clip::{Skeleton, header, schedule};
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
    let mut walk = ResidualCoder::new(plan);
    let mut encoder = Encoder::default();
    let calm = vec![NEUTRAL_RATIO; plan.components];
    for key in keys {
        let place = SampleActivity { level: KEY_LEVEL, around: [&calm, &calm] };
        walk.code(place, &mut key.clone(), &mut encoder).expect("shifts in their range");
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
    let mut walk = ResidualCoder::new(plan);
    let mut encoder = Encoder::default();
    let n = plan.components;
    let more = plan.header.split.tiers;
    let length = plan.key(segment + 1) - plan.key(segment);
    let mut ratios = vec![NEUTRAL_RATIO; (length + 1) * n];
    for (step, residuals) in plan.segment_steps(segment).zip(samples) {
        let own = schedule::tier(step.level, more);
        if own > tier {
            break;
        }
        let around = [step.taps.samples[0], step.taps.samples[1]].map(|t| &ratios[t * n..t * n + n]);
        let place = SampleActivity { level: step.level as usize, around };
        let mut residuals = residuals.clone();
        let coded = match own == tier {
            true => walk.code(place, &mut residuals, &mut encoder),
            false => walk.code(place, &mut residuals, &mut PassThrough),
        };
        coded.expect("shifts in their range");
        ratios[step.sample * n..][..n].copy_from_slice(&walk.contexts.activity.ratio);
    }
    encoder.finish(out);
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
    let more = plan.header.split.tiers;
    if tiers.len() != plan.tiers() {
        return Err(Corrupt("a clip without all of its tiers"));
    }
    let ends = (tiers[1..].iter())
        .map(|bytes| SegmentEnds::read(plan.segments(), bytes))
        .collect::<Result<Vec<_>, _>>()?;
    let n = plan.components;
    let (key_bytes, _) = take_length_prefixed(&stored.key_bytes)?;
    let mut decoder = Decoder::new(key_bytes);
    let mut walk = ResidualCoder::new(plan);
    let calm = vec![NEUTRAL_RATIO; n];
    let keys = (0..plan.keys())
        .map(|_| walk.decode(SampleActivity { level: KEY_LEVEL, around: [&calm, &calm] }, &mut decoder))
        .collect::<Result<Vec<_>, _>>()?;
    let mut segments = Vec::with_capacity(plan.segments());
    for s in 0..plan.segments() {
        let upper = (ends.iter().zip(&tiers[1..])).map(|(ends, bytes)| ends.segment(s, bytes));
        let mut decoders: Vec<Decoder<'_>> = std::iter::once(stored.segment(s))
            .chain(upper)
            .map(|bytes| Decoder::new(bytes.unwrap_or(&[])))
            .collect();
        let mut walk = ResidualCoder::new(plan);
        let length = plan.key(s + 1) - plan.key(s);
        let mut ratios = vec![NEUTRAL_RATIO; (length + 1) * n];
        let mut samples = Vec::with_capacity(length);
        for step in plan.segment_steps(s) {
            let around = [step.taps.samples[0], step.taps.samples[1]].map(|t| &ratios[t * n..t * n + n]);
            let decoder = &mut decoders[schedule::tier(step.level, more) as usize];
            samples.push(walk.decode(SampleActivity { level: step.level as usize, around }, decoder)?);
            ratios[step.sample * n..][..n].copy_from_slice(&walk.contexts.activity.ratio);
        }
        decoders.iter().try_for_each(Decoder::finish)?;
        segments.push(samples);
    }
    Ok((stored.layout, (keys, segments)))
}

/// Codes samples in order, for encoding or decoding.
struct ResidualCoder<'a> {
    layout: &'a ClipLayout,
    contexts: SegmentContexts,
}

impl<'a> ResidualCoder<'a> {
    fn new(plan: &'a ClipLayout) -> ResidualCoder<'a> {
        let mut contexts = SegmentContexts::default();
        contexts.means.reset(&plan.header.starts);
        ResidualCoder { layout: plan, contexts }
    }

    /// Codes a sample: an encoder reads its residuals, a decoder fills them.
    fn code<S: SymbolCoder>(
        &mut self,
        place: SampleActivity<'_>,
        residuals: &mut SampleResiduals,
        symbols: &mut S,
    ) -> Result<(), Corrupt> {
        let SampleResiduals { shift, k } = residuals;
        *shift = self.contexts.code_sample(self.layout, place, symbols, *shift, k)?;
        Ok(())
    }

    /// Decodes a sample.
    fn decode(
        &mut self,
        place: SampleActivity<'_>,
        decoder: &mut Decoder<'_>,
    ) -> Result<SampleResiduals, Corrupt> {
        let mut residuals = SampleResiduals { shift: 0, k: vec![0; self.layout.components] };
        self.code(place, &mut residuals, decoder)?;
        Ok(residuals)
    }
}

/// Accepts symbols that are coded elsewhere, so that contexts learn from them.
struct PassThrough;

impl SymbolCoder for PassThrough {
    fn symbol(&mut self, _: Bucket, k: i32) -> i32 {
        k
    }
    fn raw_u32(&mut self, value: u32) -> u32 {
        value
    }
}
