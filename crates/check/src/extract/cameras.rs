//! Cameras, each below the node that it stands at.

use super::objects::Object;
use super::shared::Shared;
use crate::error::error;
use crate::lens;
use meshreel::{Camera, FramePair};
use meshreel_scene::{Error, Identity, Lens, Node, NodeKind, Source};

/// Puts the cameras of the file below the nodes of their places.
pub(super) fn add(shared: &Shared, objects: &[Object], nodes: &mut Vec<Node>) -> Result<(), Error> {
    let reel = shared.frames.reel();
    let mut below: Vec<(usize, Camera)> = Vec::new();
    for camera in reel.cameras().map_err(error)? {
        let own = objects.iter().position(|object| object.locator == Some(camera.node()));
        below.extend(own.map(|own| (own, camera)));
    }
    // From the last one on, so that numbers of those before stay.
    below.sort_by_key(|(parent, _)| std::cmp::Reverse(*parent));
    for (parent, camera) in below {
        let name = camera.path().rsplit('/').next().unwrap_or_default();
        let taken = |name: &str| nodes.iter().any(|n| n.parent == Some(parent) && n.name == name);
        let mut free = if name.is_empty() { "camera".to_owned() } else { name.to_owned() };
        while taken(&free) {
            free.push('_');
        }
        let path = format!("{}/{free}", nodes[parent].path);
        let samples = shared.samples(camera.is_animated());
        let lenses = Lenses { camera, samples };
        let node = Node {
            parent: Some(parent),
            camera: Some(shared.channel(samples > 1, lenses)),
            samples,
            ..Node::new(path, NodeKind::Camera)
        };
        for other in nodes.iter_mut() {
            other.parent = other.parent.map(|p| if p > parent { p + 1 } else { p });
        }
        nodes.insert(parent + 1, node);
    }
    Ok(())
}

/// The lens of a camera in each frame.
struct Lenses {
    camera: Camera,
    samples: usize,
}

impl Source<Lens> for Lenses {
    fn len(&self) -> usize {
        self.samples
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<Lens>) -> Result<(), Error> {
        out.clear();
        out.push(lens::of_file(&self.camera.lens(FramePair::single(i as u32))));
        Ok(())
    }
}
