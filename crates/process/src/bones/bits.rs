//! Estimates the bits of a skin before anything is coded, well enough to choose a number of bones.
//!
//! Everything that changes over time is decomposed in the way frames are coded, each predicted halfway
//! between two known ones, and a residual costs about its logarithm over the step of the quantizer. Values
//! within the tolerance are predicted well enough and cost next to nothing.

use super::fit::SkinFit;
use super::skin::Skin;
use super::space::TrajectorySpace;
use crate::parts::Trajectories;
use glam::DVec3;
use rayon::prelude::*;

/// Distance in frames of those that are coded first.
const GROUP: usize = 16;
/// Bits of a number in addition to its logarithm.
const BASE_BITS: f64 = 1.4;
/// Bits of a position in a frame that is predicted well enough.
const PREDICTED_BITS: f64 = 0.1;
/// Steps of bones, as a fraction of the tolerance.
const BONES: f64 = 0.3;
/// Bits of a weight, and those that a handle takes besides its motion: measured on coded skins.
const WEIGHT: f64 = 12.0;
const HANDLE: f64 = 300.0;
/// The fraction of the bits of a point's motion that are left when its neighbours predict it as well.
const POINT: f64 = 0.75;
/// The usual number of weights of a point.
const WEIGHTS: f64 = 3.5;
/// The number of points that are sampled.
const POINTS: usize = 1500;

/// Estimated bits of a skin, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SkinBits {
    /// Bits of the motions of all bones.
    pub bones: f64,
    /// Bits of rest pose and weights.
    pub rest: f64,
    /// Bits of the residual that the skin leaves.
    pub residual: f64,
    /// Bits without a skin, predicted in time alone: to compare `residual` with.
    pub plain: f64,
}

impl SkinBits {
    /// Returns the bits of everything that a skin needs.
    pub fn total(&self) -> f64 {
        self.bones + self.rest + self.residual
    }

    /// Returns the ratio of the bits with the skin to those without, both predicted in time alone.
    pub fn ratio(&self) -> f64 {
        match self.plain > 0.0 {
            true => (self.bones + self.residual) / self.plain,
            false => 1.0,
        }
    }
}

/// Returns the bits of a trajectory: x, y, z of each frame.
fn track(path: &[f64], tolerance: f64, nothing: bool) -> f64 {
    let frames = path.len() / 3;
    let at = |f: usize| DVec3::from_slice(&path[3 * f..]);
    let step = 2.0 * tolerance / 3f64.sqrt();
    let cost = |off: DVec3| -> f64 {
        match nothing && off.length() <= tolerance {
            true => PREDICTED_BITS,
            false => (off.abs() / step).to_array().map(|v| (1.0 + 2.0 * v).log2() + BASE_BITS).iter().sum(),
        }
    };
    let mut bits = 0.0;
    for f in 0..frames {
        bits += match f % GROUP {
            0 if f == 0 => 0.0,
            0 => cost(at(f) - at(f - GROUP)),
            k => {
                let span = 1 << k.trailing_zeros();
                match f + span < frames {
                    true => cost(at(f) - (at(f - span) + at(f + span)) * 0.5),
                    false => cost(at(f) - at(f - span)),
                }
            }
        };
    }
    bits
}

/// Returns the bits of a point's residual, coded directly or predicted in time; 0 if it is within the
/// tolerance.
fn residual_bits(path: &[f64], tolerance: f64) -> f64 {
    let within = path.chunks_exact(3).all(|v| DVec3::from_slice(v).length() <= tolerance);
    if within {
        return 0.0;
    }
    let step = 2.0 * tolerance / 3f64.sqrt();
    let cost = |v: &[f64]| -> f64 {
        match DVec3::from_slice(v).length() <= tolerance {
            true => PREDICTED_BITS,
            false => v.iter().map(|v| (1.0 + 2.0 * v.abs() / step).log2() + BASE_BITS).sum(),
        }
    };
    let alone: f64 = path.chunks_exact(3).map(cost).sum();
    alone.min(track(path, tolerance, true))
}

/// Returns the estimated bits of `points` points with this many weights each.
fn weight_bits(points: usize, weights: f64) -> f64 {
    points as f64 * (weights - 1.0).max(0.0) * WEIGHT
}

/// Returns the bits that the weights of `points` points usually take.
pub fn usual_weight_bits(points: usize) -> f64 {
    weight_bits(points, WEIGHTS)
}

/// Returns a number of bits that the weights of a skin hardly ever fall below: those of three bones a point.
pub fn min_weight_bits(points: usize) -> f64 {
    weight_bits(points, 3.0)
}

/// Estimates the bits of an unfinished skin. `rest`: bits of the rest pose; `scale`: ratio of the error that
/// it will leave in the end to the present one.
pub fn estimate_fit(
    fit: &SkinFit,
    space: &TrajectorySpace,
    all: &Trajectories,
    tolerance: f64,
    rest: f64,
    scale: f64,
) -> SkinBits {
    let count = fit.vertices.len();
    // Frames that were left out cost as much as the others.
    let frames = 3.0 * all.frames() as f64 / space.rows as f64;
    let many = frames * all.points() as f64 / count as f64;
    let sums: Vec<(f64, f64)> = (0..count)
        .into_par_iter()
        .map(|i| {
            let d = fit.dimensions;
            let mut path = space.expand(&fit.residual(i)[..d]);
            path.iter_mut().for_each(|v| *v *= scale);
            let whole = space.expand(&fit.targets[i * d..][..d]);
            (residual_bits(&path, tolerance), track(&whole, tolerance, true))
        })
        .collect();
    let bones = (0..fit.bones.count).into_par_iter().map(|b| {
        let of = |v: &super::vertex::SkinVertex| {
            let weight = v.influences().find(|i| i.0 == b).map_or(0.0, |i| i.1);
            (DVec3::from_slice(&v.rest[..3]), weight)
        };
        let handles = handles(fit.vertices.iter().map(of));
        let path = |at: DVec3| {
            let mut place = vec![0.0; fit.dimensions];
            fit.bones.move_point(b, &[at.x, at.y, at.z, 1.0], &mut place);
            space.expand(&place)
        };
        handle_bits(handles.map(path), tolerance)
    });
    SkinBits {
        bones: frames * bones.collect::<Vec<f64>>().iter().sum::<f64>()
            + 4.0 * HANDLE * fit.bones.count as f64,
        rest: rest + usual_weight_bits(all.points()),
        residual: many * POINT * sums.iter().map(|s| s.0).sum::<f64>(),
        plain: many * POINT * sums.iter().map(|s| s.1).sum::<f64>(),
    }
}

/// Estimates the bits of a finished skin. `rest`: bits of the rest pose.
pub fn estimate_skin(skin: &Skin, all: &Trajectories, tolerance: f64, rest: f64) -> SkinBits {
    let stride = all.points().div_ceil(POINTS).max(1);
    let chosen: Vec<usize> = (0..all.points()).step_by(stride).collect();
    let many = all.points() as f64 / chosen.len() as f64;
    let sums: Vec<(f64, f64)> = (chosen.par_iter())
        .map(|&p| {
            let frames = 0..all.frames();
            let at = |f: usize| all.position(f, p as u32);
            let path: Vec<f64> =
                (frames.clone()).flat_map(|f| (at(f) - skin.position(f, p)).to_array()).collect();
            let whole: Vec<f64> = frames.flat_map(|f| at(f).to_array()).collect();
            (residual_bits(&path, tolerance), track(&whole, tolerance, true))
        })
        .collect();
    let weights: usize = skin.weights.iter().map(Vec::len).sum();
    let mut by_bone = vec![Vec::new(); skin.transforms.len()];
    for (&rest, list) in skin.rest.iter().zip(&skin.weights) {
        for &(bone, weight) in list {
            by_bone[bone as usize].push((rest, weight));
        }
    }
    let bones = (by_bone.par_iter().zip(&skin.transforms)).map(|(list, frames)| {
        let path = |at: DVec3| -> Vec<f64> {
            let place = |m: &glam::DAffine3| m.transform_point3(at).to_array();
            frames.iter().flat_map(place).collect()
        };
        handle_bits(handles(list.iter().copied()).map(path), tolerance)
    });
    SkinBits {
        bones: bones.collect::<Vec<f64>>().iter().sum::<f64>() + 4.0 * HANDLE * skin.transforms.len() as f64,
        rest: rest + weight_bits(all.points(), weights as f64 / all.points() as f64),
        residual: many * POINT * sums.iter().map(|s| s.0).sum::<f64>(),
        plain: many * POINT * sums.iter().map(|s| s.1).sum::<f64>(),
    }
}

/// Returns the affine handles of a bone: the middle of the points that it moves, and one point along each
/// axis at their distance.
fn handles(points: impl Iterator<Item = (DVec3, f64)>) -> [DVec3; 4] {
    let (mut sum, mut at, mut square) = (0.0, DVec3::ZERO, DVec3::ZERO);
    for (p, w) in points {
        sum += w;
        at += p * w;
        square += p * p * w;
    }
    if sum <= 0.0 {
        return [DVec3::ZERO; 4];
    }
    let middle = at / sum;
    let reach = (square / sum - middle * middle).max(DVec3::ZERO);
    let reach = DVec3::from_array(reach.to_array().map(f64::sqrt));
    [middle, middle + DVec3::X * reach.x, middle + DVec3::Y * reach.y, middle + DVec3::Z * reach.z]
}

fn handle_bits([middle, others @ ..]: [Vec<f64>; 4], tolerance: f64) -> f64 {
    let tolerance = BONES * tolerance * 3f64.sqrt();
    let around = others.iter().map(|other| {
        let off: Vec<f64> = other.iter().zip(&middle).map(|(a, b)| a - b).collect();
        track(&off, tolerance, false)
    });
    around.sum::<f64>() + track(&middle, tolerance, false)
}
