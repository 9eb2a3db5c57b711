//! A skin, and the settings of a search for one.

use crate::parts::Trajectories;
use glam::{DAffine3, DVec3};
use rayon::prelude::*;

/// The settings of a search for one skin.
#[derive(Clone, Copy, Debug)]
pub struct SkinRequest {
    /// Number of bones.
    pub bones: usize,
    /// The largest number of weights per point: 1 … 8.
    pub influences: usize,
    /// The distance that may remain, in units of length: finer motion is ignored.
    pub tolerance: f64,
    /// The number of points with which bones are sought, before all points are used.
    pub sample: usize,
    /// The number of steps with many weights, with each number on the way down, at the end, and with all
    /// points.
    pub steps: [usize; 4],
    /// The number of starts from different samples, of which the best continues.
    pub starts: usize,
    /// Seed of the samples of points: another one gives other starts.
    pub seed: u64,
}

impl SkinRequest {
    /// The usual settings for a number of bones and a tolerance.
    pub fn new(bones: usize, tolerance: f64) -> SkinRequest {
        SkinRequest {
            bones,
            influences: 4,
            tolerance,
            sample: 2500,
            steps: [12, 5, 20, 3],
            starts: 4,
            seed: 1,
        }
    }
}

/// A skin: rest pose, weights, and bone transforms.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Rest position of each point.
    pub rest: Vec<DVec3>,
    /// Bones and weights of each point, the largest weight first. Weights are > 0 and their sum is 1; a point
    /// without any does not move.
    pub weights: Vec<Vec<(u32, f64)>>,
    /// By bone and frame, the transform from the rest pose to the frame.
    pub transforms: Vec<Vec<DAffine3>>,
    /// Root mean square of the remaining distances.
    pub error: f64,
}

impl Skin {
    /// Returns the position of a point in a frame.
    pub fn position(&self, frame: usize, point: usize) -> DVec3 {
        let rest = self.rest[point];
        if self.weights[point].is_empty() {
            return rest;
        }
        let of = |&(bone, weight): &(u32, f64)| {
            self.transforms[bone as usize][frame].transform_point3(rest) * weight
        };
        self.weights[point].iter().map(of).sum()
    }

    /// Returns the root mean square of distances.
    pub fn rms_error(&self, all: &Trajectories) -> f64 {
        let squares: Vec<f64> = (0..all.frames())
            .into_par_iter()
            .map(|f| {
                let off = |p: usize| (self.position(f, p) - all.position(f, p as u32)).length_squared();
                (0..all.points()).map(off).sum::<f64>()
            })
            .collect();
        (squares.iter().sum::<f64>() / (all.frames() * all.points()) as f64).sqrt()
    }
}
