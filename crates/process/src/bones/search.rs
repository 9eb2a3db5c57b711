//! The search for bones and weights: starts from samples of points, a race among them and among numbers of
//! bones.

use super::bits::{self, SkinBits};
use super::fit::SkinFit;
use super::skin::{Skin, SkinRequest};
use super::space::{MAX_DIMENSIONS, TrajectorySpace, component_counts};
use super::vertex::MAX_INFLUENCES;
use crate::parts::Trajectories;
use crate::{Cancellation, Cancelled};
use glam::DVec3;
use std::cell::Cell;

/// The least number of points per bone.
const MIN_POINTS_PER_BONE: usize = 4;
/// The number of points that a race is run with.
const RACE: usize = 1000;

/// The least number of points per bone in a race: fewer fit by chance.
const MIN_RACE_POINTS_PER_BONE: usize = 40;
/// Numbers of bones that are tried, and the index of the first one.
const BONE_COUNTS: [usize; 13] = [2, 3, 4, 6, 9, 13, 18, 24, 30, 38, 48, 60, 72];
const FIRST_COUNT: usize = 7;
/// The first number of bones that is tried leaves each bone at least this many points.
const USUAL_POINTS_PER_BONE: usize = 30;
/// The usual number of influences of a point, for the estimate of work.
const INFLUENCES: usize = 4;
/// The number of rounds of alternating.
const ROUNDS: usize = 8;
/// For estimates of bits: the error that few weights leave in the end, over the error that 8 weights leave
/// after a few steps.
const FEW_WEIGHTS_ERROR_RATIO: f64 = 1.3;

/// Finds a skin. `None` if there is nothing to find: no motion, one frame, fewer than four points per bone,
/// positions that are not finite.
pub fn find_skin(
    all: &Trajectories,
    request: &SkinRequest,
    cancellation: &Cancellation,
) -> Result<Option<Skin>, Cancelled> {
    let found = find_best(all, request, cancellation);
    cancellation.check()?;
    Ok(found)
}

fn find_best(all: &Trajectories, request: &SkinRequest, cancellation: &Cancellation) -> Option<Skin> {
    let ground = RaceInputs::new(all, request.tolerance, cancellation)?;
    if request.bones == 0 || all.points() < MIN_POINTS_PER_BONE * request.bones {
        return None;
    }
    let starts = (0..request.starts.max(1) as u64).filter_map(|i| {
        let seed = request.seed.wrapping_add(i);
        ground.begin(request.bones, RACE.min(request.sample), seed, request.steps[0])
    });
    let best = starts.min_by(|a, b| a.fit.error().total_cmp(&b.fit.error()))?;
    let reduced = ground.limit_influences(best, request, &|_| ())?;
    ground.fit_all_points(reduced, request, &|_| ())
}

/// Returns `true` if the motion looks like that of few bones, by a fast test: the number of ever smaller
/// components soon stops growing. In bending, waves and flow it keeps growing. In the meshes examined, skins
/// had up to 1.52 times as many at a tenth of the size, all others 2 times and more. Motion with more
/// components than are counted, as in captured bodies and cloth, may be either: then the result is `rich`.
pub fn is_likely(all: &Trajectories, rich: bool) -> bool {
    let chosen: Vec<u32> = (sample(all.points(), SAMPLED_POINTS, 1).into_iter()).map(|p| p as u32).collect();
    let some = all.subset(&chosen);
    let size = some.diagonal();
    let [coarse, fine] = component_counts(&some, [1e-4, 1e-5].map(|part| size * part));
    match (coarse, fine) {
        (MAX_DIMENSIONS, _) => rich,
        (_, 0 | MAX_DIMENSIONS) => false,
        _ => fine * 10 < coarse.max(1) * MAX_GROWTH_TENTHS,
    }
}

/// Returns the number of components of motion, over a sample of points, that are larger than this fraction of
/// the size of the mesh.
pub fn count_components(all: &Trajectories, part: f64) -> usize {
    let chosen: Vec<u32> = (sample(all.points(), SAMPLED_POINTS, 1).into_iter()).map(|p| p as u32).collect();
    let some = all.subset(&chosen);
    component_counts(&some, [some.diagonal() * part])[0]
}

/// The number of points that [`is_likely`] samples, and its limit of the ratio in tenths.
const SAMPLED_POINTS: usize = 800;
const MAX_GROWTH_TENTHS: usize = 17;

/// A skin, with its estimated size.
#[derive(Clone, Debug)]
pub struct SkinChoice {
    /// The skin.
    pub skin: Skin,
    /// The estimated bits before anything is coded.
    pub bits: SkinBits,
}

/// What is asked of [`choose_skin`].
#[derive(Clone, Copy, Debug)]
pub struct ChoiceRequest {
    /// The error bound of positions, in units of length.
    pub tolerance: f64,
    /// The largest number of bones that move one point.
    pub influences: usize,
    /// 1 … 9, the number of starts and how far each is taken.
    pub effort: u32,
    /// Bits of the rest pose, without weights.
    pub rest: f64,
    /// The largest number of bits that a skin may take.
    pub limit: f64,
}

/// Finds a skin with the number of bones that gives the smallest file at a tolerance, as far as can be
/// estimated before coding. `None` if there is no skin (see [`find_skin`]), or if it leaves so much that
/// prediction in time alone would do nearly as well, or would take more bits than the limit. `told` gets the
/// approximate fraction of the work that is done.
pub fn choose_skin(
    all: &Trajectories,
    request: ChoiceRequest,
    told: &(dyn Fn(f64) + Sync),
    cancellation: &Cancellation,
) -> Result<Option<SkinChoice>, Cancelled> {
    let found = choose_best(all, request, told, cancellation);
    cancellation.check()?;
    Ok(found)
}

fn choose_best(
    all: &Trajectories,
    request: ChoiceRequest,
    told: &(dyn Fn(f64) + Sync),
    cancellation: &Cancellation,
) -> Option<SkinChoice> {
    let ChoiceRequest { tolerance, influences, effort, rest, limit } = request;
    if rest + bits::min_weight_bits(all.points()) > limit {
        return None;
    }
    let plan = SearchPlan::new(effort.clamp(1, 9) as usize);
    let race = Race {
        ground: RaceInputs::new(all, tolerance, cancellation)?,
        request,
        plan,
        told,
        starts: Cell::new(0),
        steps: Cell::new(0),
    };
    let (at, best) = race.best_count()?;
    let best = race.start_more(at, best);
    cancellation.check().ok()?;
    let request = SkinRequest {
        influences,
        steps: race.plan.steps,
        sample: race.plan.sample,
        ..SkinRequest::new(BONE_COUNTS[at], tolerance)
    };
    let begun_part = race.completed_fraction(0);
    told(begun_part);
    let told = |part| told(begun_part + (1.0 - begun_part) * part);
    let reduced = race.ground.limit_influences(best.fit, &request, &told)?;
    // Few weights may leave far more than the race expected of them. All points take most of the time.
    let bits = bits::estimate_fit(&reduced.fit, &race.ground.space, all, tolerance, rest, 1.0);
    if bits.total() > MAX_LIMIT_RATIO * limit {
        return None;
    }
    let skin = race.ground.fit_all_points(reduced, &request, &told)?;
    let bits = bits::estimate_skin(&skin, all, tolerance, rest);
    let pays = bits.ratio() < MAX_RESIDUAL_FRACTION && bits.total() <= MAX_LIMIT_RATIO * limit;
    pays.then_some(SkinChoice { skin, bits })
}

/// The amount of work of a search.
#[derive(Clone, Copy)]
struct SearchPlan {
    /// The number of steps of each start.
    race: usize,
    /// The number of additional starts with the best number of bones.
    more: usize,
    /// As in [`SkinRequest`].
    steps: [usize; 4],
    sample: usize,
}

impl SearchPlan {
    fn new(effort: usize) -> SearchPlan {
        SearchPlan {
            race: effort - 1,
            more: effort / 4,
            steps: [0, effort.div_ceil(2), 2 * effort, effort.div_ceil(3)],
            sample: 300 * effort,
        }
    }

    /// Returns the approximate work of a search, in steps of one point: of the starts, of the best of them,
    /// and of all points in the end.
    fn expected_steps(&self, points: usize) -> [usize; 3] {
        let stages = MAX_INFLUENCES - INFLUENCES;
        [
            (RUNS + self.more) * self.steps_of_start(RACE.min(points)),
            (stages * (self.steps[1] + 2) + self.steps[2]) * self.sample.min(points),
            (self.steps[3] + FINISHING_STEPS) * points,
        ]
    }

    /// Returns the same for one start with `points` points.
    fn steps_of_start(&self, points: usize) -> usize {
        (ROUNDS + self.race) * points
    }
}

/// Returns the approximate work of [`choose_skin`] if it does not give up, in steps of one point.
pub fn expected_steps(points: usize, effort: u32) -> usize {
    let plan = SearchPlan::new(effort.clamp(1, 9) as usize);
    let [begun, sampled, all] = plan.expected_steps(points);
    begun + sampled + all
}

/// A race of starts with different numbers of bones, on samples of the points.
struct Race<'a> {
    ground: RaceInputs<'a>,
    request: ChoiceRequest,
    plan: SearchPlan,
    told: &'a (dyn Fn(f64) + Sync),
    /// The number of starts that were made.
    starts: Cell<usize>,
    /// Their work, in steps of one point.
    steps: Cell<usize>,
}

/// A start, and its estimated bits.
struct RankedStart {
    bits: SkinBits,
    fit: StartedFit,
}

impl Race<'_> {
    fn fits(&self, bones: usize) -> bool {
        MIN_POINTS_PER_BONE * bones <= self.ground.all.points()
    }

    /// Returns the completed fraction of the search when `left` steps of a point are left of the starts: the
    /// more bones these have, the longer they take.
    fn completed_fraction(&self, left: usize) -> f64 {
        let [_, sampled, all] = self.plan.expected_steps(self.ground.all.points());
        let done = self.steps.get();
        done as f64 / (done + left + sampled + all) as f64
    }

    /// Makes a start, and estimates the bits of its skin.
    fn start(&self, bones: usize, seed: u64) -> Option<RankedStart> {
        let ground = &self.ground;
        let sample = RACE.max(MIN_RACE_POINTS_PER_BONE * bones);
        let fit = ground.begin(bones, sample, seed, self.plan.race)?;
        self.starts.set(self.starts.get() + 1);
        let steps = self.plan.steps_of_start(fit.sample.len());
        self.steps.set(self.steps.get() + steps);
        (self.told)(
            self.completed_fraction(steps * (RUNS + self.plan.more).saturating_sub(self.starts.get())),
        );
        let ChoiceRequest { tolerance, rest, .. } = self.request;
        let bits =
            bits::estimate_fit(&fit.fit, &ground.space, ground.all, tolerance, rest, FEW_WEIGHTS_ERROR_RATIO);
        Some(RankedStart { bits, fit })
    }

    /// Returns what a skin leaves, as a fraction of prediction in time alone, or its bits as a fraction of
    /// the limit, whichever is more: above [`MAX_RESIDUAL_FRACTION`] it is rejected.
    fn excess(&self, start: &RankedStart) -> f64 {
        start.bits.ratio().max(MAX_RESIDUAL_FRACTION * start.bits.total() / self.request.limit)
    }

    /// Goes up or down the numbers of bones as long as it helps, from the first that is possible. Returns
    /// the index in [`BONE_COUNTS`] of the best, and its start; `None` if none is good, or expected to be.
    fn best_count(&self) -> Option<(usize, RankedStart)> {
        let points = self.ground.all.points();
        let first =
            |&i: &usize| self.fits(BONE_COUNTS[i]) && BONE_COUNTS[i] * USUAL_POINTS_PER_BONE <= points;
        let from = (0..=FIRST_COUNT).rev().find(first).or_else(|| self.fits(BONE_COUNTS[0]).then_some(0))?;
        let mut best = self.start(BONE_COUNTS[from], 1)?;
        let mut at = from;
        // Bones that leave much need company; others may be too many.
        let up = best.bits.residual > best.bits.bones;
        if !up && best.bits.rest + best.bits.residual > self.request.limit {
            return None;
        }
        for up in [up, !up] {
            let mut next = from;
            loop {
                next = if up { next + 1 } else { next.wrapping_sub(1) };
                let Some(&bones) = BONE_COUNTS.get(next).filter(|&&bones| self.fits(bones)) else {
                    break;
                };
                let Some(new) = self.start(bones, 1) else { break };
                let excess = [&best, &new].map(|start| self.excess(start));
                if up && excess[1] >= MAX_RESIDUAL_FRACTION && is_hopeless(excess, [BONE_COUNTS[at], bones]) {
                    return None;
                }
                if new.bits.total() >= best.bits.total() {
                    break;
                }
                (best, at) = (new, next);
            }
            if at != from {
                break;
            }
        }
        (self.excess(&best) < MAX_RESIDUAL_FRACTION).then_some((at, best))
    }

    /// Returns the best of `best` and a few more starts near that number of bones, since the result depends
    /// on chance.
    fn start_more(&self, at: usize, mut best: RankedStart) -> RankedStart {
        for i in 0..self.plan.more {
            let bones = (BONE_COUNTS[at] * [8, 9, 7][i % 3]).div_ceil(8);
            if let Some(new) = self.start(bones, 2 + i as u64)
                && self.excess(&new) < MAX_RESIDUAL_FRACTION
                && new.bits.total() < best.bits.total()
            {
                best = new;
            }
        }
        best
    }
}

/// Returns `true` if even the most bones would leave too much, assuming that the residual falls with a power
/// of their number as it did between these two.
fn is_hopeless([left, ratio]: [f64; 2], [before, bones]: [usize; 2]) -> bool {
    let more = |to: usize, from: usize| (to as f64 / from as f64).ln();
    let power = (ratio / left).ln() / more(bones, before);
    let most = BONE_COUNTS[BONE_COUNTS.len() - 1];
    ratio * (power * more(most, bones)).exp() > MAX_RESIDUAL_FRACTION * MAX_EXPECTED_RATIO
}

/// The approximate number of starts, besides those of more effort.
const RUNS: usize = 5;
/// The search for better bones of all points in the end, in equivalent steps: measured on captured bodies.
const FINISHING_STEPS: usize = 6;

/// A skin that leaves more than this fraction of the residual of prediction in time is rejected.
const MAX_RESIDUAL_FRACTION: f64 = 0.5;
/// A skin is rejected if it is estimated to take more than this many times the limit: coded skins of captured
/// bodies took 0.85 of their estimate.
const MAX_LIMIT_RATIO: f64 = 1.25;
/// Fewer bones are tried further only while the most bones are expected to leave at most this many times
/// [`MAX_RESIDUAL_FRACTION`].
const MAX_EXPECTED_RATIO: f64 = 1.3;

/// The points and their coordinates, which all starts share.
struct RaceInputs<'a> {
    all: &'a Trajectories,
    space: TrajectorySpace,
    rest: Vec<DVec3>,
    cancellation: &'a Cancellation,
}

/// Bones and some of the points.
struct StartedFit {
    fit: SkinFit,
    sample: Vec<usize>,
}

impl<'a> RaceInputs<'a> {
    fn new(all: &'a Trajectories, tolerance: f64, cancellation: &'a Cancellation) -> Option<RaceInputs<'a>> {
        if all.frames() < 2 {
            return None;
        }
        let space = TrajectorySpace::new(all, (tolerance * 0.1).max(all.diagonal() * 1e-7))?;
        let rest = mean_positions(all);
        Some(RaceInputs { all, space, rest, cancellation })
    }

    /// Finds bones with many weights, on a sample.
    fn begin(&self, bones: usize, sample: usize, seed: u64, steps: usize) -> Option<StartedFit> {
        let sample = self::sample(self.all.points(), sample, seed);
        if sample.len() < MIN_POINTS_PER_BONE * bones {
            return None;
        }
        let mut fit = SkinFit::new(&self.space, &self.rest, &sample, self.cancellation);
        fit.start(bones)?;
        fit.alternate(ROUNDS, MAX_INFLUENCES)?;
        fit.steps(steps, MAX_INFLUENCES)?;
        Some(StartedFit { fit, sample })
    }

    /// Returns the approximate work after the race, in steps of one point: for the sample, and for all
    /// points.
    fn work(&self, request: &SkinRequest) -> [usize; 2] {
        let points = self.all.points();
        let stages = MAX_INFLUENCES - max_influences(request);
        let of_sample = stages * (request.steps[1] + 2) + request.steps[2];
        [of_sample * request.sample.min(points), (request.steps[3] + FINISHING_STEPS) * points]
    }

    /// Reduces to few weights, on a larger sample.
    fn limit_influences(
        &self,
        begun: StartedFit,
        request: &SkinRequest,
        told: &dyn Fn(f64),
    ) -> Option<StartedFit> {
        let StartedFit { mut fit, mut sample } = begun;
        let wanted = request.sample.min(self.all.points());
        if sample.len() < wanted {
            let more = self::sample(self.all.points(), wanted, request.seed ^ sample.len() as u64);
            fit = fit.lift_to_points(&self.space, &self.rest, &sample, &more, MAX_INFLUENCES);
            sample = more;
        }
        let most = max_influences(request);
        let work = self.work(request).iter().sum::<usize>() as f64;
        for most in (most..MAX_INFLUENCES).rev() {
            fit.limit_influences(most);
            fit.alternate(2, most)?;
            fit.steps(request.steps[1], most)?;
            told(((MAX_INFLUENCES - most) * (request.steps[1] + 2) * wanted) as f64 / work);
        }
        fit.steps(request.steps[2], most)?;
        Some(StartedFit { fit, sample })
    }

    /// Fits all points with the bones and few weights of a sample.
    fn fit_all_points(&self, reduced: StartedFit, request: &SkinRequest, told: &dyn Fn(f64)) -> Option<Skin> {
        let StartedFit { mut fit, sample } = reduced;
        let (points, most) = (self.all.points(), max_influences(request));
        let [of_sample, of_all] = self.work(request).map(|steps| steps as f64);
        told(of_sample / (of_sample + of_all));
        if sample.len() < points {
            let all: Vec<usize> = (0..points).collect();
            fit = fit.lift_to_points(&self.space, &self.rest, &sample, &all, most);
            fit.search(most, 1);
            fit.steps(request.steps[3], most)?;
        }
        fit.search(most, 1);
        fit.finish(self.all)
    }
}

/// Returns the number of bones that may move a point.
fn max_influences(request: &SkinRequest) -> usize {
    request.influences.clamp(1, MAX_INFLUENCES)
}

/// Returns the mean position of each point over time.
fn mean_positions(all: &Trajectories) -> Vec<DVec3> {
    let mut sums = vec![DVec3::ZERO; all.points()];
    for f in 0..all.frames() {
        for (sum, p) in sums.iter_mut().zip(all.frame(f)) {
            *sum += DVec3::from_array(p.map(f64::from));
        }
    }
    sums.iter().map(|s| *s / all.frames() as f64).collect()
}

/// Returns a sample of the points, in order.
fn sample(points: usize, wanted: usize, seed: u64) -> Vec<usize> {
    if points <= wanted {
        return (0..points).collect();
    }
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut keyed: Vec<(u64, usize)> = (0..points)
        .map(|p| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random, p)
        })
        .collect();
    keyed.sort_unstable();
    let mut chosen: Vec<usize> = keyed[..wanted].iter().map(|k| k.1).collect();
    chosen.sort_unstable();
    chosen
}
