//! Evaluates the source's transforms at a time between two frames, from its channels. Shares nothing with
//! `meshreel_scene::sample`, which the compiler uses, so that a mistake there is found here.
//!
//! A value that a channel defines at that time counts. Otherwise, between two samples, translations and
//! scales are interpolated linearly and rotations at constant speed by the shorter way, if the source has
//! these; matrices likewise if both are products of these and have the same handedness, else element by
//! element.

use glam::{DMat3, DMat4, DQuat, DVec3};
use meshreel_scene::{Channel, Error, LocalTransform, PlacedObject, Qvv, Scene, TIME_TOLERANCE, Transform};

/// The largest relative error with which a matrix counts as a product of translation, rotation and scale.
const SHEAR_TOLERANCE: f64 = 1e-6;

/// The transforms of all objects of the source at a time.
pub(crate) struct SourceTransforms<'a> {
    scene: &'a Scene,
    placed: &'a [PlacedObject],
    /// For each node whose transform is constant, the local matrix and whether it inherits from its parent.
    constant: Vec<Option<(DMat4, bool)>>,
    /// For each placed object, object to world.
    pub matrix: Vec<DMat4>,
}

impl<'a> SourceTransforms<'a> {
    pub fn new(scene: &'a Scene, placed: &'a [PlacedObject]) -> Result<SourceTransforms<'a>, Error> {
        let still = |transform: &Option<Transform>| match transform {
            None => Ok(Some((DMat4::IDENTITY, true))),
            Some(t) if t.local.is_constant() && t.inherits.as_ref().is_none_or(Channel::is_constant) => {
                local(t, 0.0).map(Some)
            }
            Some(_) => Ok(None),
        };
        let still = scene.nodes.iter().map(|node| still(&node.transform)).collect::<Result<_, Error>>()?;
        Ok(SourceTransforms { scene, placed, constant: still, matrix: vec![DMat4::IDENTITY; placed.len()] })
    }

    /// Evaluates all objects at a time, in seconds.
    pub fn evaluate(&mut self, time: f64) -> Result<(), Error> {
        for (i, place) in self.placed.iter().enumerate() {
            let (own, inherits) = match (self.constant[place.node], &self.scene.nodes[place.node].transform) {
                (Some(still), _) => still,
                (None, Some(transform)) => local(transform, time)?,
                (None, None) => (DMat4::IDENTITY, true),
            };
            let above = place.parent.filter(|_| inherits).map(|parent| self.matrix[parent]);
            self.matrix[i] = above.map_or(own, |above| above * own);
        }
        Ok(())
    }
}

/// Returns the local matrix at a time, and whether it inherits from its parent.
fn local(transform: &Transform, time: f64) -> Result<(DMat4, bool), Error> {
    let inherits = match transform.inherits.as_ref().filter(|flags| !flags.is_empty()) {
        Some(flags) => value(flags, sample_before(flags, time))?.unwrap_or(true),
        None => true,
    };
    let channel = &transform.local;
    if channel.is_empty() {
        return Ok((DMat4::IDENTITY, inherits));
    }
    let sample = sample_before(channel, time);
    let start = channel.time(sample);
    let inside = sample + 1 < channel.len() && time > start + TIME_TOLERANCE;
    let mut said = Vec::new();
    if inside && channel.read_between(time, &mut said)? {
        return Ok((said.first().map_or(DMat4::IDENTITY, LocalTransform::matrix), inherits));
    }
    let first = value(channel, sample)?.unwrap_or(LocalTransform::IDENTITY);
    let end = if inside { channel.time(sample + 1) } else { start };
    if end <= start {
        return Ok((first.matrix(), inherits));
    }
    let second = value(channel, sample + 1)?.unwrap_or(first);
    Ok((interpolate(&first, &second, (time - start) / (end - start)), inherits))
}

/// Returns the last sample not after `time`; the first one if all are after it.
fn sample_before<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, time: f64) -> usize {
    let (mut low, mut high) = (0, channel.len());
    while high - low > 1 {
        let middle = low.midpoint(high);
        match channel.time(middle) <= time + TIME_TOLERANCE {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

fn value<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, sample: usize) -> Result<Option<T>, Error> {
    let mut values = Vec::new();
    channel.read(sample, &mut values)?;
    Ok(values.into_iter().next())
}

fn interpolate(a: &LocalTransform, b: &LocalTransform, part: f64) -> DMat4 {
    let (m, n) = (a.matrix(), b.matrix());
    let apart = match (a, b) {
        (LocalTransform::Components(a), LocalTransform::Components(b)) => Some((*a, *b)),
        _ => decompose(&m)
            .zip(decompose(&n))
            .filter(|(a, b)| a.scale.x.is_sign_negative() == b.scale.x.is_sign_negative()),
    };
    let Some((a, b)) = apart else {
        return m * (1.0 - part) + n * part;
    };
    DMat4::from_scale_rotation_translation(
        a.scale * (1.0 - part) + b.scale * part,
        slerp(a.rotation, b.rotation, part),
        a.translation * (1.0 - part) + b.translation * part,
    )
}

/// Interpolates two rotations at constant speed by the shorter way; `part` is 0 at `a` and 1 at `b`.
fn slerp(a: DQuat, b: DQuat, part: f64) -> DQuat {
    let near = if a.dot(b) < 0.0 { -b } else { b };
    let half = (a - near).length().atan2((a + near).length());
    let angle = 2.0 * half;
    let (from, to) = match angle.sin() {
        sine if sine > 1e-9 => (((1.0 - part) * angle).sin() / sine, (part * angle).sin() / sine),
        _ => (1.0 - part, part),
    };
    (a * from + near * to).normalize()
}

/// Decomposes a matrix into translation, rotation and scale; `None` if it is not a product of these. A
/// mirroring matrix has a negative scale along x.
fn decompose(matrix: &DMat4) -> Option<Qvv> {
    let linear = DMat3::from_mat4(*matrix);
    let mirror = if linear.determinant() < 0.0 { -1.0 } else { 1.0 };
    let [x, y, z] = [linear.x_axis, linear.y_axis, linear.z_axis].map(DVec3::length);
    let scale = DVec3::new(mirror * x, y, z);
    let axes = linear * DMat3::from_diagonal(scale.recip());
    let rotation = DQuat::from_mat3(&axes);
    let back = DMat3::from_quat(rotation) * DMat3::from_diagonal(scale);
    let off = (back - linear).to_cols_array().into_iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let size = linear.to_cols_array().into_iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let translation = matrix.w_axis.truncate();
    (rotation.is_finite() && off <= SHEAR_TOLERANCE * size).then_some(Qvv { rotation, translation, scale })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::{Node, NodeKind, TimeSampling};

    fn matrix_at(samples: Vec<LocalTransform>, time: f64) -> DMat4 {
        let sampling = TimeSampling::Uniform { start: 1.0, step: 2.0 };
        let local = Channel::in_memory(sampling, samples.into_iter().map(|own| vec![own]).collect());
        let node = |path: &str, parent, inherits: bool| Node {
            parent,
            transform: Some(Transform {
                local: local.clone(),
                inherits: (!inherits).then(|| Channel::constant(vec![false])),
            }),
            ..Node::new(path, NodeKind::Xform)
        };
        let nodes = vec![node("/a", None, true), node("/a/b", Some(0), true), node("/a/c", Some(0), false)];
        let scene = Scene { nodes, ..Scene::default() };
        let placed = scene.expand().unwrap();
        let mut moment = SourceTransforms::new(&scene, &placed).unwrap();
        moment.evaluate(time).unwrap();
        let [above, both, alone] = moment.matrix[..] else { panic!("three objects") };
        assert!(both.abs_diff_eq(above * above, 1e-12) && alone == above);
        above
    }

    #[test]
    fn parts_go_their_own_ways_and_matrices_turn() {
        let parts = |angle: f64, scale: [f64; 3]| {
            let rotation = DQuat::from_rotation_z(angle);
            LocalTransform::Components(Qvv {
                rotation,
                scale: DVec3::from_array(scale),
                translation: DVec3::X,
            })
        };
        let (a, b) = (parts(0.0, [1.0, 1.0, 1.0]), parts(1.0, [-1.0, -1.0, 1.0]));
        let quarter = parts(0.25, [0.5, 0.5, 1.0]).matrix();
        assert!(matrix_at(vec![a, b], 1.5).abs_diff_eq(quarter, 1e-12));
        let opposite = parts(1.0 + std::f64::consts::TAU, [-1.0, -1.0, 1.0]);
        assert!(matrix_at(vec![a, opposite], 1.5).abs_diff_eq(quarter, 1e-12));
        for (time, own) in [(0.0, a), (1.0, a), (3.0, b), (9.0, b)] {
            assert!(matrix_at(vec![a, b], time).abs_diff_eq(own.matrix(), 1e-12), "{time}");
        }
        let matrix = |own: LocalTransform| LocalTransform::Matrix(own.matrix());
        let (a, b) = (matrix(parts(0.0, [2.0, 1.0, 1.0])), matrix(parts(1.0, [1.0, 1.0, 1.0])));
        let middle = parts(0.5, [1.5, 1.0, 1.0]).matrix();
        assert!(matrix_at(vec![a, b], 2.0).abs_diff_eq(middle, 1e-12));
        let mirrored = matrix(parts(0.0, [-2.0, 1.0, 1.0]));
        assert!(matrix_at(vec![a, mirrored], 2.0).abs_diff_eq((a.matrix() + mirrored.matrix()) * 0.5, 1e-12));
    }
}
