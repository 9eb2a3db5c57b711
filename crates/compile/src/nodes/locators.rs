//! The tolerance of a locator. It has no size of its own, so it is taken as a cube around its origin, as
//! large as the smallest mesh near it in the tree: then whatever is attached to it is as exact in place and
//! orientation as that mesh.

use crate::Error;
use crate::context::Content;
use crate::nodes::budget::Budget;
use crate::nodes::motion::Motion;
use meshreel_options::Tolerance;
use meshreel_process::extent::{Extent, diagonal, is_usable_point};
use meshreel_process::frame_set::FrameSet;
use meshreel_scene::{Mesh, PlacedObject, Remark, locators, sample};
use rayon::prelude::*;

/// The tolerance of one locator.
#[derive(Clone, Copy, Debug)]
pub struct LocatorTolerance {
    /// The requested tolerance of any point of its cube, in world units.
    pub tolerance: f64,
    /// Half an edge of its cube, in its own space.
    pub half_size: f32,
}

/// Returns the largest diagonals of the source's meshes in their own space, by placed object: over the frames
/// in which they are shown (over all frames, if there are none), with the faces as in the source. Reads all
/// of their points, so it is used only where there are locators.
pub fn diagonals(
    content: &Content,
    [selected, found]: [&[bool]; 2],
    visible: &[FrameSet],
) -> Result<Vec<Option<f64>>, Error> {
    let Content { scene, placed, times, cancellation, .. } = content;
    if !found.contains(&true) {
        return Ok(Vec::new());
    }
    let mesh_of = |i: usize| scene.nodes[placed[i].node].mesh.filter(|_| selected[i]);
    let mut used = vec![false; scene.meshes.len()];
    (0..placed.len()).filter_map(mesh_of).for_each(|mesh| used[mesh] = true);
    let of = |(mesh, used): (&Mesh, bool)| -> Result<Vec<f64>, Error> {
        let frames = match (used, mesh.positions.is_constant()) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => times.len(),
        };
        let mut points = Vec::new();
        let mut diagonals = Vec::with_capacity(frames);
        for &time in &times[..frames] {
            cancellation.check()?;
            sample::positions_at(mesh, time, &mut points)?;
            let mut extent = Extent::<3>::default();
            extent.extend(points.iter().filter(|p| is_usable_point(p)));
            diagonals.push(diagonal(&extent));
        }
        Ok(diagonals)
    };
    let all: Vec<Vec<f64>> = (scene.meshes.par_iter().zip(used)).map(of).collect::<Result<_, Error>>()?;
    let largest = |i: usize| {
        let own = &all[mesh_of(i)?];
        Some(visible[i].largest(times.len(), |frame| own[frame.min(own.len() - 1)]))
    };
    Ok((0..placed.len()).map(largest).collect())
}

/// Returns the tolerance of each placed object that is a locator; `found`: which ones are.
pub fn locator_tolerances(
    placed: &[PlacedObject],
    found: &[bool],
    diagonals: &[Option<f64>],
    motion: &Motion,
    tolerance: impl Fn(&str) -> Tolerance,
) -> Vec<Option<LocatorTolerance>> {
    if !found.contains(&true) {
        return vec![None; placed.len()];
    }
    let in_world = |(diagonal, scale): (&Option<f64>, &f64)| {
        let size = (*diagonal)? * scale;
        Some(size).filter(|size| *size > 0.0 && size.is_finite())
    };
    let sizes: Vec<Option<f64>> = (diagonals.iter().zip(&motion.largest_scale)).map(in_world).collect();
    let near = locators::nearest_values(placed, &sizes);
    let of = |i: usize| {
        // If no mesh near it has a size, one unit is used.
        let size = near[i].unwrap_or(1.0);
        let scale = Some(motion.largest_scale[i]).filter(|s| *s > 0.0);
        let reach = size / (2.0 * 3f64.sqrt()) / scale.unwrap_or(1.0);
        LocatorTolerance {
            tolerance: match tolerance(&placed[i].path) {
                Tolerance::Absolute(t) => t,
                Tolerance::Relative(part) => part * size,
            },
            half_size: reach.clamp(1e-18, 1e18) as f32,
        }
    };
    (0..placed.len()).map(|i| found[i].then(|| of(i))).collect()
}

/// The fraction of a tolerance that float rounding may take before a locator is baked to world space.
const MAX_ROUNDING_FRACTION: f64 = 0.6;

/// Settles the tolerance, given the float rounding of a locator's transforms. Returns `true` if it is better
/// placed directly in world space, without the rounding of its parents. If it is there already, the tolerance
/// is raised, with a remark.
pub fn settle_tolerance(
    path: &str,
    promise: &LocatorTolerance,
    floor: f64,
    alone: bool,
    budget: &mut Budget,
    remarks: &mut Vec<Remark>,
) -> bool {
    budget.tolerance = promise.tolerance.max(floor);
    let error = budget.transform_error;
    let fits = error <= MAX_ROUNDING_FRACTION * budget.tolerance;
    if !fits && !alone {
        return true;
    }
    let asked = promise.tolerance;
    if !fits && error.is_finite() {
        budget.tolerance = error / MAX_ROUNDING_FRACTION;
        let what = format!(
            "translation, rotation and scale cannot express its transform within the tolerance (shear?): raised from {asked:.3e} to {:.3e}",
            budget.tolerance
        );
        remarks.push(Remark::new(path, what));
    } else if asked < floor {
        let what = format!(
            "tolerance raised from {asked:.3e} to {floor:.3e}: float32 holds no less at these coordinates"
        );
        remarks.push(Remark::new(path, what));
    }
    false
}
