//! Frames between samples: where the file says that things go from sample to sample on curves, and a player,
//! which puts points on lines and turns of nodes on chords, would be too far away from them in the middle.
//!
//! ```text
//! for each two frames one after the other, of one range, that are no step:
//!     off(a, b) = the largest distance, in tolerances, of what the source has and what a player shows, at three places between
//! allowed = what was asked for; where nobody asked, as much more as makes no more than three times as many frames
//! for each of these pairs:
//!     off(a, b) > allowed:  what changes at once at b gets a frame right before b; the rest is divided into n = 2 … 16 equal parts, the first n that suffices
//! ```
//!
//! Distances go down with the square of n, so the first guess at n mostly holds. What a player does is worked
//! out from the source's own frames; what decoding adds, at most one tolerance, is left room for.
//!
//! A transform is taken apart as that of the file is: frame after frame, where that of one frame says something
//! of the next (mirrors that come and go, scales of zero). Where a half turn could go either way once it is coded,
//! both ways count.
//!
//! An object takes part between two frames that both show it. One that the second hides changes at once there.
//! A point takes part where both frames and the place between them have it undamaged.

use crate::Error;
use crate::nodes::budget::{LEAST_LEFT, leaves_too_little};
use crate::nodes::content::Content;
use crate::nodes::flatten::{FlatNode, flatten};
use crate::nodes::motion::Motion;
use crate::nodes::tracks::{Tracks, apart};
use crate::report::{Between, Log};
use crate::select::selection::Selected;
use glam::{DMat4, DVec3};
use meshreel_options::{BetweenChoice, Options, RigChoice, Tolerance};
use meshreel_process::Cancellation;
use meshreel_process::extent::{ulp, usable};
use meshreel_process::trs::{Trs, align, error_over_box, rows};
use meshreel_scene::sample::{World, is_step, just_before, largest_scale};
use meshreel_scene::{MeshId, Placed, Remark, Scene, rig, sample};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// Most parts of the time between two samples.
const PARTS: usize = 16;
/// Places between two frames that are looked at, the one that is mostly worst first. On a chord the middle is
/// right and the places beside it are not.
const PLACES: [f64; 3] = [0.5, 0.25, 0.75];
/// Where nobody asks for a multiple, there are at most so many times the source's frames: all of them have to
/// be decoded when a file is played.
const MOST_TIMES: usize = 3;
/// A step goes so many times as far as what is as long and right before it.
const STEP: f64 = 4.0;
/// Room for rounding.
const MARGIN: f64 = 0.98;

/// The objects and times between which is looked.
struct Request<'a> {
    /// The source.
    scene: &'a Scene,
    /// Its placed objects.
    placed: &'a [Placed],
    /// By object whether its mesh is compiled.
    selected: &'a [bool],
    /// Nodes without meshes that are kept.
    locators: &'a [bool],
    /// By object whether its vertices are in world space, where that is known; else it is foretold.
    baked: Option<&'a [bool]>,
    /// The motion of objects at `times`.
    motion: &'a Motion,
    /// Seconds of the frames between which is looked.
    times: &'a [f64],
    /// The tolerance of the object at a path.
    tolerance: &'a (dyn Fn(&str) -> Tolerance + Sync),
    /// Meshes with a rig that clips can move need no frames.
    rigs: bool,
    /// The multiple of the tolerance that was asked for.
    choice: BetweenChoice,
    /// Whether frames may be added.
    add: bool,
    /// Ends the work with an error.
    cancellation: &'a Cancellation,
}

/// Looks between the frames of `content`, and adds frames where the source bends away from what players show.
/// With `baked`, which says whose vertices are in world space, it only looks. `None` where nothing bends.
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

/// Notes what was found for `--explain`, and remarks where it is more than was asked for.
pub fn report(found: Option<&Between>, samples: usize, options: &Options, log: &mut Log) {
    if let Some(found) = found {
        log.pass("between", found.said(samples));
        log.remarks.extend(found.remark(options));
    }
}

/// Looks between all frames. `None` where nothing bends.
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
        // Keys between the samples: there distances go down with the parts alone.
        all.needed = all.needed.max(all.added);
        all.asked *= (all.added as f64 / most as f64).max(1.1);
    }
    // More was allowed than what was needed in the end.
    all.asked = all.asked.min(all.reached()).max(asked);
    all.times.sort_by(f64::total_cmp);
    let seen = items.list.iter();
    all.steady = items.steady || all.added == 0;
    all.seen = seen.map(|item| (item.placed, item.nodes.is_empty())).collect();
    Ok(Some(all))
}

/// Does `work` with the two frames of each pair, which is named by the second.
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

/// The distance, in tolerances, that players may be off before anything is coded, where a multiple of the
/// tolerance is asked for.
fn allowed(multiple: f64) -> f64 {
    (multiple - 1.0) * MARGIN
}

/// How far players are off between two frames.
#[derive(Clone, Copy, Default)]
struct Pair {
    /// The largest distance between the frames, in tolerances.
    whole: f64,
    /// Something changes at once at the second.
    step: bool,
    /// The largest distance up to right before that step, in tolerances.
    off: f64,
}

/// Frames that a multiple takes, about: distances go down with the square of the parts.
fn needed(pairs: &[Pair], multiple: f64) -> usize {
    let allowed = allowed(multiple);
    let parts = |off: f64| (off / allowed).sqrt().ceil().min(PARTS as f64) as usize;
    let frames = |pair: &Pair| usize::from(pair.step) + parts(pair.off).saturating_sub(1);
    pairs.iter().map(frames).sum()
}

/// A placement that bends.
struct Item {
    placed: usize,
    tolerance: f64,
    /// Largest world scale, and |coordinate| of its own space.
    scale: f64,
    reach: f64,
    /// Nodes of the file from the root down to the one that shows it; none: its vertices are in world space.
    nodes: Vec<usize>,
    points: Points,
}

/// The points of a mesh that are looked at.
enum Points {
    /// Corners of a box around them, for they never move. Distance is convex.
    Still([DVec3; 8]),
    /// Place in [`Pose::points`].
    Moving(usize),
}

struct Items {
    list: Vec<Item>,
    /// Meshes whose points move.
    meshes: Vec<MeshId>,
    nodes: Vec<FlatNode>,
    /// Whether a node is above one of them, or shows it.
    needed: Vec<bool>,
    /// By node how near to a half turn rotations count as one: cosine of half the angle.
    half_turn: Vec<f64>,
    /// Whether transforms are taken apart alike, whatever the frame before is.
    steady: bool,
}

impl Items {
    fn new(given: &Request<'_>) -> Result<Option<Items>, Error> {
        let Request { scene, placed, .. } = *given;
        let bends = |i: &usize| {
            let mesh = scene.nodes[placed[*i].node].mesh;
            let rig = given.rigs && mesh.is_some_and(|mesh| rig::is_driven(&scene.meshes[mesh]));
            given.selected[*i] && !rig && sample::bends(scene, placed, *i)
        };
        let bending: Vec<usize> = (0..placed.len()).filter(bends).collect();
        if bending.is_empty() || given.times.len() < 2 {
            return Ok(None);
        }
        let mut meshes: Vec<MeshId> = Vec::new();
        let mut list = Vec::new();
        for i in bending {
            let Some(mesh) = scene.nodes[placed[i].node].mesh else {
                continue;
            };
            let mut place = || {
                let known = meshes.iter().position(|other| *other == mesh);
                known.unwrap_or_else(|| {
                    meshes.push(mesh);
                    meshes.len() - 1
                })
            };
            let points = match scene.meshes[mesh].positions.is_constant() {
                true => Points::Still([DVec3::ZERO; 8]),
                false => Points::Moving(place()),
            };
            list.push(Item { placed: i, tolerance: 0.0, scale: 0.0, reach: 0.0, nodes: Vec::new(), points });
        }
        let (nodes, needed, half_turn) = (Vec::new(), Vec::new(), Vec::new());
        let mut items = Items { list, meshes, nodes, needed, half_turn, steady: true };
        let corners = items.resolve(given)?;
        let mut baked = vec![false; placed.len()];
        match given.baked {
            Some(known) => {
                baked.copy_from_slice(known);
                items.flatten(given, &baked);
            }
            None => loop {
                items.flatten(given, &baked);
                let more = items.without_room(given, &baked, &corners)?;
                if more.is_empty() {
                    break;
                }
                more.into_iter().for_each(|i| baked[i] = true);
            },
        }
        Ok(Some(items))
    }

    /// Finds the nodes that the file will have.
    fn flatten(&mut self, given: &Request<'_>, baked: &[bool]) {
        // How far locators reach changes no node.
        let reach = |&locator: &bool| locator.then_some(0.0);
        let locators: Vec<Option<f32>> = given.locators.iter().map(reach).collect();
        self.nodes = flatten(given.placed, given.selected, &locators, baked, given.motion);
        self.needed = vec![false; self.nodes.len()];
        self.half_turn = vec![0.0; self.nodes.len()];
        let mut of_placed = vec![None; given.placed.len()];
        for (n, node) in self.nodes.iter().enumerate() {
            if let Some(i) = node.mesh {
                of_placed[i] = Some(n);
            }
        }
        for item in &mut self.list {
            item.nodes.clear();
            let mut at = of_placed[item.placed].filter(|_| !baked[item.placed]);
            while let Some(n) = at {
                self.needed[n] = true;
                // What coding may turn a node by.
                let turn = item.tolerance / (item.scale * item.reach);
                self.half_turn[n] = self.half_turn[n].max(turn.clamp(1e-4, 0.5));
                item.nodes.push(n);
                at = self.nodes[n].parent;
            }
            item.nodes.reverse();
        }
        let steady =
            |node: &FlatNode| !node.world && node.chain.iter().all(|&i| given.motion.local[i].steady);
        let needed = self.nodes.iter().zip(&self.needed).filter(|(node, needed)| **needed && node.animated);
        self.steady = needed.map(|(node, _)| node).all(steady);
    }

    /// Objects whose transforms leave no room in their tolerance: their vertices will be in world space.
    fn without_room(
        &self,
        given: &Request<'_>,
        baked: &[bool],
        corners: &[[DVec3; 8]],
    ) -> Result<Vec<usize>, Error> {
        let mut errors = vec![0.0f64; self.list.len()];
        let mut tracks = Tracks::new(given.scene, given.placed, &self.nodes)?;
        for &time in given.times {
            tracks.evaluate(time)?;
            for (k, item) in self.list.iter().enumerate() {
                if let Some(&node) = item.nodes.last() {
                    let (low, high) = (corners[k][0].to_array(), corners[k][7].to_array());
                    let right = rows(&tracks.world.matrix[item.placed]);
                    let error = error_over_box(&right, &tracks.decoded[node], low, high);
                    errors[k] = if error >= 0.0 { errors[k].max(error) } else { f64::INFINITY };
                }
            }
        }
        let tight = |(item, error): &(&Item, f64)| {
            let (scale, reach) = (item.scale, item.reach);
            !baked[item.placed] && leaves_too_little(item.tolerance, *error, scale, reach, LEAST_LEFT)
        };
        let all = self.list.iter().zip(errors).filter(tight);
        Ok(all.map(|(item, _)| item.placed).collect())
    }

    /// Works out what each is promised (PROMISE.md §1), and the corners of a box around it.
    fn resolve(&mut self, given: &Request<'_>) -> Result<Vec<[DVec3; 8]>, Error> {
        let Request { scene, placed, .. } = *given;
        let empty = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let grow = |(low, high): (DVec3, DVec3), p: DVec3| (low.min(p), high.max(p));
        let join = |a: (DVec3, DVec3), b: (DVec3, DVec3)| (a.0.min(b.0), a.1.max(b.1));
        let extent = |mesh: MeshId, time: f64| -> Result<(DVec3, DVec3), Error> {
            let mut points = Vec::new();
            sample::positions_at(&scene.meshes[mesh], time, &mut points)?;
            let finite = points.iter().filter(|p| usable(p));
            Ok(finite.map(|p| DVec3::from_array(p.map(f64::from))).fold(empty, grow))
        };
        // By mesh its boxes in all frames.
        let moving: Vec<Vec<(DVec3, DVec3)>> = (self.meshes.iter())
            .map(|&mesh| given.times.par_iter().map(|&time| extent(mesh, time)).collect())
            .collect::<Result<_, Error>>()?;
        let (mut corners, mut diagonals) = (Vec::new(), Vec::new());
        for item in &mut self.list {
            let still;
            let boxes = match item.points {
                Points::Moving(place) => &moving[place][..],
                Points::Still(_) => {
                    let mesh = scene.nodes[placed[item.placed].node].mesh;
                    still = [mesh.map_or(Ok(empty), |mesh| extent(mesh, given.times[0]))?];
                    &still[..]
                }
            };
            let size = |(low, high): (DVec3, DVec3)| if low.x <= high.x { low.distance(high) } else { 0.0 };
            let visible = &given.motion.visible[item.placed];
            diagonals.push(visible.largest(given.times.len(), |f| size(boxes[f.min(boxes.len() - 1)])));
            // What hidden frames have is not stored.
            let there = |f: &usize| boxes.len() == 1 || visible.contains(*f);
            let (low, high) = (0..boxes.len()).filter(there).map(|f| boxes[f]).fold(empty, join);
            let (low, high) = match low.x <= high.x {
                true => (low, high),
                false => (DVec3::ZERO, DVec3::ZERO),
            };
            let sides = [low, high];
            let box_corners: [DVec3; 8] =
                std::array::from_fn(|i| DVec3::from_array([0, 1, 2].map(|k| sides[i >> k & 1][k])));
            if let Points::Still(own) = &mut item.points {
                *own = box_corners;
            }
            corners.push(box_corners);
        }
        let mut scale = vec![0.0f64; self.list.len()];
        let mut reach = vec![0.0f64; self.list.len()];
        let mut world = World::new(scene, placed)?;
        for &time in given.times {
            world.evaluate(time)?;
            for (k, item) in self.list.iter().enumerate() {
                let matrix = &world.matrix[item.placed];
                if matrix.is_finite() {
                    scale[k] = scale[k].max(largest_scale(matrix));
                    let far = |p: &DVec3| matrix.transform_point3(*p).abs().max_element();
                    reach[k] = corners[k].iter().map(far).fold(reach[k], f64::max);
                }
            }
        }
        for (k, item) in self.list.iter_mut().enumerate() {
            let object = corners[k].iter().map(|p| p.abs().max_element());
            (item.scale, item.reach) = (scale[k], object.fold(0.0, f64::max));
            let floor = 4.0 * ulp(item.reach.max(reach[k]));
            let asked = match (given.tolerance)(&placed[item.placed].path) {
                Tolerance::Absolute(t) => t,
                Tolerance::Relative(part) => part * diagonals[k] * scale[k],
            };
            item.tolerance = asked.max(floor);
        }
        Ok(corners)
    }
}

/// Corrects what was found, where other vertices than foretold came to be in world space, or where frames that were
/// added may change how transforms of the frames behind them are taken apart.
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
    /// The multiple of the tolerance that holds between frames: what was asked for, or more where frames
    /// could not be brought so near.
    pub fn held(&self) -> f64 {
        let reached = self.reached();
        if reached > self.asked * (1.0 + 1e-9) { reached } else { self.asked }
    }

    /// The multiple of the tolerance that is reached between frames.
    fn reached(&self) -> f64 {
        ((self.after / MARGIN + 1.0) * 1000.0).ceil() / 1000.0
    }

    /// The multiple of the tolerance that the file promises between frames; none where frames were chosen by
    /// their rate.
    pub fn stored(&self, options: &Options) -> Option<f64> {
        options.fps.is_none().then(|| self.held())
    }

    /// The sentence that `--explain` prints.
    fn said(&self, samples: usize) -> String {
        let (before, after) = (self.before, self.after);
        match self.added {
            0 => format!("up to {before:.1} tolerances off between {samples} frames"),
            added => format!(
                "{added} frames added between {samples}: up to {before:.1} tolerances off without them, {after:.1} with them"
            ),
        }
    }

    /// A remark where it is more than was asked for.
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

/// The source at a time.
struct Pose {
    time: f64,
    /// By item: to the world.
    world: Vec<DMat4>,
    /// By node of the file.
    parts: Vec<Trs>,
    /// By mesh whose points move.
    points: Vec<Vec<[f32; 3]>>,
    /// By item.
    visible: Vec<bool>,
}

impl Pose {
    /// Whether an item is shown in both of two frames.
    fn both_show(&self, to: &Pose, item: usize) -> bool {
        self.visible[item] && to.visible[item]
    }
}

/// One thread's view of the source.
struct Eye<'a> {
    given: &'a Request<'a>,
    items: &'a Items,
    world: World<'a>,
}

impl<'a> Eye<'a> {
    fn new(given: &'a Request<'a>, items: &'a Items) -> Result<Eye<'a>, Error> {
        Ok(Eye { given, items, world: World::new(given.scene, given.placed)? })
    }

    /// The frame at a time. `previous`: the nodes of the frame before.
    fn pose(&mut self, time: f64, previous: Option<&[Trs]>) -> Result<Pose, Error> {
        let parts = self.parts(time, previous)?;
        Ok(Pose { time, parts, ..self.moment(time)? })
    }

    /// The source at a time, without the nodes of the file.
    fn moment(&mut self, time: f64) -> Result<Pose, Error> {
        self.world.evaluate(time)?;
        let items = self.items;
        let points = |mesh: &MeshId| {
            let mut points = Vec::new();
            sample::positions_at(&self.given.scene.meshes[*mesh], time, &mut points)?;
            Ok(points)
        };
        Ok(Pose {
            time,
            world: (items.list.iter()).map(|item| self.world.matrix[item.placed]).collect(),
            visible: (items.list.iter()).map(|item| self.world.visible[item.placed]).collect(),
            parts: Vec::new(),
            points: items.meshes.iter().map(points).collect::<Result<_, Error>>()?,
        })
    }

    /// Goes to a time. Gives the nodes' transforms apart, as [`Tracks`] has them.
    fn parts(&mut self, time: f64, previous: Option<&[Trs]>) -> Result<Vec<Trs>, Error> {
        self.world.evaluate(time)?;
        let nodes = self.items.nodes.iter().zip(&self.items.needed).enumerate();
        let parts = |(n, (node, needed)): (usize, (&FlatNode, &bool))| {
            let before = previous.map(|all| &all[n]);
            match needed {
                true => apart(&node.local(&self.world), before).or(before.copied()).unwrap_or(Trs::IDENTITY),
                false => Trs::IDENTITY,
            }
        };
        Ok(nodes.map(parts).collect())
    }

    /// The frame of a number. `last`: one before it.
    fn after(&mut self, last: Option<Pose>, times: &[f64], frame: usize) -> Result<Pose, Error> {
        let mut parts = last.as_ref().map(|last| last.parts.clone());
        if !self.items.steady {
            let start = last.map_or(0, |last| times.partition_point(|time| *time <= last.time));
            for &time in &times[start..frame] {
                parts = Some(self.parts(time, parts.as_deref())?);
            }
        }
        self.pose(times[frame], parts.as_deref())
    }

    /// Looks between two frames.
    fn look(&mut self, from: &Pose, to: &Pose, allowed: f64) -> Result<Pair, Error> {
        let whole = self.off(from, to, f64::INFINITY)?;
        let mut pair = Pair { whole, step: false, off: whole };
        let before = just_before(to.time);
        let vanishes = |k: usize| from.visible[k] && !to.visible[k];
        let some_vanish = self.given.add && (0..self.items.list.len()).any(vanishes);
        if !(some_vanish || whole > allowed) || before - from.time <= 0.5 * (to.time - from.time) {
            return Ok(pair);
        }
        let pose = self.pose(before, Some(&from.parts))?;
        // What vanishes stands still until then, unless a frame right before that shows where it went.
        let left = if some_vanish { self.apart(from, &pose, vanishes) } else { 0.0 };
        let moved = |a: &Pose, b: &Pose| self.apart(a, b, |k| pose.both_show(to, k));
        let jump = if whole > allowed { moved(&pose, to) } else { 0.0 };
        // What is as fast before is no step.
        let fast = match jump > allowed {
            true => Some(self.pose(2.0 * before - to.time, Some(&from.parts))?),
            false => None,
        };
        let moved = |a: &Pose, b: &Pose| self.apart(a, b, |k| pose.both_show(to, k));
        if left > allowed || fast.is_some_and(|fast| jump > STEP * moved(&fast, &pose)) {
            pair.step = true;
            pair.whole = whole.max(left);
            pair.off = self.off(from, &pose, f64::INFINITY)?;
        }
        Ok(pair)
    }

    /// Times between two frames, so that nothing is off by more than is allowed, and what then is off.
    fn divide(&mut self, from: &Pose, to: &Pose, pair: Pair, allowed: f64) -> Result<(Vec<f64>, f64), Error> {
        let mut added = Vec::new();
        let (mut off, mut end) = (pair.off, None);
        if pair.step {
            let before = just_before(to.time);
            added.push(before);
            end = Some(self.pose(before, Some(&from.parts))?);
        }
        let to = end.as_ref().unwrap_or(to);
        let mut parts = 1usize;
        while off > allowed && parts < PARTS {
            let more = (off / allowed).sqrt().min(PARTS as f64);
            parts = ((parts as f64 * more).ceil() as usize).clamp(parts + 1, PARTS);
            off = 0.0;
            // Where it is the last try, what is left over must be known.
            let enough = if parts < PARTS { allowed } else { f64::INFINITY };
            let mut last: Option<Pose> = None;
            for part in 1..=parts {
                let before = last.as_ref().unwrap_or(from);
                let next = match part == parts {
                    true => None,
                    false => Some(self.pose(inner(from.time, to.time, part, parts), Some(&before.parts))?),
                };
                let pair = (last.as_ref().unwrap_or(from), next.as_ref().unwrap_or(to));
                off = off.max(self.off(pair.0, pair.1, enough)?);
                last = next;
                if off > enough {
                    break;
                }
            }
        }
        added.extend((1..parts).map(|part| inner(from.time, to.time, part, parts)));
        Ok((added, off))
    }

    /// The largest distance, in tolerances, of what is between two poses and what a player makes of them; of
    /// the first places only, if there it is more than `enough`.
    fn off(&mut self, from: &Pose, to: &Pose, enough: f64) -> Result<f64, Error> {
        let mut worst = 0.0f64;
        for place in PLACES {
            if worst > enough {
                break;
            }
            let own = self.moment(from.time + (to.time - from.time) * place)?;
            let ways = self.shown(from, to, place);
            let list = self.items.list.iter().enumerate();
            for (k, item) in list.filter(|(k, _)| from.both_show(to, *k)) {
                let far = |shown: &Vec<Option<DMat4>>| far_off([from, &own, to], place, (k, item), shown[k]);
                let far = ways.iter().map(far).fold(0.0, f64::max);
                // What is no number comes of damaged transforms, of which nothing is promised.
                if far.is_finite() && item.tolerance > 0.0 {
                    worst = worst.max(far / item.tolerance);
                }
            }
        }
        Ok(worst)
    }

    /// By item what a player takes its points to the world with, none where they are there; once more for half turns
    /// that go the other way.
    fn shown(&self, from: &Pose, to: &Pose, place: f64) -> Vec<Vec<Option<DMat4>>> {
        let nodes = || from.parts.iter().zip(&to.parts).zip(&self.items.half_turn);
        let either = |((a, b), near): ((&Trs, &Trs), &f64)| a.rotation.dot(b.rotation).abs() < *near;
        let way = |other: bool| {
            let local = |(pair, near)| {
                let (a, b): (&Trs, &Trs) = pair;
                blend(a, b, place, other && either((pair, near)))
            };
            let local: Vec<DMat4> = nodes().map(local).collect();
            let of = |item: &Item| {
                let nodes = item.nodes.iter();
                (!item.nodes.is_empty()).then(|| nodes.fold(DMat4::IDENTITY, |above, n| above * local[*n]))
            };
            self.items.list.iter().map(of).collect()
        };
        match nodes().any(either) {
            true => vec![way(false), way(true)],
            false => vec![way(false)],
        }
    }

    /// The largest distance of two poses, in tolerances, of the items that are `wanted`.
    fn apart(&self, a: &Pose, b: &Pose, wanted: impl Fn(usize) -> bool) -> f64 {
        let mut worst = 0.0f64;
        for (k, item) in self.items.list.iter().enumerate().filter(|(k, _)| wanted(*k)) {
            let (m, n) = (&a.world[k], &b.world[k]);
            let far = match &item.points {
                Points::Still(corners) => {
                    let far = |p: &DVec3| m.transform_point3(*p).distance(n.transform_point3(*p));
                    corners.iter().map(far).fold(0.0, f64::max)
                }
                &Points::Moving(mesh) => {
                    let pairs = a.points[mesh].iter().zip(&b.points[mesh]);
                    let far = |(p, q): (&[f32; 3], &[f32; 3])| {
                        if !(usable(p) && usable(q)) {
                            return 0.0;
                        }
                        let at = m.transform_point3(vector(p));
                        at.distance(n.transform_point3(vector(q)))
                    };
                    pairs.map(far).fold(0.0, f64::max)
                }
            };
            if far.is_finite() && item.tolerance > 0.0 {
                worst = worst.max(far / item.tolerance);
            }
        }
        worst
    }
}

fn inner(from: f64, to: f64, part: usize, parts: usize) -> f64 {
    from + (to - from) * part as f64 / parts as f64
}

fn vector(p: &[f32; 3]) -> DVec3 {
    DVec3::from_array(p.map(f64::from))
}

/// The largest distance of what is at a place between two frames, `own`, from what a player shows of an item there:
/// `shown` takes its points to the world.
fn far_off([from, own, to]: [&Pose; 3], place: f64, (k, item): (usize, &Item), shown: Option<DMat4>) -> f64 {
    let at = |a: DVec3, b: DVec3| match &shown {
        Some(matrix) => matrix.transform_point3(a.lerp(b, place)),
        None => from.world[k].transform_point3(a).lerp(to.world[k].transform_point3(b), place),
    };
    let far = |a, b, p| own.world[k].transform_point3(p).distance_squared(at(a, b));
    let most = match &item.points {
        Points::Still(corners) => corners.iter().map(|p| far(*p, *p, *p)).fold(0.0, f64::max),
        &Points::Moving(mesh) => {
            let ends = from.points[mesh].iter().zip(&to.points[mesh]);
            let far = |((a, b), p): ((&[f32; 3], &[f32; 3]), &[f32; 3])| match usable(a)
                && usable(b)
                && usable(p)
            {
                true => far(vector(a), vector(b), vector(p)),
                false => 0.0,
            };
            ends.zip(&own.points[mesh]).map(far).fold(0.0, f64::max)
        }
    };
    most.sqrt()
}

/// The transform that a player shows between two transforms of a node; with `other` it turns the longer way.
fn blend(from: &Trs, to: &Trs, place: f64, other: bool) -> DMat4 {
    let nothing = |t: &Trs| t.scale == DVec3::ZERO;
    if from == to || nothing(from) || nothing(to) {
        return from.matrix();
    }
    let near = align(from.rotation, to.rotation);
    let turned = from.rotation * (1.0 - place) + if other { -near } else { near } * place;
    let rotation = match turned.length_squared() > 1e-12 {
        true => turned.normalize(),
        false => from.rotation,
    };
    let between = Trs {
        rotation,
        translation: from.translation.lerp(to.translation, place),
        scale: from.scale.lerp(to.scale, place),
    };
    between.matrix()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    /// Blended as `meshreel::interpolate` has it: the middle of a turn is its middle, a quarter is not its
    /// quarter.
    #[test]
    fn nodes_turn_on_the_chord() {
        let (a, b) = (Trs::IDENTITY, Trs { rotation: DQuat::from_rotation_z(1.5), ..Trs::IDENTITY });
        let blend = |place| blend(&a, &b, place, false);
        assert!(blend(0.5).abs_diff_eq(DMat4::from_rotation_z(0.75), 1e-12));
        let quarter = blend(0.25);
        let even = DMat4::from_rotation_z(0.375);
        assert!(!quarter.abs_diff_eq(even, 1e-2) && quarter.abs_diff_eq(even, 3e-2));
    }
}
