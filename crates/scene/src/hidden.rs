//! A scene without the visibility that its author gave it (`--show-hidden`).

use crate::{ABSENT, Channel, Error, Identity, Scene, Source};
use std::sync::Arc;

/// Returns the scene with all hidden nodes shown; nodes that are absent at a time ([`ABSENT`]) stay so.
/// The compiler and the check both call this, so that they agree.
pub fn show_all(scene: &Scene) -> Result<Scene, Error> {
    let mut out = scene.clone();
    for node in &mut out.nodes {
        let Some(channel) = &node.visibility else {
            continue;
        };
        let mut value = Vec::new();
        let mut there = Vec::with_capacity(channel.len());
        for i in 0..channel.len() {
            channel.read(i, &mut value)?;
            there.push(value.first() != Some(&ABSENT));
        }
        node.visibility = there
            .contains(&false)
            .then(|| Channel::new(channel.sampling().clone(), Arc::new(Presence(there))));
    }
    Ok(out)
}

/// The presence of a node, by sample.
struct Presence(Vec<bool>);

impl Source<i8> for Presence {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn identity(&self, i: usize) -> Identity {
        self.0.get(i).copied().unwrap_or(true).into()
    }
    fn read(&self, i: usize, out: &mut Vec<i8>) -> Result<(), Error> {
        out.clear();
        out.push(if self.identity(i) == 1 { -1 } else { ABSENT });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, NodeKind, TimeSampling};

    #[test]
    fn what_is_hidden_is_shown_and_what_is_not_there_is_not() {
        let values = |values: &[i8]| {
            let sampling = TimeSampling::Uniform { start: 1.0, step: 1.0 };
            Some(Channel::in_memory(sampling, values.iter().map(|v| vec![*v]).collect()))
        };
        let node = |visibility| Node { visibility, ..Node::new("/a", NodeKind::Xform) };
        let nodes =
            vec![node(None), node(values(&[0])), node(values(&[0, 1, -1])), node(values(&[ABSENT, 0, -1]))];
        let scene = show_all(&Scene { nodes, ..Scene::default() }).unwrap();
        assert!(scene.nodes[..3].iter().all(|node| node.visibility.is_none()));
        let last = scene.nodes[3].visibility.as_ref().unwrap();
        let mut out = Vec::new();
        let read: Vec<i8> = (0..3).map(|i| last.read(i, &mut out).map(|()| out[0]).unwrap()).collect();
        assert_eq!((read, last.time(2)), (vec![ABSENT, -1, -1], 3.0));
        assert!(last.identity(1) == last.identity(2) && last.identity(0) != last.identity(1));
    }
}
