//! Skinned meshes that clips move: their frames, which would only repeat the clip, are left out.

use crate::{Channel, Error, Identity, Mesh, Node, Scene, Source, TimeSampling, Topology};
use std::sync::Arc;

/// `true` if clips of the scene move the mesh: it has a skin on a skeleton that has a clip.
pub fn is_driven(mesh: &Mesh) -> bool {
    let skin = mesh.skin.as_ref();
    skin.is_some_and(|skin| skin.skeleton.is_some() && !skin.driven.is_empty())
}

/// Returns the scene with meshes that clips move frozen at their first sample. The compiler and the check
/// both call this, so that they agree.
pub fn freeze_driven_meshes(scene: &Scene) -> Scene {
    let mut out = scene.clone();
    for (id, mesh) in out.meshes.iter_mut().enumerate() {
        if !is_driven(mesh) {
            continue;
        }
        mesh.positions = first_sample(&mesh.positions);
        if let Some(normals) = &mut mesh.normals {
            normals.values = first_sample(&normals.values);
        }
        mesh.topology = Topology::Constant;
        for node in out.nodes.iter_mut().filter(|node| node.mesh == Some(id)) {
            node.samples = 1;
        }
    }
    // Without anything else that moves, ranges have no meaning.
    let moves = |node: &Node| {
        let transform = node.transform.as_ref();
        transform.is_some_and(|t| t.local.len() > 1) || node.visibility.as_ref().is_some_and(|v| v.len() > 1)
    };
    if !out.nodes.iter().any(moves) && out.meshes.iter().all(|mesh| mesh.positions.len() <= 1) {
        out.ranges.clear();
    }
    out
}

/// Returns a channel of the first sample only.
fn first_sample<T: Clone + Send + Sync + 'static>(channel: &Channel<T>) -> Channel<T> {
    struct FirstSample<T>(Channel<T>);
    impl<T: Clone + Send + Sync + 'static> Source<T> for FirstSample<T> {
        fn len(&self) -> usize {
            self.0.len().min(1)
        }
        fn identity(&self, _: usize) -> Identity {
            self.0.identity(0)
        }
        fn read(&self, _: usize, out: &mut Vec<T>) -> Result<(), Error> {
            self.0.read(0, out)
        }
    }
    let sampling =
        TimeSampling::Uniform { start: if channel.is_empty() { 0.0 } else { channel.time(0) }, step: 1.0 };
    Channel::new(Arc::new(sampling), Arc::new(FirstSample(channel.clone())))
}
