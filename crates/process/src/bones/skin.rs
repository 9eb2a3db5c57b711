//! A skin that was found, and what is asked of one.

use crate::parts::Trajectories;
use glam::{DAffine3, DVec3};
use rayon::prelude::*;

/// The settings of a search for one skin.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Number of bones.
    pub bones: usize,
    /// Weights per point, at most: 1 … 8.
    pub influences: usize,
    /// The distance that may be left, in units of length: finer motion is not looked at.
    pub tolerance: f64,
    /// Points that the bones are sought with before all are.
    pub sample: usize,
    /// Steps with many weights, with each number on the way down, in the end, and with all points.
    pub steps: [usize; 4],
    /// Starts from different samples, of which the best goes on.
    pub starts: usize,
    /// Seed of the samples of points: another one gives other starts.
    pub seed: u64,
}

impl Request {
    /// The usual settings for a number of bones and a tolerance.
    pub fn new(bones: usize, tolerance: f64) -> Request {
        Request { bones, influences: 4, tolerance, sample: 2500, steps: [12, 5, 20, 3], starts: 4, seed: 1 }
    }
}

/// A skin that was found.
#[derive(Clone, Debug, Default)]
pub struct Skin {
    /// Rest position of each point.
    pub rest: Vec<DVec3>,
    /// Bones and weights of each point, the largest weight first. Weights are > 0 and their sum is 1; without
    /// any a point stays at rest.
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
        if self.weights[point].is_empty() {
            return rest;
        }
        let of = |&(bone, weight): &(u32, f64)| {
            self.transforms[bone as usize][frame].transform_point3(rest) * weight
        };
        self.weights[point].iter().map(of).sum()
    }

    /// Root of the mean square of distances.
    pub fn measure(&self, all: &Trajectories) -> f64 {
        let squares: Vec<f64> = (0..all.frames())
            .into_par_iter()
            .map(|f| {
                let off = |p: usize| (self.place(f, p) - all.at(f, p as u32)).length_squared();
                (0..all.points()).map(off).sum::<f64>()
            })
            .collect();
        (squares.iter().sum::<f64>() / (all.frames() * all.points()) as f64).sqrt()
    }
}
