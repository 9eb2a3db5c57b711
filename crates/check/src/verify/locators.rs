//! Locators: nodes that show no mesh and are stored by name. The tolerance of each follows from the meshes
//! near it; it holds for the corners of a cube around its origin, and so for every point of that, in every
//! frame, even if hidden.

use crate::requested::{RequestedOptions, Tolerance};
use crate::verify::report::{Failures, LocatorReport, beyond};
use crate::verify::survey::{FrameSet, Locator, MeshSurvey, Survey, transform_point};
use glam::{DMat4, DVec3};
use meshreel::{FrameDecoder, Reel};
use meshreel_extract::convert::ulp;
use meshreel_scene::sample::{World, largest_scale};
use meshreel_scene::{Error, Scene, locators, node_clip};
use std::collections::HashMap;

/// Surveys the meshes and locators of the source. `there`: times of the file's frames.
pub(crate) fn survey<'a>(
    scene: &'a Scene,
    asked: &RequestedOptions,
    there: &[f64],
) -> Result<Survey<'a>, Error> {
    let MeshSurvey { mut survey, is_locator, sizes } = Survey::of_meshes(scene, asked, there)?;
    survey.locators = find(&survey, &is_locator, &sizes, asked)?;
    Ok(survey)
}

/// Finds all locators with their tolerances. `sizes`: world diagonals of meshes, by placed object.
fn find(
    survey: &Survey<'_>,
    found: &[bool],
    sizes: &[Option<f64>],
    asked: &RequestedOptions,
) -> Result<Vec<Locator>, Error> {
    let near = locators::nearest_values(&survey.placed, sizes);
    let mut out: Vec<Locator> = (found.iter().enumerate().filter(|(_, found)| **found))
        .map(|(i, _)| Locator {
            placed: i,
            visible: FrameSet::new(survey.times.len()),
            tolerance: 0.0,
            half_edge: 0.0,
            trs_error: 0.0,
        })
        .collect();
    if out.is_empty() {
        return Ok(out);
    }
    let mut world = World::new(survey.scene, &survey.placed)?;
    let mut scale = vec![0.0f64; out.len()];
    for (frame, &time) in survey.times.iter().enumerate() {
        world.evaluate(time)?;
        for (locator, scale) in out.iter_mut().zip(&mut scale) {
            if world.visible[locator.placed] {
                locator.visible.set(frame);
            }
            let matrix = &world.matrix[locator.placed];
            if matrix.is_finite() {
                *scale = scale.max(largest_scale(matrix));
            }
        }
    }
    let mut far = vec![0.0f64; out.len()];
    for (locator, scale) in out.iter_mut().zip(scale) {
        let size = near[locator.placed].unwrap_or(1.0);
        let own = if scale > 0.0 { scale } else { 1.0 };
        locator.half_edge = (size / (2.0 * 3f64.sqrt()) / own).clamp(1e-18, 1e18);
        locator.tolerance = match asked.tolerance(&survey.placed[locator.placed].path) {
            Tolerance::Absolute(t) => t,
            Tolerance::Relative(part) => part * size,
        };
    }
    for &time in &survey.times {
        world.evaluate(time)?;
        for (locator, far) in out.iter_mut().zip(&mut far) {
            let matrix = &world.matrix[locator.placed];
            if !matrix.is_finite() {
                continue;
            }
            let plain = node_clip::without_shear(matrix);
            let (plain, own) = (rows(&plain), rows(matrix));
            for corner in corners(locator.half_edge) {
                let right = transform_point(&own, corner);
                *far = far.max(right.abs().max_element());
                let off = (transform_point(&plain, corner) - right).length();
                locator.trs_error = locator.trs_error.max(off);
            }
        }
    }
    for (locator, far) in out.iter_mut().zip(far) {
        // The same margin as for meshes.
        locator.tolerance = locator.tolerance.max(4.0 * ulp(far * (1.0 + 1e-6)));
        // Half a unit of rounding for each number of a transform, and twice that for a rotation.
        locator.trs_error += 4.0 * ulp(far);
    }
    Ok(out)
}

/// The node of a locator in the file, and its allowed distance in world units.
pub(crate) struct LocatorNode {
    pub node: usize,
    pub tolerance: f64,
}

/// Returns the node of the file for each locator of the source, by path.
pub(crate) fn match_nodes(
    survey: &Survey<'_>,
    reel: &Reel,
    failures: &mut Failures,
) -> Vec<Option<LocatorNode>> {
    let nodes = &reel.description().nodes;
    let mut by_path: HashMap<&str, usize> = HashMap::new();
    for (n, node) in nodes.iter().enumerate().filter(|(_, n)| n.reach > 0.0) {
        if by_path.insert(&node.path, n).is_some() {
            failures.add(&node.path, None, || "is in the file twice".into());
        }
    }
    let mut place = |locator: &Locator| {
        let path = &survey.placed[locator.placed].path[..];
        let Some(node) = by_path.remove(path) else {
            failures.add(path, None, || "is a locator (a node without a mesh) and not in the file".into());
            return None;
        };
        let stored = nodes[node].tolerance;
        // The promise may be coarser if no transform of the file can be exact enough.
        let allowed = locator.tolerance.max(3.0 * locator.trs_error) * (1.0 + 1e-6);
        if beyond(stored, allowed) {
            failures.add(path, None, || {
                format!("the file promises {stored:e} only, {allowed:e} follows from what was asked for")
            });
        }
        let tolerance = if stored <= allowed { stored } else { allowed };
        Some(LocatorNode { node, tolerance })
    };
    let places = survey.locators.iter().map(&mut place).collect();
    let mut left: Vec<&str> = by_path.into_keys().collect();
    left.sort_unstable();
    for path in left {
        failures.add(path, None, || "is in the file, but no such locator is in the source".into());
    }
    places
}

/// The errors of one locator over the frames compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LocatorErrors {
    pub frames: usize,
    pub max: f64,
    pub failed: bool,
}

impl LocatorErrors {
    pub fn append(&mut self, other: &LocatorErrors) {
        self.frames += other.frames;
        self.failed |= other.failed;
        if beyond(other.max, self.max) {
            self.max = other.max;
        }
    }
}

/// Compares all locators in a decoded frame. `expected`: the frame of the source, for which `world` was
/// evaluated.
pub(crate) fn compare(
    survey: &Survey<'_>,
    places: &[Option<LocatorNode>],
    decoder: &FrameDecoder,
    world: &World<'_>,
    [frame, expected]: [usize; 2],
    found: &mut [LocatorErrors],
    failures: &mut Failures,
) {
    for ((locator, place), found) in survey.locators.iter().zip(places).zip(found) {
        let Some(place) = place else { continue };
        let path = &survey.placed[locator.placed].path;
        if locator.visible.get(expected) != decoder.visible(place.node) {
            found.failed = true;
            failures.add(path, Some(frame), || {
                "is shown where it is hidden in the source, or the other way round".into()
            });
        }
        let matrix = &world.matrix[locator.placed];
        // Without a finite transform in the source there is no promise.
        if !matrix.is_finite() {
            continue;
        }
        let (own, decoded) = (rows(matrix), decoder.world(place.node));
        let off = |corner| (transform_point(&decoded, corner) - transform_point(&own, corner)).length();
        let mut error = 0.0;
        for corner in corners(locator.half_edge) {
            let off = off(corner);
            error = if beyond(off, error) { off } else { error };
        }
        found.frames += 1;
        if beyond(error, found.max) {
            found.max = error;
        }
        if beyond(error, place.tolerance) {
            found.failed = true;
            failures.add(path, Some(frame), || {
                format!("is {error:e} off, more than the {:e} of its tolerance", place.tolerance)
            });
        }
    }
}

/// The report of each locator.
pub(crate) fn reports(
    survey: &Survey<'_>,
    places: &[Option<LocatorNode>],
    found: &[LocatorErrors],
    broken: &[String],
) -> Vec<LocatorReport> {
    let all = survey.locators.iter().zip(places).zip(found);
    all.map(|((locator, place), found)| {
        let path = survey.placed[locator.placed].path.clone();
        LocatorReport {
            ok: place.is_some() && !found.failed && !broken.contains(&path),
            path,
            frames: found.frames,
            tolerance: place.as_ref().map_or(locator.tolerance, |p| p.tolerance),
            max_error: found.max,
        }
    })
    .collect()
}

fn corners(reach: f64) -> [DVec3; 8] {
    std::array::from_fn(|i| {
        DVec3::from_array([0, 1, 2].map(|k| if i >> k & 1 == 0 { -reach } else { reach }))
    })
}

fn rows(matrix: &DMat4) -> [[f64; 4]; 3] {
    std::array::from_fn(|r| matrix.row(r).to_array())
}
