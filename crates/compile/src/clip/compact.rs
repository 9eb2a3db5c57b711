//! Compacting (ACL's term): classifies sub-tracks as default, constant or animated, and finds the axes of
//! rotations.

use super::axes;
use super::reference::{Joints, Reference, narrow};
use glam::{DQuat, DVec3};
use meshreel_codec::clip::{RotationSubTrack, SmallestThree, VectorSubTrack};

/// Kinds of all sub-tracks of a clip.
pub struct SubTrackKinds {
    pub rotations: Vec<RotationSubTrack>,
    pub translations: Vec<VectorSubTrack>,
    pub scales: Vec<VectorSubTrack>,
}

/// Tolerances of compacting, as fractions of the clip's tolerance: a sub-track that stays this near to one
/// value is constant, a rotation that stays this near to one or two axes is a hinge or rotates about two
/// axes.
#[derive(Clone, Copy)]
pub struct CompactTolerances {
    pub constant: f64,
    pub axes: f64,
}

/// Classifies the sub-tracks of all joints. `tolerance` in units of length.
pub fn classify_sub_tracks(
    reference: &Reference,
    joints: &Joints,
    tolerance: f64,
    within: CompactTolerances,
) -> SubTrackKinds {
    let n = reference.joints;
    let fine = joints.step_refinements();
    let mut reach: Vec<f64> = joints.shell.iter().map(|s| f64::from(*s)).collect();
    for j in (0..n).rev() {
        let parent = joints.parents[j] as usize;
        if parent < j {
            let offset = (0..reference.samples)
                .map(|i| reference.local(i, j).translation.length())
                .fold(0.0, f64::max);
            reach[parent] = reach[parent].max(offset + reach[j]);
        }
    }
    let mut kinds = SubTrackKinds {
        rotations: Vec::with_capacity(n),
        translations: Vec::with_capacity(n),
        scales: Vec::with_capacity(n),
    };
    for j in 0..n {
        // Smaller for joints that are kept finer.
        let tolerance = tolerance * 0.5f64.powf(fine.get(j).map_or(0.0, |f| f64::from(*f) / 2.0));
        let near = within.constant * tolerance;
        let rest = &joints.rest[j];
        kinds.rotations.push(classify_rotation(reference, j, rest.rotation, tolerance / reach[j], within));
        let track = |f: fn(&meshreel_scene::Qvv) -> DVec3| {
            (0..reference.samples).map(|i| f(reference.local(i, j))).collect::<Vec<_>>()
        };
        kinds.translations.push(classify_vector(&track(|q| q.translation), rest.translation, near));
        kinds.scales.push(classify_vector(&track(|q| q.scale), rest.scale, near / reach[j]));
    }
    kinds
}

fn classify_rotation(
    reference: &Reference,
    j: usize,
    rest: [f32; 4],
    tolerance: f64,
    within: CompactTolerances,
) -> RotationSubTrack {
    let values: Vec<DQuat> = (0..reference.samples).map(|i| reference.local(i, j).rotation).collect();
    let near = axes::tangent(within.constant * tolerance);
    let all_near = |q: DQuat, near: f64| {
        let q = q.inverse();
        values.iter().all(|v| axes::angle_within(q * *v, near))
    };
    let default = DQuat::from_array(rest.map(f64::from)).normalize();
    // The precision of f32 for any rotation.
    if all_near(default, near.max(axes::tangent(1e-7))) {
        return RotationSubTrack::Default;
    }
    let middle = SmallestThree::new(values[values.len() / 2].to_array());
    if all_near(DQuat::from_array(middle.to_quaternion()), near)
        || reference.samples == 1 && within.constant > 0.0
    {
        return RotationSubTrack::Constant(middle);
    }
    match within.axes > 0.0 {
        true => axes::fit_rotation(&values, within.axes * tolerance),
        false => RotationSubTrack::Free,
    }
}

fn classify_vector(values: &[DVec3], rest: [f32; 3], near: f64) -> VectorSubTrack {
    let all_near = |v: DVec3| values.iter().all(|value| (*value - v).abs().max_element() <= near);
    let rest = DVec3::from_array(rest.map(f64::from));
    let small = rest.abs().max_element() * 1e-7;
    if values.iter().all(|v| (*v - rest).abs().max_element() <= near.max(small)) {
        return VectorSubTrack::Default;
    }
    let low = values.iter().fold(DVec3::INFINITY, |a, b| a.min(*b));
    let high = values.iter().fold(DVec3::NEG_INFINITY, |a, b| a.max(*b));
    let middle =
        narrow(&meshreel_scene::Qvv { translation: (low + high) * 0.5, ..meshreel_scene::Qvv::IDENTITY });
    let constant = middle.translation;
    match all_near(DVec3::from_array(constant.map(f64::from))) || values.len() == 1 {
        true => VectorSubTrack::Constant(constant),
        false => VectorSubTrack::Animated,
    }
}
