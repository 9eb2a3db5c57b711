//! The source's rig as the model of a mesh, without fitting.

use super::model::BoneModel;
use super::positions::Positions;
use crate::Error;
use crate::mesh::source::MeshSource;
use crate::method::points::PointFrames;
use glam::{DAffine3, DMat4, DVec3};
use meshreel_codec::mesh::skin::MAX_BONES;
use meshreel_process::bones::source_rig;
use meshreel_scene::{Skin, sample};

/// Joints that move the mesh alike within this fraction of the tolerance become one bone.
const ALIKE_FRACTION: f64 = 0.02;
/// The largest number of joints that are compared with each other.
const MAX_COMPARED_JOINTS: usize = 2048;
/// A point follows a rig that places it within this fraction of the diagonal, or within the tolerance.
const FOLLOW_DISTANCE: f64 = 1e-3;
/// A rig belongs to another mesh if more than this fraction of the points do not follow it.
const MAX_UNEXPLAINED_FRACTION: f64 = 0.5;

/// The rig of a mesh, and whether its points follow it.
pub enum RigModel {
    /// The mesh has no usable rig.
    None,
    /// The mesh has a rig, but this many of its points do not follow it.
    Mismatched(usize),
    /// The rig, which moves the points, as a model.
    Matching(BoneModel),
}

/// Reads the rig of a mesh. `tolerance`: in units of length. `memory`: bytes that matrices may take.
pub fn read_rig(
    frames: &PointFrames,
    positions: &Positions,
    tolerance: f64,
    memory: u64,
) -> Result<RigModel, Error> {
    let (source, all) = (frames.source(), positions.held());
    let Some(skin) = &source.mesh.skin else {
        return Ok(RigModel::None);
    };
    let of_points: Option<Vec<usize>> = (frames.source_points())
        .map(|p| Some(p as usize).filter(|&p| p < skin.bind_positions.len()))
        .collect();
    let Some(of_points) = of_points else {
        return Ok(RigModel::None);
    };
    let Some(used) = UsedJoints::new(skin, &of_points) else {
        return Ok(RigModel::None);
    };
    let bytes = 2 * used.joints.len() * positions.frame_count() * size_of::<DAffine3>();
    if used.joints.is_empty() || used.joints.len() > MAX_BONES as usize || bytes as u64 > memory {
        return Ok(RigModel::None);
    }
    let Some(mut transforms) = joint_transforms(source, positions.frame_count(), &used.joints)? else {
        return Ok(RigModel::None);
    };
    let scale = move_scale_to_rest(&mut transforms);
    let place = |p: usize| DVec3::from_array(skin.bind_positions[p].map(f64::from));
    let rest: Vec<DVec3> = (of_points.iter().enumerate())
        .map(|(i, &p)| match influences(skin, p).next() {
            Some(_) => place(p) * scale,
            None => all.position(0, i as u32),
        })
        .collect();
    let bone_of = join_alike(&mut transforms, &rest, tolerance * ALIKE_FRACTION);
    let weights: Vec<Vec<(u32, f64)>> = (of_points.iter())
        .map(|&p| {
            let own = influences(skin, p);
            own.filter_map(|(joint, w)| Some((bone_of[used.number[joint]? as usize], w))).collect()
        })
        .collect();
    let rig = source_rig::SourceRig { rest: &rest, weights: &weights, bones: transforms.len() };
    let looked: Vec<Vec<DAffine3>> = (transforms.iter()).map(|own| positions.pick_held(own)).collect();
    let Some(checked) = source_rig::with_motions(all, &rig, &looked) else {
        return Ok(RigModel::None);
    };
    let near = tolerance.max(all.diagonal() * FOLLOW_DISTANCE);
    let off = checked.worst.iter().filter(|w| w.is_nan() || **w > near);
    let off = off.count();
    Ok(match off as f64 > MAX_UNEXPLAINED_FRACTION * all.points() as f64 {
        true => RigModel::Mismatched(off),
        false => {
            let mut model = BoneModel::from_skin(&checked.skin);
            model.affine = transforms;
            RigModel::Matching(model)
        }
    })
}

/// Returns the joints that move a point of the bind pose, each with its weight.
fn influences(skin: &Skin, point: usize) -> impl Iterator<Item = (usize, f64)> {
    let k = skin.influences;
    let joints = skin.joint.get(point * k..point * k + k).unwrap_or_default();
    let weights = skin.weight.get(point * k..point * k + k).unwrap_or_default();
    let moving = joints.iter().zip(weights).filter(|(_, w)| **w > 0.0 && w.is_finite());
    moving.map(|(joint, w)| (usize::from(*joint), f64::from(*w)))
}

/// The joints that points follow: others are not bones.
struct UsedJoints {
    /// By joint of the skin, its number among these.
    number: Vec<Option<u32>>,
    /// The joints, in the order in which points refer to them.
    joints: Vec<usize>,
}

impl UsedJoints {
    /// Collects the joints of these points; `None` if a point refers to a missing joint.
    fn new(skin: &Skin, points: &[usize]) -> Option<UsedJoints> {
        let mut used = UsedJoints { number: vec![None; skin.joints.len()], joints: Vec::new() };
        for &p in points {
            for (joint, _) in influences(skin, p) {
                let number = used.number.get_mut(joint)?;
                if number.is_none() {
                    *number = Some(used.joints.len() as u32);
                    used.joints.push(joint);
                }
            }
        }
        Some(used)
    }
}

/// Removes the largest scale from all transforms and returns it, to be applied to the rest pose. So a unit of
/// the rest pose is not enlarged by bones, and rounding the rest pose costs no more there.
fn move_scale_to_rest(transforms: &mut [Vec<DAffine3>]) -> f64 {
    let largest = |m: &DAffine3| sample::largest_scale(&DMat4::from(*m));
    let scale = (transforms.iter().flatten().map(largest)).fold(0.0, f64::max);
    let scale = if scale.is_normal() { scale } else { 1.0 };
    let back = DAffine3::from_scale(DVec3::splat(1.0 / scale));
    (transforms.iter_mut().flatten()).for_each(|m| *m *= back);
    scale
}

/// Returns, by joint and frame, the transform from bind space to the space of the file; `None` if some frame
/// has no finite pose.
fn joint_transforms(
    source: &MeshSource,
    frames: usize,
    joints: &[usize],
) -> Result<Option<Vec<Vec<DAffine3>>>, Error> {
    let mut out = vec![Vec::with_capacity(frames); joints.len()];
    let mut pose = Vec::new();
    for (frame, &time) in source.times.iter().enumerate().take(frames) {
        if !sample::pose_at(&source.mesh, time, &mut pose)? {
            return Ok(None);
        }
        let world = source.matrices.as_ref().map(|all| all[frame]);
        for (list, &joint) in out.iter_mut().zip(joints) {
            let m = world.unwrap_or(DMat4::IDENTITY) * pose[joint];
            if !m.is_finite() {
                return Ok(None);
            }
            list.push(DAffine3::from_mat4(m));
        }
    }
    Ok((out.iter().all(|list| list.len() == frames)).then_some(out))
}

/// Keeps one of each set of bones that move the whole mesh alike; returns, by bone, the one that stands for
/// it.
fn join_alike(transforms: &mut Vec<Vec<DAffine3>>, rest: &[DVec3], near: f64) -> Vec<u32> {
    let count = transforms.len();
    if count > MAX_COMPARED_JOINTS {
        return (0..count as u32).collect();
    }
    let low = rest.iter().fold(DVec3::INFINITY, |m, p| m.min(*p));
    let high = rest.iter().fold(DVec3::NEG_INFINITY, |m, p| m.max(*p));
    let corners: [DVec3; 8] = std::array::from_fn(|i| {
        let side = |bit: usize| i >> bit & 1 == 1;
        DVec3::select(glam::BVec3::new(side(0), side(1), side(2)), high, low)
    });
    let same = |a: &[DAffine3], b: &[DAffine3]| {
        a.iter().zip(b).all(|(a, b)| {
            let off = |c: &DVec3| (a.transform_point3(*c) - b.transform_point3(*c)).length();
            corners.iter().all(|c| off(c) <= near)
        })
    };
    let mut kept: Vec<Vec<DAffine3>> = Vec::new();
    let mut out = Vec::with_capacity(count);
    for own in std::mem::take(transforms) {
        let known = kept.iter().position(|other| same(other, &own));
        out.push(known.unwrap_or(kept.len()) as u32);
        if known.is_none() {
            kept.push(own);
        }
    }
    *transforms = kept;
    out
}

/// Returns the joint of each point that follows only one, [`meshreel_process::parts::NO_PART`] for others;
/// `None` if hardly any does.
pub fn single_joints(skin: &Skin, frames: &PointFrames) -> Option<Vec<u32>> {
    let k = skin.influences;
    let of = |p: u32| {
        let p = p as usize;
        let weights = skin.weight.get(p * k..p * k + k).unwrap_or_default();
        let mut own = (0..).zip(weights).filter(|(_, w)| **w > 0.0);
        match (own.next(), own.next()) {
            (Some((i, _)), None) => skin.joint[p * k + i as usize].into(),
            _ => meshreel_process::parts::NO_PART,
        }
    };
    let all: Vec<u32> = frames.source_points().map(of).collect();
    let alone = all.iter().filter(|j| **j != meshreel_process::parts::NO_PART).count();
    (alone as f64 > MIN_RIGID_FRACTION * all.len() as f64).then_some(all)
}

/// The joints of a rig are taken as rigid parts if at least this fraction of its points follow only one
/// joint.
const MIN_RIGID_FRACTION: f64 = 0.9;
