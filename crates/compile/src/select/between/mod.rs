//! Frames between samples: where the source moves along curves from sample to sample, a player, which
//! interpolates points linearly and rotations of nodes along chords, would deviate too far in the middle.
//!
//! ```text
//! for each two frames one after the other, of one range, that are no step:
//!     off(a, b) = the largest distance, in tolerances, of what the source has and what a player shows, at three places between
//! allowed = what was asked for; where nobody asked, as much more as makes no more than three times as many frames
//! for each of these pairs:
//!     off(a, b) > allowed:  what changes at once at b gets a frame right before b; the rest is divided into n = 2 … 16 equal parts, the first n that suffices
//! ```
//!
//! Distances fall with the square of n, so the first guess at n mostly suffices. The interpolation of a
//! player is computed from the source's own frames; the decoding error, at most one tolerance, is allowed
//! for.
//!
//! A transform is decomposed as in the file: frame after frame, where the decomposition of one frame affects
//! the next (mirrors that come and go, scales of zero). Where a half turn could go either way once it is
//! coded, both ways are measured.
//!
//! An object is measured between two frames that both show it. If the second hides it, it changes at once
//! there. A point is measured if it is undamaged in both frames and at the place between them.

mod items;
mod pose;

use crate::Error;
use crate::context::Content;
use crate::nodes::flatten::FlatNode;
use crate::nodes::motion::Motion;
use crate::report::{BetweenFrames, Log};
use crate::select::selection::SelectedObjects;
use items::{BetweenRequest, DeviatingItems};
use meshreel_options::{BetweenChoice, Options, RigChoice, Tolerance};
use meshreel_scene::sample::is_step;
use meshreel_scene::{Remark, sample};
use pose::{MAX_PARTS, PairDeviation, PoseReader, SourcePose};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// If no multiple is requested, the largest ratio of all frames to the source's frames: a player has to
/// decode them all.
const MAX_FRAME_RATIO: usize = 3;
/// Room for rounding.
const ROUNDING_MARGIN: f64 = 0.98;

/// Measures the deviation between the frames of `content`, and adds frames where it is too large. With
/// `baked`, which says whose vertices are in world space, it only measures. `None` if nothing deviates.
pub fn add_frames(
    content: &Content,
    selected: &SelectedObjects,
    motion: &Motion,
    baked: Option<&[bool]>,
) -> Result<Option<BetweenFrames>, Error> {
    measure_frames(&BetweenRequest {
        scene: &content.scene,
        placed: &content.placed,
        selected: &selected.meshes,
        locators: &selected.locators,
        baked,
        motion,
        times: &content.times,
        tolerance: &|path| match (content.by_path.tolerance(path), content.tighter.fraction(path)) {
            (Tolerance::Absolute(t), part) => Tolerance::Absolute(part * t),
            (Tolerance::Relative(t), part) => Tolerance::Relative(part * t),
        },
        rigs: content.options.rig == RigChoice::Keep,
        choice: content.options.between,
        add: content.options.fps.is_none() && baked.is_none(),
        cancellation: &content.cancellation,
    })
}

/// Records the result for `--explain`, and adds a remark if it exceeds the requested multiple.
pub fn report_deviation(found: Option<&BetweenFrames>, samples: usize, options: &Options, log: &mut Log) {
    if let Some(found) = found {
        log.pass("between", found.explain(samples));
        log.remarks.extend(found.remark(options));
    }
}

/// Measures between all frames. `None` if nothing deviates.
fn measure_frames(given: &BetweenRequest<'_>) -> Result<Option<BetweenFrames>, Error> {
    let (Some(items), Some(asked)) = (DeviatingItems::new(given)?, given.choice.multiple()) else {
        return Ok(None);
    };
    let times = given.times;
    let ranges = sample::frame_ranges(&given.scene.ranges, times);
    let starts: HashSet<usize> = ranges.iter().map(|(_, first, _)| *first).collect();
    let pairs: Vec<usize> =
        (1..times.len()).filter(|i| !starts.contains(i) && !is_step(times[i - 1], times[*i])).collect();
    let whole = each_pair(given, &items, &pairs, |eye, _, from, to| {
        eye.measure_pair(from, to, allowed_deviation(asked))
    })?;
    let most_off = |all: &mut dyn Iterator<Item = f64>| all.fold(0.0, f64::max);
    let mut all = BetweenFrames {
        times: times.to_vec(),
        source_deviation: most_off(&mut whole.iter().map(|pair| pair.largest)),
        requested_multiple: asked,
        needed_frames: count_needed_frames(&whole, asked),
        ..BetweenFrames::default()
    };
    let steps = whole.iter().filter(|pair| pair.step).count();
    let most = steps + (MAX_FRAME_RATIO - 1) * times.len();
    let capped = given.add && given.choice == BetweenChoice::Auto;
    while capped && count_needed_frames(&whole, all.requested_multiple) > most {
        all.requested_multiple *= 1.02;
    }
    loop {
        let allowed = allowed_deviation(all.requested_multiple);
        let far = |k: &usize| given.add && (whole[*k].step || whole[*k].before_step > allowed);
        let (far, near): (Vec<usize>, Vec<usize>) = (0..pairs.len()).partition(far);
        all.deviation = most_off(&mut near.iter().map(|k| whole[*k].largest));
        let of: HashMap<usize, PairDeviation> = far.iter().map(|k| (pairs[*k], whole[*k])).collect();
        let far: Vec<usize> = far.into_iter().map(|k| pairs[k]).collect();
        let parts = each_pair(given, &items, &far, |eye, i, from, to| {
            eye.divide(from, to, of.get(&i).copied().unwrap_or_default(), allowed)
        })?;
        all.added_frames = parts.iter().map(|(added, _)| added.len()).sum();
        if !capped || all.added_frames <= most || far.is_empty() {
            all.deviation = parts.iter().map(|(_, off)| *off).fold(all.deviation, f64::max);
            all.times.extend(parts.into_iter().flat_map(|(added, _)| added));
            break;
        }
        // The source has keys between its samples: there distances fall only in proportion to the parts.
        all.needed_frames = all.needed_frames.max(all.added_frames);
        all.requested_multiple *= (all.added_frames as f64 / most as f64).max(1.1);
    }
    // The final frames may deviate less than was allowed.
    all.requested_multiple = all.requested_multiple.min(all.reached_multiple()).max(asked);
    all.times.sort_by(f64::total_cmp);
    let seen = items.list.iter();
    all.steady = items.steady || all.added_frames == 0;
    all.examined = seen.map(|item| (item.placed, item.nodes.is_empty())).collect();
    Ok(Some(all))
}

/// Calls `work` with the two frames of each pair, which is numbered by the second.
fn each_pair<T: Send>(
    given: &BetweenRequest<'_>,
    items: &DeviatingItems,
    pairs: &[usize],
    work: impl Fn(&mut PoseReader<'_>, usize, &SourcePose, &SourcePose) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let times = given.times;
    let size = match items.steady {
        true => (pairs.len()).div_ceil(4 * rayon::current_num_threads()).max(8),
        false => pairs.len().max(1),
    };
    let parts: Vec<Vec<T>> = pairs
        .par_chunks(size)
        .map(|pairs| {
            let mut eye = PoseReader::new(given, items)?;
            let mut out = Vec::with_capacity(pairs.len());
            let mut last: Option<SourcePose> = None;
            for &i in pairs {
                given.cancellation.check()?;
                let from = match last.take() {
                    Some(pose) if pose.time == times[i - 1] => pose,
                    last => eye.later_frame(last, times, i - 1)?,
                };
                let to = eye.frame_pose(times[i], Some(&from.parts))?;
                out.push(work(&mut eye, i, &from, &to)?);
                last = Some(to);
            }
            Ok(out)
        })
        .collect::<Result<_, Error>>()?;
    Ok(parts.into_iter().flatten().collect())
}

/// Returns the allowed deviation of players, in tolerances and before coding, for a requested multiple of the
/// tolerance.
fn allowed_deviation(multiple: f64) -> f64 {
    (multiple - 1.0) * ROUNDING_MARGIN
}

/// Returns about how many frames a multiple takes: distances fall with the square of the parts.
fn count_needed_frames(pairs: &[PairDeviation], multiple: f64) -> usize {
    let allowed = allowed_deviation(multiple);
    let parts = |off: f64| (off / allowed).sqrt().ceil().min(MAX_PARTS as f64) as usize;
    let frames = |pair: &PairDeviation| usize::from(pair.step) + parts(pair.before_step).saturating_sub(1);
    pairs.iter().map(frames).sum()
}

/// Measures again if other vertices than estimated are in world space, or if added frames may change how the
/// transforms of later frames are decomposed.
pub fn remeasure_if_needed(
    found: Option<BetweenFrames>,
    nodes: &[FlatNode],
    objects: usize,
    again: impl FnOnce(&[bool]) -> Result<Option<BetweenFrames>, Error>,
) -> Result<Option<BetweenFrames>, Error> {
    let Some(found) = found else {
        return Ok(None);
    };
    let mut baked = vec![false; objects];
    for node in nodes.iter().filter(|node| node.baked) {
        node.mesh.into_iter().for_each(|i| baked[i] = true);
    }
    if found.steady && found.examined.iter().all(|&(i, foretold)| baked[i] == foretold) {
        return Ok(Some(found));
    }
    Ok(again(&baked)?.map(|real| BetweenFrames { deviation: real.deviation, ..found }))
}

impl BetweenFrames {
    /// Returns the multiple of the tolerance that holds between frames: the requested one, or more if it
    /// could not be reached.
    pub fn holding_multiple(&self) -> f64 {
        let reached = self.reached_multiple();
        if reached > self.requested_multiple * (1.0 + 1e-9) { reached } else { self.requested_multiple }
    }

    /// The multiple of the tolerance that is reached between frames.
    fn reached_multiple(&self) -> f64 {
        ((self.deviation / ROUNDING_MARGIN + 1.0) * 1000.0).ceil() / 1000.0
    }

    /// Returns the multiple of the tolerance that the file guarantees between frames; `None` if frames were
    /// chosen by their rate.
    pub fn guaranteed_multiple(&self, options: &Options) -> Option<f64> {
        options.fps.is_none().then(|| self.holding_multiple())
    }

    /// Returns the sentence for `--explain`.
    fn explain(&self, samples: usize) -> String {
        let (before, after) = (self.source_deviation, self.deviation);
        match self.added_frames {
            0 => format!("up to {before:.1} tolerances off between {samples} frames"),
            added => format!(
                "{added} frames added between {samples}: up to {before:.1} tolerances off without them, {after:.1} with them"
            ),
        }
    }

    /// Returns a remark if the multiple exceeds the requested one.
    fn remark(&self, options: &Options) -> Option<Remark> {
        let asked = options.between.multiple()?;
        let held = self.holding_multiple();
        if held <= asked {
            return None;
        }
        let cure = match options.fps {
            Some(_) => format!(
                "without --fps frames are added where it is more than {asked}; --between off says nothing of it"
            ),
            None if self.requested_multiple > asked => format!(
                "--between {asked} adds about {} frames instead of {}, --between off none; --rig keep lets clips move skinned meshes, which is as the source has it",
                self.needed_frames, self.added_frames
            ),
            None => format!(
                "no more than {MAX_PARTS} frames come in the place of one (something changes at once, or --tolerance is very small); --between {} asks for no more",
                held.ceil()
            ),
        };
        let what =
            format!("between frames players are up to {held:.1} tolerances away from the source: {cure}");
        Some(Remark::new("/", what))
    }
}
