//! Skins, for formats that hold them.

use glam::{DMat3, DVec3};
use meshreel_scene::sample::pose_at;
use meshreel_scene::{Error, Mesh, Skin};

/// `true` if a skin is on a skeleton and has at most one pose of its own.
pub(crate) fn is_rig(skin: &Skin) -> bool {
    skin.skeleton.is_some() && skin.pose.len() <= 1
}

/// Returns the joints that move a point (indices into [`Skin::joints`]), with their weights.
pub(crate) fn influences(skin: &Skin, point: u32) -> impl Iterator<Item = (&u16, &f32)> {
    let own = point as usize * skin.influences..(point as usize + 1) * skin.influences;
    let joints = skin.joint.get(own.clone()).unwrap_or_default();
    let weights = skin.weight.get(own).unwrap_or_default();
    joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0)
}

/// Converts normals of a posed mesh at `time` to those of its bind pose. `points`: the point of each normal.
pub(crate) fn to_bind_pose(
    mesh: &Mesh,
    skin: &Skin,
    time: f64,
    points: &[u32],
    normals: &mut [[f32; 3]],
) -> Result<(), Error> {
    let mut pose = Vec::new();
    match is_rig(skin) {
        true => skin.pose.read(0, &mut pose)?,
        false => pose_at(mesh, time, &mut pose).map(|_| ())?,
    }
    for (normal, &point) in normals.iter_mut().zip(points) {
        let mut blend = DMat3::ZERO;
        for (&joint, &weight) in influences(skin, point) {
            if let Some(m) = pose.get(usize::from(joint)) {
                blend += DMat3::from_mat4(*m) * f64::from(weight);
            }
        }
        if influences(skin, point).next().is_some() {
            // Inverts the inverse transpose.
            let bound = blend.transpose() * DVec3::from_array(normal.map(f64::from));
            let bound = bound.try_normalize().unwrap_or(DVec3::Z);
            *normal = bound.to_array().map(|v| v as f32);
        }
    }
    Ok(())
}
