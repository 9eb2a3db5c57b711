//! One stream (positions, uvs …) of one mesh in one frame: predictor + residuals. Lossless; the encoders that
//! take a [`Target`] first move the values within the error bound to where they cost least.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `predictor` | bits 0–1, the source: 0 nothing · 1 the base · 2 motion; bit 2: weights follow; others 0. 3 alone: uvs on a surface follow |
//! | 1 | 3 or 0 | `a`, `b`, `c` | only source 2: see [`crate::classic::motion`] |
//! | … | 1 or 0 | `edge` | only with weights: u8, see [`crate::values::parallelogram`] |
//! | … | 1 or 0 | `apex` | only with weights: i8 |
//! | … | … | `residuals` | see [`crate::values::residual`] |
//!
//! ```text
//! difference = residual + spatial prediction from the differences of the vertices before
//! value      = difference + source                                                         both wrap at the width of the stream's quantized values
//! ```
//!
//! The spatial prediction is [`crate::values::parallelogram`]: without weights the usual one of the stream
//! (parallelogram or average), and none for source 2. Differences to a source are two's complement; without a
//! source, values are coded as they are.
//!
//! The second line is plain vector arithmetic over whole frames; the first depends on the vertex before and
//! is left out of B-frames where it does not pay. A reader refuses a source that it does not have, so index
//! frames depend on nothing but the base.

#[cfg(feature = "encode")]
use super::cost::ResidualCost;
#[cfg(feature = "encode")]
use super::error_bound::{SpatialBasis, Target};
use super::parallelogram::{
    self, PredictionRule, PredictorTable, SpatialPrediction, TriangleWeights, with_rule,
};
use super::residual;
#[cfg(feature = "encode")]
use super::search;
use crate::Corrupt;
use crate::bytes::Cursor;
use crate::quantize::code::Code;

// Part of the format.
const SOURCE_MASK: u8 = 3;
const SOURCE_NONE: u8 = 0;
const SOURCE_BASE: u8 = 1;
pub(crate) const SOURCE_MOTION: u8 = 2;
pub(crate) const WEIGHTS_FLAG: u8 = 4;

/// Already decoded values that index frames and static values may be predicted from.
#[derive(Clone, Copy)]
pub struct PredictionBase<'a, W> {
    /// Decoded values of the same stream, component-major with its shape.
    pub base: Option<&'a [W]>,
    /// The table of adjacent triangles (empty: every vertex is predicted from the previous one).
    pub table: &'a PredictorTable,
}

/// Encodes `values` (component-major, `components × count`, 1 to 4 components) without reference to other
/// frames but `base`; appends to `out`. Takes the smaller of: spatial prediction of the values, spatial
/// prediction of the difference to `base`.
#[cfg(feature = "encode")]
pub fn encode_index<'a, W: Code>(
    values: &[W],
    components: usize,
    spatial: SpatialPrediction,
    known: impl Into<PredictionBase<'a, W>>,
    out: &mut Vec<u8>,
) {
    let fixed = ExactTarget::new(values, components);
    encode_index_within(
        fixed.target(),
        spatial,
        known,
        USUAL_EFFORT,
        &mut vec![W::default(); values.len()],
        out,
    );
}

/// The effort that an encoder spends on a stream.
#[cfg(feature = "encode")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamEffort {
    /// 1 … 9: the effort spent on size.
    pub effort: u32,
    /// `true` to encode B-frames without prediction inside the frame and without runs, which depend on the
    /// vertex before and take most of the decoding time.
    pub fast_decode: bool,
}

#[cfg(feature = "encode")]
impl From<u32> for StreamEffort {
    fn from(effort: u32) -> StreamEffort {
        StreamEffort { effort, fast_decode: false }
    }
}

/// The effort for values that are encoded once.
#[cfg(feature = "encode")]
const USUAL_EFFORT: u32 = 6;

/// Values that must be encoded exactly.
#[cfg(feature = "encode")]
pub(crate) struct ExactTarget<'a, W> {
    values: &'a [W],
    offset: Vec<f32>,
    codes: [u32; 4],
    components: usize,
}

#[cfg(feature = "encode")]
impl<'a, W: Code> ExactTarget<'a, W> {
    pub(crate) fn new(values: &'a [W], components: usize) -> Self {
        assert!((1..=4).contains(&components), "1 to 4 components");
        ExactTarget { values, offset: vec![0.0; values.len()], codes: [u32::MAX; 4], components }
    }

    pub(crate) fn target(&self) -> Target<'_, W> {
        let codes = &self.codes[..self.components];
        Target {
            nearest: self.values,
            offset: &self.offset,
            codes,
            radius: 0.0,
            thorough: true,
            welded: None,
        }
    }
}

/// Does the same as [`encode_index`], but moves the values within the error bound to where they cost least;
/// writes the chosen codes to `chosen`, equal to the decoded ones.
#[cfg(feature = "encode")]
pub fn encode_index_within<'a, W: Code>(
    target: Target<'_, W>,
    spatial: SpatialPrediction,
    known: impl Into<PredictionBase<'a, W>>,
    effort: u32,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    let known = known.into();
    match target.codes.len() {
        1 => index_within::<W, 1>(target, spatial, known, effort, chosen, out),
        2 => index_within::<W, 2>(target, spatial, known, effort, chosen, out),
        3 => index_within::<W, 3>(target, spatial, known, effort, chosen, out),
        _ => index_within::<W, 4>(target, spatial, known, effort, chosen, out),
    }
}

#[cfg(feature = "encode")]
fn index_within<W: Code, const N: usize>(
    target: Target<'_, W>,
    spatial: SpatialPrediction,
    known: PredictionBase<'_, W>,
    effort: u32,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    let (alone, size) = search::fit_index_weights::<W, N>(target, None, spatial, known.table, effort);
    let (rule, base) = match known.base {
        None => (alone, None),
        Some(base) => {
            let (rule, other) =
                search::fit_index_weights::<W, N>(target, Some(base), spatial, known.table, effort);
            if other <= size { (rule, Some(base)) } else { (alone, None) }
        }
    };
    let kind = if base.is_some() { SOURCE_BASE } else { SOURCE_NONE };
    match rule {
        PredictionRule::Usual(_) => out.push(kind),
        PredictionRule::Weighted(w) => out.extend([kind | WEIGHTS_FLAG, w.edge, w.apex as u8]),
    }
    let zeros = vec![W::default(); if base.is_some() { 0 } else { chosen.len() }];
    let source = base.unwrap_or(&zeros);
    encode_residuals::<W, N>(target, source, rule, base.is_some(), known.table, effort.into(), chosen, out);
}

/// Chooses the codes, in a number of rounds given by the effort, and appends their residuals.
#[cfg(feature = "encode")]
#[allow(clippy::too_many_arguments)] // One call of each of the two functions above.
pub(crate) fn encode_residuals<W: Code, const N: usize>(
    target: Target<'_, W>,
    source: &[W],
    rule: PredictionRule,
    signed: bool,
    table: &PredictorTable,
    work: StreamEffort,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    assert_eq!(chosen.len(), target.nearest.len(), "room for the chosen codes");
    let mut residuals = vec![W::default(); chosen.len()];
    if target.radius > 0.0 {
        let rounds = match work.effort {
            0..=4 => 1,
            5..=6 => 2,
            7..=8 => 3,
            _ => 4,
        };
        let mut cost = ResidualCost::guess();
        for round in 0..rounds {
            if round > 0 {
                cost = ResidualCost::learn(&residuals, N);
            }
            with_rule!(rule, rule => {
                let basis = SpatialBasis { source, rule, signed, table };
                target.choose::<_, N>(&cost, basis, chosen, &mut residuals);
            });
        }
        for (c, &s) in chosen.iter_mut().zip(source) {
            *c = c.wrapping_add(s);
        }
    } else {
        let above: Vec<W> = target.nearest.iter().zip(source).map(|(&v, &s)| v.wrapping_sub(s)).collect();
        parallelogram::residual(&above, N, rule, signed, table, &mut residuals);
        chosen.copy_from_slice(target.nearest);
    }
    residual::encode(&residuals, N, !work.fast_decode, out);
}

/// The error of a stream whose source frame is missing.
pub(crate) const MISSING_SOURCE: Corrupt = Corrupt("stream: the frame it is predicted from is missing");

/// Decodes a stream at the start of `bytes`; `out.len() == components × count`. Returns the number of bytes
/// used.
pub fn decode<W: Code>(
    bytes: &[u8],
    components: usize,
    spatial: SpatialPrediction,
    known: PredictionBase<'_, W>,
    out: &mut [W],
) -> Result<usize, Corrupt> {
    let mut c = Cursor::new(bytes);
    let Predictor { source, weights, .. } = Predictor::read(&mut c)?;
    // Checked before anything is written.
    let base = match source {
        SOURCE_NONE => &[],
        SOURCE_BASE => known.base.filter(|b| b.len() == out.len()).ok_or(MISSING_SOURCE)?,
        _ => return Err(MISSING_SOURCE),
    };
    let start = c.used();
    let used = residual::decode(c.bytes(c.left())?, components, out)?;
    let rule = weights.map_or(PredictionRule::Usual(spatial), PredictionRule::Weighted);
    parallelogram::reconstruct(components, rule, source != SOURCE_NONE, known.table, out)?;
    for (o, &b) in out.iter_mut().zip(base) {
        *o = o.wrapping_add(b);
    }
    Ok(start + used)
}

/// Returns the number of bytes that [`decode`] uses for `count` values of `word`-byte words, without decoding
/// them.
pub fn skip(bytes: &[u8], components: usize, count: usize, word: usize) -> Result<usize, Corrupt> {
    let mut c = Cursor::new(bytes);
    Predictor::read(&mut c)?;
    let start = c.used();
    Ok(start + residual::skip(c.bytes(c.left())?, components, count, word)?)
}

/// The head of a stream: its predictor.
pub(crate) struct Predictor {
    pub(crate) source: u8,
    /// The parameters a, b, c of motion.
    pub(crate) blend: [u8; 3],
    pub(crate) weights: Option<TriangleWeights>,
}

impl Predictor {
    pub(crate) fn read(c: &mut Cursor<'_>) -> Result<Predictor, Corrupt> {
        let predictor = c.u8()?;
        let source = predictor & SOURCE_MASK;
        if predictor & !(SOURCE_MASK | WEIGHTS_FLAG) != 0 || source > SOURCE_MOTION {
            return Err(Corrupt("stream: unknown predictor"));
        }
        let blend = if source == SOURCE_MOTION { c.array()? } else { [0; 3] };
        let mut weights = None;
        if predictor & WEIGHTS_FLAG != 0 {
            let [edge, apex] = c.array()?;
            weights = Some(TriangleWeights { edge, apex: apex as i8 });
        }
        Ok(Predictor { source, blend, weights })
    }
}
