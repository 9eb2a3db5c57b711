//! Bones and weights from trajectories alone: smooth skinning decomposition (E05, F17).
//!
//! ```text
//! x_v(f) = Σ_b w_vb · M_b(f) · [p_v; 1]        w ≥ 0, Σ_b w_vb = 1, few of them not zero
//! ```
//!
//! M are affine: with them everything is linear least squares, one factor at a time. Steps:
//!
//! ```text
//! space      principal components of the trajectories: tens of dimensions instead of thousands
//! start      rest positions are means over time; clusters of points that one motion explains, split where it is worst
//! alternate  weights of each point (nearest point of a hull; 8 of them at first), then all bones at once; after a while rest positions too
//! step       all bones, counting on points that follow
//! fewer      8 weights become 7, 6, 5, 4, each time with a few steps: few from the start would stick
//! lift       the same for all points, started from those of the sample around them
//! ```
//!
//! Credit: B. H. Le, Z. Deng, Smooth skinning decomposition with rigid bones, 2012; G. Golub and V. Pereyra 1973 for the steps. What is different here: the
//! small space, the free rest pose, affine bones, and many weights first.

mod linear;
mod motion;
mod space;
#[cfg(test)]
mod tests;
mod vertex;

use super::Trajectories;
use super::neighbours::Tree;
use glam::{DAffine3, DMat3, DVec3};
use linear::{add_scaled, dot, sum_over};
use motion::Points;
use rayon::prelude::*;
use space::Space;
pub use vertex::MOST;
use vertex::{Bones, Scratch, Vertex, refine, weigh};

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Number of bones.
    pub bones: usize,
    /// Weights per point, at most: 1 … 8.
    pub influences: usize,
    /// What may be left: finer motion is not looked at.
    pub tolerance: f64,
    /// Points that the bones are first sought with.
    pub sample: usize,
    /// Steps with many weights, with each number on the way down, in the end, and with all points.
    pub steps: [usize; 4],
    /// Of the sample: another one gives another start.
    pub seed: u64,
}

impl Request {
    /// As is usual.
    pub fn new(bones: usize, tolerance: f64) -> Request {
        Request {
            bones,
            influences: 4,
            tolerance,
            sample: 5000,
            steps: [25, 5, 10, 6],
            seed: 1,
        }
    }
}

/// A skin that was found.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Rest position of each point.
    pub rest: Vec<DVec3>,
    /// Bones and weights of each point, the largest weight first. Weights are > 0 and their sum is 1.
    pub weights: Vec<Vec<(u32, f64)>>,
    /// By bone and frame: from the rest pose to the frame.
    pub transforms: Vec<Vec<DAffine3>>,
    /// Root of the mean square of what is left.
    pub error: f64,
}

impl Skin {
    /// Where a point is in a frame.
    pub fn place(&self, frame: usize, point: usize) -> DVec3 {
        let rest = self.rest[point];
        let of = |&(bone, weight): &(u32, f64)| {
            self.transforms[bone as usize][frame].transform_point3(rest) * weight
        };
        self.weights[point].iter().map(of).sum()
    }
}

/// Finds a skin. `None` where there is nothing to find: no motion, or fewer points than bones.
pub fn find(all: &Trajectories, request: &Request) -> Option<Skin> {
    let space = Space::new(all, (request.tolerance * 0.03).max(all.diagonal() * 1e-7));
    let bones = request.bones;
    if space.dimensions == 0 || bones == 0 || all.points() < 4 * bones {
        return None;
    }
    let rest = means(all);
    let sample = sample(all.points(), request.sample, request.seed);
    let mut fit = Fit::new(&space, &rest, &sample);
    fit.start(bones)?;
    fit.alternate(12, MOST)?;
    fit.steps(request.steps[0], MOST)?;
    for most in (request.influences.clamp(1, MOST)..MOST).rev() {
        fit.limit(most);
        fit.alternate(2, most)?;
        fit.steps(request.steps[1], most)?;
    }
    let most = request.influences.clamp(1, MOST);
    fit.steps(request.steps[2], most)?;
    if sample.len() < all.points() {
        fit = fit.lift(&space, &rest, &sample, most);
        fit.steps(request.steps[3], most)?;
    }
    fit.finish(all)
}

/// Mean place of each point over time.
fn means(all: &Trajectories) -> Vec<DVec3> {
    let mut sums = vec![DVec3::ZERO; all.points()];
    for f in 0..all.frames() {
        for (sum, p) in sums.iter_mut().zip(all.frame(f)) {
            *sum += DVec3::from_array(p.map(f64::from));
        }
    }
    sums.iter().map(|s| *s / all.frames() as f64).collect()
}

/// Some of the points, in order.
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

/// A fit on its way.
struct Fit {
    dimensions: usize,
    /// Coordinates of the points that take part.
    targets: Vec<f64>,
    /// About the middle of all, in units of their spread: keeps the matrices well-conditioned.
    centre: DVec3,
    spread: f64,
    vertices: Vec<Vertex>,
    bones: Bones,
}

impl Fit {
    fn new(space: &Space, rest: &[DVec3], points: &[usize]) -> Fit {
        let centre = rest.iter().sum::<DVec3>() / rest.len() as f64;
        let square: f64 = rest.iter().map(|p| (*p - centre).length_squared()).sum();
        let spread = (square / rest.len() as f64).sqrt().max(f64::MIN_POSITIVE);
        let at = |&p: &usize| {
            let q = (rest[p] - centre) / spread;
            Vertex {
                rest: [q.x, q.y, q.z, 1.0],
                ..Vertex::default()
            }
        };
        Fit {
            dimensions: space.dimensions,
            targets: points.iter().flat_map(|&p| space.of(p)).copied().collect(),
            centre,
            spread,
            vertices: points.iter().map(at).collect(),
            bones: Bones {
                count: 0,
                dimensions: space.dimensions,
                rows: Vec::new(),
            },
        }
    }

    fn target(&self, i: usize) -> &[f64] {
        &self.targets[i * self.dimensions..][..self.dimensions]
    }

    fn points(&self) -> Points<'_> {
        Points {
            vertices: &self.vertices,
            targets: &self.targets,
            dimensions: self.dimensions,
        }
    }

    /// Clusters of points that one affine motion explains (E14 in spirit; Linde, Buzo and Gray's splitting).
    fn start(&mut self, bones: usize) -> Option<()> {
        let n = self.vertices.len();
        for vertex in &mut self.vertices {
            vertex.set(&[(0, 1.0)]);
        }
        let mut count = 1;
        loop {
            for _ in 0..6 {
                self.bones = motion::fit(&self.points(), count)?;
                self.assign();
            }
            self.bones = motion::fit(&self.points(), count)?;
            if count == bones {
                return Some(());
            }
            // Worst clusters first, until there are enough.
            let errors: Vec<f64> = (0..n).into_par_iter().map(|i| self.own_error(i)).collect();
            let mut clusters: Vec<(f64, usize)> = (0..count)
                .map(|c| {
                    let members = (0..n).filter(|&i| self.vertices[i].bones[0] == c);
                    (members.map(|i| errors[i]).sum(), c)
                })
                .collect();
            clusters.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let before = count;
            for (error, cluster) in clusters {
                if count == bones {
                    break;
                }
                let members: Vec<usize> = (0..n)
                    .filter(|&i| self.vertices[i].bones[0] == cluster)
                    .collect();
                if members.len() < 16 || error <= 0.0 {
                    continue;
                }
                let worst = members.iter().copied().fold(members[0], |best, i| {
                    if errors[i] > errors[best] { i } else { best }
                });
                let from = self.vertices[worst].rest;
                let far = |i: &usize| -> f64 {
                    let at = self.vertices[*i].rest;
                    (0..3).map(|k| (at[k] - from[k]).powi(2)).sum()
                };
                let mut near = members.clone();
                near.sort_by(|a, b| far(a).total_cmp(&far(b)).then(a.cmp(b)));
                for &i in &near[..(near.len() / 4).max(5)] {
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

    fn own_error(&self, i: usize) -> f64 {
        let mut residual = vec![0.0; self.dimensions];
        self.bones
            .residual(&self.vertices[i], self.target(i), &mut residual);
        dot(&residual, &residual)
    }

    /// Each point to the one bone that fits it best.
    fn assign(&mut self) {
        let (bones, targets, d) = (&self.bones, &self.targets, self.dimensions);
        self.vertices
            .par_iter_mut()
            .enumerate()
            .for_each(|(i, vertex)| {
                let target = &targets[i * d..][..d];
                let mut place = vec![0.0; d];
                let mut best = (f64::INFINITY, 0);
                for bone in 0..bones.count {
                    bones.place(bone, &vertex.rest, &mut place);
                    add_scaled(&mut place, -1.0, target);
                    best = match dot(&place, &place) {
                        e if e < best.0 => (e, bone),
                        _ => best,
                    };
                }
                vertex.set(&[(best.1, 1.0)]);
            });
    }

    /// Weights and bones in turn; rest positions too in the second half of many rounds.
    fn alternate(&mut self, rounds: usize, most: usize) -> Option<()> {
        for round in 0..rounds {
            let free = rounds <= 2 || round >= rounds / 2;
            self.weigh_all(most, free);
            self.bones = motion::fit(&self.points(), self.bones.count)?;
        }
        Some(())
    }

    /// Weights of all points over all bones.
    fn weigh_all(&mut self, most: usize, free: bool) {
        let (bones, targets, d) = (&self.bones, &self.targets, self.dimensions);
        let candidates: Vec<usize> = (0..bones.count).collect();
        (self.vertices.par_iter_mut().enumerate()).for_each_init(
            Scratch::default,
            |scratch, (i, vertex)| {
                let target = &targets[i * d..][..d];
                if free && vertex.count > 0 {
                    refine(bones, vertex, target, scratch);
                }
                weigh(bones, vertex, target, &candidates, most, scratch);
            },
        );
    }

    /// Drops the smallest weights.
    fn limit(&mut self, most: usize) {
        let (bones, targets, d) = (&self.bones, &self.targets, self.dimensions);
        (self.vertices.par_iter_mut().enumerate()).for_each_init(
            Scratch::default,
            |scratch, (i, vertex)| {
                let mut list: Vec<(usize, f64)> = vertex.influences().collect();
                list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                list.truncate(most);
                let candidates: Vec<usize> = list.iter().map(|l| l.0).collect();
                weigh(
                    bones,
                    vertex,
                    &targets[i * d..][..d],
                    &candidates,
                    most,
                    scratch,
                );
            },
        );
    }

    /// Rest positions and weights of all points for given bones, with the bones that they have.
    fn follow(&self, bones: &Bones, rounds: usize, most: usize) -> Vec<Vertex> {
        let (targets, d) = (&self.targets, self.dimensions);
        (self.vertices.par_iter().enumerate())
            .map_init(Scratch::default, |scratch, (i, vertex)| {
                let mut vertex = *vertex;
                let target = &targets[i * d..][..d];
                for _ in 0..rounds {
                    refine(bones, &mut vertex, target, scratch);
                }
                let candidates: Vec<usize> = vertex.influences().map(|(b, _)| b).collect();
                if !candidates.is_empty() {
                    weigh(bones, &mut vertex, target, &candidates, most, scratch);
                }
                vertex
            })
            .collect()
    }

    /// Steps of all bones that are taken only where they help.
    fn steps(&mut self, count: usize, most: usize) -> Option<()> {
        let mut damping = 1e-2;
        let mut error = self.points().error(&self.bones);
        for i in 0..count {
            let normal = motion::normal(&self.points(), self.bones.count)?;
            let change = motion::step(&self.points(), &self.bones, &normal, damping);
            let mut bones = self.bones.clone();
            add_scaled(&mut bones.rows, 1.0, &change);
            let vertices = self.follow(&bones, 2, most);
            let trial = Points {
                vertices: &vertices,
                ..self.points()
            };
            let after = trial.error(&bones);
            if after < error {
                let enough = after > error * (1.0 - 1e-4);
                (self.vertices, self.bones, error) = (vertices, bones, after);
                damping = (damping * 0.3f64).max(1e-9);
                if enough {
                    break;
                }
            } else {
                damping *= 8.0;
                if damping > 1e6 {
                    break;
                }
            }
            // Now and then other bones may take part.
            if i % 5 == 4 {
                self.weigh_all(most, false);
                self.bones = motion::fit(&self.points(), self.bones.count)?;
                error = self.points().error(&self.bones);
            }
        }
        Some(())
    }

    /// All points, started from the fitted ones around them.
    fn lift(&self, space: &Space, rest: &[DVec3], sample: &[usize], most: usize) -> Fit {
        let all: Vec<usize> = (0..rest.len()).collect();
        let mut lifted = Fit::new(space, rest, &all);
        lifted.bones = self.bones.clone();
        // Near where they rest on average: a point moves as those around it.
        let means: Vec<f32> = (lifted.vertices.iter())
            .flat_map(|v| [v.rest[0] as f32, v.rest[1] as f32, v.rest[2] as f32])
            .collect();
        let of_sample: Vec<f32> = (sample.iter())
            .flat_map(|&p| means[3 * p..3 * p + 3].to_vec())
            .collect();
        let tree = Tree::new(&of_sample, 3);
        let targets = &lifted.targets;
        let d = lifted.dimensions;
        let bones = &lifted.bones;
        let candidates: Vec<usize> = (0..bones.count).collect();
        let before: Vec<Vertex> = lifted.vertices.clone();
        (lifted.vertices.par_iter_mut().enumerate()).for_each_init(
            Scratch::default,
            |scratch, (p, vertex)| {
                let near = tree.nearest(&means[3 * p..3 * p + 3], 4);
                let mut weight = 0.0;
                let mut shift = [0.0; 3];
                for &(far, i) in &near {
                    let w = 1.0 / (f64::from(far) + 1e-12);
                    weight += w;
                    let (fitted, mean) = (&self.vertices[i as usize], &before[sample[i as usize]]);
                    (0..3).for_each(|k| shift[k] += w * (fitted.rest[k] - mean.rest[k]));
                }
                (0..3).for_each(|k| vertex.rest[k] += shift[k] / weight);
                let target = &targets[p * d..][..d];
                if let Some(&(_, i)) = near.first() {
                    let list: Vec<(usize, f64)> = self.vertices[i as usize].influences().collect();
                    vertex.set(&list);
                }
                for _ in 0..6 {
                    refine(bones, vertex, target, scratch);
                    weigh(bones, vertex, target, &candidates, most, scratch);
                }
            },
        );
        lifted
    }

    /// Transforms in every frame, by least squares once more: the small space had only some, and little of each.
    fn finish(self, all: &Trajectories) -> Option<Skin> {
        let bones = self.bones.count;
        let normal = motion::normal(&self.points(), bones)?;
        let frames: Vec<Vec<DAffine3>> = (0..all.frames())
            .map(|f| {
                let right = sum_over(self.vertices.len(), 12 * bones, |i, sum| {
                    let at = all.at(f, i as u32).to_array();
                    for (bone, weight) in self.vertices[i].influences() {
                        for k in 0..4 {
                            let factor = weight * self.vertices[i].rest[k];
                            add_scaled(&mut sum[(bone * 4 + k) * 3..][..3], factor, &at);
                        }
                    }
                });
                let rows = normal.solve(&right, 3);
                (0..bones)
                    .map(|b| {
                        let row = |k: usize| DVec3::from_slice(&rows[(b * 4 + k) * 3..][..3]);
                        let linear = DMat3::from_cols(row(0), row(1), row(2)) * (1.0 / self.spread);
                        let shift = row(3) - linear * self.centre;
                        DAffine3::from_mat3_translation(linear, shift)
                    })
                    .collect()
            })
            .collect();
        let transforms = (0..bones)
            .map(|b| frames.iter().map(|f| f[b]).collect())
            .collect();
        let rest =
            |v: &Vertex| DVec3::new(v.rest[0], v.rest[1], v.rest[2]) * self.spread + self.centre;
        let weights = |v: &Vertex| {
            let mut list: Vec<(u32, f64)> = v
                .influences()
                .filter(|i| i.1 > 0.0)
                .map(|(b, w)| (b as u32, w))
                .collect();
            list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            list
        };
        let mut skin = Skin {
            rest: self.vertices.iter().map(rest).collect(),
            weights: self.vertices.iter().map(weights).collect(),
            transforms,
            error: 0.0,
        };
        let square: f64 = (0..all.frames())
            .into_par_iter()
            .map(|f| {
                let off = |p: usize| (skin.place(f, p) - all.at(f, p as u32)).length_squared();
                (0..all.points()).map(off).sum::<f64>()
            })
            .collect::<Vec<f64>>()
            .iter()
            .sum();
        skin.error = (square / (all.frames() * all.points()) as f64).sqrt();
        Some(skin)
    }
}
