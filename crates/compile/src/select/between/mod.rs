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
use crate::nodes::content::Content;
use crate::nodes::flatten::FlatNode;
use crate::nodes::motion::Motion;
use crate::report::{Between, Log};
use crate::select::selection::Selected;
use items::{Items, Request};
use meshreel_options::{BetweenChoice, Options, RigChoice, Tolerance};
use meshreel_scene::sample::is_step;
use meshreel_scene::{Remark, sample};
use pose::{Eye, PARTS, Pair, Pose};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// If no multiple is requested, the largest ratio of all frames to the source's frames: a player has to
/// decode them all.
const MOST_TIMES: usize = 3;
/// Room for rounding.
const MARGIN: f64 = 0.98;

/// Measures the deviation between the frames of `content`, and adds frames where it is too large. With
/// `baked`, which says whose vertices are in world space, it only measures. `None` if nothing deviates.
pub fn find(
    content: &Content<'_>,
    selected: &Selected,
    motion: &Motion,
    baked: Option<&[bool]>,
) -> Result<Option<Between>, Error> {
    frames(&Request {
        scene: content.scene,
        placed: content.placed,
        selected: &selected.meshes,
        locators: &selected.locators,
        baked,
        motion,
        times: content.times,
        tolerance: &|path| match (content.by_path.tolerance(path), content.tighter.part(path)) {
            (Tolerance::Absolute(t), part) => Tolerance::Absolute(part * t),
            (Tolerance::Relative(t), part) => Tolerance::Relative(part * t),
        },
        rigs: content.options.rig == RigChoice::Keep,
        choice: content.options.between,
        add: content.options.fps.is_none() && baked.is_none(),
        cancellation: content.cancellation,
    })
}

/// Records the result for `--explain`, and adds a remark if it exceeds the requested multiple.
pub fn report(found: Option<&Between>, samples: usize, options: &Options, log: &mut Log) {
    if let Some(found) = found {
        log.pass("between", found.said(samples));
        log.remarks.extend(found.remark(options));
    }
}

/// Measures between all frames. `None` if nothing deviates.
fn frames(given: &Request<'_>) -> Result<Option<Between>, Error> {
    let (Some(items), Some(asked)) = (Items::new(given)?, given.choice.multiple()) else {
        return Ok(None);
    };
    let times = given.times;
    let ranges = sample::frame_ranges(&given.scene.ranges, times);
    let starts: HashSet<usize> = ranges.iter().map(|(_, first, _)| *first).collect();
    let pairs: Vec<usize> =
        (1..times.len()).filter(|i| !starts.contains(i) && !is_step(times[i - 1], times[*i])).collect();
    let whole = each_pair(given, &items, &pairs, |eye, _, from, to| eye.look(from, to, allowed(asked)))?;
    let most_off = |all: &mut dyn Iterator<Item = f64>| all.fold(0.0, f64::max);
    let mut all = Between {
        times: times.to_vec(),
        before: most_off(&mut whole.iter().map(|pair| pair.whole)),
        asked,
        needed: needed(&whole, asked),
        ..Between::default()
    };
    let steps = whole.iter().filter(|pair| pair.step).count();
    let most = steps + (MOST_TIMES - 1) * times.len();
    let capped = given.add && given.choice == BetweenChoice::Auto;
    while capped && needed(&whole, all.asked) > most {
        all.asked *= 1.02;
    }
    loop {
        let allowed = allowed(all.asked);
        let far = |k: &usize| given.add && (whole[*k].step || whole[*k].off > allowed);
        let (far, near): (Vec<usize>, Vec<usize>) = (0..pairs.len()).partition(far);
        all.after = most_off(&mut near.iter().map(|k| whole[*k].whole));
        let of: HashMap<usize, Pair> = far.iter().map(|k| (pairs[*k], whole[*k])).collect();
        let far: Vec<usize> = far.into_iter().map(|k| pairs[k]).collect();
        let parts = each_pair(given, &items, &far, |eye, i, from, to| {
            eye.divide(from, to, of.get(&i).copied().unwrap_or_default(), allowed)
        })?;
        all.added = parts.iter().map(|(added, _)| added.len()).sum();
        if !capped || all.added <= most || far.is_empty() {
            all.after = parts.iter().map(|(_, off)| *off).fold(all.after, f64::max);
            all.times.extend(parts.into_iter().flat_map(|(added, _)| added));
            break;
        }
        // The source has keys between its samples: there distances fall only in proportion to the parts.
        all.needed = all.needed.max(all.added);
        all.asked *= (all.added as f64 / most as f64).max(1.1);
    }
    // The final frames may deviate less than was allowed.
    all.asked = all.asked.min(all.reached()).max(asked);
    all.times.sort_by(f64::total_cmp);
    let seen = items.list.iter();
    all.steady = items.steady || all.added == 0;
    all.seen = seen.map(|item| (item.placed, item.nodes.is_empty())).collect();
    Ok(Some(all))
}

/// Calls `work` with the two frames of each pair, which is numbered by the second.
fn each_pair<T: Send>(
    given: &Request<'_>,
    items: &Items,
    pairs: &[usize],
    work: impl Fn(&mut Eye<'_>, usize, &Pose, &Pose) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let times = given.times;
    let size = match items.steady {
        true => (pairs.len()).div_ceil(4 * rayon::current_num_threads()).max(8),
        false => pairs.len().max(1),
    };
    let parts: Vec<Vec<T>> = pairs
        .par_chunks(size)
        .map(|pairs| {
            let mut eye = Eye::new(given, items)?;
            let mut out = Vec::with_capacity(pairs.len());
            let mut last: Option<Pose> = None;
            for &i in pairs {
                given.cancellation.check()?;
                let from = match last.take() {
                    Some(pose) if pose.time == times[i - 1] => pose,
                    last => eye.after(last, times, i - 1)?,
                };
                let to = eye.pose(times[i], Some(&from.parts))?;
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
fn allowed(multiple: f64) -> f64 {
    (multiple - 1.0) * MARGIN
}

/// Returns about how many frames a multiple takes: distances fall with the square of the parts.
fn needed(pairs: &[Pair], multiple: f64) -> usize {
    let allowed = allowed(multiple);
    let parts = |off: f64| (off / allowed).sqrt().ceil().min(PARTS as f64) as usize;
    let frames = |pair: &Pair| usize::from(pair.step) + parts(pair.off).saturating_sub(1);
    pairs.iter().map(frames).sum()
}

/// Measures again if other vertices than estimated are in world space, or if added frames may change how the
/// transforms of later frames are decomposed.
pub fn settle(
    found: Option<Between>,
    nodes: &[FlatNode],
    objects: usize,
    again: impl FnOnce(&[bool]) -> Result<Option<Between>, Error>,
) -> Result<Option<Between>, Error> {
    let Some(found) = found else {
        return Ok(None);
    };
    let mut baked = vec![false; objects];
    for node in nodes.iter().filter(|node| node.baked) {
        node.mesh.into_iter().for_each(|i| baked[i] = true);
    }
    if found.steady && found.seen.iter().all(|&(i, foretold)| baked[i] == foretold) {
        return Ok(Some(found));
    }
    Ok(again(&baked)?.map(|real| Between { after: real.after, ..found }))
}

impl Between {
    /// Returns the multiple of the tolerance that holds between frames: the requested one, or more if it
    /// could not be reached.
    pub fn held(&self) -> f64 {
        let reached = self.reached();
        if reached > self.asked * (1.0 + 1e-9) { reached } else { self.asked }
    }

    /// The multiple of the tolerance that is reached between frames.
    fn reached(&self) -> f64 {
        ((self.after / MARGIN + 1.0) * 1000.0).ceil() / 1000.0
    }

    /// Returns the multiple of the tolerance that the file guarantees between frames; `None` if frames were
    /// chosen by their rate.
    pub fn stored(&self, options: &Options) -> Option<f64> {
        options.fps.is_none().then(|| self.held())
    }

    /// Returns the sentence for `--explain`.
    fn said(&self, samples: usize) -> String {
        let (before, after) = (self.before, self.after);
        match self.added {
            0 => format!("up to {before:.1} tolerances off between {samples} frames"),
            added => format!(
                "{added} frames added between {samples}: up to {before:.1} tolerances off without them, {after:.1} with them"
            ),
        }
    }

    /// Returns a remark if the multiple exceeds the requested one.
    fn remark(&self, options: &Options) -> Option<Remark> {
        let asked = options.between.multiple()?;
        let held = self.held();
        if held <= asked {
            return None;
        }
        let cure = match options.fps {
            Some(_) => format!(
                "without --fps frames are added where it is more than {asked}; --between off says nothing of it"
            ),
            None if self.asked > asked => format!(
                "--between {asked} adds about {} frames instead of {}, --between off none; --rig keep lets clips move skinned meshes, which is as the source has it",
                self.needed, self.added
            ),
            None => format!(
                "no more than {PARTS} frames come in the place of one (something changes at once, or --tolerance is very small); --between {} asks for no more",
                held.ceil()
            ),
        };
        let what =
            format!("between frames players are up to {held:.1} tolerances away from the source: {cure}");
        Some(Remark::new("/", what))
    }
}
