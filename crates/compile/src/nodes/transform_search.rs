//! Residuals of one node in one frame, chosen for the points below it: as few bits as keep every point within
//! its limit.
//!
//! ```text
//! error of a point   = what the target leaves + Σ (k − wanted) · what a step moves it by        linear, in parts of its limit
//! nearest k → flips (to the second nearest, the one that helps most) until all points fit → towards zero, cheapest first, as long as they do
//! what comes out is decoded, and measured as it is; where that does not fit: again with a tighter limit, finer steps, the transform as it is
//! ```

use crate::nodes::matrix::{Matrix, apply, product};
use glam::{DMat3, DQuat, DVec3};
use meshreel_codec::clip::nodes::{
    FINEST_CLASS, MAX_COMPONENTS, NodeResiduals, NodeTrack, Prediction, RAW_CLASS, ResidualCosts,
    SurroundingCodes, TrackCodes,
};
use meshreel_codec::clip::streamed::KAPPA_PER_STEP;
use meshreel_codec::transform::Transform;
use meshreel_process::trs::Trs;

/// The largest number of flips to the second nearest integer.
const MAX_FLIPS: usize = 8;

/// A point that a node moves, with its limit.
#[derive(Clone, Copy, Debug)]
pub struct GoalPoint {
    /// The point in the node's space.
    pub position: [f64; 3],
    /// Its target position in world space.
    pub goal: [f64; 3],
    /// The largest allowed distance from the target.
    pub limit: f64,
}

/// A requirement on a transform besides the points of its own frame: in the interpolation with a neighbouring
/// frame its errors may move things farther.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourRequirement {
    /// World matrix of the parent.
    pub parent_world: Matrix,
    /// The node's scale.
    pub scale: DVec3,
    /// The distance from the node's origin, in its space, of points on the axes that are used instead of the
    /// frame's points, and the multiple of their limit that is allowed.
    pub axes: Option<(f64, f64)>,
}

/// The multiple of their limit that points may be off at the scale of a neighbouring frame.
pub const NEIGHBOUR_LIMIT_FACTOR: f64 = 2.0;

/// The transform that is sought for a node in a frame, and the measure for candidates.
pub struct TransformGoal<'a> {
    /// `true` if residuals are packed, see [`meshreel_codec::clip::nodes::NodeTracks::packed`].
    pub packed: bool,
    pub track: &'a NodeTrack,
    pub around: &'a SurroundingCodes<'a>,
    /// Decoded world matrix of the parent.
    pub parent_world: &'a Matrix,
    /// The source's local transform, rounded to floats.
    pub exact: &'a Transform,
    /// The wanted local transform, which compensates for the error of the parent; components that are not
    /// animated keep their value.
    pub target: Trs,
    /// Points that represent all points of the node.
    pub points: &'a [GoalPoint],
    /// Requirements on the interpolated frames, where these count.
    pub neighbours: &'a [NeighbourRequirement],
    /// Returns the largest error, as a fraction of the limit, that a decoded world matrix leaves on all
    /// points, including those that are not in `points`.
    pub measure: &'a dyn Fn(&Matrix) -> f64,
    /// `true` if the node is not visible: its errors are no failure.
    pub hidden: bool,
}

/// The transform that was found, as residuals and as decoded.
#[derive(Clone, Copy)]
pub struct CodedTransform {
    pub choice: NodeResiduals,
    pub codes: TrackCodes,
    pub local: Transform,
    pub world: Matrix,
}

/// Errors of all points, as fractions of their limits, by component.
#[derive(Default)]
pub struct Workspace {
    error: [Vec<f64>; 3],
    /// The change of the error of each point by one step of each component.
    step: [[Vec<f64>; 3]; MAX_COMPONENTS],
}

impl Workspace {
    fn clear(&mut self) {
        self.error.iter_mut().for_each(Vec::clear);
        self.step.iter_mut().flatten().for_each(Vec::clear);
    }

    /// Returns the square of the largest error if component `c` moved by `by` steps.
    fn after(&self, c: usize, by: f64) -> f64 {
        let [x, y, z] = &self.error;
        let [a, b, d] = &self.step[c];
        let mut most = 0.0f64;
        for ((((x, y), z), (a, b)), d) in x.iter().zip(y).zip(z).zip(a.iter().zip(b)).zip(d) {
            let (x, y, z) = (x + by * a, y + by * b, z + by * d);
            let square = x * x + y * y + z * z;
            most = if square > most { square } else { most };
        }
        most
    }

    fn shift(&mut self, c: usize, by: f64) {
        for (error, step) in self.error.iter_mut().zip(&self.step[c]) {
            error.iter_mut().zip(step).for_each(|(e, s)| *e += by * s);
        }
    }
}

/// Chooses the residuals with the fewest bits that keep all points within their limits.
pub fn find_transform(goal: &TransformGoal<'_>, room: &mut Workspace) -> CodedTransform {
    let track = goal.track;
    let n = track.components();
    let prediction = goal.around.predict();
    let wanted = target_steps(goal, &prediction);
    for fine in 0..FINEST_CLASS {
        let scale = f64::from(1u32 << fine);
        if wanted[..n].iter().any(|w| w.is_nan() || (w * scale).abs() > 1e8) {
            match goal.hidden {
                true => return finish(goal, NodeResiduals::default()),
                false => break,
            }
        }
        let mut limit = 1.0;
        for _ in 0..4 {
            room.clear();
            compute_errors(goal, &wanted, scale, room);
            let x = wanted.map(|w| w * scale);
            let Some(k) = choose_residuals(goal, room, &x, n, fine, limit) else {
                break;
            };
            let class = match k[..n].iter().all(|k| *k == 0) && fine == 0 {
                true => 0,
                false => fine + 1,
            };
            let choice = NodeResiduals { class, k, ..NodeResiduals::default() };
            let found = finish(goal, choice);
            let error = (goal.measure)(&found.world).max(neighbour_error(goal, &found.local));
            let nothing = |t: &Transform| t.scale == [0.0; 3];
            let right = nothing(&found.local) == nothing(goal.exact);
            if goal.hidden || error <= 1.0 && right {
                return found;
            }
            if error <= 1.0 || error.is_nan() {
                break;
            }
            limit *= 0.97 / error.max(1.0);
        }
    }
    exact_transform(goal)
}

/// Returns the transform stored exactly: the one that compensates for the parent, or the source's own.
fn exact_transform(goal: &TransformGoal<'_>) -> CodedTransform {
    let of = |raw: Transform| {
        let choice = NodeResiduals { class: RAW_CLASS, raw, ..NodeResiduals::default() };
        finish(goal, choice)
    };
    let narrow = Transform {
        rotation: goal.target.rotation.to_array().map(|v| v as f32),
        translation: goal.target.translation.to_array().map(|v| v as f32),
        scale: goal.target.scale.to_array().map(|v| v as f32),
    };
    let all = narrow.rotation.iter().chain(&narrow.translation).chain(&narrow.scale);
    let (aimed, exact) = (of(narrow), of(*goal.exact));
    let good =
        all.clone().all(|v| v.is_finite()) && (narrow.scale == [0.0; 3]) == (goal.exact.scale == [0.0; 3]);
    match good && (goal.measure)(&aimed.world) < (goal.measure)(&exact.world) {
        true => aimed,
        false => exact,
    }
}

/// Returns the points that are checked between frames, in the node's space, and their limits.
fn neighbour_points<'a>(
    goal: &'a TransformGoal<'_>,
    beside: &'a NeighbourRequirement,
) -> impl Iterator<Item = (DVec3, f64)> + 'a {
    let least = goal.points.iter().map(|point| point.limit).fold(f64::INFINITY, f64::min);
    let (reach, times) = beside.axes.unwrap_or_default();
    let axes = DVec3::AXES.map(|axis| (axis * reach, least * times));
    let on_axes = beside.axes.is_some();
    let own = goal
        .points
        .iter()
        .map(|point| (DVec3::from_array(point.position), point.limit * NEIGHBOUR_LIMIT_FACTOR));
    axes.into_iter().filter(move |_| on_axes && least.is_finite()).chain(own.filter(move |_| !on_axes))
}

/// Returns the largest error, as a fraction of the limit, of a decoded transform at the scale of neighbouring
/// frames.
fn neighbour_error(goal: &TransformGoal<'_>, local: &Transform) -> f64 {
    let t = &goal.target;
    let rotation = DQuat::from_array(local.rotation.map(f64::from)).normalize();
    let [translation, scale] = [local.translation, local.scale].map(|v| DVec3::from_array(v.map(f64::from)));
    let mut most = 0.0f64;
    for beside in goal.neighbours {
        for (at, limit) in neighbour_points(goal, beside) {
            let right = t.rotation * (beside.scale * at) + t.translation;
            let there = rotation * ((beside.scale + scale - t.scale) * at) + translation;
            let [a, b] = [right, there].map(|p| DVec3::from_array(apply(&beside.parent_world, p.to_array())));
            let part = a.distance(b) / limit;
            most = if part <= most { most } else { part };
        }
    }
    most
}

/// Returns a choice with its decoded transform.
fn finish(goal: &TransformGoal<'_>, choice: NodeResiduals) -> CodedTransform {
    let (words, local) = goal.track.reconstruct(goal.around, &choice);
    CodedTransform { choice, codes: words, local, world: product(goal.parent_world, &local.matrix()) }
}

/// Returns the difference from the prediction to the target, in steps of each component.
fn target_steps(goal: &TransformGoal<'_>, prediction: &Prediction) -> [f64; MAX_COMPONENTS] {
    let (track, t) = (goal.track, &goal.target);
    let mut out = [0.0; MAX_COMPONENTS];
    let [moves_t, moves_r, moves_s] = track.setup.moves;
    let mut c = 0;
    if moves_t {
        let arm = t.rotation * (t.scale * DVec3::from_array(track.pivot));
        let at = (t.translation + arm).to_array();
        for k in 0..3 {
            out[k] = track.steps_along(k, at[k]) - prediction.translation[k] / KAPPA_PER_STEP as f64;
        }
        c = 3;
    }
    if moves_r {
        let p = DQuat::from_array(prediction.rotation).normalize();
        let d = p.inverse() * t.rotation;
        let d = if d.w < 0.0 { -d } else { d };
        let y = d.xyz() * (4.0 / (1.0 + d.w));
        for k in 0..3 {
            out[c + k] = y[k] / track.rotation[k];
        }
        c += 3;
    }
    if moves_s {
        for k in 0..3 {
            out[c + k] = t.scale[k] / track.scale[k] - prediction.scale[k] / KAPPA_PER_STEP as f64;
        }
    }
    out
}

/// Computes the errors of the points at k = 0 (before any residual), and their change by steps.
fn compute_errors(goal: &TransformGoal<'_>, wanted: &[f64; MAX_COMPONENTS], fine: f64, room: &mut Workspace) {
    let (track, t) = (goal.track, &goal.target);
    let turn = DMat3::from_quat(t.rotation);
    let local = turn * DMat3::from_diagonal(t.scale);
    let pivot = DVec3::from_array(track.pivot);
    let [moves_t, moves_r, moves_s] = track.setup.moves;
    let mut add = |at: DVec3, above: &Matrix, scale: DVec3, missed: DVec3, limit: f64| {
        let above = linear(above);
        let whole = above * turn;
        let part = 1.0 / limit;
        for (error, v) in room.error.iter_mut().zip((missed * part).to_array()) {
            error.push(v);
        }
        let arm = at - pivot;
        let mut c = 0;
        let mut put = |moved: DVec3| {
            for (list, v) in room.step[c].iter_mut().zip((moved * part).to_array()) {
                list.push(v);
            }
            c += 1;
        };
        if moves_t {
            for k in 0..3 {
                put(above.col(k) * (track.step / fine));
            }
        }
        // Without animated translation there is no pivot.
        if moves_r {
            let arm = scale * arm;
            for (k, axis) in DVec3::AXES.into_iter().enumerate() {
                put(whole * axis.cross(arm) * (track.rotation[k] / fine));
            }
        }
        if moves_s {
            for k in 0..3 {
                put(whole.col(k) * (arm[k] * track.scale[k] / fine));
            }
        }
    };
    for point in goal.points {
        let at = DVec3::from_array(point.position);
        let inside = (local * at + t.translation).to_array();
        let missed = DVec3::from_array(apply(goal.parent_world, inside)) - DVec3::from_array(point.goal);
        add(at, goal.parent_world, t.scale, missed, point.limit);
    }
    for beside in goal.neighbours {
        for (at, limit) in neighbour_points(goal, beside) {
            add(at, &beside.parent_world, beside.scale, DVec3::ZERO, limit);
        }
    }
    for c in 0..track.components() {
        room.shift(c, -wanted[c] * fine);
    }
}

/// Returns the linear part of a matrix.
fn linear(m: &Matrix) -> DMat3 {
    DMat3::from_cols_array(&[m[0][0], m[1][0], m[2][0], m[0][1], m[1][1], m[2][1], m[0][2], m[1][2], m[2][2]])
}

/// Returns residuals with few bits whose largest error is below `limit`, if there are any.
fn choose_residuals(
    goal: &TransformGoal<'_>,
    room: &mut Workspace,
    x: &[f64; MAX_COMPONENTS],
    n: usize,
    fine: u8,
    limit: f64,
) -> Option<[i32; MAX_COMPONENTS]> {
    let limit = limit * limit;
    let mut k = [0i32; MAX_COMPONENTS];
    // All zeros take no bits.
    let zero = room.after(0, 0.0);
    if fine == 0 && (zero <= limit || goal.points.is_empty()) {
        return Some(k);
    }
    for c in 0..n {
        k[c] = x[c].round() as i32;
        room.shift(c, f64::from(k[c]));
    }
    let mut now = room.after(0, 0.0);
    for _ in 0..MAX_FLIPS {
        if now <= limit {
            break;
        }
        let side = |c: usize, k: &[i32; MAX_COMPONENTS]| if x[c] >= f64::from(k[c]) { 1 } else { -1 };
        let best = (0..n)
            .map(|c| (room.after(c, f64::from(side(c, &k))), c))
            .fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a });
        if best.0 >= now || now.is_nan() {
            break;
        }
        let by = side(best.1, &k);
        k[best.1] += by;
        room.shift(best.1, f64::from(by));
        now = best.0;
    }
    if (now > limit || now.is_nan()) && !goal.hidden {
        return None;
    }
    let costs = ResidualCosts::new(goal.packed, goal.track, goal.around, &k, fine);
    loop {
        let mut best: Option<(f64, usize, f64)> = None;
        for c in (0..n).filter(|&c| k[c] != 0) {
            let lower = k[c] - k[c].signum();
            let saved = costs.saved(&k, c, lower) as f64;
            if saved <= 0.0 {
                continue;
            }
            let after = room.after(c, f64::from(lower - k[c]));
            if after > limit {
                continue;
            }
            // Bits saved per error added.
            let value = saved / (after - now).max(1e-3);
            if best.is_none_or(|b| value > b.0) {
                best = Some((value, c, after));
            }
        }
        let Some((_, c, after)) = best else {
            break;
        };
        let by = -k[c].signum();
        k[c] += by;
        room.shift(c, f64::from(by));
        now = after;
    }
    Some(k)
}
