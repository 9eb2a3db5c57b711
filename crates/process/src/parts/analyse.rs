//! Finds the parts of a mesh from trajectories.
//!
//! ```text
//! still        points that never move further than the tolerance are part 0
//! groups       each group that somebody named (ids), then each connected component: one fit; what verifies is a part
//! grow         of the rest: pairs of near points that keep their distance → a seed → its transform in every frame
//!              → all points that follow it, wherever they are → a better transform → … ; what verifies is a part
//! merge        parts that one transform explains are one
//! swap         points between two parts go to the one that fits clearly better
//! ```
//!
//! Near means near in all of the few frames that differ most, so that two touching pieces do not stay
//! neighbours.

use super::fit::{FitSums, Similarity, TransformModel};
use super::neighbours::KdTree;
use super::{NO_PART, Trajectories};
use crate::Cancellation;
use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

/// The number of frames that are compared first.
const FRAMES: usize = 8;
/// The number of neighbours in these frames.
const NEIGHBOURS: usize = 16;
/// Allowed variation of the distances between a seed's points, in tolerances.
const SEED: f64 = 4.0;
/// The least number of points of a part that is found by growing: one or two are cheaper by themselves.
const MIN_PART_POINTS: usize = 3;
/// The least width of a seed, in tolerances: thinner ones do not determine a rotation.
const WIDTH: f64 = 20.0;
/// The number of rounds of fitting and collecting.
const ROUNDS: usize = 8;
/// The number of parts that are compared with the others at a time.
const BATCH: usize = 64;
/// The number of draws from the neighbours of a point if all together do not fit.
const DRAWS: usize = 3;
/// The number of points from which parts are grown before the yield is checked.
const TRIED_STARTS: usize = 256;
/// The number of points that must have found a part by then, per start.
const MIN_YIELD: usize = 1;
/// The number of triangles that are examined before parts are sought in the motion alone.
const PROBED_TRIANGLES: usize = 4096;
/// The least fraction of them that must keep its shape for such a search.
const MIN_STIFF_FRACTION: f64 = 1.0 / 128.0;

/// The settings of a search for parts.
#[derive(Clone, Debug, Default)]
pub struct PartsRequest<'a> {
    /// The largest distance from the transformed position, for every point in every frame.
    pub tolerance: f64,
    /// Group of each point in the source, or [`NO_PART`]; empty if there are none. A group that does not move
    /// as one is analysed.
    pub groups: &'a [u32],
    /// Three points per triangle. Used only as hints.
    pub triangles: &'a [u32],
    /// `true` to consider only groups and connected pieces: points that move as neither have no part.
    pub connected_only: bool,
    /// `true` to seek parts even if hardly a triangle keeps its shape.
    pub thorough: bool,
    /// Cancels the search; its result must not be used then.
    pub cancellation: Cancellation,
}

/// The parts of a mesh, each with its motion.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// By point, its part, or [`NO_PART`].
    pub point_part: Vec<u32>,
    /// By part and frame, the transform of the positions of frame 0. Part 0 never moves; it may be empty.
    pub transforms: Vec<Vec<Similarity>>,
    /// Groups of the request that did not move as one.
    pub broken_groups: Vec<u32>,
}

impl Parts {
    /// Returns the number of parts, part 0 included.
    pub fn len(&self) -> usize {
        self.transforms.len()
    }

    /// Returns `false`, since part 0 always exists.
    pub fn is_empty(&self) -> bool {
        self.transforms.is_empty()
    }

    /// Returns the points of each part, in order.
    pub fn members(&self) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.len()];
        for (p, &part) in self.point_part.iter().enumerate() {
            if let Some(list) = members.get_mut(part as usize) {
                list.push(p as u32);
            }
        }
        members
    }
}

/// Finds the parts. The work is bounded by points × frames and points × parts.
pub fn find_parts(all: &Trajectories, request: &PartsRequest<'_>) -> Parts {
    let points = all.points();
    let mut search = PartSearch::new(all, request.tolerance, &request.cancellation);
    if request.groups.len() == points {
        let groups = group_by_number(request.groups, &search.parts.point_part);
        for (number, members) in groups {
            if !search.try_part(&members) {
                search.parts.broken_groups.push(number);
            }
        }
    }
    let component = components(points, request.triangles);
    for (_, members) in group_by_number(&component, &search.parts.point_part) {
        if members.len() >= MIN_PART_POINTS {
            search.try_part(&members);
        }
    }
    if !request.connected_only && (request.thorough || search.is_stiff(request.triangles)) {
        search.grow(request.triangles, request.thorough);
    }
    search.merge();
    search.swap(request.triangles);
    search.adopt(request.triangles);
    search.parts
}

/// Returns `true` if enough moving triangles keep their shape for parts to be sought in the motion.
pub fn is_stiff(all: &Trajectories, triangles: &[u32], tolerance: f64) -> bool {
    PartSearch::new(all, tolerance, &Cancellation::never()).is_stiff(triangles)
}

/// Returns the fraction of the points that move with their groups: of those that move and are in a group of
/// at least three, those whose group moves as one. 0 if there are no such points.
pub fn agreement(all: &Trajectories, groups: &[u32], tolerance: f64, cancellation: &Cancellation) -> f64 {
    let mut search = PartSearch::new(all, tolerance, cancellation);
    let (mut good, mut whole) = (0, 0);
    for (_, members) in group_by_number(groups, &search.parts.point_part) {
        if members.len() >= MIN_PART_POINTS {
            whole += members.len();
            good += if search.try_part(&members) { members.len() } else { 0 };
        }
    }
    match whole {
        0 => 0.0,
        _ => good as f64 / whole as f64,
    }
}

/// Returns the frames that differ most from each other, the first frame included.
fn distinct_frames(all: &Trajectories) -> Vec<usize> {
    let stride = (all.points() / 2000).max(1);
    let far = |a: usize, b: usize| -> f64 {
        let points = (0..all.points() as u32).step_by(stride);
        points.map(|p| (all.position(a, p) - all.position(b, p)).length()).sum::<f64>()
    };
    let mut chosen = vec![0];
    let mut nearest: Vec<f64> = (0..all.frames()).into_par_iter().map(|f| far(0, f)).collect();
    while chosen.len() < FRAMES.min(all.frames()) {
        let best = (0..nearest.len()).fold(0, |b, f| if nearest[f] > nearest[b] { f } else { b });
        if nearest[best] == 0.0 {
            break;
        }
        chosen.push(best);
        nearest.par_iter_mut().enumerate().for_each(|(f, n)| *n = n.min(far(best, f)));
    }
    chosen
}

/// Returns the points that have no part yet, by number, in order of numbers.
fn group_by_number(numbers: &[u32], of: &[u32]) -> Vec<(u32, Vec<u32>)> {
    let free = |&p: &u32| of[p as usize] == NO_PART && numbers[p as usize] != NO_PART;
    let mut list: Vec<u32> = (0..of.len() as u32).filter(free).collect();
    list.sort_by_key(|&p| (numbers[p as usize], p));
    let same = |a: &u32, b: &u32| numbers[*a as usize] == numbers[*b as usize];
    list.chunk_by(same).map(|members| (numbers[members[0] as usize], members.to_vec())).collect()
}

/// Returns the connected component of each point, named by its first point; [`NO_PART`] for points without
/// triangles.
fn components(points: usize, triangles: &[u32]) -> Vec<u32> {
    let mut up: Vec<u32> = (0..points as u32).collect();
    fn root(up: &mut [u32], mut p: u32) -> u32 {
        while up[p as usize] != p {
            up[p as usize] = up[up[p as usize] as usize];
            p = up[p as usize];
        }
        p
    }
    let mut used = vec![false; points];
    for triangle in triangles.chunks_exact(3) {
        for &p in triangle {
            used[p as usize] = true;
            let (a, b) = (root(&mut up, triangle[0]), root(&mut up, p));
            up[a.max(b) as usize] = a.min(b);
        }
    }
    (0..points as u32)
        .map(|p| match used[p as usize] {
            true => root(&mut up, p),
            false => NO_PART,
        })
        .collect()
}

/// A transform in the form that is applied to many points.
type Matrix = (DMat3, DVec3);

struct PartSearch<'a> {
    all: &'a Trajectories,
    tolerance: f64,
    distinct_frames: Vec<usize>,
    parts: Parts,
    cancellation: &'a Cancellation,
}

impl<'a> PartSearch<'a> {
    /// Starts with the points that do not move as part 0.
    fn new(all: &'a Trajectories, tolerance: f64, cancellation: &'a Cancellation) -> PartSearch<'a> {
        let parts = Parts {
            point_part: vec![NO_PART; all.points()],
            transforms: vec![vec![Similarity::IDENTITY; all.frames()]],
            broken_groups: Vec::new(),
        };
        let mut search =
            PartSearch { all, tolerance, distinct_frames: distinct_frames(all), parts, cancellation };
        search.find_constant();
        search
    }

    /// Finds part 0: points that do not move.
    fn find_constant(&mut self) {
        let all = self.all;
        let still: Vec<bool> = (0..all.points() as u32)
            .into_par_iter()
            .map(|p| {
                let first = all.position(0, p);
                !self.cancelled()
                    && (1..all.frames()).all(|f| (all.position(f, p) - first).length() <= self.tolerance)
            })
            .collect();
        for (of, still) in self.parts.point_part.iter_mut().zip(still) {
            if still {
                *of = 0;
            }
        }
    }

    fn cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Fits the transform of a set of points in every frame.
    fn fit(&self, members: &[u32], model: TransformModel) -> Vec<Similarity> {
        let mut before = DQuat::IDENTITY;
        (0..self.all.frames())
            .map(|f| {
                if self.cancelled() {
                    return Similarity::IDENTITY;
                }
                let fit = self.fit_frame(members, f, model, before);
                before = fit.rotation;
                fit
            })
            .collect()
    }

    fn fit_frame(&self, members: &[u32], f: usize, model: TransformModel, before: DQuat) -> Similarity {
        let mut sums = FitSums::default();
        for &p in members {
            sums.add(self.all.position(0, p), self.all.position(f, p));
        }
        sums.fit(model, before)
    }

    fn error(&self, p: u32, f: usize, (turn, shift): &Matrix) -> f64 {
        (*turn * self.all.position(0, p) + *shift - self.all.position(f, p)).length()
    }

    /// Returns `true` if a point follows a transform; always `false` once the search is cancelled, which soon
    /// ends it.
    fn follows(&self, p: u32, matrices: &[Matrix]) -> bool {
        if self.cancelled() {
            return false;
        }
        let fits = |f: usize| self.error(p, f, &matrices[f]) <= self.tolerance;
        // The frames that differ most first: nearly all points that do not belong fail at once.
        self.distinct_frames.iter().rev().all(|&f| fits(f)) && (0..matrices.len()).all(fits)
    }

    fn holds(&self, members: &[u32], matrices: &[Matrix]) -> bool {
        members.iter().all(|&p| self.follows(p, matrices))
    }

    /// Makes a set a part if it moves as one: rigidly, or else mirrored or scaled.
    fn try_part(&mut self, members: &[u32]) -> bool {
        if self.cancelled() {
            return false;
        }
        for model in [TransformModel::Rigid, TransformModel::Scaled] {
            // A few frames rule out most sets that do not.
            let quick = self.distinct_frames.iter().all(|&f| {
                let matrix = self.fit_frame(members, f, model, DQuat::IDENTITY).matrix();
                let fits = |&p: &u32| self.error(p, f, &matrix) <= self.tolerance;
                members.iter().all(fits)
            });
            if !quick {
                continue;
            }
            let fits = self.fit(members, model);
            if self.holds(members, &matrices(&fits)) {
                self.assign(members, fits);
                return true;
            }
        }
        false
    }

    fn assign(&mut self, members: &[u32], fits: Vec<Similarity>) {
        let part = self.parts.transforms.len() as u32;
        for &p in members {
            self.parts.point_part[p as usize] = part;
        }
        self.parts.transforms.push(fits);
    }

    /// Returns `true` if enough of the triangles whose points have no part keep their shape in the frames
    /// that differ most: if none does, nothing moves as one. Also `true` if the triangles do not cover enough
    /// points.
    fn is_stiff(&self, triangles: &[u32]) -> bool {
        let (triangles, _) = triangles.as_chunks::<3>();
        let free = |t: &&[u32; 3]| t.iter().all(|&p| self.parts.point_part[p as usize] == NO_PART);
        let (mut seen, mut stiff) = (0usize, 0usize);
        for &[a, b, c] in
            triangles.iter().step_by(triangles.len().div_ceil(PROBED_TRIANGLES).max(1)).filter(free)
        {
            seen += 1;
            stiff += usize::from(
                self.keeps_distance(a, b) && self.keeps_distance(b, c) && self.keeps_distance(c, a),
            );
        }
        // Most points may be in no triangle.
        4 * triangles.len() < self.all.points() || stiff as f64 >= MIN_STIFF_FRACTION * seen as f64
    }

    /// Returns the points that may belong to a part that is found by growing: all without a part if triangles
    /// do not cover enough points, else those of triangles that keep their shape.
    fn starts(&self, triangles: &[u32]) -> Vec<u32> {
        let free = |p: u32| self.parts.point_part[p as usize] == NO_PART;
        let (triangles, _) = triangles.as_chunks::<3>();
        let points = self.all.points();
        let mut starts = vec![4 * triangles.len() < points; points];
        let keeps: Vec<bool> = (triangles.par_iter())
            .map(|&[a, b, c]| {
                !self.cancelled()
                    && (free(a) || free(b) || free(c))
                    && self.keeps_distance(a, b)
                    && self.keeps_distance(b, c)
                    && self.keeps_distance(c, a)
            })
            .collect();
        for (triangle, _) in triangles.iter().zip(keeps).filter(|(_, keeps)| *keeps) {
            triangle.iter().for_each(|&p| starts[p as usize] = true);
        }
        (0..points as u32).filter(|&p| starts[p as usize] && free(p)).collect()
    }

    /// Finds parts of the remaining points from motion alone; gives up early if hardly any are found, unless
    /// `thorough`.
    fn grow(&mut self, triangles: &[u32], thorough: bool) {
        let all = self.all;
        let mut free: Vec<u32> =
            (0..all.points() as u32).filter(|&p| self.parts.point_part[p as usize] == NO_PART).collect();
        let starts = if thorough { free.clone() } else { self.starts(triangles) };
        if starts.len() < MIN_PART_POINTS {
            return;
        }
        let stacked: Vec<f32> = (starts.iter())
            .flat_map(|&p| self.distinct_frames.iter().flat_map(move |&f| all.frame(f)[p as usize]))
            .collect();
        let near =
            KdTree::new(&stacked, 3 * self.distinct_frames.len()).all_nearest(NEIGHBOURS, self.cancellation);
        let good: Vec<Vec<u32>> = (starts.par_iter().zip(&near))
            .map(|(&p, near)| {
                let near = near.iter().map(|&i| starts[i as usize]);
                near.filter(|&q| self.keeps_distance(p, q)).collect()
            })
            .collect();
        let mut order: Vec<usize> = (0..starts.len()).collect();
        order.sort_by_key(|&i| (std::cmp::Reverse(good[i].len()), i));
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let (mut tried, whole) = (0, free.len());
        for i in order {
            if self.cancelled() {
                return;
            }
            let start = starts[i];
            if self.parts.point_part[start as usize] != NO_PART {
                continue;
            }
            let found = whole - free.len();
            if !thorough && tried >= TRIED_STARTS && found < MIN_YIELD * tried {
                break;
            }
            tried += 1;
            let near = good[i].iter().copied();
            let open = near.filter(|&q| self.parts.point_part[q as usize] == NO_PART);
            let Some(seed) = self.seed(start, open.collect(), &mut random) else {
                continue;
            };
            let (members, fits) = self.collect(seed, &free);
            if members.len() >= MIN_PART_POINTS {
                self.assign(&members, fits);
                free.retain(|&p| self.parts.point_part[p as usize] == NO_PART);
            }
        }
    }

    fn keeps_distance(&self, p: u32, q: u32) -> bool {
        let far = |&f: &usize| (self.all.position(f, p) - self.all.position(f, q)).length();
        let first = far(&0);
        let (low, high) = (self.distinct_frames.iter().map(far))
            .fold((first, first), |(low, high), d| (low.min(d), high.max(d)));
        high - low <= SEED * self.tolerance
    }

    /// Returns the largest set around a point that moves as one in the frames that differ most.
    fn seed(&self, start: u32, near: Vec<u32>, random: &mut u64) -> Option<Vec<u32>> {
        if near.len() + 1 < MIN_PART_POINTS {
            return None;
        }
        let mut set = near.clone();
        set.push(start);
        let agreeing = |sample: &[u32]| -> Vec<u32> {
            let mut left = set.clone();
            for &f in &self.distinct_frames {
                let matrix = self.fit_frame(sample, f, TransformModel::Rigid, DQuat::IDENTITY).matrix();
                left.retain(|&p| self.error(p, f, &matrix) <= self.tolerance);
            }
            left
        };
        let mut best = agreeing(&set);
        if best.len() < set.len() {
            for _ in 0..DRAWS {
                let mut sample = vec![start];
                for _ in 0..3 {
                    *random ^= *random << 13;
                    *random ^= *random >> 7;
                    *random ^= *random << 17;
                    let p = near[(*random % near.len() as u64) as usize];
                    if !sample.contains(&p) {
                        sample.push(p);
                    }
                }
                let found = agreeing(&sample);
                if found.len() > best.len() {
                    best = found;
                }
            }
        }
        (best.len() >= MIN_PART_POINTS && self.width(&best) >= WIDTH * self.tolerance).then_some(best)
    }

    /// Returns the width of a set of points across its longest direction: 0 on a line.
    fn width(&self, members: &[u32]) -> f64 {
        let centre = members.iter().map(|&p| self.all.position(0, p)).sum::<DVec3>() / members.len() as f64;
        let off = |p: &u32| self.all.position(0, *p) - centre;
        let far = |v: &DVec3| v.length_squared();
        let offs: Vec<DVec3> = members.iter().map(off).collect();
        let longest = offs.iter().copied().fold(DVec3::ZERO, |a, b| if far(&b) > far(&a) { b } else { a });
        let along = longest.normalize_or_zero();
        let across = offs.iter().map(|v| (*v - along * v.dot(along)).length());
        across.fold(0.0, f64::max)
    }

    /// Returns all free points that move with the seed, and their transforms.
    fn collect(&self, seed: Vec<u32>, free: &[u32]) -> (Vec<u32>, Vec<Similarity>) {
        let mut members = seed;
        let mut kept: (Vec<u32>, Vec<Similarity>) = Default::default();
        for _ in 0..ROUNDS {
            let fits = self.fit(&members, TransformModel::Rigid);
            let matrices = matrices(&fits);
            let follow: Vec<u32> = (free.par_iter().with_min_len(256))
                .filter(|&&p| self.follows(p, &matrices))
                .copied()
                .collect();
            let more = follow.len() > kept.0.len();
            if more {
                kept = (follow.clone(), fits);
            }
            if !more || follow.len() < MIN_PART_POINTS {
                break;
            }
            members = follow;
        }
        // The last fit may be better, but must be verified.
        let fits = self.fit(&kept.0, TransformModel::Rigid);
        match !kept.0.is_empty() && self.holds(&kept.0, &matrices(&fits)) {
            true => (kept.0, fits),
            false => kept,
        }
    }

    /// Merges parts that one transform explains.
    fn merge(&mut self) {
        let mut members = self.parts.members();
        let count = self.parts.len();
        let matrices: Vec<Vec<Matrix>> =
            (self.parts.transforms.par_iter()).map(|fits| matrices(fits)).collect();
        let mut sorted: Vec<usize> = (1..count).collect();
        sorted.sort_by_key(|&p| (std::cmp::Reverse(members[p].len()), p));
        let mut into: Vec<Option<usize>> = vec![None; count];
        // One frame separates nearly all of tens of thousands of parts.
        let telling = self.distinct_frames[self.distinct_frames.len() - 1];
        let quick = TransformBlocks::new(sorted.iter().map(|&p| &matrices[p][telling]));
        // In batches, since where very many move alike each has very many to choose from.
        for start in (0..sorted.len()).step_by(BATCH) {
            let batch = start..sorted.len().min(start + BATCH);
            let explaining: Vec<Vec<usize>> = (batch.clone().into_par_iter())
                .map(|i| {
                    let small = &members[sorted[i]];
                    let (Some(&first), Some(&last)) = (small.first(), small.last()) else {
                        return Vec::new();
                    };
                    let (from, to) = (self.all.position(0, first), self.all.position(telling, first));
                    let mut larger = quick.candidates(i, from, to, self.tolerance);
                    larger.iter_mut().for_each(|i| *i = sorted[*i]);
                    larger.retain(|&large| {
                        into[large].is_none()
                            && self.follows(first, &matrices[large])
                            && self.follows(last, &matrices[large])
                            && self.holds(small, &matrices[large])
                    });
                    larger
                })
                .collect();
            for (i, larger) in batch.zip(explaining) {
                if let Some(large) = larger.into_iter().find(|&large| into[large].is_none()) {
                    into[sorted[i]] = Some(large);
                    let moved = std::mem::take(&mut members[sorted[i]]);
                    members[large].extend(moved);
                }
            }
        }
        self.renumber(&into);
    }

    /// Removes parts without points; the others keep their order.
    fn renumber(&mut self, into: &[Option<usize>]) {
        let mut used = vec![false; into.len()];
        used[0] = true;
        for of in &mut self.parts.point_part {
            if let Some(Some(large)) = into.get(*of as usize) {
                *of = *large as u32;
            }
            if let Some(used) = used.get_mut(*of as usize) {
                *used = true;
            }
        }
        let mut number = 0;
        let numbers: Vec<u32> = (used.iter())
            .map(|&used| {
                number += u32::from(used);
                number - 1
            })
            .collect();
        for of in &mut self.parts.point_part {
            if let Some(&new) = numbers.get(*of as usize) {
                *of = new;
            }
        }
        let mut used = used.into_iter();
        self.parts.transforms.retain(|_| used.next().unwrap_or(false));
    }

    /// Moves points to the part of a neighbour that fits them clearly better.
    fn swap(&mut self, triangles: &[u32]) {
        let matrices: Vec<Vec<Matrix>> = self.parts.transforms.iter().map(|f| matrices(f)).collect();
        let mut borders: Vec<(u32, u32)> = Vec::new();
        for triangle in triangles.chunks_exact(3) {
            for (i, &p) in triangle.iter().enumerate() {
                for &q in [triangle[(i + 1) % 3], triangle[(i + 2) % 3]].iter() {
                    let (a, b) = (self.parts.point_part[p as usize], self.parts.point_part[q as usize]);
                    if a != b && a != NO_PART && b != NO_PART {
                        borders.push((p, b));
                    }
                }
            }
        }
        borders.sort_unstable();
        borders.dedup();
        let worst = |p: u32, part: u32| {
            let part = &matrices[part as usize];
            let errors = (0..part.len()).map(|f| self.error(p, f, &part[f]));
            errors.fold(0.0, f64::max)
        };
        let moves: Vec<(u32, u32)> = (borders.par_iter())
            .filter(|&&(p, other)| {
                if self.cancelled() {
                    return false;
                }
                let own = worst(p, self.parts.point_part[p as usize]);
                // A difference within the noise of f32 does not count.
                own > 0.05 * self.tolerance && worst(p, other) <= 0.5 * own
            })
            .copied()
            .collect();
        for (p, part) in moves {
            self.parts.point_part[p as usize] = part;
        }
    }

    /// Gives remaining points to an adjacent part, if they follow it within the tolerance.
    fn adopt(&mut self, triangles: &[u32]) {
        let matrices: Vec<Vec<Matrix>> = self.parts.transforms.iter().map(|f| matrices(f)).collect();
        loop {
            let mut found: Vec<(u32, u32)> = Vec::new();
            for triangle in triangles.chunks_exact(3) {
                for &p in triangle.iter().filter(|&&p| self.parts.point_part[p as usize] == NO_PART) {
                    for &q in triangle {
                        let part = self.parts.point_part[q as usize];
                        if part != NO_PART {
                            found.push((p, part));
                        }
                    }
                }
            }
            found.sort_unstable();
            found.dedup();
            found.retain(|&(p, part)| self.follows(p, &matrices[part as usize]));
            if found.is_empty() {
                return;
            }
            for (p, part) in found {
                if self.parts.point_part[p as usize] == NO_PART {
                    self.parts.point_part[p as usize] = part;
                }
            }
        }
    }
}

/// Transforms in SIMD layout, to find those that send a point to a given place.
struct TransformBlocks {
    /// Nine values of the matrix by columns, three of the shift; in blocks.
    blocks: Vec<[[f32; TransformBlocks::BLOCK]; 12]>,
    /// The largest magnitude among them.
    largest: f32,
}

impl TransformBlocks {
    const BLOCK: usize = 16;

    fn new<'a>(maps: impl ExactSizeIterator<Item = &'a Matrix>) -> TransformBlocks {
        let mut blocks =
            vec![[[0.0f32; TransformBlocks::BLOCK]; 12]; maps.len().div_ceil(TransformBlocks::BLOCK)];
        let mut largest = 0.0f32;
        for (i, (turn, shift)) in maps.enumerate() {
            let numbers = turn.to_cols_array().into_iter().chain(shift.to_array());
            for (plane, number) in blocks[i / TransformBlocks::BLOCK].iter_mut().zip(numbers) {
                plane[i % TransformBlocks::BLOCK] = number as f32;
                largest = largest.max(number.abs() as f32);
            }
        }
        TransformBlocks { blocks, largest }
    }

    /// Returns those of the first `count` that send `from` nearer to `to` than `tolerance`, and perhaps a few
    /// that send it slightly further away.
    fn candidates(&self, count: usize, from: DVec3, to: DVec3, tolerance: f64) -> Vec<usize> {
        let ([x, y, z], goal) = (from.as_vec3().to_array(), to.as_vec3().to_array());
        // Room for a dozen roundings of the summed values.
        let size = self.largest * (x.abs() + y.abs() + z.abs() + 1.0) + to.abs().max_element() as f32;
        let reach = (tolerance as f32 + 16.0 * f32::EPSILON * size).powi(2) * 1.001;
        let mut found = Vec::new();
        for (b, planes) in self.blocks[..count.div_ceil(TransformBlocks::BLOCK)].iter().enumerate() {
            let mut far = [0.0f32; TransformBlocks::BLOCK];
            for (k, goal) in goal.into_iter().enumerate() {
                for (i, far) in far.iter_mut().enumerate() {
                    let at =
                        planes[k][i] * x + planes[3 + k][i] * y + planes[6 + k][i] * z + planes[9 + k][i];
                    *far += (at - goal) * (at - goal);
                }
            }
            // A NaN may still be near in f64.
            let perhaps = |far: f32| far <= reach || far.is_nan();
            if far.iter().any(|&far| perhaps(far)) {
                let near = (0..TransformBlocks::BLOCK)
                    .filter(|&i| perhaps(far[i]))
                    .map(|i| b * TransformBlocks::BLOCK + i);
                found.extend(near.filter(|&i| i < count));
            }
        }
        found
    }
}

fn matrices(fits: &[Similarity]) -> Vec<Matrix> {
    fits.iter().map(Similarity::matrix).collect()
}
