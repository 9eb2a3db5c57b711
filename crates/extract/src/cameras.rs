//! Cameras, each below its node.

use super::objects::Object;
use super::shared::Extraction;
use crate::convert;
use crate::convert::error;
use meshreel::Camera;
use meshreel::time::FramePair;
use meshreel_scene::{Error, Identity, Lens, Node, NodeKind, Source};
use std::collections::{HashMap, HashSet};

/// Puts the cameras of the file below the objects of their nodes.
pub(super) fn add(shared: &Extraction, objects: &[Object], nodes: &mut Vec<Node>) -> Result<(), Error> {
    let reel = shared.frames.reel();
    let places = objects.iter().enumerate().filter_map(|(own, object)| Some((object.locator?, own)));
    // If several objects are of one node, the first gets the camera.
    let own: HashMap<_, usize> = places.rev().collect();
    let mut taken: HashSet<(usize, String)> =
        nodes.iter().filter_map(|node| Some((node.parent?, node.name.clone()))).collect();
    let mut below: Vec<Vec<Node>> = nodes.iter().map(|_| Vec::new()).collect();
    for camera in reel.cameras().map_err(error)? {
        let Some(&parent) = own.get(&camera.node()) else { continue };
        let name = camera.path().rsplit('/').next().unwrap_or_default();
        let mut free = if name.is_empty() { "camera".to_owned() } else { name.to_owned() };
        while !taken.insert((parent, free.clone())) {
            free.push('_');
        }
        let path = format!("{}/{free}", nodes[parent].path);
        let samples = shared.samples(camera.is_animated());
        let lenses = Lenses { camera, samples };
        below[parent].push(Node {
            camera: Some(shared.channel(samples > 1, lenses)),
            samples,
            ..Node::new(path, NodeKind::Camera)
        });
    }
    // New index of each node: a camera comes directly after the node that it is below.
    let mut number = Vec::with_capacity(nodes.len());
    let mut next = 0;
    for cameras in &below {
        number.push(next);
        next += 1 + cameras.len();
    }
    let old = std::mem::take(nodes);
    for (parent, (node, cameras)) in old.into_iter().zip(below).enumerate() {
        nodes.push(Node { parent: node.parent.map(|p| number[p]), ..node });
        let cameras = cameras.into_iter().rev();
        nodes.extend(cameras.map(|camera| Node { parent: Some(number[parent]), ..camera }));
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
        out.push(convert::lens(&self.camera.lens(FramePair::single(i as u32))));
        Ok(())
    }
}
