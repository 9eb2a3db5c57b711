//! Makes a sample fit its tolerance with as few bits as possible: λ where there is room, second-nearest
//! integers where there is none, finer steps as the last resort.

use super::closed_loop::{ClosedLoop, SampleChoices, SampleContext};
use meshreel_codec::clip::streamed::MAX_SHIFT;

/// The effort of the search for each sample.
#[derive(Clone, Copy, Debug)]
pub struct SearchEffort {
    /// The λ that are tried, as multiples of the last best one.
    pub lambda_factors: &'static [f64],
    /// The largest number of second-nearest integers per sample.
    pub flips: usize,
}

impl SearchEffort {
    /// Returns the search of an `--effort` of 1 … 9.
    pub fn new(effort: u8) -> SearchEffort {
        match effort {
            0..=2 => SearchEffort { lambda_factors: &[1.0], flips: 1 },
            3..=6 => SearchEffort { lambda_factors: &[1.0], flips: 4 },
            7..=8 => SearchEffort { lambda_factors: &[2.0, 1.0, 0.5], flips: 6 },
            _ => SearchEffort { lambda_factors: &[4.0, 2.0, 1.0, 0.5, 0.2, 0.0], flips: 8 },
        }
    }
}

/// λ of 2⁻⁸ bits that the first sample starts from.
pub const FIRST_LAMBDA: f64 = 0.1 / 256.0;
/// A λ below this counts as zero.
const MIN_LAMBDA: f64 = 0.004 / 256.0;
/// Factor applied to λ of the joints above one that violates its limit.
const LAMBDA_DECAY: f64 = 0.4;

/// Chooses for the sample at `place`; `lambda` is carried from sample to sample. Returns `false` if the
/// sample cannot fit.
pub fn solve(
    l: &ClosedLoop<'_>,
    place: &SampleContext<'_>,
    [frame, spare, trial]: &mut [SampleChoices; 3],
    lambda: &mut f64,
    work: SearchEffort,
) -> bool {
    for shift in 0..=MAX_SHIFT {
        if l.reference.cancellation.is_cancelled() {
            return false;
        }
        let mut best: Option<(u64, f64)> = None;
        for &part in work.lambda_factors {
            let start = match part * *lambda {
                l if l < MIN_LAMBDA => 0.0,
                l => l,
            };
            spare.shift = shift;
            if !attempt::<true>(l, place, [spare, trial], start, work.flips) {
                continue;
            }
            let bits = l.cost(spare);
            if best.is_none_or(|(least, _)| bits < least) {
                best = Some((bits, start));
                std::mem::swap(frame, spare);
            }
            if start == 0.0 {
                break;
            }
        }
        if let Some((_, start)) = best {
            *lambda = (0.7 * *lambda + 0.3 * start).clamp(2.0 * MIN_LAMBDA, 100.0 * FIRST_LAMBDA);
            return true;
        }
    }
    false
}

/// Starts from one λ for all joints; the result is in the first of the two frames, the other one is scratch
/// space. `TABLES`: `true` if the tables of symbols are computed on the way.
pub fn attempt<const TABLES: bool>(
    l: &ClosedLoop<'_>,
    place: &SampleContext<'_>,
    [frame, trial]: [&mut SampleChoices; 2],
    lambda: f64,
    flips: usize,
) -> bool {
    frame.lambda.fill(lambda);
    frame.flipped.fill(false);
    let mut left = flips;
    match TABLES {
        true => l.choose_all(place, frame),
        false => l.choose_by_tables(place, frame),
    }
    // Each round reduces λ on a chain or uses a flip.
    for _ in 0..200 {
        let Some(worst) = violation(l, frame) else {
            return true;
        };
        if frame.lambda[worst] > 0.0 {
            let mut top = worst;
            for j in ancestors(l, worst) {
                let own = &mut frame.lambda[j];
                *own = if *own * LAMBDA_DECAY < MIN_LAMBDA { 0.0 } else { *own * LAMBDA_DECAY };
                frame.touched[j] = true;
                top = j;
            }
            l.choose_again(place, frame, top);
        } else if left == 0 || !flip(l, place, [frame, trial], worst) {
            return false;
        } else {
            left -= 1;
        }
    }
    false
}

/// Returns the joint with the largest error, if that is too large.
fn violation(l: &ClosedLoop<'_>, frame: &SampleChoices) -> Option<usize> {
    let worst = (0..frame.error.len()).fold(0, |worst, j| {
        match frame.error[j] > frame.error[worst] || frame.error[j].is_nan() {
            true => j,
            false => worst,
        }
    });
    let error = frame.error.get(worst)?;
    (error.is_nan() || *error > l.limit).then_some(worst)
}

fn ancestors<'a>(l: &'a ClosedLoop<'_>, from: usize) -> impl Iterator<Item = usize> + 'a {
    std::iter::successors(Some(from), |&j| {
        let parent = l.joints.parents[j] as usize;
        (parent < j).then_some(parent)
    })
}

/// Flips the component above `worst` that helps most to its second-nearest integer. Returns `false` if none
/// helps.
fn flip(
    l: &ClosedLoop<'_>,
    place: &SampleContext<'_>,
    [frame, spare]: [&mut SampleChoices; 2],
    worst: usize,
) -> bool {
    let most = |frame: &SampleChoices| frame.error.iter().copied().fold(0.0, f64::max);
    let mut least = most(frame) * (1.0 - 1e-9);
    let mut best = None;
    spare.copy_from(frame);
    for j in ancestors(l, worst) {
        for c in l.components(j) {
            if frame.flipped[c] {
                continue;
            }
            spare.flipped[c] = true;
            spare.touched[j] = true;
            if l.choose_below(place, spare, (j, worst), least) {
                let after = most(spare);
                if after < least {
                    (least, best) = (after, Some((j, c)));
                }
            }
            l.restore(spare, frame);
        }
    }
    let Some((j, c)) = best else {
        return false;
    };
    frame.flipped[c] = true;
    frame.touched[j] = true;
    l.choose_again(place, frame, j);
    true
}
