//! A skin during the search: points, bones, and the steps that fit them.

use super::linear::{add_scaled, dot};
use super::motion::{self, FitPoints};
use super::skin::Skin;
use super::space::{MAX_DIMENSIONS, TrajectorySpace};
use super::vertex::{BoneMotions, Scratch, SkinVertex, choose_weights, settle};
use crate::Cancellation;
use crate::parts::Trajectories;
use crate::parts::neighbours::KdTree;
use glam::{DAffine3, DMat3, DVec3};
use rayon::prelude::*;

/// The number of rounds of assigning and fitting between splits of clusters.
const ROUNDS: usize = 6;
/// The least number of points of a cluster that may be split.
const SPLIT: usize = 16;
/// The interval, in steps of all bones, at which other bones may join a point.
const EXCHANGE_INTERVAL: usize = 3;
/// The number of steps of a point that follows the bones.
const FOLLOW: usize = 3;
/// Further steps are taken only if the error after the first one is at most this many times too large.
const MAX_FIRST_ERROR_RATIO: f64 = 4.0;
/// The number of coordinates by which points are compared for similar motion.
const COMPARED_COORDINATES: usize = 12;
/// The number of points around a new one that determine its initial motion.
const INITIAL_NEIGHBOURS: usize = 4;

/// Points, their target trajectories, and the bones that are fitted to them.
#[derive(Clone)]
pub struct SkinFit {
    pub dimensions: usize,
    /// Coordinates of the points that take part.
    pub targets: Vec<f64>,
    /// The middle of all points, and their spread as the unit: keeps the matrices well-conditioned.
    pub centre: DVec3,
    pub spread: f64,
    pub vertices: Vec<SkinVertex>,
    pub bones: BoneMotions,
    /// Initial rest positions.
    means: Vec<[f64; 3]>,
    /// Points that move most like each.
    near: Vec<Vec<u32>>,
    cancellation: Cancellation,
}

impl SkinFit {
    /// Starts a fit. `points`: the points of the space that take part; `rest`: initial positions of all of
    /// them.
    pub fn new(
        space: &TrajectorySpace,
        rest: &[DVec3],
        points: &[usize],
        cancellation: &Cancellation,
    ) -> SkinFit {
        let (centre, spread) = centre_and_spread(rest);
        let means: Vec<[f64; 3]> =
            (points.iter()).map(|&p| ((rest[p] - centre) / spread).to_array()).collect();
        let vertex = |&[x, y, z]: &[f64; 3]| SkinVertex { rest: [x, y, z, 1.0], ..SkinVertex::default() };
        let alike = space.dimensions.min(COMPARED_COORDINATES);
        let known: Vec<f32> =
            (points.iter()).flat_map(|&p| space.coordinates(p)[..alike].iter().map(|&v| v as f32)).collect();
        SkinFit {
            dimensions: space.dimensions,
            targets: points.iter().flat_map(|&p| space.coordinates(p)).copied().collect(),
            centre,
            spread,
            vertices: means.iter().map(vertex).collect(),
            bones: BoneMotions::new(0, space.dimensions),
            means,
            near: KdTree::new(&known, alike).all_nearest(INITIAL_NEIGHBOURS, cancellation),
            cancellation: cancellation.clone(),
        }
    }

    fn target(&self, i: usize) -> &[f64] {
        &self.targets[i * self.dimensions..][..self.dimensions]
    }

    pub fn points(&self) -> FitPoints<'_> {
        FitPoints { vertices: &self.vertices, targets: &self.targets, dimensions: self.dimensions }
    }

    /// Returns the sum of squared distances.
    pub fn error(&self) -> f64 {
        self.points().error(&self.bones)
    }

    /// Returns the difference between a point's trajectory and its position by bones.
    pub fn residual(&self, i: usize) -> [f64; MAX_DIMENSIONS] {
        let mut residual = [0.0; MAX_DIMENSIONS];
        let out = &mut residual[..self.dimensions];
        self.bones.residual(&self.vertices[i], self.target(i), out);
        residual
    }

    fn point_error(&self, i: usize) -> f64 {
        let residual = self.residual(i);
        dot(&residual, &residual)
    }

    /// Applies `change` to all points in parallel; once cancelled, only to some.
    fn update_points(&mut self, change: impl Fn(&BoneMotions, &mut SkinVertex, &[f64], &mut Scratch) + Sync) {
        let (bones, d, cancellation) = (&self.bones, self.dimensions, &self.cancellation);
        let targets = self.targets.par_chunks_exact(d);
        (self.vertices.par_iter_mut().zip(targets)).for_each_init(
            Scratch::default,
            |scratch, (vertex, target)| {
                if !cancellation.is_cancelled() {
                    change(bones, vertex, target, scratch)
                }
            },
        );
    }

    /// Makes clusters of points with a common affine motion, splitting the worst (Linde, Buzo and Gray), up
    /// to `bones` of them.
    pub fn start(&mut self, bones: usize) -> Option<()> {
        let n = self.vertices.len();
        for vertex in &mut self.vertices {
            vertex.set(&[(0, 1.0)]);
        }
        let mut count = 1;
        loop {
            self.bones.resize(count);
            for _ in 0..ROUNDS {
                self.fit_bones()?;
                self.assign();
            }
            self.fit_bones()?;
            if count == bones {
                return Some(());
            }
            // Worst clusters first, until there are enough.
            let errors: Vec<f64> = (0..n).into_par_iter().map(|i| self.point_error(i)).collect();
            let mut members = vec![Vec::new(); count];
            for (i, vertex) in self.vertices.iter().enumerate() {
                members[vertex.bones[0]].push(i);
            }
            let mut clusters: Vec<(f64, Vec<usize>)> = (members.into_iter())
                .map(|members| (members.iter().map(|&i| errors[i]).sum(), members))
                .collect();
            clusters.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let before = count;
            for (error, mut members) in clusters {
                if count == bones {
                    break;
                }
                if members.len() < SPLIT || error.is_nan() || error <= 0.0 {
                    continue;
                }
                let worst = members
                    .iter()
                    .copied()
                    .fold(members[0], |best, i| if errors[i] > errors[best] { i } else { best });
                let from = self.vertices[worst].rest;
                let far = |i: &usize| -> f64 {
                    let at = self.vertices[*i].rest;
                    (0..3).map(|k| (at[k] - from[k]).powi(2)).sum()
                };
                members.sort_by(|a, b| far(a).total_cmp(&far(b)).then(a.cmp(b)));
                for &i in &members[..(members.len() / 4).max(5)] {
                    self.vertices[i].set(&[(count, 1.0)]);
                }
                count += 1;
            }
            if count == before {
                // Nothing left to split: that many bones are not needed.
                return Some(());
            }
        }
    }

    /// Fits all bones to the present points.
    fn fit_bones(&mut self) -> Option<()> {
        self.cancellation.check().ok()?;
        let mut bones = std::mem::replace(&mut self.bones, BoneMotions::new(0, self.dimensions));
        let fitted = motion::fit_bones(&self.points(), &mut bones);
        self.bones = bones;
        fitted
    }

    /// Assigns each point to the one bone that fits it best.
    fn assign(&mut self) {
        self.update_points(|bones, vertex, target, _| {
            let mut place = [0.0; MAX_DIMENSIONS];
            let place = &mut place[..bones.dimensions];
            let mut best = (f64::INFINITY, 0);
            for bone in 0..bones.count {
                bones.move_point(bone, &vertex.rest, place);
                add_scaled(place, -1.0, target);
                best = match dot(place, place) {
                    e if e < best.0 => (e, bone),
                    _ => best,
                };
            }
            vertex.set(&[(best.1, 1.0)]);
        });
    }

    /// Fits weights and bones alternately; in the second half of many rounds, rest positions too.
    pub fn alternate(&mut self, rounds: usize, most: usize) -> Option<()> {
        for round in 0..rounds {
            let free = rounds <= 2 || round >= rounds / 2;
            self.search(most, usize::from(free));
            self.fit_bones()?;
        }
        Some(())
    }

    /// Chooses weights of all points over all bones, after `free` steps of their rest positions.
    pub fn search(&mut self, most: usize, free: usize) {
        let candidates: Vec<usize> = (0..self.bones.count).collect();
        self.update_points(|bones, vertex, target, scratch| {
            if vertex.count > 0 {
                settle(bones, vertex, target, free, scratch);
            }
            choose_weights(bones, vertex, target, &candidates, most, scratch);
        });
    }

    /// Lets points try the bones, weights and shifts of those that move most like them.
    pub fn copy_from_similar(&mut self, rounds: usize) {
        for _ in 0..rounds {
            let before = std::mem::take(&mut self.vertices);
            let d = self.dimensions;
            self.vertices = (before.par_iter().enumerate())
                .map_init(Scratch::default, |scratch, (i, own)| {
                    if self.cancellation.is_cancelled() {
                        return *own;
                    }
                    let target = &self.targets[i * d..][..d];
                    let mut best = (*own, self.bones.error(own, target));
                    for &j in &self.near[i] {
                        let other = &before[j as usize];
                        let mut tried = *other;
                        for k in 0..3 {
                            tried.rest[k] += self.means[i][k] - self.means[j as usize][k];
                        }
                        settle(&self.bones, &mut tried, target, 1, scratch);
                        let mut error = self.bones.error(&tried, target);
                        if error < MAX_FIRST_ERROR_RATIO * best.1 {
                            settle(&self.bones, &mut tried, target, FOLLOW, scratch);
                            error = self.bones.error(&tried, target);
                        }
                        if error < best.1 {
                            best = (tried, error);
                        }
                    }
                    best.0
                })
                .collect();
        }
    }

    /// Drops the smallest weights of points with more than `most`.
    pub fn limit_influences(&mut self, most: usize) {
        self.update_points(|bones, vertex, target, scratch| {
            let mut list: Vec<(usize, f64)> = vertex.influences().collect();
            if list.len() <= most {
                return;
            }
            list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            list.truncate(most);
            let candidates: Vec<usize> = list.iter().map(|l| l.0).collect();
            vertex.set(&list);
            choose_weights(bones, vertex, target, &candidates, most, scratch);
        });
    }

    /// Makes steps of all bones, which are kept only if they help.
    pub fn steps(&mut self, count: usize, most: usize) -> Option<()> {
        let mut damping = 1e-2;
        let mut error = self.error();
        for i in 0..count {
            self.cancellation.check().ok()?;
            let normal = motion::normal_matrix(&self.points(), self.bones.count)?;
            let change = motion::bone_step(&self.points(), &self.bones, &normal, damping);
            let before = (self.bones.clone(), self.vertices.clone());
            add_scaled(&mut self.bones.rows, 1.0, &change);
            self.update_points(|bones, vertex, target, scratch| {
                settle(bones, vertex, target, FOLLOW, scratch)
            });
            let after = self.error();
            if after < error {
                let enough = after > error * (1.0 - 1e-5);
                error = after;
                damping = (damping * 0.3f64).max(1e-6);
                if enough {
                    break;
                }
            } else {
                (self.bones, self.vertices) = before;
                damping *= 8.0;
                if damping > 1e6 {
                    break;
                }
            }
            // At intervals other bones may join.
            if i % EXCHANGE_INTERVAL == EXCHANGE_INTERVAL - 1 {
                self.search(most, 0);
                self.copy_from_similar(1);
                self.fit_bones()?;
                error = self.error();
            }
        }
        Some(())
    }

    /// Fits the points `wanted`, starting from the fitted ones that move most like them; `sample` has the
    /// numbers of the fitted points.
    pub fn lift_to_points(
        &self,
        space: &TrajectorySpace,
        rest: &[DVec3],
        sample: &[usize],
        wanted: &[usize],
        most: usize,
    ) -> SkinFit {
        let mut lifted = SkinFit::new(space, rest, wanted, &self.cancellation);
        lifted.bones = self.bones.clone();
        let alike = space.dimensions.min(COMPARED_COORDINATES);
        let of = |p: usize| space.coordinates(p)[..alike].iter().map(|&v| v as f32);
        let known: Vec<f32> = sample.iter().flat_map(|&p| of(p)).collect();
        let tree = KdTree::new(&known, alike);
        let candidates: Vec<usize> = (0..self.bones.count).collect();
        let (means, d) = (&lifted.means, lifted.dimensions);
        lifted.vertices = (wanted.par_iter().enumerate())
            .map_init(Scratch::default, |scratch, (p, &at)| {
                if self.cancellation.is_cancelled() {
                    return SkinVertex::default();
                }
                let target = &lifted.targets[p * d..][..d];
                let mut best = (SkinVertex::default(), f64::INFINITY);
                for (_, i) in tree.nearest(&of(at).collect::<Vec<f32>>(), INITIAL_NEIGHBOURS) {
                    let mut tried = self.vertices[i as usize];
                    for k in 0..3 {
                        tried.rest[k] += means[p][k] - self.means[i as usize][k];
                    }
                    settle(&self.bones, &mut tried, target, 2 * FOLLOW, scratch);
                    let error = self.bones.error(&tried, target);
                    if error < best.1 {
                        best = (tried, error);
                    }
                }
                let mut vertex = best.0;
                choose_weights(&self.bones, &mut vertex, target, &candidates, most, scratch);
                settle(&self.bones, &mut vertex, target, FOLLOW, scratch);
                vertex
            })
            .collect();
        lifted.copy_from_similar(1);
        lifted
    }

    /// Computes motions in every frame by a final least squares: the small space has only some frames, and
    /// only the main components of each.
    pub fn finish(self, all: &Trajectories) -> Option<Skin> {
        let rest = |v: &SkinVertex| DVec3::new(v.rest[0], v.rest[1], v.rest[2]) * self.spread + self.centre;
        let weights = |v: &SkinVertex| {
            let mut list: Vec<(u32, f64)> =
                v.influences().filter(|i| i.1 > 0.0).map(|(b, w)| (b as u32, w)).collect();
            list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            list
        };
        let rest: Vec<DVec3> = self.vertices.iter().map(rest).collect();
        let weights: Vec<Vec<(u32, f64)>> = self.vertices.iter().map(weights).collect();
        let transforms = motions(all, &rest, &weights, self.bones.count, &self.cancellation)?;
        let mut skin = Skin { rest, weights, transforms, error: 0.0 };
        skin.error = skin.rms_error(all);
        skin.error.is_finite().then_some(skin)
    }
}

/// Returns, by bone and frame, the affine motions that bring points with given rest positions and weights, at
/// most eight each, nearest to their targets. Bones without points do not move.
pub fn motions(
    all: &Trajectories,
    rest: &[DVec3],
    weights: &[Vec<(u32, f64)>],
    bones: usize,
    cancellation: &Cancellation,
) -> Option<Vec<Vec<DAffine3>>> {
    let (centre, spread) = centre_and_spread(rest);
    let vertex = |(&p, list): (&DVec3, &Vec<(u32, f64)>)| {
        let q = (p - centre) / spread;
        let mut vertex = SkinVertex { rest: [q.x, q.y, q.z, 1.0], ..SkinVertex::default() };
        let list: Vec<(usize, f64)> = list.iter().map(|&(b, w)| (b as usize, w)).collect();
        vertex.set(&list);
        vertex
    };
    let vertices: Vec<SkinVertex> = rest.iter().zip(weights).map(vertex).collect();
    let normal =
        motion::normal_matrix(&FitPoints { vertices: &vertices, targets: &[], dimensions: 3 }, bones)?;
    let still = [[spread, 0.0, 0.0], [0.0, spread, 0.0], [0.0, 0.0, spread], centre.to_array()];
    let frames: Vec<Vec<DAffine3>> = (0..all.frames())
        .map(|f| {
            cancellation.check().ok()?;
            let targets: Vec<f64> = (all.frame(f).iter()).flat_map(|p| p.map(f64::from)).collect();
            let points = FitPoints { vertices: &vertices, targets: &targets, dimensions: 3 };
            let mut motion = BoneMotions::new(bones, 3);
            motion.rows = still.as_flattened().repeat(bones);
            // Corrects for the weight added to the diagonal.
            for _ in 0..2 {
                motion::correct_bones(&points, &mut motion, &normal);
            }
            let of_bones = (0..bones).map(|b| {
                let row = |k: usize| DVec3::from_slice(motion.row(b, k));
                let linear = DMat3::from_cols(row(0), row(1), row(2)) * (1.0 / spread);
                DAffine3::from_mat3_translation(linear, row(3) - linear * centre)
            });
            Some(of_bones.collect())
        })
        .collect::<Option<_>>()?;
    Some((0..bones).map(|b| frames.iter().map(|f| f[b]).collect()).collect())
}

/// Returns middle and spread of points.
fn centre_and_spread(rest: &[DVec3]) -> (DVec3, f64) {
    let count = rest.len().max(1) as f64;
    let centre = rest.iter().sum::<DVec3>() / count;
    let square: f64 = rest.iter().map(|p| (*p - centre).length_squared()).sum();
    let spread = (square / count).sqrt();
    (centre, if spread > 0.0 { spread } else { 1.0 })
}
