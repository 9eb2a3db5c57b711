//! The rig that a file brings along as the model of a mesh: nothing is fitted.

use super::model::Model;
use super::positions::Positions;
use crate::Error;
use crate::mesh::source::Source;
use crate::method::points::Frames;
use glam::{DAffine3, DMat4, DVec3};
use meshreel_codec::mesh::skin::MOST_BONES;
use meshreel_process::bones::given;
use meshreel_scene::{Skin, sample};

/// Joints that move the mesh alike within this part of the tolerance are one bone.
const ALIKE: f64 = 0.02;
/// Joints are compared with each other where there are no more of them.
const COMPARED: usize = 2048;
/// A point that a rig puts within this part of the diagonal, or the tolerance, follows it; of a rig that
/// moves a mesh more than half of the points do.
const NEAR: f64 = 1e-3;
const ENOUGH: f64 = 0.5;

/// What the rig of a mesh makes of it.
pub enum Given {
    /// It has none that could be used.
    None,
    /// It has one, but the points move in another way: so many of them.
    Other(usize),
    /// It moves the points.
    Rig(Model),
}

/// Takes the rig of a mesh. `memory`: what matrices may take, in bytes.
pub fn rig(
    frames: &Frames<'_>,
    positions: &Positions<'_>,
    tolerance: f64,
    memory: u64,
) -> Result<Given, Error> {
    let (source, all) = (frames.source(), positions.looked());
    let Some(skin) = &source.mesh.skin else {
        return Ok(Given::None);
    };
    let of_points: Option<Vec<usize>> = (frames.source_points())
        .map(|p| Some(p as usize).filter(|&p| p < skin.bind_positions.len()))
        .collect();
    let Some(of_points) = of_points else {
        return Ok(Given::None);
    };
    let k = skin.influences;
    let raw = |p: usize| {
        let joints = skin.joint.get(p * k..p * k + k).unwrap_or_default();
        let weights = skin.weight.get(p * k..p * k + k).unwrap_or_default();
        (joints.iter().zip(weights)).filter(|(_, w)| **w > 0.0 && w.is_finite())
    };
    // Joints that nothing hangs on are no bones.
    let mut number: Vec<Option<u32>> = vec![None; skin.joints.len()];
    let mut used = Vec::new();
    for &p in &of_points {
        for (&joint, _) in raw(p) {
            match number.get_mut(usize::from(joint)) {
                None => return Ok(Given::None),
                Some(number @ None) => {
                    *number = Some(used.len() as u32);
                    used.push(usize::from(joint));
                }
                Some(Some(_)) => {}
            }
        }
    }
    let bytes = 2 * used.len() * positions.frames() * size_of::<DAffine3>();
    if used.is_empty() || used.len() > MOST_BONES as usize || bytes as u64 > memory {
        return Ok(Given::None);
    }
    let Some(mut transforms) = motions(source, positions.frames(), &used)? else {
        return Ok(Given::None);
    };
    // A unit of the rest pose is no smaller than what becomes of it: what rounding the rest does stays as
    // small.
    let largest = |m: &DAffine3| sample::largest_scale(&DMat4::from(*m));
    let scale = (transforms.iter().flatten().map(largest)).fold(0.0, f64::max);
    let scale = if scale.is_normal() { scale } else { 1.0 };
    let back = DAffine3::from_scale(DVec3::splat(1.0 / scale));
    (transforms.iter_mut().flatten()).for_each(|m| *m *= back);
    let place = |p: usize| DVec3::from_array(skin.bind_positions[p].map(f64::from));
    let rest: Vec<DVec3> = (of_points.iter().enumerate())
        .map(|(i, &p)| match raw(p).next() {
            Some(_) => place(p) * scale,
            None => all.at(0, i as u32),
        })
        .collect();
    let same = alike(&mut transforms, &rest, tolerance * ALIKE);
    let weights: Vec<Vec<(u32, f64)>> = (of_points.iter())
        .map(|&p| {
            raw(p)
                .filter_map(|(&joint, &w)| {
                    let bone = number[usize::from(joint)]?;
                    Some((same[bone as usize], f64::from(w)))
                })
                .collect()
        })
        .collect();
    let rig = given::Rig { rest: &rest, weights: &weights, bones: transforms.len() };
    let looked: Vec<Vec<DAffine3>> = (transforms.iter()).map(|own| positions.of_looked(own)).collect();
    let Some(checked) = given::check(all, &rig, &looked) else {
        return Ok(Given::None);
    };
    let near = tolerance.max(all.diagonal() * NEAR);
    let off = checked.worst.iter().filter(|w| w.is_nan() || **w > near);
    let off = off.count();
    Ok(match off as f64 > ENOUGH * all.points() as f64 {
        true => Given::Other(off),
        false => {
            let mut model = Model::of_skin(&checked.skin);
            model.affine = transforms;
            Given::Rig(model)
        }
    })
}

/// By joint and frame what takes its points from the bind space to where the file keeps them.
fn motions(
    source: &Source<'_>,
    frames: usize,
    joints: &[usize],
) -> Result<Option<Vec<Vec<DAffine3>>>, Error> {
    let mut out = vec![Vec::with_capacity(frames); joints.len()];
    let mut pose = Vec::new();
    for (frame, &time) in source.times.iter().enumerate().take(frames) {
        if !sample::pose_at(source.mesh, time, &mut pose)? {
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

/// Leaves one of those joints that move all of the mesh alike; which one each has become.
fn alike(transforms: &mut Vec<Vec<DAffine3>>, rest: &[DVec3], near: f64) -> Vec<u32> {
    let count = transforms.len();
    if count > COMPARED {
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

/// Joint of each point that hangs on one alone, [`meshreel_process::parts::NONE`] for others; none where
/// hardly any does.
pub fn joints(skin: &Skin, frames: &Frames<'_>) -> Option<Vec<u32>> {
    let k = skin.influences;
    let of = |p: u32| {
        let p = p as usize;
        let weights = skin.weight.get(p * k..p * k + k).unwrap_or_default();
        let mut own = (0..).zip(weights).filter(|(_, w)| **w > 0.0);
        match (own.next(), own.next()) {
            (Some((i, _)), None) => skin.joint[p * k + i as usize].into(),
            _ => meshreel_process::parts::NONE,
        }
    };
    let all: Vec<u32> = frames.source_points().map(of).collect();
    let alone = all.iter().filter(|j| **j != meshreel_process::parts::NONE).count();
    (alone as f64 > MOSTLY * all.len() as f64).then_some(all)
}

/// Joints of a rig are taken for rigid parts where at least this part of its points hang on one joint alone.
const MOSTLY: f64 = 0.9;
