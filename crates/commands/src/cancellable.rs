//! Scenes whose reading can be cancelled: after that, reading a sample is an error. Any loop over frames
//! therefore ends with its next one, wherever it is.

use crate::failure::{Class, Failure};
use meshreel_compile::Cancellation;
use meshreel_scene::{Channel, Error, Identity, Scene, Source};
use std::sync::Arc;

/// A channel whose reads fail once the work is cancelled.
struct CancellableChannel<T> {
    channel: Channel<T>,
    cancellation: Cancellation,
}

impl<T> CancellableChannel<T> {
    fn check(&self) -> Result<(), Error> {
        // The message is never shown: see `unless_cancelled`.
        self.cancellation.check().map_err(|cancelled| Error::Misuse { what: cancelled.to_string() })
    }
}

impl<T: Clone + Send + Sync + 'static> Source<T> for CancellableChannel<T> {
    fn len(&self) -> usize {
        self.channel.len()
    }
    fn identity(&self, i: usize) -> Identity {
        self.channel.identity(i)
    }
    fn is_constant(&self) -> bool {
        self.channel.is_constant()
    }
    fn read(&self, i: usize, out: &mut Vec<T>) -> Result<(), Error> {
        self.check()?;
        self.channel.read(i, out)
    }
    fn has_own_interpolation(&self) -> bool {
        self.channel.has_own_interpolation()
    }
    fn read_between(&self, time: f64, out: &mut Vec<T>) -> Result<bool, Error> {
        self.check()?;
        self.channel.read_between(time, out)
    }
}

fn make_cancellable<T: Clone + Send + Sync + 'static>(channel: &mut Channel<T>, cancellation: &Cancellation) {
    let sampling = channel.sampling().clone();
    let source = CancellableChannel { channel: channel.clone(), cancellation: cancellation.clone() };
    *channel = Channel::new(sampling, Arc::new(source));
}

/// Makes the channels of a scene that are read in every frame cancellable: positions, faces, transforms.
pub fn cancellable_scene(mut scene: Scene, cancellation: &Cancellation) -> Scene {
    for mesh in &mut scene.meshes {
        make_cancellable(&mut mesh.positions, cancellation);
        make_cancellable(&mut mesh.face_counts, cancellation);
        make_cancellable(&mut mesh.face_indices, cancellation);
    }
    for transform in scene.nodes.iter_mut().filter_map(|node| node.transform.as_mut()) {
        make_cancellable(&mut transform.local, cancellation);
    }
    scene
}

/// Returns the outcome of work: that it was cancelled, if it was, whatever `result` is.
pub fn unless_cancelled<T>(
    result: Result<T, impl Into<Failure>>,
    cancellation: &Cancellation,
) -> Result<T, Failure> {
    match cancellation.check() {
        Ok(()) => result.map_err(Into::into),
        Err(cancelled) => Err(Failure::new(Class::Cancelled, cancelled.to_string(), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::{LocalTransform, Mesh, Node, NodeKind, TimeSampling, Transform};

    #[test]
    fn a_cancelled_scene_is_not_read_any_more() {
        let steps = TimeSampling::Uniform { start: 0.0, step: 1.0 };
        let positions = Channel::in_memory(steps, vec![vec![[0.0; 3]], vec![[1.0; 3]]]);
        let mesh = Mesh::new("/mesh", positions, Channel::constant(vec![]), Channel::constant(vec![]));
        let mut node = Node::new("/mesh", NodeKind::PolyMesh);
        let local = Channel::constant(vec![LocalTransform::IDENTITY]);
        node.transform = Some(Transform { local, inherits: None });
        let scene = Scene { meshes: vec![mesh], nodes: vec![node], ..Scene::default() };
        let cancellation = Cancellation::new();
        let scene = cancellable_scene(scene, &cancellation);
        let (points, mut out) = (&scene.meshes[0].positions, Vec::new());
        assert_eq!((points.len(), points.is_constant(), points.time(1)), (2, false, 1.0));
        points.read(1, &mut out).unwrap();
        assert_eq!(out, [[1.0; 3]]);
        cancellation.cancel();
        assert!(points.read(1, &mut out).is_err() && points.read_between(0.5, &mut out).is_err());
        assert!(scene.meshes[0].face_counts.read(0, &mut Vec::new()).is_err());
        let transform = scene.nodes[0].transform.as_ref().unwrap();
        assert!(transform.local.read(0, &mut Vec::new()).is_err());
        let done = unless_cancelled(Ok::<_, Failure>(1), &cancellation);
        assert_eq!(done.unwrap_err().class, Class::Cancelled);
    }
}
