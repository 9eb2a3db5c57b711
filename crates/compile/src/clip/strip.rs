//! Stripping: samples without residuals, because their prediction is near enough or because they matter
//! least. Keys are never stripped.

use super::closed_loop::{ClosedLoop, SampleChoices, SampleContext};
use super::cross;
use meshreel_codec::clip::streamed::NEUTRAL_RATIO;
use meshreel_options::Strip;

/// The samples of one clip that are stripped.
pub enum StrippedSamples {
    /// No sample is stripped.
    None,
    /// Samples whose prediction is at most this far off; the square of the distance.
    Error(f64),
    /// Samples that are marked one by one.
    Listed(Vec<bool>),
}

impl StrippedSamples {
    /// Selects the samples of the clip of `l` that are stripped.
    pub fn new(asked: Strip, l: &ClosedLoop<'_>) -> StrippedSamples {
        match asked {
            Strip::None => StrippedSamples::None,
            Strip::Error(error) => StrippedSamples::Error(error * error),
            Strip::Fraction(part) => StrippedSamples::Listed(least_important(l, part)),
        }
    }

    /// Returns `true` if the sample at `place` has no residuals; then `frame` is set to its decoded values.
    pub fn strip_sample(
        &self,
        l: &ClosedLoop<'_>,
        place: &SampleContext<'_>,
        frame: &mut SampleChoices,
    ) -> bool {
        match self {
            StrippedSamples::None => false,
            StrippedSamples::Listed(list) => {
                let stripped = list[place.sample];
                if stripped {
                    l.set_predicted(place, frame);
                }
                stripped
            }
            StrippedSamples::Error(limit) => {
                l.set_predicted(place, frame);
                frame.error.iter().all(|error| error <= limit)
            }
        }
    }
}

/// Returns the least important samples, by the distance of each from its prediction when all others are
/// exact.
fn least_important(l: &ClosedLoop<'_>, part: f64) -> Vec<bool> {
    let plan = l.plan;
    let (w, n) = (plan.codes_per_sample, plan.components);
    let words = cross::quantize_samples(l);
    let mut frame = l.empty_choices();
    let calm = vec![NEUTRAL_RATIO; n];
    let means = meshreel_codec::clip::contexts::Means::default();
    let mut errors: Vec<(f64, usize)> = Vec::with_capacity(l.reference.samples);
    for s in 0..plan.segments() {
        let start = plan.key(s);
        for step in plan.segment_steps(s) {
            let mut place = SampleContext {
                sample: start + step.sample,
                means: &means,
                around: [&calm, &calm],
                predictions: Vec::new(),
            };
            l.predict(&words[start * w..], &step.taps, &mut place.predictions);
            l.set_predicted(&place, &mut frame);
            let worst = frame.error.iter().copied().fold(0.0, super::larger_error);
            errors.push((worst, place.sample));
        }
    }
    errors.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let count = (part.clamp(0.0, 1.0) * l.reference.samples as f64) as usize;
    let mut list = vec![false; l.reference.samples];
    for (_, sample) in errors.iter().take(count) {
        list[*sample] = true;
    }
    list
}
