//! Reads every sample of a scene.

use meshreel_scene::{Channel, Error, Scene};

/// Reads every sample of everything.
pub fn walk(scene: &Scene) -> Result<(), Error> {
    fn channel<T: Clone + Send + Sync + 'static>(channel: &Channel<T>) -> Result<(), Error> {
        let mut out = Vec::new();
        for i in 0..channel.len() {
            channel.identity(i);
            channel.read(i, &mut out)?;
        }
        Ok(())
    }
    for node in &scene.nodes {
        node.transform.iter().try_for_each(|t| channel(&t.local))?;
        node.camera.iter().try_for_each(channel)?;
    }
    for mesh in &scene.meshes {
        channel(&mesh.positions)?;
        channel(&mesh.face_counts)?;
        channel(&mesh.face_indices)?;
        mesh.normals.iter().try_for_each(|a| channel(&a.values))?;
        mesh.uvs.iter().try_for_each(|a| channel(&a.values))?;
        mesh.colours.iter().try_for_each(|a| channel(&a.values))?;
        mesh.face_sets.iter().try_for_each(|s| channel(&s.faces))?;
        for skin in mesh.skin.iter() {
            channel(&skin.pose)?;
            let mut points = Vec::new();
            skin.driven.iter().try_for_each(|(_, driven)| driven.points(0.1, &mut points))?;
        }
    }
    Ok(())
}
