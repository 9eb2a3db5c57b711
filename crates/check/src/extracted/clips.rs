//! Clips of an extracted file against those of the `.reel`: where the joints are, and the axes at them.

use crate::double;
use crate::error::error;
use crate::verify::attribute::ulp;
use crate::verify::report::{Failures, beyond};
use glam::{DAffine3, DVec3};
use meshreel::clip::{ClipCursor, PoseSource};
use meshreel::{Reel, Transform};
use meshreel_scene::{Error, Scene, Skeleton};
use serde::Serialize;

/// A clip that was compared.
#[derive(Debug, Clone, Serialize)]
pub struct ExtractedClip {
    /// Its name in the `.reel`.
    pub name: String,
    /// The largest distance of a joint, or of a point at its shell distance on one of its axes.
    pub max_error: f64,
    /// The largest share of what it may be.
    pub share: f64,
}

/// Angles in a BVH have six decimals: half a unit of the last, in radians, about each of three axes.
const BVH_ANGLE: f64 = 3.0 * 0.5e-6 * std::f64::consts::PI / 180.0;
/// Lengths in a BVH have six decimals: half a unit of the last along each axis, in centimetres.
const BVH_LENGTH: f64 = 1e-6;

/// Compares clips by their order. `factor`: from the extracted file's unit to the `.reel`'s.
pub(super) fn compare(
    scene: &Scene,
    reel: &Reel,
    factor: f64,
    failures: &mut Failures,
) -> Result<Vec<ExtractedClip>, Error> {
    let clips = reel.clips().map_err(error)?;
    // Alembic has clips as nodes, a BVH has one, and what is left holds none.
    let wanted = match scene.format {
        "gltf" => clips.len(),
        "bvh" => clips.len().min(1),
        _ => 0,
    };
    if scene.clips.len() < wanted {
        failures.add("", None, || format!("{} clips, the file has {}", scene.clips.len(), clips.len()));
    }
    let mut out = Vec::new();
    for (clip, there) in clips.iter().zip(&scene.clips).take(wanted) {
        let there_scaled = there.scaled(factor);
        let skeleton = scene.skeletons[there.skeleton].scaled(factor);
        let Some(joints) = matching(clip.skeleton().names.as_slice(), &clip.skeleton().parents, &skeleton)
        else {
            failures.add(clip.name(), None, || "has other joints than the file's clip".into());
            continue;
        };
        if there_scaled.samples != clip.samples() {
            failures.add(clip.name(), None, || {
                format!("{} samples, the file's clip has {}", there_scaled.samples, clip.samples())
            });
            continue;
        }
        let record = clip.skeleton();
        let mut found = ExtractedClip { name: clip.name().into(), max_error: 0.0, share: 0.0 };
        let (mut cursor, mut pose) = (ClipCursor::new(clip), vec![Transform::IDENTITY; joints.len()]);
        let (mut own, mut other, mut local) = (Vec::new(), Vec::new(), Vec::new());
        for sample in 0..clip.samples() {
            clip.sample_at(&mut cursor, sample, &mut pose).map_err(error)?;
            let parents = record.parents.iter().enumerate();
            let parents = parents.map(|(j, &p)| Some(p as usize).filter(|p| *p < j));
            double::object_space(parents, pose.iter().map(double::qvv), &mut own);
            there_scaled.pose(sample, &mut local);
            let parents = skeleton.joints.iter().map(|joint| joint.parent);
            double::object_space(parents, local.iter().copied(), &mut other);
            let reach = own.iter().map(|m: &DAffine3| m.translation.abs().max_element()).fold(0.0, f64::max);
            for (j, &k) in joints.iter().enumerate() {
                let shell = f64::from(record.shell[j]);
                let corners = [DVec3::ZERO, DVec3::X * shell, DVec3::Y * shell, DVec3::Z * shell];
                let off =
                    corners.map(|p| (own[j].transform_point3(p) - other[k].transform_point3(p)).length());
                let off = off.into_iter().fold(0.0, f64::max);
                let depth = depth(&record.parents, j);
                let text = match scene.format {
                    "bvh" => depth * (BVH_LENGTH * factor + BVH_ANGLE * (2.0 * reach + shell)),
                    _ => 0.0,
                };
                let limit = text + (4.0 + 4.0 * depth) * ulp(reach + shell);
                found.max_error = found.max_error.max(off);
                found.share = found.share.max(off / limit);
            }
        }
        if beyond(found.share, 1.0) {
            let ExtractedClip { max_error, share, .. } = found;
            failures.add(clip.name(), None, || {
                format!("joints are up to {max_error:e} off, {share:.1} times what such a file holds")
            });
        }
        out.push(found);
    }
    Ok(out)
}

/// The joint of `skeleton` for each of the file's joints: by the names from the root, or by number where names were
/// changed. None where there are not as many.
fn matching(names: &[String], parents: &[u32], skeleton: &Skeleton) -> Option<Vec<usize>> {
    if names.len() != skeleton.joints.len() {
        return None;
    }
    let path = |j: usize| {
        let up = |&j: &usize| Some(parents[j] as usize).filter(|p| *p < j);
        let mut all: Vec<&str> = std::iter::successors(Some(j), up).map(|j| &names[j][..]).collect();
        all.reverse();
        all.join("/")
    };
    let there: std::collections::HashMap<String, usize> =
        (0..skeleton.joints.len()).map(|j| (skeleton.path(j), j)).collect();
    let by_name: Option<Vec<usize>> = (0..names.len()).map(|j| there.get(&path(j)).copied()).collect();
    let distinct = there.len() == names.len();
    Some(by_name.filter(|_| distinct).unwrap_or_else(|| (0..names.len()).collect()))
}

/// Joints from the root to this one.
fn depth(parents: &[u32], joint: usize) -> f64 {
    let up = |&j: &usize| Some(parents[j] as usize).filter(|p| *p < j);
    std::iter::successors(Some(joint), up).count() as f64
}
