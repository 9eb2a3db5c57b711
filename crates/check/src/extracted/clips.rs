//! Compares clips of an extracted file with those of the `.reel`: positions of joints and of points on their
//! axes.

use crate::verify::report::{Failures, beyond};
use glam::{DAffine3, DMat4, DVec3};
use meshreel::clip::Clip;
use meshreel::{Reel, Transform};
use meshreel_extract::convert;
use meshreel_extract::convert::error;
use meshreel_extract::convert::ulp;
use meshreel_scene::sample::World;
use meshreel_scene::{Error, PlacedObject, Scene, Skeleton, TIME_TOLERANCE};
use serde::Serialize;

/// The comparison of a clip.
#[derive(Debug, Clone, Serialize)]
pub struct ExtractedClip {
    /// Name of the clip in the `.reel`.
    pub name: String,
    /// The largest distance of a joint, or of a point on one of its axes at its shell distance.
    pub max_error: f64,
    /// The largest distance as a fraction of its limit.
    #[serde(rename = "share")]
    pub limit_fraction: f64,
}

/// Error of an angle in a BVH, which has six decimals: half a unit of the last, in radians, about each of
/// three axes.
const BVH_ANGLE: f64 = 3.0 * 0.5e-6 * std::f64::consts::PI / 180.0;
/// The relative error of a scale in USD, a 16-bit float.
const HALF_ROUNDING: f64 = 1.0 / 2048.0;
/// Error of a length in a BVH, which has six decimals: half a unit of the last along each axis, in
/// centimetres.
const BVH_LENGTH: f64 = 1e-6;

/// The extracted file, and the factor from its unit to that of the `.reel`.
pub(super) struct ExtractedScene<'a> {
    pub scene: &'a Scene,
    pub placed: &'a [PlacedObject],
    pub factor: f64,
}

/// Compares clips in their order.
pub(super) fn compare(
    there: &ExtractedScene<'_>,
    reel: &Reel,
    failures: &mut Failures,
) -> Result<Vec<ExtractedClip>, Error> {
    let clips = reel.clips().map_err(error)?;
    if there.scene.format.starts_with("alembic") {
        return compare_node_clips(there, reel, &clips, failures);
    }
    let mut expected: Vec<&Clip> = match there.scene.format {
        "gltf" | "usd" => clips.iter().collect(),
        "bvh" => clips.iter().take(1).collect(),
        // Other formats hold none.
        _ => Vec::new(),
    };
    if there.scene.format == "usd" {
        // A skeleton is bound to its first clip.
        expected.sort_by_key(|clip| clip.record().skeleton);
        expected.dedup_by_key(|clip| clip.record().skeleton);
    }
    let found = &there.scene.clips;
    if found.len() < expected.len() {
        failures.add("", None, || format!("{} clips, the file has {}", found.len(), expected.len()));
    }
    let mut out = Vec::new();
    for (clip, own) in expected.into_iter().zip(found) {
        let scaled = own.scaled(there.factor);
        let skeleton = there.scene.skeletons[own.skeleton].scaled(there.factor);
        let Some(joints) =
            match_joints(clip.skeleton().names.as_slice(), &clip.skeleton().parents, &skeleton)
        else {
            failures.add(clip.name(), None, || "has other joints than the file's clip".into());
            continue;
        };
        let samples = matching_samples(clip, &scaled);
        if samples.last().is_none_or(|last| scaled.samples.abs_diff(last.0 + 1) > 1) {
            failures.add(clip.name(), None, || {
                let there = (scaled.samples, scaled.fps);
                format!(
                    "{} samples, {} per second; the file's clip has {}, {} per second",
                    there.0,
                    there.1,
                    clip.samples(),
                    clip.fps()
                )
            });
            continue;
        }
        let (mut local, mut all) = (Vec::new(), Vec::new());
        let pose = |sample: usize, out: &mut Vec<DAffine3>| {
            let (sample, is_one) = samples[sample];
            if !is_one {
                return Ok(false);
            }
            scaled.pose(sample, &mut local);
            let parents = skeleton.joints.iter().map(|joint| joint.parent);
            convert::object_space(parents, local.iter().copied(), &mut all);
            out.clear();
            out.extend(joints.iter().map(|&joint| all[joint]));
            Ok(true)
        };
        out.push(compare_poses(clip, pose, (there.scene.format, there.factor), failures)?);
    }
    Ok(out)
}

/// Compares clips in an archive, where joints are nodes: each clip's below a node of its own at the end of
/// the top level, or directly at the top level if there is only one clip. Names may differ; the tree and its
/// order must not.
fn compare_node_clips(
    there: &ExtractedScene<'_>,
    reel: &Reel,
    clips: &[Clip],
    failures: &mut Failures,
) -> Result<Vec<ExtractedClip>, Error> {
    let mut children = vec![Vec::new(); there.placed.len()];
    let mut roots = Vec::new();
    for (i, placed) in there.placed.iter().enumerate() {
        match placed.parent {
            Some(parent) => children[parent].push(i),
            None => roots.push(i),
        }
    }
    let alone = clips.len() == 1 && reel.description().nodes.is_empty();
    let groups = roots.len().checked_sub(clips.len()).filter(|_| !alone);
    let mut out = Vec::new();
    for (number, clip) in clips.iter().enumerate() {
        let top = match (alone, groups) {
            (true, _) => Some(&roots),
            (false, groups) => groups.map(|first| &children[roots[first + number]]),
        };
        let joints = top.and_then(|top| nodes_of(&clip.skeleton().parents, top, &children));
        let Some(joints) = joints else {
            failures.add(clip.name(), None, || "there are no nodes in the tree of its joints".into());
            continue;
        };
        let mut world = World::new(there.scene, there.placed)?;
        let unit = DMat4::from_scale(DVec3::splat(there.factor));
        let inverse = DMat4::from_scale(DVec3::splat(1.0 / there.factor));
        let pose = |sample: usize, out: &mut Vec<DAffine3>| {
            world.evaluate(clip.start() + sample as f64 / clip.fps())?;
            out.clear();
            out.extend(joints.iter().map(|&p| DAffine3::from_mat4(unit * world.matrix[p] * inverse)));
            Ok(true)
        };
        out.push(compare_poses(clip, pose, (there.scene.format, there.factor), failures)?);
    }
    Ok(out)
}

/// Returns the node of each joint if the trees are equal, else `None`.
fn nodes_of(parents: &[u32], top: &[usize], children: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut out: Vec<usize> = Vec::with_capacity(parents.len());
    // Number of children visited so far, for each joint and for the top.
    let (mut met, mut of_top) = (vec![0; parents.len()], 0);
    for (joint, &parent) in parents.iter().enumerate() {
        let parent = Some(parent as usize).filter(|parent| *parent < joint);
        let (list, next) = match parent {
            Some(parent) => (&children[out[parent]][..], &mut met[parent]),
            None => (top, &mut of_top),
        };
        out.push(*list.get(*next)?);
        *next += 1;
    }
    let all = out.iter().zip(&met).all(|(&node, met)| children[node].len() == *met);
    (all && top.len() == of_top).then_some(out)
}

/// Returns, for each sample, the nearest one of the extracted clip, and whether that is at the same time. Key
/// times of a glTF define no rate: readers assume one, and a few keys that are far apart need not be on it.
fn matching_samples(clip: &Clip, there: &meshreel_scene::Clip) -> Vec<(usize, bool)> {
    let one = |sample: usize| {
        let at = sample as f64 / clip.fps() * there.fps;
        let near = at.round();
        let off = (at - near).abs() / there.fps;
        (near as usize, off <= 2.0 * TIME_TOLERANCE && (near as usize) < there.samples)
    };
    match there.samples == clip.samples() {
        true => (0..clip.samples()).map(|sample| (sample, true)).collect(),
        false => (0..clip.samples()).map(one).collect(),
    }
}

/// Compares all samples of a clip. `there` writes the matrices of the extracted file's joints, in object
/// space, at a sample, or returns `false` if it has no such sample.
fn compare_poses(
    clip: &Clip,
    mut there: impl FnMut(usize, &mut Vec<DAffine3>) -> Result<bool, Error>,
    (format, factor): (&str, f64),
    failures: &mut Failures,
) -> Result<ExtractedClip, Error> {
    let record = clip.skeleton();
    let mut found = ExtractedClip { name: clip.name().into(), max_error: 0.0, limit_fraction: 0.0 };
    let (mut cursor, mut pose) = (clip.cursor(), vec![Transform::IDENTITY; record.parents.len()]);
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for sample in 0..clip.samples() {
        cursor.sample(sample, &mut pose).map_err(error)?;
        let parents = record.parents.iter().enumerate();
        let parents = parents.map(|(j, &p)| Some(p as usize).filter(|p| *p < j));
        convert::object_space(parents, pose.iter().map(convert::qvv), &mut own);
        if !there(sample, &mut other)? {
            continue;
        }
        // 16-bit floats have 13 bits less than those of 32 bits.
        let is_rounded = |scale: &f32| scale.to_bits() & 0x1fff != 0;
        let has_rounded_scales = pose.iter().any(|local| local.scale.iter().any(is_rounded));
        let reach = own.iter().map(|m: &DAffine3| m.translation.abs().max_element()).fold(0.0, f64::max);
        for (j, (a, b)) in own.iter().zip(&other).enumerate() {
            let shell = f64::from(record.shell[j]);
            let corners = [DVec3::ZERO, DVec3::X * shell, DVec3::Y * shell, DVec3::Z * shell];
            let off = corners.map(|p| (a.transform_point3(p) - b.transform_point3(p)).length());
            let off = off.into_iter().fold(0.0, f64::max);
            let depth = depth(&record.parents, j);
            let rounding = match format {
                "bvh" => depth * (BVH_LENGTH * factor + BVH_ANGLE * (2.0 * reach + shell)),
                "usd" if has_rounded_scales => depth * HALF_ROUNDING * (2.0 * reach + shell),
                _ => 0.0,
            };
            let limit = rounding + (4.0 + 4.0 * depth) * ulp(reach + shell);
            found.max_error = found.max_error.max(off);
            found.limit_fraction = found.limit_fraction.max(off / limit);
        }
    }
    if beyond(found.limit_fraction, 1.0) {
        let ExtractedClip { max_error, limit_fraction: share, .. } = found;
        failures.add(clip.name(), None, || {
            format!("joints are up to {max_error:e} off, {share:.1} times what such a file holds")
        });
    }
    Ok(found)
}

/// Returns the joint of `skeleton` for each of the file's joints: by the names from the root, or by number if
/// names were changed. `None` if the numbers of joints differ.
fn match_joints(names: &[String], parents: &[u32], skeleton: &Skeleton) -> Option<Vec<usize>> {
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

/// Returns the number of joints from the root to this one.
fn depth(parents: &[u32], joint: usize) -> f64 {
    let up = |&j: &usize| Some(parents[j] as usize).filter(|p| *p < j);
    std::iter::successors(Some(joint), up).count() as f64
}
