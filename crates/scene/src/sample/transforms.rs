//! Evaluates local and world transforms at a time.

use crate::transform::Qvv;
use crate::{ABSENT, Channel, Error, LocalTransform, PlacedObject, Scene, TIME_TOLERANCE, Transform};
use glam::{DMat3, DMat4, DQuat, DVec3};

/// Returns the local transform at `time`, and whether the parents' transforms apply.
pub fn transform_at(transform: &Transform, time: f64) -> Result<(LocalTransform, bool), Error> {
    let mut buffer = Vec::new();
    let inherits = match &transform.inherits {
        Some(channel) if !channel.is_empty() => {
            let mut flags = Vec::new();
            channel.read(channel.locate(time).0, &mut flags)?;
            flags.first().copied().unwrap_or(true)
        }
        _ => true,
    };
    let channel = &transform.local;
    if channel.is_empty() {
        return Ok((LocalTransform::IDENTITY, inherits));
    }
    let (i, fraction) = channel.locate(time);
    if fraction > 0.0 && channel.read_between(time, &mut buffer)? {
        let own = buffer.first().copied();
        return Ok((own.unwrap_or(LocalTransform::IDENTITY), inherits));
    }
    channel.read(i, &mut buffer)?;
    let a = buffer.first().copied().unwrap_or(LocalTransform::IDENTITY);
    if fraction == 0.0 || channel.identity(i) == channel.identity(i + 1) {
        return Ok((a, inherits));
    }
    channel.read(i + 1, &mut buffer)?;
    let b = buffer.first().copied().unwrap_or(LocalTransform::IDENTITY);
    Ok((interpolate(&a, &b, fraction), inherits))
}

/// `true` if the file defines a motion of placed object `i` between samples that differs from a player's
/// interpolation (points on lines, rotations of nodes on chords), for its points or a transform above it.
pub fn has_own_interpolation(scene: &Scene, placed: &[PlacedObject], i: usize) -> bool {
    let mesh = scene.nodes[placed[i].node].mesh;
    if mesh.is_some_and(|mesh| scene.meshes[mesh].positions.has_own_interpolation()) {
        return true;
    }
    let mut at = Some(i);
    while let Some(j) = at {
        let transform = scene.nodes[placed[j].node].transform.as_ref();
        if transform.is_some_and(|t| t.local.has_own_interpolation()) {
            return true;
        }
        let inherits = transform.and_then(|t| t.inherits.as_ref());
        // `true` if it never inherits the transforms above it.
        let alone = inherits.is_some_and(|channel| {
            let mut flags = Vec::new();
            channel.is_constant()
                && !channel.is_empty()
                && channel.read(0, &mut flags).is_ok()
                && flags.first() == Some(&false)
        });
        at = placed[j].parent.filter(|_| !alone);
    }
    false
}

/// Returns the last time, in seconds, before `time` that 32-bit times tell apart: a value there holds up to a
/// step at `time`. It is further away than a key may be moved to a uniform time.
pub fn last_time_before(time: f64) -> f64 {
    time - (5.0 * TIME_TOLERANCE).max(time.abs() * 4.0 * f64::from(f32::EPSILON))
}

/// `true` if two times are so close that a change between them is a step.
pub fn is_step(from: f64, to: f64) -> bool {
    to - from <= 2.0 * (to - last_time_before(to))
}

/// Returns the transform `fraction` of the way from `a` to `b`.
pub fn interpolate(a: &LocalTransform, b: &LocalTransform, fraction: f64) -> LocalTransform {
    if let (LocalTransform::Components(a), LocalTransform::Components(b)) = (a, b) {
        return LocalTransform::Components(Qvv {
            rotation: a.rotation.slerp(b.rotation, fraction).normalize(),
            translation: a.translation.lerp(b.translation, fraction),
            scale: a.scale.lerp(b.scale, fraction),
        });
    }
    let (a, b) = (a.matrix(), b.matrix());
    LocalTransform::Matrix(match (decompose(&a), decompose(&b)) {
        (Some((sa, ra, ta)), Some((sb, rb, tb))) if (sa.x < 0.0) == (sb.x < 0.0) => {
            DMat4::from_scale_rotation_translation(
                sa.lerp(sb, fraction),
                ra.slerp(rb, fraction),
                ta.lerp(tb, fraction),
            )
        }
        _ => a + (b - a) * fraction,
    })
}

/// Returns scale, rotation and translation, if the matrix is no more than that.
fn decompose(m: &DMat4) -> Option<(DVec3, DQuat, DVec3)> {
    let (s, r, t) = m.to_scale_rotation_translation();
    if !(s.is_finite() && r.is_finite() && t.is_finite()) || s.min_element() == 0.0 && s.max_element() == 0.0
    {
        return None;
    }
    let back = DMat4::from_scale_rotation_translation(s, r, t);
    let size = m.x_axis.abs().max(m.y_axis.abs()).max(m.z_axis.abs()).max_element();
    let error = (0..3).map(|i| (back.col(i) - m.col(i)).abs().max_element()).fold(0.0, f64::max);
    (error <= 1e-6 * size).then_some((s, r, t))
}

/// World matrices and visibility of all placed objects at one time, evaluated again for each time.
pub struct World<'a> {
    scene: &'a Scene,
    placed: &'a [PlacedObject],
    /// World matrix per placed object.
    pub matrix: Vec<DMat4>,
    /// Effective visibility per placed object.
    pub visible: Vec<bool>,
    /// Local transform and inherits flag per placed object.
    pub local: Vec<(LocalTransform, bool)>,
    constant: Vec<bool>,
}

impl<'a> World<'a> {
    /// Evaluates what never changes.
    pub fn new(scene: &'a Scene, placed: &'a [PlacedObject]) -> Result<World<'a>, Error> {
        let mut per_node: Vec<Option<(LocalTransform, bool)>> = vec![None; scene.nodes.len()];
        for (slot, node) in per_node.iter_mut().zip(&scene.nodes) {
            *slot = match &node.transform {
                None => Some((LocalTransform::IDENTITY, true)),
                Some(t) if t.local.is_constant() && t.inherits.as_ref().is_none_or(Channel::is_constant) => {
                    Some(transform_at(t, 0.0)?)
                }
                Some(_) => None,
            };
        }
        let constant: Vec<bool> = placed.iter().map(|p| per_node[p.node].is_some()).collect();
        let local =
            placed.iter().map(|p| per_node[p.node].unwrap_or((LocalTransform::IDENTITY, true))).collect();
        let n = placed.len();
        Ok(World { scene, placed, matrix: vec![DMat4::IDENTITY; n], visible: vec![true; n], local, constant })
    }

    /// Returns the local transform and inherits flag of `placed[i]` at any time.
    pub fn local_at(&self, i: usize, time: f64) -> Result<(LocalTransform, bool), Error> {
        match (self.constant[i], &self.scene.nodes[self.placed[i].node].transform) {
            (false, Some(transform)) => transform_at(transform, time),
            _ => Ok(self.local[i]),
        }
    }

    /// `true` if neither the local transform nor its inheritance changes.
    pub fn is_constant(&self, i: usize) -> bool {
        self.constant[i]
    }

    /// Fills `local`, `matrix` and `visible` for `time`.
    pub fn evaluate(&mut self, time: f64) -> Result<(), Error> {
        for i in 0..self.placed.len() {
            let node = &self.scene.nodes[self.placed[i].node];
            if let (false, Some(transform)) = (self.constant[i], &node.transform) {
                self.local[i] = transform_at(transform, time)?;
            }
            let (local, inherits) = self.local[i];
            let parent = self.placed[i].parent;
            self.matrix[i] = match parent {
                Some(p) if inherits => self.matrix[p] * local.matrix(),
                _ => local.matrix(),
            };
            self.visible[i] = match self.own_visibility(i, time)? {
                0 | ABSENT => false,
                1 => true,
                _ => parent.is_none_or(|p| self.visible[p]),
            };
        }
        Ok(())
    }

    fn own_visibility(&self, i: usize, time: f64) -> Result<i8, Error> {
        match &self.scene.nodes[self.placed[i].node].visibility {
            Some(channel) if !channel.is_empty() => {
                let mut value = Vec::new();
                channel.read(channel.locate(time).0, &mut value)?;
                Ok(value.first().copied().unwrap_or(-1))
            }
            _ => Ok(-1),
        }
    }
}

/// Returns the largest factor by which a matrix stretches any direction: the largest singular value of its
/// linear part.
pub fn largest_scale(m: &DMat4) -> f64 {
    let a = DMat3::from_mat4(*m);
    let mut s = a.transpose() * a;
    let off = s.col(1)[0].abs().max(s.col(2)[0].abs()).max(s.col(2)[1].abs());
    let on = s.col(0)[0].max(s.col(1)[1]).max(s.col(2)[2]);
    if off <= 1e-15 * on {
        return on.sqrt();
    }
    // Jacobi rotations on the symmetric 3×3: converges quadratically, 8 sweeps are plenty.
    for _ in 0..8 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let off = s.col(q)[p];
            if off.abs() <= f64::MIN_POSITIVE {
                continue;
            }
            let theta = (s.col(q)[q] - s.col(p)[p]) / (2.0 * off);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let t = if theta == 0.0 { 1.0 } else { t };
            let c = 1.0 / (t * t + 1.0).sqrt();
            let mut rotation = DMat3::IDENTITY;
            rotation.col_mut(p)[p] = c;
            rotation.col_mut(q)[q] = c;
            rotation.col_mut(q)[p] = t * c;
            rotation.col_mut(p)[q] = -t * c;
            s = rotation.transpose() * s * rotation;
        }
    }
    s.col(0)[0].max(s.col(1)[1]).max(s.col(2)[2]).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_scale_of_rotated_and_sheared() {
        let m = DMat4::from_rotation_x(0.3)
            * DMat4::from_scale(DVec3::new(-2.0, 5.0, 0.5))
            * DMat4::from_rotation_z(1.0);
        assert!((largest_scale(&m) - 5.0).abs() < 1e-9);
        assert_eq!(largest_scale(&DMat4::ZERO), 0.0);
    }

    #[test]
    fn turning_is_interpolated_as_turning_and_shear_by_elements() {
        let a = LocalTransform::from(DMat4::from_rotation_z(0.0));
        let between = |b: DMat4| interpolate(&a, &b.into(), 0.5).matrix();
        assert!(between(DMat4::from_rotation_z(1.0)).abs_diff_eq(DMat4::from_rotation_z(0.5), 1e-12));
        let mut shear = DMat4::IDENTITY;
        shear.y_axis.x = 1.0;
        assert_eq!(between(shear).y_axis.x, 0.5);
    }

    #[test]
    fn scales_that_change_their_signs_turn_nothing() {
        let scaled = |x: f64, y: f64| {
            LocalTransform::Components(Qvv { scale: DVec3::new(x, y, 1.0), ..Qvv::IDENTITY })
        };
        assert_eq!(interpolate(&scaled(1.0, 1.0), &scaled(-1.0, -1.0), 0.25), scaled(0.5, 0.5));
    }
}
