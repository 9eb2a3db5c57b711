//! A smaller space for trajectories: a skin of nb bones moves in at most 4·nb dimensions, however many frames
//! there are.

use super::linear::{add_scaled, dot};
use crate::parts::Trajectories;
use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

/// The largest number of frames that the space is made from: eigenvectors of larger matrices take too long,
/// and add little.
const FRAMES: usize = 200;
/// The number of points that it is made from.
const POINTS: usize = 6000;
/// The largest number of dimensions.
pub const MAX_DIMENSIONS: usize = 96;
/// The number of rounds of the search for eigenvectors.
const ROUNDS: usize = 100_000;

/// The frames that are sampled, and the mean of all points in each.
struct SampledFrames {
    frames: Vec<usize>,
    mean: Vec<f64>,
}

impl SampledFrames {
    /// Samples at most [`FRAMES`] of all frames, spread evenly.
    fn new(all: &Trajectories) -> SampledFrames {
        let step = all.frames().div_ceil(FRAMES).max(1);
        let frames: Vec<usize> = (0..all.frames()).step_by(step).collect();
        let mut mean = vec![0.0; 3 * frames.len()];
        for (mean, &f) in mean.chunks_exact_mut(3).zip(&frames) {
            for p in all.frame(f) {
                (0..3).for_each(|k| mean[k] += f64::from(p[k]));
            }
            mean.iter_mut().for_each(|v| *v /= all.points() as f64);
        }
        SampledFrames { frames, mean }
    }

    fn rows(&self) -> usize {
        self.mean.len()
    }

    /// Returns the positions of a point in these frames, minus the mean.
    fn trajectory(&self, all: &Trajectories, p: usize) -> Vec<f64> {
        let of = |(i, &f): (usize, &usize)| {
            let at = all.frame(f)[p];
            [0, 1, 2].map(|k| f64::from(at[k]) - self.mean[3 * i + k])
        };
        self.frames.iter().enumerate().flat_map(of).collect()
    }

    /// Returns the points over which products are summed.
    fn sample(&self, all: &Trajectories) -> impl Iterator<Item = usize> + use<> {
        (0..all.points()).step_by(all.points().div_ceil(POINTS).max(1))
    }

    /// Returns the products of the trajectories' components with each other, summed over points; `None` if
    /// one is not finite.
    fn gram(&self, all: &Trajectories) -> Option<DMatrix<f64>> {
        let rows = self.rows();
        let sample: Vec<usize> = self.sample(all).collect();
        let sample: Vec<Vec<f64>> = sample.par_iter().map(|&p| self.trajectory(all, p)).collect();
        let gram: Vec<Vec<f64>> = (0..rows)
            .into_par_iter()
            .map(|i| {
                let mut row = vec![0.0; i + 1];
                for x in &sample {
                    add_scaled(&mut row, x[i], &x[..=i]);
                }
                row
            })
            .collect();
        let finite = gram.iter().flatten().all(|v| v.is_finite());
        finite.then(|| DMatrix::from_fn(rows, rows, |i, j| gram[i.max(j)][i.min(j)]))
    }
}

/// Returns the number of components of motion above each of some floors, at most [`MAX_DIMENSIONS`]; 0 if
/// that cannot be determined.
pub fn component_counts<const N: usize>(all: &Trajectories, floors: [f64; N]) -> [usize; N] {
    let looked = SampledFrames::new(all);
    let eigen = looked.gram(all).and_then(|gram| SymmetricEigen::try_new(gram, f64::EPSILON, ROUNDS));
    let Some(eigen) = eigen else {
        return [0; N];
    };
    let count = looked.sample(all).count() as f64;
    floors.map(|floor| {
        let out = eigen.eigenvalues.iter().filter(|&&v| v > floor * floor * count).count();
        out.min(MAX_DIMENSIONS)
    })
}

/// Trajectories as coordinates.
pub struct TrajectorySpace {
    /// Number of coordinates: a multiple of 8, for even loops; the last ones may be 0.
    pub dimensions: usize,
    /// Coordinates of point 0, then of point 1, …
    pub coordinates: Vec<f64>,
    /// Length of a trajectory: three times the number of sampled frames.
    pub rows: usize,
    /// Orthonormal vectors, each of length `rows`: one per coordinate that is not always 0.
    basis: Vec<Vec<f64>>,
}

impl TrajectorySpace {
    /// Finds the principal components above `floor`, the root mean square of what may be left out. `None`
    /// without motion.
    pub fn new(all: &Trajectories, floor: f64) -> Option<TrajectorySpace> {
        let looked = SampledFrames::new(all);
        let (rows, gram) = (looked.rows(), looked.gram(all)?);
        let eigen = SymmetricEigen::try_new(gram, f64::EPSILON, ROUNDS)?;
        let mut order: Vec<usize> = (0..rows).collect();
        let value = |i: usize| eigen.eigenvalues[i];
        order.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
        let least = floor * floor * looked.sample(all).count() as f64;
        order.retain(|&i| value(i) > least);
        order.truncate(MAX_DIMENSIONS);
        let basis: Vec<Vec<f64>> =
            (order.iter()).map(|&i| eigen.eigenvectors.column(i).iter().copied().collect()).collect();
        let dimensions = basis.len().next_multiple_of(8);
        if dimensions == 0 {
            return None;
        }
        let coordinates = (0..all.points())
            .into_par_iter()
            .flat_map_iter(|p| {
                let x = looked.trajectory(all, p);
                let mut along: Vec<f64> = basis.iter().map(|b| dot(b, &x)).collect();
                along.resize(dimensions, 0.0);
                along
            })
            .collect();
        Some(TrajectorySpace { dimensions, coordinates, rows, basis })
    }

    /// Returns the coordinates of a point.
    pub fn coordinates(&self, p: usize) -> &[f64] {
        &self.coordinates[p * self.dimensions..][..self.dimensions]
    }

    /// Returns the trajectory of given coordinates in the sampled frames: x, y, z of the first frame, then of
    /// the next; minus the mean of all points.
    pub fn expand(&self, coordinates: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        for (axis, &c) in self.basis.iter().zip(coordinates) {
            add_scaled(&mut out, c, axis);
        }
        out
    }
}
