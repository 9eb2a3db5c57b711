//! Samples splines.

use super::spline::{Extrapolation, JumpSide, Spline};
use super::value::Retime;
use meshreel_scene::sample::sparse;
use meshreel_scene::sample::{LONG_ANIMATION_FRAMES, MIN_FRAME_REDUCTION};

/// Upper limit for the time codes at which a spline is sampled.
const MAX_SAMPLES: f64 = 1_048_576.0;

/// The times at which a spline is sampled: `step` is how long before a jump the old value is sampled, `range`
/// what is sampled of a spline that is not held beyond its knots, all in time codes of the scene.
#[derive(Clone, Copy)]
pub struct SplineSpan {
    pub retime: Retime,
    pub step: f64,
    pub range: Option<CodeRange>,
}

/// A range of time codes of the scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodeRange {
    pub first: f64,
    pub last: f64,
}

impl CodeRange {
    /// The range in which every range is contained.
    pub const ALL: CodeRange = CodeRange { first: f64::NEG_INFINITY, last: f64::INFINITY };
    /// The range that is contained in every range.
    pub const EMPTY: CodeRange = CodeRange { first: f64::INFINITY, last: f64::NEG_INFINITY };

    /// Returns the smallest range that contains both.
    pub fn union(self, other: CodeRange) -> CodeRange {
        CodeRange { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    /// Returns what both have in common.
    pub fn intersection(self, other: CodeRange) -> CodeRange {
        CodeRange { first: self.first.max(other.first), last: self.last.min(other.last) }
    }
}

/// A spline as samples.
pub struct SampledSpline {
    /// The time codes of the scene.
    pub times: Vec<f64>,
    pub values: Vec<Option<f64>>,
    /// The range in which the samples are those of the spline. It has no end where the spline is held.
    pub range: CodeRange,
}

/// Samples a spline at every time code and knot, and just before jumps; of many time codes only those that
/// are needed. Returns `None` if these are too many.
pub fn sample_spline(spline: &Spline, span: &SplineSpan) -> Option<SampledSpline> {
    let retime = span.retime;
    let back = |code: f64| (code - retime.offset) / retime.scale;
    let knots: Vec<f64> = spline.times().map(|time| retime.time(time)).collect();
    let of_knots = knots
        .iter()
        .fold(CodeRange::EMPTY, |range, knot| range.union(CodeRange { first: *knot, last: *knot }));
    let (mut before, mut after) = (spline.pre, spline.post);
    if retime.scale < 0.0 {
        std::mem::swap(&mut before, &mut after);
    }
    let is_held = [before, after].map(|mode| mode == Extrapolation::Held);
    let range = match span.range {
        Some(range) if is_held != [true; 2] => of_knots.union(range),
        _ => of_knots,
    };
    // The old value of a jump at the first knot of another spline is sampled a step before it.
    let (first, last) = ((range.first + 2.0 * span.step).floor(), range.last.ceil());
    let length = last - first;
    let needed = needed_codes(spline, &knots, (first, length), back);
    if needed.is_none() && (length.is_nan() || length >= MAX_SAMPLES) {
        return None;
    }
    // Scene time, spline time, and the side of the spline time that applies.
    let (early, late) =
        if retime.scale < 0.0 { (JumpSide::At, JumpSide::Before) } else { (JumpSide::Before, JumpSide::At) };
    let mut out: Vec<(f64, f64, JumpSide)> = needed
        .unwrap_or_else(|| (0..=length as usize).collect())
        .into_iter()
        .map(|i| first + i as f64)
        .map(|code| (code, back(code), JumpSide::At))
        .collect();
    out.extend(spline.times().map(|time| (retime.time(time), time, JumpSide::At)));
    for time in spline.jumps() {
        let code = retime.time(time);
        out.retain(|(own, ..)| (own - code).abs() > span.step);
        out.extend([(code - span.step, time, early), (code, time, late)]);
    }
    out.sort_by(|a, b| a.0.total_cmp(&b.0));
    out.dedup_by(|b, a| b.0 - a.0 <= 1e-9 * a.0.abs().max(1.0));
    let (times, values) = out.into_iter().map(|(code, time, side)| (code, spline.value(time, side))).unzip();
    let range = CodeRange {
        first: if is_held[0] { f64::NEG_INFINITY } else { first },
        last: if is_held[1] { f64::INFINITY } else { last },
    };
    Some(SampledSpline { times, values, range })
}

/// Returns the time codes, counted from `first`, that are needed of many; `None` if all are.
fn needed_codes(
    spline: &Spline,
    knots: &[f64],
    (first, length): (f64, f64),
    back: impl Fn(f64) -> f64,
) -> Option<Vec<usize>> {
    let loops =
        |mode| matches!(mode, Extrapolation::Repeat | Extrapolation::Reset | Extrapolation::Oscillate);
    let fits = length > LONG_ANIMATION_FRAMES as f64 && length < usize::MAX as f64 / 2.0;
    if !fits || loops(spline.pre) || loops(spline.post) {
        return None;
    }
    let last = length as usize;
    let mut keys: Vec<usize> =
        knots.iter().flat_map(|knot| sparse::frames_around(knot - first, last)).collect();
    keys.extend([0, last]);
    keys.sort_unstable();
    keys.dedup();
    // A missing value is as far from all others as possible.
    let at = |code: usize| vec![spline.value(back(first + code as f64), JumpSide::At).unwrap_or(f64::MAX)];
    let values = keys.iter().map(|code| at(*code)[0]).filter(|value| *value != f64::MAX);
    let size = values.fold(0.0f64, |size, value| size.max(value.abs()));
    sparse::needed_frames(
        keys,
        (last / MIN_FRAME_REDUCTION).min(MAX_SAMPLES as usize),
        &[size * sparse::RELATIVE_TOLERANCE],
        &at,
    )
}
