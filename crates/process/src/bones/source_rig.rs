//! Skins of the source: used as they are, or with motions fitted to the points.

use super::fit;
use super::skin::Skin;
use super::vertex::MAX_INFLUENCES;
use crate::Cancellation;
use crate::parts::Trajectories;
use glam::{DAffine3, DVec3};
use rayon::prelude::*;

/// Bones and weights of the source.
#[derive(Clone, Copy, Debug)]
pub struct SourceRig<'a> {
    /// Rest position of each point.
    pub rest: &'a [DVec3],
    /// Bones and weights of each point, in any order; any number of them; they need not sum to 1.
    pub weights: &'a [Vec<(u32, f64)>],
    /// Number of bones.
    pub bones: usize,
}

/// A rig of the source, compared with the motion of the points.
#[derive(Clone, Debug)]
pub struct CheckedRig {
    /// The skin, with weights as in [`Skin`].
    pub skin: Skin,
    /// By point, the largest distance from its target in any frame.
    pub worst: Vec<f64>,
}

/// Checks a rig with known motions: by bone and frame, the transforms from the rest pose. `None` if numbers
/// do not agree, or are not finite.
pub fn with_motions(
    all: &Trajectories,
    rig: &SourceRig<'_>,
    transforms: &[Vec<DAffine3>],
) -> Option<CheckedRig> {
    let right = transforms.len() == rig.bones
        && transforms
            .iter()
            .all(|frames| frames.len() == all.frames() && frames.iter().all(|m| m.is_finite()));
    let weights = usable_weights(all, rig).filter(|_| right)?;
    Some(check_skin(
        Skin { rest: rig.rest.to_vec(), weights, transforms: transforms.to_vec(), error: 0.0 },
        all,
    ))
}

/// Checks a rig with unknown motions, using the affine ones that fit best. Bones that no point depends on do
/// not move. `None` as in [`with_motions`].
pub fn fit_motions(all: &Trajectories, rig: &SourceRig<'_>) -> Option<CheckedRig> {
    let weights = usable_weights(all, rig)?;
    let transforms = fit::motions(all, rig.rest, &weights, rig.bones, &Cancellation::never())?;
    Some(check_skin(Skin { rest: rig.rest.to_vec(), weights, transforms, error: 0.0 }, all))
}

/// Returns usable weights: of the positive ones of each point the [`MAX_INFLUENCES`] largest, with a sum of
/// 1. A point without any does not move.
fn usable_weights(all: &Trajectories, rig: &SourceRig<'_>) -> Option<Vec<Vec<(u32, f64)>>> {
    let points = all.points();
    if rig.bones == 0 || rig.rest.len() != points || rig.weights.len() != points {
        return None;
    }
    if rig.rest.iter().any(|p| !p.is_finite()) {
        return None;
    }
    let of = |list: &Vec<(u32, f64)>| {
        let known = |l: &(u32, f64)| l.1.is_finite() && (l.0 as usize) < rig.bones;
        if !list.iter().all(known) {
            return None;
        }
        let mut sorted: Vec<(u32, f64)> = list.iter().copied().filter(|l| l.1 > 0.0).collect();
        // Entries of the same bone are joined.
        sorted.sort_by_key(|l| l.0);
        sorted.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        sorted.truncate(MAX_INFLUENCES);
        let sum: f64 = sorted.iter().map(|l| l.1).sum();
        match sum > 0.0 && sum.is_finite() {
            true => sorted.iter_mut().for_each(|l| l.1 /= sum),
            false => sorted.clear(),
        }
        Some(sorted)
    };
    rig.weights.iter().map(of).collect()
}

fn check_skin(mut skin: Skin, all: &Trajectories) -> CheckedRig {
    skin.error = skin.rms_error(all);
    let worst = (0..all.points())
        .into_par_iter()
        .map(|p| {
            let off = |f: usize| (skin.position(f, p) - all.position(f, p as u32)).length();
            (0..all.frames()).map(off).fold(0.0, f64::max)
        })
        .collect();
    CheckedRig { skin, worst }
}
