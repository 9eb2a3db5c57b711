//! Compacting (ACL's term): classifies sub-tracks as default, constant or animated, and finds the axes that
//! rotations turn about.

use super::reference::{Joints, Reference, narrow};
use glam::{DMat3, DQuat, DVec3};
use meshreel_codec::clip::{RotationAxis, RotationSubTrack, SmallestThree, VectorSubTrack};

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
    let near = tangent(within.constant * tolerance);
    let all_near = |q: DQuat, near: f64| {
        let q = q.inverse();
        values.iter().all(|v| angle_within(q * *v, near))
    };
    let default = DQuat::from_array(rest.map(f64::from)).normalize();
    // The precision of f32 for any rotation.
    if all_near(default, near.max(tangent(1e-7))) {
        return RotationSubTrack::Default;
    }
    let middle = SmallestThree::new(values[values.len() / 2].to_array());
    if all_near(DQuat::from_array(middle.to_quaternion()), near)
        || reference.samples == 1 && within.constant > 0.0
    {
        return RotationSubTrack::Constant(middle);
    }
    match within.axes > 0.0 {
        true => fit_rotation(&values, within.axes * tolerance),
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

/// The number of samples that a fit uses; all are checked.
const FITTED: usize = 48;

/// Returns the fit with the fewest components such that no sample is further than `most` radians away.
fn fit_rotation(rotations: &[DQuat], most: f64) -> RotationSubTrack {
    let Some(&first) = rotations.first() else {
        return RotationSubTrack::Free;
    };
    let rest = SmallestThree::new(first.to_array());
    let base = DQuat::from_array(rest.to_quaternion());
    let step = rotations.len().div_ceil(FITTED);
    let some: Vec<DQuat> =
        (rotations.iter().step_by(step)).chain(rotations.last()).map(|r| base.inverse() * *r).collect();
    let mut moments = DMat3::ZERO;
    for d in &some {
        let v = d.to_scaled_axis();
        moments += outer(v, v);
    }
    let (axes, _) = eigen(moments);
    let axis = RotationAxis::new(axes[2].to_array());
    let u = DVec3::from_array(axis.to_vector());
    let limit = tangent(most);
    let hinge = |r: &DQuat| swing_within(base.inverse() * *r, u, limit);
    if rotations.iter().all(hinge) {
        return RotationSubTrack::Hinge { rest, axis };
    }
    two_axes(rotations, base, rest, &some, axes, most).unwrap_or(RotationSubTrack::Free)
}

fn two_axes(
    rotations: &[DQuat],
    base: DQuat,
    rest: SmallestThree,
    some: &[DQuat],
    axes: [DVec3; 3],
    most: f64,
) -> Option<RotationSubTrack> {
    let matrices: Vec<DMat3> = some.iter().map(|d| DMat3::from_quat(*d) - DMat3::IDENTITY).collect();
    let starts = [axes[2], axes[1], axes[0], DVec3::X, DVec3::Y, DVec3::Z];
    let mut best: Option<(f64, DVec3, DVec3)> = None;
    for start in starts {
        let (mut u, mut v, mut rest) = (DVec3::X, start, f64::MAX);
        for _ in 0..24 {
            let moments = |side: &dyn Fn(&DMat3) -> DVec3| {
                matrices.iter().fold(DMat3::ZERO, |sum, m| {
                    let s = side(m);
                    sum + outer(s, s)
                })
            };
            let (axes, _) = eigen(moments(&|m| *m * v));
            u = axes[0];
            let (axes, values) = eigen(moments(&|m| m.transpose() * u));
            v = axes[0];
            if values[0] > rest * 0.98 {
                break;
            }
            rest = values[0];
        }
        if best.is_none_or(|(value, ..)| rest < value) {
            best = Some((rest, u, v));
        }
    }
    let (_, u, v) = best?;
    let (first, second) = (RotationAxis::new(u.to_array()), RotationAxis::new(v.to_array()));
    let (u, v) = (DVec3::from_array(first.to_vector()), DVec3::from_array(second.to_vector()));
    if u.cross(v).length() < 0.1 {
        return None;
    }
    let limit = tangent(most);
    let agrees = |r: &DQuat| {
        let d = base.inverse() * *r;
        swing_within(first_turn(d, u, v).back * d, v, limit)
    };
    rotations.iter().all(agrees).then_some(RotationSubTrack::TwoAxes { rest, first, second })
}

/// The first rotation of exp(a·u)·exp(b·v) nearest to `d`.
struct FirstTurn {
    /// Sine and cosine of a, both times the same length.
    turn: [f64; 2],
    /// exp(−a·u).
    back: DQuat,
}

fn first_turn(d: DQuat, u: DVec3, v: DVec3) -> FirstTurn {
    // The first rotation alone takes v to where d takes it.
    let (from, to) = (v - u * u.dot(v), d * v);
    let to = to - u * u.dot(to);
    let turn = [u.dot(from.cross(to)), from.dot(to)];
    FirstTurn { turn, back: turned_back(u, turn) }
}

/// Returns exp(−a·u), given sine and cosine of a times a length.
fn turned_back(u: DVec3, [sine, cosine]: [f64; 2]) -> DQuat {
    let length = (sine * sine + cosine * cosine).sqrt();
    // The tangent of the half angle is s / c; of the two forms, the sum without cancellation.
    let (s, c) = match cosine >= 0.0 {
        true => (sine, length + cosine),
        false => (length - cosine, sine),
    };
    let n = (s * s + c * c).sqrt();
    match n > 0.0 {
        true => DQuat::from_xyzw(-u.x * (s / n), -u.y * (s / n), -u.z * (s / n), c / n),
        false => DQuat::IDENTITY,
    }
}

/// Returns the angles of exp(a·u)·exp(b·v) nearest to `d`, and exp(−a·u) and exp(−b·v).
pub fn angles(d: DQuat, u: DVec3, v: DVec3) -> ([f64; 2], [DQuat; 2]) {
    let first = first_turn(d, u, v);
    let left = first.back * d;
    let [sine, cosine] = first.turn;
    ([sine.atan2(cosine), twist_angle(left, v)], [first.back, twist_back(left, v)])
}

/// Returns the inverse of the twist of a rotation about a unit axis.
pub fn twist_back(d: DQuat, axis: DVec3) -> DQuat {
    let s = axis.dot(d.xyz());
    let n = (s * s + d.w * d.w).sqrt();
    match n > 0.0 {
        true => DQuat::from_xyzw(-axis.x * (s / n), -axis.y * (s / n), -axis.z * (s / n), d.w / n),
        false => DQuat::IDENTITY,
    }
}

/// Returns the tangent of half an angle; not meant for angles near a half turn.
fn tangent(angle: f64) -> f64 {
    (angle.min(3.0) / 2.0).tan()
}

/// Returns `true` if the angle of a rotation is at most the one whose half has this tangent.
fn angle_within(d: DQuat, tangent: f64) -> bool {
    d.xyz().length_squared() <= tangent * tangent * (d.w * d.w)
}

/// The same for a rotation without its twist about a unit axis.
fn swing_within(d: DQuat, axis: DVec3, tangent: f64) -> bool {
    let along = axis.dot(d.xyz());
    let across = d.xyz() - axis * along;
    across.length_squared() <= tangent * tangent * (along * along + d.w * d.w)
}

/// Returns the nearest integer of a number within ±2³¹, ties away from zero, without a call of the platform's
/// library.
#[inline(always)]
pub fn round_to_integer(x: f64) -> f64 {
    let whole = f64::from(x as i32);
    let rest = x - whole;
    match rest {
        rest if rest >= 0.5 => whole + 1.0,
        rest if rest <= -0.5 => whole - 1.0,
        _ => whole,
    }
}

/// Returns the angle of the twist of a rotation about a unit axis, within ±π.
pub fn twist_angle(d: DQuat, axis: DVec3) -> f64 {
    let half = axis.dot(d.xyz()).atan2(d.w);
    let angle = 2.0 * half;
    angle - std::f64::consts::TAU * round_to_integer(angle / std::f64::consts::TAU)
}

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// Returns eigenvectors and eigenvalues of a symmetric matrix, ascending.
fn eigen(m: DMat3) -> ([DVec3; 3], [f64; 3]) {
    let mut a = m.to_cols_array_2d();
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..10 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q].abs() <= (a[p][p].abs() + a[q][q].abs()) * 1e-16 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = f64::copysign(1.0, theta) / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for k in 0..3 {
                let (x, y) = (a[k][p], a[k][q]);
                (a[k][p], a[k][q]) = (c * x - s * y, s * x + c * y);
            }
            for k in 0..3 {
                let (x, y) = (a[p][k], a[q][k]);
                (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
                let (x, y) = (v[p][k], v[q][k]);
                (v[p][k], v[q][k]) = (c * x - s * y, s * x + c * y);
            }
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]));
    (order.map(|i| DVec3::from_array(v[i])), order.map(|i| a[i][i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hinges_and_two_axes_are_found_and_free_ones_are_not() {
        let rest = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -1.0).normalize(), 1.1);
        let (u, v) = (DVec3::new(0.3, 1.0, 0.2).normalize(), DVec3::new(1.0, -0.4, 0.1).normalize());
        let at = |i: usize| ((i as f64 * 0.13).sin() * 1.2, (i as f64 * 0.29).cos() * 0.8);
        let hinge: Vec<_> = (0..200).map(|i| rest * DQuat::from_axis_angle(u, at(i).0)).collect();
        assert!(matches!(fit_rotation(&hinge, 1e-5), RotationSubTrack::Hinge { .. }));
        let two: Vec<_> = (0..200)
            .map(|i| rest * DQuat::from_axis_angle(u, at(i).0) * DQuat::from_axis_angle(v, at(i).1))
            .collect();
        assert!(matches!(fit_rotation(&two, 1e-5), RotationSubTrack::TwoAxes { .. }));
        let free: Vec<_> = (0..200)
            .map(|i| two[i] * DQuat::from_axis_angle(DVec3::Z, (i as f64 * 0.41).sin() * 0.3))
            .collect();
        assert_eq!(fit_rotation(&free, 1e-5), RotationSubTrack::Free);
    }
}
